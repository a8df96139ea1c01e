"""The training of gates, with the weights of the model or without: stopped at any step and taken up to the same end."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headscope.models.devices import in_parts, mixed_precision
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.subject import heads_of
from headscope.pruning.training.fine_tuning import LONGEST_GRADIENT, TRAINED_ON, WEIGHT_DECAY, trainable_copy
from headscope.pruning.training.gate_scheme import Clock, Numbers, Scalar, Scheme
from headscope.pruning.training.settings import Settings
from headscope.pruning.training.training_batches import Rounds
from headscope.tasks.batches.batching import Batch, collated
from headscope.tasks.batches.masked_losses import picked
from headscope.tasks.batches.memory_splitting import width
from headscope.tasks.task import Task

TRAINED, FROZEN = "trained", "frozen"


@dataclass(frozen=True)
class Plan:
    """What is learned, and how.

    `banks` names those whose heads have gates, `encoder` for one; empty: all. `weights` are trained along with the
    gates, where only some banks have gates those of their stacks alone, or are frozen. `training` says how, and
    `finetune` for how many steps the smaller model is trained in the end.
    """

    scheme: Scheme
    training: Settings = field(default_factory=lambda: Settings(steps=400, every=100))
    finetune: int = 0
    banks: str = ""
    weights: str = TRAINED

    def __post_init__(self) -> None:
        if self.weights not in (TRAINED, FROZEN):
            raise ValueError(f"weights {self.weights!r}; allowed: {TRAINED}, {FROZEN}")
        if self.finetune < 0:
            raise ValueError(f"{self.finetune} steps of fine-tuning; 0 or more are allowed")


class Learner:
    """The numbers behind the gates, and how they learn; it knows nothing of models.

    `draw` gives gates, and `learn` takes the gradient of the loss with respect to them. All chance in a step depends on
    the seed and the number of the step.
    """

    def __init__(self, scheme: Scheme, n_heads: int, steps: int, seed: int, device: torch.device) -> None:
        if not n_heads:
            raise ValueError("no heads to learn gates for; at least 1 is needed")
        scheme.check(n_heads, steps)
        self.scheme = scheme
        self.n_heads, self.steps, self.seed, self.step = n_heads, steps, seed, 0
        self.dtype = torch.float32 if device.type == "mps" else torch.float64
        self.device = device
        self.numbers = scheme.start(self._uniform("start")).requires_grad_()
        self.price = torch.tensor(scheme.first_price(), dtype=self.dtype, device=device)
        self.optimizer = torch.optim.Adam([self.numbers], lr=scheme.gate_rate)

    @property
    def clock(self) -> Clock:
        """The step that comes next; after the last one, that one."""
        return Clock(min(self.step, self.steps - 1), self.steps)

    def draw(self) -> Numbers:
        """The gates of the next step, differentiable."""
        return self.scheme.draw(self.numbers, self._uniform(self.step), self.clock)

    def learn(self, drawn: Numbers, gradient: Numbers) -> Scalar:
        """One step along the gradient of the loss by the gates and of the price; returns what is paid."""
        paid = self.scheme.charged(self.price, self.numbers, self.clock) * self.scheme.n_open(self.numbers)
        (found,) = torch.autograd.grad((drawn * gradient.to(drawn)).sum() + paid, self.numbers)
        self.numbers.grad = clipped(found, self.scheme.clip)
        self.optimizer.step()
        with torch.no_grad():
            self.price = self.scheme.next_price(self.price, self.numbers, self.clock)
        self.step += 1
        return paid.detach()

    def n_open(self) -> float:
        """The expected number of open gates."""
        with torch.no_grad():
            return float(self.scheme.n_open(self.numbers))

    def shown(self) -> list[float]:
        """Every gate without chance, for display."""
        with torch.no_grad():
            return self.scheme.shown(self.numbers, self.clock).tolist()

    def scores(self) -> list[float]:
        """What each head is worth."""
        return self.scheme.scores(self.numbers.detach()).tolist()

    def kept(self) -> Bool[Tensor, " head"]:
        """The heads that would stay if this were the end."""
        return self.scheme.kept(self.numbers.detach())

    def state(self) -> dict[str, Any]:
        """Everything that the rest depends on."""
        numbers = {"numbers": self.numbers.detach(), "price": self.price, "step": self.step}
        return numbers | {"optimizer": self.optimizer.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        """Goes back to where `state` was taken."""
        with torch.no_grad():
            self.numbers.copy_(state["numbers"])
        self.price, self.step = state["price"].to(self.device), state["step"]
        self.optimizer.load_state_dict(state["optimizer"])

    def _uniform(self, at: object) -> Numbers:
        """Uniform numbers that depend on the seed and the step alone; drawn on the CPU, so alike on every device."""
        generator = torch.Generator().manual_seed(seed_of(self.seed, "gates", at))
        return torch.rand(self.n_heads, generator=generator, dtype=self.dtype).to(self.device)


class GateTraining:
    """The first part of a run: gates on a copy of a model, trained on the training examples of a task."""

    def __init__(self, head_model: HeadModel, task: Task, plan: Plan) -> None:
        self.head_model = trainable_copy(head_model)
        self.task, self.plan = task, plan
        self.heads = heads_of(head_model.grid, head_model.removed, plan.banks)
        device = self.head_model.device
        self.learner = Learner(plan.scheme, len(self.heads), plan.training.steps, plan.training.seed, device)
        positions = [head_model.grid.positions[head] for head in self.heads]
        self.columns = torch.tensor(positions, device=device)
        self.parameters = trained_weights(self.head_model, plan)
        self.optimizer = _adamw(self.parameters) if self.parameters else None
        self.rounds = Rounds(self.head_model, task, plan.training)
        self.paid = self.losses = torch.zeros((), dtype=self.learner.dtype, device=device)  # since they were last told

    @property
    def step(self) -> int:
        """How many are done."""
        return self.learner.step

    def train_step(self) -> None:
        """One step of gates and weights; nothing is read back from the device."""
        training, model = self.plan.training, self.head_model.model
        batch = collated(self.rounds.at(self.step), self.head_model, TRAINED_ON)
        drawn = self.learner.draw()
        gates = self._whole(drawn.detach()).requires_grad_()
        for parameter in [gates, *self.parameters]:
            parameter.grad = None
        with torch.random.fork_rng(devices=[model.device] if model.device.type == "cuda" else []):
            torch.manual_seed(seed_of(training.seed, "model", self.step))
            model.train(self.optimizer is not None)
            parts = in_parts(model, len(batch), width(batch), lambda rows: self._learned(batch, rows, gates))
            model.eval()
        self.losses = self.losses + torch.stack(parts).sum()
        if self.optimizer is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = training.rate_at(self.step)
            torch.nn.utils.clip_grad_norm_(self.parameters, LONGEST_GRADIENT)
            self.optimizer.step()
        found = torch.zeros_like(gates) if gates.grad is None else gates.grad
        self.paid = self.paid + self.learner.learn(drawn, found[self.columns])

    def gates(self) -> Float[Tensor, " head"]:
        """1 for the heads that would stay if this were the end and for those without a gate, else 0."""
        return self._whole(self.learner.kept().to(self.learner.dtype))

    def mask(self) -> HeadMask:
        """The heads that would go if this were the end."""
        gone = (~self.learner.kept()).tolist()
        return HeadMask(self.head_model.grid, frozenset(_where(self.heads, gone)))

    def outlay(self, n: int) -> tuple[float, float]:
        """The mean loss and the mean penalty of the last n steps, those since this was last asked."""
        found = float(self.losses) / n, float(self.paid) / n
        self.losses = self.paid = torch.zeros_like(self.losses)
        return found

    def state(self) -> dict[str, Any]:
        """Everything that the rest depends on, as `torch.save` writes and `torch.load` safely reads it."""
        return {
            "learner": self.learner.state(),
            "losses": self.losses,
            "paid": self.paid,
            "model": self.head_model.model.state_dict() if self.optimizer is not None else None,
            "optimizer": None if self.optimizer is None else self.optimizer.state_dict(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Goes back to where `state` was taken."""
        self.learner.load(state["learner"])
        self.losses, self.paid = (state[name].to(self.losses.device) for name in ("losses", "paid"))
        if self.optimizer is not None:
            self.head_model.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])

    def _learned(self, batch: Batch, rows: slice, gates: Tensor) -> Tensor:
        """Adds the gradients of some rows of a batch, and returns their share of its mean loss."""
        part = batch if rows == slice(0, len(batch)) else picked(batch, torch.arange(len(batch))[rows])
        with mixed_precision(self.head_model.device), gated(self.head_model, gates):
            loss = self.task.losses(self.head_model, part).sum() / len(batch)
        leaves = [gates, *self.parameters]
        found = torch.autograd.grad(loss, leaves, allow_unused=True)
        own = [None if one is None else one.clone() for one in found]  # two weights may share one gradient
        for leaf, gradient in zip(leaves, own, strict=True):  # from here on nothing needs more memory
            if leaf.grad is None:
                leaf.grad = gradient
            elif gradient is not None:
                leaf.grad.add_(gradient)
        return loss.detach()

    def _whole(self, own: Float[Tensor, " own"]) -> Float[Tensor, " head"]:
        """These gates among those of all heads, which are open."""
        return own.new_ones(len(self.head_model.grid)).index_copy(0, self.columns, own)


def trained_weights(head_model: HeadModel, plan: Plan) -> list[nn.Parameter]:
    """The weights that are trained: all, or those of the stacks whose heads have gates and of nothing else, or none.

    The others are marked so that no gradient is computed for them. A weight that several parts share is left alone
    unless all of them are trained.
    """
    model = head_model.model
    banks = {head.bank for head in heads_of(head_model.grid, frozenset(), plan.banks)}
    stacks = tuple(_stack(site.output) for site in head_model.sites if site.bank in banks)
    whole = banks == {bank.bank for bank in head_model.grid.banks}
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    for parameter, known_as in names.items():
        own = whole or all(name.startswith(stacks) for name in known_as)
        parameter.requires_grad_(parameter.requires_grad and own and plan.weights == TRAINED)
    return [parameter for parameter in names if parameter.requires_grad]


def clipped(gradient: Numbers, longest: float) -> Numbers:
    """The gradient, shortened to `longest`; nothing at all where it is not finite."""
    norm = gradient.norm()
    short = gradient * (longest / norm.clamp(min=longest))
    return torch.where(norm.isfinite(), short, torch.zeros_like(short))


def seed_of(*parts: object) -> int:
    """A number that depends on these parts alone."""
    return random.Random("/".join(map(str, parts))).getrandbits(63)


def _stack(path: str) -> str:
    """The module that holds the layers to which a path leads: `model.encoder.` of `model.encoder.layers.0.out`."""
    parts = path.split(".")
    first_number = next((place for place, part in enumerate(parts) if part.isdigit()), len(parts))
    return "".join(f"{part}." for part in parts[: first_number - 1])


def _adamw(parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    decayed = [one for one in parameters if one.dim() > 1]
    plain = [one for one in parameters if one.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.0)


def _where(heads: Sequence[HeadId], flags: Sequence[bool]) -> list[HeadId]:
    return [head for head, flag in zip(heads, flags, strict=True) if flag]
