"""Whether relevance adds up: what starts at the largest logits, and what arrives at inputs and at constants.

Run as `python -m benchmarks.lrp_conservation`; prints the table of docs/lrp.md. Families are the tiny random models of
the tests, in double precision, with random biases; specimens are as they ship, in single precision.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import transformers

from headscope.analysis.importance.methods.lrp import conservation
from headscope.models.example_inputs import example_inputs
from headscope.models.head_model import HeadModel
from headscope.models.loading.known_models import specimen_names
from headscope.models.loading.loader import load
from tests.families import FAMILIES

THREADS = 1
SPREAD = 0.25
"""The deviation of random weights, and of what is added to biases and norms."""


def main() -> None:
    """Print one row a model."""
    torch.set_num_threads(THREADS)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    print("| model | logits | inputs, cp | constants, cp | gap, cp | gap, attnlrp |")
    print("|---|---|---|---|---|---|")
    for head_model in subjects():
        inputs = example_inputs(head_model)
        found, attentive = (conservation(head_model, inputs, rule) for rule in ("cp", "attnlrp"))
        numbers = f"{found.start:.3f} | {found.end:.3f} | {found.biases:.3f}"
        print(f"| {head_model.name} | {numbers} | {found.gap:.0e} | {attentive.gap:.0e} |", flush=True)


def subjects() -> Iterator[HeadModel]:
    """All families, then all specimens."""
    for name, make in FAMILIES.items():
        torch.manual_seed(0)
        model = make().double()
        with torch.no_grad():
            for parameter in model.parameters():
                noise = SPREAD * torch.randn_like(parameter)
                parameter.copy_(noise if parameter.dim() > 1 else parameter + noise)
        yield HeadModel.of(model, name=name)
    for name in specimen_names():
        yield load(name, device="cpu")


if __name__ == "__main__":
    main()
