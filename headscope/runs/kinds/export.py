"""Writes a smaller model, proves it equal to its mask, and packs it for the download."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.run import SHORT

FORMATS = {
    "headscope": "smaller, for Headscope",
    "standalone": "smaller, for plain transformers",
    "stock": "old shape with heads zeroed, for plain transformers",
    "onnx": "ONNX",
}
PACKED = "model.zip"


@register
@dataclass(frozen=True)
class ExportRun(Kind):
    """A folder in one of the formats, as one file."""

    mask: str = ""
    form: str = "headscope"

    key = "export"
    command_name = "prune"

    @property
    def title(self) -> str:
        """The model, what is gone, and the format."""
        return f"Export of {self.model} without {len(self.mask.split())} heads, {self.form}"

    @property
    def lane(self) -> str:
        """Somebody waits for it, though not by the second."""
        return SHORT

    @property
    def arguments(self) -> dict[str, Any]:
        """As the command calls them, with a folder to write to."""
        return {"heads": self.mask, "format": self.form, "out": "smaller"}

    def steps(self, workspace: Workspace) -> Steps:
        """Exports and packs."""
        import shutil

        from headscope.pruning.export.exporter import export, read_record
        from headscope.pruning.masks import HeadMask

        folder = workspace.folder / "model"
        shutil.rmtree(folder, ignore_errors=True)
        head_model = workspace.load(self.model)
        mask = HeadMask.of(head_model.grid, self.mask)
        if not mask:
            raise ValueError("no head is switched off; there is nothing to remove")
        yield Step(0, 2)
        proof = export(head_model, mask, folder, self.form)
        snippet = read_record(folder)["snippet"]
        yield Step(1, 2)
        shutil.make_archive(str((workspace.folder / PACKED).with_suffix("")), "zip", folder)
        shutil.rmtree(folder)
        packed = (workspace.folder / PACKED).stat().st_size
        return {"file": PACKED, "bytes": packed, "snippet": snippet, "proof": proof.to_json()}
