from __future__ import annotations

import numpy as np
import pytest

from headscope.web.charts.fiak_view import (
    diversity_figure,
    diversity_title,
    folded,
    histogram_figure,
    image_maps,
    key_figure,
    key_strength,
    prior_maps,
    ratio_figure,
    stages_figure,
    value_range,
)

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
    ends = value_range(np.where(kept, PRIORS, np.nan))
    assert (first.zmin, first.zmax) == (second.zmin, second.zmax) == ends
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


def test_heads_that_went_first_are_a_stage_of_their_own_in_its_place() -> None:
    estimate = {"test": {"value": 0.5, "low": 0.4, "high": 0.7}}
    plain, masked = (
        {"metric": "accuracy", "name": "a", "measured": dict.fromkeys(stages, estimate)}
        for stages in (("dense", "priors", "pruned", "tuned"), ("dense", "heads", "priors", "pruned", "tuned"))
    )
    figure = stages_figure([plain, masked], "light")
    assert [len(line.x) for line in figure.data] == [4, 5]
    assert figure.layout.xaxis.categoryarray[1] == figure.data[1].x[1] == "without heads"


def test_a_layer_that_lost_all_its_heads_has_no_diversity() -> None:
    spread = {stage: {"encoder.0": 0.2, "encoder.1": 0.4} for stage in ("dense", "priors", "pruned", "tuned")}
    spread["heads"] = spread["tuned"] = {"encoder.1": 0.4}
    assert list(diversity_figure(spread, "light").data[3].y) == [None, 40]


def test_ratios_are_drawn_in_per_cent_with_a_line_at_the_length() -> None:
    figure = ratio_figure([64, 128], {"operations": [0.9, 0.5]}, 100, "light")
    assert list(figure.data[0].y) == pytest.approx([90, 50])
    assert figure.layout.shapes[0].x0 == 100


def test_diversity_is_drawn_layer_by_layer_and_told_in_one_sentence() -> None:
    spread = {stage: {"encoder.0": 0.2, "encoder.1": 0.4} for stage in ("dense", "priors", "pruned")}
    spread["tuned"] = {"encoder.0": 0.4, "encoder.1": 0.6}
    figure = diversity_figure(spread, "light")
    assert [line.name for line in figure.data] == ["dense", "with priors", "pruned", "fine-tuned"]
    assert list(figure.data[3].y) == pytest.approx([40, 60])
    assert diversity_title(spread) == ("Heads differ more than before: 30 % of their attention before, 50 % in the end")
    assert diversity_title(spread | {"tuned": spread["dense"]}).startswith("Heads differ as much as before")


def test_colours_go_from_the_weakest_prior_to_the_strongest() -> None:
    values = np.linspace(0.9, 1.1, 201, dtype=np.float32)
    assert value_range(np.append(values, np.nan)) == (pytest.approx(0.902), pytest.approx(1.098))
    assert value_range(np.full(3, 0.5, dtype=np.float32)) == (0.0, 0.5)
    assert value_range(np.full(3, np.nan, dtype=np.float32)) == (0.0, 1.0)


def test_keys_that_die_are_told_head_by_head() -> None:
    kept = np.array([[True, False, True], [True, True, True]])
    drawn = key_figure(kept, [0, 4], "light").data[0]
    assert drawn.z.tolist() == [[1, 0, 1], [1, 1, 1]]
    assert list(drawn.y) == ["head 0", "head 4"]
