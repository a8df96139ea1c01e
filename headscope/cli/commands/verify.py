"""An exported model against its mask."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from headscope.cli.command import Answer, Command, register


@register
class Verify(Command):
    """Compares once more what `prune` compared when it wrote the folder; a difference makes the exit code 1."""

    name = "verify"
    about = "compare an exported model with its mask again"

    def arguments(self, parser: ArgumentParser) -> None:
        """A folder."""
        parser.add_argument("folder", help="what `headscope prune` wrote")

    def run(self, options: Namespace) -> Answer:
        """Loads both models and compares their outputs."""
        from headscope.pruning.export.exporter import verify

        proof = verify(options.folder)
        text = (
            f"{proof.verdict}; the mask itself changes {proof.mask_effect:.1e} on {proof.positions} positions; "
            f"{proof.parameters:,} of {proof.parameters_dense:,} parameters, {proof.bytes:,} bytes"
        )
        return proof.to_json(), text
