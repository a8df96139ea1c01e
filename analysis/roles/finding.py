"""Looks for every role in every head, batch after batch."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass

from analysis.roles.looking import Look, look_at
from analysis.roles.role import RATE, Role, RoleFinding, Tally, judged, roles
from analysis.roles.sample import Sample
from models.head_model import HeadModel
from models.heads import HeadId
from models.sites import Site

Findings = Mapping[str, Mapping[HeadId, RoleFinding]]
"""By the key of the role and by head; a role that this sample cannot show is left out."""


@dataclass(frozen=True)
class Progress:
    """How many readings of how many have been looked at."""

    done: int
    total: int


def all_roles() -> tuple[Role, ...]:
    """Every role with its default thresholds."""
    return tuple(role() for role in roles().values())


def find_roles(
    head_model: HeadModel, sample: Sample, asked: Iterable[Role] | None = None, rate: float = RATE
) -> Generator[Progress, None, dict[str, dict[HeadId, RoleFinding]]]:
    """Reads the sample once, a step a batch, and returns what was found in every head that is still there."""
    wanted = tuple(all_roles() if asked is None else asked)
    tallies = _tallies(head_model, sample, wanted)

    def add(site: Site, look: Look) -> None:
        for tally in tallies.get(site.bank, {}).values():
            tally.add(site, look)

    readings = {reading.index: reading for reading in sample.readings}
    done = 0
    yield Progress(0, len(readings))
    for batch in sample.batches(head_model):
        look_at(head_model, batch, readings, add)
        done += len(batch)
        yield Progress(done, len(readings))
    found = {}
    for role in wanted:
        trials = [trial for own in tallies.values() if role.key in own for trial in own[role.key].trials()]
        if trials:
            found[role.key] = judged(role, trials, rate)
    return found


def roles_of(
    head_model: HeadModel, sample: Sample, asked: Iterable[Role] | None = None, rate: float = RATE
) -> dict[str, dict[HeadId, RoleFinding]]:
    """The same at once."""
    steps = find_roles(head_model, sample, asked, rate)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: dict[str, dict[HeadId, RoleFinding]] = end.value
            return found


def _tallies(head_model: HeadModel, sample: Sample, wanted: Iterable[Role]) -> dict[str, dict[str, Tally]]:
    """By bank and by key of the role."""
    tallies: dict[str, dict[str, Tally]] = {}
    for bank in head_model.grid.banks:
        for role in wanted:
            tally = role.tally(sample, bank.bank) if bank.bank in role.banks else None
            if tally is not None:
                tallies.setdefault(bank.bank, {})[role.key] = tally
    return tallies
