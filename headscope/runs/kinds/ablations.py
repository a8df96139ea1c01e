"""The tables of the sixteen-heads paper for any model."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from headscope.runs.kind import Kind, Step, Steps, Workspace, register

if TYPE_CHECKING:
    from headscope.pruning.evaluation.evaluator import Evaluator
    from headscope.pruning.evaluation.head_effects import Cache, Effect, Judges
    from headscope.pruning.evaluation.results import Point
    from headscope.runs.ray.cluster import Alone, Keep
    from headscope.runs.strategy_inputs import Calibration
    from headscope.tasks.task_selection import LeftOut

DECIDED, REPORTED = "development", "test"
EFFECT, POINT = "effect", "point"


@register
@dataclass(frozen=True)
class AblationsRun(Kind):
    """Every head removed alone, every layer reduced to its best head, the same on a second data set, bank after bank.

    The second data set is the test split of the task `second`; where none is named, of the task itself. Each bank is
    pruned alone in the order of the scores of `method`, `step` apart, with `seeds` random orders beside. The points are
    effects, then points of the curves with their `bank`.
    """

    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    second: str = ""
    n: int | None = None
    method: str = "gradient"
    options: dict[str, Any] = field(default_factory=dict)
    n_scoring: int = 128
    step: float = 0.1
    seeds: int = 5

    key = "ablations"
    command_name = "ablate"

    @property
    def title(self) -> str:
        """The model and the size."""
        return f"Ablations of {self.model}" + (f", {self.n} examples" if self.n else "")

    @property
    def arguments(self) -> dict[str, Any]:
        """As fields, but for the options of the method."""
        given = super().arguments
        return {"option": given.pop("options")} | given

    def steps(self, workspace: Workspace) -> Steps:
        """One step an effect or a point, and one a batch on the way."""
        from headscope.models.loading.fingerprint import fingerprint
        from headscope.runs.learned_scores import judged_in
        from headscope.runs.ray.cluster import helped
        from headscope.runs.strategy_inputs import Calibration

        judges, broken = self._judges(workspace)
        task, mark = judges.development.task, fingerprint(self.model)
        calibration = Calibration(
            judges.head_model,
            task,
            self.n_scoring,
            workspace.folder.parent,
            mark,
            self.method,
            self.options,
            judged_in(asdict(self)),
        )
        known = _Known.of(calibration, judges.development)
        done = [point for point in workspace.points if "bank" in point]
        with helped(self, workspace, lambda: self._wanted(calibration, judges, known)) as others:
            known = known.shared(others)
            tables = yield from _tables(judges, known.effects, workspace.points, self._n_points(calibration))
            curves = yield from self._curves(calibration, known, done, len(tables))
        return {
            "task": task.title,
            "metric": task.metrics[0].name,
            "higher_is_better": task.higher_is_better,
            "whole": {name: _estimate(judge) for name, judge in _named(judges).items()},
            **_told(tables, judges),
            "banks": curves,
            "skipped": [str(row) for row in broken[:20]],
        }

    def hand(self, workspace: Workspace) -> Callable[[str], dict[str, Any]]:
        """A part is an effect or a point, the mark of what judges, and a mask."""
        from headscope.pruning.evaluation.head_effects import change
        from headscope.pruning.masks import HeadMask

        judges, _ = self._judges(workspace)
        by_mark = {judge.mark: judge for judge in _named(judges).values()}

        def found(part: str) -> dict[str, Any]:
            what, mark, spelt = part.split(" ", 2)
            if mark not in by_mark:
                raise ValueError(f"other examples on a node than {mark}")
            mask = HeadMask.of(judges.head_model.grid, spelt)
            return change(by_mark[mark], mask) if what == EFFECT else by_mark[mark].point(mask).to_json()

        return found

    def _wanted(self, calibration: Calibration, judges: Judges, known: _Known) -> dict[str, Keep]:
        """What a cluster can do ahead: effects first, as they come first."""
        from headscope.pruning.evaluation import head_effects
        from headscope.pruning.search import sweep

        effects = [f"{judge.mark} {mask}" for judge, mask in head_effects.masks_ahead(judges)]
        plans = self._plans(calibration).values()
        points = dict.fromkeys(str(mask) for plan, subject in plans for mask in sweep.masks_ahead(subject, plan))
        parts: dict[str, Keep] = {}
        for prefix, cache, keys in ((EFFECT, known.effects, effects), (known.point, known.points, points)):
            parts |= {f"{prefix} {key}": partial(cache.__setitem__, key) for key in keys if key not in cache}
        return parts

    def _judges(self, workspace: Workspace) -> tuple[Judges, LeftOut]:
        from headscope.pruning.evaluation.evaluator import Evaluator
        from headscope.pruning.evaluation.head_effects import Judges
        from headscope.tasks.task_selection import chosen_task

        head_model = workspace.load(self.model)
        task, broken = chosen_task(head_model, self.task, self.data, self.columns)
        second = chosen_task(head_model, self.second)[0] if self.second else task
        tests = [Evaluator.of(head_model, one, REPORTED, self.n) for one in (task, second)]
        return Judges(Evaluator.of(head_model, task, DECIDED, self.n), *tests), broken

    def _plans(self, calibration: Calibration) -> dict[str, tuple[Any, Any]]:
        """For every bank what is swept of what."""
        from headscope.pruning.search.strategies.score import ByScore
        from headscope.pruning.search.sweep import Sweep

        plan = Sweep(ByScore(), self.step, self.seeds)
        banks = [bank.bank for bank in calibration.head_model.grid.banks]
        subjects = {bank: calibration.subject(plan.strategy, bank) for bank in banks}
        return {bank: (plan, subject) for bank, subject in subjects.items() if subject.heads}

    def _n_points(self, calibration: Calibration) -> int:
        plans = self._plans(calibration).values()
        return sum(1 + (1 + self.seeds) * (len(plan.counts(subject)) - 1) for plan, subject in plans)

    def _curves(
        self, calibration: Calibration, known: _Known, have: list[dict[str, Any]], n_before: int
    ) -> Generator[Step, None, dict[str, Any]]:
        """The curves of all banks, one after the other."""
        from headscope.pruning.evaluation.results import Point
        from headscope.pruning.search.sweep import sweep

        total, done = n_before + self._n_points(calibration), n_before + len(have)
        curves = {}
        for bank, (plan, subject) in self._plans(calibration).items():
            points = [Point.from_json(point) for point in have if point["bank"] == bank]
            for progress in sweep(known.evaluator, subject, plan, known.points, tuple(points)):
                if progress.point is None:
                    yield Step(done, total)
                    continue
                points.append(progress.point)
                done += 1
                yield Step(done, total, progress.point.to_json() | {"bank": bank})
            curves[bank] = _curve(points, self.seeds)
        return curves


@dataclass(frozen=True, eq=False)
class _Known:
    """What was measured before, of effects by what judges and mask, and of points on development by mask."""

    evaluator: Evaluator
    effects: Cache
    points: Cache

    @classmethod
    def of(cls, calibration: Calibration, evaluator: Evaluator) -> _Known:
        from headscope.runs.measurement_cache import MeasurementCache

        folder, model = calibration.folder, calibration.fingerprint
        return cls(
            evaluator, MeasurementCache(folder, model, EFFECT), MeasurementCache(folder, model, evaluator.mark, POINT)
        )

    @property
    def point(self) -> str:
        """What the parts that are points begin with."""
        return f"{POINT} {self.evaluator.mark}"

    def shared(self, others: Alone) -> _Known:
        """The same, waiting for what others are at."""
        from headscope.runs.ray.cluster import Shared

        return _Known(
            self.evaluator,
            Shared(self.effects, others, f"{EFFECT} "),
            Shared(self.points, others, f"{self.point} "),
        )


def _tables(
    judges: Judges, cache: Cache, stored: list[dict[str, Any]], n_after: int
) -> Generator[Step, None, list[Effect]]:
    from headscope.pruning.evaluation.head_effects import Effect, effect_steps

    found = [Effect.from_json(point) for point in stored if "table" in point]
    yield Step(len(stored), judges.total + n_after)
    for effect in effect_steps(judges, cache, tuple(found)):
        if effect is not None:
            found.append(effect)
        yield Step(len(found), judges.total + n_after, None if effect is None else effect.to_json())
    return found


def _told(tables: list[Effect], judges: Judges) -> dict[str, Any]:
    """The tables as plain values."""
    from headscope.analysis.agreement import spearman
    from headscope.models.heads import HeadId
    from headscope.pruning.evaluation.head_effects import ALONE, CHOSEN, SECOND, best_heads, pearson

    higher = judges.development.task.higher_is_better
    by_table = {name: [one for one in tables if one.table == name] for name in (ALONE, CHOSEN, SECOND)}
    reported = {one.head: one for one in by_table[CHOSEN]}
    ranked = [{HeadId.parse(one.head): one.difference for one in by_table[name]} for name in (ALONE, SECOND)]
    second = judges.second
    return {
        "alone": [one.to_json() for one in by_table[ALONE]],
        "layers": [
            {"head": one.head, DECIDED: one.to_json(), REPORTED: reported[one.head].to_json()}
            for one in best_heads(tables, higher).values()
        ],
        "second": None
        if second is None
        else {
            "task": second.task.title,
            "split": second.split,
            "alone": [one.to_json() for one in by_table[SECOND]],
            "pearson": pearson(tables),
            "spearman": spearman(*ranked),
        },
    }  # fmt: skip


def _named(judges: Judges) -> dict[str, Evaluator]:
    named = {DECIDED: judges.development, REPORTED: judges.test, "second": judges.second}
    return {name: judge for name, judge in named.items() if judge is not None}


def _estimate(judge: Evaluator) -> dict[str, Any]:
    """The metric of the unpruned model."""
    return asdict(judge.task.metrics[0].estimate(judge.outcomes(judge.unpruned)))


def _curve(points: list[Point], seeds: int) -> dict[str, Any]:
    from headscope.pruning.evaluation.results import ORDER, first_worse

    worse = first_worse(points)
    return {
        "first_worse": None if worse is None else worse.to_json(),
        "points": [point.to_json() for point in points if point.series == ORDER],
        "random": [[one.to_json() for one in points if one.series == f"random {seed}"] for seed in range(seeds)],
    }
