"""Pages whose runs are computed at once and in this process, for tests without a server and its workers."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.execution.worker import Worker
from headscope.runs.run import SERVED
from headscope.runs.store import Store
from headscope.web.page.site_map import MODEL
from headscope.web.runs import requests

ROOT = Path(__file__).parents[2]
MODELS = ModelCache()


def work_off(store: Store) -> None:
    """Does every run that waits, as desk and batch workers would."""
    workers = [Worker(Store(store.folder), role) for role in SERVED]
    for worker in workers:
        worker.models = MODELS
    while any(worker.work_once() for worker in workers):
        pass


def opened(patch: pytest.MonkeyPatch, folder: Path, page: str, **link: str) -> AppTest:
    """A page by its link, on a store; what it asks for is there when it is drawn."""
    patch.setenv("HEADSCOPE_HOME", str(folder))
    for place in ("headscope.runs.client.supervise", "headscope.web.page.shell.supervise"):
        patch.setattr(place, work_off)
    requests.store_of.clear()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    if page != f"pages/{Path(MODEL.file).name}":
        app.query_params["model"] = link.get("model", "looker")
        app.run()
        app.switch_page(page)
    for name, value in link.items():
        app.query_params[name] = value
    return app.run()


def html_of(app: AppTest) -> str:
    """What the page draws by itself; it has thrown nothing."""
    assert [one.value for one in app.exception] == []
    return "".join(str(one.proto.body) for one in app.main.get("html"))
