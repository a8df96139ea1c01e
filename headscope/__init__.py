"""What the attention heads of a transformer do, and which of them can go.

Nothing is imported before it is asked for: `import headscope` takes milliseconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent

if not (_HERE / "analysis" / "__init__.py").is_file():  # a checkout without links, as on Windows or from a zip
    __path__.append(str(_HERE.parent))


def __getattr__(name: str) -> Any:
    """The version, of what is installed or of the checkout."""
    if name != "__version__":
        raise AttributeError(f"module 'headscope' has no attribute {name!r}")
    project = _HERE.parent / "pyproject.toml"
    if project.is_file():
        import tomllib

        return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    from importlib.metadata import version

    return version("headscope")
