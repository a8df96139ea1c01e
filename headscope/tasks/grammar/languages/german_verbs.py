"""German conjugation from principal parts."""

from __future__ import annotations

from functools import cache

from headscope.tasks.grammar.lexicon.lexemes import GermanVerb

INSEPARABLE = ("be", "ent", "er", "ge", "ver", "zer", "emp", "unter", "über", "um")
PERSONS = ("ich", "du", "er", "wir", "sie")
HARD = ("s", "ß", "z", "x")

IRREGULAR_PRESENT = {
    "sein": ("bin", "bist", "ist", "sind", "sind"),
    "haben": ("habe", "hast", "hat", "haben", "haben"),
    "werden": ("werde", "wirst", "wird", "werden", "werden"),
    "wissen": ("weiß", "weißt", "weiß", "wissen", "wissen"),
    "können": ("kann", "kannst", "kann", "können", "können"),
    "müssen": ("muss", "musst", "muss", "müssen", "müssen"),
    "sollen": ("soll", "sollst", "soll", "sollen", "sollen"),
    "dürfen": ("darf", "darfst", "darf", "dürfen", "dürfen"),
}


def parse(parts: str) -> GermanVerb:
    """The verb of `[particle|]infinitive [third person] [past participle]` with an optional last word `sein`.

    With one word the verb is weak; with three the present is regular; with four the third person is given too.
    """
    words = parts.split()
    auxiliary = "haben"
    if len(words) > 1 and words[-1] == "sein":
        auxiliary = "sein"
        words = words[:-1]
    head = words[0]
    particle, _, base = head.rpartition("|")
    stem = stem_of(base)
    third = words[1] if len(words) == 4 else stem + present_ending(stem, "er")
    if len(words) == 1:
        past = stem + ("ete" if needs_e(stem) else "te")
        participle = weak_participle(base, stem)
    else:
        past, participle = words[-2], words[-1]
    return GermanVerb(particle + base, particle, third, past, particle + participle, auxiliary)


def stem_of(infinitive: str) -> str:
    """The infinitive without its ending."""
    return infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]


def needs_e(stem: str) -> bool:
    """Whether -e- goes between stem and ending, as in `arbeitet`, `öffnet`."""
    if stem.endswith(("t", "d", "chn", "ckn")):
        return True
    return stem.endswith(("m", "n")) and stem[-2] not in "aeiouäöülrmnhy"


def weak_participle(infinitive: str, stem: str) -> str:
    """`gemacht`, `besucht`, `repariert`."""
    ending = "et" if needs_e(stem) else "t"
    bare = infinitive.startswith(INSEPARABLE) or infinitive.endswith("ieren")
    return ("" if bare else "ge") + stem + ending


def present_ending(stem: str, person: str) -> str:
    """The ending of a regular present."""
    if person == "ich":
        return "e"
    if person == "du":
        if needs_e(stem):
            return "est"
        return "t" if stem.endswith(HARD) else "st"
    return "et" if needs_e(stem) else "t"


@cache
def present(verb: GermanVerb, person: str) -> str:
    """The finite present without its particle."""
    base = verb.infinitive.removeprefix(verb.particle)
    if base in IRREGULAR_PRESENT:
        return IRREGULAR_PRESENT[base][PERSONS.index(person)]
    stem = stem_of(base)
    if person in ("wir", "sie"):
        return base
    if person == "er":
        return verb.present_third
    if person == "ich":
        return stem[:-2] + "le" if base.endswith("eln") else stem + "e"
    if verb.present_third == stem + present_ending(stem, "er"):
        return stem + present_ending(stem, "du")
    return changed_second(verb.present_third, stem)


def changed_second(third: str, stem: str) -> str:
    """`gibst` from `gibt`, `liest` from `liest`, `hältst` from `hält`."""
    if third.endswith("dt"):
        return third[:-1] + "st"
    if stem.endswith("t"):
        return third + "st"
    changed = third[:-1]
    return changed + ("t" if changed.endswith(HARD) else "st")


@cache
def past(verb: GermanVerb, person: str) -> str:
    """The finite preterite without its particle."""
    form = verb.past
    if person in ("ich", "er"):
        return form
    if form.endswith("e"):
        return form + ("st" if person == "du" else "n")
    if person == "du":
        return form + ("est" if form.endswith(("s", "ß", "z", "t", "d")) else "st")
    return form + "en"


SEIN = GermanVerb("sein", "", "ist", "war", "gewesen", "sein")
HABEN = GermanVerb("haben", "", "hat", "hatte", "gehabt", "haben")
WERDEN = GermanVerb("werden", "", "wird", "wurde", "geworden", "sein")
MODALS = {
    "can": GermanVerb("können", "", "kann", "konnte", "gekonnt", "haben"),
    "must": GermanVerb("müssen", "", "muss", "musste", "gemusst", "haben"),
    "should": GermanVerb("sollen", "", "soll", "sollte", "gesollt", "haben"),
    "may": GermanVerb("dürfen", "", "darf", "durfte", "gedurft", "haben"),
}
