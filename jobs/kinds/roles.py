"""Finds out what each head is for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from jobs.kind import Bench, Kind, Step, Steps, register
from jobs.run import LONG, SHORT

if TYPE_CHECKING:
    from analysis.roles.finding import Findings
    from analysis.roles.role import RoleFinding
    from models.heads import HeadId

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
    command_name = "roles"
    edition = 2

    @property
    def title(self) -> str:
        """The model and the size."""
        return f"Roles of {self.model}, {self.n} examples"

    @property
    def lane(self) -> str:
        """The desk serves what takes seconds."""
        return SHORT if self.n <= SHORT_UP_TO else LONG

    @property
    def arguments(self) -> dict[str, Any]:
        """As the command calls them."""
        given = super().arguments
        return {"trees": given.pop("data")} | given

    def steps(self, bench: Bench) -> Steps:
        """One step a batch; a run that was stopped begins again, for it takes seconds."""
        from analysis.roles.choosing import chosen_sample
        from analysis.roles.drawing import drawn_examples
        from analysis.roles.finding import find_roles
        from analysis.roles.functions import surviving
        from analysis.roles.role import RATE
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
        typical = drawn_examples(head_model, sample, typical_examples(head_model, sample, found))
        kept = [head for head in head_model.grid if head not in head_model.removed]
        return {
            "sample": sample.title,
            "n": sum(not reading.repeated for reading in sample.readings),
            "rate": RATE,
            "about": _about(),
            "roles": {key: {str(head): one.to_json() for head, one in own.items()} for key, own in found.items()},
            "counts": {key: survivors.total for key, survivors in surviving(found, ()).items()},
            "sentences": {str(head): sentence_of(findings_of(head, found)) for head in kept},
            "told": {str(head): _told(head, found) for head in kept},
            "relations": _relations(found),
            "typical": {
                key: {str(head): [one.to_json() for one in examples] for head, examples in own.items()}
                for key, own in typical.items()
            },
            "skipped": [str(row) for row in broken[:20]],
        }


def _about() -> dict[str, dict[str, Any]]:
    """What every role is, for pages that load no torch."""
    from analysis.roles.role import roles

    return {
        key: {
            "letter": role.letter,
            "title": role.title,
            "reference": role.reference,
            "asks": role.asks,
            "ours": role.ours,
            "thresholds": asdict(role()),  # type: ignore[call-overload]
        }
        for key, role in roles().items()
    }


def _told(head: HeadId, found: Findings) -> dict[str, Any]:
    """A head in words: a clause for each role it has, the clearest first, what it does most nearly, and its offset."""
    from analysis.roles.positional import Positional
    from analysis.roles.role import role_of
    from analysis.roles.telling import findings_of, held_roles, sentence_of

    own = findings_of(head, found)
    held = sorted(held_roles(own), key=lambda key: own[key].baseline - own[key].score)
    near = max(own, key=lambda key: _way(key, own[key]), default="")
    positional = own.get(Positional.key)
    return {
        "clauses": {key: sentence_of({key: own[key]}) for key in held},
        "nearest": f"{role_of(near)().phrase(own[near])}: {role_of(near)().evidence(own[near])}" if near else "",
        "offset": Positional().phrase(positional) if positional else "",
    }


def _way(key: str, finding: RoleFinding) -> float:
    """How far a head has come from the baseline of a role to what it asks for; 1 is all the way."""
    from analysis.roles.role import role_of

    asked = role_of(key)().needed(finding.baseline) - finding.baseline
    return (finding.score - finding.baseline) / max(asked, 0.01)


def _relations(found: Findings) -> dict[str, str]:
    """The cases of the syntactic role as people say them, such as `verb → subject`."""
    from analysis.roles.syntactic import DOWN, NAMES, Syntactic

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
