"""The rare-word role: a head that looks at the least frequent token of a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headscope.analysis.roles.layer_attention import TOKEN, WORD
from headscope.analysis.roles.pointing import Ask, Pointing
from headscope.analysis.roles.role import RoleFinding, register
from headscope.analysis.roles.sample import Reading, Sample

TOKENS, WORDS = "the rarest token", "the word of the rarest token"


@register
@dataclass(frozen=True)
class RareWords(Pointing):
    """The strongest attention of a token goes to the least frequent token of its sentence, Voita et al. 2019.

    Only sentences count whose rarest token is outside the `common` most frequent ones; frequencies are those of the
    sample. Equally rare tokens of a sentence are all right. The score is between tokens: between words, a word of many
    pieces gathers attention by its length alone, so that case is told beside it and gives no verdict.
    """

    common: int = 500
    share: float = 0.50

    key = "rare words"
    letter = "R"
    title = "Rare words"
    reference = "Voita et al. 2019"
    asks = "the strongest attention of at least half of the tokens goes to the rarest token of the sentence"
    ours = "the paper gives no threshold; its heads have more than half"

    def fits(self, reading: Reading, bank: str) -> bool:
        """Texts."""
        return bank != "cross" and reading.grid is None and not reading.repeated

    def ask(self, sample: Sample, reading: Reading, bank: str) -> Iterable[Ask]:
        """Every token and every word of a sentence with a rare token."""
        side, _ = reading.sides(bank)
        frequencies, common = sample.frequencies[bank], set(sample.commonest[bank][: self.common])
        least = min((frequencies[side.tokens[place]] for place in side.ordinary), default=0)
        rare = [place for place in side.ordinary if frequencies[side.tokens[place]] == least]
        if not rare or any(side.tokens[place] in common for place in rare):
            return []
        words = frozenset(side.owners[place] for place in rare)
        tokens = frozenset(rare)
        return [
            *(Ask(TOKENS, TOKEN, place, tokens) for place in side.ordinary),
            *(Ask(WORDS, WORD, word, words) for word in sorted({side.owners[place] for place in side.ordinary})),
        ]

    def judges(self, case: str) -> bool:
        """By tokens."""
        return case == TOKENS

    def needed(self, baseline: float) -> float:
        """A share of all tokens that is above the baseline."""
        return max(self.share, baseline)

    def phrase(self, finding: RoleFinding) -> str:
        """Always the same."""
        del finding
        return "looks at the rarest token of the sentence"
