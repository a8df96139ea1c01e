"""The alignment role: a cross-attention head that looks at the source word which a word translates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headscope.analysis.roles.layer_attention import WORD, WRITTEN
from headscope.analysis.roles.pointing import Ask, Pointing
from headscope.analysis.roles.role import RoleFinding, register
from headscope.analysis.roles.sample import Reading, Sample

NEXT, LAST = "the source of the word being written", "the source of the word just read"


@register
@dataclass(frozen=True)
class Alignment(Pointing):
    """The strongest cross-attention of a word goes to a word that the gold alignment pairs with it.

    Two cases, for heads differ in which they serve: from the places that write the pieces of the word, and from those
    that read them, one step later. The true translation is read.
    """

    margin: float = 0.10

    key = "alignment"
    letter = "A"
    title = "Alignment"
    reference = "after Voita et al. 2019; the test is ours"
    asks = "the strongest attention goes to the source word at least 10 points more often than a fixed offset would"
    ours = "the margin, taken from the syntactic role"
    banks = ("cross",)

    def fits(self, reading: Reading, bank: str) -> bool:
        """Translations with a gold alignment."""
        return bank == "cross" and bool(reading.alignment)

    def ask(self, sample: Sample, reading: Reading, bank: str) -> Iterable[Ask]:
        """Every word of the translation that is aligned."""
        del sample
        target, source = reading.sides(bank)
        aligned: dict[int, set[int]] = {}
        for here, there in reading.alignment:
            if here in source.owners and there in target.owners:
                aligned.setdefault(there, set()).add(here)
        return [
            Ask(case, unit, word, frozenset(words))
            for case, unit in ((NEXT, WRITTEN), (LAST, WORD))
            for word, words in aligned.items()
        ]

    def needed(self, baseline: float) -> float:
        """A margin over the baseline."""
        return baseline + self.margin

    def phrase(self, finding: RoleFinding) -> str:
        """Which word's source."""
        return f"looks at {finding.detail['case']}"
