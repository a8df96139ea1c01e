"""How fast the Prune Lab answers a click while a sweep runs, for every specimen; and how fast a sweep is cancelled.

`python -m benchmarks.lab [--clicks 8] [MODEL …]` prints a table and says in the end whether the promises hold: a first
number within a second and the whole split right after (medians; the slowest of the clicks stands beside them), cancel
within two seconds. The sweep is greedy, which lasts. What could not be measured is no promise kept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from math import isnan, nan
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

from headscope.models.loading.known_models import specimen_names
from tools.app_server import BROWSER_FLAGS, AppServer, running_server
from tools.browser import chromium

PROMISED = {"first": 1.2, "whole": 3.5, "cancel": 2.0}
"""Seconds; a tenth or two of them are those of looking."""

TRIES = 5
PATIENT = 180_000  # milliseconds in which the first worker for long runs starts
MEASURED = ("first", "slowest first", "whole", "slowest whole", "cancel")

LOOK = """() => {
  const tiles = [...document.querySelectorAll('.hl-numbers > div')].map((tile) => tile.innerText);
  return tiles.length ? tiles : ['', ''];
}"""


def start_sweep(page: Page) -> None:
    """By the form of the page: one that tries every head at every step, so that it lasts."""
    order = page.locator(".st-key-sweep-order").filter(visible=True)
    greedy = page.get_by_role("option", name="Greedy", exact=True)
    order.wait_for()
    for _ in range(TRIES):  # a page that is just being drawn closes the list again
        order.get_by_role("combobox").click()
        page.wait_for_timeout(1000)
        if greedy.is_visible():
            break
    greedy.click()
    page.wait_for_timeout(1000)
    page.locator(".st-key-start-sweep button").filter(visible=True).click()
    page.locator(".st-key-cancel-sweep").first.wait_for(timeout=PATIENT)


def answer(page: Page, kept: str, started: float) -> tuple[float, float]:
    """Seconds since just before the click until the mask's first number, and until that of the whole split."""
    first = 0.0
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
        cell = cells.nth((7 * click + 3) % n_heads)
        cell.scroll_into_view_if_needed()
        started = time.perf_counter()
        cell.click()
        times.append(answer(page, f"{n_heads - click - 1} / {n_heads}", started))
    firsts, wholes = zip(*times, strict=True)
    return {
        "first": median(firsts),
        "slowest first": max(firsts),
        "whole": median(wholes),
        "slowest whole": max(wholes),
        "cancel": cancelled(page),
    }


def cancelled(page: Page) -> float:
    """Seconds from the click on Cancel until the page offers to resume; not a number if nothing runs any more."""
    if not page.locator(".st-key-cancel-sweep").count():
        return nan
    started = time.perf_counter()
    page.locator(".st-key-cancel-sweep button").first.click()
    page.locator(".st-key-resume-sweep").first.wait_for(timeout=60_000)
    return time.perf_counter() - started


def broken_promises(model: str, found: dict[str, float]) -> list[str]:
    """What was promised and is not kept, or was not measured."""
    told = {name: "not measured" if isnan(found[name]) else f"{found[name]:.2f} s" for name in PROMISED}
    return [f"{model}: {name} {told[name]}" for name, most in PROMISED.items() if not found[name] <= most]


def main() -> int:
    """Prints a row a specimen, and whether all promises hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(specimen_names()))
    parser.add_argument("--clicks", type=int, default=8)
    options = parser.parse_args()
    broken = []
    print(f"{'specimen':<22}" + "".join(f"{name + ', s':>18}" for name in MEASURED))
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
            print(f"{model:<22}" + "".join(f"{found[name]:>18.2f}" for name in MEASURED), flush=True)
            broken += broken_promises(model, found)
        browser.close()
    print("every promise kept" if not broken else "broken: " + "; ".join(broken))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
