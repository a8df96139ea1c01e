"""Natural English sentences with German translations, sentiment labels and dependency trees."""

from pathlib import Path

CONLLU = Path(__file__).with_name("natural.conllu")
TSV = Path(__file__).with_name("natural.tsv")
