"""The document bertviz makes: whole, small, the same every time, and without a way out for a token."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pytest

from headscope.analysis.attention.bertviz_html import LONGEST_TOKEN, bertviz_height, bertviz_html, sandboxed
from headscope.analysis.attention.drawing_content import Drawing, content_of
from headscope.analysis.attention.example import Example
from headscope.analysis.attention.example_run import see
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from tests.analysis.attention.made import HOSTILE, made_up
from tests.tasks.tiny import tiny

WORDS = tuple(f"word{number}" for number in range(12))


class Elements(HTMLParser):
    """The elements of a document, and the text of its scripts."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: dict[str, dict[str, str | None]] = {}
        self.scripts: list[str] = []
        self.in_script = False
        self.feed(document)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.attributes[dict(attrs).get("http-equiv") or tag] = dict(attrs)
        self.in_script = tag == "script"
        if self.in_script:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.in_script = self.in_script and tag != "script"

    def handle_data(self, data):
        if self.in_script:
            self.scripts[-1] += data


def shown(document: str) -> dict:
    return json.loads(Elements(document).scripts[0])


@pytest.mark.parametrize("view", ["head", "model"])
def test_hostile_tokens_add_no_element_and_arrive_whole(view):
    drawing = Drawing(view, "encoder")
    harmless = Elements(bertviz_html(made_up(2, 3, WORDS), drawing))
    document = bertviz_html(made_up(2, 3, HOSTILE), drawing)
    hostile = Elements(document)
    assert hostile.tags == harmless.tags
    sizes = re.compile(r"const (BOXWIDTH|DETAIL_BOX_WIDTH|DETAIL_WIDTH) = \d+;")
    assert [sizes.sub("", code) for code in hostile.scripts[1:]] == [
        sizes.sub("", code) for code in harmless.scripts[1:]
    ]
    (attention,) = shown(document)["parameters"]["attention"]
    short = [token if len(token) <= LONGEST_TOKEN else token[: LONGEST_TOKEN - 1] + "…" for token in HOSTILE]
    assert attention["left_text"] == attention["right_text"] == short
    assert not re.search("[<>&]", hostile.scripts[0])


@pytest.mark.parametrize("view", ["head", "model"])
def test_the_policy_allows_the_documents_own_scripts_and_nothing_else(view):
    elements = Elements(bertviz_html(made_up(1, 2, WORDS), Drawing(view, "encoder")))
    policy = elements.attributes["Content-Security-Policy"]["content"]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    own = [f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" for code in elements.scripts[1:]]
    assert rules.pop("script-src") == own and len(own) == 4
    assert rules == {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    assert not any({"src", "href"} & set(names) for _, names in elements.tags)
    assert "cdnjs" not in "".join(elements.scripts)


def test_the_same_input_gives_the_same_document():
    drawing = Drawing("head", "encoder", "dark")
    assert bertviz_html(made_up(2, 3, WORDS), drawing) == bertviz_html(made_up(2, 3, WORDS), drawing)


@pytest.mark.parametrize("view", ["head", "model"])
def test_weights_are_the_maps_to_three_decimals_and_removed_heads_weigh_nothing(view):
    gone = HeadId("encoder", 1, 2)
    seen = made_up(3, 4, WORDS, frozenset({gone}))
    data = shown(bertviz_html(seen, Drawing(view, "encoder", layers=(1, 2), heads=(0, 2, 3))))
    weights = np.array(data["parameters"]["attention"][0]["attn"])
    assert weights.shape == (2, 3, 12, 12)
    for row, layer in enumerate((1, 2)):
        for column, head in enumerate((0, 2, 3)):
            expected = np.zeros((12, 12)) if (layer, head) == (1, 2) else seen.bank("encoder").map_of(layer, head)
            np.testing.assert_allclose(weights[row, column], expected, atol=0.0005001)
    np.testing.assert_array_equal(weights, weights.round(3))
    assert data["removed"] == [[1, 2]] and data["heads"] == [0, 2, 3] and data["layers"] == [1, 2]
    assert data["parameters"]["include_layers"] == [1, 2]


@pytest.mark.parametrize("view", ["head", "model"])
@pytest.mark.parametrize("bank", ["encoder", "decoder", "cross"])
def test_heads_and_layers_removed_for_good_are_drawn_as_empty(view, bank):
    head_model = tiny("marian")
    gone = HeadMask(head_model.grid, frozenset(head_model.grid.layer(bank, 0)) | {HeadId(bank, 2, 1)})
    seen = see(without_heads(head_model, gone), Example("w1 w2 w3"))
    data = shown(bertviz_html(seen, Drawing(view, bank)))
    weights = np.array(data["parameters"]["attention"][0]["attn"])
    assert weights.shape == (3, 4, len(seen.bank(bank).queries), len(seen.bank(bank).keys))
    drawn = weights.sum((2, 3)) > 0
    assert drawn.tolist() == [[False] * 4, [True] * 4, [True, False, True, True]]
    assert data["removed"] == [[0, 0], [0, 1], [0, 2], [0, 3], [2, 1]]


@pytest.mark.parametrize("view", ["head", "model"])
def test_a_document_stays_small_and_says_what_it_leaves_out(view):
    tokens = tuple(f"word{number}" for number in range(96))
    usual = bertviz_html(made_up(6, 8, tokens[:40]), Drawing(view, "encoder"))
    assert len(usual.encode()) < 1_000_000 and "Shown:" not in usual
    huge = made_up(20, 12, tokens)
    document = bertviz_html(huge, Drawing(view, "encoder"))
    assert len(document.encode()) < 4_000_000
    layers = shown(document)["layers"]
    named = f"layers 0 to {layers[-1]}" if len(layers) > 1 else "layer 0"
    assert 0 < len(layers) < 20 and f"Shown: {named} of 20." in document
    later = bertviz_html(huge, Drawing(view, "encoder", layers=(7,), heads=(3, 5)))
    assert "Shown: layer 7 of 20. Shown: heads 3, 5 of 12." in later


def test_a_single_map_too_many_shows_fewer_heads():
    content = content_of(made_up(2, 6, tuple("x" * 200)), Drawing("head", "encoder"))
    assert content.heads == (0, 1, 2, 3) and content.note == "Shown: heads 0 to 3 of 6."


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"view": "neuron"}, ValueError, "no 'neuron'; allowed are head and model"),
        ({"theme": "sepia"}, ValueError, "no 'sepia'; allowed are light and dark"),
        ({"bank": "cross"}, KeyError, "no bank 'cross'; this model has: encoder"),
        ({"layers": (2,)}, ValueError, "no layer of the encoder bank has the number 2; allowed are 0 to 1"),
        ({"heads": (-1,)}, ValueError, "no head of the encoder bank has the number -1; allowed are 0 to 2"),
        ({"heads": ()}, ValueError, "no head of the encoder bank chosen; allowed are 0 to 2"),
    ],
)
def test_a_drawing_that_cannot_be_made_is_refused(fields, error, message):
    with pytest.raises(error, match=message):
        bertviz_html(made_up(2, 3, WORDS), Drawing(**{"view": "head", "bank": "encoder"} | fields))


def test_the_frame_keeps_the_document_whole_and_lets_it_do_nothing_but_run():
    frame = Elements(sandboxed('<p title="a">&amp;</p>', 'the "head" view', 300)).attributes["iframe"]
    assert frame["sandbox"] == "allow-scripts"
    assert frame["srcdoc"] == '<p title="a">&amp;</p>' and frame["title"] == 'the "head" view'


@pytest.mark.parametrize("view", ["head", "model"])
def test_a_longer_text_needs_a_higher_frame(view):
    heights = [bertviz_height(made_up(1, 2, WORDS[:n]), Drawing(view, "encoder")) for n in (3, 12)]
    assert heights[0] < heights[1]
