"""The whole course of FiAK: train priors with the model, prune by them, and fine-tune what is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from headscope.models.example_inputs import example_inputs, main_output
from headscope.models.head_model import HeadModel
from headscope.pruning.fiak.diversity import diversity
from headscope.pruning.fiak.layers import PriorLayer, prior_layers
from headscope.pruning.fiak.priors import priors_of, with_priors
from headscope.pruning.fiak.pruned_attention import masked, without_scores
from headscope.pruning.fiak.pruning_choice import Choice, chosen
from headscope.pruning.fiak.selection import KeptLayer
from headscope.pruning.fiak.summary import histograms
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.pruning.training.fine_tuning import FineTuning, Progress, reinitialised, trainable_copy
from headscope.pruning.training.settings import Settings
from headscope.tasks.batches.batching import collated
from headscope.tasks.batches.encoding import longest_text
from headscope.tasks.model_kinds import kind_of
from headscope.tasks.statistics.paired_tests import Comparison
from headscope.tasks.task import SPLITS, Task

PRIORS, TUNING = "priors", "tuning"
NEVER = 10**9
"""Judgements in vain that do not end the training of priors: the last ones count, not the best."""

JUDGED = ("development", "test")
STARTS = ("trained", "scratch")
N_DIVERSITY = 16
"""Examples of development on which the patterns of heads are compared."""


@dataclass(frozen=True)
class Plan:
    """What is pruned, the form of attention, and how both trainings go.

    The model is reported on the first `n` examples of development and test, by default all of them. `length` is that of
    the longest input, by default that of the longest example. The heads of `mask` are removed first, and with the start
    `scratch` the weights are drawn anew then, so that the model is trained with priors from the beginning.
    """

    choice: Choice = field(default_factory=Choice)
    form: str = "dot"
    length: int | None = None
    priors: Settings = field(default_factory=Settings)
    tuning: Settings = field(default_factory=Settings)
    n: int | None = None
    mask: str = ""
    start: str = "trained"

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise ValueError(f"no start {self.start!r}; allowed: {', '.join(STARTS)}")


@dataclass(frozen=True)
class Moment:
    """A step of one of the two trainings, with the histograms of priors where the model was judged."""

    phase: str
    progress: Progress
    histograms: Mapping[str, list[int]] | None = None

    @property
    def shows_priors(self) -> bool:
        """Whether priors, or what is kept by them, are others than when they were last shown."""
        return self.histograms is not None or (self.phase == TUNING and self.progress.step == 0)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"phase": self.phase, **asdict(self.progress), "histograms": self.histograms}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Moment:
        """What `to_json` wrote."""
        numbers = {name: value for name, value in record.items() if name not in ("phase", "histograms")}
        return cls(record["phase"], Progress(**numbers), record["histograms"])


class Course:
    """Algorithms 1, 2 and 3: which of them it is says `plan.choice`.

    1. Every score gets a prior. 2. Model and priors are trained together on training examples. 3. Scores, or keys,
    of the smallest priors go. 4. The remaining priors are set to one, and what is left is fine-tuned. `load(state())`
    goes on as if nothing had happened. The model that was given stays as it is. `dense` is that model, `headless` the
    same without the heads of the plan, and `beginning` what gets the priors.
    """

    def __init__(self, head_model: HeadModel, task: Task, plan: Plan) -> None:
        self.task, self.plan = task, plan
        self.dense = trainable_copy(head_model)
        mask = HeadMask.of(head_model.grid, plan.mask)
        self.headless = without_heads(self.dense, mask) if mask else self.dense
        fresh = plan.start == "scratch"
        self.beginning = reinitialised(self.headless, plan.priors.seed) if fresh else self.headless
        length = plan.length or longest_example(head_model, task)
        self.layers: tuple[PriorLayer, ...] = prior_layers(self.beginning, length)
        starting = with_priors(self.beginning, self.layers, plan.choice.prior, plan.form)
        self.longest = length or 0
        self.training = FineTuning(starting, task, replace(plan.priors, patience=NEVER, longest=self.longest))
        self.tuning: FineTuning | None = None
        self.priors: dict[str, Tensor] = {}
        self.kept: dict[str, KeptLayer] = {}
        self.measured: dict[str, dict[str, Any]] = {}
        self.diversity: dict[str, dict[str, float]] = {}
        self.told: list[Moment] = []

    @property
    def total(self) -> int:
        """Steps of both trainings."""
        return self.plan.priors.steps + self.plan.tuning.steps

    @property
    def done(self) -> int:
        """Steps that were taken."""
        return self.training.step + (0 if self.tuning is None else self.tuning.step)

    def steps(self) -> Iterator[Moment | None]:
        """Every step, and None after each of the measurements in between; `told` keeps what tells something."""
        for moment in self._steps():
            if moment is not None and moment.progress.tells:
                self.told.append(moment)
            yield moment

    def _steps(self) -> Iterator[Moment | None]:
        if self.tuning is None:
            yield from self._train_priors()
            self.priors = priors_of(self.training.head_model, self.layers)
            yield from self._measured("dense", self.dense)
            if self.plan.mask:
                yield from self._measured("heads", self.headless)
            yield from self._measured("priors", self.training.head_model)
            self.tuning = self._tuned_from(self.training.head_model)
            yield from self._measured("pruned", self.tuning.head_model)
        for progress in self.tuning.steps():
            yield Moment(TUNING, progress)
        yield from self._measured("tuned", self.result())

    def result(self) -> HeadModel:
        """The fine-tuned model, with the weights that development examples found best."""
        if self.tuning is None:
            raise ValueError("nothing is pruned yet; take all steps first")
        return self.tuning.best()

    def so_far(self) -> tuple[dict[str, Tensor], dict[str, KeptLayer]]:
        """The priors as they are now, and what is kept by them: everything before it is pruned."""
        priors = self.priors or priors_of(self.training.head_model, self.layers)
        every = {
            layer.name: KeptLayer.of_keys(torch.ones(len(layer.heads), layer.length, dtype=torch.bool), layer.visible())
            for layer in self.layers
        }
        return priors, self.kept or every

    def comparison(self, split: str) -> Comparison:
        """How far the fine-tuned model is above the one that was given."""
        before, after = (self.task.outcomes(one, split, self.plan.n) for one in (self.dense, self.result()))
        return self.task.compare(before, after)

    def difference(self, pruned: HeadModel) -> float:
        """How far the pruned model is from one that computes everything and masks, in units of the largest output.

        Both have the same weights, and see example inputs; text is cut to the length of the priors.
        """
        inputs = _example(pruned, self.layers)
        whole = masked(self.beginning, self.layers, self.kept, self.plan.form)
        whole.model.load_state_dict(pruned.model.state_dict())
        expected, found = (main_output(one, inputs) for one in (whole, pruned))
        return float((found - expected).abs().max() / expected.abs().max())

    def state(self) -> dict[str, Any]:
        """Everything that the rest depends on, as `torch.save` writes and `torch.load` safely reads it."""
        return {
            "priors": self.priors,
            "measured": self.measured,
            "diversity": self.diversity,
            "training": self.training.state() if self.tuning is None else {},
            "tuning": {} if self.tuning is None else self.tuning.state(),
            "told": [moment.to_json() for moment in self.told],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Goes back to where `state` was taken."""
        self.priors, self.measured, self.diversity = (state[name] for name in ("priors", "measured", "diversity"))
        self.told = [Moment.from_json(record) for record in state["told"]]
        if state["tuning"]:
            self.training.step = self.plan.priors.steps
            self.tuning = self._tuned_from(self.beginning)
            self.tuning.load(state["tuning"])
        else:
            self.training.load(state["training"])

    def _train_priors(self) -> Iterator[Moment]:
        for progress in self.training.steps():
            judged = progress.value is not None
            priors = priors_of(self.training.head_model, self.layers) if judged else {}
            yield Moment(PRIORS, progress, histograms(self.layers, priors) if judged else None)

    def _tuned_from(self, trained: HeadModel) -> FineTuning:
        """Prunes, and begins to fine-tune; the weights are those of the model that is given."""
        self.kept = chosen(self.plan.choice, self.layers, self.priors, self.plan.priors.seed)
        smaller = without_scores(trained, self.layers, self.kept, self.plan.form)
        return FineTuning(smaller, self.task, replace(self.plan.tuning, longest=self.longest))

    def _measured(self, stage: str, head_model: HeadModel) -> Iterator[None]:
        """The headline metric with its interval and how heads differ, where it was not measured before."""
        if stage not in self.diversity:
            examples = self.task.rows(head_model, JUDGED[0], N_DIVERSITY)[:N_DIVERSITY]
            inputs = [collated([row], head_model, JUDGED[0]).inputs for row in examples]
            self.diversity[stage] = diversity(head_model, inputs)
        for split in JUDGED:
            if split not in self.measured.setdefault(stage, {}):
                outcomes = self.task.outcomes(head_model, split, self.plan.n)
                self.measured[stage][split] = asdict(self.task.metrics[0].estimate(outcomes))
            yield None


def _example(head_model: HeadModel, layers: Sequence[PriorLayer]) -> dict[str, Tensor]:
    length = min(layer.length for layer in layers)
    return {
        name: given[:, :length] if given.dim() == 2 else given for name, given in example_inputs(head_model).items()
    }


def longest_example(head_model: HeadModel, task: Task) -> int | None:
    """The length of the longest example; of a model that writes, what it may write at most; None for images."""
    if head_model.model.main_input_name != "input_ids":
        return None
    if kind_of(head_model.model) == "translator":
        return longest_text(head_model)
    rows = [row for split in SPLITS for row in task.rows(head_model, split, None)]
    return max(row.lengths[0] for row in rows)
