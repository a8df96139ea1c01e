"""One browser session of the load benchmark: what it does on the pages, how long it waited, and what went wrong.

A session opens the app by a link to the Prune Lab, with a model of its own. From then on it moves by the side bar, as
people do: it switches heads and reads the numbers, picks a head on the Importance page and reads its card, ticks the
sweep of its model on the Runs page and reads the curve. Once, in its first round, it opens the link of its mask anew.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import Browser, ConsoleMessage, Page
from playwright.async_api import Error as BrowserError

from headscope.runs.store import Store

MODELS = ("looker", "reader", "translator", "writer", "all-attention-writer")
CLICKS = 4
"""Heads that are switched in a round."""

SECONDS_FOR_NUMBERS = 20
"""After which a session goes on although the numbers of its mask are still being measured, which the page says."""

SECONDS_FOR_A_TICK = 20
"""After which a session ticks again: the table may have moved under the pointer."""

SECONDS_BETWEEN_GLANCES = 1.0

CELLS = '.hl-editing [role="gridcell"]'
GRID = ".st-key-grid [role=gridcell]"
OFF = ".hl-editing .hl-off"
NAMES = '(cells) => cells.map((cell) => cell.getAttribute("aria-label").split(",")[0])'
CURVE = (".st-key-compare-chart", ".st-key-picked-run")
NUMBERS = ".hl-numbers > div"
HISTORY = ".st-key-history [data-testid=stDataFrame]"
ROW = 35
"""Pixels of a row of the table of runs, which is a picture."""

PROBES = ("/_stcore/health", "/_stcore/host-config")
"""What Streamlit's own script asks for below a deep link first: that it is not there tells it where the server is."""

BOXES = '[data-testid="stException"], [data-testid="stAlertContentError"]'


@dataclass(frozen=True)
class Pace:
    """Seconds until something counts as not there, and between two actions of a session, at least and at most."""

    patience: float
    thinking: tuple[float, float]


FIRST = Pace(300, (0.1, 0.5))
"""Of a first visit, which has scores computed that every later one finds."""

MANY = Pace(90, (10.0, 30.0))


@dataclass
class Session:
    """One profile of the browser, with a model and a mask of its own, and what it met."""

    number: int
    address: str
    pace: Pace
    store: Store
    curve: str = ""
    pictures: Path | None = None
    mask: set[str] = field(default_factory=set)
    head: str = ""
    rounds: int = 0
    waited: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)

    @property
    def model(self) -> str:
        """The model that this session looks at."""
        return MODELS[self.number % len(MODELS)]

    async def come(self, browser: Browser, after: float, until: float) -> None:
        """Begins to work after so many seconds: people come one after the other."""
        await asyncio.sleep(after)
        await self.work(browser, until)

    async def work(self, browser: Browser, until: float) -> None:
        """Clicks and reads until the time is over and the round too; a part without an answer is an error."""
        draw = random.Random(self.number)
        context = await browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        page = await context.new_page()
        page.set_default_timeout(1000 * self.pace.patience)
        page.on("pageerror", lambda error: self.errors.append(f"script: {error}"))
        page.on("console", self._hear)
        parts: list[Callable[..., Awaitable[None]]] = [self.arrive, self.edit, self.share, self.score, self.read_curve]
        try:
            while True:
                met = len(self.errors)
                for part in parts:
                    await self._try(part, page, draw)
                self.rounds += len(self.errors) == met
                parts = [self.come_back, self.edit, self.score, self.read_curve]
                if time.monotonic() > until:
                    return
        finally:
            await context.close()

    async def arrive(self, page: Page, draw: random.Random) -> None:
        """Opens the app by a link to the Prune Lab with a model."""
        del draw
        with self._timing("app opened by a link"):
            await page.goto(f"{self.address}/prune_lab?model={self.model}")
            await page.locator(CELLS).first.wait_for()

    async def come_back(self, page: Page, draw: random.Random) -> None:
        """Goes back to the Prune Lab, where the mask is as this session left it."""
        await self._think(draw)
        with self._timing("Prune Lab opened from the side bar"):
            await self._go(page, "Prune Lab", CELLS)
            await self._expect_mask(page)

    async def edit(self, page: Page, draw: random.Random) -> None:
        """Switches heads, and reads what the server counts and measures."""
        await page.locator(CELLS).first.wait_for()
        n = await page.locator(CELLS).count()
        for _ in range(CLICKS):
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
        await self._expect_model(page)

    async def share(self, page: Page, draw: random.Random) -> None:
        """Opens the link that the mask is in, anew."""
        await self._think(draw)
        with self._timing("link of the mask opened anew"):
            await page.reload()
            await page.locator(CELLS).first.wait_for()
            await self._expect_mask(page)
        await self._expect_model(page)

    async def score(self, page: Page, draw: random.Random) -> None:
        """Picks a head on the Importance page and reads its card."""
        await self._think(draw)
        with self._timing("Importance opened from the side bar"):
            await self._go(page, "Importance", GRID)
        await self._think(draw)
        cell = page.locator(GRID).nth(draw.randrange(await page.locator(GRID).count()))
        self.head = (await cell.get_attribute("aria-label") or "").split(",")[0]
        with self._timing("card of a head read"):
            await cell.click()
            await self._settled(lambda: self._card_is_of_head(page), f"no card of {self.head}")
        await self._expect_model(page)

    async def read_curve(self, page: Page, draw: random.Random) -> None:
        """Ticks the sweep of its model in the table of runs, and reads the curve; without one it only looks."""
        await self._think(draw)
        with self._timing("Runs opened from the side bar"):
            await self._go(page, "Runs", HISTORY)
        if not self.curve:
            return
        await self._think(draw)
        with self._timing("curve read"):
            await self._tick(page)
            await self._expect_curve(page)
        await self._expect_model(page)

    async def _go(self, page: Page, name: str, mark: str) -> None:
        await page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).click()
        await page.locator(mark).first.wait_for()

    async def _tick(self, page: Page) -> None:
        """Ticks the box before the row of the curve, by its place, until the link names it."""

        async def is_named() -> bool:
            return self.curve in page.url

        until = time.monotonic() + self.pace.patience
        while not await is_named():
            if time.monotonic() > until:
                raise TimeoutError(f"no tick was taken within {self.pace.patience:.0f} seconds")
            place = [run.id for run in self.store.runs()].index(self.curve)
            await page.locator(HISTORY).first.click(position={"x": ROW / 2, "y": (place + 1.5) * ROW})
            with suppress(TimeoutError):
                await self._settled(is_named, "the tick was not taken", SECONDS_FOR_A_TICK)

    async def _think(self, draw: random.Random) -> None:
        await asyncio.sleep(draw.uniform(*self.pace.thinking))

    @contextmanager
    def _timing(self, what: str) -> Iterator[None]:
        """Notes how long it took, if it came."""
        started = time.monotonic()
        yield
        self.waited.setdefault(what, []).append(time.monotonic() - started)

    async def _try(self, part: Callable[..., Awaitable[None]], page: Page, draw: random.Random) -> None:
        met = len(self.errors)
        try:
            await part(page, draw)
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
            if shown != expected:
                await asyncio.sleep(SECONDS_BETWEEN_GLANCES)
        if shown != expected:
            self.mixed.append(f"session {self.number}: mask {shown} instead of {expected}")

    async def _expect_curve(self, page: Page) -> None:
        """Waits until the curve of this session's model is drawn and named; another's at the end is not its own."""
        named, shown = f"Sweep of {self.model}:", [""]

        async def is_drawn() -> bool:
            shown[:] = [" ".join(await page.locator(place).all_inner_texts()) for place in CURVE]
            return all(named in text for text in shown)

        try:
            await self._settled(is_drawn, f"no curve with {named!r}")
        except TimeoutError:
            if not any("Sweep of" in text for text in shown):
                raise
            self.mixed.append(f"session {self.number}: {[text[:80] for text in shown]} instead of {named!r}")

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

    async def _settled(self, look: Callable[[], Awaitable[bool]], otherwise: str, seconds: float | None = None) -> None:
        """Waits until it is so; the page's own rules forbid that the browser is told to wait for an expression."""
        patience = seconds or self.pace.patience
        until = time.monotonic() + patience
        while not await look():
            if time.monotonic() > until:
                raise TimeoutError(f"{otherwise} after {patience:.0f} seconds")
            await asyncio.sleep(SECONDS_BETWEEN_GLANCES)

    def _hear(self, said: ConsoleMessage) -> None:
        if said.type == "error" and not said.location["url"].endswith(PROBES):
            self.errors.append(f"console: {said.text[:200]}")
