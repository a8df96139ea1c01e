"""Names made of random syllables, drawn afresh each time.

Every syllable is consonant, vowel and perhaps a consonant before the next consonant, so a name has one reading only.
"""

from __future__ import annotations

from headscope.tasks.grammar.sampler import Sampler, Table

OPEN = (
    "ta", "ro", "ve", "li", "mi", "ka", "su", "no", "be", "da", "fi", "ga", "ho", "ju", "ke", "lo", "ma", "ne",
    "po", "ri", "sa", "te", "vi", "wo", "zu", "du", "fe", "go", "hu", "ja", "ki", "le", "mo", "na", "pe", "ra",
    "se", "to", "va", "we",
)  # fmt: skip
CLOSED = (
    "tar", "vel", "lin", "mir", "kas", "sol", "nor", "ber", "dan", "fel", "gor", "han", "jul", "ken", "lor", "mar",
    "nel", "por", "ris", "sen",
)  # fmt: skip
PLACE_ENDINGS = ("burg", "dorf", "ford", "hausen", "wick", "moor", "stad", "berg")
SYLLABLES = Table([(s, 1.0) for s in OPEN] + [(s, 0.6) for s in CLOSED])
FEMALE_LAST = Table.even(s for s in OPEN if s.endswith("a"))
MALE_LAST = Table.even((*(s for s in OPEN if not s.endswith("a")), *CLOSED))
PERSON_LENGTH = Table([(2, 0.3), (3, 0.4), (4, 0.2), (5, 0.1)])
PLACE_LENGTH = Table([(1, 0.3), (2, 0.5), (3, 0.2)])
ENDINGS = Table.even(PLACE_ENDINGS)


def person_name(sampler: Sampler) -> tuple[str, str]:
    """A name and its pronoun: names in -a are women's, the others men's."""
    length = sampler.pick(PERSON_LENGTH)
    start = "".join([sampler.pick(SYLLABLES) for _ in range(length - 1)])
    if sampler.chance(0.5):
        return (start + sampler.pick(FEMALE_LAST)).capitalize(), "she"
    return (start + sampler.pick(MALE_LAST)).capitalize(), "he"


def place_name(sampler: Sampler) -> str:
    """A name of a place, known by its ending."""
    start = "".join([sampler.pick(SYLLABLES) for _ in range(sampler.pick(PLACE_LENGTH))])
    return (start + sampler.pick(ENDINGS)).capitalize()
