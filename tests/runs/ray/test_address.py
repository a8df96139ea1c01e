from __future__ import annotations

import ast
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headscope import runs as jobs
from headscope.runs.client import run_here
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.ray import address as cluster_address
from headscope.runs.ray.address import SETTINGS, check_answers
from headscope.runs.ray.cluster import cpus, ready
from headscope.runs.ray.node import _check_same, _clear_away
from headscope.runs.ray.transfer import circumstances, transfers
from headscope.runs.run import FAILED
from headscope.runs.store import Store


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def address_of(listening: socket.socket) -> str:
    return f"127.0.0.1:{listening.getsockname()[1]}"


def answering(listening: socket.socket, answer: bytes) -> None:
    def answer_once() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(100)
            connection.sendall(answer)

    threading.Thread(target=answer_once, daemon=True).start()


@pytest.mark.parametrize("address", ["here", "ray://10.0.0.1:10001", "10.0.0.1:", ":6379", "10.0.0.1:70000"])
def test_what_is_no_address_is_told_in_one_sentence(address: str) -> None:
    with pytest.raises(ValueError, match=r"HEADSCOPE_RAY is '.*'; allowed is HOST:PORT, such as 10.0.0.1:6379$"):
        check_answers(address)


def test_who_says_nothing_is_not_waited_for(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_address, "SECONDS", 0.2)
    began = time.monotonic()
    with pytest.raises(ValueError, match=r"no Ray cluster can be reached at 127.0.0.1:.*: timed out"):
        check_answers(address_of(listener))
    assert time.monotonic() - began < 5


def test_who_speaks_otherwise_is_no_cluster(listener: socket.socket) -> None:
    answering(listener, b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(ValueError, match=r"what answers at .* is no Ray cluster"):
        check_answers(address_of(listener))


def test_who_answers_with_settings_may_be_one(listener: socket.socket) -> None:
    answering(listener, bytes([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]))
    check_answers(address_of(listener))


@pytest.mark.parametrize("kind", [SweepRun("looker", step=0.5, n=4, n_scoring=2), LearnRun("looker")])
def test_a_run_whose_cluster_is_not_there_fails_in_one_sentence(
    kind: SweepRun | LearnRun, listener: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = address_of(listener)
    listener.close()
    monkeypatch.setenv("HEADSCOPE_RAY", address)
    run = run_here(Store(tmp_path), kind)
    assert (run.state, run.message) == (FAILED, f"no Ray cluster can be reached at {address}: connection refused")


def test_a_cluster_that_is_gone_stops_a_run_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")

    def broken(*_: object, **__: object) -> None:
        raise OSError("Broken pipe")

    monkeypatch.setenv("HEADSCOPE_RAY", "10.0.0.1:6379")
    monkeypatch.setattr(ray, "wait", broken)
    with pytest.raises(OSError, match=r"the Ray cluster at 10.0.0.1:6379 is gone; what was computed is kept") as found:
        ready([])
    assert found.value.errno is None, "so the run is stopped and can be resumed"


def test_ray_is_imported_only_by_who_has_an_address() -> None:
    for path in Path(jobs.__path__[0]).rglob("*.py"):
        tree = ast.parse(path.read_text())
        everywhere, at_once = ast.walk(tree), ast.iter_child_nodes(tree)
        assert "ray" not in imported(at_once), path
        assert "ray" not in imported(everywhere) or path.parent.name == "ray", path


def imported(nodes: Iterator[ast.AST]) -> set[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def test_a_node_that_would_compute_something_else_is_refused() -> None:
    _check_same(circumstances())
    with pytest.raises(ValueError, match=r"has torch .* and this machine 1.0; they must be the same"):
        _check_same(circumstances() | {"torch": "1.0"})


def test_what_a_run_names_on_this_machine_is_sent(tmp_path: Path) -> None:
    data = tmp_path / "own.csv"
    data.write_text("text,label\na,0\n")
    model, file = transfers({"model": "looker", "data": str(data)})
    assert {"config.json", "model.safetensors"} <= set(model.read())
    assert file.read() == {"own.csv": data.read_bytes()}
    assert transfers({"model": "owner/name", "data": "hub:owner/data"}) == []


def test_a_model_of_fiak_is_sent_whole_and_a_link_out_of_a_folder_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    for name in ("fiak.safetensors", "model/config.json", "onnx/large.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    (transfer,) = transfers({"model": str(folder)})
    assert sorted(transfer.read()) == ["fiak.safetensors", "model/config.json"]
    (tmp_path / "secret.json").write_text("{}")
    (folder / "config.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(ValueError, match=r"config.json is a link out of its folder, which is refused"):
        transfer.read()


def test_what_killed_places_left_is_cleared_away(tmp_path: Path) -> None:
    for name in ("headscope-place-1-alive", "headscope-place-999999999-dead", "headscope-place-own", "other"):
        (tmp_path / name).mkdir()
    _clear_away(tmp_path / "headscope-place-own")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "headscope-place-1-alive",
        "headscope-place-own",
        "other",
    ]


@pytest.mark.parametrize("given", ["0", "two", "-1", "5000"])
def test_cpus_are_a_whole_number(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_RAY_CPUS", given)
    with pytest.raises(ValueError, match=f"HEADSCOPE_RAY_CPUS is '{given}'; allowed is a whole number from 1 to 1024"):
        cpus()
