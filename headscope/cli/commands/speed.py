"""How much faster a model is without some of its heads."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from headscope.cli.arguments import MOST, SPELT, addresses, model_argument, whole
from headscope.cli.command import Answer, Command, register
from headscope.cli.finished_run import finished
from headscope.models.text import shown

COLUMNS = (
    "batch,length,dense,dense_low,dense_high,smaller,smaller_low,smaller_high,speedup,speedup_low,speedup_high,predicted,"
    "dense_per_second,smaller_per_second,dense_memory,smaller_memory,load"
)


@register
class Speed(Command):
    """Times the really smaller model and the dense one in turns, on this machine."""

    name = "speed"
    about = "measure how much faster a model is without some of its heads"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, its heads to remove, and the sizes of inputs."""
        model_argument(parser)
        parser.add_argument("--mask", required=True, help=f"heads to remove: {SPELT}")
        parser.add_argument("--batches", default="1,4,16,64", metavar="N,N", help="batch sizes (default: 1,4,16,64)")
        parser.add_argument("--lengths", default="32,128", metavar="N,N", help="tokens (default: 32,128)")
        parser.add_argument("--csv", action="store_true", help="print a table to be read by other programs")

    def run(self, options: Namespace) -> Answer:
        """Measures, or finds what was measured."""
        from headscope.runs.kinds.speed import SpeedRun
        from headscope.runs.store import Store

        batches, lengths = _numbers("--batches", options.batches), _numbers("--lengths", options.lengths)
        run = finished(Store(), SpeedRun(options.model, addresses(options.mask), batches, lengths))
        found: dict[str, Any] = run.result or {}
        return found, _as_csv(found) if options.csv else _as_table(found)


def _numbers(name: str, text: str) -> list[int]:
    try:
        numbers = [whole(word) for word in text.replace(",", " ").split()]
    except ArgumentTypeError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise ValueError(f"{name} {shown(text)!r}; allowed are numbers from 1 to {MOST}, for example 1,16")
    return numbers


def _as_csv(found: dict[str, Any]) -> str:
    rows = []
    for one in found["timings"]:
        spreads = [one[name][part] for name in ("dense", "smaller", "speedup") for part in ("median", "low", "high")]
        throughput = [one["throughput"][name] for name in ("dense", "smaller")]
        memory = [one["memory_dense"], one["memory_smaller"]]
        numbers = [one["batch"], one["length"], *spreads, one["predicted"], *throughput, *memory, one["load"]]
        rows.append(",".join("" if number is None else repr(number) for number in numbers))
    return "\n".join([COLUMNS, *rows])


def _as_table(found: dict[str, Any]) -> str:
    lines = [
        f"{found['removed']} heads removed, {found['device']}, {found['precision']}, {found['threads']} threads",
        f"{'batch':>5} {'length':>6} {'dense ms':>10} {'smaller ms':>10} {'per second':>13} {'times faster':>21} "
        f"{'predicted':>9} {'peak MB':>13}",
    ]
    for one in found["timings"]:
        speedup, rate = one["speedup"], one["throughput"]
        lines.append(
            f"{one['batch']:>5} {one['length'] or '-':>6} {1e3 * one['dense']['median']:>10.2f} "
            f"{1e3 * one['smaller']['median']:>10.2f} {rate['dense']:>6.0f} {rate['smaller']:>6.0f} "
            f"{speedup['median']:>7.2f} ({speedup['low']:.2f} to {speedup['high']:.2f}) {one['predicted']:>8.2f} "
            f"{one['memory_dense'] / 1e6:>6.1f} {one['memory_smaller'] / 1e6:>6.1f}"
        )
    sizes, files = found["parameters"], found["bytes"]
    lines += [
        found["sentence"],
        f"{sizes['dense']:,} parameters before, {sizes['smaller']:,} after; file {files['dense'] / 1e6:.2f} MB before, "
        f"{files['smaller'] / 1e6:.2f} MB after",
    ]
    return "\n".join([*lines, found["remark"]] if found["remark"] else lines)
