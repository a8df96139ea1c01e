"""Roles in pictures that are made of HTML: the legend, sentences, tables of bars, typical examples."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from headscope.analysis.roles.role_importance import RoleImportance
from headscope.models.heads import HeadGrid, HeadId
from headscope.web.charts.palette import ROLES, VARIABLES
from headscope.web.grid.head_grid import GridStyle
from headscope.web.runs.role_facts import NONE, CaseRow, RoleFacts

PASSES = "✓"
MINUS = re.compile(r"(?<= )-(?=\d)")
ROW = 21
"""Height of a token in a typical example, in pixels."""

WIDTH = 110
"""Width of the lines between tokens, in pixels."""

Line = Sequence[float]


@dataclass(frozen=True)
class Bar:
    """A row of a table of bars: shares from 0 to 1, the second drawn as a tick.

    A `good` bar has the colour of its role; `note` is what the chip says when pointed at.
    """

    name: str
    beside: str
    value: float
    tick: float
    chip: str
    good: bool
    role: str = "syntactic"
    note: str = ""


def role_style(facts: RoleFacts, removed: frozenset[HeadId]) -> GridStyle:
    """The grid with the letter of the clearest role of each head, a dot where there are more."""
    held = {head: facts.held(head) for head in facts.heads}
    letters = {head: (str(facts.about[own[0]]["letter"]), own[0]) for head, own in held.items() if own}
    notes = {head: ", ".join(own) or "no role found" for head, own in held.items()}
    several = frozenset(head for head, own in held.items() if len(own) > 1)
    return GridStyle(
        letters=letters or {HeadId("encoder", -1, -1): ("", "broad")},  # so that heads without a role look like that
        second_role=several,
        removed=removed,
        notes=notes,
        captions=_captions(facts),
    )


def _captions(facts: RoleFacts) -> dict[str, str]:
    """What the heads of each bank mostly do."""
    captions = {}
    for bank in dict.fromkeys(head.bank for head in facts.heads):
        counts = facts.counts(head for head in facts.heads if head.bank == bank)
        counts.pop(NONE, None)
        captions[bank] = f"mostly {counts.most_common(1)[0][0]}" if counts else "no role found"
    return captions


def grid_finding(facts: RoleFacts) -> str:
    """How many heads have a role, as a sentence."""
    n = len(facts.heads)
    named = n - facts.counts(facts.heads)[NONE]
    if not named:
        return f"None of the {n} heads passes the test of a role"
    several = sum(len(facts.held(head)) > 1 for head in facts.heads)
    more = f", {several} of them more than one" if several > 1 else ", one of them two" if several else ""
    return f"{named} of the {n} heads {'has a role' if named == 1 else 'have a role'} we can name{more}"


def role_legend_html(facts: RoleFacts, theme: str) -> str:
    """Every role that was looked for, with how many heads have it as their clearest."""
    counts = facts.counts(facts.heads)
    roles = "".join(_legend_entry(facts, key, counts[key], theme) for key in facts.found)
    none = f'<span><i class="hl-tile hl-none"></i>none <b>{counts[NONE]}</b></span>'
    return f'<div class="hl-roles">{roles}{none}</div>'


def _legend_entry(facts: RoleFacts, key: str, count: int, theme: str) -> str:
    about = facts.about[key]
    asked = escape(f"{about['title']}: {about['asks']} ({about['reference']})")
    return (
        f'<span title="{asked}" class="{"" if count else "hl-zero"}">{tile_html(facts, key, theme)}'
        f"{escape(key)} <b>{count}</b></span>"
    )


def tile_html(facts: RoleFacts, key: str, theme: str) -> str:
    """The letter of a role on its fill."""
    fill, ink = ROLES[theme].get(key, (VARIABLES[theme]["panel"], VARIABLES[theme]["text"]))
    return f'<i class="hl-tile" style="background:{fill};color:{ink}">{escape(str(facts.about[key]["letter"]))}</i>'


def sentence_html(facts: RoleFacts, head: HeadId, theme: str) -> str:
    """What a head is for, a clause with its evidence for each role; else what it does most nearly."""
    told = facts.result["told"].get(str(head))
    if told is None:
        return '<p class="hl-clause">This head is no longer in the model.</p>'
    if not told["clauses"]:
        nearest = f"<span>Nearest: {escape(told['nearest'])}</span>" if told["nearest"] else ""
        return f'<p class="hl-clause"><i class="hl-tile hl-none"></i><b>No role found.</b>{nearest}</p>'
    return "".join(_clause(facts, key, clause, theme) for key, clause in told["clauses"].items())


def _clause(facts: RoleFacts, key: str, clause: str, theme: str) -> str:
    phrase, _, evidence = MINUS.sub("\N{MINUS SIGN}", clause).partition(": ")
    return (
        f'<p class="hl-clause">{tile_html(facts, key, theme)}'
        f"<b>{escape(phrase[:1].upper() + phrase[1:])}.</b><span>{escape(evidence)}</span></p>"
    )


def case_bars(rows: Iterable[CaseRow]) -> list[Bar]:
    """Rows of a table: who does it best, and whether that is enough."""
    return [Bar(row.name, short(row.head), row.score, row.baseline, _chip(row), row.verdict, row.role) for row in rows]


def _chip(row: CaseRow) -> str:
    if row.asked:
        return f"{PASSES} passes" if row.verdict else f"asks {row.asked}"
    points = f"{round(100 * (row.score - row.baseline)):+d} pt".replace("-", "\N{MINUS SIGN}")
    return f"{PASSES} {points}" if row.verdict else points


def importance_bars(facts: RoleFacts, found: Mapping[str, RoleImportance]) -> list[Bar]:
    """Rows of a table: the share of all importance that the heads of each role have, and their share of the heads."""
    return [
        Bar(facts.title(key), f"{one.n}", one.share, one.heads_share, _correlation(one.partial),
            one.share > one.heads_share, key, f"without holding confidence fixed: {_correlation(one.correlation)}")
        for key, one in found.items()
    ]  # fmt: skip


def _correlation(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def bars_html(bars: Sequence[Bar], titles: Sequence[str], theme: str) -> str:
    """A table: name, what stands beside it, a bar with a tick, both numbers, a chip; `titles` are those of the five."""
    axis = '<span class="hl-axis"><i>0</i><i>50</i><i>100 %</i></span>'
    name, beside, *others = (f"<span>{escape(title)}</span>" for title in titles)
    rows = "".join(_bar(bar, theme) for bar in bars)
    return f'<div class="hl-bars"><div class="hl-bars-head">{name}{beside}{axis}{"".join(others)}</div>{rows}</div>'


def _bar(bar: Bar, theme: str) -> str:
    fill = ROLES[theme].get(bar.role, (VARIABLES[theme]["primary"],))[0] if bar.good else VARIABLES[theme]["gone"]
    return (
        f'<div><span title="{escape(bar.name)}">{escape(bar.name)}</span><span>{escape(bar.beside)}</span>'
        f'<span class="hl-bar"><b style="width:{100 * bar.value:.1f}%;background:{fill}"></b>'
        f'<i style="left:{100 * bar.tick:.1f}%"></i></span>'
        f"<span><b>{100 * bar.value:.0f} %</b></span><span>{100 * bar.tick:.0f} %</span>"
        f'<span class="hl-verdict{" hl-good" if bar.chip.startswith(PASSES) else ""}" title="{escape(bar.note)}">'
        f"{escape(bar.chip)}</span></div>"
    )


def short(head: HeadId) -> str:
    """An address that fits a column."""
    return f"{head.bank[:3]} {head.layer}.{head.head}"


def named(head: HeadId) -> str:
    """An address as a title."""
    return f"{head.bank.capitalize()} {head.layer}.{head.head}"


def example_html(example: Mapping[str, Any], role: str, theme: str) -> str:
    """Tokens that look on the left, tokens that are looked at on the right, attention as lines between them."""
    queries, keys = example["queries"], example["keys"]
    from_, to = ({int(line[place]) for line in example["looks"]} for place in (0, 1))
    lines = base64.b64encode(_lines_svg(example, role, theme).encode()).decode()
    return (
        f'<div class="hl-example" style="--hl-row:{ROW}px">{_tokens(queries, from_)}'
        f'<img alt="{_spoken(example)}" width="{WIDTH}" height="{ROW * max(len(queries), len(keys))}" '
        f'src="data:image/svg+xml;base64,{lines}">{_tokens(keys, to)}</div>'
    )


def _tokens(tokens: Sequence[str], marked: set[int]) -> str:
    return (
        "<span>"
        + "".join(
            f'<i class="{"hl-looks" if place in marked else ""}">{escape(token) or "(empty)"}</i>'
            for place, token in enumerate(tokens)
        )
        + "</span>"
    )


def _lines_svg(example: Mapping[str, Any], role: str, theme: str) -> str:
    """Strong lines for the looks that show the role, faint ones for other attention; no text, so nothing to escape."""
    strong = ROLES[theme].get(role, (VARIABLES[theme]["primary"],))[0]
    height = ROW * max(len(example["queries"]), len(example["keys"]))
    drawn = [_line(line, VARIABLES[theme]["gone"], 0.75, 1.2) for line in example["others"]]
    drawn += [_line(line, strong, 1.0, 2.4) for line in example["looks"]]
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}">{"".join(drawn)}</svg>'


def _line(line: Line, colour: str, most: float, width: float) -> str:
    query, key, weight = line
    left, right = ROW * (query + 0.5), ROW * (key + 0.5)
    return (
        f'<path d="M2 {left} C {WIDTH / 2} {left} {WIDTH / 2} {right} {WIDTH - 2} {right}" fill="none" '
        f'stroke="{colour}" stroke-width="{width}" stroke-opacity="{most * max(weight, 0.25):.2f}"/>'
    )


def _spoken(example: Mapping[str, Any]) -> str:
    """The looks that show the role, for those who cannot see them."""
    pairs = [
        f"{example['queries'][int(query)]} looks at {example['keys'][int(key)]}: {weight:.2f}"
        for query, key, weight in example["looks"]
    ]
    return escape("; ".join(pairs) or "attention is spread over all tokens")


def cost_html(value: float, error: float, widest: float) -> str:
    """A scale of what removing a head does to the loss: the interval and the mean, against no change."""
    half = 1.96 * error
    reach = max(widest, abs(value) + half) or 1.0

    def place(number: float) -> float:
        return 50 + 48 * number / reach

    low, high = place(value - half), place(value + half)
    spoken = f"{value:.4g}, 95 % interval {value - half:.4g} to {value + half:.4g}"
    return (
        f'<div class="hl-cost" role="img" aria-label="{spoken}"><u></u>'
        f'<i style="left:{low:.1f}%;width:{max(high - low, 0.5):.1f}%"></i>'
        f'<b style="left:{place(value):.1f}%"></b><span style="left:50%">no change</span></div>'
    )


def cost_title(value: float, error: float) -> str:
    """What removing a head does to the loss, as a sentence."""
    if abs(value) < 1.96 * error:
        return "Removing it alone makes no difference that can be told"
    return f"Removing it alone {'raises' if value > 0 else 'lowers'} the loss by {abs(value):.3g}"


def banks_of(grid: HeadGrid) -> list[str]:
    """The names of the banks as they are shown."""
    return [bank.bank.capitalize() for bank in grid.banks]
