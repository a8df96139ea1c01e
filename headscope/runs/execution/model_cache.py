"""The models that a worker has in memory, the last used first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headscope.models.loading.fingerprint import fingerprint

if TYPE_CHECKING:
    from headscope.models.head_model import HeadModel

LARGE = 3
"""Models that stay whatever their size."""

ROOM = 256 * 2**20
"""Bytes of weights up to which more of them stay: a class that looks at several small ones need not load them anew."""

SMALL = 16
"""Models that stay at most."""


class ModelCache:
    """Loads a model when it is first asked for, and again when its files have changed.

    What is kept beside a model goes with it.
    """

    def __init__(self) -> None:
        self._models: OrderedDict[tuple[str, str], HeadModel] = OrderedDict()
        self._beside: dict[tuple[str, str], dict[Any, Any]] = {}

    def get(self, name: str, progress: Callable[[str], None] = lambda _: None) -> HeadModel:
        """The model behind a specimen's name, a folder or a hub id."""
        from headscope.pruning.fiak.model_folder import load_model  # torch takes seconds to import; pages never need it

        key = name, fingerprint(name)
        if key not in self._models:
            while len(self._models) >= (LARGE if self._n_bytes() > ROOM else SMALL):
                oldest, _ = self._models.popitem(last=False)
                self._beside.pop(oldest, None)
            self._models[key] = load_model(name, progress=progress)
        self._models.move_to_end(key)
        return self._models[key]

    def beside(self, name: str) -> dict[Any, Any]:
        """What is kept beside the model of that name, which is in the cache."""
        return self._beside.setdefault((name, fingerprint(name)), {})

    def _n_bytes(self) -> int:
        """Of all weights together."""
        return sum(weight.nbytes for one in self._models.values() for weight in one.model.parameters())
