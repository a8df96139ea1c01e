from __future__ import annotations

from pathlib import Path

import pytest
import transformers as hf

from headscope.analysis.attention.example import Example
from headscope.analysis.attention.example_run import see
from headscope.models.loading.loader import load
from tests.cli.conftest import Run
from tests.families import TEXT

PAIR = ("attention", "reader", "The dog sleeps.", "--pair", "A dog is awake.")
MASK = " ".join(f"encoder.{layer}.{head}" for layer in (0, 1) for head in range(8))


def test_the_answer_as_json_is_that_of_the_library_whole_and_masked(recorded: Run) -> None:
    found = recorded(*PAIR, "--mask", MASK)
    assert list(found) == ["model", "mask", "whole", "masked", "map"]
    reader, example = load("reader"), Example("The dog sleeps.", "A dog is awake.")
    for name, removed in (("whole", frozenset()), ("masked", reader.grid.parse(MASK))):
        answer = see(reader, example, removed).answer
        assert set(found[name]) == {"kind", "text", "guesses", "certainty"}
        assert found[name]["text"] == answer.text
        assert found[name]["guesses"][0][0]["probability"] == pytest.approx(answer.guesses[0][0].probability)
    assert found["whole"]["guesses"] != found["masked"]["guesses"]
    assert (found["mask"], found["map"]) == (MASK.split(), None)


def test_without_a_mask_there_is_one_answer(recorded: Run, printed: Run) -> None:
    found = recorded("attention", "looker", "--image", "3")
    assert (found["masked"], found["mask"]) == (None, [])
    assert printed("attention", "looker", "--image", "3").startswith(f"whole: {found['whole']['text']}\n")


def test_the_map_of_a_head_is_that_of_the_masked_model(recorded: Run) -> None:
    found = recorded(*PAIR, "--head", "encoder.3.6", "--mask", MASK)["map"]
    reader, example = load("reader"), Example("The dog sleeps.", "A dog is awake.")
    bank = see(reader, example, reader.grid.parse(MASK)).bank("encoder")
    assert found["head"] == "encoder.3.6"
    assert (tuple(found["queries"]), tuple(found["keys"])) == (bank.queries, bank.keys)
    for row, expected in zip(found["weights"], bank.map_of(3, 6), strict=True):
        assert row == pytest.approx(expected.tolist())
    assert found["weights"] != recorded(*PAIR, "--head", "encoder.3.6")["map"]["weights"]


def test_a_table_has_a_row_for_every_token_that_looks(recorded: Run, printed: Run) -> None:
    command = ("attention", "translator", "the dog sleeps .", "--head", "cross.1.2")
    found = recorded(*command)["map"]
    lines = printed(*command).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("cross.1.2: "))
    rows = [line.split() for line in lines[start + 2 :]]
    assert lines[start + 1].split() == [key[:5] for key in found["keys"]]
    assert [row[0] for row in rows] == [query[:5] for query in found["queries"]]
    for row, weights in zip(rows, found["weights"], strict=True):
        assert [0 if cell == "·" else int(cell) for cell in row[1:]] == [round(100 * weight) for weight in weights]


def test_a_picture_is_a_document_that_begins_with_the_head(tmp_path: Path, printed: Run) -> None:
    path = tmp_path / "picture.html"
    shown = printed(*PAIR, "--head", "encoder.3.6", "--html", str(path))
    assert f"picture written to {path}" in shown
    document = path.read_text(encoding="utf-8")
    assert document.startswith("<!doctype html>")
    assert '"view":"head"' in document
    assert '"layer":3,"heads":[6]' in document.replace(" ", "")
    printed(*PAIR, "--html", str(path))
    assert '"view":"model"' in path.read_text(encoding="utf-8")


def test_a_model_without_answers_says_why(tmp_path: Path, printed: Run) -> None:
    hf.BertModel(hf.BertConfig(**TEXT | {"vocab_size": 600})).save_pretrained(tmp_path / "model")
    load("reader").tokenizer.save_pretrained(tmp_path / "model")
    shown = printed("attention", str(tmp_path / "model"), "the dog")
    assert shown == "whole: no answer, for the model gives hidden states and has no output head\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reader"], "an empty text; at least one word is needed"),
        (["looker", "a text"], "a text for looker, a model that looks at images; an image is needed"),
        (["looker", "a text", "--image", "1"], "both a text and an image"),
        (["looker", "--image", "400"], "no image 400; allowed are 0 to 399"),
        (["looker", "--image", "1", "--head", "encoder.9.9"], "no head encoder.9.9 in this model"),
        (["looker", "--image", "1", "--mask", "first"], "no head address 'first'"),
        (["looker", "--image", "1", "--html", "/no/such/folder/a.html"], "No such file or directory"),
        (["writer", "the dog", "--pair", "a cat"], "a second text for writer"),
    ],
)
def test_bad_input_is_one_sentence(refused: Run, arguments: list[str], message: str) -> None:
    assert message in refused("attention", *arguments)


def test_a_head_that_is_gone_has_no_map(tmp_path: Path, printed: Run, refused: Run) -> None:
    out = str(tmp_path / "smaller")
    printed("prune", "looker", "--heads", "encoder.0.1", "--out", out)
    sentence = refused("attention", out, "--image", "1", "--head", "encoder.0.1")
    assert "head encoder.0.1 is no longer in" in sentence
