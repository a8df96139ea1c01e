"""A short training of a smaller model, which can be stopped at any step and taken up again, to the same weights."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from pickle import PickleError
from typing import Any

import torch
from torch import Tensor

from headscope.models.devices import in_parts, mixed_precision
from headscope.models.gating import uninstall
from headscope.models.head_model import HeadModel
from headscope.models.shrink import Constant
from headscope.pruning.training.settings import LAST, Settings
from headscope.pruning.training.training_batches import Rounds
from headscope.tasks.batches.batching import Batch, collated
from headscope.tasks.batches.masked_losses import picked
from headscope.tasks.batches.memory_splitting import width
from headscope.tasks.task import Task

TRAINED_ON, JUDGED_ON = "training", "development"
WEIGHT_DECAY = 0.01
LONGEST_GRADIENT = 1.0
TOLD_EVERY = 5
"""Steps between two looks at the loss; each look waits for the device."""

COUNTS = ("step", "best_step", "best_value", "judged_in_vain")


@dataclass(frozen=True)
class Progress:
    """After a step: the mean loss since it was last told, and the metric on development where it was judged."""

    step: int
    rate: float
    loss: float | None = None
    value: float | None = None

    @property
    def tells(self) -> bool:
        """Whether there is a number in it."""
        return self.loss is not None or self.value is not None


class FineTuning:
    """The training of a copy of a model on the training examples of a task: fresh ones, or those of calibration.

    Everything that happens at a step depends on the seed and the number of the step, and on `state`: order of the data,
    dropout, learning rate. So `load(state())` goes on as if nothing had happened, whatever else the process computes.
    Development examples only decide when to stop and which weights to keep, where these are not to be the last; test
    examples are never looked at.
    """

    def __init__(self, head_model: HeadModel, task: Task, settings: Settings) -> None:
        self.head_model = trainable_copy(head_model)
        self.task = task
        self.settings = settings
        self.parameters = [one for one in self.head_model.model.parameters() if one.requires_grad]
        decayed = [one for one in self.parameters if one.dim() > 1]
        plain = [one for one in self.parameters if one.dim() <= 1]
        groups = [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": plain, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=0.0)
        self.rounds = Rounds(self.head_model, task, settings)
        self.history: list[Progress] = []
        self.step = self.best_step = self.judged_in_vain = 0
        self.best_value = math.nan
        self.best_weights: dict[str, Tensor] = {}
        self._losses = torch.zeros((), device=self.head_model.device)  # of the steps since the loss was told

    def steps(self) -> Iterator[Progress]:
        """Judges the model as it is, then trains step by step until nothing gets better or all steps are done."""
        if not self.history:
            yield self._noted(Progress(0, 0.0, value=self._judged()))
        while not self.ended:
            self.train_step()
            yield self._noted(self._told())

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do."""
        return self.step >= self.settings.steps or self.judged_in_vain >= self.settings.patience

    def best(self) -> HeadModel:
        """A copy of the model with the weights that are kept: those judged best, or the last."""
        model = copy.deepcopy(self.head_model.model)
        model.load_state_dict(self.best_weights)
        return replace(self.head_model, model=model.eval())

    def train_step(self) -> None:
        """One step of AdamW; nothing is read back from the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate_at(self.step)
        batch = collated(self.rounds.at(self.step), self.head_model, TRAINED_ON)
        self.optimizer.zero_grad(set_to_none=True)
        with torch.random.fork_rng([self.head_model.device] if self.head_model.device.type == "cuda" else []):
            torch.manual_seed(random.Random(f"{self.settings.seed}/{self.step}").getrandbits(63))
            parts = in_parts(self.head_model.model, len(batch), width(batch), lambda rows: self._learned(batch, rows))
        torch.nn.utils.clip_grad_norm_(self.parameters, LONGEST_GRADIENT)
        self.optimizer.step()
        self._losses += torch.stack(parts).sum()
        self.step += 1

    def state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on, as `torch.save` writes and `torch.load` safely reads it."""
        return {
            "settings": asdict(self.settings),
            "counts": {name: getattr(self, name) for name in COUNTS},
            "history": [asdict(progress) for progress in self.history],
            "losses": self._losses,
            "model": self.head_model.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "best_weights": self.best_weights,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Goes back to where `state` was taken."""
        if state["settings"] != asdict(self.settings):
            raise ValueError(f"a checkpoint of {state['settings']}; this run has {asdict(self.settings)}")
        for name, value in state["counts"].items():
            setattr(self, name, value)
        self.history = [Progress(**progress) for progress in state["history"]]
        self.head_model.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.best_weights = state["best_weights"]
        self._losses = state["losses"].to(self.head_model.device)

    def _learned(self, batch: Batch, rows: slice) -> Tensor:
        """Adds the gradients of some rows of a batch, and returns their share of its mean loss."""
        part = picked(batch, torch.arange(len(batch))[rows]) if rows != slice(0, len(batch)) else batch
        self.head_model.model.train()
        try:
            with mixed_precision(self.head_model.device):
                loss = self.task.losses(self.head_model, part).sum() / len(batch)
            found = torch.autograd.grad(loss, self.parameters, allow_unused=True)
        finally:
            self.head_model.model.eval()
        own = [None if one is None else one.clone() for one in found]  # two weights may share one gradient
        for parameter, gradient in zip(self.parameters, own, strict=True):  # from here on nothing needs more memory
            if parameter.grad is None:
                parameter.grad = gradient
            elif gradient is not None:
                parameter.grad.add_(gradient)
        return loss.detach()

    def _told(self) -> Progress:
        """What there is to tell after a step."""
        last = self.step >= self.settings.steps
        rate, judged = self.settings.rate_at(self.step - 1), last or self.step % self.settings.every == 0
        loss = self._mean_loss() if judged or self.step % TOLD_EVERY == 0 else None
        return Progress(self.step, rate, loss, self._judged() if judged else None)

    def _mean_loss(self) -> float:
        """The mean loss of the steps since this was last asked; a ValueError where training has run away."""
        since = next((one.step for one in reversed(self.history) if one.loss is not None), 0)
        loss = float(self._losses) / (self.step - since)
        if not math.isfinite(loss):
            raise ValueError(f"the loss is {loss} after {self.step} steps; try a lower rate than {self.settings.rate}")
        self._losses = torch.zeros_like(self._losses)
        return loss

    def _judged(self) -> float:
        """The headline metric on development; weights better than all before are kept, or all that come later."""
        outcomes = self.task.outcomes(self.head_model, JUDGED_ON, self.settings.n_judged)
        value = self.task.metrics[0].estimate(outcomes).value
        better = value > self.best_value if self.task.higher_is_better else value < self.best_value
        if better or not self.best_weights or self.settings.keep_step == LAST:
            weights = self.head_model.model.state_dict()
            self.best_weights = {name: tensor.detach().cpu().clone() for name, tensor in weights.items()}
            self.best_value, self.best_step, self.judged_in_vain = value, self.step, 0
        else:
            self.judged_in_vain += 1
        return value

    def _noted(self, progress: Progress) -> Progress:
        if progress.tells:
            self.history.append(progress)
        return progress


def trainable_copy(head_model: HeadModel) -> HeadModel:
    """A copy in single precision at least: half precision loses small steps."""
    model = copy.deepcopy(head_model.model)
    uninstall(model)
    if torch.finfo(model.dtype).bits < 32:
        model = model.float()
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError(f"{head_model.name} has no weight that may be trained; all of them are frozen")
    return replace(head_model, model=model.eval())


def save_state(state: dict[str, Any], path: Path) -> None:
    """Writes a checkpoint so that a kill leaves either the old or the new one."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:  # one of Python's own says it if the disk is full
        torch.save(state, file)
    partial.replace(path)


def kept_state(path: Path, say: Callable[[str], None]) -> dict[str, Any] | None:
    """What `save_state` wrote; None where there is nothing, or nothing that can be read, which is said."""
    if not path.exists():
        return None
    try:
        return read_state(path)
    except (OSError, EOFError, RuntimeError, ValueError, PickleError, KeyError, AttributeError):
        path.replace(path.with_suffix(".broken"))
        say("its checkpoint is broken, so the training begins again")
        return None


def read_state(path: Path) -> dict[str, Any]:
    """What `save_state` wrote, on the CPU."""
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state


MARK = "_is_hf_initialized"
"""What transformers leaves on modules and weights that it has filled, so that they are not filled again."""


def reinitialised(head_model: HeadModel, seed: int) -> HeadModel:
    """A copy whose weights are drawn anew as its architecture draws them, by the seed alone.

    Differs from the specimens' own beginnings where a recipe sets something by hand, such as positions.
    """
    model: Any = copy.deepcopy(head_model.model)
    uninstall(model)
    for holder in (*model.modules(), *model.parameters(), *model.buffers()):
        if hasattr(holder, MARK):
            delattr(holder, MARK)
    with torch.random.fork_rng(devices=[model.device] if model.device.type == "cuda" else []):
        torch.manual_seed(seed)
        model.initialize_weights()
    model.tie_weights()
    for module in model.modules():
        if isinstance(module, Constant) and module.bias is not None:  # all that is left of a layer without heads
            torch.nn.init.zeros_(module.bias)
    return replace(head_model, model=model.eval())
