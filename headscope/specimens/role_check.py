"""python -m headscope.specimens.role_check translator: its positional and syntactic heads, on held-out sentences.

A second count of two roles, small and literal on purpose. A head is positional if the strongest attention of at least
90 % of the pieces goes to one fixed offset. A relation has a head if the strongest attention of its words goes to the
related word at least ten points more often than the best fixed offset would. Head and offset are picked on one half of
the sentences and reported on the other.

What the heads look at, which piece belongs to which word and how attention between words is put together comes from
headscope.analysis.roles; only the counting is done again. It differs from the roles there where those go beyond the
paper, for the goals of a specimen were set by the paper: here every piece counts, even one without a neighbour at the
offset; each link counts by itself, though a word may have several of a relation; even attention is no rival; luck is
not tested. Where a word has one link of a relation and an offset is the best rival, both counts are the same number.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from headscope.analysis.roles.layer_attention import TOKEN, WORD, Look, look_at
from headscope.analysis.roles.methods.syntactic import DOWN, UP
from headscope.analysis.roles.passages import ANTECEDENT, of_sentence
from headscope.analysis.roles.sample import Reading, Sample, text_sample
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.sites import Site
from headscope.specimens.measures import gradient_scores
from headscope.specimens.shipped import load
from headscope.tasks.grammar import sentences

N_SENTENCES = 600
N_SCORES = 128
FEWEST = 30
MARGIN = 0.10
POSITIONAL = 0.90
SEED = 77

Link = tuple[int, int]
Halves = Sequence[Counter[int]]


@dataclass(frozen=True)
class Role:
    """A relation-direction, its best head and the best fixed offset, as reported on the second half.

    `holders` are all heads that beat the offset by the margin on both halves.
    """

    relation: str
    head: HeadId
    score: float
    offset: int
    baseline: float
    n: int
    holders: frozenset[HeadId]

    @property
    def passes(self) -> bool:
        """Whether the head is at least ten points better than the offset."""
        return self.score >= self.baseline + MARGIN


def main() -> None:
    """Reads the command line and prints."""
    parser = argparse.ArgumentParser(prog="python -m headscope.specimens.role_check", description=__doc__)
    parser.add_argument("name", nargs="?", default="translator")
    parser.add_argument("--folder", type=Path, help="another folder than the shipped one")
    parser.add_argument("--n", type=int, default=N_SENTENCES)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    head_model = load(arguments.name, arguments.folder)
    looks = encoder_looks(head_model, held_out(head_model, arguments.n))
    heads = [head for head in head_model.grid if head.bank == "encoder"]
    found, syntactic = positions(heads, looks), roles(heads, looks)
    scores = dict(zip(head_model.grid, gradient_scores(head_model, "calibration", N_SCORES).tolist(), strict=True))
    own = {head: scores[head] for head in heads}
    for line in (*positional_lines(found), *piece_lines(heads, within_words(looks)), *syntactic_lines(syntactic)):
        sys.stdout.write(line + "\n")
    sys.stdout.write(importance_line(own, found, syntactic) + "\n")


def positional_lines(found: list[tuple[HeadId, int, float]]) -> Iterator[str]:
    """The most positional heads."""
    passing = sum(share >= POSITIONAL for _, _, share in found)
    yield f"positional heads (one offset for at least {POSITIONAL:.0%} of the pieces): {passing}"
    for head, offset, share in found[:8]:
        yield f"  {head}  offset {offset:+d}  {share:.3f}"


def piece_lines(heads: list[HeadId], shares: Tensor) -> Iterator[str]:
    """The heads that gather the pieces of a word."""
    yield f"strongest attention to another piece of the same word (even attention: {shares[-1]:.3f})"
    for place in shares[:-1].argsort(descending=True)[:6].tolist():
        yield f"  {heads[place]}  {shares[place]:.3f}"


def within_words(looks: Sequence[Look]) -> Tensor:
    """For each head the share of pieces, in words of several, whose strongest attention is another piece of the word.

    Last comes the same for attention spread evenly, as a control.
    """
    total, count = torch.zeros(len(looks[0].attention) + 1), 0
    for look in looks:
        places = look.reading.source.ordinary
        owner = torch.tensor(look.reading.source.owners)
        others = (owner[:, None] == owner).float().fill_diagonal_(0)  # [piece, piece]
        others = others[list(places)]
        several = others.sum(-1) > 0
        best = look.strongest(TOKEN)[:, list(places)]  # [head, piece]
        hits = others.gather(1, best.clamp(min=0).T).T * (best >= 0)
        total[:-1] += hits[:, several].sum(-1)
        total[-1] += others[several].sum() / len(places)
        count += int(several.sum())
    return total / count


def syntactic_lines(found: list[Role]) -> Iterator[str]:
    """Every relation-direction, the passing ones first."""
    yield f"relation-directions with a head {MARGIN:.0%} over the best offset: {sum(role.passes for role in found)}"
    for role in sorted(found, key=lambda role: role.baseline - role.score):
        mark = "*" if role.passes else " "
        yield (
            f" {mark} {role.relation:28} {role.head}  {role.score:.3f}  "
            f"offset {role.offset:+d}: {role.baseline:.3f}  n {role.n}"
        )


def importance_line(scores: dict[HeadId, float], found: list[tuple[HeadId, int, float]], syntactic: list[Role]) -> str:
    """How much of the encoder's gradient score lies in heads with a role."""
    known = {head for head, _, share in found if share >= POSITIONAL} | {h for role in syntactic for h in role.holders}
    share = sum(scores[head] for head in known) / sum(scores.values())
    return f"{len(known)} of {len(scores)} encoder heads have a role; they hold {share:.0%} of the gradient score"


def held_out(head_model: HeadModel, n: int) -> Sample:
    """Sentences of the grammar that no other part of the project looks at."""
    return text_sample(head_model, [of_sentence(one) for one in islice(sentences(SEED, "test"), n)])


def encoder_looks(head_model: HeadModel, sample: Sample) -> list[Look]:
    """What all heads of the encoder look at, layer after layer, in every reading of the sample."""
    layers: dict[int, list[Tensor]] = defaultdict(list)
    readings = {reading.index: reading for reading in sample.readings}

    def keep(site: Site, look: Look) -> None:
        if site.bank == "encoder":
            layers[look.reading.index].append(look.attention)

    for batch in sample.batches(head_model):
        look_at(head_model, batch, readings, keep)
    return [Look(reading, "encoder", torch.cat(layers[reading.index])) for reading in sample.readings]


def positions(heads: list[HeadId], looks: Sequence[Look]) -> list[tuple[HeadId, int, float]]:
    """For each head the offset that takes most of the strongest attention, and its share; the most positional first."""
    counts: list[Counter[int]] = [Counter() for _ in heads]
    n_pieces = 0
    for look in looks:
        places = list(look.reading.source.ordinary)
        n_pieces += len(places)
        best = look.strongest(TOKEN)[:, places]  # [head, piece]
        for count, row in zip(counts, best.tolist(), strict=True):
            count.update(key - query for query, key in zip(places, row, strict=True) if key >= 0)
    found = []
    for head, count in zip(heads, counts, strict=True):
        offset, times = count.most_common(1)[0]
        found.append((head, offset, times / n_pieces))
    return sorted(found, key=lambda item: -item[2])


def roles(heads: list[HeadId], looks: Sequence[Look]) -> list[Role]:
    """The best head of every relation-direction that is frequent enough, by attention between words."""
    hits: dict[str, list[list[Tensor]]] = defaultdict(lambda: [[], []])
    offsets: dict[str, list[Counter[int]]] = defaultdict(lambda: [Counter(), Counter()])
    for look in looks:
        best, half = look.strongest(WORD), look.reading.half  # [head, word]
        for relation, (source, target) in links(look.reading):
            hits[relation][half].append(best[:, source] == target)
            offsets[relation][half][target - source] += 1
    frequent = [relation for relation, halves in hits.items() if min(map(len, halves)) >= FEWEST]
    return [_role(relation, heads, hits[relation], offsets[relation]) for relation in frequent]


def _role(relation: str, heads: list[HeadId], hits: list[list[Tensor]], offsets: Halves) -> Role:
    """The head and the offset that are best on the first half, as they do on the second."""
    shares = [torch.stack(half).float().mean(0) for half in hits]  # each [head]
    place = int(shares[0].argmax())
    offset = offsets[0].most_common(1)[0][0]
    baselines = [half[offset] / half.total() for half in offsets]
    holds = (shares[0] >= baselines[0] + MARGIN) & (shares[1] >= baselines[1] + MARGIN)
    holders = frozenset(head for head, held in zip(heads, holds.tolist(), strict=True) if held)
    return Role(relation, heads[place], shares[1][place].item(), offset, baselines[1], offsets[1].total(), holders)


def links(reading: Reading) -> Iterator[tuple[str, Link]]:
    """Both directions of every dependency, and every pronoun with its antecedent, as numbers of words."""
    for link in reading.links:
        if link.relation == ANTECEDENT:
            yield "pronoun to antecedent", (link.dependent, link.head)
        else:
            yield f"{link.relation}: {UP}", (link.dependent, link.head)
            yield f"{link.relation}: {DOWN}", (link.head, link.dependent)


if __name__ == "__main__":
    main()
