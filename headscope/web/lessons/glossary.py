"""The words of the field in one or two plain sentences each."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """A word, what it means, and the other forms in which texts use it."""

    name: str
    meaning: str
    forms: tuple[str, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every form."""
        return (self.name, *self.forms)


GLOSSARY = (
    Word(
        "attention",
        "How a transformer lets one token look at others: each look has a weight, and the weights of one token add up "
        "to one.",
    ),
    Word(
        "bank",
        "All heads that do the same kind of looking: the encoder reads the input, the decoder what was written so far, "
        "the cross bank looks from the output at the input.",
        ("banks",),
    ),
    Word(
        "BLEU",
        "How much of a translation agrees with a reference, word group by word group, from 0 to 100; more is better.",
    ),
    Word(
        "calibration",
        "Examples on which heads are scored or gates trained. Decisions are judged on others, so that nothing is "
        "praised for what it has learned by heart.",
    ),
    Word("confidence", "How strongly a head looks at its favourite token, on average over all tokens.", ("confident",)),
    Word(
        "development",
        "Examples on which decisions are made and judged; neither scoring nor training sees them.",
        ("development examples",),
    ),
    Word(
        "fine-tuning",
        "Training a model a little further, here after something was removed from it.",
        ("fine-tune", "fine-tuned"),
    ),
    Word(
        "gate",
        "A number between 0 and 1 that the output of a head is multiplied by. Open is 1, shut is 0; a shut gate is a "
        "removed head.",
        ("gates",),
    ),
    Word(
        "gradient",
        "How much the loss changes if something is changed by a little. Its size at a head's gate tells how much the "
        "model leans on the head.",
    ),
    Word(
        "head",
        "One of several attention mechanisms that work side by side in a layer. Each looks at the input in its own "
        "way.",
        ("heads",),
    ),
    Word(
        "key",
        "What a token offers to be looked at by. The looking token has a query; query and key together give a score.",
        ("keys",),
    ),
    Word(
        "L0",
        "The number of things that are not zero. An L0 penalty makes every open gate cost something, so that only "
        "useful ones stay open.",
    ),
    Word("layer", "One floor of the model: it has its own heads and hands its result to the next.", ("layers",)),
    Word("loss", "What training makes small: how wrong the model is, as one number."),
    Word("mask", "The set of heads that are switched off.", ("masks",)),
    Word(
        "perplexity",
        "How many words a language model wavers between, on average, when it guesses the next one; less is better.",
    ),
    Word(
        "persistent vectors",
        "Keys and values that belong to a head itself, whatever it reads. They take the place of the feed-forward "
        "part.",
    ),
    Word(
        "prior",
        "How likely a key is to be looked at before the token itself is seen; here one learned number for each pair of "
        "places.",
        ("priors",),
    ),
    Word(
        "random order",
        "The control of every pruning curve: heads go in an order drawn by lot, several times. A method is worth "
        "something only where it does better.",
        ("random orders",),
    ),
    Word(
        "relevance",
        "The share of a prediction that is traced back to a head, layer by layer, so that the shares add up.",
    ),
    Word("role", "What a head can be shown to do, by a test that it passes or not.", ("roles",)),
    Word(
        "score",
        "Of a head: how important it is by some method. In attention: how well a query and a key fit, before weights "
        "are made of it.",
        ("scores",),
    ),
    Word("straight through", "Gates are cut to 0 or 1 in every step, and training pretends that they were not."),
    Word(
        "temperature",
        "How soft a choice is. Hot: everything is chosen a little. Cold: only the best are chosen at all.",
    ),
    Word("token", "A word or a piece of one; for an image, a small square of it.", ("tokens",)),
)  # fmt: skip


def glossary() -> dict[str, Word]:
    """Every word by its name, in the order of the alphabet."""
    return {word.name: word for word in sorted(GLOSSARY, key=lambda one: one.name.lower())}


def spotted(text: str) -> list[tuple[int, int, Word]]:
    """Where a text uses a word for the first time: start, end, and the word; in the order of the text."""
    found: list[tuple[int, int, Word]] = []
    for match in _ANY.finditer(text):
        word = _BY_SPELLING[match[0].lower()]
        if all(word is not other for _, _, other in found):
            found.append((match.start(), match.end(), word))
    return found


_BY_SPELLING = {spelling.lower(): word for word in GLOSSARY for spelling in word.spellings}
_ANY = re.compile(
    r"(?<![\w-])(?:" + "|".join(map(re.escape, sorted(_BY_SPELLING, key=len, reverse=True))) + r")(?![\w-])",
    re.IGNORECASE,
)
