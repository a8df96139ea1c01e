"""Typical examples with what is needed to draw them: the tokens by name, and where the head looks besides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from headscope.analysis.attention.example_run import CLASS, START
from headscope.analysis.attention.readable_tokens import readable
from headscope.analysis.roles.layer_attention import ANY, Look, look_at
from headscope.analysis.roles.methods.broad import Broad
from headscope.analysis.roles.sample import Reading, Sample, Side
from headscope.analysis.roles.search_progress import Progress, Progressing
from headscope.analysis.roles.typical_examples import Typical
from headscope.analysis.roles.word_pieces import NO_WORD
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.sites import Site
from headscope.tasks.batches.encoding import tokenizer_of

WINDOW = 14
"""Tokens of one side that are drawn."""

LEAST = 0.1
"""The weakest attention that is drawn."""

ROUNDING = 1e-6

Line = tuple[int, int, float]
Examples = Mapping[str, Mapping[HeadId, Sequence[Typical]]]


@dataclass(frozen=True)
class Drawn:
    """The part of a reading in which a role shows: its tokens, the looks that show it, and other strong attention.

    A line goes from a token that looks to one that is looked at, both counted within the part, and has a weight.
    """

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    looks: tuple[Line, ...]
    others: tuple[Line, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def drawn_examples(
    head_model: HeadModel, sample: Sample, typical: Examples
) -> Progressing[dict[str, dict[HeadId, tuple[Drawn, ...]]]]:
    """The typical examples as they are drawn, by role and head; reads those once more, a step a batch."""
    collector = _Collector(head_model, typical)
    wanted = {one.index for own in typical.values() for examples in own.values() for one in examples}
    readings = {reading.index: reading for reading in sample.readings if reading.index in wanted}
    part = replace(sample, readings=tuple(readings.values()))
    done = 0
    for batch in part.batches(head_model) if readings else ():
        look_at(head_model, batch, readings, collector.add)
        done += len(batch)
        yield Progress(done, len(readings))
    return {
        key: {head: tuple(collector.found[key, head, one.index] for one in examples) for head, examples in own.items()}
        for key, own in typical.items()
    }


def drawn(look: Look, names: tuple[Sequence[str], Sequence[str]], looks: Iterable[Line], least: float) -> Drawn:
    """The part of the reading of one head in which the looks weigh most, and its attention of at least `least`."""
    given = list(looks)
    n_queries, n_keys = (len(side) for side in names)
    if look.bank == "cross":
        first_query = first_key = 0
    else:
        first_query = first_key = _best_start(given, n_queries)
    queries = range(first_query, min(first_query + WINDOW, n_queries))
    keys = range(first_key, min(first_key + WINDOW, n_keys))
    weights = look.weights(ANY)[0]
    shown = {(query, key): weight for query, key, weight in given if query in queries and key in keys}
    others = [
        (query - first_query, key - first_key, round(float(weights[query, key]), 3))
        for query in queries
        for key in keys
        if float(weights[query, key]) >= least and (query, key) not in shown
    ]
    return Drawn(
        tuple(names[0][place] for place in queries),
        tuple(names[1][place] for place in keys),
        tuple((query - first_query, key - first_key, round(weight, 3)) for (query, key), weight in shown.items()),
        tuple(others),
    )


def _best_start(looks: Sequence[Line], n: int) -> int:
    """Where the part begins that holds most of the weight of the looks; of equals the one in the middle."""
    within = [
        sum(weight for query, key, weight in looks if start <= min(query, key) and max(query, key) < start + WINDOW)
        for start in range(max(1, n - WINDOW + 1))
    ]
    best = [start for start, weight in enumerate(within) if weight >= max(within) - ROUNDING]
    return best[len(best) // 2] if max(within) > 0 else 0


class _Collector:
    def __init__(self, head_model: HeadModel, typical: Examples) -> None:
        self.head_model = head_model
        self.wanted: dict[tuple[HeadId, int], list[tuple[str, Typical]]] = {}
        for key, own in typical.items():
            for head, examples in own.items():
                for one in examples:
                    self.wanted.setdefault((head, one.index), []).append((key, one))
        self.found: dict[tuple[str, HeadId, int], Drawn] = {}

    def add(self, site: Site, look: Look) -> None:
        """Draws what is wanted of one reading of one layer."""
        for row, number in enumerate(site.kept):
            head = HeadId(site.bank, site.layer, number)
            for key, one in self.wanted.get((head, look.reading.index), ()):
                alone = Look(look.reading, site.bank, look.attention[row : row + 1])
                names = _names(self.head_model, look.reading, site.bank)
                even = key == Broad.key  # its looks are no looks but how even each token's attention is
                looks, least = ((), 0.5 / len(names[1])) if even else (one.looks, LEAST)
                self.found[key, head, look.reading.index] = drawn(alone, names, looks, least)


def _names(head_model: HeadModel, reading: Reading, bank: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tokens of both sides as people read them."""
    queries, keys = reading.sides(bank)
    return _named(head_model, reading, queries), _named(head_model, reading, keys)


def _named(head_model: HeadModel, reading: Reading, side: Side) -> tuple[str, ...]:
    if reading.grid is not None:
        columns = reading.grid[1]
        return tuple(
            CLASS if owner == NO_WORD else f"{owner // columns + 1},{owner % columns + 1}" for owner in side.owners
        )
    names = readable(tokenizer_of(head_model), side.tokens)
    return (START, *names[1:]) if side is reading.target else names
