"""How much the model depends on each head, by any method, and how far the methods agree."""

from collections.abc import Collection
from dataclasses import replace
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from headscope.analysis.agreement import agreements
from headscope.analysis.importance.scores import Scores, levelled
from headscope.models.heads import HeadGrid, HeadId
from headscope.models.loading.fingerprint import fingerprint
from headscope.runs.kinds.ablations import AblationsRun
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.methods import MethodsQuery, code_mark
from headscope.runs.learned_scores import newest
from headscope.runs.run import Run
from headscope.web.cards.head_card import show_head_card
from headscope.web.charts.importance_view import (
    agreement_html,
    bank_captions,
    finding,
    layer_shares,
    ranked_by_all,
    score_style,
)
from headscope.web.charts.layout import balance_bars, layer_bars
from headscope.web.forms.method_form import SIZES, USUAL, Scoring, method_options
from headscope.web.grid.head_grid import legend_html, select_head
from headscope.web.page.choice import Choice, head_in_link
from headscope.web.page.errors import one_sentence
from headscope.web.page.markdown import plain
from headscope.web.page.shell import begin_page, show_chart, theme
from headscope.web.page.site_map import FIAK, LEARN
from headscope.web.runs.requests import answered, known, offered, store

FIRST = ("gradient", "lrp", "ablation", "confidence", "shapley")
STARTED_AT = {"l0": (LEARN, {"gates": "L0"}), "subset": (LEARN, {"gates": "Subset"}), "fiak": (FIAK, {})}
"""Where the runs of methods that need one are started, and what the form there begins with."""

MISSED = 0.01
"""The relative gap from which a sum does not add up."""

COMPARED = ("gradient", "taylor", "confidence", "wanda")


def with_scores(choice: Choice, methods: dict[str, dict[str, Any]], current: Scoring) -> set[str]:
    """The methods that can score by themselves, and those whose run is there or was named."""
    folder, mark = store().folder, fingerprint(choice.model)
    named = {current.method} if current.options.get("run") else set()
    return named | {
        key for key, method in methods.items() if not method["needs_run"] or newest(folder, mark, key, choice.judged)
    }


def label(method: dict[str, Any]) -> str:
    """What the list and the link call a method; it must not change when a run comes."""
    return str(method["title"]) + (" · needs a run" if method["needs_run"] else "")


def choose_method(methods: dict[str, dict[str, Any]]) -> Scoring:
    """The method, its options and the number of examples."""
    first = [key for key in FIRST if key in methods]
    order = [*first, *(key for key in methods if key not in first and not methods[key]["needs_run"])]
    order += [key for key in methods if key not in order]
    row = st.container(horizontal=True, vertical_alignment="bottom")
    key = row.selectbox(
        "Method", order, format_func=lambda one: label(methods[one]), key="method", width=280, bind="query-params"
    )
    with row.popover("Options"):
        n = st.select_slider("Examples", SIZES, USUAL, key="n", bind="query-params")
        options = method_options(methods[key])
        st.toggle("Level each layer", key="level", bind="query-params", help="Every layer divided by its L2 norm.")
    return Scoring(key, n, options)


def scores_of(run: Run, grid: HeadGrid) -> Scores:
    """The scores of a run, levelled if the user wants that."""
    scores = Scores.from_json(run.found)
    return levelled(scores, grid) if st.session_state.get("level") else scores


def provenance(run: Run, method: dict[str, Any]) -> str:
    """Where the scores come from, and how firm they are."""
    result = run.found
    parts = [method["reference"], f"{result['task']}, {result['split']}, {result['n']} examples"]
    if result["stability"]:
        parts.append(f"ranks of two halves of the examples agree to {result['stability']['mean']:.2f}")
    parts.append(f"read from run {result['run'][:6]}" if "run" in result else f"computed in {run.seconds(0):.1f} s")
    return escape(" · ".join(parts))


def remarks(run: Run, method: dict[str, Any], scores: Scores) -> str:
    """What a score means, and what the picture does not say by itself."""
    told = [method["about"]]
    if any(value < 0 for value in scores.values.values()):
        told.append("A minus marks heads below 0.")
    unscored = run.found.get("unscored", [])
    if unscored:
        heads = "1 head was" if len(unscored) == 1 else f"{len(unscored)} heads were"
        told.append(f"{heads} not part of what that run learned: hatched, and not scored.")
    return escape(" ".join([*told, *run.found.get("notes", [])]))


def show_scores(run: Run, method: dict[str, Any], grid: HeadGrid, removed: frozenset[HeadId]) -> HeadId | None:
    """The grid under one method; gives the head that is picked."""
    scores = scores_of(run, grid)
    look = replace(score_style(scores, grid, removed), captions=bank_captions(scores.values, grid))
    st.html(
        f'<h2 class="hl-card-title">{escape(finding(scores.values, grid, method["key"], method["title"]))}</h2>'
        f'<p class="hl-source">{provenance(run, method)}</p>'
    )
    selected = select_head(grid, look, key="grid", selected=head_in_link(grid))
    st.html(legend_html(theme()) + f'<p class="hl-source">{remarks(run, method, scores)}</p>')
    if run.found["balance"]:
        show_balance(run.found["balance"], method["title"])
    return selected


def show_balance(balance: dict[str, float], title: str) -> None:
    """Whether what a method distributes arrives, as a figure."""
    whole, *parts = balance.values()
    gap = abs(whole - sum(parts)) / (max(map(abs, balance.values())) or 1.0)
    st.html(
        f'<h2 class="hl-card-title">{escape(title)} {"adds up" if gap < MISSED else "does not quite add up"}: '
        f"{whole:.4g} goes in, {sum(parts):.4g} comes out</h2>"
        f'<p class="hl-source">Relative gap {gap:.0e} · first batch of examples</p>'
    )
    show_chart(balance_bars(balance, theme()), "balance")


def compared(
    choice: Choice, methods: dict[str, dict[str, Any]], ready: Collection[str], current: Scoring
) -> dict[str, Run]:
    """By method, the runs that shall be compared; those that are not there yet are asked for."""
    order = [key for key in methods if key in ready]
    usual = [key for key in COMPARED if key in methods]
    chosen = st.pills(
        "Side by side", order, default=usual, format_func=lambda key: methods[key]["title"], selection_mode="multi",
        key="compare", bind="query-params",
    )  # fmt: skip
    runs = {}
    for key in dict.fromkeys([current.method, *chosen]):
        if key in ready:
            is_current = key == current.method
            asked = (current if is_current else Scoring(key, current.n)).run(choice)
            run = known(asked) if is_current else answered(asked, patience=0.0)
            if run is not None:
                runs[methods[key]["title"]] = run
    return runs


def show_side_by_side(
    runs: dict[str, Run], grid: HeadGrid, removed: frozenset[HeadId], selected: HeadId | None
) -> HeadId | None:
    """A small grid for every method; gives the head that is picked in one of them."""
    st.html('<p class="hl-source">Each scaled to its own maximum · pick a head to open its card</p>')
    picked = None
    row = st.container(horizontal=True, gap="medium", key="multiples")
    for title, run in runs.items():
        with row.container(width=240):
            st.html(f'<div class="hl-multiple">{escape(title)}</div>')
            look = replace(score_style(scores_of(run, grid), grid, removed), size="mini")
            found = select_head(grid, look, key=f"mini-{run.spec['method']}", selected=selected)
        picked = found if found != selected else picked
    return picked


def show_agreement(runs: dict[str, Run], grid: HeadGrid) -> None:
    """How far the methods rank the heads alike."""
    rankings = ranked_by_all({title: scores_of(run, grid).values for title, run in runs.items()})
    n = min(map(len, rankings.values()), default=0)
    k = max(1, n // 4)
    found = agreements(rankings, k) if n else {}
    correlation = {pair: one.spearman for pair, one in found.items()}
    if not correlation:
        st.html('<h2 class="hl-card-title">Pick two methods or more to compare them</h2>')
        return
    least = min(correlation, key=correlation.__getitem__)
    over = f"{n} heads" + ("" if n == len(grid) else " that all score")
    st.html(
        f'<h2 class="hl-card-title">{escape(least[0])} and {escape(least[1])} agree least</h2>'
        f'<p class="hl-source">Rank correlation (Spearman) over {over}</p>'
        + agreement_html(list(rankings), correlation, theme())
    )
    rows = [
        {"First": a, "Second": b, "Spearman": one.spearman, "Kendall": one.kendall, f"Of the best {k}": one.overlap}
        for (a, b), one in found.items()
    ]
    with st.expander("Kendall and overlap"):
        st.dataframe(pd.DataFrame(rows), hide_index=True, key="agreements")


def table(runs: dict[str, Run], grid: HeadGrid) -> pd.DataFrame:
    """One row a head, one column a method, and the errors."""
    columns: dict[str, Any] = {"Head": [str(head) for head in grid]}
    for title, run in runs.items():
        scores = scores_of(run, grid)
        columns[title] = [scores.values.get(head) for head in grid]
        columns[f"{title} ±"] = [scores.errors.get(head) for head in grid]
    return pd.DataFrame(columns)


def open_row(heads: list[str]) -> None:
    """Opens the card of the head whose row was picked in the table."""
    for row in st.session_state["scores"]["selection"]["rows"]:
        st.query_params["head"] = heads[row]


def show_table(choice: Choice, runs: dict[str, Run], grid: HeadGrid) -> None:
    """All numbers, to sort, to pick a head from and to take home."""
    rows = table(runs, grid)
    heads = rows["Head"].tolist()
    st.dataframe(
        rows, hide_index=True, height=320, key="scores", on_select=lambda: open_row(heads), selection_mode="single-row"
    )
    told = rows.to_csv(index=False)
    st.download_button("CSV", told, f"{choice.model}-importance.csv", key="csv", on_click="ignore")


def show_layers(runs: dict[str, Run], grid: HeadGrid) -> None:
    """The share of every layer under the first method."""
    title, run = next(iter(runs.items()))
    st.html(f'<h2 class="hl-card-title">{escape(title)} by layer</h2>')
    shares = layer_shares(scores_of(run, grid).values, grid)
    show_chart(layer_bars(shares, theme()), "layers")


def show_comparison(
    choice: Choice, runs: dict[str, Run], grid: HeadGrid, removed: frozenset[HeadId], selected: HeadId | None
) -> HeadId | None:
    """The view that is open, and only that, for all four together would take their time; gives a head picked in it."""
    grids, agreement, layers, numbers = st.tabs(
        ["Grids", "Agreement", "Layers", "Table"], key="view", bind="query-params"
    )
    if grids.open:
        with grids:
            return show_side_by_side(runs, grid, removed, selected)
    if agreement.open:
        with agreement:
            show_agreement(runs, grid)
    if layers.open and runs:
        with layers:
            show_layers(runs, grid)
    if numbers.open:
        with numbers:
            show_table(choice, runs, grid)
    return None


def offer_run(choice: Choice, method: dict[str, Any]) -> None:
    """A way to the run that gives a method its scores."""
    st.info(plain(f"{method['title']} needs {method['needs_run']}. {method['about']}"))
    if method["key"] in STARTED_AT:
        page, wanted = STARTED_AT[method["key"]]
        st.page_link(page.file, label="Start one", icon=page.icon, query_params=choice.link | wanted)
    elif offered(AblationsRun(choice.model, **choice.judged), "Remove every head alone") is not None:
        st.rerun()


def show_page(choice: Choice, facts: dict[str, Any], methods: dict[str, dict[str, Any]]) -> None:
    """The grid, the comparison, and the card of the picked head."""
    grid = HeadGrid.from_json(facts["grid"])
    removed = grid.parse(facts["removed"])
    left, right = st.columns([2.4, 1])
    with left.container(border=True):
        scoring = choose_method(methods)
        method, ready = methods[scoring.method], with_scores(choice, methods, scoring)
        selected = head_in_link(grid)
        with one_sentence():
            if scoring.method not in ready:
                offer_run(choice, method)
            elif (run := answered(scoring.run(choice))) is not None:
                selected = show_scores(run, method, grid, removed)
    if selected is not None:
        st.query_params["head"] = str(selected)
    with left.container(border=True):
        runs: dict[str, Run] = {}
        with one_sentence():
            runs = compared(choice, methods, ready, scoring)
        picked = show_comparison(choice, runs, grid, removed, selected)
    if picked is not None:
        st.query_params["head"] = str(picked)
        st.rerun()
    with right.container(border=True, height="stretch", key="head-card"), one_sentence():
        show_head_card(choice, facts, grid, selected or grid.heads[0])


choice = begin_page(
    "Importance", "How much the model depends on each head, by any method. Pick a head to open its card."
)
with one_sentence():
    listed = answered(MethodsQuery("", code_mark()))
    asked = answered(FactsQuery(choice.model)) if listed is not None else None
    if listed is not None and asked is not None:
        show_page(choice, asked.found, {method["key"]: method for method in listed.found["methods"]})
