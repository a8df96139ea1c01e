"""The command line as a whole: quick help, every command documented, one sentence and a code for every end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headscope.cli import main as cli
from headscope.cli.command import commands
from headscope.cli.commands import heads
from headscope.pruning.export.exporter import FORMATS
from headscope.tasks.task import SPLITS
from tests.test_project import imported

ROOT = Path(cli.__file__).parents[2]
NAMES = [command.name for command in commands()]


def helped(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments, "--help"])
    assert ended.value.code == 0
    return " ".join(capsys.readouterr().out.split())


def test_help_and_specimens_come_without_torch() -> None:
    program = f"""
import sys
from headscope.cli import main as cli
for arguments in {[["specimens"], ["--help"], *([name, "--help"] for name in NAMES)]!r}:
    try:
        cli.main(arguments)
    except SystemExit:
        pass
    print(arguments, {{"torch", "transformers", "numpy", "streamlit"}} & set(sys.modules), file=sys.stderr)
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stderr.count("set()") == len(NAMES) + 2, run.stderr
    assert run.stdout.count("usage: ") == len(NAMES) + 1


def test_a_process_prints_its_answer_and_nothing_else(folder: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "headscope", "heads", folder, "--json"], cwd=ROOT, capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout)["heads"] == 36


def test_the_commands_are_those_with_a_file_of_their_own_and_all_are_helped(capsys: pytest.CaptureFixture[str]) -> None:
    shown = helped(capsys=capsys)
    assert len(NAMES) == len(set(NAMES)) >= 10
    assert all(f"{command.name} {command.about}" in shown for command in commands())
    assert {type(command).__module__ for command in commands()} == {f"headscope.cli.commands.{name}" for name in NAMES}


def test_help_names_every_split_and_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(split in helped("evaluate", capsys=capsys) for split in SPLITS)
    assert all(form in helped("prune", capsys=capsys) for form in FORMATS)


def test_every_command_is_documented_with_an_example_and_all_its_options() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == NAMES
    for part, command in zip(re.split(r"^## .+$", text, flags=re.MULTILINE)[1:], commands(), strict=True):
        assert f"headscope {command.name}" in part
        parser = cli.argparse.ArgumentParser()
        command.arguments(parser)
        options = {option for option in parser._option_string_actions if option.startswith("--")} - {"--help"}
        assert {option for option in options if f"`{option}" not in part} == set(), command.name


def test_commands_know_no_interface() -> None:
    for path in (ROOT / "headscope" / "cli").rglob("*.py"):
        assert imported(path) & {"headscope.pages", "headscope.web", "app", "streamlit"} == set()


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (ValueError("three heads; two are allowed"), 2, "three heads; two are allowed"),
        (KeyError("no head; there are two"), 2, "no head; there are two"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 2, "invalid start byte"),
        (FileNotFoundError(2, "No such file", "a.txt"), 2, "No such file: a.txt"),
        (OSError("the disk is full"), 2, "the disk is full"),
        (FileNotFoundError(2, "No such file", "a\nb\x1b[31m"), 2, "No such file: a b\N{REPLACEMENT CHARACTER}[31m"),
        (ValueError("no folder a\r\n\nb; give another"), 2, "no folder a b; give another"),
        (KeyError("x" * 100_000), 2, "x" * (cli.LONGEST - 1) + "…"),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
def test_every_end_has_one_sentence_and_a_code(
    error: BaseException, code: int, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*_: object) -> None:
        raise error

    monkeypatch.setattr(heads.Heads, "run", run)
    assert cli.main(["heads", "any"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("headscope: ")
    assert captured.err.endswith(f"{sentence}\n")
    assert captured.err.count("\n") == 1


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads.Heads, "run", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(["heads", "any"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND; headscope --help tells more"),
        (["fly"], "invalid choice: 'fly'"),
        (["heads"], "headscope heads --help tells more"),
        (["heads", "reader", "a\nb"], "unrecognized arguments: a"),
        (["runs", "--prune", "x" * 100_000], "headscope runs --help tells more"),
    ],
)
def test_arguments_that_nobody_understands_are_refused_in_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.startswith("headscope: ")
    assert said.count("\n") == 1
    assert len(said) < 1100


def test_a_task_of_many_letters_is_not_repeated_whole(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["evaluate", folder, "--task", "é" * 10_000]) == 2
    assert "…'; known: " in capsys.readouterr().err
