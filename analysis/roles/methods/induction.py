"""The induction role: a causal head that looks at what followed the same token before."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.roles.repetition import Repetition
from headscope.analysis.roles.role import RoleFinding, register


@register
@dataclass(frozen=True)
class Induction(Repetition):
    """Looks at what came after the earlier occurrence of the token, Olsson et al. 2022."""

    key = "induction"
    letter = "I"
    title = "Induction"
    reference = "Olsson et al. 2022"
    asks = "the strongest attention of at least half of the tokens that come again goes to what followed the first time"
    ahead = 1

    def phrase(self, finding: RoleFinding) -> str:
        """Always the same."""
        del finding
        return "looks at what followed the same token before"
