"""Where the heads look in a sentence or an image, and what changes when some are switched off."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import streamlit as st

from headscope.analysis.attention.attention_record import Picture, Seen
from headscope.analysis.attention.npz import read_npz
from headscope.analysis.importance.scores import Scores
from headscope.models.heads import HeadGrid, HeadId
from headscope.runs.kinds.attention import AttentionQuery, DrawingQuery
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.importance import ImportanceRun
from headscope.web.cards.head_card import show_head_card
from headscope.web.cards.prediction_bars import answer_html
from headscope.web.charts.matrix import matrix_html
from headscope.web.charts.patches import overlays_html, token_names
from headscope.web.grid.head_grid import GridStyle, MaskEdit, edit_mask
from headscope.web.page.choice import Choice
from headscope.web.page.errors import one_sentence
from headscope.web.page.markdown import plain
from headscope.web.page.shell import begin_page, theme
from headscope.web.runs.requests import answered, known

VIEWS = {"Lines": "head", "All heads": "model", "Matrix": "matrix"}
VIEWS_OF_IMAGES = {"On the image": "image", "All heads": "model", "Matrix": "matrix"}
IMAGES = 400
PATIENCE = 3.0
"""Seconds that the page waits for an answer before it shows progress."""


def choose_example(facts: dict[str, Any]) -> dict[str, Any]:
    """The text, the two texts or the image that the user wants to look into."""
    if facts["answers"] == "looker":
        number = st.number_input("Digit of the test set", 0, IMAGES - 1, 0, key="image", bind="query-params")
        return {"image": int(number)}
    examples = facts["examples"] or [{"text": "The old key is on the table.", "pair": None}]
    pairs = examples[0]["pair"] is not None
    columns = st.columns([3, 3, 1.3] if pairs else [5, 1.3], vertical_alignment="bottom")
    with columns[-1]:
        st.button("Another example", key="another", on_click=next_example, args=(examples,), width="stretch")
    first, second = examples[0]["text"], examples[0]["pair"]
    text = columns[0].text_input("Sentence", first, key="text", max_chars=2000, bind="query-params")
    if not pairs:
        return {"text": text}
    return {"text": text, "pair": columns[1].text_input("Second", second, key="pair", bind="query-params")}


def next_example(examples: list[dict[str, Any]]) -> None:
    """Goes to the example after the one that is shown."""
    texts = [example["text"] for example in examples]
    shown = st.session_state.get("text", "")
    place = (texts.index(shown) + 1 if shown in texts else 0) % len(texts)
    st.session_state["text"] = texts[place]
    if examples[place]["pair"] is not None:
        st.session_state["pair"] = examples[place]["pair"]


def scores_of(choice: Choice) -> Mapping[HeadId, float]:
    """The scores by which the grid is coloured, if the model was scored already."""
    scored = known(ImportanceRun(choice.model, **choice.judged))
    return Scores.from_json(scored.found).values if scored else {}


def choose_mask(choice: Choice, grid: HeadGrid, removed: frozenset[HeadId]) -> frozenset[HeadId]:
    """The heads that are switched off, from the grid or from the link."""
    model = choice.model
    memory = f"mask-of-{model}"
    if memory not in st.session_state:
        st.session_state[memory] = MaskEdit(mask_in_link(grid) - removed)
    look = replace(GridStyle.of_scores(scores_of(choice)), removed=removed)
    edit = edit_mask(grid, look, key=f"mask-{model}", edit=st.session_state[memory])
    st.session_state[memory] = edit
    if edit.mask:
        st.query_params["mask"] = grid.spell(edit.mask)
        st.button("Switch all on again", key="all-on", on_click=all_on, args=(memory,))
    else:
        st.query_params.pop("mask", None)
    return edit.mask


def all_on(memory: str) -> None:
    """Empties the mask."""
    st.session_state[memory] = st.session_state[memory].replaced(frozenset())


def mask_in_link(grid: HeadGrid) -> frozenset[HeadId]:
    """The mask that the link names; a head that this model lacks is told."""
    try:
        return grid.parse(st.query_params.get("mask", ""))
    except (ValueError, KeyError) as error:
        st.warning(plain(f"The mask of the link is left out: {error.args[0]}"))
        return frozenset()


def look(choice: Choice, example: dict[str, Any], mask: str) -> Seen | None:
    """What the model sees and says, with the heads of the mask off."""
    run = answered(AttentionQuery(choice.model, mask=mask, **example), patience=PATIENCE)
    return None if run is None else read_npz(run.folder / run.found["file"])


def show_views(choice: Choice, example: dict[str, Any], seen: dict[str, Seen]) -> None:
    """One view, or two side by side, named by what is off."""
    for column, (mask, one) in zip(st.columns(len(seen)), seen.items(), strict=True):
        with column:
            if len(seen) > 1:
                st.html(f'<h2 class="hl-card-title">{"With heads off" if mask else "All heads"}</h2>')
            show_view(choice, example, one, mask)


def show_view(choice: Choice, example: dict[str, Any], seen: Seen, mask: str) -> None:
    """One of the views of the attention of one bank."""
    bank, view = st.session_state["bank"].lower(), (VIEWS | VIEWS_OF_IMAGES)[st.session_state["view"]]
    if view == "matrix":
        show_matrix(seen, bank)
        return
    if view == "image":
        if seen.picture is not None:
            show_image(seen, seen.picture, bank)
        return
    first = {} if view == "model" else {"layer": st.session_state["layer"], "head": st.session_state["head"]}
    asked = DrawingQuery(choice.model, mask=mask, view=view, bank=bank, theme=theme(), **first, **example)
    run = answered(asked, patience=PATIENCE)
    if run is not None:
        document = (run.folder / run.found["file"]).read_text(encoding="utf-8")
        st.iframe(document, height=run.found["height"])


def show_matrix(seen: Seen, bank: str) -> None:
    """The map of one head."""
    layer, head = st.session_state["layer"], st.session_state["head"]
    one = seen.bank(bank)
    weights = one.map_of(layer, head) if layer < len(one.layers) and head < one.n_heads[layer] else None
    if weights is None:
        st.info(plain(f"{bank}.{layer}.{head} is not in this model."))
    else:
        st.html(matrix_html(weights, one.queries, one.keys, theme()))


def show_image(seen: Seen, picture: Picture, bank: str) -> None:
    """What the heads of one layer look at, on the image."""
    layer = seen.bank(bank).layers[st.session_state["layer"]]
    maps = {f"head {head}": weights for head, weights in zip(layer.heads, layer.maps, strict=True)}
    query = token_names(picture).index(st.session_state["from"])
    st.html(overlays_html(picture, maps, query, theme()))


def show_answers(whole: Seen, masked: Seen | None) -> None:
    """What the model says with all heads and without those that are off."""
    said = asdict(whole.answer)
    first, second = st.columns(2)
    first.html('<h2 class="hl-card-title">With all heads</h2>' + answer_html(said))
    if masked is None:
        second.html(
            '<p class="hl-source">Switch heads off below, and what the model says without them stands here.</p>'
        )
    else:
        changed = asdict(masked.answer)
        same = "says the same" if changed["text"] == said["text"] else "says something else"
        n = len(masked.removed)
        lead = "Without this head" if n == 1 else f"Without these {n} heads"
        second.html(f'<h2 class="hl-card-title">{lead} it {same}</h2>' + answer_html(changed, said))


def show_controls(grid: HeadGrid, seen: Seen) -> None:
    """Which bank, which view, which head."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    banks = [bank.bank.capitalize() for bank in grid.banks]
    row.segmented_control("Bank", banks, default=banks[0], key="bank", required=True, bind="query-params")
    views = list(VIEWS if seen.picture is None else VIEWS_OF_IMAGES)
    view = row.segmented_control("View", views, default=views[0], key="view", required=True, bind="query-params")
    if view != "All heads":
        bank = grid.bank(st.session_state["bank"].lower())
        layer = row.selectbox("Layer", range(len(bank.layers)), key="layer", width=90, bind="query-params")
        if seen.picture is None or view != "On the image":
            row.selectbox("Head", range(bank.layers[layer].n_heads), key="head", width=90, bind="query-params")
        else:
            row.selectbox("Looks from", token_names(seen.picture), key="from", width=150, bind="query-params")


def head_in_view(grid: HeadGrid) -> HeadId:
    """The head that the controls name; the first of its bank where they name none."""
    bank = st.session_state["bank"].lower()
    head = HeadId(bank, st.session_state.get("layer") or 0, st.session_state.get("head") or 0)
    return head if head in grid else HeadId(bank, 0, 0)


def go_to(head: HeadId) -> None:
    """Makes another head the one that the controls name."""
    st.session_state.update({"bank": head.bank.capitalize(), "layer": head.layer, "head": head.head})


choice = begin_page(
    "Attention", "Where every head looks. Change the sentence, switch heads off, and see what the model makes of it."
)
with one_sentence():
    asked = answered(FactsQuery(choice.model))
    if asked is not None:
        facts = asked.found
        grid = HeadGrid.from_json(facts["grid"])
        with st.container(border=True):
            example = choose_example(facts)
            answers = st.container()
        left, right = st.columns([2.3, 1])
        with right.container(border=True, height="stretch"):
            switches, card = st.tabs(["Grid", "Head card"], key="side", on_change="rerun", bind="query-params")
            with switches:
                st.html(
                    '<h2 class="hl-card-title">Switch heads off</h2>'
                    '<p class="hl-source">Click, drag a box, or use arrow keys and Space</p>'
                )
                mask = grid.spell(choose_mask(choice, grid, grid.parse(facts["removed"])))
        with left.container(border=True, height="stretch"):
            whole = look(choice, example, "")
            masked = look(choice, example, mask) if mask and whole is not None else None
            if whole is not None:
                with answers:
                    show_answers(whole, masked)
                show_controls(grid, whole)
                show_views(choice, example, {"": whole} if masked is None else {"": whole, mask: masked})
        if card.open and "bank" in st.session_state:
            with card, one_sentence():
                show_head_card(choice, facts, grid, head_in_view(grid), go_to)
