"""What stands in for each operation of a model while relevance is followed: the same numbers, linear in what is read.

A rule is given the operation and its arguments, and a function that remembers a constant as a leaf of the graph. A
tensor is active if it depends on something that entered the pass; all others are mere numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

AttentionRule = Literal["cp", "attnlrp"]
Constant = Callable[[Any, Tensor], Tensor]
"""Of a number or a tensor, and of the tensor it meets: the same as a leaf that is remembered."""

VALUES = 2
"""The place of the values among what fused attention reads."""

Operation = Callable[..., Any]
Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)
_RULES: dict[str, Rule] = {}


def rules(attention: AttentionRule) -> Mapping[str, Rule]:
    """Every rule by the name of its operation."""
    return {**_RULES, **_ATTENTION[attention]}


def is_active(value: Any) -> bool:
    """Whether a tensor, or one in a list, depends on what entered."""
    if type(value) in (list, tuple):
        return any(map(is_active, value))
    return isinstance(value, Tensor) and value.requires_grad


def by_ratio(value: Tensor, result: Tensor) -> Tensor:
    """The result of a function with f(0) = 0 as the value times a constant."""
    fixed, result = value.detach(), result.detach()
    return value * torch.where(fixed == 0, 0.0, result / fixed)


def _rule_of(*names: str) -> Callable[[R], R]:
    def register(rule: R) -> R:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


@_rule_of("add", "sub", "rsub", "__rsub__")
def _sum(constant: Constant, operation: Operation, first: Any, second: Any, **options: Any) -> Any:
    """Each addend by its size; one that is not active is a constant."""
    if not is_active(first):
        return operation(constant(first, second), second, **options)
    return operation(first, second if is_active(second) else constant(second, first), **options)


@_rule_of("add_", "sub_")
def _sum_in_place(constant: Constant, operation: Operation, first: Tensor, second: Any, **options: Any) -> Any:
    """The same; a constant that is overwritten is lost, and its relevance will be missed."""
    if is_active(first):
        return _sum(constant, operation, first, second, **options)
    return operation(first, second, **options)


@_rule_of("cat", "concat", "concatenate", "stack")
def _joined(constant: Constant, operation: Operation, parts: Sequence[Tensor], *args: Any, **options: Any) -> Any:
    active = next(part for part in parts if is_active(part))
    return operation([part if is_active(part) else constant(part, active) for part in parts], *args, **options)


@_rule_of("linear", "conv1d", "conv2d", "conv3d")
def _affine(constant: Constant, operation: Operation, value: Tensor, weight: Tensor, *args: Any, **options: Any) -> Any:
    """In proportion to W_uv u; the bias is a constant."""
    bias, *rest = args or (options.pop("bias", None),)
    return operation(value, weight, None if bias is None else constant(bias, value), *rest, **options)


@_rule_of("addmm")
def _affine_of_matrices(constant: Constant, operation: Operation, bias: Tensor, value: Tensor, weight: Tensor) -> Any:
    return operation(constant(bias, value), value, weight)


@_rule_of("mul", "multiply", "matmul", "bmm")
def _product(constant: Constant, operation: Operation, first: Any, second: Any) -> Any:
    """Half to each of two active factors; all to one that is active alone."""
    del constant
    if is_active(first) and is_active(second):
        first, second = _halved(first), _halved(second)
    return operation(first, second)


@_rule_of("div", "div_", "divide", "true_divide")
def _quotient(constant: Constant, operation: Operation, first: Any, second: Any, **options: Any) -> Any:
    """A divisor is a constant factor."""
    del constant
    return operation(first, _fixed(second), **options)


@_rule_of("relu", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "hardswish", "tanh", "erf", "square")
def _activation(constant: Constant, operation: Operation, value: Tensor, *args: Any, **options: Any) -> Tensor:
    """f(x) is x times f(x) / x, a constant: an activation hands on what it gets."""
    del constant
    apart = {name: False if name == "inplace" else option for name, option in options.items()}
    return by_ratio(value, operation(value.detach(), *args, **apart))


@_rule_of("sigmoid", "rsqrt", "sqrt", "reciprocal", "var", "std", "norm", "linalg_vector_norm", "linalg_norm")
def _factor(constant: Constant, operation: Operation, *args: Any, **options: Any) -> Any:
    """What weighs or scales other values is a constant."""
    del constant
    return operation(*map(_fixed, args), **options)


@_rule_of("pow")
def _power(constant: Constant, operation: Operation, value: Any, exponent: Any) -> Any:
    """Roots and their inverses scale other values, as in a norm; other powers are activations."""
    is_power = isinstance(exponent, int | float) and exponent >= 1
    return (_activation if is_power else _factor)(constant, operation, value, exponent)


@_rule_of("layer_norm")
def _layer_norm(  # noqa: PLR0913  (the library's signature)
    constant: Constant,
    operation: Operation,
    value: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The deviation is a constant factor; the mean is subtracted as in any sum."""
    del operation
    _, _, inverse_deviation = torch.native_layer_norm(value.detach(), normalized_shape, None, None, eps)
    centred = value - value.mean(dim=tuple(range(-len(normalized_shape), 0)), keepdim=True)
    scaled = centred * inverse_deviation * (1.0 if weight is None else weight)
    return scaled if bias is None else scaled + constant(bias, value)


_rule_of("rms_norm", "normalize")(_activation)  # these too are x times a number


def _attend(constant: Constant, operation: Operation, *args: Any, **options: Any) -> Any:
    """Attention in one operation, its weights constants: all goes to the values."""
    del constant
    places = [arg if place == VALUES else _fixed(arg) for place, arg in enumerate(args)]
    return operation(*places, **{name: arg if name == "value" else _fixed(arg) for name, arg in options.items()})


def _softmax_by_jacobian(
    constant: Constant, operation: Operation, value: Tensor, dim: int = -1, **options: Any
) -> Tensor:
    """The weights s of scores x as J x + (s - J x), J_ij = s_i (1[i = j] - s_j), the second part a constant.

    Scores that are masked out count as 0.
    """
    weights: Tensor = operation(value.detach(), dim, **options)
    seen = (weights > 0) & (value > torch.finfo(value.dtype).min / 2)
    scores = torch.where(seen, value, 0.0)
    linear = weights * (scores - (weights * scores).sum(dim=dim, keepdim=True))
    return linear + constant(weights - linear, value)


def _attend_in_steps(  # noqa: PLR0913  (the library's signature)
    constant: Constant,
    operation: Operation,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """The same attention as products and a softmax, each by its own rule."""
    del operation, dropout_p
    if enable_gqa:
        key, value = (part.repeat_interleave(query.shape[-3] // part.shape[-3], dim=-3) for part in (key, value))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = _product(constant, torch.matmul, query, key.transpose(-1, -2)) * factor
    lowest = torch.finfo(scores.dtype).min
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, lowest)
    elif attn_mask is not None:
        scores = _sum(constant, torch.add, scores, attn_mask)
    weights = _softmax_by_jacobian(constant, torch.softmax, scores)
    attended: Tensor = _product(constant, torch.matmul, weights, value)
    return attended


_ATTENTION: Mapping[AttentionRule, Mapping[str, Rule]] = {
    "cp": {"softmax": _factor, "scaled_dot_product_attention": _attend},
    "attnlrp": {"softmax": _softmax_by_jacobian, "scaled_dot_product_attention": _attend_in_steps},
}


def _fixed(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _halved(value: Tensor) -> Tensor:
    """The same value, which hands back half of its gradient."""
    return 0.5 * value + 0.5 * value.detach()
