"""A run in words: what came of it, and under which circumstances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobs.run import Run
from ui.metric_text import point_text


def headline(run: Run) -> str:
    """The result in a few words; a run that is not done says why, if it can."""
    result = run.result or {}
    if "metrics" in result:
        return f"{result['metrics'][0]['metric']} {point_text(result['metrics'][0])}"
    if "scores" in result:
        scores = result["scores"]
        return f"most important: {max(scores, key=scores.__getitem__)}"
    if "random" in result:
        return f"{spared(result['points'])} of {len(result['order'])} heads can go"
    if "proof" in result:
        return f"equal to the mask to {result['proof']['max_difference']:.0e}"
    return str(result.get("sentence") or run.message)


def spared(points: Sequence[dict[str, Any]]) -> int:
    """How many heads go before the first point that is significantly worse."""
    worse = next((point["removed"] for point in points if point["worse"]), None)
    return max((point["removed"] for point in points if worse is None or point["removed"] < worse), default=0)


def record_facts(run: Run) -> dict[str, str]:
    """What must be known to repeat the run."""
    versions = run.record.get("versions", {})
    spec = {name: value for name, value in run.spec.items() if value not in ("", None, {}, [])}
    facts = {name.capitalize(): str(value) for name, value in spec.items()}
    facts |= {"Run": run.id, "Model fingerprint": run.fingerprint}
    if run.record:
        facts |= {"Seed": str(run.record["seed"]), "Device": run.record["device"]}
    return facts | {name: text for name, text in versions.items() if name in ("torch", "transformers")}
