"""A run in words: what came of it, and under which circumstances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headscope.runs.run import Run
from headscope.runs.store import Store
from headscope.web.charts.metric_text import metric_text, point_text

IN_WORDS = {"n": "Examples", "n_scoring": "Examples for scores", "n_steps": "Steps"}

Glance = tuple[tuple[object, ...], ...]


def headline(run: Run) -> str:
    """The result in a few words; a run that is not done says why, if it can."""
    result = run.result or {}
    try:
        told = TOLD[run.kind](result) if result and run.kind in TOLD else ""
    except KeyError:  # an older version stored less
        told = ""
    if told:
        return told
    if "metrics" in result:
        return f"{result['metrics'][0]['metric']} {point_text(result['metrics'][0])}"
    if "scores" in result:
        scores = result["scores"]
        return f"most important: {max(scores, key=scores.__getitem__)}"
    if "random" in result:
        return f"{spared(result['points'])} of {len(result['order'])} heads can go"
    if "proof" in result:
        proof = result["proof"]
        if proof.get("mask_effect", 1.0) <= proof.get("tolerance", 0.0):
            return "no proof: the mask changes nothing measurable"
        return f"equal to the mask to {proof['max_difference']:.0e}"
    return str(result.get("sentence") or run.message)


def _ablations(result: dict[str, Any]) -> str:
    alone = result["alone"]
    changed = sum(one["significant"] for one in alone)
    return f"{changed} of {len(alone)} heads change the {result['metric']} significantly when removed alone"


def _dynamics(result: dict[str, Any]) -> str:
    return f"{len(result['moments'])} checkpoints compared"


def _fiak(result: dict[str, Any]) -> str:
    dense, tuned = (result["measured"][stage]["test"] for stage in ("dense", "tuned"))
    return _instead(tuned, dense)


def _finetune(result: dict[str, Any]) -> str:
    pruned, tuned = (result["report"][name] for name in ("pruned", "tuned"))
    return _instead(tuned, pruned)


def _learn(result: dict[str, Any]) -> str:
    after, before = (result["report"]["test"][name] for name in ("after", "before"))
    return f"{result['removed']} heads gone, {_instead(after, before)}"


def _roles(result: dict[str, Any]) -> str:
    having = sum(bool(one["clauses"]) for one in result["told"].values())
    return f"{having} of {len(result['told'])} heads have a role"


def _instead(now: dict[str, Any], before: dict[str, Any]) -> str:
    name = now["metric"]
    return f"{name} {metric_text(name, now['value'])} instead of {metric_text(name, before['value'])} on test"


TOLD: dict[str, Callable[[dict[str, Any]], str]] = {
    "ablations": _ablations,
    "dynamics": _dynamics,
    "fiak": _fiak,
    "finetune": _finetune,
    "learn": _learn,
    "roles": _roles,
}
"""Kinds whose result is no metric, score or sentence of its own."""


def spared(points: Sequence[dict[str, Any]]) -> int:
    """How many heads go before the first point that is significantly worse."""
    worse = next((point["removed"] for point in points if point["worse"]), None)
    return max((point["removed"] for point in points if worse is None or point["removed"] < worse), default=0)


def setting_name(name: str) -> str:
    """The name of a setting in words."""
    return IN_WORDS.get(name, name.replace("_", " ").capitalize())


def record_facts(run: Run) -> dict[str, str]:
    """What must be known to repeat the run."""
    versions = run.record.get("versions", {})
    spec = {name: value for name, value in run.spec.items() if value not in ("", None, {}, [])}
    facts = {setting_name(name): str(value) for name, value in spec.items()}
    facts |= {"Run": run.id, "Model fingerprint": run.fingerprint}
    if run.record:
        facts |= {"Seed": str(run.record["seed"]), "Device": run.record["device"]}
    return facts | {name: text for name, text in versions.items() if name in ("torch", "transformers")}


def glance(store: Store) -> Glance:
    """What of all runs a table shows that can change; how far they are in twentieths."""
    return tuple((*named, int(20 * done / total) if total else 0) for *named, done, total in store.glance())
