"""Files beside the configuration and the weights: too large, or with values that they cannot have."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from headscope.models.loading.known_models import specimen_folder, specimen_names
from headscope.models.loading.loader import load
from headscope.models.loading.side_files import GENERATION, IMAGES, SMALL, TOKENIZER, VOCABULARY, check_text_files
from headscope.tasks.generation import generated
from tests.bad_input.mutations import check_sentence

BAD: dict[str, dict[str, list[Any]]] = {
    TOKENIZER: {"model_max_length": ["x", [], True, float("inf"), float("nan"), 10**400]},
    GENERATION: {
        "eos_token_id": ["x", [["x"]], 1.5, 2**40, {}],
        "decoder_start_token_id": ["x", [1], -5],
        "forced_bos_token_id": ["x", True],
        "suppress_tokens": ["x", 3, ["x"], [2**40]],
        "bad_words_ids": ["x", [1], [[]], [["x"]]],
        "exponential_decay_length_penalty": [[1], "x", [1, "x"], 3],
        "num_beams": [10**9, -1, "x"],
        "temperature": ["x", []],
    },
    IMAGES: {"size": [10**9, 0, {"height": 10**9, "width": 1}, "x"], "crop_size": [[10**6]]},
}
GOOD: dict[str, dict[str, Any]] = {
    TOKENIZER: {"model_max_length": 10**30},
    GENERATION: {
        "eos_token_id": [1, 2], "pad_token_id": -1, "suppress_tokens": [], "bad_words_ids": [[1, 2]],
        "exponential_decay_length_penalty": [5, 1.1], "num_beams": 6, "temperature": 0, "max_length": None,
    },
    IMAGES: {"size": {"shortest_edge": 224}, "crop_size": [224, 224]},
}  # fmt: skip


@pytest.mark.parametrize(("file", "name"), [(file, name) for file, fields in BAD.items() for name in fields])
def test_a_value_that_a_field_cannot_have_is_refused_with_what_it_can_be(file: str, name: str, tmp_path: Path) -> None:
    for value in BAD[file][name]:
        (tmp_path / file).write_text(json.dumps({name: value}))
        with pytest.raises(ValueError, match=rf"{file} says {name} is .*; allowed is ") as caught:
            check_text_files(tmp_path)
        check_sentence(str(caught.value))


def test_values_of_real_models_are_taken(tmp_path: Path) -> None:
    for file, values in GOOD.items():
        (tmp_path / file).write_text(json.dumps(values))
    check_text_files(tmp_path)
    for name in specimen_names():
        check_text_files(Path(specimen_folder(name)))


@pytest.mark.parametrize(
    ("file", "most"),
    [("tokenizer.json", VOCABULARY), ("merges.txt", VOCABULARY), (TOKENIZER, SMALL), (GENERATION, SMALL)],
)
def test_a_file_that_is_too_large_is_refused_unread(file: str, most: int, tmp_path: Path) -> None:
    with (tmp_path / file).open("wb") as opened:
        opened.truncate(most + 1)
    with pytest.raises(ValueError, match=f"{re.escape(file)} has more than {most // 2**20} MB"):
        check_text_files(tmp_path)


def test_the_files_are_checked_before_a_model_is_loaded(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(specimen_folder("looker"), tmp_path / "looker"))
    (folder / GENERATION).write_text('{"eos_token_id": "x"}')
    with pytest.raises(ValueError, match="says eos_token_id is"):
        load(folder)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("decoder_start_token_id", 10**9, "has 1000000000 as first token"),
        ("forced_bos_token_id", 10**9, "has 1000000000 as forced_bos_token_id"),
        ("suppress_tokens", [10**9], "has 1000000000 as suppress_tokens"),
        ("bad_words_ids", [[10**9]], "has 1000000000 as bad_words_ids"),
        ("sequence_bias", "x", "cannot follow its generation_config.json"),
    ],
)
def test_what_a_model_is_to_write_and_cannot_is_one_sentence(
    name: str, value: Any, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = load("translator")
    monkeypatch.setattr(translator.model.generation_config, name, value)
    inputs = translator.tokenizer(["The old key is on the table."], return_tensors="pt")
    with pytest.raises(ValueError, match=sentence) as caught:
        generated(translator, {name: inputs[name] for name in ("input_ids", "attention_mask")})
    check_sentence(str(caught.value))
