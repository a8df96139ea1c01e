"""Many browser sessions on one server beside a running sweep: errors, cross-talk, and memory before and afterwards.

Run as `python -m benchmarks.load`; it takes about 25 minutes and exits with 1 on an error, on a session that
sees anything of another's or never got round, or where memory grew by more than is allowed. A fresh server with a store
of its own is driven by 25 profiles of one Chromium, which come one after the other and then all stay for five minutes;
benchmarks/load_session.py tells what each does. Memory is resident memory: before, once all models and pages were seen
by one session alone and a sweep runs; afterwards, once every session is closed and the server has forgotten it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median

import psutil
from playwright.async_api import Browser, async_playwright

from benchmarks.load_session import FIRST, MANY, MODELS, Pace, Session
from headscope.runs.client import submit, wait
from headscope.runs.execution.workers import ensure_workers, running_workers
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import DONE, Run
from headscope.runs.store import Store
from tools.app_server import BROWSER_FLAGS, AppServer, running_server
from tools.browser import chromium

MOST_GROWTH_MB = {"server": 100.0, "worker": 200.0}
SECONDS_OF_A_CURVE = 300
SECONDS_TO_FORGET = 150  # Streamlit keeps a closed session for two minutes, for a tab that comes back
SECONDS_TO_LEAVE = 5
SECONDS_BETWEEN_ARRIVALS = 15.0
SECONDS_BETWEEN_POLLS = 2.0
MB = 2**20
BROWSERS = "browsers"


@dataclass
class Watched:
    """The server and its workers by process: the most memory they had, and the processor time they took."""

    server: AppServer
    peak: dict[str, float] = field(default_factory=dict)
    worked: Counter[str] = field(default_factory=Counter)
    _clocks: dict[int, float] = field(default_factory=dict)

    def processes(self) -> dict[str, psutil.Process]:
        """Those that run now, by name."""
        assert self.server.process is not None
        workers = running_workers(Store(self.server.home))
        pids = {"server": self.server.process.pid} | {f"worker {place}": one.pid for place, one in workers.items()}
        return {name: psutil.Process(pid) for name, pid in pids.items() if psutil.pid_exists(pid)}

    def now(self) -> dict[str, float]:
        """Resident memory in MB."""
        return {name: one.memory_info().rss / MB for name, one in self.processes().items()}

    def look(self) -> None:
        """Keeps the most memory that was seen, and adds up the time that was worked since the last look."""
        own = self.processes()
        for name, size in self.now().items():
            self.peak[name] = max(size, self.peak.get(name, 0.0))
        known = {one.pid: name for name, one in own.items()}
        for one in [*own.values(), *psutil.Process().children(recursive=True)]:
            name = known.get(one.pid, BROWSERS)
            try:
                spent = sum(one.cpu_times()[:2])
            except psutil.NoSuchProcess:
                continue
            self.worked[name] += spent - self._clocks.get(one.pid, spent)  # the first look only sets the clock
            self._clocks[one.pid] = spent


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
class MeasurementCache:
    """What came of it; `worked` is processor time."""

    sessions: list[Session]
    memory: dict[str, dict[str, float]]
    sweeps: str = ""
    seconds: float = 0.0
    worked: dict[str, float] = field(default_factory=dict)

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
        idle = [f"session {one.number} finished no whole round" for one in self.sessions if not one.rounds]
        return [*met, *idle, *grown]


@dataclass(frozen=True)
class Plan:
    """How many sessions, for how many seconds once all are there, and how many seconds before the last look."""

    n: int
    seconds: float
    pause: float
    pictures: Path | None = None


async def measure(server: AppServer, plan: Plan) -> MeasurementCache:
    """Drives the sessions, and gives what they met."""
    watched, store = Watched(server), Store(server.home)
    sweeps = Sweeps(store)
    ensure_workers(store, ["interactive"])  # as `make run` does
    curve_of: dict[str, str] = {}

    def session(number: int, pace: Pace) -> Session:
        model = MODELS[number % len(MODELS)]
        return Session(number, server.address, pace, store, curve_of.get(model, ""), plan.pictures)

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        firsts = range(min(plan.n, len(MODELS)))
        await go_alone(browser, [session(number, FIRST) for number in firsts])
        curve_of |= curves(store)  # now, so that they stand at the top of the table
        sweeps.go_on()
        tell("there is a curve of every model, and a sweep runs")
        await go_alone(browser, [session(number, FIRST) for number in firsts])
        before = watched.now()
        tell(f"now {plan.n} sessions, for {plan.seconds:.0f} seconds once all are there")
        sessions = [session(number, MANY) for number in range(plan.n)]
        started, told = time.monotonic(), 0
        arrived = started + (plan.n - 1) * SECONDS_BETWEEN_ARRIVALS
        tasks = [
            asyncio.create_task(one.come(browser, one.number * SECONDS_BETWEEN_ARRIVALS, arrived + plan.seconds))
            for one in sessions
        ]
        while not all(task.done() for task in tasks):
            sweeps.go_on()
            watched.look()
            told = tell_errors(sessions, told)
            await asyncio.sleep(SECONDS_BETWEEN_POLLS)
        for task in tasks:
            task.result()
        took = time.monotonic() - started
        sweeps.stop()
        tell(f"all sessions are closed; memory is looked at again in {plan.pause:.0f} seconds")
        await asyncio.sleep(plan.pause)
        await visit(browser, server.address)
        await browser.close()
    memory = {"before": before, "most": watched.peak, "after": watched.now()}
    return MeasurementCache(sessions, memory, sweeps.told(), took, dict(watched.worked))


def tell_errors(sessions: list[Session], told: int) -> int:
    """Says the newest of what went wrong where there is more of it than was told; gives how much there is."""
    met = [fault for one in sessions for fault in (*one.errors, *one.mixed)]
    if len(met) > told:
        newest = max(sessions, key=lambda one: len(one.errors) + len(one.mixed))
        tell(f"{len(met)} errors; session {newest.number}: {[*newest.errors, *newest.mixed][-1]}")
    return len(met)


async def go_alone(browser: Browser, firsts: list[Session]) -> None:
    """A round of each of these, one by one: what is loaded and computed once is no growth."""
    for first in firsts:
        await first.work(browser, 0.0)
        if first.errors or first.mixed:
            raise RuntimeError(f"a session alone met {[*first.errors, *first.mixed]}")
        tell(f"a session of the {first.model} has seen every page")


async def visit(browser: Browser, address: str) -> None:
    """Opens a page and leaves: Streamlit throws old sessions away when the next one ends."""
    page = await browser.new_page()
    await page.goto(f"{address}/runs")
    await page.locator(".hl-title").first.wait_for()
    await page.close()
    await asyncio.sleep(SECONDS_TO_LEAVE)


def table(found: MeasurementCache) -> str:
    """The figures as Markdown."""
    waited: dict[str, list[float]] = {}
    for one in found.sessions:
        for what, took in one.waited.items():
            waited.setdefault(what, []).extend(took)
    rounds = [one.rounds for one in found.sessions]
    cores = sorted(found.worked.items(), key=lambda pair: -pair[1])
    rows = [
        ("sessions", f"{len(found.sessions)} for {found.seconds:.0f} s"),
        ("rounds of a session: least, median, most", f"{min(rounds)}, {median(rounds):.0f}, {max(rounds)}"),
        *((f"{what}: times, median, slowest", spread(took)) for what, took in waited.items()),
        ("errors: scripts, console, boxes, no answer", str(sum(len(one.errors) for one in found.sessions))),
        ("masks, models or curves of another session", str(sum(len(one.mixed) for one in found.sessions))),
        ("sweeps beside it", found.sweeps),
        ("cores in use, on average", ", ".join(f"{name} {took / found.seconds:.2f}" for name, took in cores)),
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
    plan = Plan(given.sessions, 60 * given.minutes, given.pause, given.pictures)
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder) / "home") as server:
        found = asyncio.run(measure(server, plan))
    print(table(found))
    load = ", ".join(f"{one:.1f}" for one in psutil.getloadavg())
    print(f"\n{psutil.cpu_count()} cores, load {load}; allowed growth in MB: {MOST_GROWTH_MB}")
    for number, fault in zip(count(1), found.faults, strict=False):
        print(f"{number}. {fault}")
    sys.exit(bool(found.faults))


if __name__ == "__main__":
    main()
