"""How much the model depends on each head, by any method, and how far the methods agree."""

from dataclasses import replace
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from analysis.agreement import agreements
from analysis.importance.levels import levelled
from analysis.importance.scores import Scores
from jobs.kinds.ablations import AblationsRun
from jobs.kinds.facts import FactsQuestion
from jobs.kinds.methods import MethodsQuestion, code_mark
from jobs.learned_scores import newest
from jobs.run import Run
from models.fingerprint import fingerprint
from models.heads import HeadGrid, HeadId
from ui.asking import answered, known, store
from ui.charts import balance_bars, layer_bars
from ui.choice import Choice, head_in_link
from ui.head_card import show_head_card
from ui.head_grid import GridLook, legend_html, look_html, select_head
from ui.importance_view import agreement_html, bank_shares, finding, layer_shares
from ui.method_form import SIZES, USUAL, Scoring, method_options
from ui.offering import offered
from ui.shell import begin_page, one_sentence, theme
from ui.site_map import FIAK, LEARN

FIRST = ("gradient", "lrp", "ablation", "confidence", "shapley")
STARTED_AT = {"l0": LEARN, "subset": LEARN, "fiak": FIAK}
"""Where the runs of methods that need one are started."""

COMPARED = ("gradient", "taylor", "confidence", "wanda")


def has_scores(choice: Choice, method: dict[str, Any]) -> bool:
    """Whether a method can score by itself, or the run that it needs is there."""
    return not method["needs_run"] or bool(newest(store().folder, fingerprint(choice.model), method["key"]))


def choose_method(choice: Choice, methods: dict[str, dict[str, Any]]) -> Scoring:
    """The method, its options and the number of examples."""
    first = [key for key in FIRST if key in methods]
    order = [*first, *(key for key in methods if key not in first and not methods[key]["needs_run"])]
    order += [key for key in methods if key not in order]
    keys = {methods[key]["title"] + ("" if has_scores(choice, methods[key]) else " · no run"): key for key in order}
    row = st.container(horizontal=True, vertical_alignment="bottom")
    key = keys[row.selectbox("Method", list(keys), key="method", width=280, bind="query-params")]
    with row.popover("Options"):
        n = st.select_slider("Examples", SIZES, USUAL, key="n", bind="query-params")
        options = method_options(methods[key])
        st.toggle("Level each layer", key="level", bind="query-params", help="Every layer divided by its L2 norm.")
    return Scoring(key, n, options)


def scores_of(run: Run, grid: HeadGrid) -> Scores:
    """The scores of a run, levelled if the user wants that."""
    scores = Scores.from_json(run.result)
    return levelled(scores, grid) if st.session_state.get("level") else scores


def provenance(run: Run, method: dict[str, Any]) -> str:
    """Where the scores come from, and how firm they are."""
    result = run.result
    firm = result["stability"]
    stable = f" · ranks of two halves of the examples agree to {firm['mean']:.2f}" if firm else ""
    where = f"{result['task']}, {result['split']}, {result['n']} examples"
    return escape(f"{method['reference']} · {where}{stable} · computed in {run.seconds(0):.1f} s")


def show_scores(run: Run, method: dict[str, Any], grid: HeadGrid, removed: frozenset[HeadId]) -> HeadId | None:
    """The grid under one method; gives the head that is picked."""
    scores = scores_of(run, grid)
    shares = bank_shares(scores.values, grid)
    captions = {bank: f"{100 * share:.0f} % of all" for bank, share in shares.items()} if len(shares) > 1 else {}
    notes = {head: f"{value:.3g} ± {scores.errors[head]:.1g}" for head, value in scores.values.items()}
    look = replace(GridLook.of_scores(scores.values), removed=removed, captions=captions, notes=notes)
    st.html(
        f'<h2 class="hl-card-title">{escape(finding(scores.values, grid, method["title"]))}</h2>'
        f'<p class="hl-source">{provenance(run, method)}</p>'
    )
    selected = select_head(grid, look, key="grid", selected=head_in_link(grid))
    st.html(legend_html(theme()) + f'<p class="hl-source">{escape(method["about"])}</p>')
    if run.result["balance"]:
        show_balance(run.result["balance"], method["title"])
    return selected


def show_balance(balance: dict[str, float], title: str) -> None:
    """Whether what a method distributes arrives, as a figure."""
    whole, *parts = balance.values()
    gap = abs(whole - sum(parts)) / (max(map(abs, balance.values())) or 1.0)
    st.html(
        f'<h2 class="hl-card-title">{escape(title)} adds up: {whole:.4g} goes in, {sum(parts):.4g} comes out</h2>'
        f'<p class="hl-source">Relative gap {gap:.0e} · first batch of examples</p>'
    )
    st.plotly_chart(balance_bars(balance, theme()), config={"displayModeBar": False}, key="balance")


def compared(choice: Choice, methods: dict[str, dict[str, Any]], current: Scoring) -> dict[str, Run]:
    """The runs of the methods that shall be compared; those that are not there yet are asked for."""
    ready = {method["title"]: key for key, method in methods.items() if not method["needs_run"]}
    usual = [methods[key]["title"] for key in COMPARED if key in methods]
    chosen = st.pills(
        "Side by side", list(ready), default=usual, selection_mode="multi", key="compare", bind="query-params"
    )
    runs = {}
    for title in dict.fromkeys([methods[current.method]["title"], *chosen]):
        key = ready.get(title)
        if key is not None:
            is_current = key == current.method
            asked = (current if is_current else Scoring(key, current.n)).run(choice)
            run = known(asked) if is_current else answered(asked, patience=0.0)
            if run is not None:
                runs[title] = run
    return runs


def show_side_by_side(runs: dict[str, Run], grid: HeadGrid) -> None:
    """A small grid for every method."""
    st.html('<p class="hl-source">Each scaled to its own maximum</p>')
    cells = "".join(
        f"<div><b>{escape(title)}</b>"
        f"{look_html(grid, replace(GridLook.of_scores(scores_of(run, grid).values), size='mini'), theme())}</div>"
        for title, run in runs.items()
    )
    st.html(f'<div class="hl-multiples">{cells}</div>')


def show_agreement(runs: dict[str, Run], grid: HeadGrid) -> None:
    """How far the methods rank the heads alike."""
    rankings = {title: scores_of(run, grid).values for title, run in runs.items()}
    k = max(1, len(grid) // 4)
    found = agreements(rankings, k)
    correlation = {pair: one.spearman for pair, one in found.items()}
    if not correlation:
        st.html('<h2 class="hl-card-title">Pick two methods or more to compare them</h2>')
        return
    least = min(correlation, key=correlation.__getitem__)
    st.html(
        f'<h2 class="hl-card-title">{escape(least[0])} and {escape(least[1])} agree least</h2>'
        f'<p class="hl-source">Rank correlation (Spearman) over {len(grid)} heads</p>'
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


def show_comparison(choice: Choice, runs: dict[str, Run], grid: HeadGrid) -> None:
    """The view that is open, and only that, for all four together would take their time."""
    views = st.tabs(["Grids", "Agreement", "Layers", "Table"], key="view", bind="query-params")
    grids, agreement, layers, numbers = views
    if grids.open:
        with grids:
            show_side_by_side(runs, grid)
    if agreement.open:
        with agreement:
            show_agreement(runs, grid)
    if layers.open and runs:
        with layers:
            title, run = next(iter(runs.items()))
            st.html(f'<h2 class="hl-card-title">{escape(title)} by layer</h2>')
            shares = layer_shares(scores_of(run, grid).values, grid)
            st.plotly_chart(layer_bars(shares, theme()), config={"displayModeBar": False}, key="layers")
    if numbers.open:
        with numbers:
            rows = table(runs, grid)
            st.dataframe(rows, hide_index=True, height=320, key="scores")
            told = rows.to_csv(index=False)
            st.download_button("CSV", told, f"{choice.model}-importance.csv", key="csv", on_click="ignore")


def offer_run(choice: Choice, method: dict[str, Any]) -> None:
    """A way to the run that gives a method its scores."""
    st.info(f"{method['title']} needs {method['needs_run']}. {method['about']}")
    page = STARTED_AT.get(method["key"])
    if page is not None:
        st.page_link(page.file, label="Start one", icon=page.icon, query_params=choice.link)
    elif offered(AblationsRun(choice.model, **choice.judged), "Remove every head alone") is not None:
        st.rerun()


def show_page(choice: Choice, facts: dict[str, Any], methods: dict[str, dict[str, Any]]) -> None:
    """The grid, the comparison, and the card of the picked head."""
    grid = HeadGrid.from_json(facts["grid"])
    left, right = st.columns([2.4, 1])
    with left.container(border=True):
        scoring = choose_method(choice, methods)
        method = methods[scoring.method]
        selected = head_in_link(grid)
        with one_sentence():
            if not has_scores(choice, method):
                offer_run(choice, method)
            elif (run := answered(scoring.run(choice))) is not None:
                selected = show_scores(run, method, grid, grid.parse(facts["removed"]))
    if selected is not None:
        st.query_params["head"] = str(selected)
    with left.container(border=True):
        runs: dict[str, Run] = {}
        with one_sentence():
            runs = compared(choice, methods, scoring)
        show_comparison(choice, runs, grid)
    with right.container(border=True, height="stretch", key="head-card"), one_sentence():
        show_head_card(choice, facts, grid, selected or grid.heads[0])


choice = begin_page(
    "Importance", "How much the model depends on each head, by any method. Pick a head to open its card."
)
with one_sentence():
    listed = answered(MethodsQuestion("", code_mark()))
    asked = answered(FactsQuestion(choice.model)) if listed is not None else None
    if asked is not None:
        show_page(choice, asked.result, {method["key"]: method for method in listed.result["methods"]})
