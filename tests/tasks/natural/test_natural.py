"""Checks of the natural-sentence data: well-formed trees, matching files, annotation slips."""

import re
from collections import Counter

from headscope.tasks.natural import CONLLU, TSV


def words(string):
    return set(string.split())


UPOS = words("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X")
DEPRELS = words(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl "
    "fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative "
    "xcomp"
)
LABELS = {"positive", "negative", "neutral"}
SENTENCE_ENDS = (".", "?", "!")
NOMINAL = words("NOUN PROPN PRON NUM")
PREDICATE_RELS = words("root conj parataxis ccomp xcomp advcl acl csubj appos")
POSSESSIVES = words("my your his her its our their whose")

# Relation -> parts of speech that its dependent may have.
DEPENDENT_UPOS = {
    "det": {"DET"},
    "case": words("ADP PART VERB"),
    "mark": words("SCONJ PART"),
    "cc": {"CCONJ"},
    "amod": words("ADJ VERB"),
    "nummod": {"NUM"},
    "advmod": words("ADV PART"),
    "aux": {"AUX"},
    "cop": {"AUX"},
    "compound": words("NOUN PROPN NUM"),
    "compound:prt": {"ADP"},
    "discourse": {"INTJ"},
    "expl": {"PRON"},
    "flat": {"PROPN"},
    "punct": {"PUNCT"},
} | dict.fromkeys(words("nsubj obj iobj obl nmod"), NOMINAL | words("ADJ DET"))

# Relation -> parts of speech that its head may have ("the first", "at last", "above all" stand on no plain nominal).
HEAD_UPOS = {
    "det": NOMINAL | {"ADJ"},
    "case": NOMINAL | words("ADJ DET"),
    "amod": NOMINAL,
    "nummod": {"NOUN"},
    "nmod": NOMINAL | words("ADJ DET"),
    "acl": NOMINAL,
    "aux": words("VERB ADJ NOUN ADV"),
    "aux:pass": {"VERB"},
    "compound": words("NOUN PROPN NUM"),
    "compound:prt": {"VERB"},
    "obj": {"VERB"},
    "iobj": {"VERB"},
    "flat": {"PROPN"},
}

# Relation -> relations that its head may have to what is above it.
HEAD_RELS = dict.fromkeys(words("nsubj csubj expl cop aux mark"), PREDICATE_RELS) | {"cc": {"conj"}}

# Part of speech -> relations that it may have.
UPOS_RELS = {
    "ADP": words("case fixed compound:prt"),
    "ADV": words("advmod root conj advcl fixed"),
    "AUX": words("aux aux:pass cop advcl conj"),
    "CCONJ": words("cc cc:preconj"),
    "DET": words("det det:predet nsubj obl conj"),
    "INTJ": {"discourse"},
    "PART": words("mark case advmod"),
    "PUNCT": {"punct"},
    "SCONJ": words("mark fixed"),
}

# Word form -> its only part of speech and relation.
FIXED_WORDS = {
    "the": ("DET", "det"),
    "a": ("DET", "det"),
    "an": ("DET", "det"),
    "n't": ("PART", "advmod"),
    "not": ("PART", "advmod"),
    "and": ("CCONJ", "cc"),
    "or": ("CCONJ", "cc"),
    "nor": ("CCONJ", "cc"),
    "my": ("PRON", "nmod:poss"),
    "our": ("PRON", "nmod:poss"),
    "their": ("PRON", "nmod:poss"),
    "your": ("PRON", "nmod:poss"),
    "its": ("PRON", "nmod:poss"),
    "whose": ("PRON", "nmod:poss"),
    "because": ("SCONJ", "mark"),
    "although": ("SCONJ", "mark"),
    "of": ("ADP", "case"),
}


class Token:
    """One word line of a CoNLL-U tree."""

    def __init__(self, line):
        columns = line.split("\t")
        assert len(columns) == 10, line
        assert columns[4] == columns[5] == columns[8] == "_", line
        assert all(column and column == column.strip() for column in columns), line
        self.id, self.form, self.lemma, self.upos = int(columns[0]), columns[1], columns[2], columns[3]
        self.head, self.deprel, self.misc = int(columns[6]), columns[7], columns[9]
        self.rel = self.deprel.split(":")[0]

    def __repr__(self):
        return f"{self.form}/{self.upos}/{self.deprel}"


def read_conllu():
    """Return a list of (comments, tokens) pairs."""
    sentences = []
    for block in CONLLU.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.split("\n")
        comments = dict(line[2:].split(" = ", 1) for line in lines if line.startswith("#"))
        sentences.append((comments, [Token(line) for line in lines if not line.startswith("#")]))
    return sentences


SENTENCES = read_conllu()


def every_tree(check):
    """Make a test that runs the check on each tree and lists all the trees that fail it."""

    def test():
        slips = []
        for comments, tokens in SENTENCES:
            try:
                check(tokens)
            except AssertionError as error:
                slips.append(f"{comments['sent_id']}: {error}")
        assert slips == []

    test.__doc__ = check.__doc__
    return test


def children(tokens, token):
    return [other for other in tokens if other.head == token.id]


def with_heads(tokens):
    """Yield each token that is not the root, with its head."""
    for token in tokens:
        if token.head:
            yield token, tokens[token.head - 1]


def ancestors(tokens, token):
    """Return the ids from the token up to the root, both included; a cycle fails."""
    found = [token.id]
    while token.head:
        token = tokens[token.head - 1]
        assert token.id not in found, f"cycle at {token}"
        found.append(token.id)
    return found


def lookup(table, token):
    """Return the table's entry for the token's full relation, else for the relation without its subtype."""
    return table.get(token.deprel, table.get(token.rel))


def test_size_and_uniqueness():
    assert len(SENTENCES) == 300
    for key in ("sent_id", "text", "text_de"):
        values = [comments[key].lower() for comments, _ in SENTENCES]
        assert [value for value, count in Counter(values).items() if count > 1] == []


def test_label_counts():
    counts = Counter(comments["sentiment"] for comments, _ in SENTENCES)
    assert set(counts) == LABELS
    assert all(80 <= count <= 120 for count in counts.values()), counts


def test_lengths():
    lengths = [len(comments["text"].split()) for comments, _ in SENTENCES]
    assert min(lengths) >= 4
    assert max(lengths) <= 28
    assert 10 <= sum(lengths) / len(lengths) <= 12


def test_table_agrees_with_trees():
    header, *rows = [line.split("\t") for line in TSV.read_text(encoding="utf-8").splitlines()]
    assert header == ["id", "english", "german", "sentiment"]
    keys = ("sent_id", "text", "text_de", "sentiment")
    assert rows == [[comments[key] for key in keys] for comments, _ in SENTENCES]


def test_text_is_rebuilt():
    for comments, tokens in SENTENCES:
        assert {token.misc for token in tokens} <= {"_", "SpaceAfter=No"}
        text = "".join(token.form + ("" if token.misc == "SpaceAfter=No" else " ") for token in tokens)
        assert text.strip() == comments["text"]


def test_sentences_are_clean():
    for comments, _ in SENTENCES:
        english, german = comments["text"], comments["text_de"]
        assert english.endswith("?") == german.endswith("?"), english
        for string in (english, german):
            assert string[0].isupper() and string.endswith(SENTENCE_ENDS), string
            assert re.search(r"\s\s|\s[,.?!;:]|[^\w\s'.,?!:-]", string) is None, string


def test_words_keep_their_lemma():
    """The same form with the same part of speech gets the same lemma; only "her" has two."""
    lemmas = {}
    for _, tokens in SENTENCES:
        for token in tokens:
            lemmas.setdefault((token.form.lower(), token.upos), set()).add(token.lemma)
    assert {key[0] for key, found in lemmas.items() if len(found) > 1} <= {"her"}


def test_inflected_words_have_a_lemma():
    """A plural or a past form that is its own lemma is a slip unless listed."""
    listed = words("glasses trousers mathematics series")
    ends = {"NOUN": ("s", "ies"), "VERB": ("ed", "ing", "s")}
    allowed_end = ("ss", "us", "is", "ring", "eed")
    for _, tokens in SENTENCES:
        for token in tokens:
            same = token.form.lower() == token.lemma and token.lemma not in listed
            assert not (same and token.lemma.endswith(ends.get(token.upos, "\n"))) or token.lemma.endswith(
                allowed_end
            ), token


@every_tree
def test_tree(tokens):
    assert [token.id for token in tokens] == list(range(1, len(tokens) + 1))
    assert [token.deprel for token in tokens if token.head == 0] == ["root"]
    for token in tokens:
        assert 0 <= token.head <= len(tokens), token
        assert (token.head == 0) == (token.deprel == "root"), token
        ancestors(tokens, token)


@every_tree
def test_projective(tokens):
    """Each word between a word and its head hangs below that head; the sentences hold no crossing arcs."""
    for token, head in with_heads(tokens):
        for between in tokens[min(token.id, head.id) : max(token.id, head.id) - 1]:
            assert head.id in ancestors(tokens, between), (token, head, between)


@every_tree
def test_labels(tokens):
    for token in tokens:
        assert token.upos in UPOS, token
        assert token.rel in DEPRELS, token
        assert re.fullmatch(r"[a-z]+(:[a-z]+)?", token.deprel), token


@every_tree
def test_parts_of_speech_fit_relations(tokens):
    for token in tokens:
        assert token.upos in (lookup(DEPENDENT_UPOS, token) or UPOS), token
        assert token.deprel in UPOS_RELS.get(token.upos, {token.deprel}), token


@every_tree
def test_heads_fit_relations(tokens):
    for token, head in with_heads(tokens):
        assert head.upos in (lookup(HEAD_UPOS, token) or UPOS), (token, head)
        if token.deprel != "cc:preconj":
            assert head.rel in HEAD_RELS.get(token.rel, DEPRELS), (token, head)


@every_tree
def test_fixed_words(tokens):
    for token in tokens:
        expected = FIXED_WORDS.get(token.form.lower())
        idiom = any(child.rel == "fixed" for child in children(tokens, token))
        assert expected in (None, (token.upos, token.deprel)) or idiom, token
        if token.rel == "case" and token.upos == "VERB":
            assert token.form.lower() == "according", token


@every_tree
def test_word_order(tokens):
    after = words("conj flat fixed appos acl parataxis")
    before = words("det case mark aux cop cc")
    for token, head in with_heads(tokens):
        if token.rel in after and token.form != "Excuse":
            assert token.id > head.id, (token, head)
        possessive = token.upos == "PART" and token.rel == "case"
        question = tokens[0].form in {"How", "What"} and token.rel == "cop"
        if token.rel in before and not possessive and not question:
            assert token.id < head.id, (token, head)


@every_tree
def test_function_words_are_leaves(tokens):
    for token in tokens:
        if token.rel in words("aux cop case mark det cc punct"):
            below = {child.rel for child in children(tokens, token)}
            assert below <= {"fixed", "advmod"}, (token, below)


@every_tree
def test_punctuation(tokens):
    for token in tokens:
        assert (token.rel == "punct") == (token.upos in {"PUNCT", "SYM"}), token
        assert (token.upos == "PUNCT") == (re.fullmatch(r"\W", token.form) is not None), token
    assert tokens[-1].upos == "PUNCT"
    assert tokens[tokens[-1].head - 1].head == 0


@every_tree
def test_copulas(tokens):
    """A copula is a form of be, its head no verb, but for "like watching"."""
    for token, head in with_heads(tokens):
        if token.rel == "cop":
            marks = {child.lemma for child in children(tokens, head) if child.rel == "mark"}
            assert token.lemma == "be", token
            assert head.upos != "VERB" or "like" in marks, (token, head)
        if token.rel in {"nsubj", "csubj", "expl"} and head.upos not in {"VERB", "AUX"}:
            assert any(child.rel == "cop" for child in children(tokens, head)), (token, head)


@every_tree
def test_passives(tokens):
    for token in tokens:
        rels = {child.deprel for child in children(tokens, token)}
        if "aux:pass" in rels:
            assert not rels & {"nsubj", "cop"}, (token, rels)
        if rels & {"nsubj:pass", "obl:agent"}:
            assert "aux:pass" in rels, (token, rels)


@every_tree
def test_one_of_each_argument(tokens):
    for token in tokens:
        rels = Counter(child.rel for child in children(tokens, token))
        assert rels["nsubj"] + rels["csubj"] <= 1, (token, rels)
        assert max(rels["obj"], rels["iobj"], rels["cop"], rels["expl"]) <= 1, (token, rels)
        assert rels["iobj"] == 0 or rels["obj"] + rels["ccomp"] == 1, (token, rels)


@every_tree
def test_prepositions(tokens):
    """Obliques and nominal modifiers carry a preposition unless marked as bare; subjects and objects carry none."""
    for token in tokens:
        marked = any(child.rel == "case" for child in children(tokens, token))
        if token.deprel in words("obl obl:agent nmod nmod:poss"):
            assert marked or token.lemma in POSSESSIVES, token
        if token.deprel in words("obl:tmod obl:npmod nmod:npmod nsubj nsubj:pass obj iobj"):
            assert not marked, token
        if token.upos in {"NOUN", "PROPN", "PRON"} and marked:
            assert token.rel in words("obl nmod conj orphan"), token


@every_tree
def test_obliques_and_clauses_hang_on_predicates(tokens):
    for token, head in with_heads(tokens):
        if token.rel in {"obl", "advcl", "ccomp", "xcomp"}:
            assert head.rel in PREDICATE_RELS or head.upos in words("VERB ADJ ADV"), (token, head)
        if token.deprel == "acl:relcl":
            assert head.upos != "ADJ", (token, head)


@every_tree
def test_infinitives(tokens):
    """The infinitive marker stands on a verb or on a predicate with a copula."""
    for token, head in with_heads(tokens):
        if token.rel == "mark" and token.lemma == "to":
            copula = any(child.rel == "cop" for child in children(tokens, head))
            assert head.upos == "VERB" or copula, (token, head)
            assert head.rel in words("xcomp advcl acl csubj"), (token, head)


@every_tree
def test_coordination(tokens):
    for token, head in with_heads(tokens):
        if token.rel == "conj":
            assert head.rel != "conj" or head.upos in words("VERB ADJ NOUN"), (token, head)
            joined = {child.rel for child in children(tokens, token)}
            assert joined & {"cc", "punct"}, token
