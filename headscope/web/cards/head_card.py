"""Everything known about one head; opens beside every grid, and starts nothing that takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

import streamlit as st

from headscope.analysis.attention.npz import read_npz
from headscope.analysis.importance.scores import Scores
from headscope.models.heads import HeadGrid, HeadId
from headscope.runs.kinds.attention import AttentionQuery
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.importance import QUICK, ImportanceRun
from headscope.runs.kinds.methods import MethodsQuery, code_mark
from headscope.runs.learned_scores import SOURCES
from headscope.runs.run import DONE, Run
from headscope.web.charts.importance_view import ranks_html
from headscope.web.charts.matrix import matrix_html
from headscope.web.charts.patches import overlays_html
from headscope.web.charts.role_charts import offset_bars, offset_map
from headscope.web.charts.role_view import cost_html, cost_title, example_html, named, sentence_html
from headscope.web.grid.head_grid import GridStyle, select_head
from headscope.web.page.choice import Choice, attention_link, head_in_link
from headscope.web.page.errors import one_sentence
from headscope.web.page.shell import show_chart, theme
from headscope.web.page.site_map import ATTENTION
from headscope.web.runs.requests import answered, ask, known, offered, soon, store
from headscope.web.runs.role_facts import RoleFacts, roles_run

MOST_LABELS = 12
"""Columns of the small matrix that can be named."""

LONGEST = 45
"""Characters of the sentence in which the card shows where the head looks."""

ANY_SENTENCE = {"text": "The old key is on the table.", "pair": None}
FIRST, ABLATION = "gradient", "ablation"
HISTOGRAM_HEIGHT = 200
PLACES = ("Clearest", "Second", "Third")


Go = Callable[[HeadId], None]
"""What makes another head the one of the card."""


def pick_head(grid: HeadGrid, look: GridStyle, key: str) -> HeadId | None:
    """The head of the link, which the grid moves; a card can be shown for it."""
    selected = select_head(grid, look, key=key, selected=head_in_link(grid))
    if selected is not None:
        open_card(selected)
    return selected


def show_card_of(choice: Choice, head: HeadId) -> None:
    """The card in a wide frame of its own, for pages that did not ask what the model is; it can be closed."""
    asked = answered(FactsQuery(choice.model))
    if asked is None:
        return
    grid = HeadGrid.from_json(asked.found["grid"])
    if head in grid:
        with st.container(border=True, key="head-card"), one_sentence():
            show_closing()
            left, right = st.columns(2, gap="large")
            with left:
                found = _show_numbers(choice, grid, head, open_card)
                if found is not None:
                    show_offsets(found, head, HISTOGRAM_HEIGHT, "card-offsets")
            with right:
                if found is not None:
                    _show_examples(found, head)
                _show_looks(choice, asked.found, head)


def open_card(head: HeadId) -> None:
    """Makes a head the one of the link, and so of the card."""
    st.query_params["head"] = str(head)


def show_head_card(choice: Choice, facts: dict[str, Any], grid: HeadGrid, head: HeadId, go: Go = open_card) -> None:
    """Its address and role, its rank under every method, what removing it costs, typical examples, where it looks."""
    found = _show_numbers(choice, grid, head, go)
    if found is not None:
        _show_examples(found, head)
        show_offsets(found, head, HISTOGRAM_HEIGHT, "card-offsets")
    _show_looks(choice, facts, head)


def _show_numbers(choice: Choice, grid: HeadGrid, head: HeadId, go: Go) -> RoleFacts | None:
    """Its address, its ranks and what removing it costs; gives the roles, once they were found."""
    _show_address(grid, head, go)
    found = None
    with one_sentence():
        found = _roles(choice)
    if found is not None:
        st.html(sentence_html(found, head, theme()))
    runs = known_scores(choice)
    _show_ranks(runs, grid, head)
    _offer_methods(choice, runs)
    with one_sentence():
        _show_cost(choice, runs, head)
    return found


def _show_looks(choice: Choice, facts: dict[str, Any], head: HeadId) -> None:
    """Where it looks in an example that is the same for every head, and the way to any other."""
    with one_sentence():
        _show_where_it_looks(choice, facts, head)
    link = attention_link(choice, head)
    st.page_link(ATTENTION.file, label="See its attention", icon=ATTENTION.icon, query_params=link)


def show_closing() -> None:
    """A button that lets go of the head, for pages that show something else without one."""
    st.button("Close the card", key="close-card", on_click=let_go, icon=":material/close:", type="tertiary")


def let_go() -> None:
    """Takes the head out of the link."""
    st.query_params.pop("head", None)


def known_scores(choice: Choice) -> dict[str, Run]:
    """By method, the run of it that was computed for this choice: with usual options, and with most examples."""
    best: dict[str, Run] = {}
    for run in store().runs((DONE,), kind=ImportanceRun.key):
        if run.model == choice.model and _is_of(run, choice) and _rank(run) > _rank(best.get(run.spec["method"])):
            best[run.spec["method"]] = run
    return best


def method_titles(methods: Iterable[str]) -> dict[str, str]:
    """By method its title, as far as that is known; the gradient first, for its scores are there from the start."""
    asked = set(methods)
    listed = known(MethodsQuery("", code_mark()))
    titles = {one["key"]: one["title"] for one in listed.found["methods"]} if listed else {}
    titles |= {key: key.replace("_", " ").capitalize() for key in sorted(asked - titles.keys())}
    return {key: titles[key] for key in sorted(titles, key=lambda key: key != FIRST) if key in asked}


def show_offsets(found: RoleFacts, head: HeadId, height: int, key: str) -> None:
    """How often each offset takes the strongest attention of a head, with a sentence that says it."""
    histogram = found.histogram(head)
    if not histogram:
        return
    finding = found.found["positional"][head]
    phrase = found.result["told"][str(head)]["offset"]
    if finding.verdict:
        title = f"{named(head)} {phrase}"
    else:
        title = (
            f"{named(head)} has no fixed offset; most often it {phrase}: {100 * finding.score:.0f}\N{NO-BREAK SPACE}%"
        )
    image = " " in finding.case
    unit, plural = ("patch", "patches") if image else ("token", "tokens")
    histogram = dict(histogram) | {finding.case: finding.score}
    st.html(
        f'<h2 class="hl-card-title">{escape(title)}</h2>'
        f'<p class="hl-source" title="Those that have a {unit} at that offset">'
        f"Where its strongest attention goes · {finding.n} {plural}</p>"
    )
    asked = found.about["positional"]["thresholds"]["share"]
    figure = offset_map(histogram, theme(), height) if image else offset_bars(histogram, asked, theme(), height)
    show_chart(figure, key)


def _show_address(grid: HeadGrid, head: HeadId, go: Go) -> None:
    title, before, after = st.columns([3, 1, 1], vertical_alignment="center")
    title.html(f'<div class="hl-group">Head card</div><div class="hl-current">{escape(named(head))}</div>')
    place = grid.positions[head]
    for column, icon, step, name in (
        (before, ":material/chevron_left:", -1, "previous"),
        (after, ":material/chevron_right:", 1, "next"),
    ):
        neighbour = grid.heads[(place + step) % len(grid)]
        column.button("", icon=icon, key=name, help=f"The {name} head", on_click=go, args=(neighbour,), width="stretch")


def _show_ranks(runs: Mapping[str, Run], grid: HeadGrid, head: HeadId) -> None:
    rankings = {title: Scores.from_json(runs[key].found).values for key, title in method_titles(runs).items()}
    ranked = {title: values for title, values in rankings.items() if head in values}
    if ranked:
        st.html(f'<h2 class="hl-card-title">Rank among {len(grid)}</h2>' + ranks_html(head, ranked))


def missing_methods(known_keys: Iterable[str]) -> dict[str, str]:
    """By key the titles of the methods that were not computed; scores that gates learn are made on a page of theirs."""
    listed = known(MethodsQuery("", code_mark()))
    there = {*known_keys, *SOURCES}
    return {one["key"]: one["title"] for one in listed.found["methods"] if one["key"] not in there} if listed else {}


def _offer_methods(choice: Choice, runs: Mapping[str, Run]) -> None:
    """Which methods have no rank yet, and a button that starts those that take seconds."""
    missing = missing_methods(runs)
    quick = [key for key in missing if key in QUICK]
    if missing:
        st.html(f'<p class="hl-source">Not computed: {escape(", ".join(missing.values()))}</p>')
    if quick:
        named = ", ".join(missing[key] for key in quick)
        st.button("Compute the quick ones", key="quick-methods", on_click=_compute, args=(choice, quick), help=named)


def _compute(choice: Choice, methods: Iterable[str]) -> None:
    for method in methods:
        ask(ImportanceRun(choice.model, method=method, **choice.judged))


def _roles(choice: Choice) -> RoleFacts | None:
    run = soon(roles_run(choice), "Find its role")
    return None if run is None else RoleFacts.from_json(run.found)


def _show_examples(found: RoleFacts, head: HeadId) -> None:
    """The readings in which its clearest role, or another of its roles, shows most clearly."""
    by_role = {role: found.result["typical"].get(role, {}).get(str(head), []) for role in found.held(head)}
    shown = [role for role, examples in by_role.items() if examples]
    if not shown:
        return
    st.html('<h2 class="hl-card-title">Where it shows most clearly</h2>')
    role = shown[0]
    if len(shown) > 1:
        role = st.segmented_control(
            "Role", shown, default=role, format_func=found.title, key=f"examples-of-{head}", required=True,
            label_visibility="collapsed",
        )  # fmt: skip
    examples = by_role[role]
    for tab, example in zip(st.tabs(list(PLACES[: len(examples)]), key="examples"), examples, strict=False):
        tab.html(example_html(example, role, theme()))


def _show_cost(choice: Choice, runs: Mapping[str, Run], head: HeadId) -> None:
    """How the loss changes without it, from a run of the ablation method."""
    run = runs.get(ABLATION)
    if run is None:
        run = offered(ImportanceRun(choice.model, method=ABLATION, **choice.judged), "What does removing it cost?")
    if run is None:
        return
    scores = Scores.from_json(run.found)
    if head not in scores.values:
        return
    value, error = scores.values[head], scores.errors[head]
    widest = max(abs(score) for score in scores.values.values())
    result: Mapping[str, Any] = run.found
    half = 1.96 * error
    st.html(
        f'<h2 class="hl-card-title">{escape(cost_title(value, error))}</h2>'
        f'<p class="hl-source">{escape(result["task"])}, {result["split"]}, {result["n"]} examples · 95 % interval '
        f"{_number(value - half)} to {_number(value + half)}</p>{cost_html(value, error, widest)}"
    )


def _number(value: float) -> str:
    return f"{value:.2g}".replace("-", "\N{MINUS SIGN}")


def _is_of(run: Run, choice: Choice) -> bool:
    """Whether a run is by what the choice judges by, and of the model, the data and the code as they are now."""
    judged = choice.judged
    same = all(run.spec[name] == judged[name] for name in judged)
    return same and run.id == store().own_id(ImportanceRun(**run.spec).as_run(store().folder).id)


def _rank(run: Run | None) -> tuple[bool, bool, int]:
    """Usual options come before others, then many examples before few."""
    return (False, False, 0) if run is None else (True, not run.spec["options"], run.spec["n"])


def _show_where_it_looks(choice: Choice, facts: dict[str, Any], head: HeadId) -> None:
    """Its map in the shortest of the example sentences, or on an image."""
    example: dict[str, Any] = {"image": 0}
    if facts["answers"] != "looker":
        short = min(
            facts["examples"] or [ANY_SENTENCE],
            key=lambda one: abs(len(one["text"]) + len(one["pair"] or "") - LONGEST),
        )
        example = {name: value for name, value in short.items() if value is not None}
    run = answered(AttentionQuery(choice.model, **example), patience=3.0)
    if run is None:
        return
    seen = read_npz(run.folder / run.found["file"])
    bank = seen.bank(head.bank)
    weights = bank.map_of(head.layer, head.head)
    st.html('<h2 class="hl-card-title">Where it looks</h2>')
    if weights is None:
        st.caption("This head is no longer in the model.")
    elif seen.picture is not None:
        st.html(overlays_html(seen.picture, {str(head): weights}, 0, theme()))
    else:
        st.html(matrix_html(weights, bank.queries, bank.keys, theme(), named=len(bank.keys) <= MOST_LABELS))
