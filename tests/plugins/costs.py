"""Prints the processor seconds of each folder of tests, over all workers of pytest-xdist."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

SENT = "processor seconds by folder"
BEFORE = "(imports and collection)"


class Costs:
    """Adds up what tests take, those of other workers too."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.seen = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        self._book(BEFORE)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        yield_value = yield
        self._book("/".join(item.nodeid.split("/")[:2]))
        return yield_value

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[SENT] = dict(self.seconds)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.seconds.update(getattr(node, "workeroutput", {}).get(SENT, {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("processor seconds by folder")
        for folder, seconds in self.seconds.most_common():
            if seconds >= 1:
                terminalreporter.write_line(f"{seconds:8.0f}  {folder}")

    def _book(self, folder: str) -> None:
        """Books what this process and its ended children have used since the last call."""
        used = sum(os.times()[:4])
        self.seconds[folder] += used - self.seen
        self.seen = used


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs())
