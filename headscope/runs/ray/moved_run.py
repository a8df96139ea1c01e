"""A whole run on a node of the cluster: what it finds and writes comes here piece by piece, as if it were done here.

A lost node costs what came after the last piece: the run goes on elsewhere, from the checkpoint that is here.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from headscope.runs.kind import Kind, Step, Steps, Workspace
from headscope.runs.ray.address import ray_address
from headscope.runs.ray.cluster import MOST_LOST, Lost, Order, connected, leave, let_go, new_place, ready, received

SECONDS_A_PIECE = 1.0


def moved(kind: Kind, workspace: Workspace) -> Steps:
    """The steps of a run that is done elsewhere."""
    workspace.say(f"waiting for a place on the cluster at {ray_address()}")
    points = list(workspace.points)
    with connected():
        order = Order.of(kind)
        for _ in range(MOST_LOST):
            place = new_place()
            try:
                result = yield from _followed(place, order, workspace, points)
            finally:
                let_go(place)
            if result is not None:
                return result
            workspace.say("the node was lost; the run goes on from its last checkpoint")
    raise ValueError(f"{MOST_LOST} nodes were lost under this run; resume it when the cluster is well")


def _followed(
    place: Any, order: Order, workspace: Workspace, points: list[dict[str, Any]]
) -> Generator[Step, None, dict[str, Any] | None]:
    """All that one place gives, to the result; None if the place is lost."""
    last = Step(0, 1)
    asked = [place.open.remote(*order.given), place.begin.remote(points, _files(workspace.folder))]
    while True:
        answer = asked.pop(0) if asked else place.go_on.remote(SECONDS_A_PIECE)
        while not ready([answer]):
            yield last
        piece = received(answer)
        if isinstance(piece, Lost):
            return None
        if isinstance(piece, ValueError):
            raise piece
        if piece is None:
            continue
        _write(workspace.folder, piece["files"])
        if piece["said"]:
            workspace.say(piece["said"])
        for done, total, point in piece["steps"]:
            last = Step(done, total)
            points += [] if point is None else [point]
            yield Step(done, total, point)
        if "result" in piece:
            leave([place])
            result: dict[str, Any] = piece["result"]
            return result


def _files(folder: Path) -> dict[str, bytes]:
    """All files of the run, by their place in its folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _write(folder: Path, files: Mapping[str, bytes | None]) -> None:
    """Brings the folder up to date; each file is there as a whole or not at all."""
    for name, contents in files.items():
        path = folder / name
        if contents is None:
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.new")
        new.write_bytes(contents)
        new.replace(path)
