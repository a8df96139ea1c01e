"""The model that a command works on."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from commands.progress import show_progress

if TYPE_CHECKING:
    from models.head_model import HeadModel


def model_argument(parser: ArgumentParser) -> None:
    """Which model."""
    parser.add_argument("model", help="a specimen, a folder or a hub id")


def device_arguments(parser: ArgumentParser) -> None:
    """Where and how precisely it computes."""
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    parser.add_argument("--dtype", default="auto", help="auto, float32, float16 or bfloat16")


def loaded(options: Namespace) -> HeadModel:
    """The model of these two groups of arguments."""
    from pruning.fiak.saving import load_model

    head_model = load_model(options.model, options.device, options.dtype, show_progress)
    show_progress("")
    return head_model
