"""Looks for every role in every head, batch after batch."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping

from headscope.analysis.roles.layer_attention import Look, look_at
from headscope.analysis.roles.role import RATE, Role, RoleFinding, Tally, judged
from headscope.analysis.roles.sample import Sample
from headscope.analysis.roles.search_progress import Progress, Progressing, at_once
from headscope.analysis.roles.thresholds import usual_roles
from headscope.models.devices import one_thread
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.sites import Site

Findings = Mapping[str, Mapping[HeadId, RoleFinding]]
"""By the key of the role and by head; a role that this sample cannot show is left out."""


def all_roles() -> tuple[Role, ...]:
    """Every role with its default thresholds."""
    return tuple(usual_roles().values())


def find_roles(
    head_model: HeadModel, sample: Sample, asked: Iterable[Role] | None = None, rate: float = RATE
) -> Progressing[dict[str, dict[HeadId, RoleFinding]]]:
    """Reads the sample once, a step a batch, and returns what was found in every head that is still there."""
    wanted = tuple(all_roles() if asked is None else asked)
    tallies = yield from _tallies(head_model, sample, wanted)

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
        yield Progress(done, len(readings))
        trials = [trial for own in tallies.values() if role.key in own for trial in own[role.key].trials()]
        if trials:
            found[role.key] = judged(role, trials, rate)
    return found


def roles_of(
    head_model: HeadModel, sample: Sample, asked: Iterable[Role] | None = None, rate: float = RATE
) -> dict[str, dict[HeadId, RoleFinding]]:
    """The same at once."""
    return at_once(find_roles(head_model, sample, asked, rate))


def _tallies(
    head_model: HeadModel, sample: Sample, wanted: Iterable[Role]
) -> Generator[Progress, None, dict[str, dict[str, Tally]]]:
    """By bank and by key of the role; a step each, for what is to be counted takes as long as some batches."""
    tallies: dict[str, dict[str, Tally]] = {}
    for bank in head_model.grid.banks:
        for role in wanted:
            yield Progress(0, len(sample.readings))
            with one_thread():
                tally = role.tally(sample, bank.bank) if bank.bank in role.banks else None
            if tally is not None:
                tallies.setdefault(bank.bank, {})[role.key] = tally
    return tallies
