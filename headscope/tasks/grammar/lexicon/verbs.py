"""The verbs: one table per frame, most frequent first.

An entry is `english forms : subject kinds > object kinds = German ; further senses`, which may go on in the next
line. English forms are `lemma` (regular) or `lemma past participle`; `pick+up` has a particle, `wait@for` a
preposition. German is `[case[|preposition]:]principal parts`, see `german_verbs.parse`. Senses of one verb differ in
the kinds of subject or object, so the sentence decides between them.
"""

from __future__ import annotations

from headscope.tasks.grammar.languages.english_forms import past_of, third_of
from headscope.tasks.grammar.languages.german_verbs import parse as parse_german
from headscope.tasks.grammar.lexicon.lexemes import Sense, Verb

KIND_SETS = {
    "being": ("person", "animal", "mount"),
    "beast": ("animal", "mount"),
    "vehicle": ("car", "transport", "cycle"),
    "thing": ("paper", "clothing", "tool", "vessel", "furniture", "instrument", "device"),
    "portable": ("paper", "clothing", "tool", "vessel", "instrument"),
    "site": ("building", "room", "place"),
}

# The German verb depends on the kind of the object.
OBJECT_SENSES = """
    know knew known : person > person site = kennen kannte gekannt ; person > fact = wissen wusste gewusst
    leave left left : person > site = verlassen verlässt verließ verlassen
        ; person > clothing tool paper = zurück|lassen lässt ließ gelassen
    call : person > person = an|rufen rief gerufen ; person > beast = rufen rief gerufen
    miss : person > transport = verpassen ; person > person = vermissen
    follow : being > being = dat:folgen sein ; person > rule = befolgen
    answer : person > person = dat:antworten ; person > task = beantworten
    save : person > being = retten ; person > file = speichern
    spend spent spent : person > money = aus|geben gibt gab gegeben ; person > time = verbringen verbrachte verbracht
    open : person > opening = öffnen ; person > event = eröffnen
    catch caught caught : person > beast = fangen fängt fing gefangen ; person > transport = erreichen
    drive drove driven : person > car = fahren fährt fuhr gefahren ; person > beast = treiben trieb getrieben
    break broke broken : person > vessel = zerbrechen zerbricht zerbrach zerbrochen
        ; person > rule = brechen bricht brach gebrochen
    draw drew drawn : person > picture = zeichnen ; being > wagon = ziehen zog gezogen
    change : person > plan = ändern ; person > clothing = wechseln
    serve : person > person = bedienen ; person > food drink = servieren
    take took taken : person > medicine = ein|nehmen nimmt nahm genommen
        ; person > transport = nehmen nimmt nahm genommen
    ride rode ridden : person > mount = reiten ritt geritten ; person > cycle = fahren fährt fuhr gefahren
    fire : person > person = entlassen entlässt entließ entlassen ; person > gun = ab|feuern
    charge : person > device = auf|laden lädt lud geladen ; person > person = an|klagen
    raise : person > animal = züchten ; person > price = erhöhen
    cut cut cut : person > food = schneiden schnitt geschnitten ; person > tree = fällen
    run ran run : person > group = leiten ; person > machine = bedienen
    paint : person > picture = malen ; person > building furniture opening = streichen strich gestrichen
    keep kept kept : person > beast = halten hält hielt gehalten
        ; person > paper clothing tool = behalten behält behielt behalten
    hold held held : person > event = ab|halten hält hielt gehalten
        ; person > tool blade vessel = halten hält hielt gehalten
    pick : person > flower = pflücken ; person > person = aus|wählen
    join : person > group = dat:bei|treten tritt trat getreten sein ; person > person = begleiten
"""

# The German verb depends on the kind of the subject.
SUBJECT_SENSES = """
    eat ate eaten : person > food = essen isst aß gegessen ; animal mount > food = fressen frisst fraß gefressen
    drink drank drunk : person > drink = trinken trank getrunken ; animal mount > drink = saufen säuft soff gesoffen
"""

TRANSITIVE = """
    see saw seen : being > being thing site vehicle water tree flower picture opening = sehen sieht sah gesehen
    find found found : person > thing being opening = finden fand gefunden
    buy bought bought : person > thing food drink vehicle building beast flower = kaufen
    love : person > being site food drink flower instrument = lieben
    read read read : person > paper file = lesen liest las gelesen
    need : person > thing person vehicle money medicine machine = brauchen
    sell sold sold : person > thing food vehicle building flower = verkaufen
    visit : person > person site event = besuchen
    hear heard heard : being > being instrument bell = hören
    forget forgot forgotten : person > thing fact event person = vergessen vergisst vergaß vergessen
    lose lost lost : person > tool paper clothing money = verlieren verlor verloren
    build built built : person > building furniture machine wagon = bauen
    write wrote written : person > paper file = schreiben schrieb geschrieben
    wear wore worn : person > clothing = tragen trägt trug getragen
    describe : person > being site plan picture event = beschreiben beschrieb beschrieben
    watch : being > being = beobachten
    repair : person > machine device vehicle furniture wagon = reparieren
    steal stole stolen : person > tool money vehicle paper picture = stehlen stiehlt stahl gestohlen
    hide hid hidden : person > tool paper money blade gun = verstecken
    feed fed fed : person > beast = füttern
    admire : person > person building picture flower = bewundern
    invite : person > person = ein|laden lädt lud geladen
    pick+up : person > person = ab|holen
    turn+on : person > device machine = ein|schalten
    switch+off : person > device machine = aus|schalten
    throw+away threw thrown : person > paper tool clothing food = weg|werfen wirft warf geworfen
    put+on put put : person > clothing = an|ziehen zog gezogen
    take+off took taken : person > clothing = aus|ziehen zog gezogen
    close : person > opening building = schließen schloss geschlossen
    lock : person > opening building room = ab|schließen schloss geschlossen
    wash : person > clothing car vessel food = waschen wäscht wusch gewaschen
    cook : person > food = kochen
    clean : person > room opening vessel instrument = putzen
    recognise : being > person building picture = erkennen erkannte erkannt
    greet : person > person = grüßen
    ask : person > person = fragen
    hug hugged hugged : person > person = umarmen
    hate : person > being rule weather food = hassen
    understand understood understood : person > person plan rule fact = verstehen verstand verstanden
    sign : person > paper = unterschreiben unterschrieb unterschrieben
    discover : person > site water fact = entdecken
    carry : person > portable food opening = tragen trägt trug getragen
    bite bit bitten : animal > being = beißen biss gebissen
    chase : animal > being = jagen
    borrow : person > tool paper money vehicle = aus|leihen lieh geliehen
    check : person > device machine paper plan = überprüfen
    help : person > person = dat:helfen hilft half geholfen
    thank : person > person = dat:danken
    trust : person > person = dat:vertrauen
    believe : person > person = dat:glauben
    congratulate : person > person = dat:gratulieren
    obey : person > person rule = dat:gehorchen
    threaten : person > person = dat:drohen
    wait@for : being > person transport = acc|auf:warten
    look@for : being > thing being fact = acc:suchen
    think@of : person > person plan site event = acc|an:denken dachte gedacht
    laugh@at : person > person plan picture = acc|über:lachen
    dream@of : person > person site vehicle = dat|von:träumen
    listen@to : being > person = dat:zu|hören
    speak@with spoke spoken : person > person = dat|mit:sprechen spricht sprach gesprochen
    write@to wrote written : person > person = dat:schreiben schrieb geschrieben
"""

# "give the child a book"; with `~` only "explain the book to the child".
DITRANSITIVE = """
    give gave given : person > thing food flower money medicine = geben gibt gab gegeben
    show showed shown : person > thing picture site = zeigen
    send sent sent : person > paper file flower money = schicken
    bring brought brought : person > thing food drink flower = bringen brachte gebracht
    lend lent lent : person > tool paper money vehicle = leihen lieh geliehen
    sell sold sold : person > thing vehicle building = verkaufen
    offer : person > food drink money = an|bieten bot geboten
    explain~ : person > rule plan task machine = erklären
    write wrote written : person > paper = schreiben schrieb geschrieben
    promise : person > money tool clothing = versprechen verspricht versprach versprochen
    recommend~ : person > paper site medicine = empfehlen empfiehlt empfahl empfohlen
    describe~ : person > person site picture = beschreiben beschrieb beschrieben
    return~ : person > tool paper money = zurück|geben gibt gab gegeben
"""

INTRANSITIVE = """
    sleep slept slept : being = schlafen schläft schlief geschlafen
    arrive : person transport = an|kommen kam gekommen sein
    work : person = arbeiten ; device machine = funktionieren
    leave left left : person = weg|gehen ging gegangen sein ; transport = ab|fahren fährt fuhr gefahren sein
    rise rose risen : person = auf|stehen stand gestanden sein ; price = steigen stieg gestiegen sein
    stop stopped stopped : transport car = an|halten hält hielt gehalten ; weather = auf|hören
    start : event = beginnen begann begonnen ; machine car = an|springen sprang gesprungen sein
    fall fell fallen : person = hin|fallen fällt fiel gefallen sein ; price = sinken sank gesunken sein
    die : being = sterben stirbt starb gestorben sein ; flower tree = ein|gehen ging gegangen sein
    ring rang rung : bell = läuten ; device = klingeln
    grow grew grown : flower tree group = wachsen wächst wuchs gewachsen sein
    break broke broken : vessel = zerbrechen zerbricht zerbrach zerbrochen sein
        ; device machine = kaputt|gehen ging gegangen sein
    stand stood stood : vessel furniture building = stehen stand gestanden
    laugh : person = lachen
    sing sang sung : person = singen sang gesungen
    dance : person = tanzen
    swim swam swum : being = schwimmen schwamm geschwommen sein
    wake+up woke woken : being = auf|wachen sein
    disappear : being tool paper money = verschwinden verschwand verschwunden sein
    cry : person = weinen
    smile : person = lächeln
    come+back came come : being transport = zurück|kommen kam gekommen sein
    burn : building tree paper = brennen brannte gebrannt
    rust : vehicle machine gun blade = rosten
    bloom : flower = blühen
    stay : person = bleiben blieb geblieben sein
    wait : person = warten
    jump : being = springen sprang gesprungen sein
    cough : person = husten
    fly flew flown : animal = fliegen flog geflogen sein
    appear : being = erscheinen erschien erschienen sein
"""

# With a goal: "travel to the village".
MOTION = """
    travel travelled travelled : person = reisen sein
    go went gone : person = gehen ging gegangen sein
    run ran run : being = rennen rannte gerannt sein
    drive drove driven : person = fahren fährt fuhr gefahren sein
    come came come : being = kommen kam gekommen sein
    walk : being = laufen läuft lief gelaufen sein
    move : person = ziehen zog gezogen sein
"""

# "put the vase on the table".
PUT = """
    put put put : person > vessel = stellen ; person > paper clothing tool = legen
"""

# "believe that ..."
CLAUSAL = """
    say said said : person = sagen
    believe : person = glauben
    know knew known : person = wissen wusste gewusst
    think thought thought : person = denken dachte gedacht
    hear heard heard : person = hören
    hope : person = hoffen
    see saw seen : person = sehen sieht sah gesehen
    forget forgot forgotten : person = vergessen vergisst vergaß vergessen
    claim : person = behaupten
    fear : person = befürchten
    notice : person = bemerken
"""


def kinds(names: str) -> tuple[str, ...]:
    """The kinds named by a list of kinds and kind sets, each once."""
    found: dict[str, None] = {}
    for name in names.split():
        found.update(dict.fromkeys(KIND_SETS.get(name, (name,))))
    return tuple(found)


def verb(forms: str, frame: str) -> Verb:
    """An English verb from its forms."""
    words = forms.split()
    lemma, _, preposition = words[0].rstrip("~").partition("@")
    lemma, _, particle = lemma.partition("+")
    past, participle = words[1:] if len(words) == 3 else (past_of(lemma), past_of(lemma))
    if words[0].endswith("~"):
        frame = "to-only"
    return Verb(lemma, third_of(lemma), past, participle, frame, particle, preposition)


def sense(entry: str, owner: Verb) -> Sense:
    """One sense `subjects > objects = [case[|preposition]:]German`."""
    roles, german = entry.split("=")
    subjects, _, objects = roles.partition(">")
    government, _, parts = german.strip().rpartition(":")
    case, _, preposition = government.partition("|")
    return Sense(owner, parse_german(parts), kinds(subjects), kinds(objects), case or "acc", preposition)


def parse(table: str, frame: str) -> tuple[Verb, ...]:
    """The verbs of one table."""
    found = []
    for line in table.replace("\n        ;", " ;").strip().splitlines():
        forms, _, senses = line.partition(" : ")
        entry = verb(forms.strip(), frame)
        entry.senses.extend(sense(part, entry) for part in senses.split(";"))
        found.append(entry)
    return tuple(found)


VERBS: dict[str, tuple[Verb, ...]] = {
    "object-sense": parse(OBJECT_SENSES, "transitive"),
    "subject-sense": parse(SUBJECT_SENSES, "transitive"),
    "transitive": parse(TRANSITIVE, "transitive"),
    "ditransitive": parse(DITRANSITIVE, "ditransitive"),
    "intransitive": parse(INTRANSITIVE, "intransitive"),
    "motion": parse(MOTION, "motion"),
    "put": parse(PUT, "put"),
    "clausal": parse(CLAUSAL, "clausal"),
}
