"""What pages make of their links, by Streamlit's own test harness; every run they ask for is computed here."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headscope.models.loading.known_models import specimen_names
from headscope.pruning.export.exporter import save_pruned
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.web.lessons.lesson import lessons
from tests.families import family
from tests.web.reading import read_all
from tests.web.working import html_of, opened

Open = Callable[..., AppTest]
MODEL, ATTENTION, LAB = "pages/model.py", "pages/attention.py", "pages/prune_lab.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("links")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Open:
    return lambda file, **link: opened(monkeypatch, folder, file, **link)


def said(app: AppTest) -> str:
    """The errors and warnings of a page, which threw nothing."""
    html_of(app)
    return "\n".join([*read_all(app.error), *read_all(app.warning)])


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ({"text": " "}, "an empty text; at least one word is needed"),
        ({"text": "dog " * 200}, "at most 96"),
        ({"mask": "encoder.9.9"}, "The mask of the link is left out: no head encoder.9.9"),
    ],
)
def test_a_wrong_link_to_the_attention_page_gets_one_sentence(page: Open, link: dict[str, str], sentence: str) -> None:
    assert sentence in said(page(ATTENTION, model="translator", **link))


def test_two_texts_are_compared_and_their_label_shown(page: Open) -> None:
    shown = html_of(page(ATTENTION, model="reader", text="The dog sleeps.", pair="The dog sleeps."))
    assert "hl-guess" in shown
    assert re.search(r"hl-answer.*?<b[^>]*>[^<]*(entailment|neutral|contradiction)", shown, re.DOTALL)


def test_an_image_shows_the_patches_that_heads_look_at(page: Open) -> None:
    shown = html_of(page(ATTENTION, model="looker", image="3", mask="encoder.0.1"))
    assert len(re.findall(r'alt="[^"]*looks most at patch', shown)) == 12
    assert "head 0 looks most at patch" in shown


def test_another_task_scores_the_heads_anew(page: Open) -> None:
    assert "Fidelity on digits, calibration" in html_of(page(MODEL, model="looker", task="fidelity"))


def test_a_pruned_folder_shows_what_is_gone(page: Open, tmp_path: Path) -> None:
    head_model = family("llama")
    save_pruned(without_heads(head_model, HeadMask.of(head_model.grid, "decoder.1.2 decoder.1.3")), tmp_path / "small")
    shown = html_of(page(MODEL, model=str(tmp_path / "small")))
    assert re.search(r"Removed.*?2 heads", shown, re.DOTALL)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("/no/such/folder", "no folder /no/such/folder"),
        ("owner/no-such-model", "the model hub cannot be reached"),
        ("<script>alert(1)</script>", "no model '<script>alert(1)</script>'; give a folder"),
    ],
)
def test_a_typed_model_that_there_is_not_gets_one_sentence(page: Open, model: str, sentence: str) -> None:
    app = page(MODEL, model="looker")
    app.text_input(key="typed").set_value(model)
    app.button("FormSubmitter:other-Load").click().run()
    assert sentence in said(app)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("broken.csv", b"text,label\n\xff\xfe\x00", "broken.csv is"),
        ("empty.tsv", b"", "empty.tsv is empty"),
        ("rows.jsonl", b'{"text": 1}\nnot json\n', "broken rows among the first are skipped: rows.jsonl, line 2"),
    ],
)
def test_a_broken_file_gets_one_sentence(page: Open, tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(content)
    app = page(MODEL, model="looker")
    app.session_state["source"] = "My data"
    app.run()
    app.text_input(key="data-path").set_value(str(tmp_path / name)).run()
    assert sentence in said(app)


def test_a_link_puts_no_link_formula_or_icon_of_its_own_into_a_message(page: Open) -> None:
    app = page(MODEL, model="[Sign in](https://evil.example) $x^2$ :material/home:")
    html_of(app)
    (message,) = {one.value for one in app.error}
    assert "[Sign in]" not in message and "$x" not in re.sub(r"\\.", "", message)
    assert ":material/" not in message and "https://" not in message
    assert "evil" in message


def test_there_is_a_card_for_every_specimen(page: Open) -> None:
    assert html_of(page(MODEL, model="looker")).count('class="hl-specimen"') == len(specimen_names())


@pytest.mark.parametrize("mask", ["encoder.99.0", "~!!!", "<script>alert(1)</script>"])
def test_a_broken_mask_in_the_link_is_told_in_one_sentence(page: Open, mask: str) -> None:
    assert re.search("no head|no mask", said(page(LAB, model="looker", mask=mask)))


def test_a_lesson_that_there_is_not_leads_to_the_list(page: Open) -> None:
    app = page("pages/lessons.py", lesson="<b>none")
    assert "no lesson '<b>none'; known: " in said(app)
    assert html_of(app).count('class="hl-lesson-card"') == len(lessons())
