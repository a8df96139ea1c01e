"""How fast the Prune Lab answers a click while a sweep runs, for every specimen; and how fast a sweep is cancelled.

`python -m benchmarks.lab [--clicks 8] [MODEL …]` prints a table and says in the end whether the promises hold: a first
number within a second and the whole split right after (medians), cancel within two seconds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

from models.catalog import specimen_names
from tools.app_server import BROWSER_FLAGS, AppServer, running_server
from tools.browser import chromium

PROMISED = {"first": 1.2, "whole": 3.5, "cancel": 2.0}
"""Seconds; a tenth or two of them are those of looking."""

LOOK = """() => {
  const tiles = [...document.querySelectorAll('.hl-numbers > div')].map((tile) => tile.innerText);
  return tiles.length ? tiles : ['', ''];
}"""


def start_sweep(page: Page) -> None:
    """By the form of the page."""
    page.get_by_role("button", name="Start the sweep").click()
    page.locator(".st-key-cancel-sweep").wait_for(timeout=60_000)


def answer(page: Page, kept: str) -> tuple[float, float]:
    """Seconds until the mask's first number and until that of the whole split."""
    started, first = time.perf_counter(), 0.0
    while time.perf_counter() - started < 60:
        heads, metric = page.evaluate(LOOK)[:2]
        if kept in heads and "…" not in metric:
            first = first or time.perf_counter() - started
            if "≈" not in metric:
                return first, time.perf_counter() - started
        time.sleep(0.02)
    raise TimeoutError(f"no number for {kept} within a minute")


def measure(page: Page, server: AppServer, model: str, n_clicks: int) -> dict[str, float]:
    """Opens a specimen, starts a sweep, and clicks one head after the other."""
    page.goto(f"{server.address}/prune_lab?model={model}")
    page.locator(".hl-numbers em", has_text=" to ").first.wait_for(timeout=60_000)
    cells = page.locator('.hl-editing [role="gridcell"]')
    cells.first.wait_for()
    n_heads = cells.count()
    start_sweep(page)
    page.wait_for_timeout(3000)
    times = []
    for click in range(n_clicks):
        cells.nth((7 * click + 3) % n_heads).click()
        times.append(answer(page, f"{n_heads - click - 1} / {n_heads}"))
    running = page.locator(".st-key-cancel-sweep").count() > 0
    started = time.perf_counter()
    if running:
        page.locator(".st-key-cancel-sweep button").first.click()
        page.locator(".st-key-resume-sweep").first.wait_for(timeout=60_000)
    return {
        "first": median(first for first, _ in times),
        "whole": median(whole for _, whole in times),
        "cancel": time.perf_counter() - started if running else float("nan"),
    }


def main() -> int:
    """Prints a row a specimen, and whether all promises hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(specimen_names()))
    parser.add_argument("--clicks", type=int, default=8)
    options = parser.parse_args()
    broken = []
    print(f"{'specimen':<22}{'first, s':>10}{'whole, s':>10}{'cancel, s':>11}")
    with (
        tempfile.TemporaryDirectory() as home,
        running_server(Path(home)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        for model in options.models:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            found = measure(page, server, model, options.clicks)
            page.close()
            print(f"{model:<22}{found['first']:>10.2f}{found['whole']:>10.2f}{found['cancel']:>11.2f}", flush=True)
            broken += [f"{model}: {name} {found[name]:.2f} s" for name in PROMISED if found[name] > PROMISED[name]]
        browser.close()
    print("every promise kept" if not broken else "broken: " + "; ".join(broken))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
