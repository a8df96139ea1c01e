"""Handwritten digits: what an image shows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import affine_grid, cross_entropy, grid_sample, interpolate
from transformers import BaseImageProcessor

from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import BUDGET, Batch, EncodedRow
from headscope.tasks.classification import label_numbers
from headscope.tasks.model_kinds import check_kind, choices
from headscope.tasks.statistics import metrics, paired_tests
from headscope.tasks.task import SPLITS, Metric, Outcomes, PerExample, Task, array

DIGIT_SIZES = {"train": 997, "calibration": 200, "development": 200, "test": 400}
DIGIT_SEED = 0


def digit_split(split: str) -> tuple[Tensor, Tensor]:
    """Images [image, 1, 8, 8] with values from -1 (paper) to 1 (ink), and the digits [image] they show.

    The 1797 digits of scikit-learn, shuffled once by DIGIT_SEED and cut by DIGIT_SIZES, so no image is in two splits.
    """
    if split not in DIGIT_SIZES:
        raise ValueError(f"no split {split!r} of the digits; there are {', '.join(DIGIT_SIZES)}")
    pixels, digits = _digits()
    start = sum(list(DIGIT_SIZES.values())[: list(DIGIT_SIZES).index(split)])
    chosen = slice(start, start + DIGIT_SIZES[split])
    return torch.tensor(pixels[chosen], dtype=torch.float32) / 8 - 1, torch.tensor(digits[chosen])


def moved_at_random(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """Each image turned by up to 12 degrees, scaled by up to 12 % and shifted by up to one pixel of eight."""
    turn, grow, across, down = (torch.rand(4, len(pixels), generator=generator) * 2 - 1).unbind()
    angle, scale = turn * math.radians(12), 1 + 0.12 * grow
    cos, sin = scale * angle.cos(), scale * angle.sin()
    rows = [torch.stack([cos, -sin, across / 4], dim=-1), torch.stack([sin, cos, down / 4], dim=-1)]
    grid = affine_grid(torch.stack(rows, dim=1), list(pixels.shape), align_corners=False)
    return grid_sample(pixels + 1, grid, align_corners=False) - 1


def _top(k: int, about: str) -> Metric:
    return Metric(
        f"top-{k} accuracy",
        True,
        about,
        lambda outcomes: metrics.top_k_accuracy(outcomes["scores"], outcomes["gold"].tolist(), k),
        lambda first, second: paired_tests.mcnemar(_among_first(k, first), _among_first(k, second)),
    )


def _among_first(k: int, outcomes: Outcomes) -> NDArray[np.bool_]:
    """Whether the true class is among the k highest scores; of equal scores the lower class comes first."""
    first = np.argsort(-outcomes["scores"], axis=1, kind="stable")[:, :k]
    return np.asarray((first == outcomes["gold"][:, None]).any(axis=1))


TOP_1 = _top(1, "share of images with the right digit")
TOP_5 = _top(5, "share of images whose digit is among the five likeliest")


@dataclass(frozen=True)
class Digits(Task):
    """The digit that every image shows."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Top-1, then top-5 accuracy."""
        return TOP_1, TOP_5

    def rows(self, head_model: HeadModel, split: str, n: int | None) -> list[EncodedRow]:
        """Images of the size that the model looks at, and the number of their digit."""
        numbers = label_numbers(head_model, [str(digit) for digit in range(10)])
        rows = image_rows(head_model, split, n)
        return [replace(row, labels=numbers[str(row.labels)]) for row in rows]

    @property
    def fresh(self) -> bool:
        """Images are moved anew."""
        return True

    def training_rows(self, head_model: HeadModel, seed: int, number: int) -> list[EncodedRow]:
        """All images that are for training alone, each moved a little at random, otherwise in every round."""
        check_kind(head_model, self.title, "looker")
        images, digits = digit_split("train")
        generator = torch.Generator().manual_seed(1_000_003 * (seed + 1) + number)
        pixels = pixel_values(head_model, moved_at_random(images, generator))
        numbers = label_numbers(head_model, [str(digit) for digit in range(10)])
        return [
            EncodedRow(index, {"pixel_values": image}, numbers[str(digit)])
            for index, (image, digit) in enumerate(zip(pixels, digits.tolist(), strict=True))
        ]

    def budget(self, head_model: HeadModel) -> int:
        """Images of a batch."""
        return image_budget(head_model)

    def losses(self, head_model: HeadModel, batch: Batch) -> PerExample:
        """Cross-entropy of the digit."""
        return cross_entropy(choices(head_model, batch), batch.labels, reduction="none")

    def observe(self, head_model: HeadModel, batch: Batch) -> Mapping[str, NDArray[Any]]:
        """The score of every class, and the true one."""
        return {"scores": array(choices(head_model, batch)), "gold": array(batch.labels)}


def image_rows(head_model: HeadModel, split: str, n: int | None) -> list[EncodedRow]:
    """The first n digits of a split as the model looks at them, each with the digit it shows."""
    check_kind(head_model, "digits", "looker")
    if split not in SPLITS:
        raise ValueError(f"no split {split!r}; there are {', '.join(SPLITS)}")
    images, digits = digit_split(split)
    pixels = pixel_values(head_model, images[:n])
    return [
        EncodedRow(index, {"pixel_values": image}, digit)
        for index, (image, digit) in enumerate(zip(pixels, digits[:n].tolist(), strict=True))
    ]


def image_budget(head_model: HeadModel) -> int:
    """Images whose patches fit in a batch."""
    config = head_model.model.config
    patch = getattr(config, "patch_size", 16)
    side = patch if isinstance(patch, int) else min(patch)
    _, height, width = image_shape(head_model)
    return max(1, BUDGET // (1 + (height // side) * (width // side)))


def pixel_values(head_model: HeadModel, images: Tensor) -> Tensor:
    """Images [image, 1, height, width] from -1 to 1 as the model takes them.

    As they are, if that is its shape; by the model's own processor, if it has one; else stretched, and grey.
    """
    shape = image_shape(head_model)
    if tuple(images.shape[1:]) == shape:
        return images
    if isinstance(head_model.tokenizer, BaseImageProcessor):
        bytes_ = ((images + 1) * 127.5).round().to(torch.uint8).expand(-1, 3, -1, -1)
        processed: Tensor = head_model.tokenizer(images=list(bytes_), return_tensors="pt").pixel_values
        return processed
    channels, *size = shape
    return interpolate(images, size=size, mode="bilinear").expand(-1, channels, -1, -1)


def image_shape(head_model: HeadModel) -> tuple[int, int, int]:
    """Channels, height and width of the images that a model looks at."""
    config = head_model.model.config
    size = config.image_size
    height, width = size if isinstance(size, list | tuple) else (size, size)
    return config.num_channels, height, width


@cache
def _digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Shuffled pixels [image, 1, 8, 8] from 0 to 16, and digits; arrays, for a cached tensor may not enter autograd."""
    from sklearn.datasets import load_digits  # it takes a second, and only images need it

    digits = load_digits()
    order = np.random.default_rng(DIGIT_SEED).permutation(len(digits.target))
    return digits.images[order][:, None], digits.target[order].astype(np.int64)
