"""A Ray cluster takes parts of a long run, or a whole one; only where HEADSCOPE_RAY names its address.

The run itself stays where it is: it asks for its parts in its own order and finds them done, waits for one that a node
is at, or does it itself. So a run gives the same with and without a cluster, and a lost node costs the part it was at.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from headscope.runs.ray.address import check_answers, ray_address
from headscope.runs.ray.transfer import Transfer, circumstances, code, transfers
from headscope.runs.run import Cancelled

if TYPE_CHECKING:
    from headscope.runs.kind import Kind, Workspace

SECONDS_BETWEEN_POLLS = 0.2
SECONDS_TO_LEAVE = 5.0
MOST_LOST = 20
"""Places that one run may lose before it goes on without the cluster."""

Record = dict[str, Any]
Keep = Callable[[Record], None]
Wanted = Mapping[str, Keep]
"""Parts of a run as its kind spells them, in the order in which they are needed, and who keeps what is found."""

log = logging.getLogger("headscope.jobs")


class Alone:
    """Local executor, without remote workers: every part is done where the run is."""

    def at_work(self, part: str) -> bool:
        """Whether somebody else is at the part; if not, it is kept already or is the caller's to do."""
        del part
        return False


@contextmanager
def helped(kind: Kind, workspace: Workspace, wanted: Callable[[], Wanted]) -> Iterator[Alone]:
    """Whoever does parts of the run meanwhile; what is unfinished at the end is dropped."""
    parts = wanted() if ray_address() else {}
    if not parts:
        yield Alone()
        return
    workspace.say(f"asking the cluster at {ray_address()}")
    with connected() as n_places:
        places = Places(kind, parts, min(len(parts), n_places), workspace.is_wanted)
        try:
            yield places
        finally:
            places.close()


@dataclass(frozen=True)
class Shared(MutableMapping[str, Record]):
    """A cache that waits for what others are at; `prefix` and a key of the cache are the name of a part."""

    cache: MutableMapping[str, Record]
    others: Alone
    prefix: str = ""

    def __getitem__(self, key: str) -> Record:
        while self.others.at_work(self.prefix + key):
            pass
        return self.cache[key]

    def __setitem__(self, key: str, record: Record) -> None:
        self.cache[key] = record

    def __delitem__(self, key: str) -> None:
        del self.cache[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.cache)

    def __len__(self) -> int:
        return len(self.cache)


class Places(Alone):
    """Processes on the nodes, each with the model in its memory and at one part at a time.

    A thread hands out the parts and keeps what comes back. A part whose place is lost is handed out again.
    """

    def __init__(self, kind: Kind, wanted: Wanted, n: int, is_wanted: Callable[[], bool] = lambda: True) -> None:
        self.lost: list[str] = []
        self.refused = ""
        self._is_wanted = is_wanted
        self._order = Order.of(kind)
        self._wanted = wanted
        self._queue = deque(wanted)
        self._under_way: dict[Any, tuple[Any, str]] = {}
        self._idle: list[Any] = []
        self._changed = threading.Condition()
        self._ended = False
        self._trouble: Exception | None = None
        for _ in range(n):
            self._open()
        self._thread = threading.Thread(target=self._tend, daemon=True)
        self._thread.start()

    def at_work(self, part: str) -> bool:
        """Waits a little for a part that is under way; one that is not is taken off the queue.

        It is here that a run waits for nodes, so a run that nobody wants any more ends here as Cancelled.
        """
        if not self._is_wanted():
            raise Cancelled
        with self._changed:
            if self._trouble is not None:
                raise self._trouble
            if any(one == part for _, one in self._under_way.values()):
                self._changed.wait(SECONDS_BETWEEN_POLLS)
                return True
            if self.refused and not self._under_way and not self._idle:
                raise ValueError(self.refused)
            with suppress(ValueError):
                self._queue.remove(part)
            return False

    def close(self) -> None:
        """Lets all places go."""
        with self._changed:
            self._ended = True
        self._thread.join()
        leave(self._idle)
        for place in [*self._idle, *(place for place, _ in self._under_way.values())]:
            let_go(place)

    def _open(self) -> None:
        """Asks for a place; it gets parts once it has answered, for the cluster may be busy."""
        place = new_place()
        self._under_way[place.open.remote(*self._order.given)] = place, ""

    def _tend(self) -> None:
        try:
            while not self._ended:
                for answer in self._ready():
                    self._take(answer)
        except Exception as error:  # such as a full disk: the run ends as if it had met it
            with self._changed:
                self._trouble = error
                self._changed.notify_all()

    def _ready(self) -> list[Any]:
        if not self._under_way:
            time.sleep(SECONDS_BETWEEN_POLLS)
            return []
        return ready(list(self._under_way))

    def _take(self, answer: Any) -> None:
        """Keeps what a place has found, and gives it and all that are idle more to do."""
        place, part = self._under_way[answer]
        found = received(answer)
        if part and isinstance(found, dict):
            self._wanted[part](found)
        with self._changed:
            del self._under_way[answer]
            if isinstance(found, Lost):
                self._replace(part)
            elif isinstance(found, ValueError) and not part:
                self.refused = str(found)
                let_go(place)
            else:  # a part that failed fails again where the run is, and is told there
                self._idle.append(place)
            while self._idle and self._queue:
                self._hand_out(self._idle.pop(), self._queue.popleft())
            self._changed.notify_all()

    def _hand_out(self, place: Any, part: str) -> None:
        self._under_way[place.do.remote(part)] = place, part

    def _replace(self, part: str) -> None:
        self.lost.append(part)
        log.warning("a place of the cluster was lost%s", f" while it was at {part!r}" if part else "")
        if part:
            self._queue.appendleft(part)
        if len(self.lost) < MOST_LOST:
            self._open()


class Lost(Exception):  # noqa: N818 - it is no error of anybody's
    """A place is gone, with its node or alone."""


@dataclass(frozen=True)
class Order:
    """What a place has to know to do parts of a run; files lie in the cluster and go where they are missing."""

    key: str
    spec: dict[str, Any]
    under: dict[str, Any]
    sent: list[tuple[Transfer, Any]]
    program: Any = field(repr=False)

    @classmethod
    def of(cls, kind: Kind) -> Order:
        """Puts model, data and program into the cluster once."""
        import ray

        spec = asdict(kind)
        sent = [(transfer, ray.put(transfer.read())) for transfer in transfers(spec)]
        return cls(kind.key, spec, circumstances(), sent, ray.put(code()))

    @property
    def given(self) -> tuple[Any, ...]:
        """What `Place.open` takes."""
        plain = [(asdict(transfer), [contents]) for transfer, contents in self.sent]
        return self.program, self.key, self.spec, self.under, plain


@contextmanager
def connected() -> Iterator[int]:
    """How many places the cluster has room for, while this process is a part of it."""
    address = ray_address()
    check_answers(address)
    try:
        import ray
    except ImportError as error:
        raise ValueError(f"HEADSCOPE_RAY is {address!r} and Ray is not here: pip install 'headscope[ray]'") from error
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise ValueError(f"this machine is no part of the Ray cluster at {address}: {reason}") from error
    try:
        yield max(1, _room(ray.cluster_resources()))  # type: ignore[no-untyped-call]  # Ray is typed in part
    finally:
        ray.shutdown()


def _room(resources: dict[str, float]) -> int:
    return int(min(resources.get("CPU", 0) // cpus(), resources.get(resource(), 0)))


def resource() -> str:
    """What a place takes up: a GPU where this process computes on one, else CPUs."""
    from headscope.models.devices import pick_device

    return "GPU" if pick_device("auto").type == "cuda" else "CPU"


def cpus() -> int:
    """CPUs that a place takes up, and threads that it computes with: HEADSCOPE_RAY_CPUS, by default 1."""
    given = os.environ.get("HEADSCOPE_RAY_CPUS", "1")
    if not given.isdecimal() or not 1 <= int(given) <= 1024:
        raise ValueError(f"HEADSCOPE_RAY_CPUS is {given!r}; allowed is a whole number from 1 to 1024")
    return int(given)


def new_place() -> Any:
    """A process that the cluster is asked for; it is there once its first answer is."""
    import ray

    needs = {"num_cpus": cpus()} if resource() == "CPU" else {"num_cpus": cpus(), "num_gpus": 1}
    return ray.remote(_place()).options(scheduling_strategy="SPREAD", max_restarts=0, **needs).remote()


def _place() -> type:
    """What travels to a node by value, for the node need not have this program: it unpacks it and hands over."""

    class Place:
        def open(self, program: bytes, *given: Any) -> None:
            import io
            import os
            import sys
            import tempfile
            import zipfile

            self.folder = tempfile.TemporaryDirectory(prefix=f"headscope-place-{os.getpid()}-")
            zipfile.ZipFile(io.BytesIO(program)).extractall(self.folder.name)
            sys.path.insert(0, self.folder.name)
            from headscope.runs.ray.node import Hand

            self.hand = Hand(self.folder.name, *given)

        def do(self, part: str) -> Any:
            return self.hand.do(part)

        def begin(self, points: Any, files: Any) -> None:
            self.hand.begin(points, files)

        def go_on(self, seconds: float) -> Any:
            return self.hand.go_on(seconds)

        def leave(self) -> None:
            self.folder.cleanup()

    return Place


def ready(answers: list[Any]) -> list[Any]:
    """Those of the answers that are there, waiting a little for the first."""
    import ray

    with _telling_that_it_is_gone():
        found, _ = ray.wait(answers, timeout=SECONDS_BETWEEN_POLLS)
    return list(found)


def received(answer: Any) -> Any:
    """What a place answered: a value, the ValueError that it ended in, or that the place is lost."""
    import ray
    from ray.exceptions import GetTimeoutError, RayError, RayTaskError

    try:
        with _telling_that_it_is_gone():
            return ray.get(answer)
    except RayTaskError as error:
        cause = error.cause
        if isinstance(cause, ValueError | KeyError):
            return ValueError(str(cause.args[0] if cause.args else cause))
        return ValueError(f"{type(cause).__name__} on a node: {str(cause).partition(chr(10))[0][:200]}")
    except GetTimeoutError:
        raise
    except RayError as error:
        return Lost(str(error))


@contextmanager
def _telling_that_it_is_gone() -> Iterator[None]:
    """Ray says that a pipe is broken where its head was lost; an OSError stops a run, which can be resumed."""
    try:
        yield
    except OSError as error:
        raise OSError(
            f"the Ray cluster at {ray_address()} is gone; what was computed is kept: resume the run when it is back"
        ) from error


def leave(places: Sequence[Any]) -> None:
    """Lets places that are at nothing remove their files; those of others are removed by the next place there."""
    import ray

    with suppress(Exception):
        ray.get([place.leave.remote() for place in places], timeout=SECONDS_TO_LEAVE)


def let_go(place: Any) -> None:
    """Ends a place, whatever it is at."""
    import ray

    with suppress(Exception):
        ray.kill(place)
