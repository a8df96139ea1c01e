"""The task that somebody chose: one of ours by its key, or their own file or data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from headscope.models.head_model import HeadModel
from headscope.tasks.fidelity import Fidelity, TranslationFidelity
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.model_kinds import KINDS, check_kind, kind_of
from headscope.tasks.own_data import Columns, hub_rows, own_task, read_task, read_text_task
from headscope.tasks.readers import FORMATS, BrokenRow, Source, preview
from headscope.tasks.speech import NEEDED, read_speech
from headscope.tasks.task import Splits, Task
from headscope.tasks.task_catalog import fidelity_for, task, task_for
from headscope.tasks.translation import TextPair

ROLES = ("text", "pair", "label", "target")
HUB = "hub:"
"""What the name of a Hugging Face data set begins with, as in `hub:nyu-mll/glue:sst2`."""

FIDELITY = "fidelity"
PLAIN_TEXT = ".txt"
TEXT_COLUMNS = ("text", "source")
"""What a column of texts is called, the first that is there."""

SOUND_COLUMNS = ("path", "sound")
TRANSCRIPT_COLUMNS = ("transcript", "target", "sentence", "text")


@dataclass(frozen=True)
class UnreadFile:
    """A file that was left out as a whole, and why."""

    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


LeftOut = tuple[BrokenRow | UnreadFile, ...]


def chosen_task(
    head_model: HeadModel, key: str = "", data: str = "", columns: Mapping[str, str] | None = None
) -> tuple[Task, LeftOut]:
    """The task, and what was skipped of a file; with neither key nor data the one that fits the model.

    Own texts without labels or targets judge any model that reads: by how well it predicts them, or, where it predicts
    no text or the key is "fidelity", by whether it does with them what it does now. A model that listens needs a table
    of sounds and transcripts.
    """
    if not data:
        return (fidelity_for(head_model) if key == FIDELITY else task(key) if key else task_for(head_model)), ()
    if key not in ("", FIDELITY):
        raise ValueError(f"the task {key!r} and the data {data!r}; allowed is one of them, or fidelity to the data")
    kind = kind_of(head_model.model)
    if kind == "looker" and not columns:
        own, _ = chosen_task(head_model, key)
        reason = f"{head_model.name} is a model that {KINDS[kind]}, so it is judged on digits"
        return own, (UnreadFile(PurePath(data).name, reason),)
    if kind == "listener":
        return _listened(head_model, data, columns or {}, key)
    found, broken = _read(data, columns or {}, kind, key)
    return suited(found, head_model, key), broken


def suited(found: Task, head_model: HeadModel, key: str = "") -> Task:
    """The same task; texts without labels or targets become what the model can be judged on."""
    if not isinstance(found, LanguageModelling):
        return found
    kind = check_kind(head_model, found.title, "writer", "filler", "classifier", "translator", "encoder")
    if kind in ("writer", "filler") and key != FIDELITY:
        return found
    title, texts = f"Fidelity on {found.title}", found.examples
    if kind == "translator":
        return TranslationFidelity(found.key, title, Splits(lambda split: _sources(texts, split)), reference=head_model)
    return Fidelity(found.key, title, head_model, texts)


def _listened(head_model: HeadModel, data: str, given: Mapping[str, str], key: str) -> tuple[Task, LeftOut]:
    """Sounds with their transcripts."""
    is_table = not data.startswith(HUB) and PurePath(data).suffix.lower() in FORMATS
    if key or not is_table:
        wrong = "fidelity" if key else PurePath(data).name
        raise ValueError(f"{wrong} for {head_model.name}, a model that {KINDS['listener']}; it needs {NEEDED}")
    path = Path(data)
    return read_speech(head_model, path, _columns(given) if given else columns_for("listener", Source.from_path(path)))


def _sources(texts: Splits[str], split: str) -> tuple[TextPair, ...]:
    """Texts to translate; their targets are never read, for the reference writes them."""
    return tuple(TextPair(text, text) for text in texts.first(split))


def _read(data: str, given: Mapping[str, str], kind: str, key: str) -> tuple[Task, tuple[BrokenRow, ...]]:
    if data.startswith(HUB):
        name, columns = data.removeprefix(HUB), _wanted(key, _columns(given))
        return own_task(name, hub_rows(name, columns), columns), ()
    source = Source.from_path(data)
    if source.suffix == PLAIN_TEXT:
        return read_text_task(source), ()
    return read_task(source, _wanted(key, _columns(given) if given else columns_for(kind, source)))


def _wanted(key: str, columns: Columns) -> Columns:
    """The columns that are read; fidelity needs neither labels nor targets."""
    return replace(columns, label=None, target=None) if key == FIDELITY else columns


def columns_for(kind: str, source: Source) -> Columns:
    """The columns that a kind of model is judged by, found by the names in the header.

    Texts are in the column `text` or `source`, else in the first. A classifier takes `label`, and `pair`, where there
    are such columns; a translator takes `target`, else the first of the other columns. A listener takes the paths of
    sounds from `path` or `sound`, else from the first, and `transcript` or its like, else the first of the others.
    """
    if source.suffix not in FORMATS:
        raise ValueError(f"{source.name} ends in {source.suffix!r}; known are {', '.join([PLAIN_TEXT, *FORMATS])}")
    names = preview(source, 1).columns
    if not names:
        raise ValueError(f"{source.name} has no readable row; at least one is needed")
    text = _first_of(SOUND_COLUMNS if kind == "listener" else TEXT_COLUMNS, names) or names[0]
    others = [name for name in names if name != text]
    named = {role: role for role in ROLES if role in names and role != text}
    if kind == "classifier":
        return Columns(text, named.get("pair"), named.get("label"))
    if kind in ("translator", "listener"):
        targets = ("target",) if kind == "translator" else TRANSCRIPT_COLUMNS
        return Columns(text, target=_first_of(targets, others) or next(iter(others), None))
    return Columns(text)


def _first_of(wanted: Sequence[str], names: Sequence[str]) -> str | None:
    """The first of the wanted names that is there."""
    return next((name for name in wanted if name in names), None)


def _columns(given: Mapping[str, str]) -> Columns:
    named = {role: name for role, name in given.items() if name}
    if "text" not in named or any(role not in ROLES for role in named):
        spelt = " ".join(f"{role}={name}" for role, name in given.items())
        raise ValueError(f"columns {spelt!r}; allowed is text=NAME, with pair=, label= or target=")
    return Columns(**named)
