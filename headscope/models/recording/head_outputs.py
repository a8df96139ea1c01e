"""Reads what every head computed, just where gates act: the inputs of the output projections, as autograd tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.models.gating import install
from headscope.models.head_model import HeadModel
from headscope.models.sites import Site

Columns = Float[Tensor, "batch position column"]
PerPosition = Float[Tensor, "batch position head"]


@dataclass(frozen=True, eq=False)
class Context:
    """What one call of an attention layer hands to its output projection: the heads `site.kept` side by side."""

    site: Site
    values: Columns

    def by_head(self, columns: Columns) -> PerPosition:
        """Numbers with the shape of `values`, the columns of each head added up."""
        heads: Tensor = columns.unflatten(-1, (len(self.site.kept), self.site.width))
        return heads.sum(dim=-1)


@contextmanager
def watching_contexts(head_model: HeadModel) -> Iterator[list[Context]]:
    """A list that fills with the contexts of every pass while the context lasts, in the order of the calls.

    They are what the output projections read, after gates. Where autograd records they take part in its graph, even in
    a model whose parameters are frozen, so that the loss can be derived by them. A layer that runs several times is
    there several times, a layer without heads never. Only the current thread is watched.
    """
    install(head_model)  # the gates come first, so that they have acted already
    found: list[Context] = []
    with ExitStack() as stack:
        stack.callback(_LISTS.reset, _LISTS.set((*_LISTS.get(), found)))
        for site in head_model.sites:
            if site.kept:
                output = head_model.model.get_submodule(site.output)
                stack.callback(output.register_forward_pre_hook(partial(_record, site, found)).remove)
        yield found


_LISTS: ContextVar[tuple[list[Context], ...]] = ContextVar("watched_contexts", default=())


def _record(site: Site, found: list[Context], module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
    del module
    if not any(mine is found for mine in _LISTS.get()):  # a pass of another thread
        return None
    values = args[0]
    if torch.is_grad_enabled() and not values.requires_grad:
        values = values.detach().requires_grad_()
    found.append(Context(site, values))
    return (values, *args[1:])
