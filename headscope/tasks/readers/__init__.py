"""Own data: CSV, TSV, JSON Lines and CoNLL-U, from a path or an upload; a broken row is named and skipped."""

from headscope.tasks.readers.conllu import Treebank, TreeSentence, read_trees
from headscope.tasks.readers.record import BrokenRow
from headscope.tasks.readers.source import Source
from headscope.tasks.readers.table import FORMATS, Preview, Row, Table, preview, read_table

__all__ = [
    "FORMATS",
    "BrokenRow",
    "Preview",
    "Row",
    "Source",
    "Table",
    "TreeSentence",
    "Treebank",
    "preview",
    "read_table",
    "read_trees",
]
