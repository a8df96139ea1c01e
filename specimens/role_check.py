"""python -m specimens.role_check translator: which encoder heads are positional or syntactic, on held-out sentences.

Small and literal on purpose. A head is positional if the strongest attention of at least 90 % of the pieces goes to
one fixed offset. A relation has a head if the strongest attention of its words goes to the related word at least ten
points more often than the best fixed offset would; attention to a word of several pieces is summed, attention from it
is averaged. Head and offset are picked on one half of the sentences and reported on the other. Attention to the end
token is left out.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from analysis.roles.looking import WORD, Look
from analysis.roles.passages import ANTECEDENT, of_sentence
from analysis.roles.pieces import owners_of, piece_spans
from analysis.roles.sample import Reading, Side
from models.head_model import HeadModel
from models.heads import HeadId
from specimens.loading import load
from specimens.measures import gradient_scores
from tasks.batching import EncodedRow
from tasks.corpus import Sentence, sentences

N_SENTENCES = 600
N_SCORES = 128
FEWEST = 30
MARGIN = 0.10
POSITIONAL = 0.90
SEED = 77

Link = tuple[int, int]


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
    parser = argparse.ArgumentParser(prog="python -m specimens.role_check", description=__doc__)
    parser.add_argument("name", nargs="?", default="translator")
    parser.add_argument("--folder", type=Path, help="another folder than the shipped one")
    parser.add_argument("--n", type=int, default=N_SENTENCES)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    head_model = load(arguments.name, arguments.folder)
    sample = list(islice(sentences(SEED, "test"), arguments.n))
    maps = [encoder_attention(head_model, sentence.english) for sentence in sample]
    words = [word_attention(word_of_piece(head_model.tokenizer, one), maps[k]) for k, one in enumerate(sample)]
    heads = [head for head in head_model.grid if head.bank == "encoder"]
    found, syntactic = positions(heads, maps), roles(heads, sample, words)
    scores = dict(zip(head_model.grid, gradient_scores(head_model, "calibration", N_SCORES).tolist(), strict=True))
    own = {head: scores[head] for head in heads}
    owners = [word_of_piece(head_model.tokenizer, sentence) for sentence in sample]
    gatherers = piece_lines(heads, within_words(owners, maps))
    for line in (*positional_lines(found), *gatherers, *syntactic_lines(syntactic)):
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


def within_words(owners: list[list[int]], maps: list[Tensor]) -> Tensor:
    """For each head the share of pieces, in words of several, whose argmax is another piece of the word.

    Last comes the same for attention spread evenly, as a control.
    """
    total, count = torch.zeros(len(maps[0]) + 1), 0
    for words, attention in zip(owners, maps, strict=True):
        owner = torch.tensor(words)
        others = (owner[:, None] == owner).float().fill_diagonal_(0)  # [piece, piece]
        several = others.sum(-1) > 0
        hits = others[torch.arange(len(owner)), attention.argmax(-1)]  # [head, piece]
        total[:-1] += hits[:, several].sum(-1)
        total[-1] += others.mean(-1)[several].sum()
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


def encoder_attention(head_model: HeadModel, text: str) -> Tensor:
    """Attention of the encoder's heads over one text, [head, query, key], without the end token."""
    inputs = head_model.tokenizer(text, return_tensors="pt")
    encoder: Any = head_model.model.get_encoder()
    with torch.no_grad():
        attentions = encoder(input_ids=inputs["input_ids"], output_attentions=True).attentions
    return torch.cat([attention[0] for attention in attentions])[:, :-1, :-1]


def positions(heads: list[HeadId], maps: list[Tensor]) -> list[tuple[HeadId, int, float]]:
    """For each head the offset that takes most of the argmaxes, and its share; the most positional first."""
    counts: list[Counter[int]] = [Counter() for _ in heads]
    for attention in maps:
        offsets = attention.argmax(-1) - torch.arange(attention.shape[-1])  # [head, query]
        for count, row in zip(counts, offsets.tolist(), strict=True):
            count.update(row)
    found = []
    for head, count in zip(heads, counts, strict=True):
        offset, times = count.most_common(1)[0]
        found.append((head, offset, times / count.total()))
    return sorted(found, key=lambda item: -item[2])


def roles(heads: list[HeadId], sample: list[Sentence], words: list[Tensor]) -> list[Role]:
    """The best head of every relation-direction that is frequent enough, by attention between words."""
    hits: dict[str, list[list[Tensor]]] = defaultdict(lambda: [[], []])
    offsets: dict[str, list[Counter[int]]] = defaultdict(lambda: [Counter(), Counter()])
    for number, (sentence, attention) in enumerate(zip(sample, words, strict=True)):
        best = attention.argmax(-1)  # [head, word]
        for relation, (source, target) in links(sentence):
            hits[relation][number % 2].append(best[:, source] == target)
            offsets[relation][number % 2][target - source] += 1
    frequent = [relation for relation, halves in hits.items() if min(map(len, halves)) >= FEWEST]
    return [_role(relation, heads, hits[relation], offsets[relation]) for relation in frequent]


def _role(relation: str, heads: list[HeadId], hits: list[list[Tensor]], offsets: list[Counter[int]]) -> Role:
    """The head and the offset that are best on the first half, as they do on the second."""
    shares = [torch.stack(half).float().mean(0) for half in hits]  # each [head]
    place = int(shares[0].argmax())
    offset = offsets[0].most_common(1)[0][0]
    baselines = [half[offset] / half.total() for half in offsets]
    holds = (shares[0] >= baselines[0] + MARGIN) & (shares[1] >= baselines[1] + MARGIN)
    holders = frozenset(head for head, held in zip(heads, holds.tolist(), strict=True) if held)
    return Role(relation, heads[place], shares[1][place].item(), offset, baselines[1], offsets[1].total(), holders)


def links(sentence: Sentence) -> Iterator[tuple[str, Link]]:
    """Both directions of every dependency, and every pronoun with its antecedent, as word positions."""
    for link in of_sentence(sentence).links:
        if link.relation == ANTECEDENT:
            yield "pronoun to antecedent", (link.dependent, link.head)
        else:
            yield f"{link.relation}: dependent to head", (link.dependent, link.head)
            yield f"{link.relation}: head to dependent", (link.head, link.dependent)


def word_attention(owners: list[int], attention: Tensor) -> Tensor:
    """Attention between words, [head, word, word]: summed over pieces attended to, averaged over pieces attending.

    `owners` tells for each piece the word it belongs to.
    """
    side = Side(tuple(range(len(owners))), tuple(owners))
    return Look(Reading(EncodedRow(0, {}, 0), "", side), "encoder", attention).weights(WORD)


def word_of_piece(tokenizer: Any, sentence: Sentence) -> list[int]:
    """For each piece but the end token, the word it belongs to."""
    tokens = tokenizer(sentence.english, add_special_tokens=False)["input_ids"]
    return owners_of(sentence.english, sentence.words, piece_spans(tokenizer, sentence.english, tokens))


if __name__ == "__main__":
    main()
