"""Trains a specimen: a run that can be stopped at any step and taken up again, to the same weights bit by bit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headscope.specimens.recipe import Recipe, Schedule

FIRST_SNAPSHOT = 125


@dataclass(frozen=True)
class Progress:
    """One step that was done."""

    step: int
    steps: int
    loss: float
    rate: float
    tokens: int
    seconds: float


class Training:
    """A run of one recipe. All of its state is in `state()`, so `load(state())` goes on as if nothing had happened.

    Differs from a plain loop over an epoch: the data come in numbered rounds, each made from the seed and its number,
    so that a resumed run makes only the round it was in. `steps` may change when a run is resumed; as long as the
    rate was still at its peak, the run is then the one that had the new length from the start.
    """

    def __init__(self, recipe: Recipe, seed: int, steps: int | None = None, processor: Any = None) -> None:
        torch.manual_seed(seed)
        self.recipe = recipe
        self.seed = seed
        self.schedule: Schedule = replace(recipe.schedule, steps=steps or recipe.schedule.steps)
        self.processor = processor or recipe.processor()
        self.model = recipe.model(self.processor).train()
        decayed = [parameter for parameter in self.model.parameters() if parameter.dim() > 1]
        plain = [parameter for parameter in self.model.parameters() if parameter.dim() <= 1]
        groups = [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), fused=True)
        self.step = self.tokens = self.round = self.place = 0
        self.seconds = 0.0

    def steps(self) -> Iterator[Progress]:
        """Trains to the end of the schedule, one step at a time."""
        batches = self._round()
        while self.step < self.schedule.steps:
            if self.place == len(batches):
                self.round, self.place = self.round + 1, 0
                batches = self._round()
            yield self._step(batches[self.place])

    def _round(self) -> list[dict[str, Tensor]]:
        return self.recipe.training_round(self.processor, self.seed, self.round)

    def _step(self, batch: dict[str, Tensor]) -> Progress:
        start = time.perf_counter()
        rate = self.schedule.rate(self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        sums, counts = self.recipe.losses(self.model, batch)
        loss = sums.sum() / counts.sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.place += 1
        self.tokens += int(counts.sum())
        self.seconds += time.perf_counter() - start
        return Progress(self.step, self.schedule.steps, loss.item(), rate, self.tokens, self.seconds)

    def state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on."""
        return {
            "counts": {name: getattr(self, name) for name in ("step", "tokens", "round", "place", "seconds", "seed")},
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Goes back to where `state` was taken."""
        if state["counts"]["seed"] != self.seed:
            raise ValueError(f"a checkpoint of seed {state['counts']['seed']}; this run has seed {self.seed}")
        for name, value in state["counts"].items():
            setattr(self, name, value)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])


def save(state: dict[str, Any], path: Path) -> None:
    """Writes a checkpoint so that a kill leaves either the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.replace(path)


def is_snapshot_step(step: int) -> bool:
    """True at 125, 250, 500, 1000 … steps: training dynamics are fast at first and slow later."""
    rounds, rest = divmod(step, FIRST_SNAPSHOT)
    return rest == 0 and rounds > 0 and rounds & (rounds - 1) == 0
