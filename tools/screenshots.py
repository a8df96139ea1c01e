"""Takes the pictures in docs/images from a fresh app: every page in light and in dark.

`python -m tools.screenshots roles learn` takes some of them. What the pictures show is computed first, in a store that
is thrown away, or in that of HEADSCOPE_HOME, where it is found again.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from headscope.runs.client import run_here
from headscope.runs.kind import Kind
from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.kinds.fiak import FiakRun
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.kinds.roles import RolesRun
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import DONE
from headscope.runs.store import Store
from tools.app_server import BROWSER_FLAGS, ROOT, running_server
from tools.browser import chromium
from tools.first_minutes import walk

IMAGES = ROOT / "docs" / "images"
WALK = "walk"
WIDTH, HEIGHT = 1440, 900
COLOURS = 256
MOST_BYTES = 250_000
PATIENCE = 120_000  # milliseconds, for a busy machine
MOMENT = 700  # milliseconds between two looks that must be the same
MOST_LOOKS = 30

Scheme = Literal["light", "dark"]
SCHEMES: dict[Scheme, str] = {"light": "", "dark": "-dark"}


@dataclass(frozen=True)
class Picture:
    """A page by its link, what must stand on it before the picture is taken, and how much of it is seen."""

    name: str
    link: str
    ready: str
    height: int = HEIGHT


SENTENCE = "The old doctor sees the small dog."
LAST_CROSS = " ".join(f"cross.1.{head}" for head in range(8))
SPARED = "encoder.1.0 encoder.1.1 encoder.1.3 encoder.2.1 encoder.4.5 encoder.5.2"
FRAME = "[data-testid=stIFrame]"
SWEEPS = tuple(SweepRun("looker", method=method, step=0.1) for method in ("gradient", "confidence"))
PICTURES = (
    Picture("model", "/?model=translator", ".hl-legend"),
    Picture("lessons", "/lessons?model=looker", ".hl-lesson-card >> nth=4"),
    Picture("lesson", "/lessons?lesson=sixteen_heads&step=3", ".st-key-lesson-question"),
    Picture("importance", "/importance?model=translator", ".hl-legend"),
    Picture("roles", "/roles?model=translator", ".st-key-left-card .js-plotly-plot"),
    Picture("roles-head", "/roles?model=translator&head=encoder.4.3", ".st-key-head-card .hl-matrix"),
    Picture("attention", f"/attention?text={SENTENCE}&bank=Cross&mask={LAST_CROSS}", f"{FRAME} >> nth=1"),
    Picture(
        "attention-looker", "/attention?model=looker&image=3&mask=encoder.0.1 encoder.1.4", ".hl-overlays >> nth=1"
    ),
    Picture("prune-lab", f"/prune_lab?model=looker&mask={SPARED}", ".st-key-sweep-chart .js-plotly-plot", 1000),
    Picture("learn", "/learn?model=looker", ".st-key-movie .js-plotly-plot"),
    Picture("fiak", "/fiak?model=looker", ".st-key-maps-end .js-plotly-plot", 1500),
    Picture("dynamics", "/dynamics?model=translator", ".st-key-dynamics-metric .js-plotly-plot", 1100),
    Picture("runs", "/runs?run={sweeps}", ".st-key-pareto-chart .js-plotly-plot", 1000),
)
"""In a link, {sweeps} stands for the ids of SWEEPS."""

HISTORY: tuple[Kind, ...] = (
    ImportanceRun("reader"),
    EvaluationRun("reader", n=100),
    EvaluationRun("looker", n=200),
    EvaluationRun("looker", mask="encoder.0.1 encoder.1.4", n=200),
    ImportanceRun("looker"),
    ImportanceRun("translator"),
    ImportanceRun("translator", method="ablation"),
    RolesRun("translator"),
    LearnRun("looker", gates="dsp", settings={"keep": 12}, n_steps=120, finetune=40),
    FiakRun("looker", scores=0.5, steps_priors=60, steps_tuning=60),
    *SWEEPS,
)
"""Runs that the pages show and do not start by themselves."""

LOADING = "[data-testid=stSkeleton], [data-testid=stSpinner], [data-testid=stProgress]"
STALE = '[data-stale="true"]'
"""What Streamlit fades because the page is running again."""

PALE = '.hl-cell:not([style*="background"], .hl-gone, .hl-off, .hl-hatched, .hl-none)'


def main() -> int:
    """Writes every picture, or those that are named."""
    wanted = sys.argv[1:] or [WALK, *(picture.name for picture in PICTURES)]
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        if WALK in wanted:
            picture_the_walk(browser)
        pictures = [picture for picture in PICTURES if picture.name in wanted]
        if pictures:
            picture_the_pages(browser, pictures)
        browser.close()
    return 0


def picture_the_walk(browser: Browser) -> None:
    """The steps of docs/first-five-minutes.md, in an app where nothing was computed yet."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, running_server(Path(home)) as server:
        for name, seconds, page in walk(browser, server.address):
            expect(page.locator(LOADING)).to_have_count(0, timeout=PATIENCE)
            keep(name, still(page))
            print(f"  after {seconds:.0f} s", flush=True)


def picture_the_pages(browser: Browser, pictures: Sequence[Picture]) -> None:
    """Every page in light and in dark, with something to show."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as thrown_away,
        running_server(Path(os.environ.get("HEADSCOPE_HOME", thrown_away))) as server,
    ):
        store = Store(server.home)
        compute(store, HISTORY)
        sweeps = " ".join(kind.as_run(store.folder).id for kind in SWEEPS)
        for picture in pictures:
            linked = replace(picture, link=picture.link.replace("{sweeps}", sweeps))
            for scheme, ending in SCHEMES.items():
                keep(f"{picture.name}{ending}", take(browser, server.address, linked, scheme))


def keep(name: str, png: bytes) -> None:
    """Writes a picture for the documents."""
    written = small(png)
    (IMAGES / f"{name}.png").write_bytes(written)
    print(f"{name}.png {len(written) / 1000:.0f} kB", flush=True)


def compute(store: Store, kinds: tuple[Kind, ...]) -> None:
    """Fills the history; one after the other, so that the order is always the same."""
    for kind in kinds:
        run = run_here(store, kind)
        if run.state != DONE:
            raise ValueError(f"{run.title} is {run.state}: {run.message}")


def take(browser: Browser, address: str, picture: Picture, scheme: Scheme) -> bytes:
    """The page as it looks when nothing on it is loading any more."""
    page = browser.new_page(viewport={"width": WIDTH, "height": picture.height}, color_scheme=scheme)
    try:
        page.set_default_timeout(PATIENCE)
        page.goto(address + picture.link)
        page.locator(picture.ready).first.wait_for()
        expect(page.locator(f"{LOADING}, {PALE}")).to_have_count(0, timeout=PATIENCE)
        return still(page)
    finally:
        page.close()


def still(page: Page) -> bytes:
    """A picture that is the same as the one a moment before."""
    before = b""
    for _ in range(MOST_LOOKS):
        page.wait_for_timeout(MOMENT)
        now = page.screenshot(animations="disabled", caret="hide")
        if now == before and not page.locator(STALE).count():
            return now
        before = now
    raise TimeoutError(f"{page.url} did not come to rest in {MOST_LOOKS} looks")


def small(png: bytes) -> bytes:
    """The same picture, in fewer colours if it would otherwise be too large for a document."""
    whole = Image.open(io.BytesIO(png)).convert("RGB")
    fewer = whole.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    sizes = [_written(image) for image in (whole, fewer)]
    fitting = next((written for written in sizes if len(written) <= MOST_BYTES), None)
    if fitting is None:
        raise ValueError(f"a picture has {len(sizes[-1])} bytes; allowed are {MOST_BYTES}")
    return fitting


def _written(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


if __name__ == "__main__":
    sys.exit(main())
