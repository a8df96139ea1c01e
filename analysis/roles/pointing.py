"""Roles of heads that point: in some places the strongest attention should go to something that is known."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.analysis.roles.layer_attention import WORD, WRITTEN, Array, Look, even
from headscope.analysis.roles.role import FEWEST, Role, Tally, Trial, sign_test
from headscope.analysis.roles.sample import Reading, Sample
from headscope.models.heads import HeadId
from headscope.models.sites import Site

EVEN, OFFSET = "even attention", "best fixed offset"
ROUNDING = 1e-9

Truths = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Ask:
    """A place from which a head should look at one of the targets; both are numbers of units."""

    case: str
    unit: str
    query: int
    targets: frozenset[int]


def signed(offset: int) -> str:
    """An offset with its sign, if it has one."""
    return f"{offset:+d}" if offset else "0"


class Pointing(Role):
    """A role that says where a head should look.

    The baseline of a case is the better of two looks that need no model, chosen on the first half: attention that is
    spread evenly over all pieces, and the fixed offset that is right most often. With `has_offsets` False the latter is
    not a rival. The strongest unit under even attention is the word of most pieces, of equals one at random.
    """

    has_offsets: ClassVar[bool] = True

    @abstractmethod
    def ask(self, sample: Sample, reading: Reading, bank: str) -> Iterable[Ask]:
        """The places of a reading that fits."""

    def tally(self, sample: Sample, bank: str) -> Tally | None:
        """Counts of how often the strongest attention is where it should be."""
        asked = [
            _Asked(reading, bank, asks)
            for reading in sample.readings
            if self.fits(reading, bank) and (asks := list(self.ask(sample, reading, bank)))
        ]
        tally = PointingTally(self, asked)
        return tally if tally.cases else None

    def following(self, sample: Sample, look: Look, case: str) -> list[tuple[int, int, float]]:
        """From each place of the case to the target with the most weight."""
        found = []
        for ask in self.ask(sample, look.reading, look.bank):
            if ask.case == case:
                row = look.weights(ask.unit)[0, ask.query].tolist()
                best = max(ask.targets, key=row.__getitem__)
                query, key = _first_tokens(look, ask.unit, ask.query, best)
                found.append((query, key, row[best]))
        return found


def _first_tokens(look: Look, unit: str, query: int, key: int) -> tuple[int, int]:
    """Where the two units begin, as places of tokens."""
    if unit not in (WORD, WRITTEN):
        return query, key
    queries, keys = look.reading.sides(look.bank)
    if unit == WRITTEN and look.reading.written is not None:
        queries = look.reading.written
    return queries.owners.index(query), keys.owners.index(key)


class _Asked:
    """The places of one reading that have a choice and can see a target, by unit."""

    def __init__(self, reading: Reading, bank: str, asks: Iterable[Ask]) -> None:
        self.reading = reading
        given = list(asks)
        evenly = even(reading, bank)
        weights = {unit: evenly.weights(unit)[0].numpy() for unit in {ask.unit for ask in given}}  # each [query, key]
        peaks = {unit: own >= own.max(axis=1, keepdims=True) - ROUNDING for unit, own in weights.items()}
        self.asks: list[Ask] = []
        shares = []
        for ask in given:
            row, peak = weights[ask.unit][ask.query], peaks[ask.unit][ask.query]
            targets = frozenset(target for target in ask.targets if row[target] > 0)
            if targets and (row > 0).sum() > 1:
                shares.append(sum(bool(peak[target]) for target in targets) / int(peak.sum()))
                self.asks.append(Ask(ask.case, ask.unit, ask.query, targets))
        self.n_keys = {unit: own.shape[1] for unit, own in weights.items()}
        self.even_shares: Array = np.array(shares)
        self.drawn: Truths = np.random.default_rng(reading.index).random(len(shares)) < self.even_shares


class PointingTally(Tally):
    """Hits of every head on both halves, and on the second the readings in which it beats or loses to the baseline."""

    def __init__(self, role: Pointing, asked: Iterable[_Asked]) -> None:
        readings = list(asked)
        controls = _Controls(readings, role.has_offsets)
        self.cases = controls.cases
        self.names = controls.names
        self.n = np.zeros((2, len(self.cases)))
        self.baseline = np.zeros((2, len(self.cases)))
        self.places: dict[int, list[_Places]] = {}
        for one in readings:
            self._expect(one, controls)
        self.hits: dict[Site, Array] = {}
        self.wins: dict[Site, Numbers] = {}
        self.losses: dict[Site, Numbers] = {}

    def _expect(self, asked: _Asked, controls: _Controls) -> None:
        half = asked.reading.half
        by_unit: dict[str, list[int]] = defaultdict(list)
        for number, ask in enumerate(asked.asks):
            if ask.case in controls.numbers:
                by_unit[ask.unit].append(number)
                case = controls.numbers[ask.case]
                self.n[half, case] += 1
                self.baseline[half, case] += controls.expected(asked, number)
        self.places[asked.reading.index] = [
            _Places(asked, controls, unit, numbers) for unit, numbers in by_unit.items()
        ]

    def add(self, site: Site, look: Look) -> None:
        """Counts the hits of one reading."""
        found = np.zeros((len(site.kept), len(self.cases)))
        own = np.zeros(len(self.cases))
        for places in self.places.get(look.reading.index, ()):
            found += places.hits(look) @ places.of_case
            own += places.control @ places.of_case
        half = look.reading.half
        if site not in self.hits:
            self.hits[site] = np.zeros((2, *found.shape))
            self.wins[site], self.losses[site] = (np.zeros(found.shape, dtype=np.int64) for _ in range(2))
        self.hits[site][half] += found
        if half == 1:
            self.wins[site] += found > own
            self.losses[site] += found < own

    def trials(self) -> Iterator[Trial]:
        """Every head with every case."""
        for site, hits in self.hits.items():
            for row, head in enumerate(site.kept):
                for case, name in enumerate(self.cases):
                    first, second = (float(hits[half, row, case] / self.n[half, case]) for half in range(2))
                    before, after = (float(self.baseline[half, case] / self.n[half, case]) for half in range(2))
                    yield Trial(
                        HeadId(site.bank, site.layer, head),
                        name,
                        (first, second),
                        (before, after),
                        int(self.n[1, case]),
                        sign_test(int(self.wins[site][row, case]), int(self.losses[site][row, case])),
                        self.names[case],
                    )


class _Controls:
    """The cases that are frequent enough in both halves, and the best look without a model for each."""

    def __init__(self, readings: list[_Asked], has_offsets: bool) -> None:
        counts: list[Counter[str]] = [Counter(), Counter()]
        right: dict[str, Counter[int]] = defaultdict(Counter)
        even_sums: dict[str, float] = defaultdict(float)
        for asked in readings:
            counts[asked.reading.half].update(ask.case for ask in asked.asks)
            if asked.reading.half == 0:
                for ask, share in zip(asked.asks, asked.even_shares, strict=True):
                    right[ask.case].update(target - ask.query for target in ask.targets)
                    even_sums[ask.case] += share
        self.cases = tuple(sorted(case for case in counts[0] if min(half[case] for half in counts) >= FEWEST))
        self.numbers = {case: number for number, case in enumerate(self.cases)}
        self.offsets: dict[str, int | None] = {}
        for case in self.cases:
            offset, times = max(right[case].items(), key=lambda item: (item[1], -abs(item[0]), item[0]))
            self.offsets[case] = offset if has_offsets and times > even_sums[case] else None

    @property
    def names(self) -> tuple[str, ...]:
        """What each case is compared with."""
        chosen = (self.offsets[case] for case in self.cases)
        return tuple(EVEN if offset is None else f"{OFFSET} {signed(offset)}" for offset in chosen)

    def expected(self, asked: _Asked, number: int) -> float:
        """How often the control is right in one place."""
        ask = asked.asks[number]
        offset = self.offsets[ask.case]
        return float(asked.even_shares[number]) if offset is None else float(ask.query + offset in ask.targets)

    def is_right(self, asked: _Asked, number: int) -> bool:
        """Whether the control is right there this time."""
        ask = asked.asks[number]
        offset = self.offsets[ask.case]
        return bool(asked.drawn[number]) if offset is None else ask.query + offset in ask.targets


class _Places:
    """The places of one reading for one unit, as arrays."""

    def __init__(self, asked: _Asked, controls: _Controls, unit: str, numbers: list[int]) -> None:
        asks = [asked.asks[number] for number in numbers]
        self.unit = unit
        self.queries: Numbers = np.array([ask.query for ask in asks])
        self.targets: Truths = np.zeros((len(asks), asked.n_keys[unit]), dtype=bool)
        self.of_case: Array = np.zeros((len(asks), len(controls.cases)))
        for row, ask in enumerate(asks):
            self.targets[row, list(ask.targets)] = True
            self.of_case[row, controls.numbers[ask.case]] = 1
        self.control: Truths = np.array([controls.is_right(asked, number) for number in numbers])

    def hits(self, look: Look) -> Truths:
        """Whether each head is right in each place, [head, place]."""
        chosen: Numbers = look.strongest(self.unit).numpy()[:, self.queries]
        right: Truths = self.targets[np.arange(len(self.queries)), chosen] & (chosen >= 0)
        return right
