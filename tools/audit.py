"""python -m tools.audit: asks the OSV database which of the locked versions have a known vulnerability.

Exit code 0 if none has, 1 if one has, 2 if nobody could be asked.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path

from tools.lock import LOCK
from tools.resolved import ROOT

DATABASE = "https://api.osv.dev/v1/querybatch"
SECONDS = 30
Pinned = list[tuple[str, str]]


def main() -> int:
    """Prints a line for every known vulnerability."""
    pinned = locked(ROOT / LOCK)
    try:
        found = vulnerabilities(pinned, DATABASE)
    except (OSError, ValueError) as error:
        print(f"audit: nothing was checked, the database of vulnerabilities was not reached: {error}", file=sys.stderr)
        return 2
    for (name, version), ids in found.items():
        print(f"{name} {version}: {', '.join(f'https://osv.dev/vulnerability/{one}' for one in ids)}")
    print(f"audit: {len(found)} of {len(pinned)} packages have a known vulnerability")
    return 1 if found else 0


def locked(path: Path) -> Pinned:
    """Name and version of every package of a lock file."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [(name, version) for name, _, version in (line.partition("==") for line in lines)]


def vulnerabilities(pinned: Pinned, database: str) -> dict[tuple[str, str], list[str]]:
    """The packages with a known vulnerability, and the names of those; an answer of another shape is a ValueError."""
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in pinned]
    request = urllib.request.Request(
        database, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        answer = json.load(response)
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list) or len(results) != len(pinned):
        raise ValueError("its answer does not fit the question")
    found = {
        package: [one["id"] for one in (result or {}).get("vulns", [])]
        for package, result in zip(pinned, results, strict=True)
    }
    return {package: ids for package, ids in found.items() if ids}


if __name__ == "__main__":
    sys.exit(main())
