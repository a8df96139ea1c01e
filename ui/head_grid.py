"""The banks of a model as grids of cells: one row a layer, one cell a head."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from models.heads import HeadBank, HeadGrid, HeadId
from ui.palette import importance_colour, shades_of

READS = {"encoder": "reads the input", "decoder": "reads what came before", "cross": "looks at the input"}


def head_grid_html(
    grid: HeadGrid, scores: Mapping[HeadId, float] | None, removed: frozenset[HeadId], theme: str
) -> str:
    """All banks side by side; cells are coloured by score where there are scores, removed heads are struck out."""
    banks = "".join(_bank(bank, shades_of(scores or {}), removed, theme) for bank in grid.banks)
    return f'<div class="hl-banks">{banks}</div>'


def legend_html(theme: str) -> str:
    """What the colours mean, and how rows and columns are to be read."""
    ramp = ",".join(importance_colour(step / 4, theme) for step in range(5))
    return (
        '<div class="hl-legend"><span>little</span>'
        f'<span class="hl-ramp" style="background:linear-gradient(90deg,{ramp})"></span><span>much</span>'
        '<span class="hl-axes">row = layer, column = head</span></div>'
    )


def _bank(bank: HeadBank, shares: Mapping[HeadId, float], removed: frozenset[HeadId], theme: str) -> str:
    widest = max(layer.n_heads for layer in bank.layers)
    header = "".join(f"<span class='hl-label'>{head}</span>" for head in range(widest))
    rows = "".join(_row(bank, layer, shares, removed, theme) for layer in range(len(bank.layers)))
    name = bank.bank.capitalize()
    return (
        f'<div class="hl-bank"><div class="hl-bank-title"><b>{name}</b><span>{READS[bank.bank]}</span></div>'
        f'<div class="hl-grid" role="grid" aria-label="{name} heads" style="--hl-columns:{widest}">'
        f'<div class="hl-row" aria-hidden="true"><span class="hl-label"></span>{header}</div>{rows}</div></div>'
    )


def _row(bank: HeadBank, layer: int, shares: Mapping[HeadId, float], removed: frozenset[HeadId], theme: str) -> str:
    heads = bank.layers[layer]
    cells = ""
    for head in range(heads.n_heads):
        address = HeadId(bank.bank, layer, head)
        new_group = head > 0 and heads.groups[head] != heads.groups[head - 1] and _is_grouped(heads.groups)
        cells += _cell(address, shares.get(address), address in removed, new_group, theme)
    return f'<div class="hl-row" role="row"><span class="hl-label">{layer}</span>{cells}</div>'


def _is_grouped(groups: tuple[int, ...]) -> bool:
    return len(set(groups)) < len(groups)


def _cell(head: HeadId, share: float | None, gone: bool, new_group: bool, theme: str) -> str:
    state = "removed" if gone else "" if share is None else f"{100 * share * share:.0f} % of the most important head"
    label = escape(f"{head}, {state}" if state else str(head))
    classes = "hl-cell" + (" hl-gone" if gone else "") + (" hl-new-group" if new_group else "")
    colour = "" if gone or share is None else f"background:{importance_colour(share, theme)}"
    return f'<span class="{classes}" role="gridcell" aria-label="{label}" title="{label}" style="{colour}"></span>'
