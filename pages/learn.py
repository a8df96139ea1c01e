"""Let training decide: every head gets a gate, and what is not needed closes."""

import time
from dataclasses import fields
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from headscope.models.heads import HeadGrid, HeadId
from headscope.pruning.training.cooling import Cooling
from headscope.runs.client import submit
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.run import DONE, RESUMABLE, WAITING, Run, progress_line
from headscope.web.cards.comparison_card import show_comparison
from headscope.web.cards.head_card import pick_head, show_card_of
from headscope.web.cards.live_metric import measured
from headscope.web.charts.learn_view import (
    PHASES,
    Movie,
    bank_figure,
    movie_figure,
    movie_title,
    outlay_figure,
    outlay_title,
    time_asked,
    training_chart,
)
from headscope.web.charts.metric_text import change_text, metric_text, point_text, share_text
from headscope.web.grid.head_grid import GridStyle, look_html
from headscope.web.grid.mask_link import short_mask
from headscope.web.page.choice import Choice
from headscope.web.page.errors import one_sentence, told
from headscope.web.page.markdown import plain
from headscope.web.page.shell import begin_page, show_chart, theme
from headscope.web.page.site_map import PRUNE_LAB
from headscope.web.runs.polling import paced
from headscope.web.runs.requests import answered, show_run_button, store

GATES = {"L0": "l0", "Layers": "layerwise", "Subset": "dsp"}
ABOUT = {
    "l0": "Hard Concrete gates (Voita et al. 2019): an open gate has a price, so only useful heads stay open.",
    "layerwise": "Layer-wise pruning (Shim et al. 2021): gates are 0 or 1 in every step, start open, and the price "
    "rises slowly; then heads are removed and the rest is trained on.",
    "dsp": "Differentiable subset pruning (Li et al. 2021): heads compete for exactly K places while it cools.",
}


def settings_form(gates: str, n_heads: int) -> tuple[dict[str, Any], str]:
    """The options of the chosen gates."""
    settings: dict[str, Any] = {}
    weights = "trained"
    if gates == "dsp":
        settings["keep"] = int(st.number_input("Heads that stay", 1, n_heads, max(1, n_heads // 4), key="keep"))
        if st.toggle("Straight through", key="ste", help="No noise and no temperature: hard in every step."):
            gates = "dsp-ste"
        elif not st.toggle("Train the weights too", True, key="joint", help="Joint; else pipelined, weights frozen."):
            weights = "frozen"
        if gates == "dsp":
            settings |= cooling_form()
        return settings | {"gates": gates}, weights
    if gates == "l0" and st.toggle("Find the price for a number of heads", key="target"):
        settings["keep"] = int(st.number_input("Heads that shall stay", 1, n_heads, n_heads // 2, key="l0-keep"))
    else:
        usual = 0.02 if gates == "l0" else 0.015
        settings["penalty"] = st.number_input(
            "Price of an open gate", 0.0001, 10.0, usual, 0.005, format="%.4f", key=f"price-{gates}"
        )
    if gates == "layerwise":
        settings["warm_up"] = st.slider("Share of the steps in which the price rises", 0.0, 0.9, 0.25, key="warm-up")
    if not st.toggle("Train the weights too", True, key="train-weights"):
        weights = "frozen"
    return settings | {"gates": gates}, weights


def cooling_form() -> dict[str, Any]:
    """How subset gates cool; gives what is not as usual."""
    chosen: dict[str, Any] = {}
    with st.expander("Advanced"):
        for one in fields(Cooling):
            usual: Any = one.default
            shape = {"format": "%g", "min_value": 0.0} if isinstance(usual, float) else {"min_value": 0}
            about = one.metadata["about"]
            value = st.number_input(one.name.capitalize(), value=usual, key=f"dsp-{one.name}", help=about, **shape)
            if value != usual:
                chosen[one.name] = value
    return chosen


def cooled(settings: dict[str, Any], steps: int) -> bool:
    """Whether subset gates can cool so in so many steps; says so where they cannot or should not."""
    try:
        cooling = Cooling(**{name: value for name, value in settings.items() if name != "keep"})
        cooling.check_steps(steps)
    except ValueError as error:
        st.error(plain(str(error)))
        return False
    if caution := cooling.caution(steps):
        st.warning(plain(caution))
    return True


def show_form(choice: Choice, grid: HeadGrid, runs: list[Run]) -> None:
    """Which gates, at which price, for how long; and the button."""
    st.html('<h2 class="hl-card-title">New run</h2>')
    gates = GATES[
        st.segmented_control("Gates", list(GATES), default="L0", key="gates", required=True, bind="query-params")
    ]
    st.caption(ABOUT[gates])
    names = [bank.bank for bank in grid.banks]
    banks = st.pills("Banks with gates", names, default=names, selection_mode="multi", key="banks") or names
    n_heads = sum(grid.bank(name).n_heads for name in banks)
    settings, weights = settings_form(gates, n_heads)
    left, right = st.columns(2)
    steps = int(left.number_input("Steps", 20, 100_000, 400, 50, key="steps"))
    finetune = int(right.number_input("then fine-tune", 0, 100_000, 100, 50, key="finetune"))
    seed = int(left.number_input("Seed", 0, 10_000, 0, key="seed"))
    gates = settings.pop("gates")
    fine = gates != "dsp" or cooled(settings, steps)
    st.caption(f"{time_asked(runs, steps + finetune, time.time())}It goes on when you close the tab.")
    if st.button(
        "Start", key="start-learning", type="primary", width="stretch", icon=":material/play_arrow:", disabled=not fine
    ):
        run = submit(
            store(),
            LearnRun(
                choice.model, gates, settings, "" if len(banks) == len(names) else " ".join(banks), weights, steps,
                finetune, seed, **choice.judged,
            ),
        )  # fmt: skip
        if run.state in RESUMABLE:
            store().resume(run.id)
        st.query_params["run"] = run.id
        st.rerun()


def learned_heads(run: Run, grid: HeadGrid, removed: frozenset[HeadId]) -> list[HeadId]:
    """The heads whose gates the run learns, in the order of its points."""
    banks = run.spec["banks"].split() or [bank.bank for bank in grid.banks]
    return [head for head in grid if head.bank in banks and head not in removed]


def show_tiles(run: Run, points: list[dict[str, Any]], movie: Movie, frame: int) -> None:
    """How far it is, what is open, what the metric is, and what is saved."""
    last = points[-1]
    kept = sum(movie.n_kept(frame).values())
    tiles = [
        ("Step", f"{last['step']:,}", f"of {last['steps']:,} · {PHASES[last['phase']]}"),
        ("Expected heads open", f"{movie.n_open[frame]:.1f} / {len(movie.heads)}", f"{kept} would stay"),
    ]
    if run.state == DONE:
        result, test = run.found, run.found["report"]["test"]
        change = change_text(result["metric"], test["after"]["value"] - test["before"]["value"])
        saved = 1 - result["parameters"] / result["parameters_dense"]
        tiles.append((f"{result['metric']}, test", metric_text(result["metric"], test["after"]["value"]), change))
        tiles.append(("Parameters saved", share_text(saved), f"{result['parameters'] / 1e6:.2f} M left"))
    else:
        loss = next((point["loss"] for point in reversed(points) if point.get("loss") is not None), None)
        tiles.append(("Loss", "…" if loss is None else f"{loss:.3f}", "of training"))
        price = next((point["price"] for point in reversed(points) if point.get("price")), None)
        tiles.append(("Price of a gate", "…" if price is None else f"{price:.3g}", "now"))
    cells = "".join(f"<div><span>{escape(a)}</span><b>{escape(b)}</b><em>{escape(c)}</em></div>" for a, b, c in tiles)
    st.html(f'<div class="hl-numbers">{cells}</div>')


def choose_frame(movie: Movie) -> int:
    """The frame that the scrubber stands at; while it plays, the next one."""
    last = len(movie.steps) - 1
    if st.session_state.get("playing"):
        frame = min(last, int(st.session_state.get("frame", 0)) + max(1, last // 40))
        st.session_state["frame"] = frame
        if frame == last:
            st.session_state["playing"] = False
            del st.session_state["frame"]
            st.rerun()
        return frame
    return min(last, int(st.session_state.get("frame", last)))


def play() -> None:
    """From the beginning."""
    st.session_state["playing"], st.session_state["frame"] = True, 0


def scrub(key: str, steps: tuple[int, ...]) -> None:
    """Stops at the frame that was picked; at the end it follows the run."""
    st.session_state["playing"] = False
    frame = steps.index(st.session_state[key])
    if frame < len(steps) - 1:
        st.session_state["frame"] = frame
    else:
        st.session_state.pop("frame", None)


def show_movie(movie: Movie, frame: int, run: Run, grid: HeadGrid) -> HeadId | None:
    """All gates over time, and the banks as they are at the frame; gives the head that is picked once it has ended."""
    st.html(
        f'<h2 class="hl-card-title">{escape(movie_title(movie, frame))}</h2>'
        '<p class="hl-source">One line a head, sorted by how long it stays open; full colour: open</p>'
    )
    left, right = st.columns([2.6, 1])
    with left:
        figure = movie_figure(movie, max(run.spec["n_steps"], movie.steps[-1]), frame, theme())
        show_chart(figure, "movie")
        row = st.container(horizontal=True, vertical_alignment="center")
        if row.button("Play", icon=":material/play_arrow:", on_click=play, key="play", disabled=len(movie.steps) < 3):
            st.rerun()
        if len(movie.steps) > 1:
            key = f"scrubber-{len(movie.steps)}"  # a slider with other steps is another slider
            row.select_slider(
                "Step", movie.steps, movie.steps[frame], key=key, on_change=scrub, args=(key, movie.steps),
                label_visibility="collapsed",
            )  # fmt: skip
    with right:
        gates = movie.at(frame)
        notes = {head: f"gate {value:.2f}" for head, value in gates.items()}
        captions = {bank: f"{n} stay" for bank, n in movie.n_kept(frame).items()}
        look = GridStyle(shades=gates, notes=notes, captions=captions, ramp="gate")
        st.html(f'<b class="hl-source">At step {movie.steps[frame]:,}</b>')
        if run.ended:
            return pick_head(grid, look, "gates-grid")
        st.html(look_html(grid, look, theme()))
    return None


def show_run(choice: Choice, run_id: str, grid: HeadGrid, removed: frozenset[HeadId], alive: bool) -> None:
    """A run as it is now; the slots stay where they are while it goes on."""
    state, tiles, movie_card, below = st.container(), st.container(), st.container(border=True), st.container()
    run = store().get(run_id)
    if alive and run.ended:
        st.rerun()
    with state:
        if run.state in WAITING:
            st.progress(run.share, plain(progress_line(run, time.time())))
    points = store().points(run.id)
    movie = Movie.of(learned_heads(run, grid, removed), points)
    if not movie.steps:
        with movie_card:
            st.caption("The first gates will show here in a moment.")
        return
    frame = choose_frame(movie)
    with tiles:
        show_tiles(run, points, movie, frame)
    with movie_card:
        head = show_movie(movie, frame, run, grid)
    if head is not None:
        show_card_of(choice, head)
    with below:
        left, right = st.columns(2)
        with left.container(border=True, height="stretch"):
            counts = movie.n_kept(frame)
            told = ", ".join(f"{n} {bank}" for bank, n in counts.items())
            st.html(f'<h2 class="hl-card-title">Heads that would stay at this step: {told}</h2>')
            show_chart(bank_figure(movie, frame, theme()), "banks-chart")
        with right.container(border=True, height="stretch"):
            show_metric(choice, run, points)
        with st.container(border=True):
            st.html(f'<h2 class="hl-card-title">{escape(outlay_title(points))}</h2>')
            show_chart(outlay_figure(points, theme()), "outlay-chart")
    if run.state == DONE:
        with state:
            show_end(choice, run, grid)


def show_metric(choice: Choice, run: Run, points: list[dict[str, Any]]) -> None:
    """The metric on the way, once it was judged, beside that of the full model."""
    told = [point for point in points if point.get("value") is not None]
    full = run.result["report"]["development"]["before"] if run.result else measured(choice, "")
    if not told or full is None:
        st.caption("The metric is judged on development now and then; nothing yet.")
        return
    metric = full["metric"]
    ends = " to ".join(metric_text(metric, point["value"]) for point in (told[0], told[-1]))
    st.html(f'<h2 class="hl-card-title">{metric[:1].upper() + metric[1:]} on development: {ends}</h2>')
    trained = {phase: PHASES[phase] for phase in ("gates", "fine-tuning")}
    figure = training_chart(points, trained, full, theme())
    show_chart(figure, "metric-chart")


def show_end(choice: Choice, run: Run, grid: HeadGrid) -> None:
    """What came of it, and where it can go from here."""
    result = run.found
    names = {
        "before": "the full model",
        "mask_alone": "old weights, heads off",
        "masked": "weights as trained, heads off",
        "after": "the smaller model, fine-tuned",
    }
    rows = [
        {"": text, **{split: point_text(result["report"][split][name]) for split in ("development", "test")}}
        for name, text in names.items()
    ]
    row = st.container(horizontal=True, vertical_alignment="center")
    mask = short_mask(grid, grid.parse(result["mask"]))
    row.page_link(
        PRUNE_LAB.file, label="Send the mask to the Prune Lab", icon=PRUNE_LAB.icon,
        query_params=choice.link | {"mask": mask},
    )  # fmt: skip
    row.page_link(
        PRUNE_LAB.file, label="Open the smaller model", icon=":material/deployed_code:",
        query_params={"model": str(run.folder / result["folder"]), "task": result["task_key"]},
    )  # fmt: skip
    with st.expander(f"{result['metric']}: {point_text(result['report']['test']['after'])} on test"):
        st.dataframe(pd.DataFrame(rows), hide_index=True, key="learned-table")


def show_earlier(runs: list[Run]) -> None:
    """What earlier settings gave."""
    done = [run for run in runs if run.state == DONE]
    if not done:
        return
    st.html(
        '<h2 class="hl-card-title">What earlier settings gave</h2>'
        '<p class="hl-source">Test metric; the bar is the share of heads left</p>'
    )
    for run in done[:8]:
        result = run.found
        heads = len(result["gates"])
        settings = " ".join(f"{name} {value:g}" for name, value in run.spec["settings"].items())
        kept = heads - result["removed"]
        value = metric_text(result["metric"], result["report"]["test"]["after"]["value"])
        st.html(
            '<div class="hl-ranks"><div>'
            f"<span>{escape(run.spec['gates'])} {escape(settings)}: {kept} left</span>"
            f'<i><b style="width:{100 * kept / heads:.0f}%"></b></i><span>{value}</span></div></div>'
        )


choice = begin_page("Learn", "Let training decide: each head gets a gate, and the gates that are not needed close.")
with one_sentence():
    asked = answered(FactsQuery(choice.model))
    if asked is not None:
        heads = HeadGrid.from_json(asked.found["grid"])
        gone = heads.parse(asked.found["removed"])
        runs = [run for run in store().runs(kind=LearnRun.key) if run.model == choice.model]
        shown = next((run for run in runs if run.id == st.query_params.get("run")), runs[0] if runs else None)
        form, watch = st.columns([1, 3.2])
        with form.container(border=True, height="stretch"):
            show_form(choice, heads, runs)
            show_earlier(runs)
        with watch:
            if shown is None:
                with st.container(border=True, height="stretch"):
                    st.html('<h2 class="hl-card-title">Nothing was learned yet: start a run and watch gates close</h2>')
            else:
                show_run_button(shown, "learning")
                alive = shown.state in WAITING
                moving = alive or st.session_state.get("playing")
                st.fragment(told(show_run), run_every=paced(0.8) if moving else None)(
                    choice, shown.id, heads, gone, alive
                )
        show_comparison(choice, len(heads) - len(gone))
