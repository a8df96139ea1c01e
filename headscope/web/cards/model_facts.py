"""What a loaded model is, in numbers that are shown beside its grid."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

SHARE_STYLES = (
    "background:var(--hl-primary)",
    "background:var(--hl-share-2)",
    "background:var(--hl-share-3)",
)


def shares_html(shares: Mapping[str, int]) -> str:
    """A bar of three parts, and what they are."""
    parts = (("attention", shares["attention"]), ("other layers", shares["rest"]), ("embeddings", shares["embeddings"]))
    total = sum(count for _, count in parts) or 1
    bars = "".join(
        f'<div class="hl-share" style="flex:{count / total:.3f};{style}"></div>'
        for (_, count), style in zip(parts, SHARE_STYLES, strict=True)
    )
    names = "".join(
        f'<span><i style="{style}"></i>{100 * count / total:.0f} % {name}</span>'
        for (name, count), style in zip(parts, SHARE_STYLES, strict=True)
    )
    return f'<div class="hl-shares">{bars}</div><div class="hl-share-names">{names}</div>'


def facts_html(facts: dict[str, str]) -> str:
    """Names on the left, values on the right."""
    rows = "".join(
        f"<div><span>{escape(name)}</span><span>{escape(value)}</span></div>" for name, value in facts.items()
    )
    return f'<div class="hl-facts">{rows}</div>'
