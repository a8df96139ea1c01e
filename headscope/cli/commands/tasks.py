"""What models can be judged by."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from headscope.cli.command import Answer, Command, register


@register
class Tasks(Command):
    """The tasks of our own by the keys that --task takes."""

    name = "tasks"
    about = "list what models can be judged by"

    def arguments(self, parser: ArgumentParser) -> None:
        """Nothing is needed."""

    def run(self, options: Namespace) -> Answer:
        """Reads the catalog."""
        from headscope.tasks.task_catalog import TASKS, task

        del options
        titles = {key: task(key).title for key in TASKS} | {"fidelity": "Agreement with the unpruned model"}
        return {"tasks": titles}, "\n".join(f"{key:<21} {title}" for key, title in titles.items())
