"""Goes on with a pass where its gates first differ from those of an earlier pass, instead of from the start.

Whatever ended before a layer began cannot depend on the gates of that layer. So one pass is recorded: what every block
(an entry of a list of layers) and every attention layer gave, and when. A later pass over the same rows, once or
several times over, is handed what it would only compute again. Nothing is known about any family of models: what ran
more than once, as shared layers do, or gave what cannot be repeated row by row, is computed anew, and then a pass is as
exact and only slower.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import count, pairwise
from typing import Any

import torch
from torch import Tensor, nn

from headscope.models.gating import gated, install
from headscope.models.head_model import HeadModel
from headscope.models.sites import Site


@dataclass(eq=False)
class Recording:
    """What the blocks and attention layers of a model gave in one pass over `n_rows` rows, and in which order they ran.

    It holds the hidden states after every block, and the contexts of all heads as they were before gates acted.
    `ungoverned` are attention layers that no gate reaches; see headscope/models/partial_forward.py.
    """

    head_model: HeadModel
    n_rows: int
    ungoverned: frozenset[Site] = frozenset()
    _calls: dict[nn.Module, list[_Call]] = field(default_factory=dict)
    _projections: dict[nn.Module, list[_Projection]] = field(default_factory=dict)
    _latest: tuple[_Projection, Any] | None = None
    _clock: Iterator[int] = field(default_factory=lambda: count(1))

    def beginning(self, site: Site) -> int:
        """When the attention layer began, as a number to compare with that of others; 0 if that is not known."""
        return min((call.began for call in self._calls.get(self._module(site.core), ())), default=0)

    def known(self, site: Site) -> dict[nn.Module, Answer]:
        """The modules that need not run if no gate changed before those of this attention layer, and what they gave.

        The layer itself is among them: its gates act late, at the input of its output projection. So are those that
        no gate reaches.
        """
        beginning = self.beginning(site)
        found: dict[nn.Module, Answer] = {}
        for module in self._calls:
            call = self._only_call(module)
            if call is None:
                continue
            if call.ended < beginning or any(
                self._is_free_of_gates(module, call, one) for one in {site, *self.ungoverned}
            ):
                found[module] = call.again
        return found

    def _is_free_of_gates(self, module: nn.Module, call: _Call, site: Site) -> bool:
        """Whether the call is that of the site's attention layer, and its output projection is outside or the end."""
        projections = self._projections.get(self._module(site.output), ())
        if module is not self._module(site.core) or len(projections) != 1:
            return False
        return call.ended < projections[0].began or call.parts[0] is projections[0]

    def _only_call(self, module: nn.Module) -> _Call | None:
        """The call of a module that ran once and gave what can be given again."""
        calls = self._calls[module]
        return calls[0] if len(calls) == 1 and all(part.fits(self.n_rows) for part in calls[0].parts) else None

    def _module(self, path: str) -> nn.Module:
        return self.head_model.model.get_submodule(path)

    def begin(self, module: nn.Module) -> None:
        """Notes that a block or an attention layer begins."""
        self._calls.setdefault(module, []).append(_Call(next(self._clock), self.n_rows))

    def end(self, module: nn.Module, gave: Any) -> None:
        """Notes that it ends, and what it gave."""
        call = next(call for call in reversed(self._calls[module]) if not call.ended)
        call.ended = next(self._clock)
        call.is_tuple = isinstance(gave, tuple)
        call.parts = [self._part(part) for part in (gave if call.is_tuple else (gave,))]

    def begin_projection(self, module: nn.Module, context: Tensor) -> None:
        """Notes that an output projection begins, and the context of the heads."""
        call = _Projection(module, _Part(context), next(self._clock))
        self._projections.setdefault(module, []).append(call)

    def end_projection(self, module: nn.Module, gave: Any) -> None:
        """Notes what it gave, in case that is what the layer around it gives."""
        self._latest = (self._projections[module][-1], gave)

    def _part(self, gave: Any) -> _Part | _Projection:
        return self._latest[0] if self._latest is not None and gave is self._latest[1] else _Part(gave)


@contextmanager
def recording(head_model: HeadModel, n_rows: int, ungoverned: frozenset[Site] = frozenset()) -> Iterator[Recording]:
    """Records the one pass, without derivatives, that the current thread makes while the context lasts."""
    install(head_model)
    found = Recording(head_model, n_rows, ungoverned)
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))  # tensors of that mode do not tell if they were overwritten
        stack.enter_context(torch.no_grad())
        stack.callback(_RECORDING.reset, _RECORDING.set(found))
        for module in _units(head_model):
            stack.callback(module.register_forward_pre_hook(partial(_begin, found)).remove)
            # before other hooks, which act on what is given again as well
            stack.callback(module.register_forward_hook(partial(_end, found), prepend=True).remove)
        for module in {head_model.model.get_submodule(site.output) for site in head_model.sites if site.kept}:
            # in front of the gates, so that contexts are there as they were before them
            stack.callback(module.register_forward_pre_hook(partial(_begin_projection, found), prepend=True).remove)
            stack.callback(module.register_forward_hook(partial(_end_projection, found)).remove)
        yield found
    found._latest = None


@contextmanager
def resuming(found: Recording, site: Site, times: int = 1) -> Iterator[None]:
    """Lets passes of the current thread go on at this attention layer while the context lasts.

    They must be over the recorded rows, all of them `times` times over, one copy of the batch after the other. The
    gates of attention layers that began before this one must be those of the recorded pass.
    """
    answers = {module: partial(again, times) for module, again in found.known(site).items()}
    with ExitStack() as stack:
        for module in answers:
            stack.enter_context(_standing_in(module))
        stack.callback(_ANSWERS.reset, _ANSWERS.set({**_ANSWERS.get(), **answers}))
        yield


Answer = Callable[[int], Any]
"""What a module gives, for all rows so many times over."""

_NOTHING: Mapping[nn.Module, Callable[[], Any]] = {}
_ANSWERS: ContextVar[Mapping[nn.Module, Callable[[], Any]]] = ContextVar("answers_of_resumed_pass", default=_NOTHING)
_RECORDING: ContextVar[Recording | None] = ContextVar("recorded_pass", default=None)


class _Part:
    """Something a module gave: a tensor with a row an example, or one row for all, can be given again, as None can."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.version = value._version if isinstance(value, Tensor) else 0

    def fits(self, n_rows: int) -> bool:
        """Whether it can be given again: the tensor has not been overwritten since."""
        if not isinstance(self.value, Tensor):
            return self.value is None
        return self.value.dim() > 1 and self.value.shape[0] in (1, n_rows) and self.value._version == self.version

    def again(self, n_rows: int, times: int) -> Any:
        """The rows `times` times over; a copy, so that nobody overwrites what was recorded."""
        if self.value is None:
            return None
        return self.value.repeat(times if self.value.shape[0] == n_rows else 1, *[1] * (self.value.dim() - 1))


@dataclass(eq=False)
class _Projection:
    """A call of an output projection. It is not recorded what it gave: it runs again, and so its gates act."""

    module: nn.Module
    context: _Part
    began: int

    def fits(self, n_rows: int) -> bool:
        """Whether the context can be given again."""
        return self.context.fits(n_rows)

    def again(self, n_rows: int, times: int) -> Any:
        """What it gives under the gates that are active now."""
        return self.module(self.context.again(n_rows, times))


@dataclass(eq=False)
class _Call:
    """One call of a block or an attention layer: when it began and ended, and what it gave."""

    began: int
    n_rows: int
    ended: int = 0
    is_tuple: bool = False
    parts: list[_Part | _Projection] = field(default_factory=list)

    def again(self, times: int) -> Any:
        """What it gave, for all rows `times` times over."""
        parts = tuple(part.again(self.n_rows, times) for part in self.parts)
        return parts if self.is_tuple else parts[0]


def _begin(found: Recording, module: nn.Module, args: tuple[Any, ...]) -> None:
    del args
    if _RECORDING.get() is found:  # else it is the pass of another thread
        found.begin(module)


def _end(found: Recording, module: nn.Module, args: tuple[Any, ...], gave: Any) -> None:
    del args
    if _RECORDING.get() is found:
        found.end(module, gave)


def _begin_projection(found: Recording, module: nn.Module, args: tuple[Tensor, ...]) -> None:
    if _RECORDING.get() is found:
        found.begin_projection(module, args[0])


def _end_projection(found: Recording, module: nn.Module, args: tuple[Tensor, ...], gave: Any) -> None:
    del args
    if _RECORDING.get() is found:
        found.end_projection(module, gave)


def _units(head_model: HeadModel) -> set[nn.Module]:
    """All attention layers, and the blocks that hold them: entries of the outermost list of modules."""
    found = set()
    for site in head_model.sites:
        names = site.core.split(".")
        chain = [head_model.model.get_submodule(".".join(names[: n + 1])) for n in range(len(names))]
        blocks = [inner for outer, inner in pairwise(chain) if isinstance(outer, nn.ModuleList)]
        found |= {chain[-1], *blocks[:1]}
    return found


class _StandIn:
    """The forward of a module for as long as somebody resumes: in a thread that has an answer, it gives that."""

    def __init__(self, module: nn.Module) -> None:
        functools.update_wrapper(self, module.forward)
        self.module = module
        self.forward = module.forward
        self.own = module.__dict__.get("forward")  # some libraries put a forward on the instance
        self.users = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        answer = _ANSWERS.get().get(self.module)
        return self.forward(*args, **kwargs) if answer is None else answer()


_STAND_INS: dict[nn.Module, _StandIn] = {}
_LOCK = threading.Lock()


@contextmanager
def _standing_in(module: nn.Module) -> Iterator[None]:
    """One stand-in however many contexts and threads ask for it; the last to leave takes it away."""
    with _LOCK:
        if module not in _STAND_INS:
            _STAND_INS[module] = _StandIn(module)
            module.__dict__["forward"] = _STAND_INS[module]
        _STAND_INS[module].users += 1
    try:
        yield
    finally:
        with _LOCK:
            stand_in = _STAND_INS[module]
            stand_in.users -= 1
            if stand_in.users == 0:
                del _STAND_INS[module], module.__dict__["forward"]
                if stand_in.own is not None:
                    module.__dict__["forward"] = stand_in.own


LEAST, MOST = 0.25, 0.75
"""Gates that are tried: no two alike, so that nothing cancels."""


@torch.no_grad()
def ungoverned(head_model: HeadModel, run: Callable[[], object]) -> frozenset[Site]:
    """The attention layers whose heads give the same whatever the gates; `run` makes a pass, over a row or more.

    Found out by two passes. A model of one bank has none but its first. Only on the CPU: to compare is to read values
    back, for which any other device would have to wait.
    """
    if len(head_model.grid.banks) < 2 or head_model.device.type != "cpu":
        return frozenset()
    n = len(head_model.grid)
    first, second = (_contexts(head_model, run, gates) for gates in (torch.ones(n), torch.linspace(LEAST, MOST, n)))
    return frozenset(site for site in first if _are_equal(first[site], second.get(site, [])))


def _contexts(head_model: HeadModel, run: Callable[[], object], gates: Tensor) -> dict[Site, list[Tensor]]:
    """What the heads of every attention layer give before gates act, call by call."""
    found: dict[Site, list[Tensor]] = {}
    with gated(head_model, gates), ExitStack() as stack:
        for site in head_model.sites:
            output = head_model.model.get_submodule(site.output)
            hook = output.register_forward_pre_hook(partial(_note, found.setdefault(site, [])), prepend=True)
            stack.callback(hook.remove)
        run()
    return found


def _note(seen: list[Tensor], module: nn.Module, args: tuple[Any, ...]) -> None:
    del module
    seen.append(args[0])


def _are_equal(first: list[Tensor], second: list[Tensor]) -> bool:
    return len(first) == len(second) == 1 and torch.equal(first[0], second[0])
