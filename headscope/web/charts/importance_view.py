"""What scores look like beside each other: cells of a grid, findings in a sentence, ranks, how methods agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape

from headscope.analysis.importance.scores import Scores
from headscope.models.heads import HeadGrid, HeadId
from headscope.web.charts.findings import share_of_the_first
from headscope.web.charts.palette import importance_colour
from headscope.web.grid.head_grid import GridStyle

Ranked = Mapping[HeadId, float]
STRONG = 0.55
"""From this shade on the text of a cell changes its colour to stay readable."""


ALONE = "ablation"
"""The method under which a score below 0 says that the loss falls without the head."""


def finding(scores: Ranked, grid: HeadGrid, method: str, title: str) -> str:
    """The most telling sentence about the scores: how unevenly they lie, and which bank has most."""
    below = sum(score < 0 for score in scores.values())
    if below:
        many, one = ("1 head scores", "it") if below == 1 else (f"{below} heads score", "one of them")
        harm = f": without {one} alone the loss would fall" if method == ALONE else ""
        return f"{many} below 0 under {title}{harm}"
    third = 100 * share_of_the_first(scores, max(1, len(scores) // 3))
    told = f"A third of the heads carry {third:.0f} % of the {title.lower()} score"
    shares = bank_shares(scores, grid)
    bank = max(shares, key=shares.__getitem__)
    return told + (f", and {100 * shares[bank]:.0f} % lie in the {bank} bank" if len(shares) > 1 else "")


def score_style(scores: Scores, grid: HeadGrid, removed: frozenset[HeadId]) -> GridStyle:
    """Heads coloured by score, each with its number and its sign; those without a score are hatched."""
    notes = {head: signed(value, scores.errors.get(head)) for head, value in scores.values.items()}
    unscored = frozenset(grid.heads) - scores.values.keys() - removed
    notes |= dict.fromkeys(unscored, "not scored")
    return replace(GridStyle.of_scores(scores.values), removed=removed, hatched=unscored, notes=notes)


def signed(value: float, error: float | None) -> str:
    """A score with a real minus sign, and its standard error where it has one."""
    told = f"{value:.3g}".replace("-", "\N{MINUS SIGN}", 1) if value < 0 else f"{value:.3g}"
    return told if error is None else f"{told} ± {error:.1g}"


def ranked_by_all(rankings: Mapping[str, Ranked]) -> dict[str, dict[HeadId, float]]:
    """The rankings of the heads that all of them score, so that they can be compared."""
    common = set.intersection(*(set(scores) for scores in rankings.values())) if rankings else set()
    return {
        title: {head: score for head, score in scores.items() if head in common} for title, scores in rankings.items()
    }


def bank_shares(scores: Ranked, grid: HeadGrid) -> dict[str, float]:
    """The share of all positive scores that each bank has."""
    total = sum(max(score, 0.0) for score in scores.values()) or 1.0
    return {
        bank.bank: sum(max(scores.get(head, 0.0), 0.0) for head in grid if head.bank == bank.bank) / total
        for bank in grid.banks
    }


def bank_captions(scores: Ranked, grid: HeadGrid) -> dict[str, str]:
    """What stands beside the title of each bank where there are several: its share, or that it has no scores."""
    scored = {head.bank for head in scores}
    shares = bank_shares(scores, grid) if len(grid.banks) > 1 else {}
    return {bank: f"{100 * share:.0f} % of all" if bank in scored else "not scored" for bank, share in shares.items()}


def layer_shares(scores: Ranked, grid: HeadGrid) -> dict[str, list[float]]:
    """For every bank the share of all positive scores that each of its layers has."""
    total = sum(max(score, 0.0) for score in scores.values()) or 1.0
    return {
        bank.bank: [
            sum(max(scores.get(head, 0.0), 0.0) for head in grid.layer(bank.bank, layer)) / total
            for layer in range(len(bank.layers))
        ]
        for bank in grid.banks
    }


def ranks_html(head: HeadId, rankings: Mapping[str, Ranked]) -> str:
    """One bar a method: how many of the heads this one stands before, and its place."""
    rows = "".join(_rank_row(head, title, scores) for title, scores in rankings.items())
    return f'<div class="hl-ranks">{rows}</div>'


def _rank_row(head: HeadId, title: str, scores: Ranked) -> str:
    place = 1 + sum(score > scores[head] for score in scores.values())
    width = 100 * (len(scores) - place + 1) / len(scores)
    return (
        f'<div><span>{escape(title)}</span><i><b style="width:{width:.1f}%"></b></i><span>{ordinal(place)}</span></div>'
    )


def ordinal(number: int) -> str:
    """A place in a ranking: 1st, 2nd, 3rd, 4th."""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def agreement_html(names: list[str], correlation: Mapping[tuple[str, str], float], theme: str) -> str:
    """A square of rank correlations."""
    head = "".join(f'<span class="hl-short">{escape(name)}</span>' for name in names)
    rows = "".join(
        f"<span>{escape(row)}</span>" + "".join(_agreement_cell(row, column, correlation, theme) for column in names)
        for row in names
    )
    return (
        f'<div class="hl-agreement" role="img" aria-label="{_spoken(correlation)}" '
        f'style="--hl-columns:{len(names)}"><span></span>{head}{rows}</div>'
    )


def _agreement_cell(row: str, column: str, correlation: Mapping[tuple[str, str], float], theme: str) -> str:
    if row == column:
        return '<span class="hl-same">–</span>'
    value = correlation[row, column] if (row, column) in correlation else correlation[column, row]
    shade = max(value, 0.0)
    low, high = ("#1b2030", "#ffffff") if theme == "light" else ("#e7e9f3", "#0f1220")
    text = f"{value:.2f}".replace("0.", ".", 1).replace("-", "\N{MINUS SIGN}")
    colours = f"background:{importance_colour(0.85 * shade, theme)};color:{high if shade > STRONG else low}"
    return f'<span class="hl-value" style="{colours}">{text}</span>'


def _spoken(correlation: Mapping[tuple[str, str], float]) -> str:
    return escape("; ".join(f"{a} and {b}: {value:.2f}" for (a, b), value in correlation.items()))
