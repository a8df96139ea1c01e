"""Pruning attention scores and keys by learned priors."""

import time
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from headscope.models.heads import HeadGrid
from headscope.pruning.fiak.priors_file import heads_in, layers_in, read_priors
from headscope.pruning.fiak.ratios import layer_ratios
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.fiak import PRIORS, FiakRun
from headscope.runs.run import DONE, WAITING, Run, progress_line
from headscope.web.cards.live_metric import measured
from headscope.web.charts.fiak_curves import Pruned, fractions_figure, fractions_title, loss_figure
from headscope.web.charts.fiak_view import (
    PHASES,
    STAGES,
    diversity_figure,
    diversity_title,
    histogram_figure,
    image_maps,
    key_figure,
    key_strength,
    prior_maps,
    ratio_figure,
    stages_figure,
)
from headscope.web.charts.learn_view import training_chart
from headscope.web.charts.metric_text import change_text, metric_text, point_text, share_text
from headscope.web.forms.fiak_form import show_form
from headscope.web.page.choice import Choice
from headscope.web.page.errors import one_sentence, told
from headscope.web.page.markdown import plain
from headscope.web.page.shell import begin_page, show_chart, theme
from headscope.web.page.site_map import ATTENTION, MODEL
from headscope.web.runs.polling import paced
from headscope.web.runs.requests import answered, show_run_button, store

WIDTH = 64
LENGTHS = [2**power for power in range(4, 13)]


def name_of(run: Run) -> str:
    """What a run prunes, in a few words."""
    parts = [f"{share_text(run.spec[what])} of {what}" for what in ("scores", "keys") if run.spec[what]]
    heads = f", {len(run.spec['mask'].split())} heads off" if run.spec["mask"] else ""
    fresh = ", from new weights" if run.spec.get("start") == "scratch" else ""
    form = ", squared distance" if run.spec["form"] == "distance" else ""
    return " and ".join(parts) + (", at random" if run.spec["by"] == "random" else "") + heads + form + fresh


def show_run(choice: Choice, run_id: str, is_open: bool) -> None:
    """A run as it is now; the slots stay where they are while it goes on."""
    state, body = st.container(), st.container()
    run = store().get(run_id)
    if is_open and run.ended:
        st.rerun()
    with state:
        if run.state in WAITING:
            st.progress(run.share, plain(progress_line(run, time.time())))
        if run.result:
            show_tiles(run)
    with body:
        show_course(choice, run)
        if not run.ended and (run.folder / PRIORS).exists():
            with st.container(border=True), one_sentence():
                show_priors(run.folder / PRIORS, "live")


def show_tiles(run: Run) -> None:
    """What is left, and what it costs."""
    result, saved = run.found, run.found["savings"]
    test = {stage: measured["test"] for stage, measured in result["measured"].items()}
    change = change_text(result["metric"], test["tuned"]["value"] - test["dense"]["value"])
    tiles = (
        ("Scores kept", share_text(saved["scores_kept"] / saved["scores"]), f"{saved['scores_kept']:,}"),
        ("Keys kept", share_text(saved["keys_kept"] / saved["keys"]), f"{saved['keys_kept']:,} of {saved['keys']:,}"),
        (f"{result['metric']}, test", metric_text(result["metric"], test["tuned"]["value"]), f"{change} from dense"),
        (
            "Work of a pass",
            share_text(saved["flops"] / saved["flops_dense"]),
            f"{share_text(saved['flops_if_skipped'] / saved['flops_dense'])} if every pruned score cost nothing",
        ),
    )
    cells = "".join(f"<div><span>{escape(a)}</span><b>{escape(b)}</b><em>{escape(c)}</em></div>" for a, b, c in tiles)
    st.html(f'<div class="hl-numbers">{cells}</div>')


def show_course(choice: Choice, run: Run) -> None:
    """The metric, the loss and the priors while both trainings go on."""
    points = store().points(run.id)
    left, middle, right = st.columns(3)
    with left.container(border=True, height="stretch"):
        full = run.result["measured"]["dense"]["development"] if run.result else measured(choice, "")
        last = points[-1] if points else None
        told = f"{PHASES[last['phase']].capitalize()}, step {last['step']}" if last else "Nothing to see yet"
        st.html(f'<h2 class="hl-card-title">{told}</h2><p class="hl-source">{escape(name_of(run))}</p>')
        if points and full:
            figure = training_chart(points, PHASES, full, theme())
            show_chart(figure, "course")
    with middle.container(border=True, height="stretch"):
        lost = next((point["loss"] for point in reversed(points) if point.get("loss") is not None), None)
        told = "Loss of training" if lost is None else f"Loss of training: {lost:.3f}"
        st.html(f'<h2 class="hl-card-title">{told}</h2><p class="hl-source">Mean since it was last told</p>')
        if lost is not None:
            show_chart(loss_figure(points, PHASES, theme()), "loss")
    with right.container(border=True, height="stretch"):
        spread = next((point["histograms"] for point in reversed(points) if point.get("histograms")), None)
        st.html(
            '<h2 class="hl-card-title">How far priors moved</h2>'
            '<p class="hl-source">1 is where all of them began; the smallest go</p>'
        )
        if spread:
            show_chart(histogram_figure(spread, theme()), "histograms")


def show_priors(path: Path, key: str) -> None:
    """The priors of one layer as the file has them, head by head, and which keys they leave."""
    names = layers_in(path)
    name = st.segmented_control("Layer", names, default=names[0], key=f"layer-{key}", required=True)
    heads = heads_in(path, name)
    priors, scores, keys = read_priors(path, name)
    kept = scores if scores.shape == priors.shape else keys[:, None, :]
    dead = [str(place) for place in range(keys.shape[1]) if not keys[:, place].any()]
    gone = f"{len(dead)} of {keys.shape[1]} keys are gone for every head" if dead else "every key is left to some head"
    st.html(
        f'<h2 class="hl-card-title">{escape(name)}: {gone}</h2>'
        '<p class="hl-source">Rows are queries, columns keys; the colours go from the weakest prior to the strongest, '
        "what was pruned is left empty</p>"
    )
    show_chart(prior_maps(priors, kept, heads, theme()), f"maps-{key}")
    if not keys.all():
        st.html(
            '<h2 class="hl-card-title">Which keys die</h2>'
            f'<p class="hl-source">{int((~keys).sum())} of {keys.size} keys of heads are gone</p>'
        )
        show_chart(key_figure(keys, heads, theme()), f"keys-kept-{key}")
    images = image_maps(key_strength(priors), heads, theme())
    if images is not None:
        st.html(
            '<h2 class="hl-card-title">How strong each patch of the image is as a key</h2>'
            '<p class="hl-source">Priors summed over queries, laid back on the patches</p>'
        )
        show_chart(images, f"images-{key}")


def show_links(choice: Choice, run: Run) -> None:
    """Where the pruned model can go from here."""
    folder = str(run.folder / run.found["folder"])
    row = st.container(horizontal=True, vertical_alignment="center")
    for page, label in ((MODEL, "Open the pruned model"), (ATTENTION, "See what its heads attend to")):
        row.page_link(
            page.file,
            label=label,
            icon=page.icon,
            query_params=choice.link | {"model": folder, "task": run.found["task_key"]},
        )


def show_diversity(run: Run) -> None:
    """How different the heads of a layer are, before and after."""
    spread = run.found["diversity"]
    st.html(
        f'<h2 class="hl-card-title">{diversity_title(spread)}</h2>'
        '<p class="hl-source">Share of attention that two heads of a layer do not have in common, mean over pairs and '
        "16 examples; the measure is ours</p>"
    )
    show_chart(diversity_figure(spread, theme()), "diversity")


def show_ratios(run: Run) -> None:
    """What pruning of this size leaves of an attention layer, against the length of the sequence."""
    st.html(
        '<h2 class="hl-card-title">What this leaves of an attention layer, by arithmetic</h2>'
        '<p class="hl-source">As in figure 2 of the paper, width 64; what a kernel reaches is in the benchmark</p>'
    )
    ratios = [layer_ratios(length, WIDTH, run.spec["scores"], run.spec["keys"]) for length in LENGTHS]
    curves = {"operations": [one for one, _ in ratios], "memory": [one for _, one in ratios]}
    length = run.found["layers"][0]["length"]
    show_chart(ratio_figure(LENGTHS, curves, length, theme()), "ratios")


def show_fractions(runs: list[Run]) -> None:
    """The metric of every finished run with all heads against the share that went, as in table 1 of the paper."""
    metric = runs[0].found["metric"]
    alike = [run for run in runs if run.found["metric"] == metric and not run.spec["mask"]]
    if alike:
        points = [Pruned.of(run.spec, run.found, name_of(run)) for run in alike]
        n = points[0].test["n"]
        st.html(
            f'<h2 class="hl-card-title">{fractions_title(points)}</h2>'
            f'<p class="hl-source">After fine-tuning; test, {n} examples, bars are 95 % intervals, lines the means of '
            "runs; trainings may differ, the table tells</p>"
        )
        show_chart(fractions_figure(points, theme()), "fractions")


def show_table(runs: list[Run]) -> None:
    """Every finished run of this model, stage by stage."""
    rows = [
        {
            "Pruned": name_of(run),
            **{
                text: point_text(run.found["measured"][stage]["test"]) if stage in run.found["measured"] else ""
                for stage, text in STAGES.items()
                if stage != "heads" or any(one.spec["mask"] for one in runs)
            },
            "work": share_text(run.found["savings"]["flops"] / run.found["savings"]["flops_dense"]),
            "steps": f"{run.spec['steps_priors']} + {run.spec['steps_tuning']}",
            "seed": run.spec["seed"],
        }
        for run in runs
    ]
    metric = runs[0].found["metric"]
    st.html(
        f'<h2 class="hl-card-title">{metric[:1].upper() + metric[1:]} on test from stage to stage</h2>'
        '<p class="hl-source">The newest runs; the table has all of them, with 95 % intervals in brackets</p>'
    )
    results = [{**run.found, "name": name_of(run)} for run in runs[:4]]
    show_chart(stages_figure(results, theme()), "stages")
    st.dataframe(pd.DataFrame(rows), hide_index=True, height="content", key="fiak-table")


def show_page(choice: Choice) -> None:
    """The form beside the newest run; below, its priors and all runs together."""
    runs: list[Any] = [run for run in store().runs(kind=FiakRun.key) if run.model == choice.model]
    shown = next((run for run in runs if run.id == st.query_params.get("run")), runs[0] if runs else None)
    form, watch = st.columns([1, 3.2])
    with form.container(border=True, height="stretch"):
        facts = answered(FactsQuery(choice.model))
        if facts is not None:
            show_form(choice, HeadGrid.from_json(facts.found["grid"]), facts.found["answers"])
    done = [run for run in runs if run.state == DONE]
    with watch:
        if shown is None:
            with st.container(border=True, height="stretch"):
                st.html('<h2 class="hl-card-title">No priors yet: start a run and watch which scores go</h2>')
            return
        show_run_button(shown, "fiak")
        st.fragment(told(show_run), run_every=None if shown.ended else paced(1.0))(choice, shown.id, not shown.ended)
        if shown.state == DONE:
            show_links(choice, shown)
            with st.container(border=True), one_sentence():
                show_priors(shown.folder / shown.result["priors"], "end")
            left, right = st.columns(2)
            with left.container(border=True, height="stretch"):
                show_diversity(shown)
            with right.container(border=True, height="stretch"):
                show_ratios(shown)
        if done:
            with st.container(border=True):
                show_fractions(done)
            with st.container(border=True):
                show_table(done)


choice = begin_page("FiAK", "Prune attention scores and keys by learned priors instead of whole heads.")
with one_sentence():
    show_page(choice)
