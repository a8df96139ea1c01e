"""A report to take home: one HTML file that holds everything it shows and asks for nothing from outside.

The same runs always give the same bytes: no time of writing and no random name is in them. So a browser that fetches
the file late, after the page has run again, still finds it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import plotly.io
from plotly.offline import get_plotlyjs

from headscope.runs.kind import kind_of
from headscope.runs.run import Run, duration
from headscope.runs.store import Store
from headscope.web.cards.sweep_card import split_points
from headscope.web.charts.curves import PARAMETERS, Chart, pareto_chart, pareto_front, pruning_chart
from headscope.web.charts.palette import css_variables
from headscope.web.report.report_figures import Drawn, figures_of
from headscope.web.report.report_tables import Table, tables_of
from headscope.web.report.report_words import circumstances, how_it_was_done, repeat_command, version
from headscope.web.runs.compared_runs import Compared, front_title, has_curve
from headscope.web.runs.run_facts import headline, spared

MOST_BYTES = 7_800_000
"""Of the whole file; what would not fit is left to the tables beside it."""

SHOWN_ROWS = 12
"""Rows of a table that are seen at once; longer ones are opened by a click."""

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The date of every file in the archive, so that the same tables are the same bytes."""

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 "Source Sans 3", "Source Sans", system-ui, sans-serif; color: #1b2030; max-width: 1080px;
  margin: 32px auto; padding: 0 24px; }
h1 { font-size: 30px; margin-bottom: 0; } h2 { font-size: 20px; margin-top: 44px; } h3 { font-size: 17px; }
p.lede { color: #5b6478; font-size: 17px; margin-top: 4px; }
table { border-collapse: collapse; font-size: 15px; font-variant-numeric: tabular-nums; }
td, th { border-bottom: 1px solid #dfe3ee; padding: 4px 14px 4px 0; text-align: left; vertical-align: top; }
td { max-width: 420px; overflow-wrap: break-word; } th { white-space: nowrap; }
code, pre { font-size: 14px; background: #f5f6fb; border-radius: 6px; padding: 2px 6px; overflow-wrap: anywhere;
  white-space: pre-wrap; }
.note { color: #5b6478; font-size: 14px; } .wide { overflow-x: auto; } a { color: #4031bb; }
@media print { details > *:not(summary) { display: block; } section { break-inside: avoid-page; } }
"""

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
"""The file runs its own scripts and reaches for nothing else, whoever wrote the names in it."""


@dataclass(frozen=True)
class Reported:
    """A run, the points it has, and the command that repeats it."""

    run: Run
    points: Sequence[dict[str, Any]]
    command: str

    @classmethod
    def of(cls, store: Store, run: Run) -> Reported:
        """A run as the store has it."""
        return cls(run, store.points(run.id), repeat_command(kind_of(run)))


def report_html(
    reported: Sequence[Reported], compared: Compared, methods: Mapping[str, Mapping[str, Any]] | None = None
) -> str:
    """All runs with their circumstances; curves that can be compared are drawn together first.

    `methods` are the importance methods as the registry describes them, as far as they are known.
    """
    opening = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Headscope report</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}{css_variables()}</style><script>{get_plotlyjs()}</script></head><body>"
        f"<h1>Headscope report</h1>{_lede(reported)}{_overview(reported)}{_together(compared)}"
    )
    together = {run.id for run in compared.runs} if len(compared.runs) > 1 else set()
    sections = [_Section(one, number, one.run.id in together, methods or {}) for number, one in enumerate(reported)]
    text = opening + "".join(_fitting(sections, MOST_BYTES - len(opening.encode())))
    # Streamlit knows a large file by its length, its beginning, its middle and its end: so the end tells all of it.
    return f"{text}<!-- {hashlib.sha256(text.encode()).hexdigest()} --></body></html>"


def tables_zip(reported: Sequence[Reported]) -> bytes:
    """Every table of every run as a CSV file in one archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for one in reported:
            for table in tables_of(one.run, one.points):
                entry = zipfile.ZipInfo(file_name(one.run, table), EARLIEST)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, table.to_csv())
    return file.getvalue()


def file_name(run: Run, table: Table) -> str:
    """The name of a table as a file: what the run was, which it was, and what is in it; letters and digits only."""
    parts = (run.kind, run.model.rpartition("/")[2], run.id[:6], table.name)
    return "-".join(re.sub(r"[^\w]+", "_", part, flags=re.ASCII).strip("_")[:40] for part in parts) + ".csv"


@dataclass(frozen=True)
class _Section:
    """What is told of one run: in full, or in brief where there is no room."""

    one: Reported
    number: int
    is_compared: bool
    methods: Mapping[str, Mapping[str, Any]]

    def full(self) -> str:
        """Figures and tables."""
        run = self.one.run
        drawn = [] if self.is_compared and has_curve(run) else figures_of(run, self.one.points)
        figures = "".join(_figure(one, f"run-{self.number}-{place}") for place, one in enumerate(drawn))
        tables = "".join(_table(run, table) for table in tables_of(run, self.one.points))
        return self._around(_finding(self.one) + figures + tables)

    def brief(self) -> str:
        """What it was and how to repeat it."""
        return self._around('<p class="note">Its figures and tables would make this file too large.</p>')

    def _around(self, inner: str) -> str:
        run = self.one.run
        facts = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in (circumstances(run) | {"State": run.state, "Took": duration(run.seconds(0))}).items()
        )
        how = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in how_it_was_done(run, self.methods))
        command = f"<p>Repeat it with</p><pre>{html.escape(self.one.command)}</pre>" if self.one.command else ""
        return (
            f'<section id="run-{self.number}"><h2>{html.escape(run.title)}</h2><p>{html.escape(headline(run))}</p>'
            f"{inner}<h3>How it was done</h3>{how}<h3>Circumstances</h3><table>{facts}</table>{command}"
            "</section>"
        )


def _fitting(sections: Sequence[_Section], room: int) -> Iterator[str]:
    """As many sections in full as there is room for, the first ones first."""
    briefs = [section.brief() for section in sections]
    left = room - sum(len(brief.encode()) for brief in briefs)
    for section, brief in zip(sections, briefs, strict=True):
        full = section.full()
        more = len(full.encode()) - len(brief.encode())
        yield full if more <= left else brief
        left -= more if more <= left else 0


def _lede(reported: Sequence[Reported]) -> str:
    n = "1 run" if len(reported) == 1 else f"{len(reported)} runs"
    last = max((one.run.finished or 0.0 for one in reported), default=0.0)
    when = f", the last of {datetime.fromtimestamp(last, UTC):%Y-%m-%d %H:%M} UTC" if last else ""
    return (
        f'<p class="lede">{n}{when}. Written by Headscope {html.escape(version())}. Everything is in this file; it '
        "needs no network.</p>"
    )


def _overview(reported: Sequence[Reported]) -> str:
    if len(reported) < 2:
        return ""
    rows = "".join(
        f'<tr><td><a href="#run-{number}">{html.escape(one.run.title)}</a></td><td>{html.escape(headline(one.run))}'
        f"</td><td>{html.escape(one.run.state)}</td></tr>"
        for number, one in enumerate(reported)
    )
    return f"<table><tr><th>Run</th><th>Result</th><th>State</th></tr>{rows}</table>"


def _together(compared: Compared) -> str:
    """Curves of several runs on one chart, and which of their models are worth keeping."""
    if len(compared.curves) < 2:
        return ""
    chart = Chart(compared.curves, compared.random, compared.full)
    cost = _figure(Drawn(html.unescape(compared.finding), pruning_chart(chart, "light")), "together", "h2")
    higher = compared.higher_is_better
    title = front_title(len(pareto_front(compared.points, PARAMETERS, higher)))
    front = _figure(Drawn(title, pareto_chart(compared.curves, PARAMETERS, higher, "light")), "front", "h2")
    about = html.escape(f"{compared.runs[0].model} on {compared.source}; bands and bars are 95 % intervals.")
    left_out = "".join(f"<br>Not drawn: {html.escape(sentence)}" for sentence in compared.left_out)
    return (
        f'{cost}<p class="note">{about} Solid: trained. Dashed: found without training. Grey: random orders.{left_out}'
        f'</p>{front}<p class="note">{about} The line joins the models than which no other is both better and smaller.'
        "</p>"
    )


def _figure(drawn: Drawn, name: str, level: str = "h3") -> str:
    drawn.figure.update_xaxes(automargin=True)
    drawn.figure.update_yaxes(automargin=True)  # nobody but the figure itself makes room for its labels here
    figure = plotly.io.to_html(
        drawn.figure, include_plotlyjs=False, full_html=False, config={"displayModeBar": False}, div_id=name
    )
    return f"<{level}>{html.escape(drawn.title)}</{level}>{figure}"


def _finding(one: Reported) -> str:
    """What a curve says in one sentence."""
    order, _ = split_points(one.points) if has_curve(one.run) else ([], [])
    if not order:
        return ""
    n = spared(order)
    return f"<p>{n} heads go before the first point that is significantly worse (paired test, p &lt; 0.01).</p>"


def _table(run: Run, table: Table) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{html.escape(_shown(value))}</td>' for value in row)}</tr>" for row in table.rows
    )
    packed = base64.b64encode(table.to_csv().encode()).decode()
    link = (
        f'<a download="{html.escape(file_name(run, table))}" href="data:text/csv;charset=utf-8;base64,{packed}">CSV</a>'
    )
    inner = f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div><p class="note">{link}</p>'
    title = html.escape(table.title)
    if len(table.rows) <= SHOWN_ROWS:
        return f"<h3>{title}</h3>{inner}"
    return f"<details><summary>{title} ({len(table.rows)} rows)</summary>{inner}</details>"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
