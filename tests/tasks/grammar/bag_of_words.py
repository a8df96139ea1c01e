"""A linear classifier of inference pairs that sees words but not their order."""

from __future__ import annotations

import math
from collections.abc import Iterable

from headscope.tasks.grammar import InferencePair

LABELS = ("entailment", "neutral", "contradiction")
RATE = 0.1


def features(pair: InferencePair) -> list[str]:
    """Words of each side, words on one side only, overlap and difference of length."""
    premise, hypothesis = set(pair.premise.words), set(pair.hypothesis.words)
    overlap = len(premise & hypothesis) / len(hypothesis)
    longer = len(pair.hypothesis.words) - len(pair.premise.words)
    return [
        "bias",
        f"overlap {round(overlap * 8)}",
        f"longer {max(-8, min(8, longer))}",
        *(f"premise {word}" for word in premise),
        *(f"hypothesis {word}" for word in hypothesis),
        *(f"only premise {word}" for word in premise - hypothesis),
        *(f"only hypothesis {word}" for word in hypothesis - premise),
    ]


def train(pairs: Iterable[InferencePair], epochs: int = 4) -> dict[str, list[float]]:
    """Weights of a multinomial logistic regression by stochastic gradient descent with AdaGrad steps."""
    data = [(features(pair), LABELS.index(pair.label)) for pair in pairs]
    weights: dict[str, list[float]] = {}
    squares: dict[str, float] = {}
    for _ in range(epochs):
        for names, label in data:
            probabilities = predict(weights, names)
            errors = [p - (index == label) for index, p in enumerate(probabilities)]
            size = sum(error * error for error in errors)
            for name in names:
                squares[name] = squares.get(name, 0.0) + size
                step = RATE / math.sqrt(squares[name] + 1e-6)
                row = weights.setdefault(name, [0.0] * len(LABELS))
                for index, error in enumerate(errors):
                    row[index] -= step * error
    return weights


def predict(weights: dict[str, list[float]], names: list[str]) -> list[float]:
    """The probability of each label."""
    zero = [0.0] * len(LABELS)
    scores = [sum(column) for column in zip(*(weights.get(name, zero) for name in names), strict=True)]
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return [power / sum(powers) for power in powers]


def accuracy(weights: dict[str, list[float]], pairs: Iterable[InferencePair]) -> float:
    """The share of pairs whose most probable label is right."""
    right = []
    for pair in pairs:
        probabilities = predict(weights, features(pair))
        right.append(LABELS[probabilities.index(max(probabilities))] == pair.label)
    return sum(right) / len(right)
