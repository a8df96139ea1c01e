"""The positional role: a head that looks at one fixed distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headscope.analysis.roles.layer_attention import TOKEN, Array, Look
from headscope.analysis.roles.pointing import EVEN, Numbers, signed
from headscope.analysis.roles.role import FEWEST, Role, RoleFinding, Tally, Trial, register, sign_test
from headscope.analysis.roles.sample import Reading, Sample
from headscope.models.heads import HeadId
from headscope.models.sites import Site

HISTOGRAM = "histogram"


@register
@dataclass(frozen=True)
class Positional(Role):
    """The strongest attention of nearly all tokens goes to one offset, Voita et al. 2019.

    The offset is the commonest of the first half; for an image it has two parts, down and to the right. Differs: tokens
    that have no neighbour at that offset, such as the first for -1, are not counted, nor are those that see one token
    only. The baseline is a look at random.
    """

    share: float = 0.90

    key = "positional"
    letter = "P"
    title = "Positional"
    reference = "Voita et al. 2019"
    asks = "the strongest attention of at least 90 % of the tokens goes to one fixed offset"
    ours = "tokens without a neighbour at that offset are not counted"

    def fits(self, reading: Reading, bank: str) -> bool:
        """Texts and images in which tokens look at each other."""
        return bank != "cross" and not reading.repeated

    def tally(self, sample: Sample, bank: str) -> Tally | None:
        """Counts of all offsets."""
        readings = [reading for reading in sample.readings if self.fits(reading, bank)]
        return PositionalTally(readings, bank) if readings else None

    def needed(self, baseline: float) -> float:
        """A share of all tokens that is above the baseline."""
        return max(self.share, baseline)

    def detail(self, trials: Sequence[Trial], passed: frozenset[str]) -> dict[str, Any]:
        """All offsets with the share of tokens that look there, of those that count on the second half."""
        del passed
        return dict(trials[0].extra)

    def phrase(self, finding: RoleFinding) -> str:
        """The offset in words."""
        return f"looks {offset_words(str(finding.detail['case']))}"

    def following(self, sample: Sample, look: Look, case: str) -> list[tuple[int, int, float]]:
        """From each token to its neighbour at the offset."""
        del sample
        offsets = Offsets([look.reading], look.bank)
        codes = offsets.codes(look.reading)
        wanted = offsets.names.index(case) if case in offsets.names else -1
        weights = look.weights(TOKEN)[0]
        return [(int(q), int(k), float(weights[q, k])) for q, k in zip(*np.nonzero(codes == wanted), strict=True)]


class Offsets:
    """Numbers for the offsets between tokens of some readings, or between patches of images of one size."""

    def __init__(self, readings: Sequence[Reading], bank: str) -> None:
        self.bank = bank
        self.grid = readings[0].grid
        if self.grid is None:
            self.radius = max(len(reading.sides(bank)[0]) for reading in readings) - 1
            self.names = tuple(signed(offset) for offset in range(-self.radius, self.radius + 1))
        else:
            rows, columns = self.grid
            self.names = tuple(
                f"{signed(down)} {signed(right)}"
                for down in range(1 - rows, rows)
                for right in range(1 - columns, columns)
            )

    def codes(self, reading: Reading) -> Numbers:
        """The number of the offset from each token to each, [query, key]; -1 where a token is special or unseen."""
        side, _ = reading.sides(self.bank)
        place = np.arange(len(side))
        if self.grid is None:
            codes = place[None, :] - place[:, None] + self.radius
        else:
            rows, columns = self.grid
            row, column = np.divmod(np.array(side.owners), columns)
            down, right = row[None, :] - row[:, None], column[None, :] - column[:, None]
            codes = (down + rows - 1) * (2 * columns - 1) + right + columns - 1
        counted = np.zeros(len(side), dtype=bool)
        counted[list(side.ordinary)] = True
        seen = counted[:, None] & counted[None, :]
        if self.bank == "decoder":
            seen &= place[None, :] <= place[:, None]
        seen &= seen.sum(axis=1, keepdims=True) > 1
        found: Numbers = np.where(seen, codes, -1).astype(np.int64)
        return found


class PositionalTally(Tally):
    """How often each head looks at each offset."""

    def __init__(self, readings: Sequence[Reading], bank: str) -> None:
        self.offsets = Offsets(readings, bank)
        n = len(self.offsets.names)
        self.n_queries = [0, 0]
        self.there = np.zeros((2, n))  # how often there is a token at the offset
        self.expected = np.zeros((2, n))
        self.control: dict[int, Array] = {}
        self.codes: dict[int, Numbers] = {}
        for reading in readings:
            codes = self.codes[reading.index] = self.offsets.codes(reading)
            self.control[reading.index] = self._control(reading, codes)
        self.hits: dict[Site, Array] = {}
        self.wins: dict[Site, Numbers] = {}
        self.losses: dict[Site, Numbers] = {}

    def _control(self, reading: Reading, codes: Numbers) -> Array:
        """The offsets of a look at random, as counts."""
        chooser = np.random.default_rng(reading.index)
        counts = np.zeros(len(self.offsets.names))
        for row in codes:
            seen = row[row >= 0]
            if len(seen):
                self.n_queries[reading.half] += 1
                self.there[reading.half, seen] += 1
                self.expected[reading.half, seen] += 1 / len(seen)
                counts[chooser.choice(seen)] += 1
        return counts

    def add(self, site: Site, look: Look) -> None:
        """Counts the offsets of one reading."""
        codes = self.codes.get(look.reading.index)
        if codes is None:
            return
        strongest = look.strongest(TOKEN).numpy()  # [head, query]
        found = np.where(strongest >= 0, codes[np.arange(len(codes)), strongest], -1)
        n = len(self.offsets.names)
        counts = np.stack([np.bincount(row[row >= 0], minlength=n) for row in found]).astype(np.float64)
        half, control = look.reading.half, self.control[look.reading.index]
        if site not in self.hits:
            self.hits[site] = np.zeros((2, *counts.shape))
            self.wins[site], self.losses[site] = (np.zeros(counts.shape, dtype=np.int64) for _ in range(2))
        self.hits[site][half] += counts
        if half == 1:
            self.wins[site] += counts > control
            self.losses[site] += counts < control

    def trials(self) -> Iterator[Trial]:
        """Every head with its commonest offset."""
        for site, hits in self.hits.items():
            for row, head in enumerate(site.kept):
                case = int(hits[0, row].argmax())
                if min(self.there[:, case]) < FEWEST:
                    continue
                rates = hits[:, row, case] / self.there[:, case]
                expected = self.expected[:, case] / self.there[:, case]
                yield Trial(
                    HeadId(site.bank, site.layer, head),
                    self.offsets.names[case],
                    (float(rates[0]), float(rates[1])),
                    (float(expected[0]), float(expected[1])),
                    int(self.there[1, case]),
                    sign_test(int(self.wins[site][row, case]), int(self.losses[site][row, case])),
                    EVEN,
                    {HISTOGRAM: self._histogram(hits[1, row])},
                )

    def _histogram(self, counts: Array) -> dict[str, float]:
        shares = counts / max(1, self.n_queries[1])
        return {self.offsets.names[case]: round(float(shares[case]), 4) for case in np.flatnonzero(counts)}


def offset_words(case: str) -> str:
    """An offset as people say it."""
    numbers = [int(part) for part in case.split()]
    if not any(numbers):
        return "at itself"
    if len(numbers) == 1:
        size = abs(numbers[0])
        return f"{size} {'token' if size == 1 else 'tokens'} {'back' if numbers[0] < 0 else 'ahead'}"
    named = [
        f"{abs(number)} {less if number < 0 else more}"
        for number, less, more in ((numbers[0], "up", "down"), (numbers[1], "left", "right"))
        if number
    ]
    return f"{' and '.join(named)}, in patches"
