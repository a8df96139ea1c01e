"""The same-token role: a head that looks at another place where the same token stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headscope.analysis.roles.layer_attention import TOKEN
from headscope.analysis.roles.pointing import Ask, Pointing
from headscope.analysis.roles.role import RoleFinding, register
from headscope.analysis.roles.sample import Reading, Sample

CASE = "another place of the same token"


@register
@dataclass(frozen=True)
class SameToken(Pointing):
    """The strongest attention of a token that occurs again goes to another occurrence of it, before or after."""

    share: float = 0.50

    key = "same token"
    letter = "T"
    title = "Same token"
    reference = "ours"
    asks = "the strongest attention of at least half of the repeated tokens goes to another place of the same token"
    ours = "all of it"
    banks = ("encoder",)

    def fits(self, reading: Reading, bank: str) -> bool:
        """Texts."""
        return bank == "encoder" and reading.grid is None and not reading.repeated

    def ask(self, sample: Sample, reading: Reading, bank: str) -> Iterable[Ask]:
        """Every token that occurs more than once."""
        del sample
        side, _ = reading.sides(bank)
        places: dict[int, set[int]] = {}
        for place in side.ordinary:
            places.setdefault(side.tokens[place], set()).add(place)
        return [
            Ask(CASE, TOKEN, place, frozenset(own - {place}))
            for own in places.values()
            if len(own) > 1
            for place in sorted(own)
        ]

    def needed(self, baseline: float) -> float:
        """A share of the repeated tokens that is above the baseline."""
        return max(self.share, baseline)

    def phrase(self, finding: RoleFinding) -> str:
        """Always the same."""
        del finding
        return "looks at the same token elsewhere"
