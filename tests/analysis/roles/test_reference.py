"""Scores and baselines agree with slow transcriptions of what the roles say, on random attention."""

from __future__ import annotations

from collections import Counter

import pytest

from headscope.analysis.roles.methods.broad import random_evenness
from headscope.analysis.roles.methods.positional import Positional
from headscope.analysis.roles.methods.rare_words import TOKENS, RareWords
from headscope.analysis.roles.methods.syntactic import Syntactic
from headscope.analysis.roles.role import Trial
from tests.analysis.roles import wired

SEEN = wired.scene(wired.trees(), "encoder", [wired.random_of(seed) for seed in range(3)])


def trials(role) -> dict[tuple[int, str], Trial]:  # type: ignore[no-untyped-def]
    tally = role.tally(SEEN.sample, SEEN.bank)
    for look in SEEN.looks:
        tally.add(SEEN.site, look)
    return {(trial.head.head, trial.case): trial for trial in tally.trials()}


def word_weights(look, head: int) -> list[list[float]]:  # type: ignore[no-untyped-def]
    """Summed over the pieces looked at, averaged over the pieces that look."""
    owners = look.reading.source.owners
    n = max(owners) + 1
    pieces = [[place for place, owner in enumerate(owners) if owner == word] for word in range(n)]
    weights = look.attention[head].tolist()
    return [
        [
            sum(weights[query][key] for query in pieces[one] for key in pieces[other]) / max(1, len(pieces[one]))
            for other in range(n)
        ]
        for one in range(n)
    ]


def test_a_relation_counts_words_whose_strongest_attention_is_the_related_word() -> None:
    found = trials(Syntactic())
    case = "nsubj: head to dependent"
    hits, n, offsets = [Counter(), Counter()], [0, 0], [Counter(), Counter()]
    for look in SEEN.looks:
        half = look.reading.index % 2
        between = [word_weights(look, head) for head in range(3)]
        subjects: dict[int, set[int]] = {}
        for link in look.reading.links:
            if link.relation == "nsubj":
                subjects.setdefault(link.head, set()).add(link.dependent)
        for verb, own in subjects.items():
            n[half] += 1
            offsets[half].update(subject - verb for subject in own)
            for head in range(3):
                hits[half][head] += between[head][verb].index(max(between[head][verb])) in own
    best = offsets[0].most_common(1)[0][0]
    for head in range(3):
        trial = found[head, case]
        assert trial.scores == pytest.approx([hits[half][head] / n[half] for half in range(2)])
        assert trial.baselines == pytest.approx([offsets[half][best] / n[half] for half in range(2)])
        assert trial.n == n[1] and trial.control == f"best fixed offset {best:+d}"


def test_an_offset_counts_tokens_that_have_a_neighbour_there() -> None:
    for (head, case), trial in trials(Positional()).items():
        distance, hits, n = int(case), [0, 0], [0, 0]
        for look in SEEN.looks:
            ordinary = look.reading.source.ordinary
            for query in ordinary:
                weights = [float(look.attention[head, query, key]) for key in ordinary]
                if query + distance in ordinary:
                    n[look.reading.half] += 1
                    hits[look.reading.half] += ordinary[weights.index(max(weights))] == query + distance
        assert trial.scores == pytest.approx([hits[half] / n[half] for half in range(2)])
        assert trial.n == n[1]


def test_rare_words_counts_tokens_of_sentences_whose_rarest_token_is_uncommon() -> None:
    role = RareWords(common=300)
    count = Counter(one.source.tokens[place] for one in SEEN.sample.readings for place in one.source.ordinary)
    common = set(sorted(count, key=lambda token: (-count[token], token))[: role.common])
    hits, n, chance, common_sentences = [0, 0], [0, 0], [0.0, 0.0], 0
    for look in SEEN.looks:
        side, half = look.reading.source, look.reading.half
        least = min(count[side.tokens[place]] for place in side.ordinary)
        rarest = [place for place in side.ordinary if count[side.tokens[place]] == least]
        if any(side.tokens[place] in common for place in rarest):
            common_sentences += 1
            continue
        for query in side.ordinary:
            weights = [float(look.attention[0, query, key]) for key in side.ordinary]
            n[half] += 1
            hits[half] += side.ordinary[weights.index(max(weights))] in rarest
            chance[half] += len(rarest) / len(side.ordinary)
    assert 10 < common_sentences < 60
    trial = trials(role)[0, TOKENS]
    assert trial.scores == pytest.approx([hits[half] / n[half] for half in range(2)])
    assert trial.baselines == pytest.approx([chance[half] / n[half] for half in range(2)])


def test_the_evenness_of_random_weights_is_that_of_a_flat_dirichlet() -> None:
    import torch

    torch.manual_seed(0)
    weights = torch.distributions.Dirichlet(torch.ones(9, dtype=torch.float64)).sample((40_000,))
    entropy = -torch.special.xlogy(weights, weights).sum(dim=-1).mean() / torch.tensor(9.0).log()
    assert random_evenness(9) == pytest.approx(float(entropy), abs=2e-3)
