"""python -m tools.licences: writes docs/licences.md, the licence of every package that Headscope brings with it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tools.resolved import ROOT, RUN, Package, resolved

PAGE = ROOT / "docs" / "licences.md"
ABOUT = """\
# Licences

Headscope is under the Apache License 2.0; see [LICENSE](../LICENSE). These are the licences of the {n} packages that
its requirements bring, as the packages themselves state them: {n_run} to run it, the others for a login by OIDC, a
cluster, or work on it. No code of theirs is part of this repository. Made by `make licences`.

On Linux with an NVIDIA card pip installs a build of torch that brings NVIDIA's libraries and triton as well. Torch pins
them itself; they are under the licences that their packages state, and are in no list here.

| package | version | licence | brought by |
|---|---|---|---|
"""


def main() -> int:
    """Writes the page."""
    try:
        PAGE.write_text(page(resolved()), encoding="utf-8")
    except ValueError as error:
        print(f"licences: {error}", file=sys.stderr)
        return 2
    print(f"licences: {PAGE.relative_to(ROOT)} written")
    return 0


def page(packages: Sequence[Package]) -> str:
    """The page."""
    n_run = sum(one.listed == RUN for one in packages)
    rows = [f"| {one.name} | {one.version} | {one.licence} | {one.listed} |" for one in packages]
    return ABOUT.format(n=len(packages), n_run=n_run) + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
