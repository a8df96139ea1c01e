from __future__ import annotations

import pytest

from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.fisher import Fisher
from tests.analysis.importance.test_gradient import N, close, derivatives
from tests.analysis.subjects import KINDS, subject


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_is_squared_alone(kind: str) -> None:
    expected = {head: sum(number**2 for number in found) / N for head, found in derivatives(kind).items()}
    assert score(Fisher(), *subject(kind), n=N).values == close(kind, expected)
