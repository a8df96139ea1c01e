"""A run in words: what came of it, and under which circumstances."""

from __future__ import annotations

from jobs.run import Run


def headline(run: Run) -> str:
    """The result in a few words; a run that is not done says why, if it can."""
    result = run.result or {}
    if "metrics" in result:
        first = result["metrics"][0]
        return f"{first['metric']} {first['value']:.4g} ({first['low']:.4g} to {first['high']:.4g})"
    if "scores" in result:
        scores = result["scores"]
        return f"most important: {max(scores, key=scores.__getitem__)}"
    return run.message


def record_facts(run: Run) -> dict[str, str]:
    """What must be known to repeat the run."""
    versions = run.record.get("versions", {})
    spec = {name: value for name, value in run.spec.items() if value not in ("", None, {}, [])}
    facts = {name.capitalize(): str(value) for name, value in spec.items()}
    facts |= {"Run": run.id, "Model fingerprint": run.fingerprint}
    if run.record:
        facts |= {"Seed": str(run.record["seed"]), "Device": run.record["device"]}
    return facts | {name: text for name, text in versions.items() if name in ("torch", "transformers")}
