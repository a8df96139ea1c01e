from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from tools import checks
from tools.checks import Cost, Group

BUSY = "import time; until = time.process_time() + {}\nwhile time.process_time() < until: pass"
PASSING = Group("passing", [["python", "-c", ""]])
FAILING = Group("failing", [["python", "-c", "raise SystemExit(3)"]])


@pytest.fixture(autouse=True)
def own_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves alone what other tests have started in this process and use until the end."""
    monkeypatch.setattr(checks, "reap_orphans", lambda: None)


def busy(seconds: float) -> Sequence[str]:
    return ["python", "-c", BUSY.format(seconds)]


def test_the_processor_time_of_a_group_is_that_of_its_processes() -> None:
    passed, cost = checks.run(Group("busy", [busy(0.6), busy(0.2)], is_test=True))
    assert passed
    assert 0.8 <= 60 * cost.cpu < 1.8


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no subreaper")
def test_a_process_that_outlives_its_parent_is_counted() -> None:
    code = (
        "import subprocess, sys\n"
        "from tools.checks import Group, adopt_orphans, run\n"
        "adopt_orphans()\n"
        f"child = {BUSY.format(0.7)!r}\n"
        "leave = 'import subprocess, sys; subprocess.Popen([sys.executable, \"-c\", ' + repr(child) + '])'\n"
        "print(60 * run(Group('leaving', [['python', '-c', leave]]))[1].cpu)\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=checks.ROOT, capture_output=True, text=True, check=True)
    assert float(shown.stdout) >= 0.7


def test_what_is_compiled_is_kept_for_the_processes_that_tests_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    code = "import sys; sys.exit(sys.dont_write_bytecode)"
    assert checks.run(Group("keeping", [["python", "-c", code]]))[0]


def test_a_group_that_fails_stops_the_checks(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checks, "GROUPS", [PASSING, FAILING, PASSING])
    monkeypatch.setattr(checks, "adopt_orphans", lambda: None)
    assert checks.main([]) == 1
    assert "Failed: failing." in capfd.readouterr().out


@pytest.mark.parametrize(("minutes", "code"), [(49.9, 0), (50.1, 1)])
def test_tests_over_their_budget_fail_the_checks(
    minutes: float, code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    groups = [Group("other", []), Group("first", [], is_test=True), Group("second", [], is_test=True)]
    monkeypatch.setattr(checks, "GROUPS", groups)
    monkeypatch.setattr(checks, "adopt_orphans", lambda: None)
    monkeypatch.setattr(checks, "run", lambda group: (True, Cost(group, 1, minutes / 2 if group.is_test else 99)))
    assert checks.main([]) == code
    assert f"{minutes:.1f}" in capfd.readouterr().out


def test_nothing_is_waited_for_where_nothing_is_left() -> None:
    code = "from tools import checks; checks.time.sleep = None; checks.reap_orphans(); print(checks.cpu_of_ended())"
    shown = subprocess.run([sys.executable, "-c", code], cwd=checks.ROOT, capture_output=True, text=True, check=True)
    assert float(shown.stdout) == 0
