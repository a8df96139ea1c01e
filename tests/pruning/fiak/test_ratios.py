from __future__ import annotations

import pytest

from headscope.pruning.fiak.ratios import layer_ratios


def counted(length: int, width: int, scores: float, keys: float) -> tuple[float, float]:
    """The same, score by score: operations and numbers of one head of this width."""
    kept_keys = length - round(keys * length)
    kept_scores = length * length - round(max(scores, keys) * length * length)
    projections = 2 * width * width * (2 * length + 2 * kept_keys)
    return projections + 4 * width * kept_scores, width * (2 * length + 2 * kept_keys) + kept_scores


@pytest.mark.parametrize(("scores", "keys"), [(0.7, 0.0), (0.7, 0.2), (0.0, 0.3), (0.0, 0.5)])
@pytest.mark.parametrize("length", [20, 400, 4000])
def test_what_is_left_is_what_counting_gives(length: int, scores: float, keys: float) -> None:
    dense, pruned = counted(length, 64, 0.0, 0.0), counted(length, 64, scores, keys)
    expected = [after / before for after, before in zip(pruned, dense, strict=True)]
    assert list(layer_ratios(length, 64, scores, keys)) == pytest.approx(expected)


def test_keys_take_their_scores_along() -> None:
    operations, memory = layer_ratios(4096, 64, 0.0, 0.3)
    assert operations == pytest.approx(0.705, abs=0.001)
    assert memory < 0.72
    assert layer_ratios(4096, 64, 0.3, 0.3) == layer_ratios(4096, 64, 0.0, 0.3)
