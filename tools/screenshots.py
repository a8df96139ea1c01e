"""Takes the pictures in docs/images from a fresh app: every page in light and in dark."""

from __future__ import annotations

import io
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from jobs.client import submit, wait
from jobs.kind import Kind
from jobs.kinds.evaluation import EvaluationRun
from jobs.kinds.importance import ImportanceRun
from jobs.kinds.roles import RolesRun
from jobs.store import Store
from tools.app_server import BROWSER_FLAGS, ROOT, running_server
from tools.browser import chromium

IMAGES = ROOT / "docs" / "images"
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
    """A page by its link, and what must stand on it before the picture is taken."""

    name: str
    link: str
    ready: str


SENTENCE = "The old doctor sees the small dog."
LAST_CROSS = " ".join(f"cross.1.{head}" for head in range(8))
FRAME = "[data-testid=stIFrame]"
PICTURES = (
    Picture("model", "/", ".hl-legend"),
    Picture("importance", "/importance", ".hl-legend"),
    Picture("roles", "/roles", ".st-key-left-card .js-plotly-plot"),
    Picture("roles-head", "/roles?head=encoder.4.3", ".st-key-head-card .hl-matrix"),
    Picture("attention", f"/attention?text={SENTENCE}&bank=Cross&mask={LAST_CROSS}", f"{FRAME} >> nth=1"),
    Picture(
        "attention-looker", "/attention?model=looker&image=3&mask=encoder.0.1 encoder.1.4", ".hl-overlays >> nth=1"
    ),
    Picture("runs", "/runs", ".st-key-picked-run .hl-facts"),
)

HISTORY: tuple[Kind, ...] = (
    ImportanceRun("reader"),
    EvaluationRun("reader", n=100),
    EvaluationRun("looker", n=200),
    EvaluationRun("looker", mask="encoder.0.1 encoder.1.4", n=200),
    ImportanceRun("looker"),
    ImportanceRun("translator"),
    ImportanceRun("translator", method="ablation"),
    RolesRun("translator"),
)
"""Runs that the history shows besides those that the other pages start."""

LOADING = "[data-testid=stSkeleton], [data-testid=stSpinner], [data-testid=stProgress]"
PALE = '.hl-cell:not([style*="background"], .hl-gone, .hl-off, .hl-hatched, .hl-none)'


def main() -> int:
    """Writes every picture."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
        sync_playwright() as playwright,
    ):
        compute(Store(server.home), HISTORY)
        browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        for picture in PICTURES:
            for scheme, ending in SCHEMES.items():
                taken = small(take(browser, server.address, picture, scheme))
                (IMAGES / f"{picture.name}{ending}.png").write_bytes(taken)
                print(f"{picture.name}{ending}.png {len(taken) / 1000:.0f} kB", flush=True)
        browser.close()
    return 0


def compute(store: Store, kinds: tuple[Kind, ...]) -> None:
    """Fills the history; one after the other, so that the order is always the same."""
    for kind in kinds:
        wait(store, submit(store, kind), PATIENCE / 1000)


def take(browser: Browser, address: str, picture: Picture, scheme: Scheme) -> bytes:
    """The page as it looks when nothing on it is loading any more."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
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
        if now == before:
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
