"""What a role is: a frozen declaration of what a head may be for, judged by counts that add up reading by reading.

A role is tried on one half of the readings, where cases such as an offset or a relation are chosen, and reported on the
other half. A head has it if its score reaches what the role asks for on both halves, and if on the second half it beats
the baseline in more readings than luck allows: an exact sign test over readings, corrected after Holm for all heads and
cases of the role. So by luck at most one model in a hundred (`RATE`) has any head of that role. A role registers itself
in the file that defines it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from headscope.analysis.roles.layer_attention import Look
from headscope.analysis.roles.sample import Reading, Sample
from headscope.models.heads import HeadId
from headscope.models.registry import Registry
from headscope.models.sites import Site

RATE = 0.01
"""How often, at most, luck alone may give any head of a model a role."""

FEWEST = 20
"""How often a case must occur in each half to be looked at; ours."""


@dataclass(frozen=True)
class RoleFinding:
    """How far one head has one role: its score, the baseline it must beat, and how many looks that is.

    All are those of the second half. `detail` holds plain values: the chosen case, what the baseline is, the p-value.
    """

    score: float
    baseline: float
    n: int
    verdict: bool
    detail: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"score": self.score, "baseline": self.baseline, "n": self.n, "verdict": self.verdict,
                "detail": dict(self.detail)}  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """One head and one case: scores and baselines of both halves, the looks of the second and the p-value there."""

    head: HeadId
    case: str
    scores: tuple[float, float]
    baselines: tuple[float, float]
    n: int
    p: float
    control: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def margin(self) -> float:
        """By how much the head beats the baseline where cases are chosen."""
        return self.scores[0] - self.baselines[0]


class Tally(ABC):
    """What is counted for one role in one bank."""

    @abstractmethod
    def add(self, site: Site, look: Look) -> None:
        """Counts one more reading of one layer."""

    @abstractmethod
    def trials(self) -> Iterator[Trial]:
        """Every head with every case that is frequent enough."""


class Role(ABC):
    """What a head may be for. Subclasses are frozen dataclasses whose fields are thresholds.

    `letter` stands for the role in a grid; `banks` are those in which it is looked for; `asks` says what a head must
    do, and `ours` which part of that no paper states.
    """

    key: ClassVar[str]
    letter: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    asks: ClassVar[str]
    ours: ClassVar[str] = ""
    banks: ClassVar[tuple[str, ...]] = ("encoder", "decoder")

    @abstractmethod
    def fits(self, reading: Reading, bank: str) -> bool:
        """Whether this role can be looked for in a reading."""

    @abstractmethod
    def tally(self, sample: Sample, bank: str) -> Tally | None:
        """Counts for the readings that fit; None if nothing in them can be counted."""

    @abstractmethod
    def needed(self, baseline: float) -> float:
        """The score that a head must reach."""

    @abstractmethod
    def phrase(self, finding: RoleFinding) -> str:
        """What a head with this finding does, as a clause without its subject."""

    @abstractmethod
    def following(self, sample: Sample, look: Look, case: str) -> list[tuple[int, int, float]]:
        """The looks of the first head of `look` that the case is about: from where, to where, with which weight."""

    def evidence(self, finding: RoleFinding) -> str:
        """The numbers behind the phrase."""
        control = str(finding.detail.get("control", "baseline"))
        return f"{percent(finding.score)} of {finding.n}, {control}: {percent(finding.baseline)}"

    def judges(self, case: str) -> bool:
        """Whether a case can give the role; others are only told."""
        del case
        return True

    def detail(self, trials: Sequence[Trial], passed: frozenset[str]) -> dict[str, Any]:
        """All cases of one head."""
        return {
            "cases": {
                trial.case: {"score": round(trial.scores[1], 4), "baseline": round(trial.baselines[1], 4),
                             "n": trial.n, "verdict": trial.case in passed}
                for trial in trials
            }
        }  # fmt: skip


_ROLES = Registry[Role]("role", "headscope.analysis.roles.methods")
register, roles, role_of = _ROLES.register, _ROLES.all, _ROLES.get


def judged(role: Role, trials: Iterable[Trial], rate: float = RATE) -> dict[HeadId, RoleFinding]:
    """What every head has to say for itself: its best case that passes, else the best, chosen by the first half."""
    tried = list(trials)
    judging = [trial for trial in tried if role.judges(trial.case)]
    beyond_luck = holm([trial.p for trial in judging], rate)
    passed = {
        (trial.head, trial.case)
        for trial, lucky in zip(judging, beyond_luck, strict=True)
        if lucky and _reaches(role, trial)
    }
    by_head: dict[HeadId, list[Trial]] = {}
    for trial in tried:
        by_head.setdefault(trial.head, []).append(trial)
    return {head: _finding(role, own, passed) for head, own in by_head.items()}


def _reaches(role: Role, trial: Trial) -> bool:
    return all(score >= role.needed(baseline) for score, baseline in zip(trial.scores, trial.baselines, strict=True))


def _finding(role: Role, trials: Sequence[Trial], passed: set[tuple[HeadId, str]]) -> RoleFinding:
    own = frozenset(trial.case for trial in trials if (trial.head, trial.case) in passed)
    candidates = [trial for trial in trials if trial.case in own] or [one for one in trials if role.judges(one.case)]
    chosen = max(candidates, key=lambda trial: trial.margin)
    detail = {"case": chosen.case, "control": chosen.control, "p": chosen.p} | role.detail(trials, own)
    return RoleFinding(chosen.scores[1], chosen.baselines[1], chosen.n, bool(own), detail)


def percent(share: float) -> str:
    """A share as people write it."""
    return f"{100 * share:.0f} %"


def holm(p_values: Sequence[float], rate: float) -> list[bool]:
    """Which of many tests may be called significant so that any false one happens at `rate` at most, Holm 1979."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    significant = [False] * len(p_values)
    for rank, place in enumerate(order):
        if p_values[place] > rate / (len(p_values) - rank):
            break
        significant[place] = True
    return significant


@cache
def sign_test(wins: int, losses: int) -> float:
    """P(X >= wins) for X ~ Binomial(wins + losses, 1/2): how likely so many wins are where neither side is better."""
    n = wins + losses
    log_half = n * math.log(2)
    total = math.lgamma(n + 1)
    terms = (total - math.lgamma(k + 1) - math.lgamma(n - k + 1) - log_half for k in range(wins, n + 1))
    return min(1.0, math.fsum(map(math.exp, terms)))
