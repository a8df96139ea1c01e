"""The grid of a model."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from headscope.cli.arguments import device_arguments, loaded, model_argument
from headscope.cli.command import Answer, Command, register

if TYPE_CHECKING:
    from headscope.models.head_model import HeadModel
    from headscope.models.heads import HeadBank


@register
class Heads(Command):
    """Every bank and layer with its heads, and what of them is gone or shared."""

    name = "heads"
    about = "print the grid of heads of a model"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model."""
        model_argument(parser)
        device_arguments(parser)

    def run(self, options: Namespace) -> Answer:
        """Loads the model and shows its grid."""
        head_model = loaded(options)
        grid = head_model.grid
        banks = [
            {"bank": bank.bank, "layers": len(bank.layers), "heads": [layer.n_heads for layer in bank.layers]}
            for bank in grid.banks
        ]
        lines = [f"{head_model.name}: {len(grid)} heads ({grid.describe()}), {head_model.n_parameters:,} parameters"]
        for bank in grid.banks:
            lines += ["", f"{bank.bank}"] + [_row(head_model, bank, layer) for layer in range(len(bank.layers))]
        if head_model.removed:
            lines += ["", f"· = removed, {len(head_model.removed)} heads"]
        if head_model.missed:
            lines += ["", f"not understood, so not shown: {', '.join(head_model.missed)}"]
        return {"model": head_model.name, "heads": len(grid), "banks": banks}, "\n".join(lines)


def _row(head_model: HeadModel, bank: HeadBank, layer: int) -> str:
    kept = set(head_model.site(bank.bank, layer).kept)
    heads = bank.layers[layer]
    cells = " ".join(f"{head:>2}" if head in kept else " ·" for head in range(heads.n_heads))
    shared = f"  shared by {heads.calls} layers" if heads.calls > 1 else ""
    groups = len(set(heads.groups))
    grouped = f"  {groups} key/value heads" if groups < heads.n_heads else ""
    return f"  layer {layer:>2} {cells}{grouped}{shared}"
