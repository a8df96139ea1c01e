"""The proof that a smaller model computes what the mask computes: both are run on the same inputs and compared."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedModel

from headscope.models.example_inputs import example_inputs, main_output, n_positions
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.writing import writing
from headscope.pruning.masks import HeadMask

TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 5e-2, torch.float16: 5e-3}
SMALLEST_SCALE = 1e-6
CHECK_FILE = "headscope-check.safetensors"


@dataclass(frozen=True, slots=True)
class Proof:
    """How far a smaller model is from the masked one; `equal` allows for rounding in the model's precision only.

    `max_difference` is the largest difference of any output, in units of the largest output. `mask_effect` is how much
    the mask itself changed the output of the dense model, in the same units: where that is no more than rounding,
    nothing is proved. `positions` are those that were compared, without padding.
    """

    equal: bool
    max_difference: float
    parameters: int
    parameters_dense: int
    bytes: int
    positions: int = 0
    mask_effect: float = 0.0
    tolerance: float = TOLERANCES[torch.float32]

    @property
    def is_telling(self) -> bool:
        """Whether a wrong model could have been told from the right one."""
        return self.mask_effect > self.tolerance

    @property
    def verdict(self) -> str:
        """What was found, in words."""
        if not self.equal:
            return f"DIFFERENT from the masked model, largest difference {self.max_difference:.1e}"
        if not self.is_telling:
            return f"no proof: the mask changes nothing measurable on these {self.positions} positions"
        return f"equal to the masked model, largest difference {self.max_difference:.1e}"

    def to_json(self) -> dict[str, float]:
        """As plain numbers."""
        return asdict(self)


@dataclass(frozen=True)
class Reference:
    """Inputs and what the masked model made of them."""

    inputs: dict[str, Tensor]
    expected: Tensor
    parameters_dense: int
    mask_effect: float = 0.0

    @classmethod
    def of(cls, head_model: HeadModel, mask: HeadMask) -> Reference:
        """Runs the unpruned model with the mask's gates."""
        inputs = example_inputs(head_model)
        with gated(head_model, mask.as_gates(head_model.device)):
            expected = main_output(head_model, inputs)
        dense = main_output(head_model, inputs)
        effect = _difference(dense.cpu().double(), expected.cpu().double())
        return cls(inputs, expected, head_model.n_parameters_dense, effect)

    @property
    def positions(self) -> int:
        """How many positions of texts are read, or how many rows of others."""
        return n_positions(self.inputs)

    def save(self, folder: Path) -> None:
        """Beside the exported model, so that it can be verified without the unpruned one."""
        tensors = {f"input.{name}": value.cpu().contiguous() for name, value in self.inputs.items()}
        tensors["expected"] = self.expected.cpu().contiguous()
        with writing(folder / CHECK_FILE):
            save_file(tensors, folder / CHECK_FILE, {"mask_effect": repr(self.mask_effect)})

    @classmethod
    def read(cls, folder: Path, parameters_dense: int) -> Reference:
        """What `save` wrote."""
        with safe_open(folder / CHECK_FILE, framework="pt") as file:
            effect = float((file.metadata() or {}).get("mask_effect", 0.0))
        tensors = load_file(folder / CHECK_FILE)
        inputs = {name.removeprefix("input."): value for name, value in tensors.items() if name.startswith("input.")}
        if not inputs:
            raise ValueError(f"{CHECK_FILE} holds no inputs")
        return cls(inputs, tensors["expected"], parameters_dense, effect)

    def compare(self, outputs: list[Tensor], parameters: int, size: int) -> Proof:
        """The proof for a model that gave these outputs, one for each way to run it."""
        expected = self.expected.detach().cpu().double()
        worst = max(_difference(output.cpu().double(), expected) for output in outputs)
        tolerance = TOLERANCES.get(self.expected.dtype, 1e-5)
        found = worst <= tolerance, worst, parameters, self.parameters_dense, size
        return Proof(*found, self.positions, self.mask_effect, tolerance)


def _difference(found: Tensor, expected: Tensor) -> float:
    """The largest difference in units of the largest output; infinite if anything cannot be compared."""
    if found.shape != expected.shape:
        return math.inf
    difference = float((found - expected).abs().max()) / max(SMALLEST_SCALE, float(expected.abs().max()))
    return difference if math.isfinite(difference) else math.inf


def outputs_in_every_attention(head_model: HeadModel, inputs: dict[str, Tensor]) -> list[Tensor]:
    """The model's output under each attention implementation that it supports."""
    placed = {name: value.to(head_model.device) for name, value in inputs.items()}
    outputs = []
    for implementation in attention_implementations(head_model.model):
        with attending(head_model.model, implementation):
            outputs.append(main_output(head_model, placed))
    return outputs


def attention_implementations(model: PreTrainedModel) -> tuple[str, ...]:
    """Those of eager and sdpa that the model can be set to."""
    if not model._can_set_attn_implementation():
        return (model.config._attn_implementation,)
    return ("eager", "sdpa") if model._supports_sdpa else ("eager",)


@contextmanager
def attending(model: PreTrainedModel, implementation: str) -> Iterator[None]:
    """Sets the attention implementation while the context lasts."""
    before = model.config._attn_implementation
    if implementation == before:
        yield
        return
    try:
        model.set_attn_implementation(implementation)
        yield
    finally:
        model.set_attn_implementation(before)


def folder_size(folder: Path) -> int:
    """The bytes of the weights in a folder."""
    found = [path for pattern in ("*.safetensors", "*.onnx*") for path in folder.glob(pattern)]
    return sum(path.stat().st_size for path in found if path.name != CHECK_FILE)
