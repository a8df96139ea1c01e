"""Plants one fault in a forked process and runs tests there until one fails."""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from tools.planted_faults.choosing import Test
from tools.planted_faults.covering import PYTEST
from tools.planted_faults.overlay import OVERLAY, environment, from_environment
from tools.planted_faults.sources import REPOSITORY

LIBRARIES = (
    *("beartype", "jaxtyping", "numpy", "onnx", "sacrebleu", "torch", "transformers.modeling_utils", "hypothesis"),
    *("captum.attr", "onnxruntime", "psutil", "safetensors.torch", "scipy.stats", "sklearn.datasets", "tokenizers"),
    *("torch.export", "torch.utils.flop_counter", "torch._dynamo", "torch.onnx", "transformers.generation.utils"),
    *("transformers.models.auto.modeling_auto", "transformers.models.auto.tokenization_auto", "plotly.graph_objects"),
)
MEMORY = 6 * 2**30
PATIENCE = 60.0  # seconds for starting, with little of the machine to itself
SLOWER = 12  # times as long as without a fault, and a test counts as hanging


@dataclass(frozen=True)
class Outcome:
    """How a fault was found, `passed` if it was not, and by which test."""

    how: str
    test: str
    why: str
    seconds: float
    cpu: float

    @property
    def caught(self) -> bool:
        """Whether anything failed."""
        return self.how not in ("passed", "uncovered")


@dataclass(eq=False)
class Chosen:
    """A plugin that keeps the wanted tests, in their order, and notes the first failure."""

    names: Sequence[str]
    failure: str = ""
    why: str = ""
    ran: int = 0
    ranks: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.ranks = {name: rank for rank, name in enumerate(self.names)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leaves out all others."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self.ranks), key=lambda item: self.ranks[item.nodeid]
        )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported."""
        if report.failed:
            self.failure, self.why = self.failure or report.nodeid, last_line(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails."""
        self.ran += report.when == "call"
        if report.failed and not self.failure:
            self.failure, self.why = report.nodeid, last_line(report)


def last_line(report: Any) -> str:
    """The error in one line."""
    lines = [line for line in report.longreprtext.splitlines() if line.startswith("E ")] or [report.longreprtext[-200:]]
    return str(lines[0][:200])


def load_libraries() -> None:
    """Imports what is not ours, so that forked processes need not."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    for name in LIBRARIES:
        importlib.import_module(name)
    sys.modules["torch"].set_num_threads(1)
    ours = [name for name in sys.modules if name.split(".")[0] == "headscope"]
    if ours:
        raise RuntimeError(f"our own modules must be imported after the fork only, not {', '.join(ours)}")
    gc.freeze()


def plant(path: str, text: bytes, tests: Sequence[Test]) -> Outcome:
    """Runs the tests, with this text in place of that of the file, until one fails, hangs or takes too much memory."""
    began = time.monotonic()
    work = Path(tempfile.mkdtemp(prefix="planted-"))
    try:
        (work / "overlay" / path).parent.mkdir(parents=True)
        (work / "overlay" / path).write_bytes(text)
        child = os.fork()
        if not child:
            run(work, tests)
        limit = PATIENCE + SLOWER * sum(test.seconds for test in tests)
        status, cpu = wait(child, began + limit)
        end_started(work)
        return Outcome(*judged(work, status), round(time.monotonic() - began, 1), round(cpu, 1))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def run(work: Path, tests: Sequence[Test]) -> None:
    """What the forked process does; it never comes back."""
    try:
        os.setsid()
        log = os.open(work / "log", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        used = psutil.Process().memory_info().vms
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        os.environ |= environment(REPOSITORY, work / "overlay")
        from_environment()
        chosen = Chosen([test.name for test in tests])
        files = dict.fromkeys(test.path for test in tests)
        patience = PATIENCE + SLOWER * max(test.seconds for test in tests)
        options = [*PYTEST, "-x", "--tb=short", f"--timeout={patience}", f"--basetemp={work / 't'}", "--durations=0"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plugins are loaded already
        code = pytest.main([*options, *files], plugins=[chosen])
        (work / "end").write_text(json.dumps([int(code), chosen.ran, chosen.failure, chosen.why]))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def wait(child: int, deadline: float) -> tuple[int, float]:
    """The status of the forked process when it has ended, killed at the deadline (-1), and its processor seconds."""
    while time.monotonic() < deadline:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            return status, usage.ru_utime + usage.ru_stime
        time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)
    usage = os.wait4(child, 0)[2]
    return -1, usage.ru_utime + usage.ru_stime


def judged(work: Path, status: int) -> tuple[str, str, str]:
    """How it ended, at which test, and why."""
    if status == -1:
        return "hang", "", ""
    if status or not (work / "end").exists():
        return "crash", "", f"status {status}: {(work / 'log').read_text()[-150:]}"
    code, ran, failure, why = json.loads((work / "end").read_text())
    if code == pytest.ExitCode.OK:
        return "passed", "", f"{ran} tests"
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        return "uncovered", "", ""
    return ("hang" if "Timeout" in why else "failed"), failure, why or f"pytest ended with {code}"


def end_started(work: Path) -> None:
    """Ends the processes that tests have started and left."""
    for process in psutil.process_iter():
        try:
            if process.environ().get(OVERLAY) == str(work / "overlay"):
                process.kill()
        except psutil.Error:
            continue
