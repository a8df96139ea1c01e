"""What the training of gates costs, step by step, beside plain fine-tuning of the same model on the same examples.

Run as `python -m benchmarks.learned`. Every scheme takes turns with fine-tuning, a step each, and the median of the
quotients counts, so that other work on the machine, which slows both down, hardly matters. Seconds are those of the
processor on one thread. The exit code is 1 if a scheme costs more than ALLOWED times as much.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import torch

from headscope.models.head_model import HeadModel
from headscope.models.loading.loader import load
from headscope.pruning.training.fine_tuning import FineTuning
from headscope.pruning.training.gate_scheme import scheme_with
from headscope.pruning.training.gate_training import GateTraining, Plan
from headscope.pruning.training.settings import Settings
from headscope.tasks.task import Task
from headscope.tasks.task_catalog import task_for

ALLOWED = 1.15
MODELS = ("translator", "reader", "writer", "all-attention-writer", "looker")
WARM, TURNS = 5, 60


def main() -> None:
    """Print the quotient of every scheme on every specimen."""
    torch.set_num_threads(1)
    worst = 0.0
    print(f"a step of gates and weights over a step of fine-tuning, median of {TURNS} turns (allowed: {ALLOWED})")
    for name in sys.argv[1:] or MODELS:
        head_model = load(name)
        task = task_for(head_model)
        for key, settings in schemes(len(head_model.grid)):
            quotient, seconds = compared(head_model, task, key, settings)
            worst = max(worst, quotient)
            line = f"{name:22} {key:10} {settings!s:16} {quotient:5.2f}   fine-tuning {seconds * 1000:6.0f} ms"
            print(line, flush=True)
    print(f"worst: {worst:.2f}")
    sys.exit(int(worst > ALLOWED))


def schemes(n_heads: int) -> list[tuple[str, dict[str, int]]]:
    """Settings for every scheme; a soft choice takes a round a head that stays, so nearly all of them cost most."""
    half, most = {"keep": n_heads // 2}, {"keep": n_heads - 1}
    return [("l0", {}), ("layerwise", {}), ("dsp", half), ("dsp", most), ("dsp-ste", half)]


def compared(head_model: HeadModel, task: Task, key: str, settings: dict[str, int]) -> tuple[float, float]:
    """The median of seconds of gates over seconds of fine-tuning, turn by turn, and the median of the latter."""
    training = Settings(steps=WARM + TURNS, every=1000)
    tuning = FineTuning(head_model, task, training)
    gates = GateTraining(head_model, task, Plan(scheme_with(key, settings), training))
    for _ in range(WARM):
        tuning.train_step()
        gates.train_step()
    pairs = [(seconds_of(tuning.train_step), seconds_of(gates.train_step)) for _ in range(TURNS)]
    return statistics.median(gated / plain for plain, gated in pairs), statistics.median(plain for plain, _ in pairs)


def seconds_of(work: Callable[[], object]) -> float:
    """Processor seconds that it takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
