"""A model without some of its heads."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from headscope.cli.arguments import SPELT, device_arguments, loaded, mask_of, model_argument
from headscope.cli.command import Answer, Command, register


@register
class Prune(Command):
    """Writes the smaller model, compared with the mask, into a new folder."""

    name = "prune"
    about = "write a model without some of its heads"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, its heads to remove, and where the rest goes."""
        model_argument(parser)
        device_arguments(parser)
        parser.add_argument("--heads", required=True, help=SPELT)
        parser.add_argument("--out", required=True, help="a new folder")
        formats = "headscope, stock, standalone or onnx"
        parser.add_argument("--format", default="headscope", help=f"{formats} (default: headscope)")

    def run(self, options: Namespace) -> Answer:
        """Exports and proves."""
        from headscope.pruning.export.exporter import export, read_record

        head_model = loaded(options)
        mask = mask_of(options.heads, head_model)
        if not mask:
            raise ValueError("no heads to remove; give addresses such as encoder.0.3")
        proof = export(head_model, mask, options.out, options.format)
        saved = 1 - proof.parameters / proof.parameters_dense
        text = (
            f"{len(mask)} of {len(head_model.grid)} heads removed, {100 * saved:.1f} % of the parameters\n"
            f"written to {options.out}, {proof.verdict}; load it with:\n\n"
            f"folder = {str(options.out)!r}\n{read_record(options.out)['snippet']}"
        )
        return proof.to_json(), text
