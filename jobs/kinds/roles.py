"""Finds out what each head is for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from jobs.kind import Bench, Kind, Step, Steps, register
from jobs.run import LONG, SHORT

SHORT_UP_TO = 600
"""Passages that a short run may have."""


@register
@dataclass(frozen=True)
class RolesRun(Kind):
    """The roles of all heads on n passages: of a CoNLL-U or text file `data`, else of what fits the model.

    Texts without trees are parsed by the spaCy pipeline `parser`, if one is named.
    """

    data: str = ""
    parser: str = ""
    split: str = "development"
    n: int = 600

    key = "roles"

    @property
    def title(self) -> str:
        """The model and the size."""
        return f"Roles of {self.model}, {self.n} examples"

    @property
    def lane(self) -> str:
        """The desk serves what takes seconds."""
        return SHORT if self.n <= SHORT_UP_TO else LONG

    def steps(self, bench: Bench) -> Steps:
        """One step a batch; a run that was stopped begins again, for it takes seconds."""
        from analysis.roles.choosing import chosen_sample
        from analysis.roles.finding import find_roles
        from analysis.roles.functions import surviving
        from analysis.roles.role import RATE, roles
        from analysis.roles.telling import findings_of, sentence_of
        from analysis.roles.typical import typical_examples

        head_model = bench.load(self.model)
        sample, broken = chosen_sample(head_model, self.n, self.split, self.data, self.parser)
        steps = find_roles(head_model, sample)
        while True:
            try:
                progress = next(steps)
            except StopIteration as end:
                found: dict[str, Any] = end.value
                break
            yield Step(progress.done, progress.total)
        typical = typical_examples(head_model, sample, found)
        return {
            "sample": sample.title,
            "n": len(sample.readings),
            "rate": RATE,
            "letters": {key: role.letter for key, role in roles().items()},
            "roles": {key: {str(head): one.to_json() for head, one in own.items()} for key, own in found.items()},
            "counts": {key: survivors.total for key, survivors in surviving(found, ()).items()},
            "sentences": {
                str(head): sentence_of(findings_of(head, found))
                for head in head_model.grid
                if head not in head_model.removed
            },
            "typical": {
                key: {str(head): [asdict(one) for one in examples] for head, examples in own.items()}
                for key, own in typical.items()
            },
            "skipped": [str(row) for row in broken[:20]],
        }
