"""python -m tools.lock: writes down the exact version of every package that the lists of requirements bring.

`requirements/all.lock` holds all versions, as constraints for pip. Beside every list of requirements a `-hashes.lock`
holds those packages again of which one file serves every platform, with its hash: pip wants hashes for all packages of
a list or for none, so they are lists of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tools.resolved import ROOT, RUN, Package, resolved

LOCK = "requirements/all.lock"
ABOUT = f"""\
# Made by `make lock`: the exact version of every package, direct or not, that the lists of requirements bring.
# Use: pip install -r requirements.txt -c {LOCK}
"""
ABOUT_HASHES = """\
# Made by `make lock`: what {listed} brings of which one file serves every platform, with its hash.
# Use, first: pip install --no-deps --require-hashes -r {name}
"""


def main() -> int:
    """Writes the files."""
    try:
        packages = resolved()
    except ValueError as error:
        print(f"lock: {error}", file=sys.stderr)
        return 2
    write(ROOT, packages)
    print(f"lock: {len(packages)} packages, {sum(bool(one.sha256) for one in packages)} of them with a hash")
    return 0


def hashes_name(listed: str) -> str:
    """The file with the hashes of what a list of requirements brings."""
    return "requirements/app-hashes.lock" if listed == RUN else f"{listed.removesuffix('.txt')}-hashes.lock"


def write(root: Path, packages: Sequence[Package]) -> None:
    """Writes the files, a package a line."""
    pinned = [f"{one.name}=={one.version}" for one in packages]
    (root / LOCK).write_text(ABOUT + "\n".join(pinned) + "\n", encoding="utf-8")
    for listed in sorted({one.listed for one in packages if one.sha256}):
        own = [one for one in packages if one.listed == listed and one.sha256]
        lines = [f"{one.name}=={one.version} --hash=sha256:{one.sha256}" for one in own]
        about = ABOUT_HASHES.format(listed=listed, name=hashes_name(listed))
        (root / hashes_name(listed)).write_text(about + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
