"""Finds out what each head is for."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from headscope.models.loading.fingerprint import file_fingerprint
from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.run import LONG, SHORT

if TYPE_CHECKING:
    from headscope.analysis.roles.role import Role, RoleFinding
    from headscope.analysis.roles.search import Findings
    from headscope.analysis.roles.search_progress import Progress, Progressing
    from headscope.analysis.roles.thresholds import Roles
    from headscope.models.heads import HeadId

Made = TypeVar("Made")

SHORT_UP_TO = 600
"""Passages that a short run may have."""


@register
@dataclass(frozen=True)
class RolesRun(Kind):
    """The roles of all heads on n passages: of a CoNLL-U or text file `data`, else of what fits the model.

    Texts without trees are parsed by the spaCy pipeline `parser`, if one is named. `task` names one of ours whose
    sentences are read where there is no file. `options` are thresholds, such as {"syntactic.margin": 0.15}.
    """

    data: str = ""
    parser: str = ""
    task: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    split: str = "development"
    n: int = 600

    key = "roles"
    command_name = "roles"
    edition = 2

    @property
    def title(self) -> str:
        """The model and the size."""
        return f"Roles of {self.model}, {self.n} examples"

    @property
    def lane(self) -> str:
        """The interactive worker serves what takes seconds for a specimen, and answers queries between its steps."""
        return SHORT if self.n <= SHORT_UP_TO else LONG

    @property
    def arguments(self) -> dict[str, Any]:
        """As the command calls them."""
        given = super().arguments
        return {"trees": given.pop("data"), "option": given.pop("options")} | given

    @property
    def data_mark(self) -> str:
        """A hash of the file; where there is none, roles are found on sentences with trees."""
        return file_fingerprint(self.data)

    def steps(self, workspace: Workspace) -> Steps:
        """A step a passage while they are prepared, then a step a batch; a run that was stopped begins again."""
        from headscope.analysis.roles.descriptions import findings_of, sentence_of
        from headscope.analysis.roles.drawn_examples import drawn_examples
        from headscope.analysis.roles.role import RATE
        from headscope.analysis.roles.role_importance import surviving
        from headscope.analysis.roles.sample_selection import Wanted, choosing
        from headscope.analysis.roles.search import find_roles
        from headscope.analysis.roles.thresholds import asked_roles
        from headscope.analysis.roles.typical_examples import typical_examples

        asked = asked_roles(self.options)
        head_model = workspace.load(self.model)
        wanted = Wanted(self.n, self.split, self.data, self.parser, self.task)
        sample, broken = yield from _followed(choosing(head_model, wanted), lambda _: Step(0, self.n))
        found = yield from _followed(
            find_roles(head_model, sample, asked.values()), lambda progress: Step(progress.done, progress.total)
        )
        end = Step(len(sample.readings), len(sample.readings))
        clearest = yield from _followed(typical_examples(head_model, sample, found, asked=asked), lambda _: end)
        typical = yield from _followed(drawn_examples(head_model, sample, clearest), lambda _: end)
        kept = [head for head in head_model.grid if head not in head_model.removed]
        return {
            "sample": sample.title,
            "n": sum(not reading.repeated for reading in sample.readings),
            "rate": RATE,
            "options": self.options,
            "about": _about(asked),
            "roles": {key: {str(head): one.to_json() for head, one in own.items()} for key, own in found.items()},
            "counts": {key: survivors.total for key, survivors in surviving(found, ()).items()},
            "sentences": {str(head): sentence_of(findings_of(head, found), asked) for head in kept},
            "told": {str(head): _told(head, found, asked) for head in kept},
            "relations": _relations(found),
            "typical": {
                key: {str(head): [one.to_json() for one in examples] for head, examples in own.items()}
                for key, own in typical.items()
            },
            "skipped": [str(row) for row in broken[:20]],
        }


def _followed(steps: Progressing[Made], told: Callable[[Progress], Step]) -> Generator[Step, None, Made]:
    """What the steps return; a run can be cancelled between any two of them."""
    while True:
        try:
            progress = next(steps)
        except StopIteration as end:
            made: Made = end.value
            return made
        yield told(progress)


def _about(asked: Roles) -> dict[str, dict[str, Any]]:
    """What every role is, for pages that load no torch."""
    from headscope.analysis.roles.thresholds import asks_of, thresholds_of, usual_roles

    return {
        key: {
            "letter": role.letter,
            "title": role.title,
            "reference": role.reference,
            "asks": asks_of(role),
            "ours": role.ours,
            "thresholds": thresholds_of(role),
            "usual": thresholds_of(usual_roles()[key]),
        }
        for key, role in asked.items()
    }


def _told(head: HeadId, found: Findings, asked: Roles) -> dict[str, Any]:
    """A head in words: a clause for each role it has, the clearest first, what it does most nearly, and its offset."""
    from headscope.analysis.roles.descriptions import findings_of, held_roles, sentence_of
    from headscope.analysis.roles.methods.positional import Positional

    own = findings_of(head, found)
    held = sorted(held_roles(own), key=lambda key: own[key].baseline - own[key].score)
    near = max(own, key=lambda key: _way(asked[key], own[key]), default="")
    positional = own.get(Positional.key)
    return {
        "clauses": {key: sentence_of({key: own[key]}, asked) for key in held},
        "nearest": f"{asked[near].phrase(own[near])}: {asked[near].evidence(own[near])}" if near else "",
        "offset": Positional().phrase(positional) if positional else "",
    }


def _way(role: Role, finding: RoleFinding) -> float:
    """How far a head has come from the baseline of a role to what it asks for; 1 is all the way."""
    asked = role.needed(finding.baseline) - finding.baseline
    return (finding.score - finding.baseline) / max(asked, 0.01)


def _relations(found: Findings) -> dict[str, str]:
    """The cases of the syntactic role as people say them, such as `verb → subject`."""
    from headscope.analysis.roles.methods.syntactic import DOWN, NAMES, Syntactic

    cases = {case for one in found.get(Syntactic.key, {}).values() for case in one.detail["cases"]}
    named = {}
    for case in sorted(cases):
        relation, _, direction = case.rpartition(": ")
        words = NAMES.get(relation, (f"dependent ({relation})", "head", "word", f"dependent ({relation})"))
        source, target = words[2:] if direction == DOWN else words[:2]
        named[case] = f"{_bare(source)} → {_bare(target)}"
    return named


def _bare(words: str) -> str:
    """Without its article."""
    first, _, rest = words.partition(" ")
    return rest if first in ("a", "an", "the", "its") and rest else words
