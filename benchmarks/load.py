"""Many browser sessions on one server beside a running sweep: errors, cross-talk, and memory before and afterwards.

Run as `python -m benchmarks.load`; it takes about a quarter of an hour and exits with 1 on an error, on a session that
sees anything of another's, or where memory grew by more than is allowed. A fresh server with a store of its own is
driven by 25 profiles of one Chromium, which come one after the other and stay for five minutes. Each has a model and a
mask of its own: it switches heads in the Prune Lab and reads the numbers, opens the same link anew, picks a head on the
Importance page and reads its card, and reads the curve of its model on the Runs page, with the pauses of a person.
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
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median

import psutil
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright
from playwright.async_api import Error as BrowserError

from jobs.client import submit, wait
from jobs.kinds.sweep import SweepRun
from jobs.run import DONE, Run
from jobs.store import Store
from jobs.workers import ensure_workers, running_workers
from tools.app_server import BROWSER_FLAGS, AppServer, running_server
from tools.browser import chromium

MODELS = ("looker", "reader", "translator", "writer", "all-attention-writer")


@dataclass(frozen=True)
class Pace:
    """Seconds until something counts as not there, and between two actions of a session, at least and at most."""

    patience: float
    thinking: tuple[float, float]


FIRST = Pace(300, (0.1, 0.5))
"""Of a first visit, which has scores computed that every later one finds."""

MANY = Pace(90, (1.0, 5.0))
SECONDS_FOR_NUMBERS = 20
"""After which a session goes on although the numbers of its mask are still being measured, which the page says."""

MOST_GROWTH_MB = {"server": 100.0, "worker": 200.0}
SECONDS_OF_A_CURVE = 300
SECONDS_TO_FORGET = 150  # Streamlit keeps a closed session for two minutes, for a tab that comes back
SECONDS_TO_LEAVE = 5
SECONDS_BETWEEN_ARRIVALS = 3.0
SECONDS_BETWEEN_GLANCES = 0.25
SECONDS_BETWEEN_LOOKS = 2.0
MB = 2**20

CELLS = '.hl-editing [role="gridcell"]'
GRID = ".st-key-grid [role=gridcell]"
OFF = ".hl-editing .hl-off"
NAMES = '(cells) => cells.map((cell) => cell.getAttribute("aria-label").split(",")[0])'
CURVE = (".st-key-compare-chart", ".st-key-picked-run")
NUMBERS = ".hl-numbers > div"
WAITED = (
    "Prune Lab opened",
    "head switched",
    "mask counted by the server",
    "numbers of the mask read",
    "link opened anew",
    "Importance opened",
    "card of a head read",
    "curve read",
)
PROBES = ("/_stcore/health", "/_stcore/host-config")
"""What Streamlit's own script asks for below a deep link first: that it is not there tells it where the server is."""

BOXES = '[data-testid="stException"], [data-testid="stAlertContentError"]'


@dataclass
class Session:
    """One profile of the browser, with a model and a mask of its own, and what it met."""

    number: int
    address: str
    curve: str
    pace: Pace
    pictures: Path | None = None
    mask: set[str] = field(default_factory=set)
    head: str = ""
    waited: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)

    @property
    def model(self) -> str:
        """The model that this session looks at."""
        return MODELS[self.number % len(MODELS)]

    async def come(self, browser: Browser, until: float) -> None:
        """Begins to work when it is its turn: people come one after the other."""
        await asyncio.sleep(self.number * SECONDS_BETWEEN_ARRIVALS)
        await self.work(browser, until)

    async def work(self, browser: Browser, until: float) -> None:
        """Clicks and reads until the time is over, once at least; a part without an answer is an error."""
        draw = random.Random(self.number)
        context = await browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        page = await context.new_page()
        page.set_default_timeout(1000 * self.pace.patience)
        page.on("pageerror", lambda error: self.errors.append(f"script: {error}"))
        page.on("console", self._hear)
        try:
            while True:
                for part in (self.edit, self.score, self.read_runs):
                    await self._think(draw)
                    await self._try(part, page, draw)
                if time.monotonic() > until:
                    return
        finally:
            await context.close()

    async def edit(self, page: Page, draw: random.Random) -> None:
        """Switches heads in the Prune Lab, reads the numbers, and opens the link that this made."""
        with self._timing("Prune Lab opened"):
            await page.goto(f"{self.address}/prune_lab?model={self.model}")
            await page.locator(CELLS).first.wait_for()
        self.mask = set()
        n = await page.locator(CELLS).count()
        for _ in range(4):
            await self._think(draw)
            cell = page.locator(CELLS).nth(draw.randrange(n))
            name = (await cell.get_attribute("aria-label") or "").split(",")[0]
            with self._timing("head switched"):
                await cell.click()
                self.mask ^= {name}
                await self._expect_mask(page)
        with self._timing("mask counted by the server"):
            await self._settled(lambda: self._counts(page, n), "the server has not counted the heads that are left")
        await self._read_numbers(page)
        await self._think(draw)
        with self._timing("link opened anew"):
            await page.reload()
            await page.locator(CELLS).first.wait_for()
            await self._expect_mask(page)
        await self._expect_model(page)

    async def score(self, page: Page, draw: random.Random) -> None:
        """Picks a head on the Importance page and reads its card."""
        with self._timing("Importance opened"):
            await page.goto(f"{self.address}/importance?model={self.model}&n=32")
            await page.locator(GRID).first.wait_for()
        await self._think(draw)
        cell = page.locator(GRID).nth(draw.randrange(await page.locator(GRID).count()))
        self.head = (await cell.get_attribute("aria-label") or "").split(",")[0]
        with self._timing("card of a head read"):
            await cell.click()
            await self._settled(lambda: self._card_is_of_head(page), f"no card of {self.head}")
        await self._expect_model(page)

    async def read_runs(self, page: Page, draw: random.Random) -> None:
        """Reads the table of runs, and the curve of the model on a chart."""
        del draw
        named = f"Sweep of {self.model}:"
        with self._timing("curve read"):
            await page.goto(f"{self.address}/runs?model={self.model}&run={self.curve}")
            for place in CURVE:
                await page.locator(place, has_text="Sweep of").first.wait_for()
        for place in CURVE:
            shown = await page.locator(place).first.text_content() or ""
            if named not in shown:
                self.mixed.append(f"session {self.number}: {place} shows {shown[:80]!r} instead of {named!r}")
        await self._expect_model(page)

    async def _think(self, draw: random.Random) -> None:
        await asyncio.sleep(draw.uniform(*self.pace.thinking))

    @contextmanager
    def _timing(self, what: str) -> Iterator[None]:
        """Notes how long it took, if it came."""
        started = time.monotonic()
        yield
        self.waited.setdefault(what, []).append(time.monotonic() - started)

    async def _try(self, part: Callable[..., object], page: Page, draw: random.Random) -> None:
        met = len(self.errors)
        try:
            await part(page, draw)  # type: ignore[misc]
            boxes = await page.locator(BOXES).all_inner_texts()
            self.errors += [f"session {self.number}, {part.__name__}: {box[:200]}" for box in boxes]
        except (BrowserError, TimeoutError) as error:
            self.errors.append(f"session {self.number}, {part.__name__}: {str(error).splitlines()[0]}")
        if self.pictures and len(self.errors) > met:
            with suppress(BrowserError):
                await page.screenshot(path=self.pictures / f"{self.number}-{part.__name__}-{len(self.errors)}.png")

    async def _expect_mask(self, page: Page) -> None:
        """Waits until the heads that are off are those that this session switched off."""
        expected, shown = sorted(self.mask), None
        until = time.monotonic() + self.pace.patience
        while shown != expected and time.monotonic() < until:
            shown = sorted(await page.locator(OFF).evaluate_all(NAMES))
            await asyncio.sleep(SECONDS_BETWEEN_GLANCES)
        if shown != expected:
            self.mixed.append(f"session {self.number}: mask {shown} instead of {expected}")

    async def _counts(self, page: Page, n: int) -> bool:
        """Whether the page shows how many heads this mask keeps, which the server tells."""
        return any(f"{n - len(self.mask)} / {n}" in text for text in await page.locator(NUMBERS).all_inner_texts())

    async def _read_numbers(self, page: Page) -> None:
        """Looks at the metric until it is that of the whole split, but goes on after a while."""
        started = time.monotonic()
        while time.monotonic() - started < SECONDS_FOR_NUMBERS:
            _, metric, *_ = [*await page.locator(NUMBERS).all_inner_texts(), "", "…"]
            if "…" not in metric and "≈" not in metric:
                self.waited.setdefault("numbers of the mask read", []).append(time.monotonic() - started)
                return
            await asyncio.sleep(SECONDS_BETWEEN_GLANCES)

    async def _card_is_of_head(self, page: Page) -> bool:
        shown = " ".join(await page.locator(".st-key-head-card").all_inner_texts())
        return self.head.replace(".", " ", 1).lower() in shown.lower()

    async def _expect_model(self, page: Page) -> None:
        shown = (await page.locator(".hl-current").first.inner_text()).strip()
        if shown != self.model:
            self.mixed.append(f"session {self.number}: model {shown!r} instead of {self.model!r}")

    async def _settled(self, look: Callable[[], Awaitable[bool]], otherwise: str) -> None:
        """Waits until it is so; the page's own rules forbid that the browser is told to wait for an expression."""
        until = time.monotonic() + self.pace.patience
        while not await look():
            if time.monotonic() > until:
                raise TimeoutError(f"{otherwise} after {self.pace.patience:.0f} seconds")
            await asyncio.sleep(SECONDS_BETWEEN_GLANCES)

    def _hear(self, said: ConsoleMessage) -> None:
        if said.type == "error" and not said.location["url"].endswith(PROBES):
            self.errors.append(f"console: {said.text[:200]}")


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


def curves(store: Store) -> dict[str, str]:
    """A finished sweep of each model, by model, for the sessions to read."""
    asked = {model: submit(store, SweepRun(model, step=0.34, n=16, n_scoring=8)) for model in MODELS}
    for run in asked.values():
        ended = wait(store, run, SECONDS_OF_A_CURVE)
        if ended.state != DONE:
            raise TimeoutError(f"{ended.title}: {ended.state} {ended.message}")
    return {model: run.id for model, run in asked.items()}


@dataclass
class Sweeps:
    """Sweeps one after the other, so that one is always under way."""

    store: Store
    started: list[Run] = field(default_factory=list)

    def go_on(self) -> None:
        """Starts the next where the last has ended."""
        if not self.started or self.store.get(self.started[-1].id).ended:
            self.started.append(submit(self.store, SweepRun("writer", step=0.02, seeds=8, n=200 + len(self.started))))

    def told(self) -> str:
        """How each of them ended, and the points of the last."""
        states = Counter(self.store.get(run.id).state for run in self.started)
        points = len(self.store.points(self.started[-1].id))
        return ", ".join(f"{n} {state}" for state, n in states.items()) + f" after {points} points"

    def stop(self) -> None:
        """Ends the last, and waits until it has."""
        self.store.cancel(self.started[-1].id)
        wait(self.store, self.store.get(self.started[-1].id), MANY.patience)


@dataclass(frozen=True)
class Measured:
    """What came of it."""

    sessions: list[Session]
    memory: dict[str, dict[str, float]]
    sweeps: str
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
        idle = [f"session {one.number} did nothing" for one in self.sessions if not one.waited]
        return [*met, *idle, *grown]


async def measure(server: AppServer, n: int, seconds: float, pause: float, pictures: Path | None) -> Measured:
    """Drives so many sessions for so many seconds, and waits so many before memory is read for the last time."""
    watched, sweeps = Watched(server), Sweeps(Store(server.home))
    ensure_workers(sweeps.store, ["desk"])  # as `make run` does
    curve_of = curves(sweeps.store)
    sweeps.go_on()
    tell("there is a curve of every model, and a sweep runs")

    def session(number: int, pace: Pace) -> Session:
        return Session(number, server.address, curve_of[MODELS[number % len(MODELS)]], pace, pictures)

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        for number in range(min(n, len(MODELS))):  # one by one: what is loaded once is no growth
            first = session(number, FIRST)
            await first.work(browser, 0.0)
            if first.errors or first.mixed:
                raise RuntimeError(f"a session alone met {[*first.errors, *first.mixed]}")
            tell(f"a session of the {first.model} has seen every page")
        before = watched.now()
        tell(f"now {n} sessions for {seconds:.0f} seconds")
        sessions = [session(number, MANY) for number in range(n)]
        started = time.monotonic()
        until = started + n * SECONDS_BETWEEN_ARRIVALS + seconds
        tasks = [asyncio.create_task(one.come(browser, until)) for one in sessions]
        while not all(task.done() for task in tasks):
            sweeps.go_on()
            watched.look()
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
        for task in tasks:
            task.result()
        took = time.monotonic() - started
        sweeps.stop()
        tell(f"all sessions are closed; memory is looked at again in {pause:.0f} seconds")
        await asyncio.sleep(pause)
        await visit(browser, server.address)
        await browser.close()
    memory = {"before": before, "most": watched.peak, "after": watched.now()}
    return Measured(sessions, memory, sweeps.told(), took)


async def visit(browser: Browser, address: str) -> None:
    """Opens a page and leaves: Streamlit throws old sessions away when the next one ends."""
    page = await browser.new_page()
    await page.goto(f"{address}/runs")
    await page.locator(".hl-title").first.wait_for()
    await page.close()
    await asyncio.sleep(SECONDS_TO_LEAVE)


def table(found: Measured) -> str:
    """The figures as Markdown."""
    waited = {what: [took for one in found.sessions for took in one.waited.get(what, ())] for what in WAITED}
    rows = [
        ("sessions", f"{len(found.sessions)} for {found.seconds:.0f} s"),
        *((f"{what}: times, median, slowest", spread(took)) for what, took in waited.items()),
        ("errors: scripts, console, boxes, no answer", str(sum(len(one.errors) for one in found.sessions))),
        ("masks or models of another session", str(sum(len(one.mixed) for one in found.sessions))),
        ("sweeps beside it", found.sweeps),
    ]
    sizes = found.memory
    for name in sizes["before"]:
        told = [
            f"{sizes[when][name]:.0f} MB" if name in sizes[when] else "ended" for when in ("before", "most", "after")
        ]
        rows.append((f"memory of the {name}: before, at most, after", ", ".join(told)))
    return "\n".join(["| what | figure |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def tell(what: str) -> None:
    """Says how far it is, beside the figures."""
    print(f"{time.strftime('%X')} {what}", file=sys.stderr, flush=True)


def spread(seconds: list[float]) -> str:
    """How often, the median, and the slowest."""
    return f"{len(seconds)}, {median(seconds):.1f} s, {max(seconds):.1f} s" if seconds else "0"


def main() -> None:
    """Measures, prints, and exits with 1 where a promise is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=25)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--pause", type=float, default=SECONDS_TO_FORGET, help="seconds before the last look at memory")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of pages on which something was missing")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder) / "home") as server:
        found = asyncio.run(measure(server, given.sessions, 60 * given.minutes, given.pause, given.pictures))
    print(table(found))
    load = ", ".join(f"{one:.1f}" for one in psutil.getloadavg())
    print(f"\n{psutil.cpu_count()} cores, load {load}; allowed growth in MB: {MOST_GROWTH_MB}")
    for number, fault in zip(count(1), found.faults, strict=False):
        print(f"{number}. {fault}")
    sys.exit(bool(found.faults))


if __name__ == "__main__":
    main()
