"""What every test shares: one thread, fixed seeds, no network, and a browser for those that need one."""

import gc
import os
import random
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # before transformers is imported, which reads it once
os.environ["TOKENIZERS_PARALLELISM"] = "false"
gc.disable()  # until the tests begin: what is imported stays, so looking through it again and again finds nothing

import beartype  # noqa: F401 - this library and three more are imported before the hook, see below
import numpy as np
import onnx  # noqa: F401
import pytest
import sacrebleu  # noqa: F401
import torch
import transformers.modeling_utils  # noqa: F401
from hypothesis import settings
from jaxtyping import install_import_hook

from headscope import tasks
from tools.browser import chromium

SEED = 0
pytest_plugins = ["tests.plugins.costs"]

# Annotations, tensor shapes among them, are checked on every call; an int may stand where a float is asked for.
# The grammar makes no tensors and many small calls, so it is left out. What a checked module is the first to import
# is compiled anew, for the hook names the cache of bytecode otherwise; so the large libraries are imported above.
CHECKED = [
    f"headscope.tasks.{path.stem}"
    for path in Path(tasks.__path__[0]).iterdir()
    if path.stem not in ("grammar", "__init__", "__pycache__")
]
install_import_hook(
    ["headscope.models", "headscope.analysis", "headscope.pruning", *CHECKED],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)

torch.set_num_threads(1)  # the workers of pytest-xdist share the cores
settings.register_profile("headscope", derandomize=True, deadline=None)
settings.load_profile("headscope")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Lets the collector look only at what tests make, not at half a million objects of libraries."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def fixed_seeds() -> None:
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)


@pytest.fixture(scope="session")
def chromium_path() -> str | None:
    """For `executable_path=` of Playwright's launch: an installed Chromium, or None for Playwright's own."""
    return chromium()
