from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from headscope.analysis.roles.sample_selection import chosen_sample
from headscope.analysis.roles.search import roles_of
from headscope.models.loading.loader import load
from headscope.runs.store import Store
from headscope.tasks.natural import CONLLU
from tests.cli.conftest import Run

COMMAND = ("roles", "looker", "--n", "60")


def first_trees(path: Path, n: int) -> str:
    path.write_text("\n\n".join(Path(CONLLU).read_text(encoding="utf-8").split("\n\n")[:n]) + "\n\n", encoding="utf-8")
    return str(path)


def test_the_json_is_what_the_library_finds_in_every_head(recorded: Run) -> None:
    answer = recorded(*COMMAND)
    assert list(answer) == ["roles"]
    head_model = load("looker")
    expected = roles_of(head_model, chosen_sample(head_model, 60)[0])
    assert answer["roles"].keys() == expected.keys()
    for key, own in expected.items():
        found = answer["roles"][key]
        assert list(found) == [str(head) for head in own]
        for head, one in own.items():
            assert list(found[str(head)]) == ["score", "baseline", "n", "verdict", "detail"]
            assert found[str(head)]["score"] == pytest.approx(one.score)
            assert found[str(head)]["verdict"] == one.verdict


def test_people_read_counts_and_sentences_and_programs_a_row_for_every_role_and_head(
    recorded: Run, printed: Run
) -> None:
    found = recorded(*COMMAND)["roles"]
    lines = printed(*COMMAND).splitlines()
    assert lines[0].startswith("60 digits of development, run ")
    counted = {line.rsplit(maxsplit=1)[0].strip(): int(line.rsplit(maxsplit=1)[1]) for line in lines[1:6]}
    assert counted["Broad"] == sum(one["verdict"] for one in found["broad"].values())
    rows = list(csv.DictReader(printed(*COMMAND, "--csv").splitlines()))
    assert [(row["role"], row["head"]) for row in rows] == [(role, head) for role in found for head in found[role]]
    for row in rows:
        one = found[row["role"]][row["head"]]
        assert (float(row["score"]), row["verdict"]) == (one["score"], str(one["verdict"]))
        assert row["case"] == one["detail"]["case"]


def test_thresholds_decide_and_a_mask_is_told_what_it_leaves(recorded: Run, printed: Run) -> None:
    lenient = (*COMMAND, "--option", "end mark.share=0.2", "broad.evenness=0.5")
    heads = [head for head, one in recorded(*lenient)["roles"]["broad"].items() if one["verdict"]]
    usual = recorded(*COMMAND)["roles"]["broad"]
    assert len(heads) > sum(one["verdict"] for one in usual.values())
    answer = recorded(*lenient, "--mask", " ".join(heads[:1]))
    assert list(answer) == ["roles", "left"]
    for key, own in answer["roles"].items():
        assert answer["left"][key] == sum(one["verdict"] and head not in heads[:1] for head, one in own.items())
    (line,) = (line for line in printed(*lenient, "--mask", " ".join(heads[:1])).splitlines() if "Broad" in line)
    assert line.split() == ["Broad", str(len(heads)), str(len(heads) - 1), "left"]


def test_own_trees_are_asked_for_their_relations_and_found_again_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: Run, printed: Run
) -> None:
    first_trees(tmp_path / "own.conllu", 120)
    monkeypatch.chdir(tmp_path)
    found = recorded("roles", "reader", "--trees", "own.conllu")["roles"]
    assert "det: dependent to head" in found["syntactic"]["encoder.0.0"]["detail"]["cases"]
    assert printed("roles", "reader", "--trees", "own.conllu").startswith("120 passages of own.conllu, run ")
    (run,) = Store().runs()
    assert run.spec["data"] == str(tmp_path / "own.conllu")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["looker", "--n", "1"], "1 examples; at least 2 are needed"),
        (["looker", "--split", "train"], "no split 'train'"),
        (["looker", "--option", "margin=1"], "no threshold 'margin' of a role; known: alignment.margin"),
        (["looker", "--mask", "encoder.9.9"], "no head encoder.9.9 in this model"),
        (["looker", "--parser", "en"], "--parser en without --trees"),
        (["reader", "--trees", "no-such.conllu"], "no-such.conllu"),
        (["nonsense/model/x"], "nonsense"),
    ],
)
def test_bad_input_is_one_sentence(refused: Run, arguments: list[str], sentence: str) -> None:
    assert sentence in refused("roles", *arguments)


def test_a_pipeline_that_is_not_installed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Run
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    (tmp_path / "own.txt").write_text("The dog sleeps.\nA cat sees it.\n")
    said = refused("roles", "reader", "--trees", str(tmp_path / "own.txt"), "--parser", "en_core_web_sm")
    assert "no spaCy pipeline 'en_core_web_sm' is installed; give a CoNLL-U file instead" in said
