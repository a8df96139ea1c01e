"""The nouns: one table per kind, most frequent first.

An entry is `english[/plural] German gender plural`. Gender is m, f or n; `mn` is masculine with weak declension (der
Junge, des Jungen); `nf` is neuter in German but "she" in English; `fx` marks a word for which no pronoun is used. A
plural "-" marks a noun without plural.
"""

from __future__ import annotations

from headscope.tasks.grammar.languages.english_forms import plural_of
from headscope.tasks.grammar.lexicon.lexemes import Noun

TABLES = {
    "person": """
        person/people Person fx Personen; teacher Lehrer m Lehrer; doctor Arzt m Ärzte; woman/women Frau f Frauen;
        man/men Mann m Männer; child/children Kind n Kinder; girl Mädchen nf Mädchen; boy Junge mn Jungen;
        student Student mn Studenten; farmer Bauer mn Bauern; nurse Krankenschwester f Krankenschwestern;
        friend Freund m Freunde; sister Schwester f Schwestern; brother Bruder m Brüder;
        neighbour Nachbar mn Nachbarn; actress Schauspielerin f Schauspielerinnen; judge Richter m Richter;
        mother Mutter f Mütter; father Vater m Väter; daughter Tochter f Töchter; son Sohn m Söhne;
        baker Bäcker m Bäcker; cook Koch m Köche; thief/thieves Dieb m Diebe; queen Königin f Königinnen;
        king König m Könige; guest Gast m Gäste; aunt Tante f Tanten; uncle Onkel m Onkel; painter Maler m Maler;
        waitress Kellnerin f Kellnerinnen; soldier Soldat mn Soldaten; witness Zeuge mn Zeugen;
        singer Sänger m Sänger; dancer Tänzerin f Tänzerinnen; lawyer Anwalt m Anwälte;
        colleague Kollege mn Kollegen; client Kunde mn Kunden; expert Experte mn Experten; pilot Pilot mn Piloten;
        gardener Gärtner m Gärtner; fisherman/fishermen Fischer m Fischer; grandmother Großmutter f Großmütter;
        grandfather Großvater m Großväter; princess Prinzessin f Prinzessinnen; prince Prinz mn Prinzen;
        widow Witwe f Witwen; tailor Schneider m Schneider; butcher Metzger m Metzger;
        carpenter Tischler m Tischler; sailor Matrose mn Matrosen; nun Nonne f Nonnen; monk Mönch m Mönche;
        niece Nichte f Nichten; nephew Neffe mn Neffen; poet Dichter m Dichter; hunter Jäger m Jäger;
        shepherd Hirte mn Hirten; wizard Zauberer m Zauberer; witch Hexe f Hexen; giant Riese mn Riesen;
        bishop Bischof m Bischöfe; mayor Bürgermeister m Bürgermeister; baroness Baronin f Baroninnen""",
    "animal": """
        animal Tier n Tiere; dog Hund m Hunde; cat Katze f Katzen; bird Vogel m Vögel; cow Kuh f Kühe;
        fish/fish Fisch m Fische; pig Schwein n Schweine; sheep/sheep Schaf n Schafe; bear Bär mn Bären;
        wolf/wolves Wolf m Wölfe; fox Fuchs m Füchse; rabbit Kaninchen n Kaninchen; lion Löwe mn Löwen;
        duck Ente f Enten; goose/geese Gans f Gänse; goat Ziege f Ziegen; snake Schlange f Schlangen;
        monkey Affe mn Affen; frog Frosch m Frösche; owl Eule f Eulen; tiger Tiger m Tiger; eagle Adler m Adler;
        hedgehog Igel m Igel; squirrel Eichhörnchen n Eichhörnchen; turtle Schildkröte f Schildkröten;
        whale Wal m Wale; raven Rabe mn Raben; deer/deer Reh n Rehe; otter Otter m Otter; badger Dachs m Dachse;
        lizard Eidechse f Eidechsen; beaver Biber m Biber; crocodile Krokodil n Krokodile; stork Storch m Störche;
        sparrow Spatz mn Spatzen; swallow Schwalbe f Schwalben""",
    "mount": """
        horse Pferd n Pferde; donkey Esel m Esel; camel Kamel n Kamele; pony Pony n Ponys;
        elephant Elefant mn Elefanten; mule Maultier n Maultiere; mare Stute f Stuten""",
    "flower": """
        flower Blume f Blumen; rose Rose f Rosen; tulip Tulpe f Tulpen; lily Lilie f Lilien;
        carnation Nelke f Nelken; daisy Gänseblümchen n Gänseblümchen; violet Veilchen n Veilchen;
        herb Kraut n Kräuter; sunflower Sonnenblume f Sonnenblumen; snowdrop Schneeglöckchen n Schneeglöckchen""",
    "tree": """
        tree Baum m Bäume; oak Eiche f Eichen; birch Birke f Birken; fir Tanne f Tannen; maple Ahorn m Ahorne;
        willow Weide f Weiden; beech Buche f Buchen; poplar Pappel f Pappeln; cedar Zeder f Zedern""",
    "food": """
        bread Brot n Brote; cake Kuchen m Kuchen; apple Apfel m Äpfel; cheese Käse m -; egg Ei n Eier;
        meat Fleisch n -; pear Birne f Birnen; potato/potatoes Kartoffel f Kartoffeln; carrot Karotte f Karotten;
        onion Zwiebel f Zwiebeln; sausage Wurst f Würste; tomato/tomatoes Tomate f Tomaten; cucumber Gurke f Gurken;
        orange Orange f Orangen; pizza Pizza f Pizzen; salad Salat m Salate; biscuit Keks m Kekse;
        ham Schinken m Schinken; plum Pflaume f Pflaumen; peach Pfirsich m Pfirsiche; pumpkin Kürbis m Kürbisse;
        pretzel Brezel f Brezeln; mushroom Pilz m Pilze; strawberry Erdbeere f Erdbeeren; pineapple Ananas f Ananas;
        walnut Walnuss f Walnüsse""",
    "drink": """
        drink Getränk n Getränke; milk Milch f -; water Wasser n -; coffee Kaffee m -; tea Tee m -;
        wine Wein m Weine; beer Bier n Biere; juice Saft m Säfte; lemonade Limonade f Limonaden""",
    "car": """
        car Auto n Autos; truck Lastwagen m Lastwagen; tractor Traktor m Traktoren; van Transporter m Transporter;
        limousine Limousine f Limousinen; ambulance Krankenwagen m Krankenwagen""",
    "transport": """
        train Zug m Züge; bus Bus m Busse; ferry Fähre f Fähren; tram Straßenbahn f Straßenbahnen;
        coach Reisebus m Reisebusse; ship Schiff n Schiffe; express Schnellzug m Schnellzüge""",
    "cycle": """
        bicycle Fahrrad n Fahrräder; motorcycle Motorrad n Motorräder; scooter Roller m Roller;
        moped Moped n Mopeds; tricycle Dreirad n Dreiräder""",
    "wagon": """
        cart Karren m Karren; carriage Kutsche f Kutschen; sledge Schlitten m Schlitten; plough Pflug m Pflüge;
        handcart Handwagen m Handwagen""",
    "building": """
        building Gebäude n Gebäude; house Haus n Häuser; school Schule f Schulen; church Kirche f Kirchen;
        hotel Hotel n Hotels; museum Museum n Museen; factory Fabrik f Fabriken; tower Turm m Türme;
        castle Schloss n Schlösser; library Bibliothek f Bibliotheken; hospital Krankenhaus n Krankenhäuser;
        theatre Theater n Theater; restaurant Restaurant n Restaurants; prison Gefängnis n Gefängnisse;
        barn Scheune f Scheunen; mill Mühle f Mühlen; cottage Hütte f Hütten; palace Palast m Paläste;
        monastery Kloster n Klöster; bakery Bäckerei f Bäckereien; pharmacy Apotheke f Apotheken;
        cinema Kino n Kinos; cathedral Dom m Dome; lighthouse Leuchtturm m Leuchttürme;
        fortress Festung f Festungen; chapel Kapelle f Kapellen; warehouse Lagerhaus n Lagerhäuser""",
    "room": """
        room Zimmer n Zimmer; kitchen Küche f Küchen; cellar Keller m Keller; hall Saal m Säle; office Büro n Büros;
        bathroom Badezimmer n Badezimmer; attic Dachboden m Dachböden; laboratory Labor n Labore;
        workshop Werkstatt f Werkstätten; garage Garage f Garagen; pantry Speisekammer f Speisekammern""",
    "place": """
        garden Garten m Gärten; city Stadt f Städte; village Dorf n Dörfer; forest Wald m Wälder; park Park m Parks;
        valley Tal n Täler; harbour Hafen m Häfen; desert Wüste f Wüsten; cave Höhle f Höhlen;
        port Hafenstadt f Hafenstädte; vineyard Weinberg m Weinberge; jungle Dschungel m Dschungel;
        swamp Sumpf m Sümpfe; suburb Vorort m Vororte""",
    "water": """
        river Fluss m Flüsse; lake See m Seen; beach Strand m Strände; coast Küste f Küsten; pond Teich m Teiche;
        canal Kanal m Kanäle; stream Bach m Bäche; waterfall Wasserfall m Wasserfälle""",
    "furniture": """
        table Tisch m Tische; chair Stuhl m Stühle; bed Bett n Betten; shelf/shelves Regal n Regale;
        bench Sitzbank f Sitzbänke; sofa Sofa n Sofas; desk Schreibtisch m Schreibtische;
        cupboard Schrank m Schränke; carpet Teppich m Teppiche; stool Hocker m Hocker; armchair Sessel m Sessel;
        dresser Kommode f Kommoden; cradle Wiege f Wiegen""",
    "vessel": """
        bottle Flasche f Flaschen; cup Tasse f Tassen; lamp Lampe f Lampen; vase Vase f Vasen; jug Krug m Krüge;
        bowl Schüssel f Schüsseln; bucket Eimer m Eimer; pot Topf m Töpfe; teapot Teekanne f Teekannen;
        mirror Spiegel m Spiegel; barrel Fass n Fässer; candle Kerze f Kerzen; mug Becher m Becher""",
    "paper": """
        book Buch n Bücher; newspaper Zeitung f Zeitungen; map Landkarte f Landkarten; report Bericht m Berichte;
        magazine Zeitschrift f Zeitschriften; contract Vertrag m Verträge; poem Gedicht n Gedichte;
        novel Roman m Romane; diary Tagebuch n Tagebücher; leaflet Broschüre f Broschüren;
        postcard Postkarte f Postkarten; calendar Kalender m Kalender; dictionary Wörterbuch n Wörterbücher;
        manuscript Manuskript n Manuskripte; receipt Quittung f Quittungen; essay Aufsatz m Aufsätze;
        brochure Prospekt m Prospekte; atlas Atlas m Atlanten""",
    "file": """
        file Datei f Dateien; photo Foto n Fotos; document Dokument n Dokumente; text Text m Texte;
        program Programm n Programme; spreadsheet Tabelle f Tabellen; message Nachricht f Nachrichten""",
    "picture": """
        picture Bild n Bilder; portrait Porträt n Porträts; landscape Landschaft f Landschaften;
        circle Kreis m Kreise; triangle Dreieck n Dreiecke; sketch Skizze f Skizzen; face Gesicht n Gesichter""",
    "clothing": """
        garment Kleidungsstück n Kleidungsstücke; hat Hut m Hüte; shirt Hemd n Hemden; coat Mantel m Mäntel;
        jacket Jacke f Jacken; dress Kleid n Kleider; shoe Schuh m Schuhe; sweater Pullover m Pullover;
        scarf/scarves Schal m Schals; skirt Rock m Röcke; glove Handschuh m Handschuhe; cap Mütze f Mützen;
        blouse Bluse f Blusen; boot Stiefel m Stiefel; sock Socke f Socken; belt Gürtel m Gürtel;
        apron Schürze f Schürzen; veil Schleier m Schleier; sandal Sandale f Sandalen; cape Umhang m Umhänge""",
    "tool": """
        tool Werkzeug n Werkzeuge; hammer Hammer m Hämmer; umbrella Regenschirm m Regenschirme;
        spoon Löffel m Löffel; fork Gabel f Gabeln; ladder Leiter f Leitern; rope Seil n Seile; saw Säge f Sägen;
        basket Korb m Körbe; suitcase Koffer m Koffer; comb Kamm m Kämme; broom Besen m Besen;
        needle Nadel f Nadeln; shovel Schaufel f Schaufeln; coin Münze f Münzen; watch Armbanduhr f Armbanduhren;
        brush Bürste f Bürsten; chain Kette f Ketten; anchor Anker m Anker; axe Axt f Äxte; rake Rechen m Rechen;
        drill Bohrer m Bohrer; torch Fackel f Fackeln; wallet Brieftasche f Brieftaschen; pillow Kissen n Kissen;
        blanket Decke f Decken; ring Ring m Ringe""",
    "blade": """
        knife/knives Messer n Messer; sword Schwert n Schwerter; dagger Dolch m Dolche; scythe Sense f Sensen;
        razor Rasiermesser n Rasiermesser""",
    "gun": """
        weapon Waffe f Waffen; cannon Kanone f Kanonen; rifle Gewehr n Gewehre; pistol Pistole f Pistolen;
        rocket Rakete f Raketen; musket Muskete f Musketen""",
    "instrument": """
        instrument Instrument n Instrumente; piano Klavier n Klaviere; violin Geige f Geigen; flute Flöte f Flöten;
        guitar Gitarre f Gitarren; trumpet Trompete f Trompeten; drum Trommel f Trommeln; harp Harfe f Harfen;
        cello Cello n Celli; clarinet Klarinette f Klarinetten; accordion Akkordeon n Akkordeons""",
    "device": """
        device Gerät n Geräte; phone Telefon n Telefone; computer Computer m Computer; camera Kamera f Kameras;
        radio Radio n Radios; printer Drucker m Drucker; laptop Laptop m Laptops; tablet Tablet n Tablets;
        alarm Wecker m Wecker; calculator Taschenrechner m Taschenrechner""",
    "machine": """
        machine Maschine f Maschinen; engine Motor m Motoren; pump Pumpe f Pumpen;
        generator Generator m Generatoren; turbine Turbine f Turbinen; lift Aufzug m Aufzüge;
        heater Heizung f Heizungen; fan Ventilator m Ventilatoren""",
    "bell": "bell Glocke f Glocken; gong Gong m Gongs; chime Glockenspiel n Glockenspiele",
    "opening": """
        door Tür f Türen; window Fenster n Fenster; gate Tor n Tore; box Kiste f Kisten;
        drawer Schublade f Schubladen; parcel Paket n Pakete; bag Tasche f Taschen; safe Tresor m Tresore;
        curtain Vorhang m Vorhänge; tin Dose f Dosen; envelope Umschlag m Umschläge; hatch Luke f Luken""",
    "event": """
        event Veranstaltung f Veranstaltungen; exhibition Ausstellung f Ausstellungen; festival Fest n Feste;
        conference Konferenz f Konferenzen; concert Konzert n Konzerte; meeting Sitzung f Sitzungen;
        market Markt m Märkte; trial Prozess m Prozesse; wedding Hochzeit f Hochzeiten;
        ceremony Zeremonie f Zeremonien; banquet Bankett n Bankette; auction Auktion f Auktionen""",
    "fact": """
        answer Antwort f Antworten; truth Wahrheit f -; reason Grund m Gründe; result Ergebnis n Ergebnisse;
        solution Lösung f Lösungen; address Adresse f Adressen; password Passwort n Passwörter""",
    "rule": """
        rule Regel f Regeln; law Gesetz n Gesetze; order Befehl m Befehle; promise Versprechen n Versprechen;
        agreement Vereinbarung f Vereinbarungen; commandment Gebot n Gebote""",
    "plan": """
        plan Plan m Pläne; project Projekt n Projekte; decision Entscheidung f Entscheidungen;
        opinion Meinung f Meinungen; idea Idee f Ideen; schedule Zeitplan m Zeitpläne;
        strategy Strategie f Strategien""",
    "task": """
        question Frage f Fragen; task Aufgabe f Aufgaben; problem Problem n Probleme; riddle Rätsel n Rätsel;
        exam Prüfung f Prüfungen; exercise Übung f Übungen""",
    "price": """
        price Preis m Preise; tax Steuer f Steuern; rent Miete f Mieten; fee Gebühr f Gebühren; wage Lohn m Löhne;
        temperature Temperatur f Temperaturen""",
    "money": "money Geld n -; sum Summe f Summen; fortune Vermögen n Vermögen; salary Gehalt n Gehälter",
    "time": """
        day Tag m Tage; week Woche f Wochen; summer Sommer m Sommer; night Nacht f Nächte; month Monat m Monate;
        weekend Wochenende n Wochenenden; holiday Urlaub m Urlaube; afternoon Nachmittag m Nachmittage;
        year Jahr n Jahre; hour Stunde f Stunden""",
    "weather": """
        rain Regen m -; snow Schnee m -; storm Sturm m Stürme; fog Nebel m -; thunderstorm Gewitter n Gewitter;
        wind Wind m Winde; hail Hagel m -; frost Frost m -""",
    "medicine": """
        pill Tablette f Tabletten; medicine Medikament n Medikamente; antibiotic Antibiotikum n Antibiotika;
        vitamin Vitamin n Vitamine; remedy Heilmittel n Heilmittel""",
    "group": """
        company Firma f Firmen; club Verein m Vereine; team Mannschaft f Mannschaften; choir Chor m Chöre;
        party Partei f Parteien; orchestra Orchester n Orchester; army Armee f Armeen;
        union Gewerkschaft f Gewerkschaften""",
}

# Kinds whose first noun names the whole kind.
TOPS = (
    "person",
    "animal",
    "flower",
    "tree",
    "drink",
    "building",
    "clothing",
    "tool",
    "gun",
    "instrument",
    "device",
    "event",
)


def noun(entry: str, kind: str, rank: int) -> Noun:
    """The noun of one table entry."""
    english, german, code, german_plural = entry.split()
    singular, _, plural = english.partition("/")
    gender = code[0]
    if code.endswith("x"):
        pronoun = ""
    elif kind == "person":
        pronoun = {"m": "he", "f": "she", "n": "she" if code == "nf" else "it"}[gender]
    else:
        pronoun = "it"
    return Noun(
        english=singular,
        english_plural=plural or plural_of(singular),
        german=german,
        gender=gender,
        german_plural=german_plural,
        kind=kind,
        weak=code == "mn",
        pronoun=pronoun,
        rank=rank,
    )


def parse(table: str, kind: str) -> tuple[Noun, ...]:
    """The nouns of one table."""
    return tuple(noun(entry, kind, rank) for rank, entry in enumerate(table.split(";")))


NOUNS: dict[str, tuple[Noun, ...]] = {kind: parse(table, kind) for kind, table in TABLES.items()}
HYPERNYMS: dict[str, Noun] = {kind: NOUNS[kind][0] for kind in TOPS}

MATERIALS = {
    "wood": "Holz", "glass": "Glas", "iron": "Eisen", "stone": "Stein", "gold": "Gold", "silver": "Silber",
    "copper": "Kupfer", "plastic": "Plastik", "steel": "Stahl", "marble": "Marmor", "bronze": "Bronze",
}  # fmt: skip
FABRICS = {
    "leather": "Leder", "wool": "Woll", "silk": "Seiden", "cotton": "Baumwoll", "linen": "Leinen", "velvet": "Samt",
    "winter": "Winter", "summer": "Sommer", "children": "Kinder",
}  # fmt: skip
SETTINGS = {
    "kitchen": "Küchen", "garden": "Garten", "city": "Stadt", "village": "Dorf", "school": "Schul", "church": "Kirchen",
    "hotel": "Hotel", "island": "Insel", "mountain": "Berg", "forest": "Wald", "university": "Universitäts",
    "office": "Büro", "hospital": "Krankenhaus", "farm": "Bauernhof", "harbour": "Hafen", "family": "Familien",
    "museum": "Museums", "army": "Armee",
}  # fmt: skip
TOPICS = {
    "travel": "Reise", "music": "Musik", "art": "Kunst", "sport": "Sport", "newspaper": "Zeitungs", "school": "Schul",
    "family": "Familien", "winter": "Winter", "nature": "Natur", "garden": "Garten", "history": "Geschichts",
    "science": "Wissenschafts", "government": "Regierungs",
}  # fmt: skip
FIRST_NOUNS: dict[str, dict[str, str]] = {
    "furniture": MATERIALS | SETTINGS,
    "vessel": MATERIALS | SETTINGS,
    "tool": MATERIALS,
    "blade": MATERIALS,
    "bell": SETTINGS | MATERIALS,
    "opening": MATERIALS | SETTINGS,
    "clothing": FABRICS,
    "building": SETTINGS,
    "room": SETTINGS,
    "paper": TOPICS,
    "event": TOPICS,
    "device": SETTINGS,
    "plan": TOPICS,
}
