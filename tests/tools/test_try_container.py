"""The trial of the container, where there is no engine and where a promise does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import try_container
from tools.try_container import ENGINES, main

ENGINE = """#!/bin/sh
case "$1 $2" in
  "image inspect") case "$3" in *Size*) echo 2000000000;; *) echo '["CMD", "true"]';; esac;;
  "port "*) echo 127.0.0.1:9;;
  "exec "*) [ "$3" != id ] || echo 0;;
esac
echo "$@" >> {log}
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where programs are looked for first."""
    for one in ENGINES:
        (tmp_path / one).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / one).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(try_container, "SECONDS_TO_START", 0)
    return tmp_path


@pytest.mark.usefixtures("path")
def test_without_an_engine_that_answers_it_says_so_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 2
    assert capsys.readouterr().err == "try_container: needs one of docker, podman, and none answers\n"


def test_a_promise_that_does_not_hold_is_told_and_what_was_started_is_removed(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path / "podman").write_text(ENGINE.format(log=path / "log"))
    assert main() == 1
    said = capsys.readouterr()
    assert said.out.startswith("built: 2.00 GB\nhealthy after 0 s\n")
    assert said.err == "try_container: it runs as user 10001? no: '0', not '10001'\n"
    asked = (path / "log").read_text().splitlines()
    assert any(line.startswith("build --format docker ") for line in asked)
    assert [line.split()[:2] for line in asked[-2:]] == [["rm", "--force"], ["volume", "rm"]]
