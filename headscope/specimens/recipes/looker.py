"""A vision transformer that reads the handwritten digits of scikit-learn."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedModel, ViTConfig, ViTForImageClassification, ViTImageProcessorPil

from headscope.specimens.recipe import Batch, Recipe, Schedule, register
from headscope.tasks.vision import digit_split, moved_at_random

BATCH = 64


@register
class Looker(Recipe):
    """ViT, 6 layers of 6 heads, on 8 x 8 images in patches of 2 x 2."""

    name = "looker"
    title = "ViT, 6 x 6 heads, handwritten digits"
    data = (
        "The 1,797 images of 8 x 8 pixels that ship with scikit-learn, in a fixed random order: 997 to train on "
        "(shifted, turned and scaled a little), 200 each for calibration and development, 400 for the test."
    )
    architecture = ViTForImageClassification
    processor_class = ViTImageProcessorPil
    schedule = Schedule(steps=3500, peak=1.5e-3, warm_up=200)

    def processor(self) -> ViTImageProcessorPil:
        """Pixels of 0 to 16 become numbers of -1 to 1."""
        return ViTImageProcessorPil(
            do_resize=False, size={"height": 8, "width": 8}, rescale_factor=1 / 16, image_mean=[0.5], image_std=[0.5]
        )

    def config(self, processor: Any) -> ViTConfig:
        """A class token and sixteen patches."""
        del processor
        return ViTConfig(
            hidden_size=72,
            num_hidden_layers=6,
            num_attention_heads=6,
            intermediate_size=144,
            image_size=8,
            patch_size=2,
            num_channels=1,
            id2label={digit: str(digit) for digit in range(10)},
            label2id={str(digit): digit for digit in range(10)},
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )

    def training_round(self, processor: Any, seed: int, number: int) -> list[Batch]:
        """All training images once, each moved at random."""
        del processor
        pixels, labels = digit_split("train")
        generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
        order = torch.randperm(len(labels), generator=generator)
        moved = moved_at_random(pixels[order], generator)
        pairs = zip(moved.split(BATCH), labels[order].split(BATCH), strict=True)
        return [{"pixel_values": images, "labels": classes} for images, classes in pairs if len(classes) == BATCH]

    def losses(self, model: PreTrainedModel, batch: Batch) -> tuple[Tensor, Tensor]:
        """Cross-entropy of the digit."""
        logits = model(pixel_values=batch["pixel_values"]).logits
        sums = functional.cross_entropy(logits, batch["labels"], reduction="none")
        return sums, torch.ones_like(sums)
