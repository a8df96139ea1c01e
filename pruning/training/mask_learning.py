"""A mask that is learned, and the smaller model that comes of it: four phases as one run of small frozen records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.pruning.training.fine_tuning import JUDGED_ON, FineTuning
from headscope.pruning.training.gate_training import GateTraining, Plan
from headscope.tasks.task import Task

ATTACHED, GATES, REMOVED, FINETUNING = "attached", "gates", "removed", "fine-tuning"
PHASES = (ATTACHED, GATES, REMOVED, FINETUNING)

MOST_PICTURES = 100
"""How often the gates are told at most, so that a long run has no more to keep than a short one."""

DIGITS = 3


@dataclass(frozen=True)
class Record:
    """What is known after a step of a phase.

    `loss` and `penalty` are means since they were last told. `n_open` is the expected number of open gates among those
    that are learned, `n_kept` how many heads would stay if this were the end, and `kept` which: 1 or 0 for each learned
    gate. `gates` has one number for each learned gate, `value` is the metric on development, at first with all heads,
    then with those that stay. What is not told is None.
    """

    phase: str
    step: int
    steps: int
    loss: float | None = None
    penalty: float | None = None
    price: float | None = None
    n_open: float | None = None
    n_kept: int | None = None
    kept: tuple[int, ...] | None = None
    gates: tuple[float, ...] | None = None
    value: float | None = None

    @property
    def tells(self) -> bool:
        """Whether there is a number in it."""
        return self.loss is not None or self.value is not None or self.gates is not None

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not told is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Record:
        """What `to_json` wrote."""
        lists = {name: tuple(record[name]) for name in ("gates", "kept") if record.get(name) is not None}
        return cls(**record | lists)


@dataclass(frozen=True, eq=False)
class Learned:
    """What came of a run.

    `gates` and `scores` are by head; those that had no gate are left out. `masked` is the model as it was trained, with
    all its heads, of which `mask` shall go; `smaller` the one without them, fine-tuned if that was asked for.
    """

    mask: HeadMask
    gates: dict[HeadId, float]
    scores: dict[HeadId, float]
    price: float
    masked: HeadModel
    smaller: HeadModel


class Learning:
    """Attach gates, train them, remove heads for good, fine-tune briefly.

    Everything that happens at a step depends on the seed, the number of the step and `state`, so `load(state())` goes
    on as if nothing had happened. Training sees calibration examples alone; development examples show how it goes and,
    in fine-tuning, choose the weights that are kept. The model that was given stays as it is.
    """

    def __init__(self, head_model: HeadModel, task: Task, plan: Plan) -> None:
        self.plan, self.task = plan, task
        self.training = GateTraining(head_model, task, plan)
        self.finetuning: FineTuning | None = None
        self.history: list[Record] = []
        self._told_at = 0

    def steps(self) -> Iterator[Record]:
        """Goes on from where it is; a record a step, most of which tell nothing but how far it is."""
        total = self.plan.training.steps
        if not self.history:
            yield self._noted(self._pictured(Record(ATTACHED, 0, total, value=self._metric(self.training.head_model))))
        while self.training.step < total:
            self.training.train_step()
            yield self._noted(self._told())
        if self.history[-1].phase == GATES:
            yield self._noted(self._removed())
        if self.plan.finetune:
            yield from self._finetuned()

    @property
    def done(self) -> int:
        """Steps that are done, of both trainings."""
        return self.training.step + (self.finetuning.step if self.finetuning else 0)

    @property
    def total(self) -> int:
        """Steps of both trainings."""
        return self.plan.training.steps + self.plan.finetune

    def learned(self) -> Learned:
        """What came of it; asked for once all steps are done."""
        learner, heads = self.training.learner, self.training.heads
        smaller = self.finetuning.best() if self.finetuning else self._smaller()
        return Learned(
            self.training.mask(),
            dict(zip(heads, learner.shown(), strict=True)),
            dict(zip(heads, learner.scores(), strict=True)),
            float(learner.price),
            self.training.head_model,
            smaller,
        )

    def state(self) -> dict[str, Any]:
        """Everything that the rest depends on, as `torch.save` writes and `torch.load` safely reads it."""
        return {
            "plan": self._spelt(),
            "history": [record.to_json() for record in self.history],
            "told_at": self._told_at,
            "training": self.training.state(),
            "finetuning": None if self.finetuning is None else self.finetuning.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Goes back to where `state` was taken."""
        if state["plan"] != self._spelt():
            raise ValueError(f"a checkpoint of {state['plan']}; this run has {self._spelt()}")
        self.history = [Record.from_json(record) for record in state["history"]]
        self._told_at = state["told_at"]
        self.training.load(state["training"])
        self.finetuning = None
        if state["finetuning"] is not None:
            self.finetuning = self._new_finetuning()
            self.finetuning.load(state["finetuning"])

    # telling

    def _told(self) -> Record:
        """What there is to tell after a step of the gates."""
        step, training = self.training.step, self.plan.training
        last = step >= training.steps
        judged = last or step % training.every == 0
        record = Record(GATES, step, training.steps)
        if judged or step % max(1, math.ceil(training.steps / MOST_PICTURES)) == 0:
            record = self._pictured(record)
        return replace(record, value=self._judged()) if judged else record

    def _pictured(self, record: Record) -> Record:
        """The record with the gates as they are, and with losses if steps were done since they were last told."""
        learner, n_steps = self.training.learner, record.step - self._told_at
        if n_steps:
            loss, penalty = self.training.outlay(n_steps)
            if not math.isfinite(loss):
                raise ValueError(
                    f"the loss is {loss} after {record.step} steps; try a lower rate than {self.plan.training.rate}"
                )
            record = replace(record, loss=loss, penalty=penalty)
            self._told_at = record.step
        kept = tuple(map(int, learner.kept().tolist()))
        return replace(
            record,
            price=float(learner.price),
            n_open=learner.n_open(),
            n_kept=sum(kept),
            kept=kept,
            gates=tuple(round(gate, DIGITS) for gate in learner.shown()),
        )

    def _judged(self) -> float:
        """The metric on development of the model without the heads that would go."""
        with gated(self.training.head_model, self.training.gates()):
            return self._metric(self.training.head_model)

    def _metric(self, head_model: HeadModel) -> float:
        outcomes = self.task.outcomes(head_model, JUDGED_ON, self.plan.training.n_judged)
        return float(self.task.metrics[0].estimate(outcomes).value)

    def _noted(self, record: Record) -> Record:
        if record.tells:
            self.history.append(record)
        return record

    # the smaller model

    def _removed(self) -> Record:
        """Heads gone for good; the smaller model has the value that was judged under the mask."""
        total, kept = self.plan.training.steps, tuple(map(int, self.training.learner.kept().tolist()))
        gates, n_kept = tuple(map(float, kept)), sum(kept)
        value = self.history[-1].value
        return Record(REMOVED, total, total, n_open=float(n_kept), n_kept=n_kept, kept=kept, gates=gates, value=value)

    def _finetuned(self) -> Iterator[Record]:
        if self.finetuning is None:
            self.finetuning = self._new_finetuning()
        for progress in self.finetuning.steps():
            record = Record(FINETUNING, progress.step, self.plan.finetune, progress.loss, value=progress.value)
            yield self._noted(record)

    def _new_finetuning(self) -> FineTuning:
        return FineTuning(self._smaller(), self.task, replace(self.plan.training, steps=self.plan.finetune))

    def _smaller(self) -> HeadModel:
        smaller = without_heads(self.training.head_model, self.training.mask())
        smaller.model.requires_grad_(True)
        return smaller

    def _spelt(self) -> str:
        return repr(self.plan)
