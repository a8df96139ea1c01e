"""Seconds from the start of the app to the first coloured grid, and milliseconds until a page answers a click.

Run as `python -m benchmarks.interface`; it takes about eight minutes and exits with 1 if a promise is broken. A fresh
server with a store of its own is driven in Chromium, which is open already when the server starts. A click is timed
inside the browser, from the press of the mouse to the frame that shows what was asked for. Every click is done in
turns without and beside a long run, after one round that is not counted: what is timed was seen before. The promises
are for two free cores, so the load of the machine is printed with the result.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import psutil
from playwright.sync_api import Page, sync_playwright

from headscope.runs.client import submit, wait
from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.run import DONE, RESUMABLE, Run
from headscope.runs.store import Store
from tools.app_server import BROWSER_FLAGS, ROOT, AppServer
from tools.browser import chromium

ROUNDS = 3
CYCLES = 10  # clicks of every sort in a round
PAUSE = 250  # milliseconds between an answer and the next click
PATIENCE = 60_000  # milliseconds until a click counts as unanswered
MOST_SECONDS_TO_GRID = 10.0
MOST_MILLISECONDS = 300.0
"""At the 95th percentile, beside a long run."""

DRAWINGS = ("Attention: switch to All heads", "Attention: switch to Lines")
MOST_MILLISECONDS_TO_DRAW = 1000.0
"""For the drawings of bertviz: a frame of its own that loads its scripts and sets up to thousands of lines."""

IDLE, BUSY = "idle", "beside a run"
SHORT_RUNS = (EvaluationRun("looker", n=100), EvaluationRun("looker", mask="encoder.0.1", n=100))
ROW = 35  # pixels of a row of the table, and of its header

COLOURED = '.st-key-grid [role=gridcell][style*="background"]'
WATCH = """(condition) => {
  const isDone = new Function("loaded", `return ${condition}`);
  window.milliseconds = new Promise((resolve) => {
    const begin = (event) => {
      let loaded = 0;
      document.addEventListener("load", ({ target }) => (loaded += target.tagName === "IFRAME"), true);
      const look = () => isDone(loaded) ? resolve(performance.now() - event.timeStamp) : requestAnimationFrame(look);
      requestAnimationFrame(look);
    };
    document.addEventListener("pointerdown", begin, { capture: true, once: true });
  });
}"""
TOOK = "(patience) => Promise.race([window.milliseconds, new Promise((late) => setTimeout(late, patience, null))])"


@dataclass(frozen=True)
class Press:
    """A click, and the JavaScript condition that says it was answered; `loaded` counts frames loaded since."""

    name: str
    click: Callable[[Page], None]
    answered: str

    def milliseconds(self, page: Page) -> float:
        """How long the answer took."""
        page.evaluate(WATCH, self.answered)
        self.click(page)
        took = page.evaluate(TOOK, PATIENCE)
        page.wait_for_timeout(PAUSE)
        if took is None:
            raise TimeoutError(f"{self.name}: no answer within {PATIENCE // 1000} seconds")
        return float(took)


@dataclass(frozen=True)
class Tour:
    """A page, what stands on it when it is ready, and the clicks of its nth cycle."""

    link: str
    ready: str
    presses: Callable[[int], tuple[Press, ...]]


@dataclass
class LongWork:
    """A run of a batch worker that can be halted and taken up; when one is done, the next begins."""

    store: Store
    masks: Iterator[str] = field(default_factory=lambda: (f"encoder.{n // 8 % 6}.{n % 8}" for n in count()))
    run: Run | None = None

    def go_on(self) -> None:
        """Returns when a long run computes."""
        run = None if self.run is None else self.store.get(self.run.id)
        if run is not None and run.state == DONE:
            self.store.delete(run.id)  # so that the table of runs stays short enough to click in
            run = None
        if run is None:
            run = submit(self.store, EvaluationRun("translator", split="test", mask=next(self.masks)))
        if run.state in RESUMABLE:
            self.store.resume(run.id)
        self.run = run
        while (now := self.store.get(run.id)).done <= now.begun and not now.ended:
            time.sleep(0.1)

    def halt(self) -> None:
        """Returns when nothing computes."""
        if self.run is not None:
            self.store.cancel(self.run.id)
            wait(self.store, self.store.get(self.run.id), PATIENCE / 1000)


def main() -> int:
    """Print every number; 1 if a promise is broken."""
    print(f"{os.cpu_count()} cores, {psutil.cpu_percent(3):.0f} % busy with other things, {_load()}", flush=True)
    with open_page() as page, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        server = AppServer(Path(home))
        try:
            to_grid = time_the_start(server, page)
            clicks = time_the_clicks(server, page)
        finally:
            server.end()
            server.end_workers()
    broken = [*report_start(to_grid), *report_clicks(clicks)]
    print(_load())
    print("\n".join(f"broken: {promise}" for promise in broken) or "every promise kept")
    return 1 if broken else 0


@contextmanager
def open_page() -> Iterator[Page]:
    """A blank page in a fresh profile."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE)
        yield page
        browser.close()


def time_the_start(server: AppServer, page: Page) -> dict[str, float]:
    """Seconds since the start command, by what was reached."""
    began = time.perf_counter()
    reached = {}
    environment = os.environ | {"HEADSCOPE_HOME": str(server.home)}
    subprocess.run(
        [sys.executable, "-m", "headscope.runs.execution.workers"], cwd=ROOT, env=environment, check=True
    )  # as `make run` does
    server.start()
    reached["server answers"] = time.perf_counter() - began
    page.goto(server.address)
    page.locator("h1.hl-title").wait_for()
    reached["page shown"] = time.perf_counter() - began
    page.locator(COLOURED).first.wait_for()
    reached["grid coloured"] = time.perf_counter() - began
    return reached


def time_the_clicks(server: AppServer, page: Page) -> dict[str, dict[str, list[float]]]:
    """Milliseconds by the name of the click, idle and beside a run."""
    store = Store(server.home)
    for kind in SHORT_RUNS:
        wait(store, submit(store, kind), PATIENCE / 1000)
    work = LongWork(store)
    took: dict[str, dict[str, list[float]]] = {}
    for _ in range(ROUNDS):
        for state, prepare in ((IDLE, work.halt), (BUSY, work.go_on)):
            for tour in (HEADS, VIEWS, rows(store), PAGES):
                prepare()
                for name, milliseconds in walk(tour, server.address, page, prepare):
                    took.setdefault(name, {IDLE: [], BUSY: []})[state].append(milliseconds)
    return took


def walk(tour: Tour, address: str, page: Page, before_cycle: Callable[[], None]) -> Iterator[tuple[str, float]]:
    """Every click of a tour with its milliseconds; the first cycle only warms up."""
    page.goto(address + tour.link)
    page.locator(tour.ready).first.wait_for()
    for cycle in range(CYCLES + 1):
        before_cycle()
        timed = [(press.name, press.milliseconds(page)) for press in tour.presses(cycle)]
        if cycle:
            yield from timed


def report_start(reached: dict[str, float]) -> Iterator[str]:
    """Print the way to the first grid, and give the promise if it is broken."""
    print("since the start command: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in reached.items()))
    if reached["grid coloured"] > MOST_SECONDS_TO_GRID:
        yield f"grid coloured after {reached['grid coloured']:.1f} s, promised are {MOST_SECONDS_TO_GRID:.0f} s"


def report_clicks(took: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    """Print median and 95th percentile of every click, and give the promises that are broken."""
    print(f"{'milliseconds, median and 95th percentile':44} {'n':>4} {IDLE:>14} {BUSY:>14}")
    for name, states in took.items():
        shown = [f"{statistics.median(states[state]):6.0f} {_late(states[state]):7.0f}" for state in (IDLE, BUSY)]
        print(f"{name:44} {len(states[BUSY]):4} {' '.join(shown)}")
        most = MOST_MILLISECONDS_TO_DRAW if name in DRAWINGS else MOST_MILLISECONDS
        if _late(states[BUSY]) > most:
            yield f"{name}: {_late(states[BUSY]):.0f} ms beside a run, promised are {most:.0f} ms"


def _late(milliseconds: list[float]) -> float:
    return statistics.quantiles(milliseconds, n=20, method="inclusive")[-1]


def _load() -> str:
    return "load " + " ".join(f"{load:.1f}" for load in os.getloadavg())


def _on(selector: str) -> Callable[[Page], None]:
    return lambda page: page.locator(selector).first.click()


def _reads(selector: str, text: str) -> str:
    """The condition that the first such element has this text."""
    return f"document.querySelector({json.dumps(selector)})?.textContent === {json.dumps(text)}"


def _there(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)}) !== null"


def choose_a_head(cycle: int) -> tuple[Press, ...]:
    """Another head each time; the tile about it must change."""
    head = f"encoder.{cycle % 6}.{cycle % 8}"
    cell = f'.st-key-grid [role=gridcell][aria-label^="{head},"]'
    return (Press("Model: choose a head", _on(cell), _reads(".hl-tiles.hl-one b", head)),)


def switch_views(cycle: int) -> tuple[Press, ...]:
    """Through the three views of one sentence."""
    del cycle
    matrix, frame = _there(".hl-matrix"), f"loaded > 0 && !{_there('.hl-matrix')}"
    views = {"Matrix": matrix, "All heads": f"loaded > 0 && !({matrix})", "Lines": frame}
    return tuple(
        Press(f"Attention: switch to {view}", _on(f'.st-key-view button:has-text("{view}")'), answered)
        for view, answered in views.items()
    )


def move_between_pages(cycle: int) -> tuple[Press, ...]:
    """By the links of the side bar, all pages in turn."""
    del cycle
    marks = {
        "Importance": _reads("h1", "Importance") + " && " + _there(".st-key-head-card .hl-ranks"),
        "Attention": _reads("h1", "Attention") + " && " + _there(".hl-answer"),
        "Runs": _reads("h1", "Runs") + " && " + _there(".st-key-picked-run .hl-facts"),
        "Model": f"!({_reads('h1', 'Runs')}) && {_there('.hl-legend')}",
    }
    return tuple(
        Press(f"Side bar: to {page}", _on(f'[data-testid=stSidebar] a:has-text("{page}")'), mark)
        for page, mark in marks.items()
    )


def rows(store: Store) -> Tour:
    """Picks the short runs of the history in turn."""

    def pick(cycle: int) -> tuple[Press, ...]:
        kind = SHORT_RUNS[cycle % len(SHORT_RUNS)]
        click = partial(_pick_row, store=store, title=kind.title)
        return (Press("Runs: pick a row", click, _reads(".st-key-picked-run .hl-card-title", kind.title)),)

    return Tour("/runs", "[data-testid=stDataFrame] canvas", pick)


def _pick_row(page: Page, store: Store, title: str) -> None:
    """Ticks the box before a row; the table is a canvas, so by its place."""
    place = next(place for place, run in enumerate(store.runs()) if run.title == title)
    box = page.locator("[data-testid=stDataFrame]").bounding_box()
    if box is None:
        raise ValueError("the table of runs is not on the page")
    page.mouse.click(box["x"] + ROW / 2, box["y"] + (place + 1.5) * ROW)


HEADS = Tour("/", ".hl-legend", choose_a_head)
VIEWS = Tour("/attention", "[data-testid=stIFrame]", switch_views)
PAGES = Tour("/", ".hl-legend", move_between_pages)


if __name__ == "__main__":
    sys.exit(main())
