"""python -m tools.import_diagram: draws docs/images/imports.svg, which folder of the package imports which.

The picture is made from the imports themselves, and a test compares it, so it cannot go stale.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "imports.svg"
LAYERS = (("pages",), ("web", "cli"), ("runs", "specimens"), ("analysis", "pruning"), ("tasks",), ("models",))
"""The folders from top to bottom, as the contracts in pyproject.toml allow imports."""

WIDTH, STEP, BOX = 560, 92, (132, 40)
STYLE = (
    "svg{font:14px sans-serif}rect{fill:#eef2ff;stroke:#4f46e5}text{fill:#1b2030;text-anchor:middle}"
    "path{fill:none;stroke:#5b6478;stroke-width:1.3;marker-end:url(#tip)}"
    "@media(prefers-color-scheme:dark){rect{fill:#272c56}text{fill:#e7e9f3}path{stroke:#a3abc2}}"
)


def main() -> int:
    """Writes the picture."""
    PICTURE.write_text(picture(imports()), encoding="utf-8")
    return 0


def imports(root: Path = ROOT) -> dict[str, set[str]]:
    """The folders that each folder imports, itself left out."""
    known = [name for layer in LAYERS for name in layer]
    folders = {name: root / "headscope" / name for name in known}
    beside = {name: path if path.is_dir() else root / name for name, path in folders.items()}  # without links
    return {name: {one for one in _imported(path) if one in known} - {name} for name, path in beside.items()}


def _imported(folder: Path) -> Iterable[str]:
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            yield from (name.split(".")[1] for name in names if name.startswith("headscope."))


def picture(found: Mapping[str, set[str]]) -> str:
    """Boxes in layers; what another import leads to already has no arrow of its own."""
    places = {
        name: (WIDTH * (2 * at + 1) // (2 * len(layer)), 30 + STEP * level)
        for level, layer in enumerate(LAYERS)
        for at, name in enumerate(layer)
    }
    height = 60 + STEP * (len(LAYERS) - 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>Which folder of headscope imports which</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0,0 8,4 0,8" style="marker-end:none"/></marker></defs>',
    ]
    for name, (x, y) in places.items():
        for other in sorted(direct(name, found)):
            lines.append(f'<path d="{_arrow((x, y), places[other])}"/>')
    for name, (x, y) in places.items():
        lines.append(f'<rect x="{x - BOX[0] // 2}" y="{y - BOX[1] // 2}" width="{BOX[0]}" height="{BOX[1]}" rx="6"/>')
        lines.append(f'<text x="{x}" y="{y + 5}">{name}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def direct(name: str, found: Mapping[str, set[str]]) -> set[str]:
    """The folders that are imported, without those that one of them imports as well."""
    return {one for one in found[name] if not any(one in reached(other, found) for other in found[name] - {one})}


def reached(name: str, found: Mapping[str, set[str]]) -> set[str]:
    """Every folder that imports lead to from this one."""
    seen: set[str] = set()
    rest = [name]
    while rest:
        for other in found[rest.pop()] - seen:
            seen.add(other)
            rest.append(other)
    return seen


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    down = BOX[1] // 2
    if start[1] == end[1]:
        side = BOX[0] // 2 if end[0] > start[0] else -BOX[0] // 2
        return f"M{start[0] + side},{start[1]} {end[0] - side},{end[1]}"
    return f"M{start[0]},{start[1] + down} {end[0]},{end[1] - down}"


if __name__ == "__main__":
    raise SystemExit(main())
