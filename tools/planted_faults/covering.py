"""The map from lines to tests: one run of the tests with probes in our modules, file by file, so that it can go on."""

from __future__ import annotations

import builtins
import json
import mmap
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tools.planted_faults.overlay import environment, from_environment
from tools.planted_faults.probes import NAME, probed
from tools.planted_faults.sources import REPOSITORY, digest, modules, state

LEFT_OUT = ("browser", "ray", "gpu", "docs", "benchmarks", "tools", "lessons")
FIRST = ("models", "tasks", "analysis", "pruning", "runs")
CASES = 3  # of a test with many parameters; the others take time and hardly find more
PYTEST = ("-n0", "-q", "-p", "no:cacheprovider", "--rootdir", str(REPOSITORY))


@dataclass(eq=False)
class Recorder:
    """A plugin that notes which probes each test reached, with its fixtures and its file's import."""

    hits: mmap.mmap
    log: Path
    reached: set[int] = field(default_factory=set)
    fixtures: dict[Any, set[int]] = field(default_factory=lambda: defaultdict(set))
    importing: dict[Path, set[int]] = field(default_factory=lambda: defaultdict(set))
    tests: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    passed: bool = True

    def take(self) -> set[int]:
        """The probes reached since the last call."""
        found = self.hits[:]
        self.hits[:] = bytes(len(found))
        return {number for number, byte in enumerate(found) if byte} if any(found) else set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Of a test with many parameters keeps a few cases, spread evenly."""
        cases = defaultdict(list)
        for item in items:
            cases[item.nodeid.split("[")[0]].append(item)
        kept = {item for group in cases.values() for item in group[:: -(-len(group) // CASES)]}
        items[:] = [item for item in items if item in kept]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """What the import of a test file reaches belongs to all its tests."""
        self.take()
        report = yield
        self.importing[collector.path] |= self.take()
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """What a shared fixture reaches belongs to all tests that use it."""
        before = self.take()
        try:
            return (yield)
        finally:
            self.fixtures[fixturedef] |= self.take()
            self.reached |= before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function, nextitem: pytest.Item | None) -> Iterator[None]:
        """Notes a test, and writes a file's tests when its last is done."""
        self.take()
        self.reached, self.seconds, self.passed = set(), 0.0, True
        done = yield
        found = self.reached | self.take() | self.importing[item.path]
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            for definition in definitions:
                found |= self.fixtures[definition]
        test = {"name": item.nodeid, "seconds": round(self.seconds, 3), "passed": self.passed}
        self.tests.append(test | {"reached": sorted(found)})
        if nextitem is None or nextitem.path != item.path:
            path = item.path.relative_to(REPOSITORY)
            with self.log.open("a") as file:
                file.write(json.dumps({"file": str(path), "digest": digest([path]), "tests": self.tests}) + "\n")
            self.tests = []
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds the time of set-up, call and tear-down."""
        self.seconds += report.duration
        self.passed &= report.passed


def record() -> None:
    """Runs the test files that the map lacks; afterwards this process is of no other use."""
    folder, missing = state(), missing_files()
    if not missing:
        return
    overlay, hits = folder / "probed", folder / "hits"
    lines: list[tuple[str, int]] = []
    for path in modules():
        text, found = probed((REPOSITORY / path).read_text(), len(lines))
        lines += [(str(path), line) for line in found]
        (overlay / path).parent.mkdir(parents=True, exist_ok=True)
        (overlay / path).write_bytes(text)
    (folder / "lines.json").write_text(json.dumps(lines))
    hits.write_bytes(bytes(len(lines)))
    os.environ |= environment(REPOSITORY, overlay, hits)
    from_environment()
    recorder = Recorder(getattr(builtins, NAME), folder / "tests.jsonl")
    pytest.main([*PYTEST, "--timeout=900", "--tb=line", *map(str, missing)], plugins=[recorder])


def missing_files() -> list[Path]:
    """Test files without a record of their present text, those of the five folders first."""
    known = {(entry["file"], entry["digest"]) for entry in entries()}
    found = [path.relative_to(REPOSITORY) for path in (REPOSITORY / "tests").glob("*/**/test_*.py")]
    found = [path for path in found if not set(path.parts) & set(LEFT_OUT) and (str(path), digest([path])) not in known]
    return sorted(found, key=lambda path: (FIRST.index(path.parts[1]) if path.parts[1] in FIRST else 9, path))


def entries() -> list[dict[str, Any]]:
    """One record for each test file, the last written."""
    log = state() / "tests.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return list({entry["file"]: entry for entry in records}.values())
