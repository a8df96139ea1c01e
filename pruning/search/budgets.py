"""What a pruned model may cost and must keep, as plain values and as text that people write; needs no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from headscope.models.text import shown

QUANTITIES = ("attention parameters", "parameters", "operations", "key/value cache", "heads")
"""What a budget can limit to a share of what the model has now."""

SPELLINGS = {"flops": "operations", "cache": "key/value cache", "kv cache": "key/value cache"}
SHARE_METRICS = ("accuracy", "f1", "agreement")
"""Metrics from 0 to 1; a point of these is a hundredth."""

ALLOWED = (
    "'accuracy within 1 point', 'loss within 5 %', '1.3 times faster at batch 16 and length 128', "
    f"'at most 40 % of X' or 'X halved', where X is one of {', '.join(QUANTITIES)}"
)


@dataclass(frozen=True)
class Within:
    """Quality is kept: the metric is at most `amount` worse than that of the unpruned model.

    `metric` is (part of) the name of the task's first metric, `loss`, or empty for whatever the task has. The unit is
    `points` (hundredths of a share, whole numbers of any other metric) or `%` of the unpruned value.
    """

    metric: str
    amount: float
    unit: str = "points"

    kind: ClassVar[str] = "within"

    def __post_init__(self) -> None:
        if self.amount < 0 or self.unit not in ("points", "%"):
            raise ValueError(f"quality within {self.amount} {self.unit}; allowed is 0 or more, in points or in %")

    def __str__(self) -> str:
        amount = "1 point" if (self.amount, self.unit) == (1, "points") else f"{self.amount:g} {self.unit}"
        return f"{self.metric or 'metric'} within {amount}"

    def limit(self, unpruned: float, metric: str, higher_is_better: bool) -> float:
        """The worst value that is still allowed."""
        point = 0.01 if any(name in metric.casefold() for name in SHARE_METRICS) else 1.0
        room = self.amount * point if self.unit == "points" else abs(unpruned) * self.amount / 100
        return unpruned - room if higher_is_better else unpruned + room

    def names(self, metric: str) -> bool:
        """Whether this is about the metric of that name."""
        return self.metric.casefold() in metric.casefold()


@dataclass(frozen=True)
class Faster:
    """The really smaller model, timed beside the dense one, takes so many times less for a batch."""

    times: float
    batch: int = 16
    length: int = 128

    kind: ClassVar[str] = "faster"

    def __post_init__(self) -> None:
        if self.times <= 1 or self.batch < 1 or self.length < 1:
            raise ValueError(
                f"{self.times:g} times faster at batch {self.batch} and length {self.length}; allowed is more than 1"
            )

    def __str__(self) -> str:
        return f"{self.times:g} times faster at batch {self.batch} and length {self.length}"


@dataclass(frozen=True)
class AtMost:
    """At most this share, from 0 to 1, of what the model has now is left."""

    share: float
    what: str = "attention parameters"

    kind: ClassVar[str] = "at most"

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1 or self.what not in QUANTITIES:
            known = ", ".join(QUANTITIES)
            raise ValueError(f"at most {100 * self.share:g} % of {self.what}; allowed are 0 to under 100 % of {known}")

    def __str__(self) -> str:
        return f"at most {100 * self.share:g} % of {self.what}"


Budget = Within | Faster | AtMost

_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_PER_CENT = r"(?:%|per ?cent)"
_WHAT = r"(?:the )?(?:model's )?([a-z/ ]+?)"
_WITHIN = re.compile(rf"(?:keep )?(?:the )?(.*?) ?within {_NUMBER} ?(points?|{_PER_CENT})(?: of the unpruned model)?")
_FASTER = re.compile(
    rf"(?:at least )?{_NUMBER} ?(?:times|x|×) (?:faster|as fast)"
    r"(?: at batch (\d{1,9}))?(?:(?: and| at|,)? length (\d{1,9}))?"
)
_AT_MOST = re.compile(rf"at most {_NUMBER} ?{_PER_CENT} of {_WHAT}")
_HALVED = re.compile(rf"(?:{_WHAT} (?:is |are )?halved|half {_WHAT})")


def parse_budget(text: str) -> Budget:
    """The budget that a text such as `at most 40 % of attention parameters` says."""
    said = " ".join(text.split()).casefold().rstrip(".")
    if found := _FASTER.fullmatch(said):
        return Faster(float(found[1]), int(found[2] or Faster.batch), int(found[3] or Faster.length))
    if found := _AT_MOST.fullmatch(said):
        return AtMost(_rounded(float(found[1]) / 100), _quantity(found[2], text))
    if found := _HALVED.fullmatch(said):
        return AtMost(0.5, _quantity(found[1] or found[2], text))
    if found := _WITHIN.fullmatch(said):
        metric = "" if found[1] in ("metric", "quality") else found[1]
        return Within(metric, float(found[2]), "points" if found[3].startswith("point") else "%")
    raise ValueError(f"no budget {shown(text)!r}; allowed are {ALLOWED}")


def parse_budgets(texts: Iterable[str]) -> tuple[Budget, ...]:
    """Several budgets, one a text or several in one text, apart by semicolons; each is kept once."""
    found = [parse_budget(part) for text in texts for part in text.split(";") if part.strip()]
    if not found:
        raise ValueError(f"no budget given; allowed are {ALLOWED}")
    return tuple(dict.fromkeys(found))


def budget_fields(budget: Budget) -> dict[str, Any]:
    """The budget as plain values, for forms and files."""
    return {"kind": budget.kind} | asdict(budget)


def budget_of(fields: Mapping[str, Any]) -> Budget:
    """What `budget_fields` wrote."""
    kinds = {one.kind: one for one in (Within, Faster, AtMost)}
    if fields.get("kind") not in kinds:
        raise ValueError(f"no kind of budget {fields.get('kind')!r}; known: {', '.join(kinds)}")
    budget: Budget = kinds[fields["kind"]](**{name: value for name, value in fields.items() if name != "kind"})
    return budget


def _quantity(said: str, text: str) -> str:
    what = SPELLINGS.get(said, said)
    if what not in QUANTITIES:
        raise ValueError(f"no budget {shown(text)!r}; what can be limited: {', '.join(QUANTITIES)}")
    return what


def _rounded(share: float) -> float:
    """Per cent without the last binary digits, so that 7 % is 0.07."""
    return round(share, 12)
