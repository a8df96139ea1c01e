from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.engine import SMALL_BERT, bert_size, half_of_every_layer, table
from benchmarks.importance import random_batch
from benchmarks.peers import PEERS, Peer, peer_promises


def test_a_peer_that_cannot_be_installed_or_run_is_a_promise_that_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> dict[str, Any]:
        raise OSError("no matching distribution found")

    monkeypatch.setattr(Peer, "answer", fail)
    bert = bert_size(SMALL_BERT, torch.device("cpu"))
    promises = peer_promises(bert, half_of_every_layer(bert), random_batch(bert, 2, 8).inputs["input_ids"])
    assert len(promises) == len(PEERS)
    assert not any(promise.is_kept for promise in promises)
    rows = [f"| {peer.name}: installed and run | 0 | ≥ 1 | BROKEN |" for peer in PEERS]
    assert table(promises) == ["| promise | figure | bound | |", "|---|---|---|---|", *rows]


def test_a_peer_that_gives_other_numbers_is_a_promise_that_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(_: Peer, folder: Path) -> dict[str, Any]:
        assert (folder / "task.json").exists()
        return {"logits": [[0.0, 0.0]] * 2, "seconds": 1.0, "parameters": 1, "speedups": [1e-9] * 3}

    monkeypatch.setattr(Peer, "answer", answer)
    bert = bert_size(SMALL_BERT, torch.device("cpu"))
    promises = peer_promises(bert, half_of_every_layer(bert), random_batch(bert, 2, 8).inputs["input_ids"])
    assert [promise.is_kept for promise in promises] == [False, True] * len(PEERS)
