"""The banks of a model as grids of cells, one row a layer, one cell a head: as a picture, a choice or a mask editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from headscope.models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from headscope.web.charts.palette import RAMPS, ROLES, VARIABLES, importance_colour, ramp_colour, shades_of

READS = {"encoder": "reads the input", "decoder": "reads what came before", "cross": "looks at the input"}
SIZES = {"normal": (9, 400, 29), "mini": (4, 70, 11)}  # pixels: lowest cell, all rows of a bank together, highest cell
LOW = 16  # pixels, under which a stroke through a cell turns to noise

_HERE = Path(__file__)
BANKS = _HERE.with_name("banks.css")
"""What banks of heads look like, on a page and in the component, which sees no style of the page and is sent often."""

_component = st.components.v2.component(
    "head_grid",
    css="".join(path.read_text(encoding="utf-8") for path in (BANKS, _HERE.with_suffix(".css"))),
    js=_HERE.with_suffix(".js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True)
class GridStyle:
    """What the cells show.

    `shades` run from 0 to 1 on `ramp`; `letters` give a head the letter and the name of its role; heads in
    `second_role` get a dot, in `negative` a minus, in `hatched` a hatch (their value needs a run), in `off` a hollow
    cell, in `removed` one that cannot be chosen. `notes` are what a cell says, `captions` what stands beside the title
    of a bank.
    """

    shades: Mapping[HeadId, float] = field(default_factory=dict)
    letters: Mapping[HeadId, tuple[str, str]] = field(default_factory=dict)
    second_role: frozenset[HeadId] = frozenset()
    negative: frozenset[HeadId] = frozenset()
    hatched: frozenset[HeadId] = frozenset()
    off: frozenset[HeadId] = frozenset()
    removed: frozenset[HeadId] = frozenset()
    notes: Mapping[HeadId, str] = field(default_factory=dict)
    captions: Mapping[str, str] = field(default_factory=dict)
    ramp: str = "importance"
    size: str = "normal"

    def __post_init__(self) -> None:
        _check("size", {self.size}, SIZES)
        _check("ramp", {self.ramp}, RAMPS)
        _check("role", {role for _, role in self.letters.values()}, ROLES["light"])

    @classmethod
    def of_scores(cls, scores: Mapping[HeadId, float]) -> GridStyle:
        """Heads coloured by score; each cell says its share of the highest score, and a score below 0 has a minus."""
        shades = shades_of(scores)
        negative = frozenset(head for head, score in scores.items() if score < 0)
        notes = {head: f"{100 * shade * shade:.0f} % of the most important head" for head, shade in shades.items()}
        return cls(shades=shades, notes=notes | dict.fromkeys(negative, "below 0"), negative=negative)


@dataclass(frozen=True)
class MaskEdit:
    """Heads that the user chose, and the number of times Python put another choice in its place.

    `steps` are the heads that each click or box since then turned, in order: a slow page sees several at once.
    """

    mask: frozenset[HeadId] = frozenset()
    revision: int = 0
    steps: tuple[frozenset[HeadId], ...] = ()

    def replaced(self, mask: frozenset[HeadId]) -> MaskEdit:
        """Another mask, which the browser takes over: for undo, presets and loading."""
        return MaskEdit(mask, self.revision + 1)


def select_head(grid: HeadGrid, look: GridStyle, *, key: str, selected: HeadId | None) -> HeadId | None:
    """The head with the amber ring, moved by click or keyboard.

    `selected` is what the last call returned, or another head to which the ring shall move.
    """
    wanted = frozenset() if selected is None else frozenset({grid.check(selected)})
    memory = f"{key}:last"
    last: MaskEdit = st.session_state.get(memory, MaskEdit())
    given = last if wanted == last.mask else last.replaced(wanted)
    st.session_state[memory] = given = accepted(_choice(key), given, grid, look.removed)
    _component(key=component_key(key), data=payload(grid, look, given) | {"editing": False}, on_choice_change=_rerun)
    return next(iter(given.mask), None)


def edit_mask(
    grid: HeadGrid, look: GridStyle, *, key: str, edit: MaskEdit, on_change: Callable[[], None] = lambda: None
) -> MaskEdit:
    """The mask after the user's clicks, boxes and key strokes; `on_change` is called before the page runs again.

    The browser owns the mask and sends it whole. `edit` is what the last call returned, or `replaced` with a mask of
    Python's own; what the browser still sends for an older revision is ignored.
    """
    given = chosen_mask(grid, look.removed, key=key, edit=edit)
    _component(key=component_key(key), data=payload(grid, look, given) | {"editing": True}, on_choice_change=on_change)
    return given


def chosen_mask(grid: HeadGrid, removed: frozenset[HeadId], *, key: str, edit: MaskEdit) -> MaskEdit:
    """What `edit_mask` will return, for callbacks: what stands above the grid needs it before the grid is drawn."""
    return accepted(_choice(key), edit, grid, removed)


def accepted(choice: object, given: MaskEdit, grid: HeadGrid, removed: frozenset[HeadId]) -> MaskEdit:
    """What the browser chose, or what is given if the browser's choice is of another revision or of another model."""
    match choice:
        case {"revision": int(revision), "heads": list(addresses), **rest} if revision == given.revision:
            known = {str(head): head for head in grid}
            if all(isinstance(address, str) and address in known for address in addresses):
                chosen = frozenset(known[address] for address in addresses) - removed
                return MaskEdit(chosen, revision, _steps(rest.get("steps"), known))
    return given


def _steps(told: object, known: Mapping[str, HeadId]) -> tuple[frozenset[HeadId], ...]:
    """What the browser says of single clicks; nothing if any of it is not understood."""
    match told:
        case list(turned) if all(isinstance(one, list) and all(head in known for head in one) for one in turned):
            return tuple(frozenset(known[head] for head in one) for one in turned)
    return ()


def component_key(name: str) -> str:
    """A key that Streamlit takes for a component, another one for every name.

    It refuses two underscores in a row, and a model's name may hold them.
    """
    if "_" not in name:
        return name
    return f"{name.replace('_', '-')}-{sha256(name.encode()).hexdigest()[:12]}"


def payload(grid: HeadGrid, look: GridStyle, given: MaskEdit) -> dict[str, Any]:
    """Everything the browser draws, in the colours of both themes: numbers, colours, and texts it shows as text."""
    layout = _layout(grid, look)
    colours = {name: _in_both(light, VARIABLES["dark"][name]) for name, light in VARIABLES["light"].items()}
    return {
        "revision": given.revision,
        "chosen": sorted(str(head) for head in given.mask - look.removed if head in grid),
        "classes": layout["classes"],
        "variables": colours | layout["variables"],
        "banks": [_bank(bank, look) for bank in grid.banks],
        "cells": [_cell_in_both(head, look) for head in grid],
    }


def look_html(grid: HeadGrid, look: GridStyle, theme: str) -> str:
    """A picture of all banks side by side, for small multiples and reports."""
    layout = _layout(grid, look)
    style = ";".join(f"--hl-{name}:{value}" for name, value in layout["variables"].items())
    banks = "".join(_bank_html(bank, look, theme) for bank in grid.banks)
    return f'<div class="{layout["classes"]}" style="{style}">{banks}</div>'


def legend_html(theme: str) -> str:
    """What the colours mean, and how rows and columns are to be read."""
    ramp = ",".join(importance_colour(step / 4, theme) for step in range(5))
    return (
        '<div class="hl-legend"><span>little</span>'
        f'<span class="hl-ramp" style="background:linear-gradient(90deg,{ramp})"></span><span>much</span>'
        '<span class="hl-axes">row = layer, column = head</span></div>'
    )


def _check(name: str, given: set[str], allowed: Mapping[str, object]) -> None:
    for unknown in sorted(given - set(allowed)):
        raise ValueError(f"no {name} {unknown!r}; allowed: {', '.join(allowed)}")


def _choice(key: str) -> object:
    return (st.session_state.get(component_key(key)) or {}).get("choice")


def _rerun() -> None:
    """Streamlit keeps a state only if a callback of that name is given; the rerun itself does the work."""


def _layout(grid: HeadGrid, look: GridStyle) -> dict[str, Any]:
    lowest, together, highest = SIZES[look.size]
    height = max(lowest, min(highest, together // _n_rows(grid)))
    widest = max(_columns(bank) for bank in grid.banks)
    return {
        "classes": "hl-banks" + (" hl-small" if look.size == "mini" else ""),
        "variables": {
            "height": f"{height}px",
            "widest": str(widest),
            "narrowest": f"{max(12, min(20, 216 // widest))}px",
        },
    }


def _n_rows(grid: HeadGrid) -> int:
    return max(len(bank.layers) for bank in grid.banks)


def _columns(bank: HeadBank) -> int:
    return max(layer.n_heads for layer in bank.layers)


def _bank(bank: HeadBank, look: GridStyle) -> dict[str, Any]:
    """What the drawing of a bank needs besides its cells; `layers` holds for each head its place in its group."""
    name = bank.bank.capitalize()
    return {
        "name": bank.bank,
        "title": "" if look.size == "mini" else name,
        "caption": look.captions.get(bank.bank, _caption(bank)),
        "label": f"{name} heads",
        "columns": _columns(bank),
        "classes": _grid_classes(bank),
        "layers": [_group_classes(layer) for layer in bank.layers],
    }


def _caption(bank: HeadBank) -> str:
    calls = max(layer.calls for layer in bank.layers)
    return READS[bank.bank] if calls == 1 else f"one set of heads, used {calls} times"


def _grid_classes(bank: HeadBank) -> str:
    columns = _columns(bank)
    width = "" if columns <= 12 else " hl-to-16" if columns <= 16 else " hl-to-32" if columns <= 32 else " hl-over-32"
    low = " hl-low" if SIZES["normal"][1] // len(bank.layers) < LOW else ""
    return "hl-grid" + width + low + (" hl-grouped" if any(map(_is_grouped, bank.layers)) else "")


def _is_grouped(layer: LayerHeads) -> bool:
    return len(set(layer.groups)) < layer.n_heads


def _group_classes(layer: LayerHeads) -> list[str]:
    if not _is_grouped(layer):
        return [""] * layer.n_heads
    groups = (None, *layer.groups, None)
    return [
        "hl-in-group" + (" hl-group-first" if before != group else "") + (" hl-group-last" if after != group else "")
        for before, group, after in zip(groups, groups[1:], groups[2:], strict=False)
    ]


def _cell(head: HeadId, look: GridStyle, theme: str) -> dict[str, Any]:
    """How one head looks and what it says."""
    if head in look.removed:
        return {"classes": "hl-gone", "fill": "", "ink": "", "letter": "", "note": "", "gone": True}
    if head in look.off:
        return {"classes": "hl-gone", "fill": "", "ink": "", "letter": "", "note": "removed", "gone": False}
    letter, role = look.letters.get(head, ("", ""))
    note = look.notes.get(head, role)
    if head in look.hatched:
        return {
            "classes": "hl-hatched",
            "fill": "",
            "ink": "",
            "letter": "",
            "note": note or "needs a run",
            "gone": False,
        }
    fill, ink = ROLES[theme].get(role, ("", ""))
    if not role and head in look.shades:
        fill = ramp_colour(look.shades[head], look.ramp, theme)
    classes = "hl-second-role" if head in look.second_role else "hl-none" if look.letters and not fill else ""
    if head in look.negative and not role:
        classes = f"{classes} hl-negative".strip()
    return {"classes": classes, "fill": fill, "ink": ink, "letter": letter, "note": note, "gone": False}


def _cell_in_both(head: HeadId, look: GridStyle) -> dict[str, Any]:
    """A cell as the browser gets it, without what is empty."""
    light, dark = _cell(head, look, "light"), _cell(head, look, "dark")
    both = light | {name: _in_both(light[name], dark[name]) for name in ("fill", "ink")}
    return {name: value for name, value in both.items() if value}


def _in_both(light: str, dark: str) -> str:
    return light and f"light-dark({light}, {dark})"


def _bank_html(bank: HeadBank, look: GridStyle, theme: str) -> str:
    drawn = _bank(bank, look)
    rows = "".join(_row_html(bank, layer, look, theme) for layer in range(len(bank.layers)))
    title = header = ""
    if drawn["title"]:
        title = f'<div class="hl-bank-title"><b>{drawn["title"]}</b><span>{escape(drawn["caption"])}</span></div>'
        labels = "".join(f"<span class='hl-label'>{head}</span>" for head in range(drawn["columns"]))
        header = f'<div class="hl-row hl-header" aria-hidden="true"><span class="hl-label"></span>{labels}</div>'
    return (
        f'<div class="hl-bank" style="--hl-columns:{drawn["columns"]}">{title}'
        f'<div class="{drawn["classes"]}" role="grid" aria-label="{drawn["label"]}">{header}{rows}</div></div>'
    )


def _row_html(bank: HeadBank, layer: int, look: GridStyle, theme: str) -> str:
    cells = ""
    for head, group in enumerate(_group_classes(bank.layers[layer])):
        address = HeadId(bank.bank, layer, head)
        cells += _cell_html(address, _cell(address, look, theme), group)
    label = "" if look.size == "mini" else f'<span class="hl-label" role="rowheader">{layer}</span>'
    return f'<div class="hl-row" role="row">{label}{cells}</div>'


def _cell_html(head: HeadId, cell: Mapping[str, Any], group: str) -> str:
    label = escape(", ".join(filter(None, (str(head), cell["note"], "removed" if cell["gone"] else ""))))
    classes = " ".join(filter(None, ("hl-cell", group, cell["classes"])))
    named = {"background": cell["fill"], "color": cell["ink"]}
    style = ";".join(f"{name}:{value}" for name, value in named.items() if value)
    return (
        f'<span class="{classes}" role="gridcell" aria-label="{label}" title="{label}" style="{style}">'
        f"{escape(cell['letter'])}</span>"
    )
