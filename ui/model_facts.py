"""What a loaded model is, in numbers that are shown beside its grid."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from models.head_model import HeadModel

SHARE_STYLES = (
    "background:var(--hl-primary)",
    "background:var(--hl-share-2)",
    "background:var(--hl-share-3)",
)


@dataclass(frozen=True, slots=True)
class ParameterShares:
    """Where the parameters of a model lie, as counts."""

    attention: int
    embeddings: int
    rest: int

    @classmethod
    def of(cls, head_model: HeadModel) -> ParameterShares:
        """Counts each parameter once: the projections of the heads, the embeddings, and all others."""
        model = head_model.model
        attention: dict[int, int] = {}
        for site in head_model.sites:
            for path in (site.core, site.output):
                attention |= {id(p): p.numel() for p in model.get_submodule(path).parameters()}
        tables = [module for module in model.modules() if type(module).__name__.endswith("Embedding")]
        embeddings = {id(p): p.numel() for module in tables for p in module.parameters() if id(p) not in attention}
        used, embedded = sum(attention.values()), sum(embeddings.values())
        return cls(used, embedded, head_model.n_parameters - used - embedded)


def shares_html(shares: ParameterShares) -> str:
    """A bar of three parts, and what they are."""
    parts = (("attention", shares.attention), ("other layers", shares.rest), ("embeddings", shares.embeddings))
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
