"""Machines of a Ray cluster, all on this one and on its loopback; ended with all their processes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest

SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_worker_niceness": "0",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
}
MACHINE: dict[str, Any] = {
    "node_ip_address": "127.0.0.2",  # for Ray takes 127.0.0.1 to mean this machine's address on the network
    "object_store_memory": 100 * 2**20,
    "include_dashboard": False,
}


class Machines:
    """A head that only keeps books, and machines with one CPU each."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args=MACHINE | {"num_cpus": 0}, shutdown_at_exit=False)
        self.working: list[Any] = []

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def only(self, n: int) -> None:
        """Adds or removes machines until there are n, and waits until the cluster gives no place on any other."""
        while len(self.working) < n:
            self.add()
        while len(self.working) > n:
            self.kill()
        self.cluster.wait_for_nodes(timeout=60)

    def add(self) -> None:
        self.working.append(self.cluster.add_node(num_cpus=1, **MACHINE))

    def freeze(self) -> None:
        """Stops all places on the first machine: it takes parts and answers none of them any more."""
        for place in self._places():
            place.suspend()

    def kill(self) -> None:
        """Ends the first machine at once, whatever it is at."""
        places = self._places()
        node = self.working.pop(0)
        self.cluster.worker_nodes.remove(node)
        node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)
        for place in places:
            with suppress(psutil.NoSuchProcess):
                place.kill()

    def _places(self) -> list[psutil.Process]:
        """The processes that the first machine has started for work."""
        (raylet,) = self.working[0].all_processes["raylet"]
        return psutil.Process(raylet.process.pid).children(recursive=True)


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    pytest.importorskip("ray")
    with (
        tempfile.TemporaryDirectory(prefix="hl", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in (SETTINGS | {"RAY_TMPDIR": folder}).items():
            patch.setenv(name, value)
        started = Machines()
        yield started
        started.cluster.shutdown()
        left = [
            one for one in psutil.process_iter(["cmdline"]) if any(folder in part for part in one.info["cmdline"] or [])
        ]
        _, left = psutil.wait_procs(left, timeout=10)
        assert not left, "processes were left behind"


@pytest.fixture
def on_cluster(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> Machines:
    monkeypatch.setenv("HEADSCOPE_RAY", machines.address)
    return machines
