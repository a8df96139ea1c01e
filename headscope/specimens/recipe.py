"""What a specimen declares: its shape, its data and its schedule. The trainer knows nothing else about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from headscope.models.head_model import HeadModel

Batch = dict[str, Tensor]

RECIPES: dict[str, Recipe] = {}


@dataclass(frozen=True)
class Schedule:
    """A learning rate that warms up, holds its peak for a share of the run and then falls to zero in a line."""

    steps: int
    peak: float
    warm_up: int = 300
    hold: float = 0.6

    def rate(self, step: int) -> float:
        """The learning rate of one step, counted from 0."""
        rising = min(1.0, (step + 1) / self.warm_up)
        falling = min(1.0, (self.steps - step) / max(1.0, self.steps * (1 - self.hold)))
        return self.peak * min(rising, falling)


class Recipe(ABC):
    """One specimen. Everything it returns depends on its arguments alone, seeds included."""

    name: ClassVar[str]
    title: ClassVar[str]
    data: ClassVar[str]
    schedule: ClassVar[Schedule]
    architecture: ClassVar[type[PreTrainedModel]]
    processor_class: ClassVar[Any] = PreTrainedTokenizerFast

    @abstractmethod
    def processor(self) -> Any:
        """The tokenizer or image processor, made anew."""

    @abstractmethod
    def config(self, processor: Any) -> PreTrainedConfig:
        """The shape of the model."""

    def model(self, processor: Any) -> PreTrainedModel:
        """The untrained model; its weights depend on torch's global seed. Eager attention is fastest at this size."""
        config = self.config(processor)
        config._attn_implementation = "eager"
        return self.architecture(config)

    @abstractmethod
    def training_round(self, processor: Any, seed: int, number: int) -> list[Batch]:
        """The batches of one round of training, in their order."""

    @abstractmethod
    def losses(self, model: PreTrainedModel, batch: Batch) -> tuple[Tensor, Tensor]:
        """For each example the summed negative log-likelihood in nats, and how many predictions it sums."""

    def facts(self, head_model: HeadModel) -> dict[str, Any]:
        """Further numbers for the model card."""
        del head_model
        return {}


def register(recipe: type[Recipe]) -> type[Recipe]:
    """Makes a specimen known under its name."""
    RECIPES[recipe.name] = recipe()
    return recipe


def recipe_of(name: str) -> Recipe:
    """The recipe of that name."""
    import headscope.specimens.recipes  # noqa: F401  (recipes register themselves and import this file)

    if name not in RECIPES:
        raise KeyError(f"no specimen {name!r}; known: {', '.join(sorted(RECIPES))}")
    return RECIPES[name]
