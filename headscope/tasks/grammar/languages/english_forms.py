"""English inflection by rule; irregular forms are given in the lexicon."""

from __future__ import annotations

VOWELS = "aeiou"


def plural_of(noun: str) -> str:
    """The regular plural."""
    return with_s(noun)


def third_of(verb: str) -> str:
    """The third person singular of the present."""
    return {"have": "has", "do": "does", "go": "goes"}.get(verb) or with_s(verb)


def with_s(word: str) -> str:
    """The word with the ending -s, -es or -ies."""
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def past_of(verb: str) -> str:
    """The regular past and participle."""
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    return verb + "ed"


def article_before(word: str) -> str:
    """The indefinite article for the word that follows it."""
    if word.startswith(("univ", "union", "unique", "one", "eu", "used")):
        return "a"
    if word.startswith(("hour", "honest")):
        return "an"
    return "an" if word[0].lower() in VOWELS else "a"
