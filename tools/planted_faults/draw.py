"""A balanced draw of faults: folder by folder and kind by kind in turn, as long as there are any."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tools.planted_faults.equivalent import equivalents
from tools.planted_faults.faults import KINDS, Fault, faults, parses
from tools.planted_faults.sources import FOLDERS, REPOSITORY, modules

ONLY_WITH_RAY = "ray"  # modules of the folder of this name are tested on a cluster, whose tests are left out here


def all_faults() -> list[Fault]:
    """Every fault of every module."""
    paths = [path for path in modules() if path.parent.name != ONLY_WITH_RAY]
    return [fault for path in paths for fault in faults(str(path), (REPOSITORY / path).read_text())]


def drawn(candidates: list[Fault], seed: int) -> Iterator[Fault]:
    """The faults in the order in which they are planted; the same seed gives the same order."""
    known = equivalents()
    cells = [shuffled(candidates, folder, kind, seed) for kind in KINDS for folder in FOLDERS]
    seen: set[str] = set()
    while any(cells):
        for cell in cells:
            while cell:
                fault = cell.pop()
                if fault.key in seen or any(one.matches(fault) for one in known):
                    continue
                seen.add(fault.key)
                if parses(fault.planted((REPOSITORY / fault.path).read_bytes())):
                    yield fault
                    break


def shuffled(candidates: list[Fault], folder: str, kind: str, seed: int) -> list[Fault]:
    """The faults of one folder and kind in the order of the seed."""
    found = sorted((one for one in candidates if folder in one.path.split("/")[:2] and one.kind == kind), key=by_place)
    random.Random(f"{seed} {folder} {kind}").shuffle(found)
    return found


def by_place(fault: Fault) -> tuple[str, int, str]:
    """Path and offset."""
    return fault.path, fault.start, fault.new
