"""How good a model is under a mask that a person edits: a quick estimate first, the whole split right after."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headscope.models.loading.fingerprint import file_fingerprint, fingerprint
from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.run import QUERY

if TYPE_CHECKING:
    from headscope.pruning.evaluation.evaluator import Evaluator
    from headscope.pruning.evaluation.results import Verdict

QUICK, QUICK_WRITTEN = 24, 12
"""Examples of the quick estimate, and of one for which text is written word by word: few, so that it takes a second."""

QUICK_SHARE = 4
"""The quick estimate is on no more than one in so many examples: those of a small split are mostly long."""


@register
@dataclass(frozen=True)
class LiveQuery(Kind):
    """The headline metric of a mask, as a point but for its loss; on the way a quick estimate."""

    mask: str = ""
    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    split: str = "development"

    key = "live"
    kept = False

    @property
    def title(self) -> str:
        """Not shown in any history."""
        return f"{self.model} without {len(self.mask.split())} heads"

    @property
    def lane(self) -> str:
        """Somebody waits for it."""
        return QUERY

    def steps(self, workspace: Workspace) -> Steps:
        """A step a batch, so that another mask need not wait for this one."""
        from headscope.pruning.masks import HeadMask
        from headscope.runs.measurement_cache import MeasurementCache

        quick, whole = self._evaluators(workspace)
        mask = HeadMask.of(whole.head_model.grid, self.mask)
        of_sweeps, own = (
            MeasurementCache(workspace.folder.parent, fingerprint(self.model), whole.mark, what)
            for what in ("point", "verdict")
        )
        higher = {"higher_is_better": whole.task.higher_is_better}
        yield Step(0, 1)
        for known in (of_sweeps, own):
            if str(mask) in known:
                return known[str(mask)] | higher
        if not workspace.points and len(quick.batches) < len(whole.batches):
            estimate = yield from _counted(quick.verdict_steps(mask))
            yield Step(0, 1, estimate)
        own[str(mask)] = verdict = yield from _counted(whole.verdict_steps(mask))
        return verdict | higher

    def _evaluators(self, workspace: Workspace) -> tuple[Evaluator, Evaluator]:
        """One for the first examples and one for all, as long as the model stays in memory."""
        from headscope.pruning.evaluation.evaluator import Evaluator
        from headscope.tasks.task_selection import chosen_task
        from headscope.tasks.translation import Translation

        head_model = workspace.load(self.model)
        memory: dict[Any, Any] = workspace.models.beside(self.model)
        columns = tuple(sorted(self.columns.items()))
        judged = ("live", self.task, self.data, file_fingerprint(self.data), columns, self.split)
        if judged not in memory:
            task, _ = chosen_task(head_model, self.task, self.data, self.columns)
            whole = Evaluator.of(head_model, task, self.split)
            n_whole = len({index for batch in whole.batches for index in batch.indices})
            most = QUICK_WRITTEN if isinstance(task, Translation) else QUICK
            quick = Evaluator.of(head_model, task, self.split, min(most, -(-n_whole // QUICK_SHARE)))
            memory[judged] = quick, whole
        found: tuple[Evaluator, Evaluator] = memory[judged]
        return found


def _counted(steps: Generator[tuple[int, int], None, Verdict]) -> Generator[Step, None, dict[str, Any]]:
    """What is found in the end, as plain values, with a step a batch."""
    while True:
        try:
            done, total = next(steps)
        except StopIteration as end:
            return end.value.to_json()  # type: ignore[no-any-return]
        yield Step(done, total)
