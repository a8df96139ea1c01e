"""Many browser sessions on one server beside a running sweep: errors, cross-talk, and memory before and afterwards.

Run as `python -m benchmarks.load`; it takes about ten minutes and exits with 1 on an error, on a session that sees
anything of another's, or where memory grew by more than is allowed. A fresh server with a store of its own is driven
by 25 profiles of one Chromium for five minutes. Each has a model and a mask of its own: it switches heads in the Prune
Lab, opens the same link anew, picks heads on the Importance page, and reads curves on the Runs page, without pause.
Memory is resident memory: before, once all models and pages were seen by one session and a sweep runs; afterwards, once
every session is closed and the server has forgotten it.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psutil
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright
from playwright.async_api import Error as BrowserError

from jobs.client import submit
from jobs.kinds.sweep import SweepRun
from jobs.run import Run
from jobs.store import Store
from jobs.workers import running_workers
from tools.app_server import BROWSER_FLAGS, AppServer, running_server
from tools.browser import chromium

MODELS = ("looker", "reader", "translator", "writer", "all-attention-writer")
PATIENCE = 90_000  # milliseconds until something counts as not there
MOST_GROWTH_MB = {"server": 100.0, "worker": 200.0}
SECONDS_TO_FORGET = 150  # Streamlit keeps a closed session for two minutes, for a tab that comes back
SECONDS_BETWEEN_LOOKS = 2.0
MB = 2**20

CELLS = '.hl-editing [role="gridcell"]'
GRID = ".st-key-grid [role=gridcell]"
OFF = ".hl-editing .hl-off"
NAMES = '(cells) => cells.map((cell) => cell.getAttribute("aria-label").split(",")[0])'
BOXES = '[data-testid="stException"], [data-testid="stAlertContentError"]'


@dataclass
class Session:
    """One profile of the browser, with a model and a mask of its own, and what it met."""

    number: int
    address: str
    mask: set[str] = field(default_factory=set)
    head: str = ""
    done: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)

    @property
    def model(self) -> str:
        """The model that this session looks at."""
        return MODELS[self.number % len(MODELS)]

    async def work(self, browser: Browser, until: float) -> None:
        """Clicks and reads until the time is over, once at least; a part without an answer is an error."""
        draw = random.Random(self.number)
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        page = await context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.errors.append(f"script: {error}"))
        page.on("console", self._hear)
        try:
            while True:
                for part in (self.edit, self.score, self.read_runs):
                    await self._try(part, page, draw)
                if time.monotonic() > until:
                    return
        finally:
            await context.close()

    async def edit(self, page: Page, draw: random.Random) -> None:
        """Switches heads in the Prune Lab, and opens the link that this made."""
        await page.goto(f"{self.address}/prune_lab?model={self.model}")
        await page.locator(CELLS).first.wait_for()
        self.mask = set()
        for _ in range(4):
            cell = page.locator(CELLS).nth(draw.randrange(await page.locator(CELLS).count()))
            name = (await cell.get_attribute("aria-label") or "").split(",")[0]
            await cell.click()
            self.mask ^= {name}
            await self._expect_mask(page)
        self.done["heads switched"] += 4
        await settled(lambda: self._link_has_mask(page), "the link has no mask")
        await page.reload()
        await page.locator(CELLS).first.wait_for()
        await self._expect_mask(page)
        await self._expect_model(page)
        self.done["links opened anew"] += 1

    async def score(self, page: Page, draw: random.Random) -> None:
        """Picks a head on the Importance page and reads its card."""
        await page.goto(f"{self.address}/importance?model={self.model}&n=32")
        await page.locator(GRID).first.wait_for()
        cell = page.locator(GRID).nth(draw.randrange(await page.locator(GRID).count()))
        self.head = (await cell.get_attribute("aria-label") or "").split(",")[0]
        await cell.click()
        await settled(lambda: self._card_is_of_head(page), f"no card of {self.head}")
        await self._expect_model(page)
        self.done["cards of heads read"] += 1

    async def read_runs(self, page: Page, draw: random.Random) -> None:
        """Reads the table of runs and the curve of the newest."""
        del draw
        await page.goto(f"{self.address}/runs?model={self.model}")
        await page.locator(".st-key-compare-chart .main-svg").first.wait_for()
        await page.locator(".st-key-picked-run").get_by_text("Sweep of").first.wait_for()
        await self._expect_model(page)
        self.done["curves read"] += 1

    async def _try(self, part: Callable[..., object], page: Page, draw: random.Random) -> None:
        try:
            await part(page, draw)  # type: ignore[misc]
        except (BrowserError, TimeoutError) as error:
            self.errors.append(f"{part.__name__}: {str(error).splitlines()[0]}")
        for box in await page.locator(BOXES).all_inner_texts():
            self.errors.append(f"{part.__name__}: {box[:200]}")

    async def _expect_mask(self, page: Page) -> None:
        """Waits until the heads that are off are those that this session switched off."""
        expected, shown = sorted(self.mask), None
        until = time.monotonic() + PATIENCE / 1000
        while shown != expected and time.monotonic() < until:
            shown = sorted(await page.locator(OFF).evaluate_all(NAMES))
            await asyncio.sleep(0.1)
        if shown != expected:
            self.mixed.append(f"session {self.number}: mask {shown} instead of {expected}")

    async def _link_has_mask(self, page: Page) -> bool:
        return ("mask=" in await page.evaluate("location.href")) == bool(self.mask)

    async def _card_is_of_head(self, page: Page) -> bool:
        shown = " ".join(await page.locator(".st-key-head-card").all_inner_texts())
        return self.head.replace(".", " ", 1).lower() in shown.lower()

    async def _expect_model(self, page: Page) -> None:
        shown = (await page.locator(".hl-current").first.inner_text()).strip()
        if shown != self.model:
            self.mixed.append(f"session {self.number}: model {shown!r} instead of {self.model!r}")

    def _hear(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.errors.append(f"console: {said.text[:200]}")


async def settled(look: Callable[[], Awaitable[bool]], otherwise: str) -> None:
    """Waits until it is so; the page's own rules forbid that the browser is told to wait for an expression."""
    until = time.monotonic() + PATIENCE / 1000
    while not await look():
        if time.monotonic() > until:
            raise TimeoutError(f"{otherwise} after {PATIENCE // 1000} seconds")
        await asyncio.sleep(0.1)


@dataclass
class Watched:
    """The memory of the server and its workers, in MB, by process."""

    server: AppServer
    peak: dict[str, float] = field(default_factory=dict)

    def now(self) -> dict[str, float]:
        """Resident memory by the name of the process; those that have ended are left out."""
        assert self.server.process is not None
        workers = running_workers(Store(self.server.home))
        pids = {"server": self.server.process.pid} | {f"worker {place}": one.pid for place, one in workers.items()}
        found = {}
        for name, pid in pids.items():
            try:
                found[name] = psutil.Process(pid).memory_info().rss / MB
            except psutil.NoSuchProcess:
                continue
        return found

    def look(self) -> None:
        """Keeps the most that was seen."""
        for name, size in self.now().items():
            self.peak[name] = max(size, self.peak.get(name, 0.0))


@dataclass
class Sweeps:
    """Sweeps one after the other, so that one is always under way."""

    store: Store
    started: list[Run] = field(default_factory=list)

    def go_on(self) -> None:
        """Starts the next where the last has ended."""
        if not self.started or self.store.get(self.started[-1].id).ended:
            self.started.append(submit(self.store, SweepRun("writer", step=0.02, seeds=8, n=200 + len(self.started))))

    def stop(self) -> None:
        """Ends the last, and waits until it has."""
        self.store.cancel(self.started[-1].id)
        until = time.monotonic() + PATIENCE / 1000
        while not self.store.get(self.started[-1].id).ended and time.monotonic() < until:
            time.sleep(0.2)


@dataclass(frozen=True)
class Measured:
    """What came of it."""

    sessions: list[Session]
    memory: dict[str, dict[str, float]]
    sweeps: list[str]
    seconds: float

    @property
    def faults(self) -> list[str]:
        """Everything that breaks a promise."""
        before, after = self.memory["before"], self.memory["after"]
        grown = [
            f"{name}: {after[name] - before[name]:.0f} MB more than before, {most:.0f} are allowed"
            for name in before
            for most in [MOST_GROWTH_MB[name.partition(" ")[0]]]
            if name in after and after[name] - before[name] > most
        ]
        met = [fault for session in self.sessions for fault in (*session.errors, *session.mixed)]
        idle = [f"session {one.number} did nothing" for one in self.sessions if not one.done]
        return [*met, *idle, *grown]


async def measure(server: AppServer, n: int, seconds: float, pause: float) -> Measured:
    """Drives so many sessions for so many seconds, and waits so many before memory is read for the last time."""
    watched, sweeps = Watched(server), Sweeps(Store(server.home))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        sweeps.go_on()
        for number in range(min(n, len(MODELS))):  # one after the other: what is loaded once is no growth
            await Session(number, server.address).work(browser, 0.0)
        before = watched.now()
        sessions = [Session(number, server.address) for number in range(n)]
        started = time.monotonic()
        tasks = [asyncio.create_task(one.work(browser, started + seconds)) for one in sessions]
        while not all(task.done() for task in tasks):
            sweeps.go_on()
            watched.look()
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
        for task in tasks:
            task.result()
        took = time.monotonic() - started
        await browser.close()
    sweeps.stop()
    await asyncio.sleep(pause)
    memory = {"before": before, "most": watched.peak, "after": watched.now()}
    return Measured(sessions, memory, [sweeps.store.get(run.id).state for run in sweeps.started], took)


def table(found: Measured) -> str:
    """The figures as Markdown."""
    done = sum((one.done for one in found.sessions), Counter())
    rows = [
        ("sessions", f"{len(found.sessions)} for {found.seconds:.0f} s"),
        *((name, f"{n:,}") for name, n in sorted(done.items())),
        ("errors: scripts, console, boxes, no answer", str(sum(len(one.errors) for one in found.sessions))),
        ("masks or models of another session", str(sum(len(one.mixed) for one in found.sessions))),
        ("sweeps beside it", ", ".join(f"{n} {state}" for state, n in Counter(found.sweeps).items())),
    ]
    sizes = found.memory
    for name in sizes["before"]:
        told = [
            f"{sizes[when][name]:.0f} MB" if name in sizes[when] else "ended" for when in ("before", "most", "after")
        ]
        rows.append((f"memory of the {name}: before, at most, after", ", ".join(told)))
    return "\n".join(["| what | figure |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def main() -> None:
    """Measures, prints, and exits with 1 where a promise is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=25)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--pause", type=float, default=SECONDS_TO_FORGET, help="seconds before the last look at memory")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder) / "home") as server:
        found = asyncio.run(measure(server, given.sessions, 60 * given.minutes, given.pause))
    print(table(found))
    load = ", ".join(f"{one:.1f}" for one in psutil.getloadavg())
    print(f"\n{psutil.cpu_count()} cores, load {load}; allowed growth in MB: {MOST_GROWTH_MB}")
    for number, fault in zip(count(1), found.faults, strict=False):
        print(f"{number}. {fault}")
    sys.exit(bool(found.faults))


if __name__ == "__main__":
    main()
