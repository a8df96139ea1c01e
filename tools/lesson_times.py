"""Writes into docs/lessons.md how long the trainings of the lessons take: python -m tools.lesson_times.

Seconds are those of one processor, so that other work on the machine does not count; `--prepare` keeps the runs, in the
store of HEADSCOPE_HOME, so that a class need not wait for them.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path

import torch

from headscope.runs.client import run_here
from headscope.runs.run import DONE
from headscope.runs.store import Store
from headscope.web.lessons.control import control_with
from headscope.web.lessons.lesson import Lesson, lessons
from headscope.web.page.choice import Choice

DOCUMENT = Path(__file__).parents[1] / "docs" / "lessons.md"
BEGIN, END = "<!-- tools.lesson_times -->\n", "<!-- end -->"


def main() -> None:
    """Measures in a store that is thrown away, or prepares the usual one."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        prepare = "--prepare" in sys.argv[1:]
        store = Store() if prepare else Store(Path(folder))
        rows = [row for lesson in lessons().values() for row in measured(store, lesson)]
    if not prepare:
        DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8"), rows), encoding="utf-8")


def measured(store: Store, lesson: type[Lesson]) -> list[tuple[str, str, float]]:
    """Lesson and step, what is trained, and the seconds; a training that an earlier step had is not done again."""
    rows: list[tuple[str, str, float]] = []
    seen: set[str] = set()
    for number, step in enumerate(lesson.steps, 1):
        for kind in control_with(step.control, step.settings).trainings(Choice(lesson.model)):
            asked = kind.as_run(store.folder).id
            if asked in seen:
                continue
            seen.add(asked)
            began = time.process_time()
            run = run_here(store, kind)
            if run.state != DONE:
                raise ValueError(f"{run.title}: {run.message}")
            rows.append((f"{lesson.number}, step {number}", run.title, time.process_time() - began))
            sys.stderr.write(f"{rows[-1]}\n")
    return rows


def with_table(document: str, rows: list[tuple[str, str, float]]) -> str:
    """The document with these rows in the place of its table."""
    lines = ["| lesson | training | seconds |", "|---|---|---|"]
    lines += [f"| {where} | {title} | {seconds:.0f} |" for where, title, seconds in rows]
    whole = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    table = "\n".join(lines)
    return whole.sub(lambda _: f"{BEGIN}\n{table}\n\n{END}", document)


if __name__ == "__main__":
    main()
