"""The share of faults that tests catch, with its interval, by folder and by kind."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.planted_faults.equivalent import equivalents
from tools.planted_faults.faults import Fault
from tools.planted_faults.sources import FOLDERS
from tools.planted_faults.trial import Outcome

Result = tuple[Fault, Outcome]
FEWEST, LOWEST = 150, 0.85
"""So many faults count, and the lower bound of the share that tests catch is at least this."""


def read(file: Path) -> list[Result]:
    """The results written so far, the last of each fault."""
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    found = [(Fault(**line["fault"]), Outcome(**line["outcome"])) for line in lines]
    return list({fault.key: (fault, outcome) for fault, outcome in found}.values())


def add(file: Path, fault: Fault, outcome: Outcome) -> None:
    """Writes one result."""
    entry: dict[str, Any] = {"fault": vars(fault), "outcome": vars(outcome)}
    with file.open("a") as out:
        out.write(json.dumps(entry) + "\n")


def counted(results: list[Result]) -> list[Result]:
    """All but the faults that are excluded."""
    known = equivalents()
    return [(fault, outcome) for fault, outcome in results if not any(one.matches(fault) for one in known)]


def report(results: list[Result]) -> str:
    """Tables and survivors as text."""
    kept = counted(results)
    lines = [f"{len(results) - len(kept)} equivalent, {len(kept)} counted", "", row("all", kept)]
    lines += ["", *rows(kept, lambda fault: next(part for part in fault.path.split("/") if part in FOLDERS))]
    lines += ["", *rows(kept, lambda fault: fault.kind), ""]
    lines += [survivor(fault, outcome) for fault, outcome in kept if not outcome.caught]
    if kept:
        cpu = sum(outcome.cpu for _, outcome in kept) / len(kept)
        lines.append(f"processor seconds for each fault: {cpu:.1f}")
    return "\n".join(lines)


def rows(results: list[Result], group: Callable[[Fault], str]) -> Iterator[str]:
    """One line for each group."""
    groups = defaultdict(list)
    for fault, outcome in results:
        groups[group(fault)].append((fault, outcome))
    yield from (row(name, groups[name]) for name in sorted(groups))


def suffices(results: list[Result]) -> bool:
    """Whether the lower bound of the share that is caught is high enough, over enough faults."""
    kept = counted(results)
    return len(kept) >= FEWEST and interval(kept)[1] >= LOWEST


def interval(results: list[Result]) -> tuple[int, float, float]:
    """How many are caught, and Wilson's 95 % interval of their share."""
    # not above: our modules are imported after the last fault only
    from headscope.tasks.statistics.intervals import wilson

    caught = sum(outcome.caught for _, outcome in results)
    return caught, *wilson(caught, len(results))


def row(name: str, results: list[Result]) -> str:
    """Share and interval."""
    if not results:
        return f"{name:12} none"
    caught, low, high = interval(results)
    share = f"{caught / len(results):6.1%} ({low:.1%} to {high:.1%})"
    return f"{name:12} {caught:4} of {len(results):4} {share}"


def survivor(fault: Fault, outcome: Outcome) -> str:
    """Where it stands and what it changes."""
    change = f"{fault.old!r} becomes {fault.new!r}"
    where = f"{fault.path}:{fault.line} {fault.kind}"
    return f"{fault.key} {outcome.how}, {outcome.why}\n  {where}: {change}\n    {fault.code}"
