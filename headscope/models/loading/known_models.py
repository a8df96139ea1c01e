"""What the app offers by name: the specimens that ship with it and well-known models of the hub."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SPECIMENS_FOLDER = Path(__file__).parents[2] / "specimens"


@dataclass(frozen=True, slots=True)
class Preset:
    """A well-known model of the hub, for those who have a network."""

    name: str
    title: str


PRESETS = (
    Preset("distilbert/distilbert-base-uncased-finetuned-sst-2-english", "DistilBERT, sentiment"),
    Preset("Helsinki-NLP/opus-mt-en-de", "OPUS-MT, English to German"),
    Preset("openai-community/gpt2", "GPT-2"),
    Preset("HuggingFaceTB/SmolLM2-135M", "SmolLM 2, 135 M"),
    Preset("facebook/deit-tiny-patch16-224", "DeiT tiny"),
)


def read_card(name: str) -> dict[str, Any]:
    """What a specimen is, how it was made and how good it is, as measured when it was made."""
    card: dict[str, Any] = json.loads((specimen_folder(name) / "card.json").read_text(encoding="utf-8"))
    return card


def specimen_names() -> tuple[str, ...]:
    """The specimens that are there."""
    return tuple(sorted(card.parent.name for card in SPECIMENS_FOLDER.glob("*/card.json")))


def specimen_folder(name: str) -> Path:
    """Where a specimen lies."""
    if name not in specimen_names():
        raise KeyError(f"no specimen {name!r}; there are: {', '.join(specimen_names())}")
    return SPECIMENS_FOLDER / name
