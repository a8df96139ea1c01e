"""The few readings in which a head does most clearly what its role says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headscope.analysis.roles.layer_attention import Look, look_at
from headscope.analysis.roles.role import RoleFinding
from headscope.analysis.roles.sample import Reading, Sample
from headscope.analysis.roles.search import Findings
from headscope.analysis.roles.search_progress import Progress, Progressing
from headscope.analysis.roles.thresholds import Roles, usual_roles
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.sites import Site

SEARCHED = 48
"""Readings of the second half among which examples are sought, and as many probes of repetition."""


@dataclass(frozen=True)
class Typical:
    """A reading by its number and text, and the looks that show the role: from a token, to a token, with a weight.

    Tokens are places of the reading, special ones counted; a word is given by its first token.
    """

    index: int
    text: str
    looks: tuple[tuple[int, int, float], ...]

    @property
    def clarity(self) -> float:
        """The mean weight."""
        return sum(weight for _, _, weight in self.looks) / len(self.looks)


def typical_examples(
    head_model: HeadModel, sample: Sample, found: Findings, n: int = 3, asked: Roles | None = None
) -> Progressing[dict[str, dict[HeadId, tuple[Typical, ...]]]]:
    """For every role and head that has it the n clearest readings, the clearest first; a step a batch."""
    held = {key: {head: one for head, one in own.items() if one.verdict} for key, own in found.items()}
    searched = _searched(sample.readings)
    roles = usual_roles() if asked is None else asked
    collector = _Collector(sample, {key: own for key, own in held.items() if own}, n, roles)
    done = 0
    part = replace(sample, readings=tuple(searched.values()))
    for batch in part.batches(head_model):
        look_at(head_model, batch, searched, collector.add)
        done += len(batch)
        yield Progress(done, len(searched))
    return {key: {head: tuple(best) for head, best in own.items()} for key, own in collector.best.items()}


def _searched(readings: Sequence[Reading]) -> dict[int, Reading]:
    second = [reading for reading in readings if reading.half == 1]
    chosen = [
        reading
        for repeated in (False, True)
        for reading in [one for one in second if one.repeated == repeated][:SEARCHED]
    ]
    return {reading.index: reading for reading in chosen}


class _Collector:
    def __init__(self, sample: Sample, held: Mapping[str, Mapping[HeadId, RoleFinding]], n: int, roles: Roles) -> None:
        self.sample, self.held, self.n = sample, held, n
        self.roles = roles
        self.best: dict[str, dict[HeadId, list[Typical]]] = {
            key: {head: [] for head in own} for key, own in held.items()
        }

    def add(self, site: Site, look: Look) -> None:
        """Compares one reading with the best so far."""
        for row, number in enumerate(site.kept):
            head = HeadId(site.bank, site.layer, number)
            for key, own in self.held.items():
                if head in own and self.roles[key].fits(look.reading, site.bank):
                    alone = Look(look.reading, site.bank, look.attention[row : row + 1])
                    self._offer(key, head, alone, str(own[head].detail["case"]))

    def _offer(self, key: str, head: HeadId, look: Look, case: str) -> None:
        looks = self.roles[key].following(self.sample, look, case)
        if looks:
            best = [*self.best[key][head], Typical(look.reading.index, look.reading.text, tuple(looks))]
            best.sort(key=lambda one: (-one.clarity, one.index))
            self.best[key][head] = best[: self.n]
