"""The text files of a model's folder: how large they may be, and values that transformers would take unchecked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headscope.models.text import shown

SMALL, INDEX, VOCABULARY = 16 * 2**20, 32 * 2**20, 64 * 2**20
"""Bytes of a file of settings, of a list of weight files, and of a vocabulary; real ones have half of that at most."""

GENERATION, TOKENIZER, IMAGES = "generation_config.json", "tokenizer_config.json", "preprocessor_config.json"
MOST_COUNTED = 2**20
"""The most that a length, a count of beams and their like may be."""

LONGEST_SIDE = 2**13
"""Pixels of an image that a processor may make."""

Check = Callable[[Any], bool]


def check_text_files(folder: Path) -> None:
    """Raise a ValueError in one sentence for a file that is too large, or for a value of a kind that it cannot have."""
    for path in sorted(folder.iterdir()):
        most = _most_bytes(path)
        if most and path.is_file() and path.stat().st_size > most:
            raise ValueError(
                f"{shown(str(path), 200)} has more than {most // 2**20} MB, which is the most that is read"
            )
    for name, checks in CHECKS.items():
        path = folder / name
        if path.is_file():
            _check_values(path, checks)


def _most_bytes(path: Path) -> int:
    """How large a file may be; 0 for one that is no text."""
    if path.name.endswith(".index.json"):
        return INDEX
    if path.name in ("tokenizer.json", "vocab.json") or path.suffix in (".txt", ".model"):
        return VOCABULARY
    return SMALL if path.suffix in (".json", ".jinja") else 0


def _check_values(path: Path, checks: Mapping[str, tuple[Check, str]]) -> None:
    """A file that is no JSON, and a field that is not there, are left to who reads them."""
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return
    if not isinstance(values, dict):
        raise ValueError(f"{shown(str(path), 200)} is no JSON object of settings")
    for name, value in values.items():
        fits, allowed = checks.get(name, (_anything, ""))
        if value is not None and not fits(value):
            raise ValueError(
                f"{shown(str(path), 200)} says {name} is {shown(json.dumps(value), 40)}; allowed is {allowed}"
            )


def _anything(_: Any) -> bool:
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_COUNTED


def _is_token(value: Any) -> bool:
    """Some models write -1 for none; whether the model knows the token is asked where it is used."""
    return isinstance(value, int) and not isinstance(value, bool) and -1 <= value < 2**31


def _are_tokens(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_token, value))


def _is_decay(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and _is_count(value[0]) and _is_number(value[1])


def _is_side(value: Any) -> bool:
    """A number of pixels or several of them, as in `{"height": 224, "width": 224}`."""
    sides = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return all(isinstance(side, int) and not isinstance(side, bool) and 0 < side <= LONGEST_SIDE for side in sides)


_TOKEN = (_is_token, "the number of a token")
_TOKENS = (lambda value: _is_token(value) or _are_tokens(value), "the number of a token, or a list of them")
_LISTED = (_are_tokens, "a list of numbers of tokens")
_LISTS = (
    lambda value: isinstance(value, list) and all(one and _are_tokens(one) for one in value),
    "a list of lists of numbers of tokens",
)
_NUMBER = (_is_number, "a number")
_COUNT = (_is_count, f"a whole number from 0 to {MOST_COUNTED}")
_SIDE = (_is_side, f"a side of 1 to {LONGEST_SIDE} pixels, or several")

CHECKS: dict[str, dict[str, tuple[Check, str]]] = {
    GENERATION: {
        **dict.fromkeys(("decoder_start_token_id", "bos_token_id", "pad_token_id", "forced_bos_token_id"), _TOKEN),
        **dict.fromkeys(("eos_token_id", "forced_eos_token_id"), _TOKENS),
        **dict.fromkeys(("suppress_tokens", "begin_suppress_tokens"), _LISTED),
        **dict.fromkeys(("bad_words_ids", "force_words_ids"), _LISTS),
        **dict.fromkeys(
            ("temperature", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "length_penalty",
             "repetition_penalty", "encoder_repetition_penalty", "diversity_penalty", "guidance_scale"), _NUMBER,
        ),
        **dict.fromkeys(
            ("max_length", "max_new_tokens", "min_length", "min_new_tokens", "num_beams", "num_beam_groups", "top_k",
             "num_return_sequences", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size"), _COUNT,
        ),
        "exponential_decay_length_penalty": (_is_decay, "a whole number and a factor"),
    },
    TOKENIZER: {"model_max_length": (_is_number, "a number")},
    IMAGES: dict.fromkeys(("size", "crop_size", "pad_size"), _SIDE),
}  # fmt: skip
"""What some fields of a file may be besides null, and how that is told."""
