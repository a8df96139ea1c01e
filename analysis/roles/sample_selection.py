"""The sample that somebody chose: what fits the model, or their own file."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.roles.passages import Passage, parsed, passages_for, read_passages
from headscope.analysis.roles.sample import Sample, image_sample, sampling
from headscope.analysis.roles.search_progress import Progress, Progressing, at_once
from headscope.models.head_model import HeadModel
from headscope.tasks.model_kinds import KINDS, kind_of
from headscope.tasks.readers import BrokenRow, Source

MOST_PASSAGES = 100_000


@dataclass(frozen=True)
class Wanted:
    """How many passages of what: of a CoNLL-U or text file `data`, else of what the model is made for.

    `parser` names a spaCy pipeline that gives the texts of a file without trees their trees. `task` names one of ours
    whose sentences are read without a file: a model that was made from a specimen is none by its name.
    """

    n: int
    split: str = "development"
    data: str = ""
    parser: str = ""
    task: str = ""


def chosen_sample(
    head_model: HeadModel, n: int, split: str = "development", data: str = "", task: str = ""
) -> tuple[Sample, tuple[BrokenRow, ...]]:
    """The first n passages of a file, else of what the model is made for; and what was skipped."""
    return at_once(choosing(head_model, Wanted(n, split, data, task=task)))


def choosing(head_model: HeadModel, wanted: Wanted) -> Progressing[tuple[Sample, tuple[BrokenRow, ...]]]:
    """What is wanted and what was skipped, a step a passage."""
    if wanted.n < 2:
        raise ValueError(f"{wanted.n} examples; at least 2 are needed, for one half chooses and the other reports")
    if wanted.n > MOST_PASSAGES:
        raise ValueError(f"{wanted.n} examples; at most {MOST_PASSAGES} are read, for all of them are kept in memory")
    kind = kind_of(head_model.model)
    if kind == "looker":
        if wanted.data:
            raise ValueError(f"texts for {head_model.name}, a model that {KINDS[kind]}; its roles are found on digits")
        return image_sample(head_model, wanted.n, wanted.split), ()
    if not wanted.data:
        passages, title = passages_for(head_model, wanted.n, wanted.split, wanted.task)
        return (yield from sampling(head_model, passages, title)), ()
    source = Source.from_path(wanted.data)
    passages, broken = read_passages(source, wanted.n)
    if wanted.parser and source.suffix != ".conllu":
        passages = yield from _parsing(passages, wanted.parser)
    title = f"{len(passages)} passages of {source.name}"
    return (yield from sampling(head_model, passages, title)), broken


def _parsing(passages: list[Passage], parser: str) -> Progressing[list[Passage]]:
    """A step a text."""
    found = []
    for passage in parsed((passage.texts[0] for passage in passages), parser):
        found.append(passage)
        yield Progress(len(found), len(passages))
    return found
