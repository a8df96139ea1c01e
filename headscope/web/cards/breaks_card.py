"""What the mask breaks: the examples that come out differently, and the groups of examples that suffer."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from headscope.runs.kinds.error_analysis import BreaksRun
from headscope.runs.run import Run
from headscope.web.cards.live_metric import measured
from headscope.web.cards.prediction_bars import marked
from headscope.web.charts.metric_text import change_text, metric_text, range_text
from headscope.web.charts.patches import picture_html
from headscope.web.grid.lab_masks import Lab
from headscope.web.grid.saved_masks import UNPRUNED, remembered
from headscope.web.page.markdown import plain
from headscope.web.page.shell import theme
from headscope.web.report.report_tables import Table
from headscope.web.runs.requests import answered

MOST_SHOWN = 12
"""Examples that the page draws; the table that can be downloaded has all."""

KINDS = {
    "lost": "right before, wrong now",
    "changed": "wrong before and now, in another way",
    "won": "wrong before, right now",
    "worse": "worse",
    "better": "better",
    "same": "as before",
}


def show_breaks(lab: Lab) -> None:
    """The mask beside the unpruned model, or beside a mask that was remembered."""
    masks = {UNPRUNED: frozenset(), **remembered(lab.choice.model)}
    beside = masks[st.selectbox("Compared with", list(masks), key="breaks-against", width=280)]
    if lab.mask == beside:
        st.caption("Both masks are the same. Switch a head off to see what breaks.")
        return
    if measured(lab.choice, lab.spelt) is None:
        st.caption("First the metric, then what breaks …")
        return
    run = answered(BreaksRun(lab.choice.model, lab.spelt, lab.grid.spell(beside), **lab.choice.judged))
    if run is None:
        return
    left, right = st.columns([1.25, 1])
    with left:
        _show_examples(run)
    with right:
        _show_groups(run)


def _show_examples(run: Run) -> None:
    found = run.found
    st.html(f'<h2 class="hl-card-title">{escape(breaks_title(found))}</h2>{_source(found)}')
    for example in found["examples"][:MOST_SHOWN]:
        st.html(example_html(example, found, theme()))
    if found["examples"]:
        st.download_button(
            "Examples as CSV",
            data=pd.DataFrame(found["examples"]).drop(columns="image").to_csv(index=False),
            file_name=f"breaks-{run.id}.csv",
            mime="text/csv",
            key="breaks-csv",
            on_click="ignore",
            type="tertiary",
        )


def _show_groups(run: Run) -> None:
    found = run.found
    families = list(dict.fromkeys(bucket["family"] for bucket in found["buckets"]))
    if not families:
        st.caption("This data has no groups of examples that Headscope knows of.")
        return
    family = st.segmented_control("Grouped by", families, default=families[0], key="breaks-family", required=True)
    buckets = [bucket for bucket in found["buckets"] if bucket["family"] == family]
    st.html(groups_html(buckets))
    st.caption(plain(f"{groups_source(found)} Both with 95 % intervals; n is the number of examples of a group."))
    st.download_button(
        "Groups as CSV",
        data=groups_table(found).to_csv(),
        file_name=f"groups-{run.id}.csv",
        mime="text/csv",
        key="groups-csv",
        on_click="ignore",
        type="tertiary",
    )


def groups_source(found: dict[str, Any]) -> str:
    """Where the groups come from and how many examples they share."""
    return f"{found['task']}, {found['split']}, {sum(found['counts'].values())} examples."


def groups_table(found: dict[str, Any]) -> Table:
    """Every group of every family with both numbers, their intervals and the paired test; the whole first."""
    return Table.of_records("groups", "Groups of examples", [found["whole"], *found["buckets"]])


def breaks_title(found: dict[str, Any]) -> str:
    """How many examples come out differently, in words."""
    counts = {kind: n for kind, n in found["counts"].items() if kind != "same" and n}
    if not counts:
        return "Nothing breaks: every example comes out as before"
    total = sum(found["counts"].values())
    parts = ", ".join(f"{n} {KINDS[kind]}" for kind, n in counts.items())
    return f"{sum(counts.values())} of {total} examples come out differently: {parts}"


def _source(found: dict[str, Any]) -> str:
    whole = found["whole"]
    name = whole["before"]["metric"]
    p = whole["change"]["p_value"]
    texts = (metric_text(name, whole[which]["value"]) for which in ("before", "after"))
    line = f"{name} {' becomes '.join(texts)}, paired p = {p:.2g} · {groups_source(found)}"
    return f'<p class="hl-source">{escape(line)}</p>'


def example_html(example: dict[str, Any], found: dict[str, Any], theme: str) -> str:
    """One example: what was asked, what is right, and what the model says with and without the heads."""
    asked = picture_html(np.array(example["image"]), theme) if example["image"] else _asked(example)
    wanted = example["reference"] or example["label"]
    rows = [("wanted", escape(wanted))] if wanted else []
    before, after = example["before"], example["after"]
    if before is not None and after is not None:
        rows += [("before", escape(before)), ("now", marked(after, before))]
    else:
        scores = (f"{example[name]:.3g}" for name in ("score_before", "score_after"))
        rows.append((found["measure"], " becomes ".join(scores)))
    lines = "".join(f"<div><span>{escape(name)}</span>{text}</div>" for name, text in rows)
    mood = {"lost": "hl-bad", "worse": "hl-bad"}.get(example["kind"], "")
    return (
        f'<div class="hl-broken"><em class="{mood}">{escape(KINDS[example["kind"]])}</em>'
        f'<div class="hl-asked">{asked}</div>{lines}</div>'
    )


def _asked(example: dict[str, Any]) -> str:
    return " / ".join(escape(text) for text in (example["text"], example["pair"]) if text)


def groups_html(buckets: list[dict[str, Any]]) -> str:
    """A row a group: how it did before and does now, as two bars on one scale."""
    if not buckets:
        return "<p></p>"
    name = buckets[0]["before"]["metric"]
    most = max(bucket[which]["value"] for bucket in buckets for which in ("before", "after")) or 1.0
    rows = "".join(_group_html(bucket, name, most) for bucket in buckets)
    return f'<div class="hl-breaks">{rows}</div>'


def _group_html(bucket: dict[str, Any], name: str, most: float) -> str:
    bars = ""
    for which in ("before", "after"):
        estimate = bucket[which]
        bars += (
            f'<i class="hl-{which}" style="width:{100 * estimate["value"] / most:.1f}%" '
            f'title="{escape(range_text(name, estimate["low"], estimate["high"]))}"></i>'
        )
    change = bucket["after"]["value"] - bucket["before"]["value"]
    firm = "hl-bad" if bucket["change"]["p_value"] < 0.01 else ""
    return (
        f"<span>{escape(bucket['name'])}<small>n = {bucket['n']}</small></span><div>{bars}</div>"
        f'<em class="{firm}">{escape(change_text(name, change))}</em>'
    )
