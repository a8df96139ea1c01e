"""What the lists of requirements bring with them, as pip resolves them together; nothing is installed for that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
RUN = "requirements.txt"
ANYWHERE = "-none-any.whl"
CLASSIFIER = "License :: "
UNKNOWN = "not stated"
LONGEST = 80
Record = dict[str, Any]


@dataclass(frozen=True)
class Package:
    """A package, the first list that brings it, and the hash of its file if that one serves every platform."""

    name: str
    version: str
    listed: str
    licence: str
    sha256: str = ""


def lists() -> list[Path]:
    """Every list of requirements, the one that the app needs first."""
    return [ROOT / RUN, *sorted((ROOT / "requirements").glob("*.txt"))]


def named(path: Path) -> list[Requirement]:
    """The packages that a list names itself."""
    lines = [line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def resolved() -> list[Package]:
    """Every package of all lists, in the order of their names; a ValueError where pip finds no answer."""
    options = ["--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    files = [word for path in lists() for word in ("-r", str(path))]
    command = [sys.executable, "-m", "pip", "install", *options, *files]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        reason = next((line for line in ended.stderr.splitlines() if line.startswith("ERROR")), "no reason given")
        raise ValueError(f"pip cannot resolve the lists of requirements, which needs a network: {reason[:300]}")
    return packages_of(json.loads(ended.stdout), {path.relative_to(ROOT).as_posix(): named(path) for path in lists()})


def packages_of(report: Record, wanted: Mapping[str, Sequence[Requirement]]) -> list[Package]:
    """The packages of a report of pip, each with the first list that brings it."""
    records: dict[str, Record] = {canonicalize_name(one["metadata"]["name"]): one for one in report["install"]}
    found: dict[str, Package] = {}
    for listed, requirements in wanted.items():
        for requirement in requirements:
            for name in _brought(requirement, records, set()):
                found.setdefault(name, _package(name, records[name], listed))
    return [found[name] for name in sorted(found)]


def licence_of(about: Record) -> str:
    """What a package states: an expression, else its classifiers, else the first line of its free text."""
    classified = [one.rpartition(" :: ")[2] for one in about.get("classifier", ()) if one.startswith(CLASSIFIER)]
    named = ", ".join(one for one in classified if one != "OSI Approved")
    text = next((line.strip() for line in (about.get("license") or "").splitlines() if line.strip()), "")
    return str(about.get("license_expression") or named or text[:LONGEST] or UNKNOWN).replace("|", "/")


def _package(name: str, record: Record, listed: str) -> Package:
    about, download = record["metadata"], record["download_info"]
    version = about["version"].partition("+")[0]  # without what names a build, as in 2.13.0+cpu
    anywhere = download["url"].endswith(ANYWHERE)
    sha256 = download["archive_info"]["hashes"]["sha256"] if anywhere else ""
    return Package(name, version, listed, licence_of(about), sha256)


def _brought(wanted: Requirement, records: Mapping[str, Record], seen: set[tuple[str, str]]) -> Iterator[str]:
    """A package and what it needs on this machine, with the extras that are asked for."""
    name = canonicalize_name(wanted.name)
    for extra in ("", *sorted(wanted.extras)):
        if name not in records or (name, extra) in seen:
            continue
        seen.add((name, extra))
        yield name
        for text in records[name]["metadata"].get("requires_dist", ()):
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                yield from _brought(needed, records, seen)
