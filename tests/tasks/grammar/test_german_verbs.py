"""German conjugation, form by form."""

from __future__ import annotations

import pytest

from headscope.tasks.grammar.languages.german_verbs import PERSONS, parse, past, present
from headscope.tasks.grammar.lexicon.verbs import VERBS

# Present and preterite of ich, du, er, wir, sie; participle; auxiliary.
PARADIGMS = {
    "anrufen": "rufe rufst ruft rufen rufen / rief riefst rief riefen riefen / angerufen haben",
    "zurücklassen": "lasse lässt lässt lassen lassen / ließ ließest ließ ließen ließen / zurückgelassen haben",
    "wissen": "weiß weißt weiß wissen wissen / wusste wusstest wusste wussten wussten / gewusst haben",
    "kennen": "kenne kennst kennt kennen kennen / kannte kanntest kannte kannten kannten / gekannt haben",
    "essen": "esse isst isst essen essen / aß aßest aß aßen aßen / gegessen haben",
    "lesen": "lese liest liest lesen lesen / las lasest las lasen lasen / gelesen haben",
    "halten": "halte hältst hält halten halten / hielt hieltest hielt hielten hielten / gehalten haben",
    "aufladen": "lade lädst lädt laden laden / lud ludest lud luden luden / aufgeladen haben",
    "beitreten": "trete trittst tritt treten treten / trat tratest trat traten traten / beigetreten sein",
    "einnehmen": "nehme nimmst nimmt nehmen nehmen / nahm nahmst nahm nahmen nahmen / eingenommen haben",
    "öffnen": "öffne öffnest öffnet öffnen öffnen / öffnete öffnetest öffnete öffneten öffneten / geöffnet haben",
    "zeichnen": (
        "zeichne zeichnest zeichnet zeichnen zeichnen"
        " / zeichnete zeichnetest zeichnete zeichneten zeichneten / gezeichnet haben"
    ),
    "eröffnen": (
        "eröffne eröffnest eröffnet eröffnen eröffnen"
        " / eröffnete eröffnetest eröffnete eröffneten eröffneten / eröffnet haben"
    ),
    "wechseln": (
        "wechsle wechselst wechselt wechseln wechseln"
        " / wechselte wechseltest wechselte wechselten wechselten / gewechselt haben"
    ),
    "ändern": "ändere änderst ändert ändern ändern / änderte ändertest änderte änderten änderten / geändert haben",
    "antworten": (
        "antworte antwortest antwortet antworten antworten"
        " / antwortete antwortetest antwortete antworteten antworteten / geantwortet haben"
    ),
    "reparieren": (
        "repariere reparierst repariert reparieren reparieren"
        " / reparierte repariertest reparierte reparierten reparierten / repariert haben"
    ),
    "schließen": (
        "schließe schließt schließt schließen schließen"
        " / schloss schlossest schloss schlossen schlossen / geschlossen haben"
    ),
    "putzen": "putze putzt putzt putzen putzen / putzte putztest putzte putzten putzten / geputzt haben",
    "reisen": "reise reist reist reisen reisen / reiste reistest reiste reisten reisten / gereist sein",
    "überprüfen": (
        "überprüfe überprüfst überprüft überprüfen überprüfen"
        " / überprüfte überprüftest überprüfte überprüften überprüften / überprüft haben"
    ),
    "umarmen": "umarme umarmst umarmt umarmen umarmen / umarmte umarmtest umarmte umarmten umarmten / umarmt haben",
    "gehorchen": (
        "gehorche gehorchst gehorcht gehorchen gehorchen"
        " / gehorchte gehorchtest gehorchte gehorchten gehorchten / gehorcht haben"
    ),
    "lächeln": (
        "lächle lächelst lächelt lächeln lächeln"
        " / lächelte lächeltest lächelte lächelten lächelten / gelächelt haben"
    ),
    "abfahren": "fahre fährst fährt fahren fahren / fuhr fuhrst fuhr fuhren fuhren / abgefahren sein",
    "begleiten": (
        "begleite begleitest begleitet begleiten begleiten"
        " / begleitete begleitetest begleitete begleiteten begleiteten / begleitet haben"
    ),
    "saufen": "saufe säufst säuft saufen saufen / soff soffst soff soffen soffen / gesoffen haben",
    "empfehlen": (
        "empfehle empfiehlst empfiehlt empfehlen empfehlen"
        " / empfahl empfahlst empfahl empfahlen empfahlen / empfohlen haben"
    ),
}  # fmt: skip
ALL_VERBS = {
    sense.german.infinitive: sense.german for verbs in VERBS.values() for verb in verbs for sense in verb.senses
}
PARTICIPLES = {
    "verpassen": "verpasst", "vermissen": "vermisst", "befolgen": "befolgt", "beantworten": "beantwortet",
    "speichern": "gespeichert", "erreichen": "erreicht", "bedienen": "bedient", "servieren": "serviert",
    "abfeuern": "abgefeuert", "anklagen": "angeklagt", "züchten": "gezüchtet", "erhöhen": "erhöht",
    "fällen": "gefällt", "leiten": "geleitet", "pflücken": "gepflückt", "auswählen": "ausgewählt",
    "brauchen": "gebraucht", "verkaufen": "verkauft", "besuchen": "besucht", "hören": "gehört",
    "beobachten": "beobachtet", "füttern": "gefüttert", "bewundern": "bewundert", "abholen": "abgeholt",
    "einschalten": "eingeschaltet", "ausschalten": "ausgeschaltet", "entdecken": "entdeckt",
    "vertrauen": "vertraut", "gratulieren": "gratuliert", "zuhören": "zugehört", "erklären": "erklärt",
    "funktionieren": "funktioniert", "aufhören": "aufgehört", "klingeln": "geklingelt", "aufwachen": "aufgewacht",
    "blühen": "geblüht", "behaupten": "behauptet", "befürchten": "befürchtet", "bemerken": "bemerkt",
    "grüßen": "gegrüßt", "retten": "gerettet", "malen": "gemalt", "stellen": "gestellt", "legen": "gelegt",
    "verstecken": "versteckt",
}  # fmt: skip


@pytest.mark.parametrize(("infinitive", "forms"), PARADIGMS.items())
def test_every_form_of_the_verb(infinitive: str, forms: str) -> None:
    verb = ALL_VERBS[infinitive]
    presents, pasts, (participle, auxiliary) = (part.split() for part in forms.split(" / "))
    assert [present(verb, person) for person in PERSONS] == presents
    assert [past(verb, person) for person in PERSONS] == pasts
    assert (verb.participle, verb.auxiliary) == (participle, auxiliary)


@pytest.mark.parametrize(("infinitive", "participle"), PARTICIPLES.items())
def test_weak_participles(infinitive: str, participle: str) -> None:
    assert ALL_VERBS[infinitive].participle == participle


def test_helpers_are_irregular() -> None:
    sein = parse("sein war gewesen")
    assert [present(sein, person) for person in PERSONS] == ["bin", "bist", "ist", "sind", "sind"]


def test_plural_presents_are_the_infinitive_and_the_second_person_ends_in_t() -> None:
    for verb in ALL_VERBS.values():
        base = verb.infinitive.removeprefix(verb.particle)
        assert present(verb, "wir") == present(verb, "sie") == base
        assert present(verb, "du").endswith("t")
