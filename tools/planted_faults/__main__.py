"""python -m tools.planted_faults: plants faults into our modules and reports the share that the tests catch.

It fails where the lower bound of that share is below 85 %, or where a test that caught a fault fails without one too.
The first call makes the map from lines to tests, in about the time of the tests themselves; every further one goes on
where the last has stopped. Run it in the background; it takes what others leave of the machine:

    nohup python -m tools.planted_faults --seed 1 --faults 160 > build/planted_faults.txt &
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from tools.planted_faults.choosing import Map, Test
from tools.planted_faults.covering import record
from tools.planted_faults.draw import all_faults, drawn
from tools.planted_faults.faults import Fault
from tools.planted_faults.report import Result, add, counted, read, report, suffices
from tools.planted_faults.sources import REPOSITORY, modules, state
from tools.planted_faults.trial import Outcome, load_libraries, plant

UNCHANGED = modules()[0]
FIRST, SECONDS = 8.0, 60.0  # what the tests tried first may take, and all of them


def main() -> int:
    """Records what is missing of the map, plants what is missing of the draw, reports; 0 if enough is caught."""
    arguments = parsed()
    os.nice(max(0, arguments.nice - os.nice(0)))
    if not os.fork():
        record()
        os._exit(0)
    os.wait()
    load_libraries()
    tests, results = Map(), state() / f"faults-{arguments.seed}.jsonl"
    done = {fault.key for fault, _ in read(results)}
    candidates = all_faults()
    if arguments.again:
        for fault in (one for one in candidates if one.key in arguments.again):
            show(fault, tried(fault, tests), results)
        return 0
    order = drawn(candidates, arguments.seed)
    for fault in order:
        if len(counted(read(results))) >= arguments.faults:
            break
        if fault.key not in done:
            show(fault, tried(fault, tests), results)
    print(report(read(results)))
    is_sound = check(read(results), tests)
    return 0 if is_sound and suffices(read(results)) else 1


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m tools.planted_faults", description=sys.modules[__name__].__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--faults", type=int, default=160, help="how many to plant in all")
    parser.add_argument("--nice", type=int, default=19)
    parser.add_argument("--again", nargs="+", default=[], metavar="KEY", help="plants these faults once more")
    return parser.parse_args()


def tried(fault: Fault, tests: Map) -> Outcome:
    """Plants a fault before the nearest tests, then, if none fails, before the rest that time allows."""
    covering = tests.covering(fault)
    if not covering:
        return Outcome("uncovered", "", "", 0.0, 0.0)
    near, rest = split(covering)
    text = fault.planted((REPOSITORY / fault.path).read_bytes())
    first = plant(fault.path, text, near)
    if first.caught or not rest:
        return first
    second = plant(fault.path, text, rest)
    seconds, cpu = first.seconds + second.seconds, round(first.cpu + second.cpu, 1)
    return replace(second, why=f"{first.why} and {second.why}", seconds=seconds, cpu=cpu)


def split(covering: list[Test]) -> tuple[list[Test], list[Test]]:
    """The tests for the first try, of three files at most, and the others; both end with their time."""
    near: list[Test] = []
    rest: list[Test] = []
    spent = 0.0
    for test in covering:
        spent += test.seconds
        files = {one.path for one in near} | {test.path}
        if (spent <= FIRST and len(files) <= 3) or not near:
            near.append(test)
        elif spent <= SECONDS:
            rest.append(test)
    return near, rest


def check(results: list[Result], tests: Map) -> bool:
    """Names tests that caught a fault and fail without one too, so that they prove nothing; whether there are none."""
    is_sound = True
    caught = {outcome.test for _, outcome in results}
    for path in sorted({test.path for test in tests.tests if test.name in caught}):
        chosen = [test for test in tests.tests if test.path == path and test.name in caught]
        outcome = plant(str(UNCHANGED), (REPOSITORY / UNCHANGED).read_bytes(), chosen)
        if outcome.caught:
            is_sound = False
            print(f"fails without a fault: {outcome.test or path} {outcome.why}", flush=True)
    return is_sound


def show(fault: Fault, outcome: Outcome, file: Path) -> None:
    """Writes a result down and prints it."""
    add(file, fault, outcome)
    found = f"{fault.key} {outcome.how:9} {outcome.seconds:5.0f} s"
    print(f"{found} {fault.path}:{fault.line} {fault.kind} {outcome.test} {outcome.why[:100]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
