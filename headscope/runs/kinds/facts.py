"""What a model is: its grid, its size, and what it can be judged by."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.runs.kind import Kind, Steps, Workspace, register
from headscope.runs.run import QUERY

N_EXAMPLES = 12
"""Sentences that the attention page offers."""


@register
@dataclass(frozen=True)
class FactsQuery(Kind):
    """A question about a model; loading it is most of the work, so whoever asks it warms the worker up."""

    key = "facts"
    edition = 2
    kept = False

    @property
    def title(self) -> str:
        """Not shown in any history."""
        return f"What {self.model} is"

    @property
    def lane(self) -> str:
        """Somebody waits for it."""
        return QUERY

    def steps(self, workspace: Workspace) -> Steps:
        """Loads the model and looks at it."""
        from headscope.models.parameter_shares import ParameterShares
        from headscope.tasks.model_kinds import kind_of
        from headscope.tasks.task_catalog import example_texts, fitting

        yield from ()
        head_model = workspace.load(self.model)
        shares = ParameterShares.of(head_model)
        return {
            "name": head_model.name,
            "architecture": type(head_model.model).__name__,
            "answers": kind_of(head_model.model),
            "grid": head_model.grid.to_json(),
            "removed": head_model.grid.spell(head_model.removed),
            "missed": list(head_model.missed),
            "parameters": head_model.n_parameters,
            "shares": {"attention": shares.attention, "embeddings": shares.embeddings, "rest": shares.rest},
            "device": str(head_model.device),
            "precision": str(head_model.model.dtype).removeprefix("torch."),
            "tasks": fitting(head_model),
            "examples": [{"text": text, "pair": pair} for text, pair in example_texts(head_model, N_EXAMPLES)],
        }
