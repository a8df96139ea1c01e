"""English nouns with two German translations, and the words of the sentence that tell them apart.

A line is `english German gender plural kind : adjectives : verbs it is the subject of : verbs it is the object of`. A
cue belongs to one sense of its noun only. An adjective is written `english=german`; "-" means none.
"""

from __future__ import annotations

from dataclasses import replace

from headscope.tasks.grammar.lexicon.lexemes import Adjective, Noun
from headscope.tasks.grammar.lexicon.nouns import noun

TABLE = """
    bat Fledermaus f Fledermäuse animal : hungry=hungrig tame=zahm nocturnal=nachtaktiv : sleep fly die : feed watch
    bat Schläger m Schläger tool : wooden=hölzern cheap=billig heavy=schwer : disappear : buy lose steal
    bank Bank f Banken group : private=privat rich=reich foreign=ausländisch : grow : run join
    bank Ufer n Ufer place : muddy=schlammig steep=steil grassy=grasbewachsen : - : discover leave
    crane Kranich m Kraniche animal : hungry=hungrig shy=scheu rare=selten : sleep fly die : feed catch
    crane Kran m Kräne machine : rusty=rostig electric=elektrisch modern=modern : rust break : repair build
    seal Robbe f Robben animal : hungry=hungrig lazy=faul curious=neugierig : sleep swim die : feed watch
    seal Siegel n Siegel tool : royal=königlich golden=golden official=amtlich : - : steal hide
    letter Brief m Briefe paper : long=lang sealed=versiegelt unread=ungelesen : burn : sign buy
    letter Buchstabe mn Buchstaben picture : Greek=griechisch printed=gedruckt silent=stumm : - : draw paint
    spring Frühling m - time : warm=warm rainy=regnerisch early=zeitig : - : spend
    spring Feder f Federn tool : rusty=rostig elastic=elastisch broken=kaputt : disappear : lose steal
    pupil Schüler m Schüler person : lazy=faul polite=höflich clever=schlau : laugh cry smile : help ask invite
    pupil Pupille f Pupillen picture : dilated=erweitert dark=dunkel black=schwarz : - : draw
    chest Truhe f Truhen opening : wooden=hölzern locked=verschlossen dusty=staubig : - : open lock close
    chest Brust f Brüste picture : hairy=behaart bare=nackt sore=wund : - : draw
    match Streichholz n Streichhölzer tool : wooden=hölzern damp=feucht cheap=billig : disappear : lose hide steal
    match Spiel n Spiele event : final=letzt exciting=spannend decisive=entscheidend : start : visit forget
    ruler Lineal n Lineale tool : wooden=hölzern plastic=biegsam straight=gerade : - : lose hide borrow
    ruler Herrscher m Herrscher person : cruel=grausam wise=weise powerful=mächtig : laugh sleep : greet obey thank
    trunk Stamm m Stämme tree : hollow=hohl mossy=moosig straight=gerade : burn : cut
    trunk Rüssel m Rüssel picture : flexible=biegsam wrinkled=faltig wet=nass : - : draw
    key Schlüssel m Schlüssel tool : rusty=rostig lost=verloren spare=passend : disappear : lose steal borrow
    key Taste f Tasten device : sticky=klebrig loose=locker worn=abgenutzt : - : repair
    palm Palme f Palmen tree : tall=hoch green=grün tropical=tropisch : grow die burn : cut
    palm Handfläche f Handflächen picture : sweaty=verschwitzt open=offen sore=wund : - : draw
    nut Nuss f Nüsse food : salty=salzig roasted=geröstet ripe=reif : - : eat cook
    nut Schraubenmutter f Schraubenmuttern tool : rusty=rostig loose=locker greasy=ölig : disappear : lose
"""


def parse(table: str) -> tuple[Noun, ...]:
    """The noun senses of the table."""
    return tuple(entry(line) for line in table.strip().splitlines())


def entry(line: str) -> Noun:
    """One noun sense with its cues."""
    word, adjectives, subjects, objects = (part.strip() for part in line.split(" : "))
    form, _, kind = word.rpartition(" ")
    cues = tuple(cue(text, kind) for text in adjectives.split())
    return replace(
        noun(form, kind, 0),
        adjective_cues=cues,
        subject_cues=() if subjects == "-" else tuple(subjects.split()),
        object_cues=() if objects == "-" else tuple(objects.split()),
    )


def cue(text: str, kind: str) -> Adjective:
    """A cue adjective for a noun of the given kind."""
    english, _, german = text.partition("=")
    return Adjective(english, {kind: german})


AMBIGUOUS = parse(TABLE)
