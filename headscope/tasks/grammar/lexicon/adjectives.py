"""The adjectives: what they may describe and how German says it.

A line is `english[/opposite] : kinds = German ; further senses`, most frequent first. Senses differ in the kind of
noun.
"""

from __future__ import annotations

from headscope.tasks.grammar.lexicon.lexemes import Adjective
from headscope.tasks.grammar.lexicon.verbs import kinds

ADJECTIVES_TABLE = """
    old/new : being building thing vehicle tree place = alt
    big/small : being building place water tree opening vehicle room = groß
    small/big : being building place water tree opening vehicle room = klein
    new/old : building thing vehicle rule plan machine medicine group gun = neu
    young : being = jung
    heavy/light : tool vessel furniture opening blade gun wagon = schwer ; weather = stark
    tall : person = groß ; building tree = hoch
    hard/easy : task rule = schwierig ; food furniture = hart
    poor/good : person = arm ; fact plan paper picture device = schlecht
    bright/dark : person = klug ; room vessel = hell
    sharp : blade tool = scharf ; person = scharfsinnig
    light/heavy : clothing tool vessel furniture = leicht ; room place = hell
    dull : blade = stumpf ; person event paper = langweilig
    thick/thin : paper clothing opening = dick ; weather = dicht
    free : being = frei ; event paper medicine drink = kostenlos
    rich : person group = reich ; food = nahrhaft
    rough : water = rau ; person = grob
    fresh : food flower drink = frisch ; plan = neuartig
    smooth : furniture blade = glatt ; event = reibungslos
    fair : rule price = gerecht ; person = blond
    clear : water drink = klar ; rule fact plan = eindeutig
    strict : rule person = streng
    tired : being = müde
    happy/sad : person = glücklich
    sad/happy : person paper = traurig
    hungry : being = hungrig
    clever/stupid : person plan = schlau
    stupid/clever : person plan = dumm
    kind : person = nett
    brave : person animal = mutig
    famous : person building picture paper group instrument = berühmt
    beautiful/ugly : being building place water flower clothing picture instrument tree = schön
    ugly/beautiful : building clothing picture furniture = hässlich
    expensive/cheap : thing vehicle building food drink gun medicine = teuer
    cheap/expensive : thing vehicle food drink medicine = billig
    red : clothing flower vehicle vessel furniture opening = rot
    green : clothing vehicle vessel furniture opening = grün
    blue : clothing vehicle vessel furniture opening = blau
    yellow : clothing vehicle vessel flower furniture = gelb
    black : animal mount clothing vehicle vessel furniture opening instrument = schwarz
    white : animal mount clothing vehicle vessel furniture flower building = weiß
    brown : animal mount clothing furniture opening = braun
    grey : animal mount clothing building = grau
    warm/cold : room clothing food drink time = warm
    cold/warm : room food drink water time weather = kalt
    clean/dirty : room clothing vessel opening blade vehicle = sauber
    dirty/clean : room clothing vessel opening blade vehicle = schmutzig
    empty/full : room vessel opening building transport = leer
    full/empty : vessel opening transport = voll
    long/short : paper rule event time clothing water = lang
    short/long : paper event time clothing = kurz
    quiet/loud : person animal place room = ruhig
    loud/quiet : instrument machine device person event bell = laut
    slow/fast : vehicle being device = langsam
    fast/slow : vehicle mount device machine = schnell
    dangerous/safe : animal mount gun blade place plan = gefährlich
    safe/dangerous : place vehicle plan medicine = sicher
    important : person fact rule plan paper event task file = wichtig
    strange : person fact place plan picture animal = seltsam
    interesting : person paper fact event plan picture task = interessant
    secret : plan rule fact file opening = geheim
    dark/bright : room place water clothing = dunkel
    modern : building machine device furniture group = modern
    strong/weak : being drink medicine = stark
    weak/strong : being drink = schwach
    proud : person = stolz
    angry : being = wütend
    wild/tame : animal mount place water = wild
    tame/wild : animal mount = zahm
    lazy : person animal mount = faul
    sick/healthy : being tree = krank
    healthy/sick : being food = gesund
    shy : being = schüchtern
    honest : person = ehrlich
    curious : being = neugierig
    broken : device machine vessel furniture vehicle instrument = kaputt
    wet/dry : clothing animal mount furniture paper = nass
    dry/wet : clothing place food = trocken
    round : furniture vessel opening room = rund
    sweet : food drink = süß
    bitter : food drink medicine fact = bitter
    simple : rule plan task machine = einfach
    lonely : person place building = einsam
    narrow/wide : room opening water place = schmal
    wide/narrow : opening water place = breit
    noble : person mount = edel
    ancient : building place instrument = uralt
    elegant : clothing person furniture = elegant
    rusty : vehicle blade gun machine = rostig
    polite : person = höflich
    patient : person = geduldig
    precious : picture instrument vessel = kostbar
    gloomy : place building room = düster
    peculiar : person fact = eigenartig
"""


def sense_map(text: str) -> dict[str, str]:
    """German by kind of noun."""
    german: dict[str, str] = {}
    for part in text.split(";"):
        names, _, word = part.partition("=")
        german.update(dict.fromkeys(kinds(names), word.strip()))
    return german


def parse(table: str) -> tuple[Adjective, ...]:
    """The adjectives of a table."""
    found = []
    for line in table.strip().splitlines():
        english, _, senses = line.partition(" : ")
        word, _, opposite = english.strip().partition("/")
        found.append(Adjective(word, sense_map(senses), opposite))
    return tuple(found)


ADJECTIVES = parse(ADJECTIVES_TABLE)
