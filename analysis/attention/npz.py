"""What was seen as bytes, so that one process can send it to another: arrays and JSON in an npz, never any pickle."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from headscope.analysis.attention.attention_record import Answer, Guess, Picture, Seen, SeenBank, SeenLayer
from headscope.models.heads import HeadId

RECORD = "record"
PIXELS = "pixels"


def to_npz(seen: Seen) -> bytes:
    """All of it, exactly."""
    arrays = {f"{bank.bank}.{layer}": found.maps for bank in seen.banks for layer, found in enumerate(bank.layers)}
    if seen.picture is not None:
        arrays[PIXELS] = seen.picture.pixels
    arrays[RECORD] = np.frombuffer(json.dumps(_record(seen)).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def read_npz(path: Path) -> Seen:
    """What a file holds that has what `to_npz` gave; a ValueError names one that has not."""
    try:
        return from_npz(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"the file {path.name} of run {path.parent.name} is broken: {error}") from error


def from_npz(content: bytes) -> Seen:
    """What `to_npz` wrote."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return _seen(json.loads(arrays[RECORD].tobytes()), arrays)
    except (ValueError, KeyError, TypeError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{len(content)} bytes that are not what was seen of an example; allowed is to_npz") from error


def _record(seen: Seen) -> dict[str, Any]:
    picture = seen.picture
    return {
        "model": seen.model,
        "removed": sorted(map(str, seen.removed)),
        "pair_start": seen.pair_start,
        "answer": {
            "kind": seen.answer.kind,
            "text": seen.answer.text,
            "guesses": [[[guess.text, guess.probability] for guess in choice] for choice in seen.answer.guesses],
            "certainty": seen.answer.certainty,
        },
        "picture": None if picture is None else [picture.rows, picture.columns, picture.n_before],
        "banks": [
            {
                "bank": bank.bank,
                "queries": bank.queries,
                "keys": bank.keys,
                "n_heads": bank.n_heads,
                "heads": [layer.heads for layer in bank.layers],
            }
            for bank in seen.banks
        ],
    }


def _seen(record: dict[str, Any], arrays: dict[str, Any]) -> Seen:
    picture = None if record["picture"] is None else Picture(arrays[PIXELS], *record["picture"])
    return Seen(
        record["model"],
        tuple(_bank(bank, arrays) for bank in record["banks"]),
        frozenset(map(HeadId.parse, record["removed"])),
        _answer(record["answer"]),
        picture,
        record["pair_start"],
    )


def _bank(record: dict[str, Any], arrays: dict[str, Any]) -> SeenBank:
    return SeenBank(
        record["bank"],
        tuple(record["queries"]),
        tuple(record["keys"]),
        tuple(record["n_heads"]),
        tuple(
            SeenLayer(tuple(heads), arrays[f"{record['bank']}.{layer}"]) for layer, heads in enumerate(record["heads"])
        ),
    )


def _answer(record: dict[str, Any]) -> Answer:
    guesses = tuple(tuple(Guess(*guess) for guess in choice) for choice in record["guesses"])
    return Answer(record["kind"], record["text"], guesses, tuple(record["certainty"]))
