"""What can be run: a frozen declaration whose fields are the spec, and a generator that does the work."""

from __future__ import annotations

import hashlib
import json
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from headscope.models.loading.fingerprint import file_fingerprint, fingerprint
from headscope.models.loading.known_models import specimen_names
from headscope.models.registry import Registry
from headscope.models.text import is_text, shown
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.policy.access_policy import check_access
from headscope.runs.run import LONG, QUEUED, Run
from headscope.tasks.natural import passages

if TYPE_CHECKING:
    from headscope.models.head_model import HeadModel


@dataclass(frozen=True)
class Step:
    """How far a run is after a step, and the point that the step found, if any."""

    done: int
    total: int
    point: dict[str, Any] | None = None


@dataclass(frozen=True)
class Workspace:
    """What a run works with: models in memory, a folder for its artefacts, and the points it has already.

    `say` tells whoever waits what is being done before the first step. `is_wanted` is for a step that only waits: it
    says whether the run is not cancelled.
    """

    models: ModelCache
    folder: Path
    points: list[dict[str, Any]]
    say: Callable[[str], None]
    is_wanted: Callable[[], bool] = lambda: True

    def load(self, name: str) -> HeadModel:
        """The model of that name."""
        return self.models.get(name, self.say)


Steps = Generator[Step, None, dict[str, Any]]


@dataclass(frozen=True)
class Kind(ABC):
    """A kind of run. Subclasses are frozen dataclasses of plain JSON values; every one works on a model.

    `edition` is raised when the same spec would give another result than before, so that old results are not shown.
    A kind that is not `kept` is left out of the history and forgotten after a while. One that is `movable` needs only
    its model, its data and its own folder, so a node of a cluster can do it as a whole. The modules of kinds import the
    library inside `steps`: pages ask for runs without loading torch.
    """

    model: str

    key: ClassVar[str]
    command_name: ClassVar[str] = ""
    edition: ClassVar[int] = 1
    kept: ClassVar[bool] = True
    movable: ClassVar[bool] = False

    @property
    @abstractmethod
    def title(self) -> str:
        """What the history calls it."""

    @property
    def lane(self) -> str:
        """Who serves it; see headscope.runs.run."""
        return LONG

    @property
    def command(self) -> str:
        """What repeats the run from a shell; empty where there is no such command."""
        return spelt(self.command_name, self.model, self.arguments) if self.command_name else ""

    @property
    def arguments(self) -> dict[str, Any]:
        """What the command takes besides the model; those of the same name as the fields by default."""
        return {name: value for name, value in asdict(self).items() if name != "model"}

    @abstractmethod
    def steps(self, workspace: Workspace) -> Steps:
        """Does the work step by step, from where the points end, and returns the result as plain JSON values."""

    def hand(self, workspace: Workspace) -> Callable[[str], dict[str, Any]]:
        """What does a part of the run on a node of a cluster, given its name; see headscope/runs/ray/cluster.py."""
        del workspace
        raise ValueError(f"a run of the kind {self.key} has no parts")

    @property
    def data_mark(self) -> str:
        """What tells the contents of the data apart: a hash of a file, or of our passages where they may judge.

        By default they judge any model but a specimen that models language; what a model is shows when it is loaded.
        """
        spec = asdict(self)
        data, task = spec.get("data", ""), spec.get("task")
        if not data and (task == passages.TASK or (task == "" and self.model not in specimen_names())):
            return passages.mark()
        return file_fingerprint(data)

    def as_run(self, folder: Path) -> Run:
        """The run that this asks for; its id is a hash of kind, edition, spec, and the contents of model and data.

        What this server does not allow to be asked is a ValueError; see headscope/runs/policy/access_policy.py.
        """
        if not is_text(self.title) or not is_text(self.model):
            raise ValueError(f"no model {shown(self.model)!r}; a name is text in UTF-8")
        spec = asdict(self)
        check_access(spec, folder)
        mark = fingerprint(self.model)
        whole = json.dumps([self.key, self.edition, spec, mark, self.data_mark], sort_keys=True)
        run_id = hashlib.sha256(whole.encode()).hexdigest()[:16]
        return Run(
            id=run_id, kind=self.key, title=self.title, model=self.model, fingerprint=mark, spec=spec, lane=self.lane,
            state=QUEUED, created=0.0, started=None, finished=None, begun=0, done=0, total=0, message="", record={},
            result=None, folder=folder / run_id,
        )  # fmt: skip


_KINDS = Registry[Kind]("kind of run", "headscope.runs.kinds")
register = _KINDS.register


def kind_of(run: Run) -> Kind:
    """What a stored run asked for."""
    return kind_with(run.kind, run.spec)


def kind_with(key: str, spec: Mapping[str, Any]) -> Kind:
    """The kind of that key with these fields."""
    kind = _KINDS.get(key)
    try:
        return kind(**spec)
    except TypeError as error:
        raise ValueError(
            f"the settings of this {key} are of another version; delete it and ask for it again"
        ) from error


def spelt(name: str, model: str, arguments: Mapping[str, Any]) -> str:
    """`headscope NAME MODEL --field value`; what is empty is left out, pairs become NAME=VALUE.

    What has no name of its own, the field "", comes right after the model.
    """
    words = ["headscope", name, model]
    for field, value in arguments.items():
        if value is None or value is False or value in ("", {}, []):
            continue
        words += [f"--{field.replace('_', '-')}"] if field else []
        words += _words(value)
    return shlex.join(words)


def _words(value: Any) -> list[str]:
    if value is True:
        return []
    if isinstance(value, Mapping):
        return [f"{name}={one}" for name, one in value.items()]
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]
