"""A specimen in a few lines: its grid in small, what it does, and how well."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from headscope.models.heads import HeadId
from headscope.models.loading.known_models import read_card, specimen_folder
from headscope.web.charts.palette import importance_colour, shades_of
from headscope.web.page.shell import chips

PURPOSES = {
    "translator": "English to German",
    "reader": "Does A imply B?",
    "writer": "Next word",
    "all-attention-writer": "Next word, no feed-forward",
    "looker": "Handwritten digits",
}
SHARES = {"accuracy", "top-1 accuracy"}


def specimen_html(name: str, theme: str) -> str:
    """The card, from the numbers that were measured when the specimen was made."""
    card = read_card(name)
    heads = json.loads((specimen_folder(name) / "history.json").read_text(encoding="utf-8"))
    facts = chips(f"{len(heads['heads'])} heads", f"{card['parameters'] / 1e6:.1f} M")
    return (
        f'{_mini_grids(heads, theme)}<div class="hl-specimen">{escape(name)}</div>'
        f'<div class="hl-source">{escape(PURPOSES.get(name, ""))}</div>'
        f'<div class="hl-specimen-chips">{facts}</div>'
        f'<div class="hl-specimen-metric">{escape(headline(card["metrics"][0]))}</div>'
    )


def headline(metric: dict[str, Any]) -> str:
    """The headline metric in words, shares as percentages."""
    if metric["metric"] in SHARES:
        return f"{metric['metric']} {100 * metric['value']:.1f}\N{NO-BREAK SPACE}%"
    return f"{metric['metric']} {metric['value']:.1f}"


def _mini_grids(history: dict[str, Any], theme: str) -> str:
    """The last scores of the training history, one tiny grid a bank."""
    scores = dict(zip(history["heads"], history["points"][-1]["scores"], strict=True))
    shades = shades_of(scores)
    banks: dict[str, dict[int, str]] = {}
    for address in scores:
        head = HeadId.parse(address)
        colour = importance_colour(shades[address], theme)
        rows = banks.setdefault(head.bank, {})
        rows[head.layer] = rows.get(head.layer, "") + f'<i style="background:{colour}"></i>'
    grids = "".join(
        f'<span class="hl-mini">{"".join(f"<span>{cells}</span>" for cells in rows.values())}</span>'
        for rows in banks.values()
    )
    return f'<div class="hl-minis" aria-hidden="true">{grids}</div>'
