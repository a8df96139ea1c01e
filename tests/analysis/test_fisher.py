from __future__ import annotations

import pytest

from analysis.importance.fisher import Fisher
from analysis.importance.method import score
from tests.analysis.subjects import KINDS, subject
from tests.analysis.test_gradient import N, close, derivatives


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_is_squared_alone(kind: str) -> None:
    expected = {head: sum(number**2 for number in found) / N for head, found in derivatives(kind).items()}
    assert score(Fisher(), *subject(kind), n=N).values == close(kind, expected)
