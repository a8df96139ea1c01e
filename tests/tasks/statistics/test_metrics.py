"""Metrics: hand-computed answers, and sacreBLEU's own."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from headscope.tasks.statistics import metrics
from headscope.tasks.statistics.intervals import RESAMPLES, Additive, Estimate, resampled_values, wilson

REFERENCES = [
    "Der kleine Hund schläft heute im Garten.",
    "Sie liest ein Buch, das er ihr gab.",
    "Wir gehen morgen nach Hause.",
    "Das ist alles!",
]
HYPOTHESES = [
    "Der kleine Hund schläft im Garten.",
    "Sie liest das Buch, das er ihr gegeben hat.",
    "Wir gehen morgen nach Hause.",
    "Das ist es!",
]


def random_corpus(seed: int, n: int, kept: float) -> tuple[list[str], list[str]]:
    chance = random.Random(seed)
    words = [f"wort{number}" for number in range(50)] + [",", "und", "der"]
    references = [" ".join(chance.choices(words, k=chance.randint(1, 20))) + "." for _ in range(n)]
    hypotheses = [
        " ".join(word if chance.random() < kept else chance.choice(words) for word in reference.split())
        for reference in references
    ]
    return hypotheses, references


CORPORA = {
    "german": (HYPOTHESES, REFERENCES),
    "perfect": (REFERENCES, REFERENCES),
    "silent": ([""] * 4, REFERENCES),
    "partly silent": (["", *HYPOTHESES[1:]], REFERENCES),
    "one word": (["ja"], ["nein"]),
    "shorter than four words": (["ja", "gut so"], ["ja", "gut so"]),
    "another case": (["das ist ein Haus hier"], ["Das ist ein haus hier"]),
    "spaces": (["das ist  einhaus hier "], ["das ist ein haus hier"]),
    "no long match": (["a b x d y f"], ["a b c d e f"]),
    "good": random_corpus(0, 120, 0.9),
    "bad": random_corpus(1, 60, 0.2),
}


@pytest.mark.parametrize("name", CORPORA)
def test_bleu_and_chrf_are_exactly_those_of_sacrebleu(name: str) -> None:
    hypotheses, references = CORPORA[name]
    assert metrics.bleu(hypotheses, references).value == sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert metrics.chrf(hypotheses, references).value == sacrebleu.corpus_chrf(hypotheses, [references]).score


@pytest.mark.parametrize(
    ("sums", "score"),
    [
        (metrics.bleu_sums, lambda hyps, refs: sacrebleu.corpus_bleu(hyps, [refs]).score),
        (metrics.chrf_sums, lambda hyps, refs: sacrebleu.corpus_chrf(hyps, [refs]).score),
    ],
)
def test_resampled_scores_are_sacrebleu_on_the_resampled_sentences(
    sums: Callable[[list[str], list[str]], Additive], score: Callable[..., float]
) -> None:
    hypotheses, references = random_corpus(2, 12, 0.7)
    fast = resampled_values(sums(hypotheses, references), seed=0)
    drawn = np.random.default_rng(0).integers(0, 12, size=(RESAMPLES, 12))
    literal = [score([hypotheses[i] for i in row], [references[i] for i in row]) for row in drawn[:40]]
    np.testing.assert_array_equal(fast[:40], literal)


def test_signatures_are_those_of_a_scored_corpus() -> None:
    bleu, chrf = sacrebleu.BLEU(), sacrebleu.CHRF()
    bleu.corpus_score(HYPOTHESES, [REFERENCES])
    chrf.corpus_score(HYPOTHESES, [REFERENCES])
    assert metrics.bleu_signature() == str(bleu.get_signature())
    assert metrics.bleu_signature().startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert metrics.chrf_signature() == str(chrf.get_signature())


def test_accuracy_counts_equal_labels_and_says_wilson() -> None:
    low, high = wilson(3, 4)
    expected = Estimate("accuracy", 0.75, low, high, 4, "Wilson")
    assert metrics.accuracy(["a", "b", "a", "c"], ["a", "b", "a", "a"]) == expected
    assert metrics.accuracy(np.array([0, 1, 0, 2]), [0, 1, 0, 0]) == expected


def test_agreement_is_the_share_of_equal_first_choices() -> None:
    estimate = metrics.agreement([5, 5, 7], [5, 6, 7])
    assert (estimate.metric, estimate.value, estimate.method) == ("agreement", 2 / 3, "Wilson")


def test_macro_f1_is_the_mean_of_the_f1_of_each_class() -> None:
    # a: 2 hits, 3 predicted, 2 gold: 4/5. b: 1 hit, 1 predicted, 3 gold: 1/2. c: predicted once, never gold: 0.
    estimate = metrics.macro_f1(["a", "a", "a", "b", "c"], ["a", "a", "b", "b", "b"])
    assert estimate.value == pytest.approx((4 / 5 + 1 / 2 + 0) / 3)
    assert estimate.method == "bootstrap, 1000 resamples, seed 0"


def literal_macro_f1(predicted: list[str], gold: list[str]) -> float:
    scores = []
    for label in {*predicted, *gold}:
        hits = sum(p == g == label for p, g in zip(predicted, gold, strict=True))
        scores.append(2 * hits / (predicted.count(label) + gold.count(label)))
    return sum(scores) / len(scores)


def test_resampled_macro_f1_is_macro_f1_of_the_resampled_examples() -> None:
    chance = random.Random(3)
    predicted, gold = (chance.choices("aaaabbbcd", k=9) for _ in range(2))
    drawn = np.random.default_rng(0).integers(0, 9, size=(RESAMPLES, 9))
    literal = [literal_macro_f1([predicted[i] for i in row], [gold[i] for i in row]) for row in drawn]
    np.testing.assert_allclose(resampled_values(metrics.macro_f1_sums(predicted, gold), 0), literal, rtol=1e-12)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_macro_f1_equals_its_definition(pairs: list[tuple[str, str]]) -> None:
    predicted, gold = [p for p, _ in pairs], [g for _, g in pairs]
    assert metrics.macro_f1_sums(predicted, gold).value == pytest.approx(literal_macro_f1(predicted, gold))


def test_top_k_asks_whether_the_gold_class_is_among_the_k_highest() -> None:
    scores = [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.4, 0.35, 0.25]]
    gold = [2, 1, 0, 2]
    assert [metrics.top_k_accuracy(scores, gold, k).value for k in (1, 2, 3)] == [0.25, 0.5, 1.0]
    assert metrics.top_k_accuracy(scores, gold, 2).metric == "top-2 accuracy"


def test_equal_scores_are_no_free_hits() -> None:
    assert metrics.top_k_accuracy(np.zeros((4, 4)), [0, 1, 2, 3], 1).value == 0.25


def test_top_1_is_the_accuracy_of_argmax() -> None:
    generator = np.random.default_rng(0)
    scores, gold = generator.integers(0, 4, size=(200, 5)), generator.integers(0, 5, size=200)
    assert metrics.top_k_accuracy(scores, gold, 1).value == metrics.accuracy(scores.argmax(axis=1), gold).value


def test_the_perplexity_of_a_uniform_model_is_its_vocabulary_size() -> None:
    lengths = np.array([3, 8, 1, 20])
    estimate = metrics.perplexity(lengths * math.log(1000), lengths)
    assert estimate.value == pytest.approx(1000, rel=1e-12)
    assert estimate.low == pytest.approx(1000) and estimate.high == pytest.approx(1000)
    assert metrics.bits_per_token(lengths * math.log(1024), lengths).value == pytest.approx(10, rel=1e-12)


def test_perplexity_weighs_tokens_not_examples() -> None:
    assert metrics.perplexity([0.0, 9 * math.log(2)], [1, 9]).value == pytest.approx(2**0.9)


def test_perplexity_and_bits_tell_the_same() -> None:
    generator = np.random.default_rng(1)
    lengths = generator.integers(1, 30, size=50)
    losses = lengths * generator.uniform(1, 4, size=50)
    perplexity, bits = metrics.perplexity(losses, lengths), metrics.bits_per_token(losses, lengths)
    for bound in ("value", "low", "high"):
        assert getattr(perplexity, bound) == pytest.approx(2 ** getattr(bits, bound))


def test_a_perplexity_beyond_floats_is_infinite() -> None:
    assert metrics.perplexity([1e5, 1.0], [1, 1]).value == math.inf


def test_mean_kl_is_the_mean() -> None:
    estimate = metrics.mean_kl([0.1, 0.2, 0.6])
    assert estimate.value == pytest.approx(0.3)
    assert 0.1 <= estimate.low <= 0.3 <= estimate.high <= 0.6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.accuracy([], []), "no labels; at least one example"),
        (lambda: metrics.accuracy(["a"], ["a", "b"]), "unequal lengths: 1 predicted, 2 gold"),
        (lambda: metrics.accuracy([1], ["1"]), "labels are integers and strings; all must be of one kind"),
        (lambda: metrics.accuracy(["a", math.nan], ["a", "b"]), "label nan; only strings and integers"),
        (lambda: metrics.macro_f1(["a"], [None]), "label None; only strings and integers"),
        (lambda: metrics.macro_f1(range(1001), range(1001)), "macro f1 over 1001 classes; at most 1000"),
        (lambda: metrics.bleu([], []), "BLEU of no sentences; at least one"),
        (lambda: metrics.bleu(["a"], []), "unequal lengths: 1 hypotheses, 0 references"),
        (lambda: metrics._check_texts("chrF", ["a", None], ["a", "b"]), "chrF of None; a sequence of strings"),
        (lambda: metrics.bleu("a", ["a"]), "BLEU of one string; a sequence of strings"),
        (lambda: metrics.perplexity([], []), "at least one example"),
        (lambda: metrics.perplexity([1.0], [0]), "an example of 0 tokens; every example needs at least one"),
        (lambda: metrics.perplexity([math.nan], [1]), "negative log-likelihood of example 0 is nan"),
        (lambda: metrics.bits_per_token([1.0, 2.0], [1]), "unequal lengths: 2 losses, 1 token_counts"),
        (lambda: metrics.mean_kl([]), "at least one example"),
        (lambda: metrics.mean_kl([0.0, math.inf]), "KL divergence of example 1 is inf"),
        (lambda: metrics.top_k_accuracy(np.zeros((0, 3)), [], 1), r"scores of shape \(0, 3\)"),
        (lambda: metrics.top_k_accuracy([[0.0, 1.0]], [0, 1], 1), "unequal lengths: 1 scores, 2 gold"),
        (lambda: metrics.top_k_accuracy([[0.0, math.nan]], [0], 1), "scores contain nan"),
        (lambda: metrics.top_k_accuracy([[0.0, 1.0]], [2], 1), "integers from 0 to 1"),
        (lambda: metrics.top_k_accuracy([[0.0, 1.0]], [-1], 1), "integers from 0 to 1"),
        (lambda: metrics.top_k_accuracy([[0.0, 1.0]], [1], 3), "k is 3; it must be between 1 and the 2 classes"),
    ],
)
def test_a_sample_that_has_no_metric_is_refused_in_words(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
