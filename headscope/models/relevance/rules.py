"""Layer-wise relevance propagation as a backward pass: rules under which value times gradient is relevance.

While the rules hold, each operation that is not linear is replaced by a linear one that gives the same numbers here. So
the whole pass is linear in what enters it, the inputs and the constants that are added on the way: the output is the
sum of x df/dx over all that enters, and x df/dx anywhere in between is the relevance of x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from headscope.models.relevance.operations import AttentionRule, by_ratio, is_active, rules

COMPOSED_ACTIVATIONS = "transformers.activations"
"""Where activations are modules that may be written as several operations; each is one function of its input."""


@dataclass(eq=False)
class RelevancePass:
    """The inputs to give to the model, and all that enters the pass, as leaves of the autograd graph.

    `entered` are inputs of the model, or the embeddings that stand for them; `constants` are biases, embeddings of
    positions, learned tokens, and whatever else is added without regard to the input.
    """

    inputs: dict[str, Tensor]
    entered: list[Tensor] = field(default_factory=list)
    constants: list[Tensor] = field(default_factory=list)

    def constant(self, value: Any, beside: Tensor) -> Tensor:
        """A number or a tensor as a leaf that is remembered; `beside` is what it meets."""
        given = value.detach() if isinstance(value, Tensor) else beside.new_tensor(value)
        leaf = (given if given.is_floating_point() else given.to(beside.dtype)).requires_grad_()
        self.constants.append(leaf)
        return leaf


@contextmanager
def relevance_rules(
    model: nn.Module, inputs: Mapping[str, Tensor], attention: AttentionRule = "cp"
) -> Iterator[RelevancePass]:
    """Lets the rules hold while the current thread runs the model on the `inputs` of what is yielded.

    - linear layers, sums, residuals: in proportion to what is added, W_uv u / sum_u' W_u'v u', biases among it;
    - LayerNorm and RMSNorm: the deviation is a constant factor, the mean is not;
    - activations: f(x) is x times f(x) / x, a constant;
    - products of two values: half to each;
    - attention, "cp": its weights are constants, so all goes to the values (Ali et al. 2022);
    - attention, "attnlrp": half to the values, half to the weights; softmax is its Jacobian and a constant, scores go
      half to the queries and half to the keys (Achtibat et al. 2024).

    What the model computes stays the same, but for rounding. The rules belong to the current thread, so several may
    share a model; no parameter, no class and no function of a library is changed.
    """
    passing = RelevancePass(_with_leaves(inputs))
    passing.entered += [value for value in passing.inputs.values() if value.requires_grad]
    with ExitStack() as stack:
        stack.callback(_CURRENT.reset, _CURRENT.set(passing))
        for module in model.modules():
            if type(module).__module__ == COMPOSED_ACTIVATIONS:
                stack.callback(module.register_forward_hook(partial(_follow_module, passing)).remove)
        stack.enter_context(torch.enable_grad())
        stack.enter_context(_Following(passing, rules(attention)))
        yield passing


_CURRENT: ContextVar[RelevancePass | None] = ContextVar("relevance_pass", default=None)


def _with_leaves(inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The inputs, with images, sound and hidden states as leaves."""
    return {
        name: value.detach().clone().requires_grad_() if value.is_floating_point() and "mask" not in name else value
        for name, value in inputs.items()
    }


def _follow_module(passing: RelevancePass, module: nn.Module, args: tuple[Any, ...], output: Any) -> Tensor | None:
    """The output of an activation by its rule, unless the pass is one of another thread."""
    del module
    return by_ratio(args[0], output) if _CURRENT.get() is passing else None


class _Following(TorchFunctionMode):
    """Sees every operation of this thread on tensors, and applies the rule of its name."""

    def __init__(self, passing: RelevancePass, known: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__()
        self.passing = passing
        self.known = known
        self.given = {value.untyped_storage().data_ptr() for value in passing.inputs.values()}

    def __torch_function__(
        self, operation: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """The operation, by its rule if it has one and reads something active."""
        del types
        args = [_as_numbers(arg) for arg in args]
        options = {name: _as_numbers(value) for name, value in (kwargs or {}).items()}
        name = operation.__name__
        if name == "embedding":
            return self._entering(args[0], operation(*args, **options))
        if name not in self.known or not any(map(is_active, [*args, *options.values()])):
            return operation(*args, **options)
        return self.known[name](self.passing.constant, operation, *args, **options)

    def _entering(self, indices: Tensor, looked_up: Tensor) -> Tensor:
        """Embeddings, which stand for an input if they were looked up by the very tokens given to the model."""
        leaf = looked_up.detach().requires_grad_()
        of_input = indices.untyped_storage().data_ptr() in self.given
        (self.passing.entered if of_input else self.passing.constants).append(leaf)
        return leaf.clone()  # which may be changed in place


def _as_numbers(value: Any) -> Any:
    """The value, parameters as mere numbers."""
    if isinstance(value, nn.Parameter):
        return value.detach()
    return type(value)(map(_as_numbers, value)) if type(value) in (list, tuple) else value
