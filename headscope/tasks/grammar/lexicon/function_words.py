"""Determiners, prepositions, adverbs, subordinators and number words."""

from __future__ import annotations

from headscope.tasks.grammar.lexicon.lexemes import Adverb, Determiner, Preposition

THE = Determiner("the", "the", "d", "der", True)
A = Determiner("a", "", "ein", "ein", False)
THIS = Determiner("this", "these", "dies", "dieser", True)
THAT = Determiner("that", "those", "jen", "dieser", True)
EVERY = Determiner("every", "", "jed", "dieser", True)
NO = Determiner("no", "no", "kein", "ein", False)
MY = Determiner("my", "my", "mein", "ein", True, "nmod:poss")
YOUR = Determiner("your", "your", "dein", "ein", True, "nmod:poss")
HIS = Determiner("his", "his", "sein", "ein", True, "nmod:poss")
HER = Determiner("her", "her", "ihr", "ein", True, "nmod:poss")
OUR = Determiner("our", "our", "unser", "ein", True, "nmod:poss")
THEIR = Determiner("their", "their", "ihr", "ein", True, "nmod:poss")
SOME = Determiner("", "some", "einig", "strong", False)
MANY = Determiner("", "many", "viel", "strong", False, "amod")
SEVERAL = Determiner("", "several", "mehrer", "strong", False, "amod")
FEW = Determiner("", "few", "wenig", "strong", False, "amod")
ALL = Determiner("", "all", "all", "dieser", True)
BARE = Determiner("", "", "", "bare", False)
WHICH = Determiner("which", "which", "welch", "dieser", True)

DETERMINERS = (
    THE,
    A,
    THIS,
    THAT,
    EVERY,
    NO,
    MY,
    YOUR,
    HIS,
    HER,
    OUR,
    THEIR,
    SOME,
    MANY,
    SEVERAL,
    FEW,
    ALL,
    BARE,
    WHICH,
)

OF = Preposition(("of",), "von", "dat")
TO_GOAL = Preposition(("to",), "zu", "dat")
TO_PLACE = Preposition(("to",), "nach", "dat")
FROM = Preposition(("from",), "aus", "dat")

# Modifiers of a noun; no adverbial uses the same words, so attachment is never in doubt.
NEXT_TO = Preposition(("next", "to"), "neben", "dat")
WITH = Preposition(("with",), "mit", "dat")
WITHOUT = Preposition(("without",), "ohne", "acc")
ABOUT = Preposition(("about",), "über", "acc")
FOR = Preposition(("for",), "für", "acc")

# Adverbials.
IN = Preposition(("in",), "in", "dat")
ON = Preposition(("on",), "auf", "dat")
AT = Preposition(("at",), "an", "dat")
BEHIND = Preposition(("behind",), "hinter", "dat")
UNDER = Preposition(("under",), "unter", "dat")
IN_FRONT_OF = Preposition(("in", "front", "of"), "vor", "dat")
NEAR = Preposition(("near",), "bei", "dat")
DURING = Preposition(("during",), "während", "gen")
AFTER = Preposition(("after",), "nach", "dat")
BEFORE = Preposition(("before",), "vor", "dat")
BECAUSE_OF = Preposition(("because", "of"), "wegen", "gen")
DESPITE = Preposition(("despite",), "trotz", "gen")
ONTO = Preposition(("on",), "auf", "acc")
TO_UNDER = Preposition(("under",), "unter", "acc")
TO_BEHIND = Preposition(("behind",), "hinter", "acc")
BESIDE = Preposition(("beside",), "neben", "acc")

PAST, PRESENT, PERFECT, FUTURE, MODAL = "past", "present", "perfect", "future", "modal"

TIME_ADVERBS = (
    Adverb("yesterday", "gestern", "time", (PAST,)),
    Adverb("today", "heute", "time", (PAST, PRESENT, PERFECT, FUTURE, MODAL)),
    Adverb("tomorrow", "morgen", "time", (FUTURE, MODAL)),
    Adverb("now", "jetzt", "time", (PRESENT, MODAL)),
    Adverb("recently", "neulich", "time", (PAST,)),
    Adverb("soon", "bald", "time", (FUTURE, MODAL)),
    Adverb("then", "dann", "time", (PAST, PRESENT, FUTURE)),
    Adverb("suddenly", "plötzlich", "time", (PAST,)),
    Adverb("later", "später", "time", (PAST, FUTURE, MODAL)),
    Adverb("nowadays", "heutzutage", "time", (PRESENT,)),
    Adverb("finally", "endlich", "time", (PAST, PERFECT)),
    Adverb("formerly", "früher", "time", (PAST,)),
)
OFTEN_ADVERBS = (
    Adverb("often", "oft", "often"),
    Adverb("never", "nie", "often"),
    Adverb("always", "immer", "often"),
    Adverb("sometimes", "manchmal", "often"),
    Adverb("usually", "gewöhnlich", "often"),
    Adverb("rarely", "selten", "often"),
    Adverb("probably", "wahrscheinlich", "often"),
    Adverb("certainly", "sicher", "often"),
    Adverb("really", "wirklich", "often"),
)
MANNER_ADVERBS = (
    Adverb("slowly", "langsam", "manner"),
    Adverb("quickly", "schnell", "manner"),
    Adverb("quietly", "leise", "manner"),
    Adverb("carefully", "vorsichtig", "manner"),
    Adverb("happily", "fröhlich", "manner"),
    Adverb("secretly", "heimlich", "manner"),
    Adverb("patiently", "geduldig", "manner"),
    Adverb("proudly", "stolz", "manner"),
    Adverb("alone", "allein", "manner"),
    Adverb("angrily", "wütend", "manner"),
    Adverb("reluctantly", "widerwillig", "manner"),
    Adverb("bravely", "tapfer", "manner"),
)

SUBORDINATORS = {
    "because": "weil", "when": "wenn", "although": "obwohl", "if": "wenn", "while": "während", "before": "bevor",
}  # fmt: skip

WEEKDAYS = {
    "Monday": "Montag", "Tuesday": "Dienstag", "Wednesday": "Mittwoch", "Thursday": "Donnerstag", "Friday": "Freitag",
    "Saturday": "Samstag", "Sunday": "Sonntag",
}  # fmt: skip

ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
GERMAN_ONES = ("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
GERMAN_TENS = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")


def english_number(number: int) -> tuple[str, ...]:
    """`21` as `twenty`, `one`; from 2 to 12 and 20 to 99."""
    if number <= 12:
        return (ONES[number - 1],)
    tens, ones = divmod(number, 10)
    return (TENS[tens - 2],) if ones == 0 else (TENS[tens - 2], ONES[ones - 1])


def german_number(number: int) -> str:
    """`21` as `einundzwanzig`."""
    if number <= 12:
        return GERMAN_ONES[number - 1]
    tens, ones = divmod(number, 10)
    return GERMAN_TENS[tens - 2] if ones == 0 else f"{GERMAN_ONES[ones - 1]}und{GERMAN_TENS[tens - 2]}"
