"""What a model scored: pure functions from answers to an Estimate.

Shares lie between 0 and 1, BLEU and chrF between 0 and 100, perplexity is at least 1, KL divergence is in nats.
A function named like a metric gives its Estimate; `*_sums` gives the sufficient statistics, which `paired` compares.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from headscope.tasks.statistics.intervals import (
    Additive,
    Array,
    Estimate,
    bootstrap,
    check_same_length,
    finite_vector,
    mean,
    ratio,
    wilson,
)

MAX_CLASSES = 1000


def accuracy(predicted: Iterable[Hashable], gold: Iterable[Hashable]) -> Estimate:
    """Return the share of predicted labels that equal the gold label."""
    return _share("accuracy", outcomes(predicted, gold))


def agreement(predicted: Iterable[Hashable], reference: Iterable[Hashable]) -> Estimate:
    """Return the share of examples on which two models have the same first choice."""
    return _share("agreement", outcomes(predicted, reference))


def outcomes(predicted: Iterable[Hashable], gold: Iterable[Hashable]) -> NDArray[np.bool_]:
    """Return right or wrong, per example."""
    predicted_codes, gold_codes = _encoded(list(predicted), list(gold))
    return np.asarray(predicted_codes == gold_codes)


def top_k_accuracy(scores: ArrayLike, gold: ArrayLike, k: int) -> Estimate:
    """Return the share of examples whose gold class is among the k highest of scores [example, class].

    Of equal scores the lower class comes first, so that k = 1 is the accuracy of argmax.
    """
    table, classes = np.asarray(scores, dtype=np.float64), np.asarray(gold)
    _check_scores(table, classes, k)
    own = np.take_along_axis(table, classes[:, None], axis=1)
    earlier = np.arange(table.shape[1]) < classes[:, None]
    rank = ((table > own) | ((table == own) & earlier)).sum(axis=1)
    return _share(f"top-{k} accuracy", rank < k)


def macro_f1(predicted: Iterable[Hashable], gold: Iterable[Hashable]) -> Estimate:
    """Return the mean over classes of F1."""
    return bootstrap(macro_f1_sums(predicted, gold))


def macro_f1_sums(predicted: Iterable[Hashable], gold: Iterable[Hashable]) -> Additive:
    """Return the mean of 2 hits / (predicted + gold) over the classes that occur in either; so too in each resample."""
    predicted_codes, gold_codes = _encoded(list(predicted), list(gold))
    n_classes = 1 + int(max(predicted_codes.max(), gold_codes.max()))
    if n_classes > MAX_CLASSES:
        raise ValueError(f"macro f1 over {n_classes} classes; at most {MAX_CLASSES} are allowed")
    each = np.eye(n_classes)
    predicted_hot, gold_hot = each[predicted_codes], each[gold_codes]
    return Additive("macro F1", np.hstack([predicted_hot * gold_hot, predicted_hot + gold_hot]), _f1_of_sums)


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Estimate:
    """Return corpus BLEU as sacreBLEU computes it, with the settings that bleu_signature tells."""
    return bootstrap(bleu_sums(hypotheses, references))


def bleu_sums(hypotheses: Sequence[str], references: Sequence[str]) -> Additive:
    """Return sacreBLEU's own counts per sentence: lengths, matching and possible n-grams."""
    return _corpus_sums("BLEU", BLEU(), hypotheses, references)


def bleu_signature() -> str:
    """Return the settings and the version of sacreBLEU behind bleu, to be quoted with it."""
    return str(BLEU(references=[["one reference"]]).get_signature())


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Estimate:
    """Return corpus chrF as sacreBLEU computes it, with the settings that chrf_signature tells."""
    return bootstrap(chrf_sums(hypotheses, references))


def chrf_sums(hypotheses: Sequence[str], references: Sequence[str]) -> Additive:
    """Return sacreBLEU's own counts per sentence: character n-grams of hypothesis, reference and both."""
    return _corpus_sums("chrF", CHRF(), hypotheses, references)


def chrf_signature() -> str:
    """Return the settings and the version of sacreBLEU behind chrf, to be quoted with it."""
    return str(CHRF(references=[["one reference"]]).get_signature())


def perplexity(nll: ArrayLike, n_tokens: ArrayLike) -> Estimate:
    """Return exp(summed negative log-likelihood in nats / tokens), over all examples."""
    return bootstrap(perplexity_sums(nll, n_tokens))


def perplexity_sums(nll: ArrayLike, n_tokens: ArrayLike) -> Additive:
    """Return summed negative log-likelihood and tokens per example; infinite where exp overflows."""
    per_token = _per_token("perplexity", nll, n_tokens, math.e)

    def statistic(sums: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(per_token.statistic(sums))

    return Additive(per_token.metric, per_token.per_example, statistic)


def bits_per_token(nll: ArrayLike, n_tokens: ArrayLike) -> Estimate:
    """Return summed negative log-likelihood, in bits, per token, over all examples; nll is in nats."""
    return bootstrap(bits_per_token_sums(nll, n_tokens))


def bits_per_token_sums(nll: ArrayLike, n_tokens: ArrayLike) -> Additive:
    """Return summed negative log-likelihood, in bits, and tokens per example."""
    return _per_token("bits per token", nll, n_tokens, 2)


def mean_kl(divergences: ArrayLike) -> Estimate:
    """Return the mean over examples of the KL divergence, in nats, from the unpruned model."""
    return bootstrap(mean("KL divergence", finite_vector("KL divergence", divergences)))


def _share(metric: str, hits: NDArray[np.bool_]) -> Estimate:
    correct, n = int(hits.sum()), len(hits)
    low, high = wilson(correct, n)
    return Estimate(metric, correct / n, low, high, n, "Wilson")


def _check_scores(table: Array, classes: NDArray[np.generic], k: int) -> None:
    if table.ndim != 2 or not table.size:
        raise ValueError(
            f"scores of shape {table.shape}; they need the shape [example, class] and at least one example"
        )
    check_same_length(scores=table, gold=classes)
    n_classes = table.shape[1]
    if np.isnan(table).any():
        raise ValueError("scores contain nan; every class of every example needs a number")
    if classes.dtype.kind not in "iu" or classes.min() < 0 or classes.max() >= n_classes:
        raise ValueError(f"gold classes must be integers from 0 to {n_classes - 1}, one per example")
    if not 1 <= k <= n_classes:
        raise ValueError(f"k is {k}; it must be between 1 and the {n_classes} classes")


def _f1_of_sums(sums: Array) -> Array:
    hits, occurrences = np.split(sums, 2, axis=1)
    occurs = occurrences > 0
    f1 = np.divide(2 * hits, occurrences, out=np.zeros_like(hits), where=occurs)
    return np.asarray(f1.sum(axis=1) / occurs.sum(axis=1))


def _corpus_sums(name: str, scorer: BLEU | CHRF, hypotheses: Sequence[str], references: Sequence[str]) -> Additive:
    _check_texts(name, hypotheses, references)
    per_sentence = scorer._extract_corpus_statistics(hypotheses, [references])

    def statistic(sums: Array) -> Array:
        rows = np.rint(sums).astype(np.int64).tolist()
        return np.array([scorer._compute_score_from_stats(row).score for row in rows], dtype=np.float64)

    return Additive(name, np.array(per_sentence, dtype=np.float64), statistic)


def _check_texts(name: str, hypotheses: Sequence[object], references: Sequence[object]) -> None:
    check_same_length(hypotheses=hypotheses, references=references)
    if not len(hypotheses):
        raise ValueError(f"{name} of no sentences; at least one is needed")
    for text in (hypotheses, references):
        wrong = "one string" if isinstance(text, str) else next((repr(t) for t in text if not isinstance(t, str)), None)
        if wrong:
            raise ValueError(f"{name} of {wrong}; a sequence of strings is needed")


def _per_token(metric: str, nll: ArrayLike, n_tokens: ArrayLike, base: float) -> Additive:
    losses, tokens = finite_vector("negative log-likelihood", nll), finite_vector("token count", n_tokens)
    check_same_length(losses=losses, token_counts=tokens)
    if tokens.min() < 1:
        raise ValueError(f"an example of {tokens.min():g} tokens; every example needs at least one")
    return ratio(metric, losses / math.log(base), tokens)


def _encoded(predicted: list[Hashable], gold: list[Hashable]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return both label sequences as class numbers, counted from 0 in the order of first occurrence."""
    check_same_length(predicted=predicted, gold=gold)
    if not gold:
        raise ValueError("no labels; at least one example is needed")
    kinds = sorted({_kind(label) for label in predicted + gold})
    if len(kinds) > 1:
        raise ValueError(f"labels are {' and '.join(kinds)}; all must be of one kind")
    codes = {label: code for code, label in enumerate(dict.fromkeys(predicted + gold))}
    return np.array([codes[label] for label in predicted]), np.array([codes[label] for label in gold])


def _kind(label: Hashable) -> str:
    if isinstance(label, str):
        return "strings"
    if isinstance(label, Integral | np.bool_):
        return "integers"
    raise ValueError(f"label {label!r}; only strings and integers are allowed")
