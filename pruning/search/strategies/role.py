"""By role: first the heads that are for something, such as a position, or for nothing that is known."""

from __future__ import annotations

from dataclasses import dataclass, field

from headscope.models.heads import HeadId
from headscope.pruning.search.strategy import ROLES, SCORES, Kept, Ordered, checked, register
from headscope.pruning.search.subject import Subject

NO_ROLE = "none"


@register
@dataclass(frozen=True)
class ByRole(Ordered):
    """The named roles in their order, then all other heads; heads of the same role by score."""

    key = "role"
    title = "By role"
    reference = "ours"
    about = "Removes the heads of the named roles first, one role after the other, and among equals by score."
    needs = (SCORES, ROLES)

    first: str = field(
        default="positional",
        metadata={"about": f"Roles in the order in which they go, separated by spaces; {NO_ROLE}: heads without any."},
    )

    def order(self, subject: Subject) -> list[HeadId]:
        """Role after role, by ascending score."""
        named = self.first.split()
        known = {role for roles in subject.roles.values() for role in roles} | {NO_ROLE}
        for role in named:
            if role not in known:
                raise ValueError(f"no head has the role {role!r}; heads have: {', '.join(sorted(known))}")
        scores = checked(subject.scores(subject.unpruned))
        ranked = sorted(subject.heads, key=lambda head: (_rank(subject, head, named), scores[head]))
        return list(Kept(subject, self.at_least).allowed(ranked))


def _rank(subject: Subject, head: HeadId, named: list[str]) -> int:
    """The place of the first of the named roles that the head has."""
    own = subject.roles.get(head) or (NO_ROLE,)
    return next((place for place, role in enumerate(named) if role in own), len(named))
