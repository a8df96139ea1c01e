"""The sample that somebody chose: what fits the model, or their own file."""

from __future__ import annotations

from analysis.roles.passages import parsed, passages_for, read_passages
from analysis.roles.sample import Sample, image_sample, text_sample
from models.head_model import HeadModel
from tasks.choices import KINDS, kind_of
from tasks.readers import BrokenRow, Source


def chosen_sample(
    head_model: HeadModel, n: int, split: str = "development", data: str = "", parser: str = ""
) -> tuple[Sample, tuple[BrokenRow, ...]]:
    """The first n passages of a CoNLL-U or text file, else of what the model is made for; and what was skipped.

    `parser` names a spaCy pipeline that gives the texts of a file without trees their trees.
    """
    if n < 2:
        raise ValueError(f"{n} examples; at least 2 are needed, for one half chooses and the other reports")
    kind = kind_of(head_model.model)
    if kind == "looker":
        if data:
            raise ValueError(f"texts for {head_model.name}, a model that {KINDS[kind]}; its roles are found on digits")
        return image_sample(head_model, n, split), ()
    if not data:
        passages = passages_for(head_model, n, split)
        return text_sample(head_model, passages, f"{len(passages)} passages of {split}"), ()
    source = Source.from_path(data)
    passages, broken = read_passages(source, n)
    if parser and source.suffix != ".conllu":
        passages = parsed((passage.texts[0] for passage in passages), parser)
    return text_sample(head_model, passages, f"{len(passages)} passages of {source.name}"), broken
