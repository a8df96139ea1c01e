"""What was computed, in the app or in a shell."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from headscope.cli.command import Answer, Command, register

if TYPE_CHECKING:
    from headscope.runs.store import Store

SECONDS_A_DAY = 86_400


@register
class Runs(Command):
    """The runs of the store that the app shows too, or one of them, or what shall become of it."""

    name = "runs"
    about = "list what was computed, in the app or a shell"

    def arguments(self, parser: ArgumentParser) -> None:
        """Perhaps a run and what shall become of it."""
        parser.add_argument("run_id", nargs="?", default="", help="the id of one run")
        parser.add_argument("action", nargs="?", default="show", choices=("show", "cancel", "resume", "delete"))
        parser.add_argument(
            "--prune",
            type=float,
            metavar="DAYS",
            help="delete all runs that ended so many days ago, and uploads of that age that no run names",
        )

    def run(self, options: Namespace) -> Answer:
        """Looks into the store, and changes it where that was asked."""
        from headscope.runs.policy.uploads import forget
        from headscope.runs.store import Store

        store = Store()
        store.recover()
        if options.prune is not None:
            if options.prune < 0:
                raise ValueError(f"--prune {options.prune:g}; allowed is a number of days from 0 on")
            n = store.prune(SECONDS_A_DAY * options.prune)
            files = forget(store, SECONDS_A_DAY * options.prune)
            told = f"{n} runs deleted that ended more than {options.prune:g} days ago, and {files} uploaded files"
            return {"deleted": n, "uploads": files}, told
        if options.run_id:
            return _one_run(store, options.run_id, options.action)
        found = store.runs()
        lines = [f"{run.id}  {run.state:<9}  {100 * run.share:>3.0f} %  {run.title}" for run in found]
        records = [{"id": run.id, "state": run.state, "share": run.share, "title": run.title} for run in found]
        return {"runs": records}, "\n".join(lines) or "no runs yet"


def _one_run(store: Store, run_id: str, action: str) -> Answer:
    from headscope.runs.execution.workers import supervise

    run = store.get(run_id)
    if action == "delete":
        store.delete(run.id)
        return {"deleted": 1}, f"run {run.id} deleted"
    if action == "cancel":
        store.cancel(run.id)
    if action == "resume":
        store.resume(run.id)
        supervise(store)
    run = store.get(run.id)
    record = {
        "id": run.id, "kind": run.kind, "state": run.state, "share": run.share, "spec": run.spec,
        "record": run.record, "message": run.message, "result": run.result,
    }  # fmt: skip
    lines = [f"{run.title}: {run.state}, {100 * run.share:.0f} % {run.message}".rstrip()]
    lines += [f"  {name}: {value}" for name, value in (run.spec | run.record).items() if value not in ("", None, {})]
    return record, "\n".join(lines)
