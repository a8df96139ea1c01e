from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import pytest

from reproductions.curve_svg import Axis, Curve, curves_svg
from reproductions.sixteen_heads import SAME_DATA, Found, Told, page, read_page
from reproductions.sixteen_heads_paper import SUMMARY


def row(head: str, difference: float, p: float) -> dict[str, Any]:
    return {"head": head, "value": 0.9 + difference, "difference": difference, "p": p, "significant": p < 0.01, "n": 50}


def curve(values: list[float], first_worse: int | None) -> dict[str, Any]:
    points = [{"removed": 2 * place, "value": value} for place, value in enumerate(values)]
    random = [[{"removed": 2 * place, "value": 0.5} for place in range(1, len(values))]] * 5
    worse = None if first_worse is None else points[first_worse]
    return {"points": points, "random": random, "first_worse": worse}


def made_up(higher_is_better: bool = True) -> Found:
    whole = {"metric": "accuracy", "value": 0.9, "n": 50}
    alone = [row("encoder.0.0", -0.3, 0.001), row("encoder.0.1", 0.02, 0.004), row("encoder.1.0", 0.0, 1.0)]
    tables = {
        "task": "Guessing",
        "metric": "accuracy",
        "higher_is_better": higher_is_better,
        "whole": {"development": whole, "test": whole | {"n": 80}, "second": whole},
        "alone": alone,
        "layers": [
            {"head": head, "development": row(head, on_development, 0.5), "test": row(head, on_test, 0.002)}
            for head, on_development, on_test in (("encoder.0.1", 0.01, -0.1), ("encoder.1.0", 0.0, 0.1))
        ],
        "second": {"task": "Guessing more", "split": "test", "alone": alone, "pearson": 0.625, "spearman": 0.5},
        "banks": {"encoder": curve([0.9, 0.8, 0.4], 2)},
    }
    curves = curve([0.9, 0.6, 0.3], 2), curve([0.9, 0.9, 0.3], 1), curve([0.9, 0.7, 0.3], None)
    return Found("guesser", tables, *curves)


def test_the_page_tells_what_was_found() -> None:
    text = page([Told.of(made_up())])
    told = {
        line.split(" | ")[0].removeprefix("| "): line.split(" | ")[-1].removesuffix(" |") for line in text.split("\n")
    }
    assert told["metric with all heads"] == "0.9 (n 50); test 0.9 (n 80)"
    assert told["heads that change it when removed alone"] == "2 of 3, 1 for the better"
    assert told["the largest changes"] == "−0.3 (`encoder.0.0`), +0.02 (`encoder.0.1`)"
    assert told["layers that can do with one head, chosen on other data"] == "1 of 2"
    assert told["correlation of the changes on a second data set"] == "0.62 (Guessing more, test)"
    assert told["heads that can go by gradient before the metric falls"] == "50 % (2 of 4); worse at 100 %"
    assert told["by gradient, not by layer"].startswith("0 %")
    assert told["by ablation"] == "all"
    assert "| encoder 0 | **−0.3** | **+0.02** |" in text
    assert "| encoder 1 | 0 |  |" in text
    assert "| encoder 0 | 1 | +0.01 | **−0.1** | 0.002 |" in text
    assert "| mean of 5 random orders | | 0.5 | 0.5 | |" in text
    assert all(question in told for question, _ in SUMMARY)


def test_where_lower_is_better_a_rise_is_worse() -> None:
    text = page([Told.of(made_up(higher_is_better=False))])
    assert "| 2 of 3, 1 for the better |" in text
    (line,) = (one for one in text.split("\n") if "can do with one head" in one)
    assert line.endswith("| 1 of 2 |")


def test_one_huge_perplexity_does_not_outweigh_a_curve() -> None:
    found = replace(made_up(higher_is_better=False), by_gradient=curve([10.0, 100.0, 100_000.0], 1))
    text = page([Told.of(found)])
    (line,) = (one for one in text.split("\n") if one.startswith("| mean over the curve"))
    assert "| by gradient 464.2; " in line  # the cube root of 10^8
    assert "| by gradient | 10 | 100 | 100,000 | 0 % (0 of 4); worse at 50 % |" in text


def test_a_second_split_of_the_same_data_is_called_so() -> None:
    found = made_up()
    second = found.tables["second"] | {"task": found.tables["task"]}
    same = replace(found, tables=found.tables | {"second": second})
    assert f"| 0.62 ({SAME_DATA}: Guessing, test) |" in page([Told.of(same)])


def test_one_specimen_can_be_told_anew_while_the_page_keeps_the_others() -> None:
    looker, reader = (replace(made_up(), name=name) for name in ("looker", "reader"))
    whole = page([Told.of(looker), Told.of(reader)])
    assert read_page(whole) == sorted([Told.of(looker), Told.of(reader)], key=lambda one: whole.index(f"## {one.name}"))
    assert page(read_page(whole)) == whole
    changed = Told.of(replace(made_up(higher_is_better=False), name="reader"))
    assert page([*read_page(whole), changed]) == page([Told.of(looker), changed])
    assert read_page("") == []


def test_a_curve_is_drawn_where_its_values_are() -> None:
    svg = curves_svg(
        "share", [Curve("a < b", ((0.0, 0.0), (0.5, 1.0), (1.0, 0.5)))], [(0.0, 0.2, 0.4), (1.0, 0.2, 0.4)]
    )
    root = ElementTree.fromstring(svg)
    (line,) = root.iter("{http://www.w3.org/2000/svg}polyline")
    places = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
    (left, bottom), (middle, top), (right, half) = places
    assert middle == pytest.approx((left + right) / 2, abs=0.1)
    assert half == pytest.approx((top + bottom) / 2, abs=0.1)
    assert top < bottom
    (band,) = root.iter("{http://www.w3.org/2000/svg}polygon")
    assert len(band.attrib["points"].split()) == 4
    assert "a < b" in [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_an_axis_is_by_logarithm_where_values_span_much() -> None:
    assert (Axis.over("m", [10, 5000]).logarithmic, Axis.over("m", [0.0, 0.9]).logarithmic) == (True, False)
    axis = Axis.over("m", [12, 5000])
    assert axis.ticks() == [10, 100, 1000, 10000]
    assert axis.share(1000) == pytest.approx(2 / 3)
    assert Axis.over("m", [0.62, 0.97]).ticks() == pytest.approx([0.6, 0.7, 0.8, 0.9, 1.0])
