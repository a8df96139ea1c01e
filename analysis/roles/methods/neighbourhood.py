"""The role of local heads of an image: looks at the patches around."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headscope.analysis.roles.layer_attention import TOKEN
from headscope.analysis.roles.pointing import Ask, Pointing
from headscope.analysis.roles.role import RoleFinding, register
from headscope.analysis.roles.sample import Reading, Sample

CASE = "a patch at most one away"


@register
@dataclass(frozen=True)
class Neighbourhood(Pointing):
    """The strongest attention of a patch stays within one patch of it in both directions, itself included."""

    share: float = 0.90

    key = "neighbourhood"
    letter = "N"
    title = "Neighbourhood"
    reference = "ours"
    asks = "the strongest attention of at least 90 % of the patches goes to itself or one of the eight around it"
    ours = "all of it; the share is that of the positional role"
    banks = ("encoder",)
    has_offsets = False

    def fits(self, reading: Reading, bank: str) -> bool:
        """Images."""
        return bank == "encoder" and reading.grid is not None

    def ask(self, sample: Sample, reading: Reading, bank: str) -> Iterable[Ask]:
        """Every patch."""
        del sample, bank
        if reading.grid is None:
            return []
        rows, columns = reading.grid
        first = reading.source.ordinary[0]
        return [
            Ask(
                CASE,
                TOKEN,
                first + row * columns + column,
                frozenset(
                    first + near_row * columns + near_column
                    for near_row in range(max(0, row - 1), min(rows, row + 2))
                    for near_column in range(max(0, column - 1), min(columns, column + 2))
                ),
            )
            for row in range(rows)
            for column in range(columns)
        ]

    def needed(self, baseline: float) -> float:
        """A share of all patches that is above the baseline."""
        return max(self.share, baseline)

    def phrase(self, finding: RoleFinding) -> str:
        """Always the same."""
        del finding
        return "looks at the patches around"
