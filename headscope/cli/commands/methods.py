"""How heads can be scored."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from headscope.cli.command import Answer, Command, register


@register
class Methods(Command):
    """The importance methods by the keys that --method takes, with what --option can set."""

    name = "methods"
    about = "list the importance methods and their options"

    def arguments(self, parser: ArgumentParser) -> None:
        """Nothing is needed."""

    def run(self, options: Namespace) -> Answer:
        """Reads the registry."""
        from headscope.analysis.importance.method import methods
        from headscope.analysis.importance.options import options_of

        del options
        records: dict[str, dict[str, Any]] = {}
        lines = []
        for key, method in methods().items():
            known = {one.name: one.default for one in options_of(method)}
            records[key] = {
                "about": method.about, "reference": method.reference, "needs_run": method.needs_run, "options": known
            }  # fmt: skip
            spelt = " ".join(f"{name}={value}".lower() for name, value in known.items())
            lines += [f"{key:<21} {method.about} ({method.reference})"]
            lines += [f"{'':<21} needs {method.needs_run}"] if method.needs_run else []
            lines += [f"{'':<21} --option {spelt}"] if spelt else []
        return {"methods": records}, "\n".join(lines)
