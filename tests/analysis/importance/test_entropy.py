from __future__ import annotations

import math

import pytest
import torch

from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.entropy import Entropy, focus
from headscope.models.recording import maps
from tests.analysis.importance.test_confidence import OF_TRANSFORMERS, N
from tests.analysis.subjects import fresh, subject
from tests.reference.attention import focus as literal_focus
from tests.reference.attention import mean_over_tokens


@pytest.mark.parametrize("kind", OF_TRANSFORMERS)
def test_it_is_the_mean_focus_of_all_ordinary_tokens_with_a_choice(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "QUERIES_AT_ONCE", 2)
    scores = score(Entropy(), *subject(kind), n=N)
    head_model, task = fresh(kind)
    expected = mean_over_tokens(head_model, task.batches(head_model, "calibration", N, budget=1), literal_focus)
    assert scores.values == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([0.25, 0.25, 0.25, 0.25], 0.0),
        ([0.1, 0.1, 0.1, 0.1], 0.0),
        ([0.0, 0.7, 0.0, 0.0], 1.0),
        ([0.5, 0.5, 0.0, 0.0], 0.5),
        ([0.3, 0.1, 0.0, 0.0], 1 - (math.log(4) - 0.75 * math.log(3)) / math.log(4)),
    ],
)
def test_focus_goes_from_all_alike_to_one_key(weights: list[float], expected: float) -> None:
    rows = torch.tensor(weights, dtype=torch.float64).view(1, 1, 1, 4)
    values, known = focus(rows, torch.tensor([[4]]))
    assert values.item() == pytest.approx(expected, abs=1e-12) and known.item()


def test_a_query_that_sees_one_key_does_not_count() -> None:
    _, known = focus(torch.ones(1, 1, 3, 1, dtype=torch.float64), torch.tensor([[0, 1, 2]]))
    assert known.tolist() == [[False, False, True]]
