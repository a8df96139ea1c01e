"""The smaller model as ONNX, checked by onnxruntime."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from headscope.models.example_inputs import main_output, output_tensor
from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted
from headscope.models.text import shown
from headscope.pruning.export.proof import Reference, attending, attention_implementations
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads

MODEL_FILE = "model.onnx"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class _OneOutput(nn.Module):
    """A model that takes its inputs by position and gives one tensor, as ONNX wants it."""

    def __init__(self, head_model: HeadModel, names: list[str]) -> None:
        super().__init__()
        self.model = head_model.model
        self.names = names
        self.options = accepted(head_model.model, use_cache=False, return_dict=True)

    def forward(self, *inputs: Tensor) -> Tensor:
        return output_tensor(self.model(**dict(zip(self.names, inputs, strict=True)), **self.options))


def write(head_model: HeadModel, mask: HeadMask, folder: Path, reference: Reference) -> dict[str, str]:
    """Exports the smaller model for any batch and length, or for the example's own where that cannot be."""
    _libraries()
    smaller = without_heads(head_model, mask)
    if smaller.tokenizer is not None:
        smaller.tokenizer.save_pretrained(folder)
    try:
        _export(smaller, reference.inputs, folder / MODEL_FILE, any_size=True)
        if _works_for_another_size(smaller, reference.inputs, folder / MODEL_FILE):
            return {"sizes": "any batch and length"}
    except Exception as error:  # the exporter raises errors of many kinds; the fixed size is tried before giving up
        logging.getLogger(__name__).info("no export for any size: %s", error)
    try:
        _export(smaller, reference.inputs, folder / MODEL_FILE, any_size=False)
    except Exception as error:
        reason = _ANSI.sub("", str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise ValueError(f"{type(head_model.model).__name__} cannot be exported to ONNX here: {reason}") from error
    sizes = ", ".join(f"{name} {list(value.shape)}" for name, value in reference.inputs.items())
    return {"sizes": f"only {sizes}"}


def run(folder: Path, reference: Reference) -> tuple[list[Any], int]:
    """What onnxruntime makes of the reference inputs, and how many numbers the file holds."""
    path = folder / MODEL_FILE
    onnx, _ = _libraries()
    try:
        numbers = sum(int(torch.tensor(list(item.dims)).prod()) for item in onnx.load(str(path)).graph.initializer)
        return [_run(path, reference.inputs)], numbers
    except Exception as error:  # those of two libraries, without a common kind
        raise ValueError(f"{path} is no ONNX model that runs here: {shown(str(error), 200)}") from error


def snippet(head_model: HeadModel) -> str:
    """How to run it without Headscope, transformers or torch."""
    del head_model
    return f'import onnxruntime\n\nmodel = onnxruntime.InferenceSession(f"{{folder}}/{MODEL_FILE}")'


def _export(smaller: HeadModel, inputs: dict[str, Tensor], path: Path, any_size: bool) -> None:
    names = list(inputs)
    sizes = tuple(
        {0: Dim.AUTO} if value.is_floating_point() else {0: Dim.AUTO, 1: Dim.AUTO} for value in inputs.values()
    )
    eager = attention_implementations(smaller.model)[0]  # fused attention with a position bias cannot be exported
    with _quiet(), attending(smaller.model, eager):
        torch.onnx.export(
            _OneOutput(smaller, names).eval(),
            tuple(inputs.values()),
            path,
            input_names=names,
            output_names=["output"],
            dynamic_shapes=(sizes,) if any_size else None,
            dynamo=True,
            external_data=False,
            verbose=False,
        )


def _works_for_another_size(smaller: HeadModel, inputs: dict[str, Tensor], path: Path) -> bool:
    """Whether one example of a shorter length gives what the smaller model gives."""
    shorter = {
        name: value[:1] if value.is_floating_point() else value[:1, : value.shape[1] - 2]
        for name, value in inputs.items()
    }
    expected = main_output(smaller, shorter)
    found = _run(path, shorter)
    return found.shape == expected.shape and torch.allclose(found, expected.cpu(), rtol=1e-4, atol=1e-4)


def _libraries() -> tuple[ModuleType, ModuleType]:
    """The libraries onnx and onnxruntime, which this format alone needs; a ValueError where they are missing."""
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        raise ValueError("the format onnx needs more packages: pip install 'headscope[onnx]'") from error
    return onnx, onnxruntime


def _run(path: Path, inputs: dict[str, Tensor]) -> Tensor:
    _, onnxruntime = _libraries()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    wanted = {item.name for item in session.get_inputs()}
    feeds = {name: value.cpu().numpy() for name, value in inputs.items() if name in wanted}
    (output,) = session.run(None, feeds)
    return torch.from_numpy(output)


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter reports its own inner tries as warnings; what counts here is the comparison afterwards."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
