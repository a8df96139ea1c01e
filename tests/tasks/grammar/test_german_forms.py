"""German declension over the whole lexicon, against tables of endings written out by hand."""

from __future__ import annotations

import pytest

from headscope.tasks.grammar.languages.german import common_words
from headscope.tasks.grammar.languages.german_forms import noun_form
from headscope.tasks.grammar.lexicon import function_words as words
from headscope.tasks.grammar.lexicon.adjectives import ADJECTIVES
from headscope.tasks.grammar.lexicon.ambiguous import AMBIGUOUS
from headscope.tasks.grammar.lexicon.lexemes import Adjective, Determiner, Noun
from headscope.tasks.grammar.lexicon.nouns import NOUNS
from headscope.tasks.grammar.phrases import Common

CASES = ("nom", "acc", "dat", "gen")
ALL_NOUNS = (*(noun for nouns in NOUNS.values() for noun in nouns), *AMBIGUOUS)

# Rows: nominative, accusative, dative, genitive. Columns: masculine, feminine, neuter, plural.
DETERMINER_FORMS = {
    words.THE: "der die das die / den die das die / dem der dem den / des der des der",
    words.THIS: (
        "dieser diese dieses diese / diesen diese dieses diese"
        " / diesem dieser diesem diesen / dieses dieser dieses dieser"
    ),
    words.THAT: "jener jene jenes jene / jenen jene jenes jene / jenem jener jenem jenen / jenes jener jenes jener",
    words.EVERY: "jeder jede jedes - / jeden jede jedes - / jedem jeder jedem - / jedes jeder jedes -",
    words.A: "ein eine ein - / einen eine ein - / einem einer einem - / eines einer eines -",
    words.NO: (
        "kein keine kein keine / keinen keine kein keine"
        " / keinem keiner keinem keinen / keines keiner keines keiner"
    ),
    words.MY: (
        "mein meine mein meine / meinen meine mein meine"
        " / meinem meiner meinem meinen / meines meiner meines meiner"
    ),
    words.YOUR: (
        "dein deine dein deine / deinen deine dein deine"
        " / deinem deiner deinem deinen / deines deiner deines deiner"
    ),
    words.HIS: (
        "sein seine sein seine / seinen seine sein seine"
        " / seinem seiner seinem seinen / seines seiner seines seiner"
    ),
    words.HER: "ihr ihre ihr ihre / ihren ihre ihr ihre / ihrem ihrer ihrem ihren / ihres ihrer ihres ihrer",
    words.THEIR: "ihr ihre ihr ihre / ihren ihre ihr ihre / ihrem ihrer ihrem ihren / ihres ihrer ihres ihrer",
    words.OUR: (
        "unser unsere unser unsere / unseren unsere unser unsere"
        " / unserem unserer unserem unseren / unseres unserer unseres unserer"
    ),
    words.WHICH: (
        "welcher welche welches welche / welchen welche welches welche"
        " / welchem welcher welchem welchen / welches welcher welches welcher"
    ),
    words.SOME: "- - - einige / - - - einige / - - - einigen / - - - einiger",
    words.MANY: "- - - viele / - - - viele / - - - vielen / - - - vieler",
    words.SEVERAL: "- - - mehrere / - - - mehrere / - - - mehreren / - - - mehrerer",
    words.FEW: "- - - wenige / - - - wenige / - - - wenigen / - - - weniger",
    words.ALL: "- - - alle / - - - alle / - - - allen / - - - aller",
    words.BARE: "- - - 0 / - - - 0 / - - - 0 / - - - 0",
}  # fmt: skip
WEAK = "e e e en / en e e en / en en en en / en en en en"
MIXED = "er e es en / en e es en / en en en en / en en en en"
STRONG = "er e es e / en e es e / em er em en / en er en er"
ADJECTIVE_ENDINGS = {
    **dict.fromkeys((words.THE, words.THIS, words.THAT, words.EVERY, words.WHICH, words.ALL), WEAK),
    **dict.fromkeys((words.A, words.NO, words.MY, words.YOUR, words.HIS, words.HER, words.THEIR, words.OUR), MIXED),
    **dict.fromkeys((words.SOME, words.MANY, words.SEVERAL, words.FEW, words.BARE), STRONG),
}
IRREGULAR_STEMS = {
    "hoch": "hoh", "dunkel": "dunkl", "edel": "edl", "teuer": "teur", "müde": "müd", "weise": "weis",
    "gerade": "gerad",
}  # fmt: skip
GENITIVES = {
    "Lehrer": "Lehrers", "Arzt": "Arztes", "Mann": "Mannes", "Kind": "Kindes", "Junge": "Jungen",
    "Student": "Studenten", "Bauer": "Bauern", "Nachbar": "Nachbarn", "Gast": "Gastes", "König": "Königs",
    "Prinz": "Prinzen", "Haus": "Hauses", "Schloss": "Schlosses", "Tisch": "Tisches", "Fisch": "Fisches",
    "Bus": "Busses", "Reisebus": "Reisebusses", "Ergebnis": "Ergebnisses", "Gefängnis": "Gefängnisses",
    "Kürbis": "Kürbisses", "Atlas": "Atlasses", "Fuchs": "Fuchses", "Dachs": "Dachses", "Keks": "Kekses",
    "Auto": "Autos", "Büro": "Büros", "See": "Sees", "Käse": "Käses", "Tee": "Tees", "Schnee": "Schnees",
    "Reh": "Rehs", "Ei": "Eis", "Buchstabe": "Buchstabens", "Satz": "Satzes", "Fest": "Festes",
    "Palast": "Palastes", "Preis": "Preises", "Kreis": "Kreises", "Mädchen": "Mädchens", "Brot": "Brotes",
    "Fass": "Fasses", "Bär": "Bären", "Spatz": "Spatzen", "Elefant": "Elefanten", "Herrscher": "Herrschers",
    "Fluss": "Flusses", "Prozess": "Prozesses", "Frost": "Frostes", "Saft": "Saftes", "Wald": "Waldes",
    "Flasche": "Flasche",
}  # fmt: skip


def cell(table: str, case: str, column: str) -> str:
    return table.split(" / ")[CASES.index(case)].split()["mfnp".index(column)]


def slow_noun(noun: Noun, case: str, plural: bool) -> str:
    if plural:
        ends = noun.german_plural[-1]
        return noun.german_plural + ("n" if case == "dat" and ends not in "nsa" else "")
    if noun.weak and case != "nom":
        return noun.german_plural + ("s" if noun.german == "Buchstabe" and case == "gen" else "")
    return noun.german


def expected(noun: Noun, plural: bool, case: str, determiner: Determiner, adjective: Adjective | None) -> list[str]:
    column = "p" if plural else noun.gender
    before = [] if determiner is words.BARE else [cell(DETERMINER_FORMS[determiner], case, column)]
    if adjective:
        word = adjective.german[noun.kind]
        before.append(IRREGULAR_STEMS.get(word, word) + cell(ADJECTIVE_ENDINGS[determiner], case, column))
    return before


def fitting(noun: Noun) -> list[Adjective | None]:
    return [adjective for adjective in ADJECTIVES if noun.kind in adjective.german] or [None]


def numbers(noun: Noun, determiner: Determiner) -> list[bool]:
    """The numbers in which noun and determiner go together."""
    table = DETERMINER_FORMS[determiner]
    return [
        plural
        for plural in ((False, True) if noun.countable else (False,))
        if cell(table, "nom", "p" if plural else noun.gender) != "-"
    ]


def check(noun: Noun, plural: bool, case: str, determiner: Determiner, adjective: Adjective | None) -> None:
    phrase = Common(16, noun, plural, determiner, (adjective,) if adjective else ())
    *before, form = [form for form, _ in common_words(phrase, case)]
    assert before == expected(noun, plural, case, determiner, adjective)
    if case != "gen" or plural or noun.gender == "f" or noun.weak:
        assert form == slow_noun(noun, case, plural)
    else:
        assert form in (noun.german + "s", noun.german + "es", noun.german + "ses")


@pytest.mark.parametrize("determiner", DETERMINER_FORMS, ids=lambda d: f"{d.singular}-{d.plural}")
def test_every_noun_in_every_case_and_number_after_every_determiner(determiner: Determiner) -> None:
    for index, noun in enumerate(ALL_NOUNS):
        adjectives = fitting(noun)
        for plural in numbers(noun, determiner):
            for step, case in enumerate(CASES):
                check(noun, plural, case, determiner, adjectives[(index + step) % len(adjectives)])


@pytest.mark.parametrize("determiner", DETERMINER_FORMS, ids=lambda d: f"{d.singular}-{d.plural}")
def test_every_adjective_with_a_noun_of_each_gender_in_every_case(determiner: Determiner) -> None:
    for adjective in ADJECTIVES:
        for kind in adjective.german:
            for gender in "mfn":
                for noun in [noun for noun in NOUNS[kind] if noun.gender == gender][:1]:
                    for plural in numbers(noun, determiner):
                        for case in CASES:
                            check(noun, plural, case, determiner, adjective)


@pytest.mark.parametrize(("nominative", "genitive"), GENITIVES.items())
def test_the_genitive_is_the_one_in_the_dictionary(nominative: str, genitive: str) -> None:
    for noun in ALL_NOUNS:
        if noun.german == nominative:
            assert noun_form(noun, "gen", False) == genitive


def test_dative_plurals_end_in_n_or_s_or_are_foreign() -> None:
    foreign = {"Antibiotika"}
    for noun in ALL_NOUNS:
        if noun.countable:
            form = noun_form(noun, "dat", True)
            assert form.endswith(("n", "s")) or form in foreign, form


def test_numbers_turn_round() -> None:
    assert [words.german_number(n) for n in (2, 12, 21, 36, 47, 60, 71, 99)] == [
        "zwei", "zwölf", "einundzwanzig", "sechsunddreißig", "siebenundvierzig", "sechzig", "einundsiebzig",
        "neunundneunzig",
    ]  # fmt: skip
    assert words.english_number(21) == ("twenty", "one")
    assert words.english_number(60) == ("sixty",)
