"""The models that are in memory, shared by all tabs of this server."""

from __future__ import annotations

import threading
from collections import OrderedDict

from models.head_model import HeadModel
from models.loading import Progress, load

MOST = 4
_models: OrderedDict[str, HeadModel] = OrderedDict()
_lock = threading.Lock()


def loaded(name: str, progress: Progress) -> HeadModel:
    """The model of that name, read only if no tab has used it lately."""
    with _lock:
        if name not in _models:
            _models[name] = load(name, progress=progress)
        _models.move_to_end(name)
        while len(_models) > MOST:
            _models.popitem(last=False)
        return _models[name]
