"""The role of a sink: a head that rests on a mark of beginning or end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headscope.analysis.roles.layer_attention import ANY
from headscope.analysis.roles.pointing import Ask, Pointing
from headscope.analysis.roles.role import RoleFinding, register
from headscope.analysis.roles.sample import Reading, Sample, Side
from headscope.analysis.roles.word_pieces import NO_WORD

BEGINNING, MARK = "the first token", "an end mark"


@register
@dataclass(frozen=True)
class EndMark(Pointing):
    """The strongest attention of a token, special ones as keys included, goes to a mark and to no word.

    Marks are special tokens: beginning, end, separator, the class token of an image; and in a decoder the first token,
    whatever it is. The first token and the others are two cases.
    """

    share: float = 0.50

    key = "end mark"
    letter = "E"
    title = "End mark, sink"
    reference = "after Clark et al. 2019 and Xiao et al. 2024"
    asks = "the strongest attention of at least half of the tokens goes to the first token, or to a special one"
    ours = "the threshold"
    banks = ("encoder", "decoder", "cross")
    has_offsets = False

    def fits(self, reading: Reading, bank: str) -> bool:
        """Texts and images; the probes of repetition are no texts."""
        del bank
        return not reading.repeated

    def ask(self, sample: Sample, reading: Reading, bank: str) -> Iterable[Ask]:
        """Every ordinary token but the first; in a decoder, a mark that comes later cannot be looked at."""
        del sample
        queries, keys = reading.sides(bank)
        others = frozenset(place for place, owner in enumerate(keys.owners) if owner == NO_WORD and place > 0)
        asks = []
        for place in queries.ordinary:
            if bank == "cross" or place > 0:
                if _has_beginning(keys, bank):
                    asks.append(Ask(BEGINNING, ANY, place, frozenset([0])))
                if others:
                    asks.append(Ask(MARK, ANY, place, others))
        return asks

    def needed(self, baseline: float) -> float:
        """A share of all tokens that is above the baseline."""
        return max(self.share, baseline)

    def phrase(self, finding: RoleFinding) -> str:
        """Where it rests."""
        return f"rests on {finding.detail['case']}"


def _has_beginning(keys: Side, bank: str) -> bool:
    """Whether the first token is a sink to look for: a special one, or in a decoder any."""
    return bank == "decoder" or (len(keys) > 0 and keys.owners[0] == NO_WORD)
