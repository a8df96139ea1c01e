"""Where the parameters of a model lie."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.models.head_model import HeadModel


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
