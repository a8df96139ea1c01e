from __future__ import annotations

import numpy as np
import pytest

from ui.fiak_view import folded, histogram_figure, image_maps, key_strength, prior_maps, ratio_figure, stages_figure

PRIORS = np.arange(2 * 5 * 5, dtype=np.float32).reshape(2, 5, 5)


def test_a_key_is_as_strong_as_its_priors_together() -> None:
    assert key_strength(-PRIORS)[1].tolist() == PRIORS[1].sum(axis=0).tolist()


def test_keys_of_an_image_lie_on_its_patches_without_the_class_token() -> None:
    found = folded(np.array([9, 1, 2, 3, 4], dtype=np.float32))
    assert found is not None
    assert found.tolist() == [[1, 2], [3, 4]]
    assert folded(np.ones(6, dtype=np.float32)) is None


def test_pruned_scores_are_left_out_of_the_maps() -> None:
    kept = np.ones_like(PRIORS, dtype=bool)
    kept[1, 2, 3] = False
    first, second = prior_maps(PRIORS, kept, [0, 4], "light").data
    assert np.isnan(second.z[2][3])
    assert second.z[2][2] == PRIORS[1, 2, 2]
    assert first.zmax == second.zmax == PRIORS.max()
    assert image_maps(key_strength(PRIORS), [0, 4], "dark") is not None
    assert image_maps(np.ones((2, 6), dtype=np.float32), [0, 4], "dark") is None


def test_histograms_are_shares_in_units_of_the_first_prior() -> None:
    (line,) = histogram_figure({"encoder.0": [1, 3, 0, 0]}, "light").data
    assert list(line.y) == pytest.approx([25, 75, 0, 0])
    assert list(line.x) == pytest.approx([0.25, 0.75, 1.25, 1.75])


def test_every_stage_has_its_value_and_interval() -> None:
    estimate = {"test": {"value": 0.5, "low": 0.4, "high": 0.7}}
    measured = dict.fromkeys(("dense", "priors", "pruned", "tuned"), estimate)
    (line,) = stages_figure([{"metric": "accuracy", "measured": measured, "name": "a"}], "light").data
    assert list(line.y) == [50] * 4
    assert list(line.error_y.array) == pytest.approx([20] * 4)
    assert list(line.error_y.arrayminus) == pytest.approx([10] * 4)


def test_ratios_are_drawn_in_per_cent_with_a_line_at_the_length() -> None:
    figure = ratio_figure([64, 128], {"operations": [0.9, 0.5]}, 100, "light")
    assert list(figure.data[0].y) == pytest.approx([90, 50])
    assert figure.layout.shapes[0].x0 == 100
