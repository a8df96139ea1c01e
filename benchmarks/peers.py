"""Torch-Pruning and TextPruner on the same model and heads, each in a virtual environment of its own.

The environments are made where the project's own is, in .venv/peers, the first time they are needed; `make clean` takes
them away. What a tool cannot do is told in one line, and a promise that is not kept.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.importance import Promise
from benchmarks.peer import measured
from headscope.models.head_model import HeadModel
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads

ROOM = Path(__file__).parent.parent / ".venv" / "peers"
ROUNDS = 7
EQUAL = 1e-5
CONFIG = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")


@dataclass(frozen=True)
class Peer:
    """A tool, and what pip is told to install for it, call after call."""

    name: str
    installs: tuple[tuple[str, ...], ...]

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return ROOM / self.name / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    def make_room(self) -> None:
        """Makes the environment, once."""
        stamp = ROOM / self.name / "installed"
        if stamp.exists() and stamp.read_text() == repr(self.installs):
            return
        print(f"Installing {self.name} into {ROOM / self.name}; this takes a few minutes.", flush=True)
        _run([sys.executable, "-m", "venv", "--clear", str(ROOM / self.name)])
        for packages in self.installs:
            _run([str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
        stamp.write_text(repr(self.installs))

    def answer(self, folder: Path) -> dict[str, Any]:
        """What benchmarks/peer.py writes in that environment."""
        self.make_room()
        _run([str(self.python), str(Path(__file__).parent / "peer.py"), self.name, str(folder)])
        found: dict[str, Any] = json.loads((folder / "answer.json").read_text())
        return found


PEERS = (
    Peer("torch-pruning", (("torch==2.13.0", "transformers==5.22.2", "torch-pruning==1.6.1"),)),
    Peer(  # asks for a numpy that no Python of today builds, so what it needs is installed before it
        "textpruner",
        (
            ("torch==2.13.0", "transformers==4.57.6", "numpy", "tqdm", "sentencepiece", "protobuf"),
            ("--no-deps", "textpruner==1.1.post2"),
        ),
    ),
)


def peer_promises(head_model: HeadModel, mask: HeadMask, tokens: Tensor) -> list[Promise]:
    """Our smaller model and those of the peers: the same output, and how long it took to make each."""
    ours = _ours(head_model, mask, tokens)
    change = float((_logits(head_model, tokens) - torch.tensor(ours["logits"])).abs().max())
    print(f"peers        without these heads the output changes by {change:.2g}")
    print(_line("headscope", ours), flush=True)
    promises = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_task(head_model, mask, tokens, folder)
        for peer in PEERS:
            try:
                theirs = peer.answer(folder)
            except OSError as error:
                print(f"peers        {peer.name} cannot do this: {error}", flush=True)
                promises.append(Promise(f"{peer.name}: installed and run", 0, 1, False))
                continue
            print(_line(peer.name, theirs), flush=True)
            gap = float((torch.tensor(ours["logits"]) - torch.tensor(theirs["logits"])).abs().max()) / change
            text = f"{peer.name}: largest difference from ours, of what the heads change"
            promises.append(Promise(text, gap, EQUAL, True))
            faster = statistics.median(ours["speedups"]) / statistics.median(theirs["speedups"])
            promises.append(Promise(f"{peer.name}: our smaller model, times as fast as theirs", faster, 0.9, False))
    return promises


def _ours(head_model: HeadModel, mask: HeadMask, tokens: Tensor) -> dict[str, Any]:
    """The same figures of our own surgery, which also copies the model."""
    started = time.perf_counter()
    smaller = without_heads(head_model, mask)
    seconds = time.perf_counter() - started
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    measured(smaller.model, inputs)
    speedups = [measured(head_model.model, inputs) / measured(smaller.model, inputs) for _ in range(ROUNDS)]
    logits = _logits(smaller, tokens).tolist()
    return {"logits": logits, "seconds": seconds, "parameters": smaller.n_parameters, "speedups": speedups}


@torch.inference_mode()
def _logits(head_model: HeadModel, tokens: Tensor) -> Tensor:
    logits: Tensor = head_model.model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).logits
    return logits


def _write_task(head_model: HeadModel, mask: HeadMask, tokens: Tensor, folder: Path) -> None:
    heads: dict[int, list[int]] = {}
    for head in sorted(mask.removed):
        heads.setdefault(head.layer, []).append(head.head)
    config = {name: getattr(head_model.model.config, name) for name in CONFIG}
    task = {"config": config, "heads": heads, "tokens": tokens.tolist(), "rounds": ROUNDS}
    (folder / "task.json").write_text(json.dumps(task))
    torch.save(head_model.model.state_dict(), folder / "weights.pt")


def _line(name: str, found: dict[str, Any]) -> str:
    times = sorted(found["speedups"])
    return (
        f"peers        {name:16} {found['seconds']:6.2f} s to remove, {found['parameters']:,} parameters left, "
        f"{statistics.median(times):.2f} times faster than dense ({times[1]:.2f} to {times[-2]:.2f})"
    )


def _run(command: list[str]) -> None:
    """Runs it to its end; an OSError with its last line if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["it ended without a word"]
        raise OSError(lines[-1])
