"""The shipped specimens: they load, they are good, and their heads matter."""

from __future__ import annotations

import json
import random
from functools import cache
from itertools import islice

import pytest
import torch

from headscope.models.head_model import HeadModel
from headscope.specimens.measures import headline
from headscope.specimens.recipe import recipe_of
from headscope.specimens.shipped import SHIPPED, load
from headscope.tasks.vision import digit_split

GRIDS = {
    "translator": "encoder 6 x 8, decoder 2 x 8, cross 2 x 8",
    "reader": "encoder 6 x 8",
    "writer": "decoder 6 x 8",
    "all-attention-writer": "decoder 6 x 8",
    "looker": "encoder 6 x 6",
}
NAMES = list(GRIDS)
SAMPLE = {"translator": 40, "reader": 200, "writer": 40, "all-attention-writer": 40, "looker": 200}
FILES = {"config.json", "model.safetensors", "card.json", "README.md", "history.json"}


@cache
def specimen(name: str) -> HeadModel:
    torch.set_num_threads(1)
    return load(name)


def worse_by(name: str, whole: float, pruned: float) -> float:
    """How much of the metric is gone; more perplexity is less of it."""
    return 1 - whole / pruned if name in ("writer", "all-attention-writer") else 1 - pruned / whole


@pytest.mark.parametrize("name", NAMES)
def test_discovery_finds_every_head_of_a_shipped_specimen(name: str) -> None:
    assert specimen(name).grid.describe() == GRIDS[name]
    assert specimen(name).missed == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_specimen_is_complete_and_small(name: str) -> None:
    files = {path.name: path for path in (SHIPPED / name).iterdir()}
    assert files.keys() >= FILES
    assert sum(path.stat().st_size for path in files.values()) < 6_000_000


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_kept_in_half_precision_and_used_in_single(name: str) -> None:
    header = (SHIPPED / name / "model.safetensors").read_bytes()
    length = int.from_bytes(header[:8], "little")
    tensors = json.loads(header[8 : 8 + length])
    assert {entry["dtype"] for key, entry in tensors.items() if key != "__metadata__"} == {"F16"}
    assert specimen(name).model.dtype == torch.float32


@pytest.mark.parametrize("name", NAMES)
def test_the_card_tells_what_the_weights_do(name: str) -> None:
    """A quick look at the first test examples lies near the card's value for all of them."""
    card = json.loads((SHIPPED / name / "card.json").read_text())
    told, seen = card["metrics"][0], headline(specimen(name), (), "test", SAMPLE[name])
    assert told["low"] <= told["value"] <= told["high"]
    assert seen == pytest.approx(told["value"], rel=0.15)
    assert card["heads"] == GRIDS[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_random_half_of_the_heads_costs_at_least_a_tenth(name: str) -> None:
    head_model = specimen(name)
    heads = list(head_model.grid)
    whole = headline(head_model, (), "test", SAMPLE[name])
    halves = [
        headline(head_model, random.Random(seed).sample(heads, len(heads) // 2), "test", SAMPLE[name])
        for seed in range(2)
    ]
    assert worse_by(name, whole, sum(halves) / 2) >= 0.1


@pytest.mark.parametrize("name", NAMES)
def test_the_history_has_scores_and_a_curve_at_six_points_or_more(name: str) -> None:
    history = json.loads((SHIPPED / name / "history.json").read_text())
    points = history["points"]
    assert len(points) >= 6
    assert [point["step"] for point in points] == sorted(point["step"] for point in points)
    assert history["heads"] == [str(head) for head in specimen(name).grid]
    for point in points:
        assert len(point["scores"]) == len(history["heads"])
        assert min(point["scores"]) >= 0
        assert len(point["curve"]) == len(history["removed"]) == 10


def test_no_training_image_of_the_looker_is_judged() -> None:
    training = recipe_of("looker").training_round(None, 1, 0)
    seen = {image.numpy().tobytes() for image in digit_split("train")[0]}
    assert sum(len(batch["labels"]) for batch in training) <= len(seen)
    for split in ("calibration", "development", "test"):
        assert not seen & {image.numpy().tobytes() for image in digit_split(split)[0]}


@pytest.mark.parametrize("name", ["translator", "reader", "writer"])
def test_a_training_round_depends_on_seed_and_number_only(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = recipe_of(name)
    monkeypatch.setattr(
        "headscope.specimens.story_recipe.ROUND" if name == "writer" else f"headscope.specimens.recipes.{name}.ROUND",
        400,
    )
    processor = specimen(name).tokenizer
    first, again, other = (islice(recipe.training_round(processor, 1, number), 3) for number in (0, 0, 1))
    for one, two, three in zip(first, again, other, strict=True):
        assert torch.equal(one["input_ids"], two["input_ids"])
        assert one["input_ids"].shape != three["input_ids"].shape or not torch.equal(
            one["input_ids"], three["input_ids"]
        )
