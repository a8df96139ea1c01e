"""Headlight from a shell: `python cli.py COMMAND --help` tells more."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transformers.utils import logging as transformers_logging

from analysis.importance.method import method_of, methods
from analysis.importance.options import read_options
from jobs.client import run_here
from jobs.kinds.importance import ImportanceRun
from jobs.run import progress_line
from jobs.store import Store
from jobs.workers import tend
from models.catalog import read_card, specimen_names
from models.gating import gated
from models.head_model import HeadModel
from models.heads import HeadBank
from models.loading import load
from pruning.export import FORMATS, export, read_record, verify
from pruning.mask import HeadMask
from tasks.catalog import TASKS
from tasks.chosen import chosen_task
from tasks.task import SPLITS, Task


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; bad input gives one sentence on standard error and exit code 2."""
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    options = _parser().parse_args(arguments)
    try:
        result, text = options.run(options)
    except (ValueError, KeyError) as error:
        print(f"headlight: {error.args[0] if error.args else error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"headlight: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("headlight: stopped", file=sys.stderr)
        return 130
    try:
        print(json.dumps(result) if options.json else text, flush=True)
    except BrokenPipeError:  # the reader, `head` for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1 if result.get("equal") is False else 0


def heads(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The grid of a model."""
    head_model = _load(options)
    grid = head_model.grid
    banks = [
        {"bank": bank.bank, "layers": len(bank.layers), "heads": [layer.n_heads for layer in bank.layers]}
        for bank in grid.banks
    ]
    lines = [f"{head_model.name}: {len(grid)} heads ({grid.describe()}), {head_model.n_parameters:,} parameters"]
    for bank in grid.banks:
        lines += ["", f"{bank.bank}"] + [_row(head_model, bank, layer) for layer in range(len(bank.layers))]
    if head_model.removed:
        lines += ["", f"· = removed, {len(head_model.removed)} heads"]
    if head_model.missed:
        lines += ["", f"not understood, so not shown: {', '.join(head_model.missed)}"]
    return {"model": head_model.name, "heads": len(grid), "banks": banks}, "\n".join(lines)


def prune(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Writes a model without some heads."""
    head_model = _load(options)
    mask = _mask(options.heads, head_model)
    if not mask:
        raise ValueError("no heads to remove; give addresses such as encoder.0.3")
    proof = export(head_model, mask, options.out, options.format)
    saved = 1 - proof.parameters / proof.parameters_dense
    text = (
        f"{len(mask)} of {len(head_model.grid)} heads removed, {100 * saved:.1f} % of the parameters\n"
        f"written to {options.out}, equal to the mask to {proof.max_difference:.1e}; load it with:\n\n"
        f"folder = {str(options.out)!r}\n{read_record(options.out)['snippet']}"
    )
    return proof.to_json(), text


def verify_folder(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Compares an exported model with the mask again."""
    proof = verify(options.folder)
    verdict = "equal to" if proof.equal else "DIFFERENT from"
    text = (
        f"{verdict} the masked model, largest difference {proof.max_difference:.1e}; "
        f"{proof.parameters:,} of {proof.parameters_dense:,} parameters, {proof.bytes:,} bytes"
    )
    return proof.to_json(), text


def evaluate(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The metric of a model, with or without some of its heads."""
    head_model = _load(options)
    judge = _task(options, head_model)
    mask = _mask(options.mask, head_model)
    started = time.perf_counter()
    with gated(head_model, mask.as_gates(head_model.device)):
        estimates = judge.estimates(judge.outcomes(head_model, options.split, options.n))
    seconds = time.perf_counter() - started
    first = estimates[0]
    record = {"metric": first.metric, "value": first.value, "low": first.low, "high": first.high}
    lines = [f"{head_model.name}, {len(mask)} heads masked: {judge.title}, {options.split}, {seconds:.1f} s"]
    lines += [
        f"  {found.metric} {found.value:.4g}, 95 % {found.low:.4g} to {found.high:.4g} ({found.method}), n = {found.n}"
        for found in estimates
    ]
    lines += [f"  {metric.about}" for metric in judge.metrics if metric.about]
    return record | {"n": first.n, "split": options.split, "seconds": seconds}, "\n".join(lines)


def importance(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The score of every head by one method; a run that the app shows as well."""
    kind = ImportanceRun(
        options.model,
        method=options.method,
        options=read_options(method_of(options.method), options.option),
        task=options.task,
        data=options.text or options.data,
        columns=_columns(options.columns),
        split=options.split,
        n=options.n,
    )
    run = run_here(Store(), kind, lambda one: _show_progress(progress_line(one, time.time())))
    _show_progress("")
    if run.result is None:
        raise ValueError(run.message or f"the run is {run.state}")
    found = run.result
    for row in found["skipped"]:
        print(f"headlight: skipped {row}", file=sys.stderr)
    ranked = sorted(found["scores"], key=found["scores"].__getitem__, reverse=True)
    if options.csv:
        rows = [f"{head},{found['scores'][head]!r},{found['errors'][head]!r}" for head in found["scores"]]
        text = "\n".join(["head,score,error", *rows])
    else:
        lines = [f"{head:>14}  {found['scores'][head]:>12.5g}  ± {found['errors'][head]:.2g}" for head in ranked]
        text = "\n".join([f"{found['task']}, {found['split']}, {found['n']} examples, run {run.id}", *lines])
    return {"method": found["method"], "n": found["n"], "scores": found["scores"], "errors": found["errors"]}, text


def runs(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The runs of the store that the app shows too, or one of them, or what shall become of it."""
    store = Store()
    store.recover()
    if options.prune is not None:
        n = store.prune(86_400 * options.prune)
        return {"deleted": n}, f"{n} runs deleted that ended more than {options.prune:g} days ago"
    if options.run_id:
        return _one_run(store, options)
    found = store.runs()
    lines = [f"{run.id}  {run.state:<9}  {100 * run.share:>3.0f} %  {run.title}" for run in found]
    records = [{"id": run.id, "state": run.state, "share": run.share, "title": run.title} for run in found]
    return {"runs": records}, "\n".join(lines) or "no runs yet"


def _one_run(store: Store, options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    run = store.get(options.run_id)
    if options.action == "delete":
        store.delete(run.id)
        return {"deleted": 1}, f"run {run.id} deleted"
    if options.action == "cancel":
        store.cancel(run.id)
    if options.action == "resume":
        store.resume(run.id)
        tend(store)
    run = store.get(run.id)
    record = {
        "id": run.id, "kind": run.kind, "state": run.state, "share": run.share, "spec": run.spec,
        "record": run.record, "message": run.message, "result": run.result,
    }  # fmt: skip
    lines = [f"{run.title}: {run.state}, {100 * run.share:.0f} % {run.message}".rstrip()]
    lines += [f"  {name}: {value}" for name, value in (run.spec | run.record).items() if value not in ("", None, {})]
    return record, "\n".join(lines)


def specimens(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The models that ship with Headlight, as their cards describe them."""
    del options
    cards = {name: read_card(name) for name in specimen_names()}
    lines = []
    for name, card in cards.items():
        found = card["metrics"][0]
        judged = f"{found['metric']} {found['value']:.4g} ({found['low']:.4g} to {found['high']:.4g})"
        lines += [f"{name:<21} {card['title']}", f"{'':<21} {card['heads']}, {judged} on {found['split']}"]
    return {"specimens": cards}, "\n".join(lines)


def _task(options: argparse.Namespace, head_model: HeadModel) -> Task:
    """The task that was named, that a file makes, or that fits the model."""
    chosen, broken = chosen_task(head_model, options.task, options.data, _columns(options.columns))
    for row in broken:
        print(f"headlight: skipped {row}", file=sys.stderr)
    return chosen


def _columns(pairs: Sequence[str]) -> dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in pairs)


def _mask(text: str, head_model: HeadModel) -> HeadMask:
    """Addresses, or a file that holds a mask as JSON."""
    if not text.endswith(".json"):
        return HeadMask.of(head_model.grid, text)
    try:
        return HeadMask.from_json(head_model.grid, Path(text).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read the mask {text}: {error.strerror}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cli.py", description="What every attention head does, and which can go.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = _command(commands, "heads", heads, "print the grid of heads of a model")
    _model_argument(command)
    command = _command(commands, "prune", prune, "write a model without some of its heads")
    _model_argument(command)
    example = 'addresses such as "encoder.0.3 cross.5.1"'
    command.add_argument("--heads", required=True, help=f"{example}, or a .json file with a mask")
    command.add_argument("--out", required=True, help="a new folder")
    command.add_argument("--format", default="headlight", help=f"one of {', '.join(FORMATS)} (default: headlight)")
    command = _command(commands, "evaluate", evaluate, "print the metric of a model, whole or masked")
    _model_argument(command)
    _task_arguments(command)
    command.add_argument("--mask", default="", help="addresses of heads to switch off, or a .json file with a mask")
    command.add_argument("--split", default="development", help=f"one of {', '.join(SPLITS)} (default: development)")
    command.add_argument("--n", type=int, default=None, help="only the first N examples")
    _command(commands, "specimens", specimens, "list the models that ship with Headlight")
    command = _command(commands, "importance", importance, "score every head of a model by one method")
    command.add_argument("model", help="a specimen, a folder or a hub id")
    command.add_argument("--method", default="gradient", help=f"one of {', '.join(methods())} (default: gradient)")
    command.add_argument("--option", nargs="+", default=[], metavar="NAME=VALUE", help="options of the method")
    _task_arguments(command)
    command.add_argument("--text", default="", help="a plain text or TSV file that the model is scored on")
    command.add_argument("--split", default="calibration", help=f"one of {', '.join(SPLITS)} (default: calibration)")
    command.add_argument("--n", type=int, default=256, help="examples (default: 256)")
    command.add_argument("--csv", action="store_true", help="print a table to be read by other programs")
    command = _command(commands, "runs", runs, "list what was computed, in the app or a shell")
    command.add_argument("run_id", nargs="?", default="", help="the id of one run")
    command.add_argument("action", nargs="?", default="show", choices=("show", "cancel", "resume", "delete"))
    command.add_argument("--prune", type=float, metavar="DAYS", help="delete all runs that ended so many days ago")
    command = _command(commands, "verify", verify_folder, "compare an exported model with its mask again")
    command.add_argument("folder")
    return parser


def _command(commands: Any, name: str, run: Callable[..., Any], text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=run)
    return command


def _task_arguments(command: argparse.ArgumentParser) -> None:
    known = ", ".join([*TASKS, "fidelity"])
    command.add_argument("--task", default="", help=f"one of {known}; by default what fits the model")
    command.add_argument("--data", default="", help="your own CSV, TSV, JSONL, CoNLL-U or plain text file, or hub:NAME")
    command.add_argument("--columns", nargs="+", default=[], metavar="ROLE=NAME", help="text=, pair=, label=, target=")


def _model_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", help="a specimen, a folder or a hub id")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    command.add_argument("--dtype", default="auto", help="auto, float32, float16 or bfloat16")


def _load(options: argparse.Namespace) -> HeadModel:
    head_model = load(options.model, options.device, options.dtype, _show_progress)
    _show_progress("")
    return head_model


def _show_progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def _row(head_model: HeadModel, bank: HeadBank, layer: int) -> str:
    kept = set(head_model.site(bank.bank, layer).kept)
    heads = bank.layers[layer]
    cells = " ".join(f"{head:>2}" if head in kept else " ·" for head in range(heads.n_heads))
    shared = f"  shared by {heads.calls} layers" if heads.calls > 1 else ""
    groups = len(set(heads.groups))
    grouped = f"  {groups} key/value heads" if groups < heads.n_heads else ""
    return f"  layer {layer:>2} {cells}{grouped}{shared}"


if __name__ == "__main__":
    sys.exit(main())
