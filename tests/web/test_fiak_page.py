"""The FiAK page on a store with finished runs, by Streamlit's own test harness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from headscope.models.heads import HeadGrid
from headscope.runs.client import run_here
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.fiak import PRIORS, FiakRun
from headscope.runs.run import DONE, Run
from headscope.runs.store import Store
from headscope.web.forms import fiak_form
from headscope.web.grid.mask_link import short_mask
from headscope.web.runs import requests
from tests.web.reading import read, read_all

ROOT = Path(__file__).parents[2]
SHORT: dict[str, Any] = {"steps_priors": 2, "steps_tuning": 2, "batch": 4, "n": 16}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two finished runs of the looker: scores, and keys after heads."""
    store = Store(tmp_path_factory.mktemp("store"))
    for kind in (
        FactsQuery("looker"),
        FiakRun("looker", scores=0.0, keys=0.3, prior="key", mask="encoder.0.1", **SHORT),
        FiakRun("looker", scores=0.5, **SHORT),
    ):
        assert run_here(store, kind).state == DONE
    return store.folder


@pytest.fixture
def page(home: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("HEADSCOPE_HOME", str(home))
    requests.store_of.clear()
    opened = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    opened.query_params["model"] = "looker"
    opened.run()
    opened.switch_page("pages/fiak.py")
    opened.query_params["model"] = "looker"
    return opened


def shown(page: AppTest) -> str:
    assert [one.value for one in page.exception] == []
    return "".join(str(one.proto.body) for one in page.main.get("html"))


def named(home: Path, scores: float) -> Any:
    return next(run for run in Store(home).runs(kind="fiak") if run.spec["scores"] == scores)


def test_a_finished_run_is_drawn_whole(page: AppTest, home: Path) -> None:
    run = named(home, 0.5)
    page.query_params["run"] = run.id
    page.run()
    assert [one.value for one in page.error] == []
    text = shown(page)
    half = "50\N{NO-BREAK SPACE}%"
    for words in (
        "Scores kept", half, "Loss of training", "encoder.0: every key is left", "Heads differ", "of scores",
        "from stage to stage", "by arithmetic",
    ):  # fmt: skip
        assert words in text
    ids = [one.proto.id for one in page.main.get("plotly_chart")]
    for key in ("course", "loss", "histograms", "maps-end", "images-end", "diversity", "ratios", "fractions", "stages"):
        assert any(one.endswith(key) for one in ids), key


def test_a_run_without_heads_is_compared_with_the_whole_model(page: AppTest, home: Path) -> None:
    run = named(home, 0.0)
    page.query_params["run"] = run.id
    page.run()
    text, saved = shown(page), run.result["savings"]
    assert f"{saved['keys_kept']:,} of {36 * 17:,}" in text
    assert "Which keys die" in text


def test_the_form_offers_what_the_command_does_and_what_suits_images(page: AppTest) -> None:
    page.run()
    assert page.selectbox(key="among-layer").value == "layer"
    assert page.selectbox(key="form-dot").options == ["Dot product", "Squared distance"]
    assert page.number_input(key="steps-tuning").min == 1
    page.selectbox(key="start-trained").set_value("scratch").run()
    assert page.number_input(key="rate-scratch").value == 1e-3
    page.button_group(key="what").set_value("Mixed").run()
    assert page.selectbox(key="shared-head").value == "head"
    captions = " ".join(one.value for one in page.main.caption)
    assert "drawn anew" in captions and "the keys are still made" in captions
    page.selectbox(key="form-dot").set_value("distance").run()
    assert "the paper's own model" in " ".join(one.value for one in page.main.caption)


def test_a_short_mask_starts_the_run_of_its_addresses(
    page: AppTest, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[FiakRun] = []

    def submit(store: Store, kind: FiakRun) -> Run:
        asked.append(kind)
        return store.runs(kind="fiak")[0]

    monkeypatch.setattr(fiak_form, "submit", submit)
    answer = run_here(Store(home), FactsQuery("looker")).result
    assert answer is not None
    grid = HeadGrid.from_json(answer["grid"])
    page.run()
    page.text_input(key="mask").set_value(short_mask(grid, grid.parse("encoder.3.2 encoder.0.1"))).run()
    page.button(key="start-fiak").click().run()
    (wanted,) = asked
    assert wanted == FiakRun("looker", mask="encoder.0.1 encoder.3.2")


def test_a_mask_that_cannot_be_read_is_one_sentence_and_starts_nothing(page: AppTest, home: Path) -> None:
    before = len(Store(home).runs(kind="fiak"))
    page.run()
    page.text_input(key="mask").set_value("encoder.9.9").run()
    page.button(key="start-fiak").click().run()
    assert read_all(page.error) == ["no head encoder.9.9 in this model; it has encoder 6 x 6"]
    assert len(Store(home).runs(kind="fiak")) == before


def test_a_file_of_priors_that_was_cut_off_is_one_sentence(page: AppTest, home: Path) -> None:
    run = named(home, 0.5)
    path = run.folder / PRIORS
    whole = path.read_bytes()
    path.write_bytes(whole[:200])
    try:
        page.query_params["run"] = run.id
        page.run()
    finally:
        path.write_bytes(whole)
    assert len(page.error) == 1
    assert "is no file of priors, or was cut off or altered" in read(page.error[0].value)
    assert "Heads differ" in shown(page)
