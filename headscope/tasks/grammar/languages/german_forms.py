"""German declension: nouns, adjectives, determiners and pronouns."""

from __future__ import annotations

from functools import cache

from headscope.tasks.grammar.lexicon.lexemes import Determiner, Noun

CASES = ("nom", "acc", "dat", "gen")

# Endings by case of der, dieser and strong adjectives, for m, f, n and plural.
DEFINITE = {
    "nom": {"m": "er", "f": "ie", "n": "as", "p": "ie"},
    "acc": {"m": "en", "f": "ie", "n": "as", "p": "ie"},
    "dat": {"m": "em", "f": "er", "n": "em", "p": "en"},
    "gen": {"m": "es", "f": "er", "n": "es", "p": "er"},
}
STRONG = {
    "nom": {"m": "er", "f": "e", "n": "es", "p": "e"},
    "acc": {"m": "en", "f": "e", "n": "es", "p": "e"},
    "dat": {"m": "em", "f": "er", "n": "em", "p": "en"},
    "gen": {"m": "es", "f": "er", "n": "es", "p": "er"},
}
RELATIVE = {
    "nom": {"m": "der", "f": "die", "n": "das", "p": "die"},
    "acc": {"m": "den", "f": "die", "n": "das", "p": "die"},
    "dat": {"m": "dem", "f": "der", "n": "dem", "p": "denen"},
}
PERSONAL = {
    "I": {"nom": "ich", "acc": "mich", "dat": "mir"},
    "you": {"nom": "du", "acc": "dich", "dat": "dir"},
    "he": {"nom": "er", "acc": "ihn", "dat": "ihm"},
    "she": {"nom": "sie", "acc": "sie", "dat": "ihr"},
    "it": {"nom": "es", "acc": "es", "dat": "ihm"},
    "we": {"nom": "wir", "acc": "uns", "dat": "uns"},
    "they": {"nom": "sie", "acc": "sie", "dat": "ihnen"},
}
BY_GENDER = {"m": "he", "f": "she", "n": "it"}
WHO = {"nom": "wer", "acc": "wen", "dat": "wem"}
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
    ("bei", "dem"): "beim",
}
SHORTENED = {"hoch": "hoh", "dunkel": "dunkl", "edel": "edl", "teuer": "teur"}
MONOSYLLABLE_VOWELS = "aeiouäöüy"


def slot(gender: str, plural: bool) -> str:
    """The column of a declension table."""
    return "p" if plural else gender


@cache
def noun_form(noun: Noun, case: str, plural: bool) -> str:
    """The noun in the given case and number."""
    if plural:
        form = noun.german_plural
        return form + "n" if case == "dat" and not form.endswith(("n", "s", "a")) else form
    if noun.weak:
        return weak_form(noun, case)
    if case == "gen" and noun.gender != "f":
        return genitive(noun.german)
    return noun.german


def weak_form(noun: Noun, case: str) -> str:
    """`Junge`, `Jungen`; `Buchstabe`, `Buchstabens`."""
    if case == "nom":
        return noun.german
    oblique = noun.german + ("n" if noun.german.endswith(("e", "auer", "bar")) else "en")
    return oblique + "s" if case == "gen" and noun.german == "Buchstabe" else oblique


def genitive(word: str) -> str:
    """The genitive of a masculine or neuter noun."""
    if word.endswith(("nis", "bus", "Bus", "bis", "las")):
        return word + "ses"
    if word.endswith(("s", "ß", "z", "x", "sch", "st")):
        return word + "es"
    if syllables(word) == 1 and word[-1] not in MONOSYLLABLE_VOWELS and not word.endswith(("eh", "ee")):
        return word + "es"
    return word + "s"


def syllables(word: str) -> int:
    """The number of groups of vowels."""
    lower = word.lower()
    starts = zip(" " + lower, lower, strict=False)
    return sum(now in MONOSYLLABLE_VOWELS and before not in MONOSYLLABLE_VOWELS for before, now in starts)


@cache
def adjective_form(word: str, ending: str) -> str:
    """The adjective before a noun."""
    stem = SHORTENED.get(word, word)
    return (stem[:-1] if stem.endswith("e") else stem) + ending


@cache
def adjective_ending(pattern: str, case: str, gender: str, plural: bool) -> str:
    """The ending after a determiner of the given pattern: weak, mixed or strong."""
    column = slot(gender, plural)
    if pattern in ("strong", "bare"):
        if case == "gen" and column in ("m", "n"):
            return "en"
        return STRONG[case][column]
    unmarked = case == "nom" or (case == "acc" and column != "m")
    if plural or not unmarked:
        return "en"
    return STRONG[case][column] if pattern == "ein" else "e"


@cache
def determiner_form(determiner: Determiner, case: str, gender: str, plural: bool) -> str:
    """The determiner; "" for none."""
    column = slot(gender, plural)
    pattern = determiner.pattern
    if pattern == "bare":
        return ""
    if pattern == "der":
        return determiner.german + DEFINITE[case][column]
    if pattern == "ein" and ((column in ("m", "n") and case == "nom") or (column == "n" and case == "acc")):
        return determiner.german
    return determiner.german + STRONG[case][column]
