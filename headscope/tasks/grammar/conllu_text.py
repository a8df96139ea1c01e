"""Sentences as CoNLL-U."""

from __future__ import annotations

from collections.abc import Iterable

from headscope.tasks.grammar.sentence import Sentence


def to_conllu(sentences: Iterable[Sentence]) -> str:
    """The sentences with `# text` and `# text_de`; lemmas and features are left out."""
    return "".join(block(number, sentence) for number, sentence in enumerate(sentences, start=1))


def block(number: int, sentence: Sentence) -> str:
    """One sentence and the empty line after it."""
    words = shown(sentence)
    lines = [f"# sent_id = {number}", f"# text = {sentence.english}", f"# text_de = {sentence.german_text}"]
    for index, word in enumerate(words):
        head, relation = sentence.heads[index], sentence.relations[index]
        tight = index + 1 < len(words) and sentence.upos[index + 1] == "PUNCT"
        misc = "SpaceAfter=No" if tight else "_"
        lines.append(f"{index + 1}\t{word}\t_\t{sentence.upos[index]}\t_\t_\t{head}\t{relation}\t_\t{misc}")
    return "\n".join(lines) + "\n\n"


def shown(sentence: Sentence) -> list[str]:
    """The words as they stand in the text: the first with a capital."""
    first, *rest = sentence.words
    return [first[:1].upper() + first[1:], *rest]
