"""The broad role: a head that looks at everything nearly alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headscope.analysis.roles.layer_attention import ANY, Array, Look, even
from headscope.analysis.roles.pointing import Numbers
from headscope.analysis.roles.role import FEWEST, Role, RoleFinding, Tally, Trial, percent, register, sign_test
from headscope.analysis.roles.sample import Reading, Sample
from headscope.models.heads import HeadId
from headscope.models.recording.attention_statistics import entropies
from headscope.models.sites import Site

CASE, CONTROL = "all tokens", "random weights"


@register
@dataclass(frozen=True)
class Broad(Role):
    """The attention of a token is spread nearly evenly over all K tokens that it can see, special ones included.

    The score is the mean of H / log K, 1 for even attention. The baseline is what weights drawn at random, all splits
    equally likely, have on average: (1/2 + 1/3 + ... + 1/K) / log K. Tokens that see fewer than three are not counted.
    """

    evenness: float = 0.95

    key = "broad"
    letter = "B"
    title = "Broad"
    reference = "after Clark et al. 2019"
    asks = "the entropy of the attention is at least 95 % of that of even attention"
    ours = "the threshold, and the baseline of random weights"
    banks = ("encoder", "decoder", "cross")

    def fits(self, reading: Reading, bank: str) -> bool:
        """Texts and images."""
        del bank
        return not reading.repeated

    def tally(self, sample: Sample, bank: str) -> Tally | None:
        """Sums of evenness."""
        tally = BroadTally([reading for reading in sample.readings if self.fits(reading, bank)], bank)
        return tally if min(tally.n) >= FEWEST else None

    def needed(self, baseline: float) -> float:
        """An evenness that is above the baseline."""
        return max(self.evenness, baseline)

    def phrase(self, finding: RoleFinding) -> str:
        """Always the same."""
        del finding
        return "looks at all tokens nearly alike"

    def evidence(self, finding: RoleFinding) -> str:
        """Shares of the entropy of even attention."""
        return (
            f"entropy {percent(finding.score)} of that of even attention over {finding.n} tokens, "
            f"{CONTROL}: {percent(finding.baseline)}"
        )

    def following(self, sample: Sample, look: Look, case: str) -> list[tuple[int, int, float]]:
        """No look stands out; each token with how even its attention is."""
        del sample, case
        values = _evenness(look, _visible(look.reading, look.bank))[0]
        return [(place, place, float(values[place])) for place in np.flatnonzero(~np.isnan(values)).tolist()]


class BroadTally(Tally):
    """Sums of evenness on both halves, and on the second the readings in which it is above that of random weights."""

    def __init__(self, readings: list[Reading], bank: str) -> None:
        self.visible = {reading.index: _visible(reading, bank) for reading in readings}
        self.n = [0, 0]
        self.expected = [0.0, 0.0]
        self.random: dict[int, float] = {}
        for reading in readings:
            counted = [int(number) for number in self.visible[reading.index] if number > 2]
            self.random[reading.index] = sum(map(random_evenness, counted))
            self.n[reading.half] += len(counted)
            self.expected[reading.half] += self.random[reading.index]
        self.sums: dict[Site, Array] = {}
        self.wins: dict[Site, Numbers] = {}
        self.losses: dict[Site, Numbers] = {}

    def add(self, site: Site, look: Look) -> None:
        """Adds one reading."""
        visible = self.visible.get(look.reading.index)
        if visible is None:
            return
        total: Array = np.nansum(_evenness(look, visible), axis=1)  # [head]
        half, random = look.reading.half, self.random[look.reading.index]
        if site not in self.sums:
            self.sums[site] = np.zeros((2, len(total)))
            self.wins[site], self.losses[site] = (np.zeros(len(total), dtype=np.int64) for _ in range(2))
        self.sums[site][half] += total
        if half == 1:
            self.wins[site] += total > random
            self.losses[site] += total < random

    def trials(self) -> Iterator[Trial]:
        """Every head."""
        before, after = (expected / n for expected, n in zip(self.expected, self.n, strict=True))
        for site, sums in self.sums.items():
            for row, head in enumerate(site.kept):
                scores = (float(sums[0, row] / self.n[0]), float(sums[1, row] / self.n[1]))
                p = sign_test(int(self.wins[site][row]), int(self.losses[site][row]))
                yield Trial(HeadId(site.bank, site.layer, head), CASE, scores, (before, after), self.n[1], p, CONTROL)


def random_evenness(n: int) -> float:
    """The mean of H / log n over all ways to split a weight of 1 among n tokens, all equally likely."""
    return math.fsum(1 / k for k in range(2, n + 1)) / math.log(n)


def _visible(reading: Reading, bank: str) -> Numbers:
    """How many tokens each ordinary token can see; 0 for special ones."""
    queries, _ = reading.sides(bank)
    seen: Numbers = (even(reading, bank).weights(ANY)[0] > 0).sum(dim=-1).numpy()
    ordinary = np.zeros(len(queries), dtype=np.int64)
    ordinary[list(queries.ordinary)] = 1
    return seen * ordinary


def _evenness(look: Look, visible: Numbers) -> Array:
    """H / log K of every token that counts, nan for others, [head, token]."""
    entropy: Array = entropies(look.weights(ANY)[None].double())[0].numpy()
    most = np.log(np.where(visible > 2, visible, math.e))
    values: Array = np.where(visible > 2, entropy / most, math.nan)
    return values
