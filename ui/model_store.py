"""The models that are in memory, shared by all tabs of this server."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict

from models.head_model import HeadModel
from models.loading import Progress, load

MOST = 4
_models: OrderedDict[str, HeadModel] = OrderedDict()
_loading: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
_lock = threading.Lock()


def loaded(name: str, progress: Progress) -> HeadModel:
    """The model of that name, read only if no tab has used it lately; tabs with other models do not wait."""
    with _lock:
        own_lock = _loading[name]
    with own_lock:
        head_model = _models.get(name) or load(name, progress=progress)
        with _lock:
            _models[name] = head_model
            _models.move_to_end(name)
            while len(_models) > MOST:
                _models.popitem(last=False)
        return head_model
