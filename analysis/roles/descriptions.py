"""What a head is for, in one sentence with its evidence."""

from __future__ import annotations

from collections.abc import Mapping

from headscope.analysis.roles.role import Role, RoleFinding
from headscope.analysis.roles.search import Findings
from headscope.analysis.roles.thresholds import Roles, usual_roles
from headscope.models.heads import HeadId

NOTHING = "no role found"
OTHERS = 3
"""Further cases that a sentence names."""


def sentence_of(findings: Mapping[str, RoleFinding], asked: Roles | None = None) -> str:
    """One sentence on one head, from its findings by role; the clearest role first, others after it.

    `asked` are the roles as they were looked for, those with the usual thresholds by default.
    """
    roles = usual_roles() if asked is None else asked
    held = sorted(held_roles(findings), key=lambda key: findings[key].baseline - findings[key].score)
    return "; ".join(_clause(roles[key], findings[key]) for key in held) or NOTHING


def held_roles(findings: Mapping[str, RoleFinding]) -> list[str]:
    """The keys of the roles that a head has."""
    return [key for key, finding in findings.items() if finding.verdict]


def findings_of(head: HeadId, found: Findings) -> dict[str, RoleFinding]:
    """What was found in one head, by role."""
    return {key: own[head] for key, own in found.items() if head in own}


def _clause(role: Role, finding: RoleFinding) -> str:
    return f"{role.phrase(finding)}: {role.evidence(finding)}{_further(finding)}"


def _further(finding: RoleFinding) -> str:
    """Other cases of the same role that pass, such as other relations."""
    cases = finding.detail.get("cases", {})
    others = [name for name, case in cases.items() if case["verdict"] and name != finding.detail["case"]]
    others.sort(key=lambda name: cases[name]["baseline"] - cases[name]["score"])
    more = f" and {len(others) - OTHERS} more" if len(others) > OTHERS else ""
    return f" (also {', '.join(others[:OTHERS])}{more})" if others else ""
