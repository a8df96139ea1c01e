"""What each head is for, what is left of that when heads go, and whether heads with a role matter more."""

from html import escape
from importlib.util import find_spec
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headscope.analysis.importance.scores import Scores
from headscope.analysis.roles.role_importance import RoleImportance, importance_by_role
from headscope.models.heads import HeadGrid, HeadId
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.policy.limits import UPLOAD, demo
from headscope.runs.policy.uploads import keep
from headscope.runs.run import Run
from headscope.web.cards.head_card import known_scores, method_titles, show_closing, show_head_card, show_offsets
from headscope.web.charts.role_charts import role_bars
from headscope.web.charts.role_view import (
    bars_html,
    case_bars,
    grid_finding,
    importance_bars,
    role_legend_html,
    role_style,
    short,
)
from headscope.web.grid.head_grid import select_head
from headscope.web.grid.mask_link import read_mask
from headscope.web.page.choice import Choice, head_in_link
from headscope.web.page.errors import one_sentence
from headscope.web.page.markdown import plain
from headscope.web.page.shell import begin_page, show_chart, theme
from headscope.web.runs.requests import answered, soon, store
from headscope.web.runs.role_facts import MARK, NONE, SIZES, USUAL, RoleFacts, kept_of, roles_run
from headscope.web.runs.role_masks import Masks, by_scores, by_sweep, mask_of_run, masked_runs, sweeps

ALL = "All"
CONFIDENCE = "confidence"
SCORES, LIST, SWEEP, RUN = "By importance", "My list", "A sweep", "A run"
MOST_ROWS = 6
"""Relations that are shown before the rest is asked for."""


def choose_sample(choice: Choice) -> None:
    """Whose sentences the roles are found on: those of the grammar, or the user's own trees or texts."""
    st.select_slider("Examples", SIZES, USUAL, key="passages", bind="query-params")
    if demo():
        return
    st.html('<p class="hl-source">Your own trees: a CoNLL-U file, or texts that a parser gives trees.</p>')
    uploaded = st.file_uploader(
        "CoNLL-U or plain text", type=["conllu", "txt"], key="trees-upload", max_upload_size=UPLOAD.value
    )
    typed = st.text_input("or a path", key="trees-path", placeholder="/path/to/trees.conllu").strip()
    if find_spec("spacy") is not None:
        st.text_input("spaCy pipeline for texts without trees", key="parser", bind="query-params")
    given = keep(uploaded.name, uploaded.getvalue()) if uploaded is not None else typed
    if given and given != st.query_params.get("trees"):
        st.button("Use these", key="use-trees", type="primary", on_click=use_trees, args=(given,))
    leave_trees(choice)


def choose_thresholds(facts: RoleFacts) -> None:
    """What each role asks for: a number for every threshold, with whose it is."""
    with st.expander("Thresholds"):
        for key in facts.found:
            about = facts.about[key]
            st.html(
                f'<p class="hl-source"><b>{escape(facts.title(key))}</b>, {escape(about["reference"])}'
                f"{'; ours: ' + escape(about['ours']) if about['ours'] else ''}</p>"
            )
            for name, usual in about["usual"].items():
                whole = isinstance(usual, int)
                st.number_input(
                    name.capitalize(), 0 if whole else 0.0, None if whole else 1.0, usual, 50 if whole else 0.05,
                    key=f"{MARK}{key}.{name}", bind="query-params",
                )  # fmt: skip


def leave_trees(choice: Choice) -> None:
    """A way back from the user's own trees."""
    if "trees" in st.query_params:
        st.button(plain(f"Back to what {choice.model} reads"), key="own-trees", on_click=use_trees, args=("",))


def use_trees(data: str) -> None:
    """Puts the trees into the link, or takes them out."""
    if data:
        st.query_params["trees"] = data
    else:
        st.query_params.pop("trees", None)


def show_grid(choice: Choice, facts: RoleFacts, run: Run, grid: HeadGrid, removed: frozenset[HeadId]) -> HeadId | None:
    """The letters; gives the head that is picked."""
    letters = "Letter: a role whose test is passed, dot: a second one"
    title, sample = st.columns([5, 1])
    with sample.popover("Sample", width="stretch"), one_sentence():
        choose_sample(choice)
        choose_thresholds(facts)
    own = " · thresholds of your own" if facts.result["options"] else ""
    title.html(
        f'<h2 class="hl-card-title">{escape(grid_finding(facts))}</h2>'
        f'<p class="hl-source">{letters} · {escape(facts.result["sample"])} · {run.seconds(0):.0f} s{own}</p>'
    )
    selected = select_head(grid, role_style(facts, removed), key="grid", selected=head_in_link(grid))
    st.html(role_legend_html(facts, theme()))
    return selected


def show_relations(facts: RoleFacts, head: HeadId | None) -> None:
    """Who follows which relation, as bars; for a model without trees, who comes nearest to each role."""
    if not facts.found.get("syntactic"):
        rows = facts.best_of_roles()
        title, name = "The best head of every role", "role"
        source = "What its test counts · tick = baseline"
    else:
        of_one = head is not None and st.segmented_control(
            "Relations of", ["All heads", "This head"], default="All heads", key="relations", required=True,
            bind="query-params", label_visibility="collapsed",
        ) == "This head"  # fmt: skip
        chosen = head if of_one else None
        rows = facts.best_of_relations() if chosen is None else facts.relations_of(chosen)
        n, name = sum(row.verdict for row in rows), "relation"
        whose = "a head" if chosen is None else short(chosen)
        title = f"For {n} of {len(rows)} relations {whose} does better than any fixed offset could"
        passes = f"passes at {facts.needed('syntactic')}"
        source = f"Words whose strongest attention is the related word · tick = baseline, {passes}"
    if not rows:
        st.html('<h2 class="hl-card-title">This head looks at another sentence: no tree has relations for it</h2>')
        return
    st.html(f'<h2 class="hl-card-title">{escape(title)}</h2><p class="hl-source">{escape(source)}</p>')
    titles = (name, "best head", "found", "baseline", "")
    st.html(bars_html(case_bars(rows[:MOST_ROWS]), titles, theme()))
    if len(rows) > MOST_ROWS:
        with st.expander(f"{len(rows) - MOST_ROWS} more"):
            st.html(bars_html(case_bars(rows[MOST_ROWS:]), titles, theme()))


def choose_masks(choice: Choice, grid: HeadGrid, scored: dict[str, Run]) -> tuple[Masks, str]:
    """Which heads are gone at each step, and a phrase that says by what."""
    runs, masked = sweeps(store(), choice), masked_runs(store(), choice)
    offers = [SCORES, LIST, *([SWEEP] if runs else []), *([RUN] if masked else [])]
    usual = LIST if st.query_params.get("mask") else SCORES
    source = st.segmented_control("Heads go", offers, default=usual, key="left", required=True, bind="query-params")
    if source == SWEEP:
        titles = {run_id: run.title for run_id, run in runs.items()}
        chosen = st.selectbox("Sweep", list(runs), format_func=titles.__getitem__, key="sweep", bind="query-params")
        return by_sweep(store(), runs[chosen], grid), titles[chosen]
    if source == RUN:
        names = {run_id: run.title for run_id, run in masked.items()}
        chosen = st.selectbox("Run", list(masked), format_func=names.__getitem__, key="masked-run", bind="query-params")
        return [frozenset(), grid.parse(mask_of_run(masked[chosen]))], names[chosen]
    if source == LIST:
        listed = st.text_area("Heads that go", key="mask", bind="query-params", placeholder="encoder.0.1 encoder.3.2 …")
        mask = read_mask(grid, listed)
        return [frozenset(), mask] if mask else [frozenset()], "your list"
    names = {title: key for key, title in method_titles(scored).items()}
    if not names:
        soon(ImportanceRun(choice.model, **choice.judged), "Score the heads")
        return [frozenset()], "nothing yet"
    method = st.selectbox("Method", list(names), key="left-method", bind="query-params")
    return by_scores(Scores.from_json(scored[names[method]].found).values), f"{method.lower()}, lowest first"


def show_left(choice: Choice, facts: RoleFacts, grid: HeadGrid, scored: dict[str, Run]) -> None:
    """How many heads of each role are left, step by step."""
    title = st.empty()
    with one_sentence():
        row = st.container(horizontal=True, vertical_alignment="center")
        with row.popover("Which heads go"):
            masks, by_what = choose_masks(choice, grid, scored)
        bank = choose_bank(row, grid)
        steps = {str(len(heads)): facts.counts(heads) for heads in (kept_of(facts, mask, bank) for mask in masks)}
        title.html(
            f'<h2 class="hl-card-title">{escape(left_finding(steps))}</h2>'
            f'<p class="hl-source">Heads by their clearest role · they go by {escape(by_what)}</p>'
        )
        letters = {key: str(about["letter"]) for key, about in facts.about.items()}
        show_chart(role_bars(steps, letters, theme(), 235), "left-bars")


def choose_bank(row: DeltaGenerator, grid: HeadGrid) -> str:
    """One bank, or nothing for all of them."""
    banks = [ALL, *(bank.bank.capitalize() for bank in grid.banks)]
    if len(banks) == 2:
        return ""
    chosen = row.segmented_control(
        "Bank", banks, default=ALL, key="bank", required=True, bind="query-params", label_visibility="collapsed"
    )
    return "" if chosen == ALL else chosen.lower()


def left_finding(steps: dict[str, Any]) -> str:
    """How the share of heads with a role changes, as a sentence."""
    shares = {int(n): 100 * (int(n) - own[NONE]) / int(n) for n, own in steps.items() if int(n)}
    if len(shares) < 2:
        return "What is left of the roles when heads go"
    whole = max(shares)
    if not any(shares.values()):
        return "No head has a role, so none is lost"
    few = min((n for n in shares if n != whole), key=lambda n: abs(n - whole / 5))
    return f"{shares[whole]:.0f} % of all {whole} heads have a role, {shares[few]:.0f} % of the last {few}"


def show_importance(choice: Choice, facts: RoleFacts, scored: dict[str, Run]) -> None:
    """Whether heads with a role matter more than others, and whether that is more than their confidence explains."""
    names = {title: key for key, title in method_titles(scored).items() if key != CONFIDENCE}
    if not names:
        st.caption("The heads are not scored yet.")
        return
    confidence = scored.get(CONFIDENCE) or soon(
        ImportanceRun(choice.model, method=CONFIDENCE, **choice.judged), "Measure confidence"
    )
    if confidence is None:
        return
    method = st.selectbox("Importance by", list(names), key="by", bind="query-params", width=220)
    result = scored[names[method]].found
    scores, sure = (Scores.from_json(one).values for one in (result, confidence.found))
    found = importance_by_role(facts.found, scores, sure)
    shown = {key: one for key, one in found.items() if one.n}
    st.html(
        f'<h2 class="hl-card-title">{escape(importance_finding(found[NONE]))}</h2>'
        f'<p class="hl-source">{escape(result["task"])}, {result["split"]}, {result["n"]} examples · a head with two '
        "roles counts in both · tick = their share of the heads · last: rank correlation of having the role with the "
        "score, confidence held fixed</p>"
        + bars_html(importance_bars(facts, shown), ("role", "heads", "of score", "of heads", "fixed conf."), theme())
    )


def importance_finding(none: RoleImportance) -> str:
    """What the heads with a role have, from what those without have not."""
    heads, score = 100 * (1 - none.heads_share), 100 * (1 - none.share)
    return f"Heads with a role are {heads:.0f} % of the heads and have {score:.0f} % of the score"


def table(facts: RoleFacts, key: str) -> pd.DataFrame:
    """One row a head."""
    own = facts.found[key]
    heads = sorted(own, key=lambda head: (not own[head].verdict, own[head].baseline - own[head].score))
    return pd.DataFrame(
        {
            "Head": [str(head) for head in heads],
            "Has it": [own[head].verdict for head in heads],
            "Score": [own[head].score for head in heads],
            "Baseline": [own[head].baseline for head in heads],
            "Looks": [own[head].n for head in heads],
            "Case": [own[head].case for head in heads],
            "Compared with": [own[head].control for head in heads],
            "p": [own[head].p for head in heads],
        }
    )


def show_tables(choice: Choice, facts: RoleFacts) -> None:
    """All numbers of one role, and a file with them."""
    names = {facts.title(key): key for key in facts.found}
    row = st.container(horizontal=True, vertical_alignment="bottom")
    key = names[row.selectbox("Role", list(names), key="role", width=220, bind="query-params")]
    rows = table(facts, key)
    row.download_button("CSV", rows.to_csv(index=False), f"{choice.model}-{key}.csv", key="csv", on_click="ignore")
    about = facts.about[key]
    ours = f" Ours: {about['ours']}." if about["ours"] else ""
    told = f"{about['title']}: {about['asks']} ({about['reference']}).{ours}"
    st.html(f'<p class="hl-source">{escape(told)}</p>')
    percent = st.column_config.NumberColumn(format="percent")
    st.dataframe(rows, hide_index=True, height=320, key="table", column_config={"Score": percent, "Baseline": percent})


def show_numbers(choice: Choice, facts: RoleFacts, scored: dict[str, Run]) -> None:
    """Two further views, of which only the open one is drawn."""
    importance, tables = st.tabs(["Importance by role", "Tables"], key="view", bind="query-params")
    if importance.open:
        with importance, one_sentence():
            show_importance(choice, facts, scored)
    if tables.open:
        with tables:
            show_tables(choice, facts)


def show_page(choice: Choice, facts: dict[str, Any], run: Run) -> None:
    """Grid and offsets above, relations and what is left below; a picked head opens its card over the full height."""
    grid, found = HeadGrid.from_json(facts["grid"]), RoleFacts.from_json(run.found)
    scored = known_scores(choice)
    left, right = st.columns([2.15, 1])
    with left.container(border=True, height="stretch" if head_in_link(grid) is None else "content"):
        selected = show_grid(choice, found, run, grid, grid.parse(facts["removed"]))
    if selected is None:
        with right.container(border=True, height="stretch", key="offsets"):
            show_clearest(found)
        first, second = st.columns([1.3, 1])
    else:
        st.query_params["head"] = str(selected)
        with right.container(border=True, height="stretch", key="head-card"), one_sentence():
            show_closing()
            show_head_card(choice, facts, grid, selected)
        first = second = left
    with first.container(border=True, height="stretch" if selected is None else "content", key="relation-card"):
        show_relations(found, selected)
    with second.container(border=True, height="stretch" if selected is None else "content", key="left-card"):
        show_left(choice, found, grid, scored)
    with (st if selected is None else left).container(border=True, key="numbers"):
        show_numbers(choice, found, scored)


def show_clearest(found: RoleFacts) -> None:
    """The offsets of the head that has the clearest one, until a head is picked."""
    head = found.most_positional()
    if head is None:
        st.html('<h2 class="hl-card-title">Pick a head to open its card</h2>')
        return
    show_offsets(found, head, 260, "offsets-chart")
    st.html('<p class="hl-source">Pick any head to open its card.</p>')


def found_roles(choice: Choice) -> Run | None:
    """The run; trees that cannot be used can be left."""
    try:
        return answered(roles_run(choice))
    except ValueError:
        leave_trees(choice)
        raise


choice = begin_page("Roles", "What each head is for, tested against trees, alignments and word counts.")
with one_sentence():
    asked = answered(FactsQuery(choice.model))
    if asked is not None:
        run = found_roles(choice)
        if run is not None:
            show_page(choice, asked.found, run)
