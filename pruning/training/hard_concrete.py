"""Hard Concrete gates: random numbers from 0 to 1 that are often exactly 0 or 1, and yet can be trained.

s = sigmoid((log u - log(1 - u) + log_a) / beta), g = clip(s (zeta - gamma) + gamma, 0, 1), u uniform; Louizos et al.
2018, used for heads by Voita et al. 2019 and Shim et al. 2021. A gate is one number a head, the same for all inputs.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

GAMMA, ZETA = -0.1, 1.1
"""The ends between which s is stretched before it is cut."""

EDGE = 1e-6
"""How near to 0 and 1 the uniform numbers come."""

VOITA_BETA = 0.33
SHIM_BETA = 0.333
SHIM_START = 2.0
"""Where log_a begins in the layer-wise paper, so that gates are open at first."""

NODES = 64
"""Points of the quadrature of the expected gate, which is then exact in double precision."""

Gates = Float[Tensor, " head"]
Scalar = Float[Tensor, ""]


def sampled(log_a: Gates, uniform: Gates, beta: float = VOITA_BETA) -> Gates:
    """A draw of every gate, made of uniform numbers."""
    u = uniform.clamp(EDGE, 1 - EDGE)
    s = torch.sigmoid((torch.logit(u) + log_a) / beta)
    return (s * (ZETA - GAMMA) + GAMMA).clamp(0, 1)


def binarised(log_a: Gates, uniform: Gates, beta: float = SHIM_BETA) -> Gates:
    """A draw that is 0 or 1, cut at a half; it is differentiated as if it had not been cut, Shim et al. 2021."""
    soft = sampled(log_a, uniform, beta)
    hard = (soft > 0.5).to(soft.dtype)
    return hard + (soft - soft.detach())


def p_above(log_a: Gates, level: float, beta: float = VOITA_BETA) -> Gates:
    """P(g > level) for a level from 0 up to, and not with, 1: sigmoid(log_a - beta logit of the level unstretched)."""
    return torch.sigmoid(log_a - beta * math.log((level - GAMMA) / (ZETA - level)))


def p_open(log_a: Gates, beta: float = VOITA_BETA) -> Gates:
    """P(g != 0) = sigmoid(log_a - beta log(-gamma / zeta))."""
    return p_above(log_a, 0.0, beta)


def p_one(log_a: Gates, beta: float = VOITA_BETA) -> Gates:
    """P(g = 1) = sigmoid(log_a - beta log((1 - gamma) / (zeta - 1)))."""
    return torch.sigmoid(log_a - beta * math.log((1 - GAMMA) / (ZETA - 1)))


def expected(log_a: Gates, beta: float = VOITA_BETA) -> Gates:
    """E[g], the integral of P(g > x) over x from 0 to 1.

    Differs from the released code of Voita et al., whose gate at test time, clip of the stretched sigmoid(log_a), has
    no temperature and so is not the mean: at log_a = 2 it is 0.957, the mean 0.875.
    """
    levels, shares = _quadrature()
    heights = [share * p_above(log_a, level, beta) for level, share in zip(levels, shares, strict=True)]
    return torch.stack(heights).sum(dim=0)


def expected_open(log_a: Gates, beta: float = VOITA_BETA) -> Scalar:
    """The expected number of open gates, sum over heads of P(g != 0): the penalty of the paper, without its factor.

    Differs from the released code of Voita et al., which takes the mean over layers of the sums, so that its factors
    are not those of the paper.
    """
    return p_open(log_a, beta).sum()


def stays(log_a: Gates) -> Bool[Tensor, " head"]:
    """Whether a gate ends as 1: by the larger of P(g = 0) and P(g = 1), the rule of Voita et al. 2019.

    As gamma and zeta are as far from 0 as from 1, that is log_a > 0 at every temperature, and so is the rule "above a
    half" of other code. Of a gate that cannot decide, the head goes.
    """
    return log_a > 0


@cache
def _quadrature() -> tuple[list[float], list[float]]:
    """Gauss-Legendre points and shares on the way from 0 to 1."""
    points, shares = np.polynomial.legendre.leggauss(NODES)
    return ((points + 1) / 2).tolist(), (shares / 2).tolist()
