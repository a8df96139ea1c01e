"""What the two roles of causal heads on tokens that come again share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from headscope.analysis.roles.layer_attention import TOKEN
from headscope.analysis.roles.pointing import Ask, Pointing
from headscope.analysis.roles.sample import Reading, Sample


@dataclass(frozen=True)
class Repetition(Pointing):
    """On random tokens that come again, the strongest attention goes to the first occurrence or right after it."""

    share: float = 0.50

    banks = ("decoder",)
    ours = "the threshold"
    has_offsets = False  # probes differ in length, so no offset is right often
    ahead: ClassVar[int]

    def fits(self, reading: Reading, bank: str) -> bool:
        """Probes alone: in a text other reasons lead to the same place."""
        return bank == "decoder" and reading.repeated

    def ask(self, sample: Sample, reading: Reading, bank: str) -> Iterable[Ask]:
        """Every token of the second half of the probe."""
        del sample, bank
        places = reading.source.ordinary
        size = len(places) // 2
        return [
            Ask(self.key, TOKEN, places[size + number], frozenset([places[number + self.ahead]]))
            for number in range(size)
            if places[number + self.ahead] < places[size + number]
        ]

    def needed(self, baseline: float) -> float:
        """A share of the repeated tokens that is above the baseline."""
        return max(self.share, baseline)
