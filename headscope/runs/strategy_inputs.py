"""What strategies are told about a model: scores, losses, gradients and roles, from calibration examples alone.

Here importance, which knows no strategy, and pruning, which knows no method, meet. What was computed is kept on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.runs.learned_scores import SOURCES, newest, order_of
from headscope.runs.measurement_cache import MeasurementCache

if TYPE_CHECKING:
    from headscope.models.head_model import HeadModel
    from headscope.models.heads import HeadId
    from headscope.pruning.evaluation.evaluator import Evaluator
    from headscope.pruning.masks import HeadMask
    from headscope.pruning.search.strategy import Strategy
    from headscope.pruning.search.subject import Gradients, Scores, Subject
    from headscope.tasks.batches.batching import Batch
    from headscope.tasks.task import Task

SPLIT = "calibration"
N_ROLES = 600
"""Passages on which the roles of heads are looked for."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """A model and the first n calibration examples of a task; `folder` is where measurements are shared.

    `fingerprint` is that of the model; scores are those of the method of that key with these options. `judged` holds
    the fields of the run that name the task and the data: learned scores come from runs that name the same.
    """

    head_model: HeadModel
    task: Task
    n: int
    folder: Path
    fingerprint: str
    method: str = "gradient"
    options: Mapping[str, Any] = field(default_factory=dict)
    judged: Mapping[str, Any] = field(default_factory=dict)

    def subject(self, strategy: Strategy, banks: str = "") -> Subject:
        """The model as this strategy sees it; only heads of the named banks may go, of all if none is named."""
        from headscope.pruning.search.strategy import ROLES
        from headscope.pruning.search.subject import Subject, heads_of

        return Subject(
            self.head_model.grid,
            heads_of(self.head_model.grid, self.head_model.removed, banks),
            gone=self.head_model.removed,
            scores=self.scores,
            scoring=self.scoring,
            losses=self.losses,
            gradients=self.gradients,
            roles=self.roles() if ROLES in strategy.needs else {},
        )

    def scores(self, mask: HeadMask) -> Scores:
        """The scores of the really smaller model, as the method gives them."""
        from headscope.models.heads import HeadId

        for _ in self.scoring(mask):
            pass
        found = self._learned() if self.method in SOURCES else self._scored[str(mask)]
        return {HeadId.parse(head): value for head, value in found.items()}

    def scoring(self, mask: HeadMask) -> Iterator[None]:
        """Finds these scores batch by batch, so that they are known to `scores`; nothing to do where they are."""
        from headscope.analysis.importance.method import combined, method_of, portions
        from headscope.pruning.surgery import without_heads

        if self.method in SOURCES or str(mask) in self._scored:
            return
        method = method_of(self.method)(**self.options)
        left = without_heads(self.head_model, mask) if mask else self.head_model
        found = []
        for portion in portions(method, left, self.task, self.task.batches(left, SPLIT, self.n)):
            found.append(portion)
            yield
        values = combined(method, left.grid, found).values
        self._scored[str(mask)] = {str(head): value for head, value in values.items()}

    def _learned(self) -> dict[str, float]:
        """Scores that another run gave, the last one if none is named; they do not change as heads go."""
        run_id = self.options.get("run") or newest(self.folder, self.fingerprint, self.method, self.judged)
        if not run_id:
            named = SOURCES[self.method].named
            raise ValueError(f"no finished run of {named} for this model on this task; start one first")
        heads = [str(head) for head in self.head_model.grid]
        gone = {str(head) for head in self.head_model.removed}
        return order_of(self.folder, run_id, self.method, heads, gone)

    def losses(self, masks: Sequence[HeadMask]) -> list[float]:
        """The mean losses; those that are not known yet are computed together."""
        known = MeasurementCache(self.folder, self.fingerprint, self._evaluator.mark, "loss")
        found = {str(mask): known[str(mask)]["loss"] for mask in masks if str(mask) in known}
        unknown = [mask for mask in masks if str(mask) not in found]
        fresh = dict(zip(map(str, unknown), self._evaluator.losses(unknown), strict=True))
        known.update({mask: {"loss": loss} for mask, loss in fresh.items()})
        return [(found | fresh)[str(mask)] for mask in masks]

    def gradients(self) -> Gradients:
        """The derivatives of the loss of every example by every gate of the unpruned model."""
        import numpy as np

        from headscope.analysis.importance.methods.gradient import gate_gradients
        from headscope.tasks.batches.memory_splitting import done_in_parts

        def work(batch: Batch) -> Gradients:
            rows = gate_gradients(self.head_model, self.task, batch)
            return rows.detach().double().cpu().numpy()

        batches = self._evaluator.batches
        return np.concatenate([part for batch in batches for part in done_in_parts(self.head_model, batch, work)])

    def roles(self) -> dict[HeadId, list[str]]:
        """The roles of every head that has any."""
        from headscope.analysis.roles.sample_selection import chosen_sample
        from headscope.analysis.roles.search import roles_of

        sample, _ = chosen_sample(self.head_model, N_ROLES, SPLIT)
        found: dict[HeadId, list[str]] = {}
        for key, findings in roles_of(self.head_model, sample).items():
            for head, finding in findings.items():
                if finding.verdict:
                    found.setdefault(head, []).append(key)
        return found

    @cached_property
    def _scored(self) -> MeasurementCache:
        about = (self.fingerprint, self._evaluator.mark, "scores", self.method, dict(self.options))
        return MeasurementCache(self.folder, *about)

    @cached_property
    def _evaluator(self) -> Evaluator:
        from headscope.pruning.evaluation.evaluator import Evaluator

        return Evaluator.of(self.head_model, self.task, SPLIT, self.n)
