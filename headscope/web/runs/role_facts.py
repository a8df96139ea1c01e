"""What a run found out about the roles of heads, read into plain values that need no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from headscope.models.heads import HeadId
from headscope.runs.kinds.roles import RolesRun
from headscope.runs.policy.uploads import path_of
from headscope.web.charts.palette import ROLES
from headscope.web.page.choice import Choice

NONE = "none"
SIZES = (100, 200, 400, 600, 1200)
USUAL = 600
MARK = "role."
"""What the name of a threshold begins with in a link."""


@dataclass(frozen=True)
class Finding:
    """One head and one role; `cases` are relations and the like, `histogram` the shares of offsets."""

    score: float
    baseline: float
    n: int
    verdict: bool
    case: str
    control: str
    p: float
    cases: Mapping[str, Mapping[str, Any]]
    histogram: Mapping[str, float]

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Finding:
        """What a run wrote."""
        detail = record["detail"]
        return cls(
            record["score"],
            record["baseline"],
            record["n"],
            record["verdict"],
            detail["case"],
            detail["control"],
            detail["p"],
            detail.get("cases", {}),
            detail.get("histogram", {}),
        )


@dataclass(frozen=True)
class CaseRow:
    """A row of a table of bars: what is looked at, by which head, how often, and how often a control would.

    `asked` is what the test of the role wants, where that is no margin over the control.
    """

    name: str
    head: HeadId
    score: float
    baseline: float
    n: int
    verdict: bool
    role: str = "syntactic"
    asked: str = ""


@dataclass(frozen=True, eq=False)
class RoleFacts:
    """Everything a run found, by role and head; `about` tells what each role is."""

    found: Mapping[str, Mapping[HeadId, Finding]]
    about: Mapping[str, Mapping[str, Any]]
    result: Mapping[str, Any]

    @classmethod
    def from_json(cls, result: Mapping[str, Any]) -> RoleFacts:
        """What a run wrote; the roles in the order in which they are drawn."""
        order = [key for key in ROLES["light"] if key in result["roles"]]
        found = {
            key: {HeadId.parse(head): Finding.from_json(one) for head, one in result["roles"][key].items()}
            for key in [*order, *(key for key in result["roles"] if key not in order)]
        }
        return cls(found, result["about"], result)

    @property
    def heads(self) -> list[HeadId]:
        """The heads that the model has."""
        return [HeadId.parse(head) for head in self.result["told"]]

    def held(self, head: HeadId) -> list[str]:
        """The roles of a head, the clearest first."""
        return list(self.result["told"].get(str(head), {"clauses": {}})["clauses"])

    def first_role(self, head: HeadId) -> str:
        """The clearest role of a head, or none."""
        return next(iter(self.held(head)), NONE)

    def counts(self, heads: Iterable[HeadId]) -> Counter[str]:
        """How many of these heads have each role as their clearest."""
        return Counter(self.first_role(head) for head in heads)

    def histogram(self, head: HeadId) -> Mapping[str, float]:
        """The shares of all offsets of a head; empty where offsets mean nothing."""
        finding = self.found.get("positional", {}).get(head)
        return finding.histogram if finding else {}

    def most_positional(self) -> HeadId | None:
        """The head that looks most often at one offset."""
        own = self.found.get("positional", {})
        return max(own, key=lambda head: own[head].score) if own else None

    def relations_of(self, head: HeadId) -> list[CaseRow]:
        """Every relation of one head, those first in which it is furthest above the control."""
        finding = self.found.get("syntactic", {}).get(head)
        return _sorted(self._relation(case, head) for case in finding.cases) if finding else []

    def best_of_relations(self) -> list[CaseRow]:
        """For every relation the head that has it most clearly, else the one that is nearest."""
        own = self.found.get("syntactic", {})
        cases = {case for finding in own.values() for case in finding.cases}
        rows = [[self._relation(case, head) for head in own if case in own[head].cases] for case in cases]
        return _sorted(max(row, key=lambda one: (one.verdict, one.score)) for row in rows)

    def best_of_roles(self) -> list[CaseRow]:
        """For every role the head that has it most clearly, else the one that is nearest."""
        rows = []
        for key, own in self.found.items():
            head = max(own, key=lambda one: (own[one].verdict, own[one].score))
            best = own[head]
            shares = (best.score, best.baseline, best.n, best.verdict)
            rows.append(CaseRow(self.title(key), head, *shares, key, self.needed(key)))
        return _sorted(rows)

    def title(self, key: str) -> str:
        """The name of a role."""
        return str(self.about[key]["title"]) if key in self.about else "No role"

    def needed(self, key: str) -> str:
        """What the test of a role asks for, in a few words."""
        thresholds = self.about[key]["thresholds"]
        if "margin" in thresholds:
            return f"+{100 * thresholds['margin']:.0f} points"
        return f"{100 * thresholds.get('share', thresholds.get('evenness', 0)):.0f} %"

    def _relation(self, case: str, head: HeadId) -> CaseRow:
        one = self.found["syntactic"][head].cases[case]
        name = self.result["relations"].get(case, case)
        return CaseRow(name, head, one["score"], one["baseline"], one["n"], one["verdict"])


def roles_run(choice: Choice) -> RolesRun:
    """The run that the link asks for: what fits the model, a task that was chosen, or somebody's own trees."""
    given = st.query_params
    size = next((size for size in SIZES if str(size) == given.get("passages")), USUAL)
    data = path_of(given.get("trees", ""))
    parser, task = (given.get("parser", ""), "") if data else ("", choice.task)
    return RolesRun(choice.model, data=data, parser=parser, task=task, options=asked_thresholds(given), n=size)


def asked_thresholds(given: Mapping[str, str]) -> dict[str, float]:
    """The thresholds that a link names, such as `role.syntactic.margin=0.15`; the run refuses those that are wrong."""
    named = {name.removeprefix(MARK): value for name, value in given.items() if name.startswith(MARK)}
    return {name: number for name, value in named.items() if (number := _number(value)) is not None}


def _number(text: str) -> float | None:
    """A whole number where it is spelt as one."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def kept_of(facts: RoleFacts, removed: Collection[HeadId], bank: str) -> list[HeadId]:
    """The heads of a bank, or of all if it is empty, that are left."""
    gone = frozenset(removed)
    return [head for head in facts.heads if head not in gone and bank in ("", head.bank)]


def _sorted(rows: Iterable[CaseRow]) -> list[CaseRow]:
    return sorted(rows, key=lambda row: (not row.verdict, row.baseline - row.score))
