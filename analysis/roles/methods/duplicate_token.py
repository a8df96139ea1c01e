"""The duplicate-token role: a causal head that looks at the earlier occurrence of a token."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.roles.repetition import Repetition
from headscope.analysis.roles.role import RoleFinding, register


@register
@dataclass(frozen=True)
class DuplicateToken(Repetition):
    """Looks at the earlier occurrence of the token, Wang et al. 2022."""

    key = "duplicate token"
    letter = "D"
    title = "Duplicate token"
    reference = "after Wang et al. 2022"
    asks = "the strongest attention of at least half of the tokens that come again goes to their first occurrence"
    ahead = 0

    def phrase(self, finding: RoleFinding) -> str:
        """Always the same."""
        del finding
        return "looks at the earlier place of the same token"
