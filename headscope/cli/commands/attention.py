"""Where the heads look in one example, and what the model makes of it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.cli.arguments import SPELT, device_arguments, loaded, mask_of, model_argument
from headscope.cli.command import Answer, Command, register

if TYPE_CHECKING:
    from headscope.analysis.attention import attention_record
    from headscope.models.heads import HeadId

CELL = 6
"""Characters of a column in a table; longer tokens are cut."""


@register
class Attention(Command):
    """The answer of the model, whole and masked, and on request the map of one head or a picture of many.

    With a mask, maps are those of the masked model.
    """

    name = "attention"
    about = "show what a model says about one example, and where a head looks"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, an example, and what to show of it."""
        model_argument(parser)
        parser.add_argument("text", nargs="?", default="", help="a sentence")
        device_arguments(parser)
        parser.add_argument("--pair", default=None, metavar="TEXT", help="a second text, for models that read pairs")
        parser.add_argument("--image", type=int, default=None, metavar="N", help="the N-th digit of the split test")
        parser.add_argument("--mask", default="", help=f"heads to switch off: {SPELT}")
        parser.add_argument("--head", default="", help="also print the map of this head, such as encoder.1.6")
        picture = "write an interactive picture: the layer of --head, or every head of the first bank"
        parser.add_argument("--html", default="", metavar="FILE", help=picture)

    def run(self, options: Namespace) -> Answer:
        """One forward pass, or a generation, whole; and one masked."""
        from headscope.analysis.attention.example import Example
        from headscope.analysis.attention.example_run import see
        from headscope.models.heads import HeadId

        example = Example(options.text, options.pair, options.image)
        head_model = loaded(options)
        grid = head_model.grid
        head = grid.check(HeadId.parse(options.head)) if options.head else None
        mask = mask_of(options.mask, head_model)
        whole = see(head_model, example)
        masked = see(head_model, example, mask.removed) if mask else None
        shown = masked or whole
        weights = _map(shown, head) if head else None
        if options.html:
            _draw(shown, head, Path(options.html))
        record = {
            "model": head_model.name,
            "mask": str(mask).split(),
            "whole": asdict(whole.answer),
            "masked": asdict(masked.answer) if masked else None,
            "map": weights,
        }
        lines = _spoken("whole", whole.answer)
        lines += _spoken(f"without {mask}", masked.answer) if masked else []
        lines += ["", *_table(weights)] if weights else []
        lines += ["", f"picture written to {options.html}"] if options.html else []
        return record, "\n".join(lines)


def _spoken(title: str, answer: attention_record.Answer) -> list[str]:
    """The answer in words, and the likeliest choices of every place that has some."""
    from headscope.tasks.model_kinds import KINDS

    if not answer.text and not answer.guesses:
        nothing = "there is no gap to fill" if answer.kind == "filler" else f"the model {KINDS[answer.kind]}"
        return [f"{title}: no answer, for {nothing}"]
    likeliest = [", ".join(f"{one.text} {100 * one.probability:.1f} %" for one in place) for place in answer.guesses]
    return [f"{title}: {answer.text.strip()}", *(f"  {line}" for line in likeliest)]


def _map(shown: attention_record.Seen, head: HeadId) -> dict[str, Any]:
    """The map of one head: a row for every token that looks, a column for every token that is looked at."""
    bank = shown.bank(head.bank)
    weights = bank.map_of(head.layer, head.head)
    if weights is None:
        raise ValueError(f"head {head} is no longer in {shown.model}, so it has no map; choose one that is")
    return {"head": str(head), "queries": bank.queries, "keys": bank.keys, "weights": weights.tolist()}


def _table(found: dict[str, Any]) -> list[str]:
    """The map in per cent, a dot for less than one half."""
    queries, keys = ([token[: CELL - 1] for token in found[side]] for side in ("queries", "keys"))
    cells = [[f"{100 * weight:.0f}" if weight >= 0.005 else "·" for weight in row] for row in found["weights"]]
    rows = zip(["", *queries], [keys, *cells], strict=True)
    title = f"{found['head']}: the token of a row looks at those of the columns, in per cent"
    return [title, *(f"{name:<{CELL}}" + "".join(f"{cell:>{CELL}}" for cell in row) for name, row in rows)]


def _draw(shown: attention_record.Seen, head: HeadId | None, path: Path) -> None:
    """Writes the picture that begins with the head; without one, all heads of the first bank side by side."""
    from headscope.analysis.attention.bertviz_html import bertviz_html
    from headscope.analysis.attention.drawing_content import Drawing

    if head is None:
        drawing = Drawing("model", shown.banks[0].bank)
    else:
        drawing = Drawing("head", head.bank, first=(head.layer, head.head))
    document = bertviz_html(shown, drawing)
    begun = not path.exists()
    try:
        path.write_text(document, encoding="utf-8")
    except OSError:
        if begun:
            path.unlink(missing_ok=True)  # an empty or half a picture is worse than none
        raise
