"""A tokenizer that would never end is found out without letting it."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, normalizers

from headscope.cli.main import main
from headscope.models.loading.known_models import specimen_folder
from headscope.models.loading.loader import load
from headscope.models.loading.tokenizer_growth import MOST, grows_without_bound, growth

TENFOLD = [{"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 10} for _ in range(12)]
INSERTS = [{"type": "Replace", "pattern": {"Regex": "x*"}, "content": "x"} for _ in range(40)]
LOOKS_AHEAD = [{"type": "Replace", "pattern": {"Regex": "(?=.)"}, "content": "x"} for _ in range(40)]
ENDLESS: dict[str, dict[str, Any]] = {
    "each of ten by ten": {"normalizer": {"type": "Sequence", "normalizers": TENFOLD}},
    "sequences in sequences": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "Sequence", "normalizers": TENFOLD[:6]}, {"type": "NFC"}, *TENFOLD[6:]],
        }
    },
    "in turn": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Replace", "pattern": {"String": one}, "content": other * 10}
                for one, other in ["et", "te"] * 6
            ],
        }
    },
    "something for nothing": {"normalizer": {"type": "Sequence", "normalizers": INSERTS}},
    "before each letter": {"normalizer": {"type": "Sequence", "normalizers": LOOKS_AHEAD}},
    "what is written": {"decoder": {"type": "Sequence", "decoders": TENFOLD}},
}
REAL: dict[str, dict[str, Any]] = {
    "signs by words": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Replace", "pattern": {"String": one}, "content": other}
                for one, other in {
                    "½": "1/2",
                    "…": "...",
                    "№": "No.",
                    "``": '"',
                    "''": '"',
                    "«": "<<",
                    " ": "▁",
                }.items()
            ],
        }
    },
    "blanks to one": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Replace", "pattern": {"Regex": one}, "content": " "}
                for one in (" {2,}", "\\s+", "[\\t\\r]+") * 10
            ],
        }
    },
}


def template(n_ids: int, n_times: int, form: str) -> dict[str, Any]:
    """A post-processor that puts so many tokens so many times around a text or a pair."""
    text = [{"Sequence": {"id": "A", "type_id": 0}}]
    special = [{"SpecialToken": {"id": "X", "type_id": 0}}] * n_times
    return {
        "type": "TemplateProcessing",
        "single": text,
        "pair": text,
        "special_tokens": {"X": {"id": "X", "ids": [1] * n_ids, "tokens": ["?"] * n_ids}},
    } | {form: [*text, *special]}


LONG: dict[str, dict[str, Any]] = {
    "many tokens around a text": {"post_processor": template(2000, 2000, "single")},
    "many tokens around a pair": {"post_processor": template(2000, 2000, "pair")},
    "many in sequence": {"post_processor": {"type": "Sequence", "processors": [template(9, 9, "single")] * 2}},
    "a long beginning": {"normalizer": {"type": "Prepend", "prepend": "e" * 1000}},
    "many beginnings": {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "e" * 9}] * 12}
    },
}


@pytest.mark.parametrize("kind", LONG)
def test_what_is_put_around_every_text_is_counted(kind: str, reader: Path) -> None:
    rewrite(reader, LONG[kind])
    assert grows_without_bound(reader)


def test_a_few_tokens_around_a_text_are_no_reason(reader: Path) -> None:
    rewrite(reader, {"post_processor": template(1, 3, "single")})
    assert not grows_without_bound(reader)


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    return Path(shutil.copytree(specimen_folder("reader"), tmp_path / "reader"))


def rewrite(folder: Path, parts: dict[str, Any]) -> None:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | parts))


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_model_with_such_a_tokenizer_has_none_and_says_so_at_once(
    kind: str, reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(reader, ENDLESS[kind])
    started = time.process_time()
    assert main(["attention", str(reader), "The reef."]) == 2
    assert "has no tokenizer" in capsys.readouterr().err
    assert time.process_time() - started < 10


@pytest.mark.parametrize("kind", REAL)
def test_what_real_tokenizers_replace_is_no_reason(kind: str, reader: Path) -> None:
    rewrite(reader, REAL[kind])
    assert not grows_without_bound(reader)
    assert load(reader).tokenizer("A ½ … reef.").input_ids


@pytest.mark.parametrize("name", ["reader", "writer", "translator"])
def test_the_tokenizers_of_the_specimens_do_not_grow(name: str) -> None:
    assert not grows_without_bound(Path(specimen_folder(name)))


@pytest.mark.parametrize("pairs", [[("a", "bb"), ("b", "ccc")], [("a", "aa")] * 4, [("b", "xy"), ("a", "bbb")]])
def test_growth_is_that_of_the_library(pairs: list[tuple[str, str]]) -> None:
    sequence = normalizers.Sequence([normalizers.Replace(one, other) for one, other in pairs])
    assert growth(pairs) == max(len(sequence.normalize_str(letter)) for letter in "abc")


def test_an_expression_that_takes_nothing_is_met_before_and_after_every_letter() -> None:
    pairs = [("", "x")] * 3
    sequence = normalizers.Sequence([normalizers.Replace(Regex("y*"), "x") for _ in pairs])
    assert 2 * growth(pairs) + 1 == len(sequence.normalize_str("a"))  # a match on each side, and the letter


def test_growth_is_not_counted_to_the_end() -> None:
    started = time.process_time()
    assert growth([("a", "a" * 50)] * 1000) > MOST
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "content", ["", "[]", "{", "[" * 100_000, '{"normalizer": 3}', '{"normalizer": {"type": "Replace"}}']
)
def test_a_file_that_is_none_is_left_to_who_reads_it(content: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(content)
    assert not grows_without_bound(tmp_path)
    assert not grows_without_bound(tmp_path / "nowhere")


def test_the_cases_would_really_be_endless() -> None:
    """Cut short, for they are: what they do to a letter in the first steps."""
    short = ENDLESS["each of ten by ten"]["normalizer"]["normalizers"][:4]
    tokenizer = Tokenizer.from_str(
        json.dumps(
            {
                "version": "1.0",
                "normalizer": {"type": "Sequence", "normalizers": short},
                "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"},
            }
        )
    )
    assert len(tokenizer.normalizer.normalize_str("e")) == 10**4
