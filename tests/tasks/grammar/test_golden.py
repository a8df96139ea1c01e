"""Whole sentence pairs written by hand."""

from __future__ import annotations

import pytest

from headscope.tasks.grammar.lexicon import function_words as words
from headscope.tasks.grammar.phrases import Adverbial, Clause
from headscope.tasks.grammar.sentence import realise
from tests.tasks.grammar.build import (
    adjective,
    adverb,
    ambiguous,
    asked,
    at,
    clause,
    german,
    name,
    noun,
    pair,
    place,
    pronoun,
    relative,
    said,
    units,
)


def attractor() -> Clause:
    boxes = noun("the boxes")
    door = noun("the door", modifier=(words.NEXT_TO, noun("the tables")))
    return clause(pronoun("she"), "abschließen", door, tense="perfect", adverbials=(at(words.BEHIND, boxes),))


def relative_subject() -> Clause:
    dog = noun("the dogs")
    dog.relative = clause(relative(dog), "fressen", noun("the meat"), tense="present")
    return clause(dog, adjective("hungry"), tense="present")


def relative_dative() -> Clause:
    man = noun("the man")
    man.relative = clause(noun("a young woman"), "helfen", relative(man), object_fronted=True, tense="perfect")
    return clause(man, german("lachen", "intransitive"))


def pronoun_gender() -> Clause:
    table = noun("a round table")
    main = clause(name("Mikasu"), german("kaufen"), table, tense="past")
    main.coordinate = (
        "but",
        clause(pronoun("he"), german("brauchen"), pronoun("it", table), tense="past", negated=True),
    )
    return main


def pronoun_subject() -> Clause:
    lamp = noun("the heavy lamp")
    main = clause(noun("the girl"), "stellen", lamp, tense="past", goal=(words.ONTO, noun("the table")))
    main.subordinate = clause(pronoun("it", lamp), adjective("broken"), tense="past", marker="because")
    return main


def fronted_subordinate() -> Clause:
    main = clause(noun("the nurse"), "anrufen", noun("a doctor"), tense="past", adverbials=(adverb("quickly"),))
    main.subordinate = clause(noun("the old man"), "hinfallen", tense="past", marker="when")
    main.subordinate_first = True
    return main


def complement() -> Clause:
    main = clause(pronoun("I"), german("glauben", "clausal"), tense="present")
    main.complement = clause(noun("the train"), "abfahren", tense="modal", modal="must", marker="that")
    return main


def perfect_final() -> Clause:
    main = clause(pronoun("you"), "weinen", tense="present")
    main.subordinate = clause(
        noun("the thief"),
        "stehlen",
        noun("your money"),
        tense="perfect",
        marker="because",
        adverbials=(adverb("never"),),
    )
    return main


def counted() -> Clause:
    dogs = noun("- black dogs", number=21)
    return clause(dogs, "folgen", noun("the child"), tense="past", adverbials=(adverb("yesterday", True),))


PAIRS = [
    (
        clause(noun("the teacher"), "kennen", noun("the old women"), tense="present"),
        "The teacher knows the old women.",
        "Der Lehrer kennt die alten Frauen.",
    ),
    (
        clause(noun("the teacher"), german("wissen", "object-sense"), noun("the answer"), tense="present"),
        "The teacher knows the answer.",
        "Der Lehrer weiß die Antwort.",
    ),
    (
        clause(pronoun("we"), "verpassen", noun("the bus"), tense="perfect"),
        "We have missed the bus.",
        "Wir haben den Bus verpasst.",
    ),
    (
        clause(noun("the lions"), "fressen", noun("no meat"), tense="present"),
        "The lions eat no meat.",
        "Die Löwen fressen kein Fleisch.",
    ),
    (
        clause(noun("my brother"), "kaufen", noun("a new car"), tense="past", negated=True),
        "My brother did not buy a new car.",
        "Mein Bruder kaufte kein neues Auto.",
    ),
    (
        clause(noun("my brother"), "kaufen", noun("- new cars"), tense="future", negated=True),
        "My brother will not buy new cars.",
        "Mein Bruder wird keine neuen Autos kaufen.",
    ),
    (
        clause(noun("my brother"), "kaufen", noun("this car"), tense="present", negated=True, mood="yes-no"),
        "Does my brother not buy this car?",
        "Kauft mein Bruder dieses Auto nicht?",
    ),
    (
        clause(name("Tarovela"), "beitreten", noun("a choir"), tense="perfect"),
        "Tarovela has joined a choir.",
        "Tarovela ist einem Chor beigetreten.",
    ),
    (
        clause(noun("the book"), "lesen", tense="perfect", passive=True, agent=noun("the boy")),
        "The book has been read by the boy.",
        "Das Buch ist vom Jungen gelesen worden.",
    ),
    (
        clause(noun("the windows"), "öffnen", tense="modal", modal="must", passive=True, negated=True),
        "The windows must not be opened.",
        "Die Fenster dürfen nicht geöffnet werden.",
    ),
    (
        clause(noun("the queen"), german("geben"), noun("a ring"), recipient=noun("the poor farmer")),
        "The queen gave the poor farmer a ring.",
        "Die Königin gab dem armen Bauern einen Ring.",
    ),
    (
        clause(
            noun("the queen"), german("geben"), pronoun("they"), recipient=noun("a poor child"), recipient_last=True
        ),
        "The queen gave them to a poor child.",
        "Die Königin gab sie einem armen Kind.",
    ),
    (
        clause(noun("the coat", first=("winter", "Winter")), adjective("expensive"), tense="present"),
        "The winter coat is expensive.",
        "Der Wintermantel ist teuer.",
    ),
    (
        clause(noun("a person"), "tragen", noun("a expensive coat")),
        "A person wore an expensive coat.",
        "Eine Person trug einen teuren Mantel.",
    ),
    (
        clause(
            pair(noun("the king"), name("Rosela")), "reisen", tense="perfect", goal=(words.TO_PLACE, place("Tarburg"))
        ),
        "The king and Rosela have travelled to Tarburg.",
        "Der König und Rosela sind nach Tarburg gereist.",
    ),
    (
        clause(noun("the heavy snow"), "aufhören", tense="past", adverbials=(adverb("suddenly", True),)),
        "Suddenly the heavy snow stopped.",
        "Plötzlich hörte der starke Schnee auf.",
    ),
    (
        clause(noun("the tall man"), german("streichen"), noun("the tall tower"), tense="past"),
        "The tall man painted the tall tower.",
        "Der große Mann strich den hohen Turm.",
    ),
    (
        clause(ambiguous("Ufer", "steep"), german("sehen"), passive=True, agent=noun("the sailors"), tense="present"),
        "The steep bank is seen by the sailors.",
        "Das steile Ufer wird von den Matrosen gesehen.",
    ),
    (
        clause(
            ambiguous("Fledermaus"), german("fliegen"), tense="perfect", adverbials=(at(words.IN, noun("the cellar")),)
        ),
        "The bat has flown in the cellar.",
        "Die Fledermaus ist im Keller geflogen.",
    ),
    (
        clause(noun("the doctor"), "warten", noun("this bus"), tense="present"),
        "The doctor waits for this bus.",
        "Der Arzt wartet auf diesen Bus.",
    ),
    (
        clause(noun("your uncle"), "suchen", noun("which hats"), tense="past", mood="wh", object_fronted=True),
        "Which hats did your uncle look for?",
        "Welche Hüte suchte dein Onkel?",
    ),
    (
        clause(noun("your aunt"), "danken", asked("who"), tense="future", mood="wh", object_fronted=True),
        "Whom will your aunt thank?",
        "Wem wird deine Tante danken?",
    ),
    (
        clause(noun("the man", modifier=(words.FROM, place("Velburg"))), "schlafen", mood="wh", asked_adverb="where"),
        "Where did the man from Velburg sleep?",
        "Wo schlief der Mann aus Velburg?",
    ),
    (
        clause(
            noun("a picture", modifier=(words.OF, noun("the small boy"))),
            german("stehlen"),
            passive=True,
            adverbials=(at(words.DURING, noun("the concert"), "time", True),),
        ),
        "During the concert a picture of the small boy was stolen.",
        "Während des Konzerts wurde ein Bild des kleinen Jungen gestohlen.",
    ),
    (
        clause(pronoun("he"), "ausziehen", pronoun("it", noun("the shirt")), tense="present"),
        "He takes it off.",
        "Er zieht es aus.",
    ),
    (
        clause(noun("the books"), "lesen", tense="past", passive=True),
        "The books were read.",
        "Die Bücher wurden gelesen.",
    ),
    (
        attractor(),
        "She has locked the door next to the tables behind the boxes.",
        "Sie hat die Tür neben den Tischen hinter den Kisten abgeschlossen.",
    ),
    (relative_subject(), "The dogs that eat the meat are hungry.", "Die Hunde, die das Fleisch fressen, sind hungrig."),
    (
        relative_dative(),
        "The man that a young woman has helped laughed.",
        "Der Mann, dem eine junge Frau geholfen hat, lachte.",
    ),
    (
        pronoun_gender(),
        "Mikasu bought a round table, but he did not need it.",
        "Mikasu kaufte einen runden Tisch, aber er brauchte ihn nicht.",
    ),
    (
        pronoun_subject(),
        "The girl put the heavy lamp on the table because it was broken.",
        "Das Mädchen stellte die schwere Lampe auf den Tisch, weil sie kaputt war.",
    ),
    (
        fronted_subordinate(),
        "When the old man fell, the nurse called a doctor quickly.",
        "Als der alte Mann hinfiel, rief die Krankenschwester schnell einen Arzt an.",
    ),
    (complement(), "I believe that the train must leave.", "Ich glaube, dass der Zug abfahren muss."),
    (
        perfect_final(),
        "You cry because the thief has never stolen your money.",
        "Du weinst, weil der Dieb nie dein Geld gestohlen hat.",
    ),
    (
        counted(),
        "Yesterday twenty one black dogs followed the child.",
        "Gestern folgten einundzwanzig schwarze Hunde dem Kind.",
    ),
]


@pytest.mark.parametrize(("root", "english", "german_text"), PAIRS, ids=[english for _, english, _ in PAIRS])
def test_a_derivation_says_the_same_in_both_languages(root: Clause, english: str, german_text: str) -> None:
    assert said(root) == (english, german_text)


def test_a_year_and_a_room_are_copied() -> None:
    year = Adverbial(next(units), "time", number="1742")
    room = Adverbial(next(units), "place", number="305")
    root = clause(noun("the judge"), "arbeiten", adverbials=(room, year))
    assert said(root) == (
        "The judge worked in room 305 in 1742.",
        "Der Richter arbeitete im Jahr 1742 in Zimmer 305.",
    )


def test_the_tree_and_alignment_of_one_sentence_are_as_drawn_by_hand() -> None:
    sentence = realise(pronoun_gender(), 0.0)
    rows = list(zip(sentence.words, sentence.upos, sentence.heads, sentence.relations, strict=True))
    assert rows == [
        ("Mikasu", "PROPN", 2, "nsubj"),
        ("bought", "VERB", 0, "root"),
        ("a", "DET", 5, "det"),
        ("round", "ADJ", 5, "amod"),
        ("table", "NOUN", 2, "obj"),
        (",", "PUNCT", 11, "punct"),
        ("but", "CCONJ", 11, "cc"),
        ("he", "PRON", 11, "nsubj"),
        ("did", "AUX", 11, "aux"),
        ("not", "PART", 11, "advmod"),
        ("need", "VERB", 2, "conj"),
        ("it", "PRON", 11, "obj"),
        (".", "PUNCT", 2, "punct"),
    ]
    linked = {(sentence.words[here], sentence.german[there]) for here, there in sentence.alignment}
    assert {("a", "einen"), ("table", "Tisch"), ("it", "ihn"), ("need", "brauchte"), ("not", "nicht")} <= linked
    assert sentence.antecedents == ((11, 4),)
