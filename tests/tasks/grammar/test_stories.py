"""Stories share a cast."""

from __future__ import annotations

from itertools import islice

from headscope.tasks.grammar import stories
from tests.tasks.grammar.draw import drawn


def test_a_story_has_two_to_five_sentences_and_its_probability_is_their_product() -> None:
    lengths = set()
    for story in drawn("stories", 1, 300):
        lengths.add(len(story.sentences))
        assert abs(sum(sentence.log_probability for sentence in story.sentences) - story.log_probability) < 1e-6
    assert lengths == {2, 3, 4, 5}


def test_nouns_and_names_come_back() -> None:
    returning = 0
    for story in drawn("stories", 2, 300):
        heads = [
            {word for word, tag in zip(s.words, s.upos, strict=True) if tag in ("NOUN", "PROPN")}
            for s in story.sentences
        ]
        earlier = set[str]()
        for words in heads:
            returning += bool(earlier & words)
            earlier |= words
    assert returning > 250


def test_pronouns_refer_back_over_sentences_to_a_word_they_can_stand_for() -> None:
    across = 0
    for story in drawn("stories", 3, 400):
        words = [word for sentence in story.sentences for word in sentence.words]
        ends = [sum(len(s.words) for s in story.sentences[: n + 1]) for n in range(len(story.sentences))]
        for pronoun, noun in story.antecedents:
            assert words[pronoun] in ("he", "him", "she", "her", "it", "they", "them")
            assert noun < pronoun
            assert words[noun].lower() not in ("he", "she", "it", "they", "the")
            across += sum(end <= noun for end in ends) != sum(end <= pronoun for end in ends)
    assert across > 100


def test_a_seed_gives_the_same_stories_again() -> None:
    assert list(islice(stories(5), 20)) == list(islice(stories(5), 20))
