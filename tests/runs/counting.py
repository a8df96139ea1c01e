"""A kind of run that counts, for tests: every step is a point, and what it does on the way can be set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.run import LONG

on_step: dict[str, Callable[[int], None]] = {}
"""What is called at each step, by the model's name."""


@register
@dataclass(frozen=True)
class Counting(Kind):
    to: int = 5
    serve: str = LONG
    key = "counting"

    @property
    def title(self) -> str:
        return f"counts to {self.to}"

    @property
    def lane(self) -> str:
        return self.serve

    def steps(self, workspace: Workspace) -> Steps:
        numbers = [point["number"] for point in workspace.points]
        for number in range(len(numbers), self.to):
            on_step.get(self.model, lambda _: None)(number)
            numbers.append(number)
            yield Step(number + 1, self.to, {"number": number})
        return {"numbers": numbers}
