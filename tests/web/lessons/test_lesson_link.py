from __future__ import annotations

import pytest
import streamlit as st

from headscope.web.lessons.link import Place


class Parameters(dict):
    """The parameters of a link, as Streamlit gives them."""

    def from_dict(self, given: dict[str, str]) -> None:
        self.clear()
        self.update(given)


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Parameters:
    given = Parameters()
    monkeypatch.setattr(st, "query_params", given)
    return given


def test_a_place_comes_back_from_its_link_and_leaves_what_belonged_to_another_step(link: Parameters) -> None:
    link.update({"k": "12", "mask": "~AQ", "notice": "1"})
    place = Place("subset_pruning", 4, big=True)
    place.put()
    assert link == {"lesson": "subset_pruning", "step": "4", "model": "reader", "size": "presenter"}
    assert Place.from_link() == place


def test_no_lesson_is_the_list(link: Parameters) -> None:
    link["model"] = "looker"
    assert Place.from_link() == Place()
    assert Place().link == {}


@pytest.mark.parametrize(
    ("step", "number"), [("3", 3), ("0", 1), ("99", 7), ("-2", 1), ("two", 1), ("", 1), ("9" * 5000, 1), ("²", 1)]
)
def test_a_step_that_there_is_not_becomes_one_that_there_is(link: Parameters, step: str, number: int) -> None:
    link.update({"lesson": "sixteen_heads", "step": step})
    assert Place.from_link().step == number


def test_an_unknown_lesson_is_told_in_one_sentence(link: Parameters) -> None:
    link["lesson"] = "<script>"
    with pytest.raises(KeyError, match="no lesson '<script>'; known: "):
        Place.from_link()


def test_after_the_last_step_comes_the_next_lesson_and_after_the_last_lesson_none() -> None:
    assert Place("sixteen_heads", 7, big=True).next_lesson() == Place("specialised_heads", 1, big=True)
    assert Place("admixture_of_keys", 7).next_lesson() is None
