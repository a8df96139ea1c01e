from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tools.planted_faults import draw, trial
from tools.planted_faults.choosing import Test, distance, reach
from tools.planted_faults.equivalent import FILE, Equivalent, equivalents
from tools.planted_faults.faults import Fault, faults
from tools.planted_faults.overlay import environment
from tools.planted_faults.probes import NAME, probed
from tools.planted_faults.report import add, read, report, suffices
from tools.planted_faults.sources import REPOSITORY, modules
from tools.planted_faults.trial import Outcome, plant

SOURCE = '''"""Words."""

LIMIT = 3


@dataclass(frozen=True)
class Sample:
    size: int = 2


def chosen(items: list[int], low: float = 0.5) -> bool:
    """More words."""
    if len(items) not in (LIMIT, 4):
        return ordered(items, low)
    for one, two in zip(items, items, strict=True):
        total = max(one, two)
    return total


@contextmanager
def borrowed(place):
    place.take()
    try:
        yield place
    finally:
        place.give_back(first=1, last=place)
'''


def found(kind: str) -> list[tuple[str, str]]:
    return [(fault.old, fault.new) for fault in faults("headscope/models/sample.py", SOURCE) if fault.kind == kind]


def test_every_kind_of_fault_is_found_and_nothing_that_only_guards() -> None:
    assert found("comparison") == [("not in", "in")]
    assert sorted(found("constant")) == [("0.5", "1.0"), ("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")]
    dropped = ["return ordered(items, low)", "total = max(one, two)", "return total", "place.take()"]
    assert sorted(found("dropped")) == sorted((line, "pass") for line in dropped)
    assert sorted(found("swapped")) == [("1, last=place", "place, last=1"), ("items, low", "low, items")]
    assert found("undo") == [("place.give_back(first=1, last=place)", "pass")]


def test_a_planted_fault_changes_its_own_text_only() -> None:
    fault = next(one for one in faults("headscope/models/sample.py", SOURCE) if one.kind == "comparison")
    assert fault.planted(SOURCE.encode()).decode() == SOURCE.replace("not in", "in")
    assert (fault.function, fault.code) == ("chosen", "if len(items) not in (LIMIT, 4):")


def test_probes_mark_the_statements_that_ran_and_move_no_line() -> None:
    source = (
        'def half(n):\n    """Words."""\n    if n:\n        return n / 2\n    text = """\n    a"""\n    return text\n'
    )
    text, lines = probed(source, 5)
    hits = bytearray(9)
    space = {NAME: hits}
    exec(compile(text, "sample", "exec"), space)
    assert lines == [4, 5, 7]
    assert space["half"](4) == 2  # type: ignore[operator]
    assert list(hits[5:8]) == [1, 0, 0]
    assert text.count(b"\n") == source.count("\n")


@pytest.mark.parametrize(
    ("code", "lines", "names"),
    [
        ("LIMIT = 3", set(), {"LIMIT"}),
        ("size: int = 2", set(), {"Sample", "size"}),
        ("if len(items)", {14, 16}, set()),  # what is inside, and what stands beside it
        ("return total", {17}, set()),
        ("def chosen", {14, 16, 17}, {"chosen"}),
    ],
)
def test_what_covers_a_line_is_itself_or_what_runs_with_it(code: str, lines: set[int], names: set[str]) -> None:
    line = next(number for number, text in enumerate(SOURCE.splitlines(), 1) if text.strip().startswith(code))
    covering, bound = reach(ast.parse(SOURCE), line)
    assert covering - {12} == lines  # 12 is the docstring, which has no probe
    assert bound == names


def test_tests_named_after_a_module_come_first_then_those_of_its_folder() -> None:
    names = ["tests/web/test_grid.py", "tests/models/test_loading.py", "tests/models/test_heads.py"]
    assert [distance(name, "headscope/models/heads.py") for name in names] == [2, 1, 0]


def sample(folder: str, kind: str, number: int) -> Fault:
    return Fault(f"{folder}/tokens.py", kind, "spans", number, 0, f"line {number}", "1", "2", number, number + 1)


def test_a_draw_takes_folders_and_kinds_in_turn_and_repeats_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "parses", lambda _source: True)
    monkeypatch.setattr(draw, "REPOSITORY", Path("/"))
    monkeypatch.setattr(Path, "read_bytes", lambda _path: b"1")
    many = [sample("models", "constant", number) for number in range(30)]
    few = [sample("runs", "undo", number) for number in range(2)]
    order = list(draw.drawn([*many, *few], 3))
    assert len(order) == 32
    assert {fault.kind for fault in order[:2]} == {"constant", "undo"}
    assert order == list(draw.drawn([*few, *reversed(many)], 3))
    assert order != list(draw.drawn([*many, *few], 4))


def test_a_reason_outlives_moved_lines_and_moved_files() -> None:
    fault = sample("models", "constant", 7)
    entry = Equivalent("headscope/models/tokens.py", "spans", "constant", "line 7", "2", "no one sees it")
    assert entry.matches(fault)
    assert entry.matches(replace(fault, path="headscope/models/tokens.py", line=70, start=900))
    assert not entry.matches(replace(fault, code="line 8"))
    assert not entry.matches(replace(fault, new="3"))
    assert replace(entry, column=fault.column).matches(fault)
    assert not replace(entry, column=fault.column + 1).matches(fault)


def test_every_excluded_fault_has_a_reason_and_still_exists(tmp_path: Path) -> None:
    paths = {path.name: path for path in modules()}
    for entry in equivalents(FILE):
        path = (
            REPOSITORY / entry.file if (REPOSITORY / entry.file).exists() else REPOSITORY / paths[Path(entry.file).name]
        )
        assert any(entry.matches(fault) for fault in faults(str(path), path.read_text())), entry
    silent = tmp_path / "silent.toml"
    silent.write_text('[[fault]]\nfile = "a"\nfunction = ""\nkind = "undo"\nline = "x"\nnew = "y"\nreason = " "\n')
    with pytest.raises(ValueError, match="without a reason"):
        equivalents(silent)


def test_the_share_has_wilsons_interval_and_results_outlive_a_stop(tmp_path: Path) -> None:
    for number in range(100):
        how = "failed" if number % 10 else "passed"
        add(tmp_path / "log", sample("models", "constant", number), Outcome(how, "test", "why", 1.0, 2.0))
    results = read(tmp_path / "log")
    assert len(results) == 100
    assert " 90 of  100  90.0% (82.6% to 94.5%)" in report(results)  # Wilson 1927, by hand
    add(tmp_path / "log", sample("models", "constant", 0), Outcome("hang", "", "", 1.0, 2.0))
    assert " 91 of  100" in report(read(tmp_path / "log"))


@pytest.mark.parametrize(("n", "n_caught", "enough"), [(160, 145, True), (160, 144, False), (149, 149, False)])
def test_the_lower_bound_over_150_faults_decides(n: int, n_caught: int, enough: bool) -> None:
    outcomes = [Outcome("failed" if number < n_caught else "passed", "", "", 1.0, 1.0) for number in range(n)]
    results = [(sample("models", "constant", number), outcome) for number, outcome in enumerate(outcomes)]
    assert suffices(results) is enough  # Wilson's bound is 85.11 % at 145 of 160 and 84.37 % at 144


def test_a_started_python_imports_the_other_text_and_the_file_stays(tmp_path: Path) -> None:
    for folder, value in (("tree", 1), ("overlay", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sample.py").write_text(f"VALUE = {value}\n")
    variables = os.environ | environment(tmp_path / "tree", tmp_path / "overlay")
    command = [sys.executable, "-c", "import sample; print(sample.VALUE)"]
    shown = subprocess.run(command, cwd=tmp_path / "tree", env=variables, capture_output=True, text=True, check=True)
    assert shown.stdout == "2\n"
    assert (tmp_path / "tree" / "sample.py").read_text() == "VALUE = 1\n"


TREE = {
    "planted_sample.py": "def half(n):\n    return n / 2\n",
    "conftest.py": "import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).parent))\n",
    "test_sample.py": "def test_half():\n    from planted_sample import half\n    assert half(4) == 2\n",
}


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("def half(n):\n    return n / 2\n", "passed"),
        ("def half(n):\n    return n / 3\n", "failed"),
        ("import os, signal\n\ndef half(n):\n    os.kill(os.getpid(), signal.SIGKILL)\n", "crash"),
        ("def half(n):\n    while True:\n        pass\n", "hang"),
    ],
)
def test_a_fault_is_caught_where_a_test_fails_hangs_or_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, how: str
) -> None:
    for name, content in TREE.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(trial, "REPOSITORY", tmp_path)
    monkeypatch.setattr(trial, "PYTEST", ("-n0", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)))
    monkeypatch.setattr(trial, "PATIENCE", 1.0 if how == "hang" else 60.0)
    monkeypatch.chdir(tmp_path)
    outcome = plant("planted_sample.py", text.encode(), [Test("test_sample.py::test_half", 0.1, frozenset())])
    assert outcome.how == how
    assert outcome.caught == (how != "passed")
    assert (tmp_path / "planted_sample.py").read_text() == TREE["planted_sample.py"]
