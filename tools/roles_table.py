"""python -m tools.roles_table: writes docs/roles.md, what each role asks and which heads of the specimens have it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from headscope.analysis.importance.method import method_of, score
from headscope.analysis.roles.descriptions import findings_of, sentence_of
from headscope.analysis.roles.role import RATE, RoleFinding, percent, role_of, roles
from headscope.analysis.roles.role_importance import NONE, importance_by_role, surviving
from headscope.analysis.roles.sample import N_REPEATS
from headscope.analysis.roles.sample_selection import chosen_sample
from headscope.analysis.roles.search import Findings, roles_of
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.specimens.shipped import load
from headscope.tasks.task_catalog import SPECIMEN_TASKS, task_for

TABLE = Path(__file__).parents[1] / "docs" / "roles.md"
N = 400
N_SCORED = 64
INTRODUCTION = f"""# What each head is for

Made by `python -m tools.roles_table`. A role is a test that a head passes or not, and a head may have several. Each
test gives a score, the baseline it must beat, how many looks it rests on, and a verdict.

**How a verdict is reached.** Even-numbered examples choose (an offset, a relation, the best look without a model),
odd-numbered ones are reported on. A head has a role if its score reaches the threshold on both halves *and* if, on the
second half, it beats the baseline in more examples than luck allows: an exact sign test over examples, so that the many
looks of one example count once, corrected after Holm for all heads and cases of the role. The false-positive rate is
{percent(RATE)}: by luck at most that share of models has any head of a given role. The thresholds below are
defaults: the page Roles and `headscope roles --option` take others.

For a look $i$ of a head with attention $a_{{ij}}$ let $T_i$ be what the role asks for: the token at an
offset, the related word, the first token and so on. Over the $n$ looks that count, the score of a head is

$$s = \\frac{{1}}{{n}} \\sum_i \\left[ \\arg\\max_j a_{{ij}} \\in T_i \\right]
\\qquad
b = \\max \\left( \\frac{{1}}{{n}} \\sum_i \\frac{{\\lvert T_i \\rvert}}{{K_i}},\\;
\\max_\\delta \\frac{{1}}{{n}} \\sum_i \\left[ i + \\delta \\in T_i \\right] \\right)$$

with the baseline $b$ of even attention over the $K_i$ tokens that can be seen, and of the best fixed offset
$\\delta$ where both apply. For the broad role the score is the entropy of $a_i$ over $\\log K_i$ instead.

**Baselines.** Even attention looks at everything alike; between words it favours the word of most pieces, and is
computed so. A fixed offset is the one that is right most often on the first half. The baseline is the better of the two
where both apply.

**What counts.** Padding never. Special tokens only as what a sink rests on, and for broad attention. Attention to a
word is summed over its pieces, attention from it averaged. Tokens that see one token only have no choice and are left
out; where two tokens share the maximum, the head looks at neither. Persistent vectors of a model are no tokens.
Induction and duplicate tokens are sought on {N_REPEATS} probes of random tokens that come twice.

## The roles

| | role | a head has it if | after | ours |
|---|---|---|---|---|
"""


def main() -> int:
    """Looks at every specimen and writes the page."""
    torch.set_num_threads(1)
    names = sys.argv[1:] or list(SPECIMEN_TASKS)
    parts = [specimen_part(load(name)) for name in names]
    TABLE.write_text(
        INTRODUCTION + "\n".join(role_rows()) + "\n\n## The specimens\n" + "".join(parts), encoding="utf-8"
    )
    return 0


def role_rows() -> Iterator[str]:
    """A row for each role."""
    for role in roles().values():
        yield f"| {role.letter} | {role.title} | {role.asks} | {role.reference} | {role.ours or '–'} |"


def specimen_part(head_model: HeadModel) -> str:
    """What was found in one specimen, told as it is."""
    sample, _ = chosen_sample(head_model, N)
    found = roles_of(head_model, sample)
    lines = [
        f"\n### {head_model.name}\n",
        f"{sample.title}; {head_model.grid.describe()}.\n",
        *count_table(head_model, found),
        "",
        *(f"- `{head}` {sentence_of(findings_of(head, found))}" for head in _with_a_role(head_model, found)),
    ]
    if "syntactic" in found:
        lines += ["", *relation_table(found["syntactic"])]
    return "\n".join(lines) + "\n"


def count_table(head_model: HeadModel, found: Findings) -> Iterator[str]:
    """How many heads have each role, the nearest head, and how much the heads of the role matter."""
    task = task_for(head_model)
    scores, sure = (score(method_of(key)(), head_model, task, n=N_SCORED).values for key in ("gradient", "confidence"))
    matters = importance_by_role(found, scores, sure)
    yield f"Importance: gradient, {N_SCORED} calibration examples of {task.title}.\n"
    yield "| role | heads | of all heads | of all importance | rank correlation, confidence held fixed | best head |"
    yield "|---|---|---|---|---|---|"
    for key, survivors in surviving(found, ()).items():
        one = matters[key]
        partial = "–" if one.partial is None else f"{one.partial:+.2f}"
        nearest = "–" if key == NONE else _nearest(found[key])
        name = "no role" if key == NONE else role_of(key).title
        cells = (name, survivors.total, percent(one.heads_share), percent(one.share), partial, nearest)
        yield f"| {' | '.join(map(str, cells))} |"


def relation_table(findings: Mapping[HeadId, RoleFinding]) -> Iterator[str]:
    """The best head of every relation and direction, those with a head first."""
    rows = []
    for case in next(iter(findings.values())).detail["cases"]:
        table = {head: one.detail["cases"][case] for head, one in findings.items()}
        best = max(table, key=lambda head: (table[head]["verdict"], table[head]["score"]))
        rows.append((table[best]["verdict"], table[best]["score"] - table[best]["baseline"], case, best, table))
    passing = sum(row[0] for row in rows)
    yield f"{passing} of {len(rows)} relation-directions have a head. The ten clearest:\n"
    yield "| relation | best head | score | baseline | n | verdict | heads |"
    yield "|---|---|---|---|---|---|---|"
    for verdict, _, case, best, table in sorted(rows, key=lambda row: (-row[0], -row[1]))[:10]:
        one, holders = table[best], sum(other["verdict"] for other in table.values())
        told = "yes" if verdict else "no"
        cells = (case, f"`{best}`", percent(one["score"]), percent(one["baseline"]), one["n"], told, holders)
        yield f"| {' | '.join(map(str, cells))} |"


def _with_a_role(head_model: HeadModel, found: Findings) -> list[HeadId]:
    return [head for head in head_model.grid if any(own[head].verdict for own in found.values() if head in own)]


def _nearest(findings: Mapping[HeadId, RoleFinding]) -> str:
    """The head with the role, or else the one with the highest score that a verdict could rest on."""
    best = max(findings, key=lambda head: (findings[head].verdict, findings[head].score - findings[head].baseline))
    one = findings[best]
    return f"`{best}` {percent(one.score)}, baseline {percent(one.baseline)}, n {one.n}"


if __name__ == "__main__":
    sys.exit(main())
