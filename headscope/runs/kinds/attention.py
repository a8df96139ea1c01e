"""Where the heads look in one example, and what the model makes of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from headscope.runs.kind import Kind, Steps, Workspace, register
from headscope.runs.run import QUERY

SEEN = "seen.npz"
DRAWN = "drawn.html"


@dataclass(frozen=True)
class _ExampleQuery(Kind):
    """A question about one example of a model with some heads switched off."""

    text: str = ""
    pair: str | None = None
    image: int | None = None
    mask: str = ""

    kept = False

    @property
    def title(self) -> str:
        """Not shown in any history."""
        return f"Attention of {self.model}"

    @property
    def lane(self) -> str:
        """Somebody waits for it."""
        return QUERY

    def _seen(self, workspace: Workspace) -> Any:
        from headscope.analysis.attention.example import Example
        from headscope.analysis.attention.example_run import see

        head_model = workspace.load(self.model)
        return see(head_model, Example(self.text, self.pair, self.image), head_model.grid.parse(self.mask))


@register
@dataclass(frozen=True)
class AttentionQuery(_ExampleQuery):
    """All maps, as a file beside the answer in words."""

    key = "attention"

    def steps(self, workspace: Workspace) -> Steps:
        """One forward pass, or a generation."""
        from headscope.analysis.attention.npz import to_npz

        yield from ()
        seen = self._seen(workspace)
        (workspace.folder / SEEN).write_bytes(to_npz(seen))
        return {"file": SEEN, "answer": asdict(seen.answer)}


@register
@dataclass(frozen=True)
class DrawingQuery(_ExampleQuery):
    """The same drawn by bertviz: a document with a sandboxed frame in it."""

    view: str = "head"
    bank: str = "encoder"
    theme: str = "light"
    layer: int = 0
    head: int = 0

    key = "drawing"

    def steps(self, workspace: Workspace) -> Steps:
        """Looks again, which takes less time than handing the maps over, and draws."""
        from headscope.analysis.attention.bertviz_html import bertviz_height, bertviz_html, sandboxed
        from headscope.analysis.attention.drawing_content import Drawing

        yield from ()
        seen = self._seen(workspace)
        drawing = Drawing(self.view, self.bank, self.theme, first=(self.layer, self.head))
        height = bertviz_height(seen, drawing)
        document = sandboxed(bertviz_html(seen, drawing), f"attention of {self.model}, {self.bank}", height)
        (workspace.folder / DRAWN).write_text(document, encoding="utf-8")
        return {"file": DRAWN, "height": height}
