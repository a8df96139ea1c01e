from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

import pytest

from headscope.analysis.importance.method import portions, score
from headscope.analysis.importance.methods import integrated_gradients
from headscope.analysis.importance.methods.gradient import Gradient
from headscope.analysis.importance.stability import stability
from headscope.cli.main import main
from headscope.cli.terminal import bar
from headscope.models.loading.loader import load
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.run import DONE
from headscope.runs.store import Store
from headscope.tasks.task_catalog import task
from tests.cli.conftest import Run
from tests.families import family
from tests.tasks.sounds import listener
from tests.tasks.sounds import table as sound_table

WORDS = ["the", "dog", "cat", "bird", "sees", "hears", "loves", "a", "small", "old", "house", "and", "it", "sleeps"]
COMMAND = ("importance", "looker", "--n", "12")


def own_file(path: Path) -> str:
    lines = [" ".join(random.Random(row).choices(WORDS, k=8)) for row in range(80)]
    path.write_text("\n".join(lines))
    return str(path)


def test_the_scores_as_json_are_those_of_the_library(recorded: Run) -> None:
    found = recorded(*COMMAND)
    assert list(found) == ["method", "n", "scores", "errors"]
    assert (found["method"], found["n"]) == ("gradient", 12)
    expected = score(Gradient(), load("looker"), task("digits"), "calibration", 12)
    assert found["scores"] == pytest.approx({str(head): value for head, value in expected.values.items()})
    assert found["errors"] == pytest.approx({str(head): value for head, value in expected.errors.items()})


def test_people_read_the_highest_score_first_and_programs_every_head_in_order(printed: Run, recorded: Run) -> None:
    scores = recorded(*COMMAND)["scores"]
    best = max(scores, key=scores.__getitem__)
    lines = printed(*COMMAND).splitlines()
    assert lines[0].startswith("Handwritten digits, calibration, 12 examples, run ")
    assert lines[1].split()[0] == best
    rows = list(csv.DictReader(printed(*COMMAND, "--csv").splitlines()))
    assert [row["head"] for row in rows] == list(scores)
    assert {row["head"]: float(row["score"]) for row in rows} == scores


def test_the_run_is_in_the_store_and_found_again(recorded: Run) -> None:
    first = recorded(*COMMAND)
    (run,) = Store().runs()
    assert (run.kind, run.state, run.result["scores"]) == ("importance", "done", first["scores"])
    assert recorded(*COMMAND) == first
    assert len(Store().runs()) == 1


def test_options_reach_the_method(recorded: Run) -> None:
    by_layer = recorded(*COMMAND, "--option", "scale=layer", "estimator=batch")
    assert Store().runs()[0].spec["options"] == {"scale": "layer", "estimator": "batch"}
    first_layer = [by_layer["scores"][f"encoder.0.{head}"] for head in range(6)]
    assert sum(value**2 for value in first_layer) == pytest.approx(1)


def test_stability_is_that_of_the_portions(recorded: Run, printed: Run, capsys: pytest.CaptureFixture[str]) -> None:
    found = recorded(*COMMAND, "--stability")
    looker, digits = load("looker"), task("digits")
    parts = list(portions(Gradient(), looker, digits, digits.batches(looker, "calibration", 12)))
    expected = stability(Gradient(), looker.grid, parts)
    assert list(found) == ["method", "n", "scores", "errors", "stability"]
    assert found["stability"]["mean"] == pytest.approx(expected.mean)
    assert set(found["stability"]) == {"mean", "low", "high", "n_splits", "n"}
    sentence = f"rank correlation of two halves of the 12 examples: {expected.mean:.3f}, "
    assert sentence in printed(*COMMAND, "--stability").splitlines()[-1]
    assert main([*COMMAND, "--stability", "--csv"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith(f"headscope: {sentence}")
    assert "correlation" not in captured.out


def test_scores_of_a_named_run_have_no_error_and_heads_without_a_gate_are_told(
    printed: Run, recorded: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store()
    learned = store.submit(LearnRun("looker", gates="dsp").as_run(store.folder))
    scores = {"encoder.0.0": 1.5, "encoder.0.1": -0.5}
    store.end(learned.id, DONE, result={"task": "digits", "n": 8, "scores": scores})
    asked = ("importance", "looker", "--method", "subset", "--option", f"run={learned.id}")
    found = recorded(*asked)
    assert (found["scores"], found["errors"]) == (scores, {})
    assert [line.split() for line in printed(*asked).splitlines()[1:]] == [
        ["encoder.0.0", "1.5", "–"], ["encoder.0.1", "-0.5", "–"],
    ]  # fmt: skip
    assert printed(*asked, "--csv").splitlines()[1] == "encoder.0.0,1.5,"
    assert main([*asked]) == 0
    assert f"headscope: not scored by the run {learned.id}: encoder.0.2 encoder.0.3 " in capsys.readouterr().err


@pytest.mark.parametrize(("most", "complete"), [(1, False), (1024, True)])
def test_integrated_gradients_that_stay_incomplete_say_so(
    most: int, complete: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(integrated_gradients, "MOST_STEPS", most)
    assert main([*COMMAND[:-1], "3", "--method", "integrated-gradients", "--option", "steps=1", "--csv"]) == 0
    told = capsys.readouterr().err
    (run,) = Store().runs()
    assert [note.startswith("Not complete: in 3 of 3 examples the heads miss") for note in run.result["notes"]] == (
        [] if complete else [True]
    )
    assert told == "".join(f"headscope: {note}\n" for note in run.result["notes"])


def test_a_model_of_features_is_scored_and_a_text_left_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    family("clip-vision").model.save_pretrained(tmp_path / "tower")
    asked = ["importance", str(tmp_path / "tower"), "--n", "6", "--json"]
    assert main([*asked, "--text", own_file(tmp_path / "own.txt")]) == 0
    captured = capsys.readouterr()
    assert "skipped own.txt: " in captured.err and "looks at images, so it is judged on digits" in captured.err
    assert min(json.loads(captured.out)["scores"].values()) > 0
    (run,) = Store().runs()
    assert run.result["task"] == "Fidelity on digits"


def test_a_model_that_listens_is_scored_on_a_table_and_refuses_a_text(
    tmp_path: Path, recorded: Run, refused: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    model = listener()
    model.model.float().save_pretrained(tmp_path / "ear")
    model.tokenizer.save_pretrained(tmp_path / "ear")
    data = sound_table(tmp_path)
    data.write_text(f"{data.read_text()}\nclips/gone.wav\tw1")
    asked = ("importance", str(tmp_path / "ear"), "--n", "3")
    assert main([*asked, "--data", str(data), "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "headscope: skipped own.tsv, line 62: no file gone.wav in its folder\n"
    assert min(json.loads(captured.out)["scores"].values()) > 0
    for method in ("confidence", "lrp"):
        assert len(recorded(*asked, "--data", str(data), "--method", method)["scores"]) == 24
    text = own_file(tmp_path / "own.txt")
    assert "a model that listens to sound; it needs a table (.tsv) of two columns" in refused(*asked, "--text", text)
    assert "it is judged on own data alone: a table (.tsv)" in refused(*asked)


@pytest.mark.parametrize(("share", "cells"), [(-1, 0), (0, 0), (0.26, 5), (0.5, 10), (1, 20), (2, 20)])
def test_a_bar_has_as_many_full_cells_as_is_done(share: float, cells: int) -> None:
    assert bar(share) == "█" * cells + "░" * (20 - cells)


@pytest.mark.usefixtures("home")
def test_a_terminal_shows_a_bar_that_goes_when_the_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", terminal)
    assert main([*COMMAND]) == 0
    shown = terminal.getvalue().split("\r\x1b[K")
    bars = [line.partition(" ")[0] for line in shown if "█" in line or "░" in line]
    assert all(len(one) == 20 for one in bars)
    assert bars[0] == "░" * 20
    assert shown[-1] == ""


def test_an_unexpected_error_is_one_sentence_and_the_rest_is_in_the_log(
    home: Path, monkeypatch: pytest.MonkeyPatch, refused: Run
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(Gradient, "of_batch", fail)
    assert "unexpected RuntimeError: shapes do not fit" in refused(*COMMAND)
    assert "Traceback" in (home / "worker-here.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("model", "title"),
    [
        ("reader", "Fidelity on own.txt"),
        ("writer", "own.txt"),
        ("all-attention-writer", "own.txt"),
        ("translator", "Fidelity on own.txt"),
    ],
)
def test_every_specimen_that_reads_is_scored_on_own_text(model: str, title: str, tmp_path: Path, recorded: Run) -> None:
    found = recorded("importance", model, "--text", own_file(tmp_path / "own.txt"), "--n", "2")
    assert max(found["scores"].values()) > 0
    (run,) = Store().runs()
    assert run.result["task"] == title


def test_a_model_that_looks_at_images_leaves_text_aside_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, "--text", own_file(tmp_path / "own.txt"), "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == (
        "headscope: skipped own.txt: looker is a model that looks at images, so it is judged on digits\n"
    )
    assert json.loads(captured.out)["n"] == 12


def test_a_relative_path_is_kept_whole_for_workers_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: Run
) -> None:
    own_file(tmp_path / "own.txt")
    monkeypatch.chdir(tmp_path)
    recorded("importance", "writer", "--text", "own.txt", "--n", "1")
    assert Store().runs()[0].spec["data"] == str(tmp_path / "own.txt")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "list"], "no importance method 'list'; known: ablation, "),
        (["--option", "scale=huge"], "scale=huge; allowed: raw, layer"),
        (["--option", "size=1"], "no option 'size' of gradient; it has: estimator, scale, group"),
        (["--split", "train"], "no split 'train'"),
        (["--n", "0"], "0 examples of calibration"),
        (["--task", "stories", "--text", "a.txt"], "allowed is one of them, or fidelity"),
        (["--n", "1", "--stability"], "a ranking by 1 examples; at least 2 are needed"),
    ],
)
def test_bad_input_is_one_sentence(refused: Run, arguments: list[str], message: str) -> None:
    assert message in refused("importance", "looker", *arguments)
