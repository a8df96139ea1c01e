"""Samples: what is known about the tokens a model reads, for every kind of model."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from headscope.analysis.roles.passages import Link, Passage, from_texts, from_trees, parsed, passages_for
from headscope.analysis.roles.sample import image_sample, sampling, text_sample
from headscope.analysis.roles.sample_selection import chosen_sample
from headscope.analysis.roles.search_progress import Progress
from headscope.tasks.natural import CONLLU
from headscope.tasks.readers import Source, read_trees
from tests.analysis.roles import wired
from tests.analysis.subjects import subject


def test_links_of_a_treebank_count_from_0_without_root_and_punctuation() -> None:
    passage = from_trees(read_trees(Source.from_path(CONLLU)).sentences)[1]
    assert passage.words[0][:5] == ("Our", "waiter", "forgot", "the", "drinks")
    assert Link("nsubj", 1, 2) in passage.links and Link("obj", 4, 2) in passage.links
    assert not {"root", "punct"} & {link.relation for link in passage.links}
    assert passage.target is not None and passage.target.startswith("Unser Kellner")


def test_special_tokens_belong_to_no_word_and_unknown_words_are_words() -> None:
    (reading,) = text_sample(subject("encoder")[0], from_texts(["w1 nonsense w2"])).readings
    assert reading.source.owners == (-1, 0, 1, 2, -1)


def test_two_texts_are_numbered_on_and_the_separator_belongs_to_neither() -> None:
    passage = Passage(("w1 w2", "w3"), (("w1", "w2"), ("w3",)), (Link("a", 0, 1), Link("b", 2, 0)))
    (reading,) = text_sample(subject("encoder")[0], [passage]).readings
    assert reading.source.owners == (-1, 0, 1, -1, 2, -1)


def test_a_decoder_reads_a_word_one_place_after_it_was_written() -> None:
    sample = text_sample(subject("seq2seq")[0], [Passage(("w1 w2",), (("w1", "w2"),), (), "w3 w4 w5")])
    (reading,) = sample.readings
    assert reading.target is not None and reading.written is not None
    assert reading.target.owners == (-1, 0, 1, 2)
    assert reading.written.owners == (0, 1, 2, -1)
    assert len(reading.row.inputs["decoder_input_ids"]) == len(reading.row.labels) == 4


def test_without_a_translation_the_model_writes_its_own() -> None:
    (reading,) = text_sample(subject("seq2seq")[0], from_texts(["w1 w2 w3"])).readings
    assert reading.target is not None and len(reading.target) == len(reading.row.labels)


def test_probes_repeat_random_tokens_of_the_texts_in_changing_numbers() -> None:
    probes = [reading for reading in wired.told().readings if reading.repeated]
    sizes = set()
    for probe in probes:
        tokens = [probe.source.tokens[place] for place in probe.source.ordinary]
        half = len(tokens) // 2
        assert tokens[:half] == tokens[half:] and len(set(tokens)) == half
        sizes.add(half)
    assert len(sizes) == 13 and {probe.half for probe in probes} == {0, 1}


def test_images_have_a_class_token_and_a_grid_of_patches() -> None:
    reading = image_sample(subject("vision")[0], 3).readings[0]
    assert reading.source.owners == (-1, 0, 1, 2, 3) and reading.grid == (2, 2)


def test_equal_passages_are_read_once_so_that_no_half_knows_the_other() -> None:
    assert len(text_sample(subject("encoder")[0], from_texts(["w1", "w2", "w1"])).readings) == 2


def test_any_other_model_reads_our_natural_sentences() -> None:
    passages, title = passages_for(subject("encoder")[0], 5, "test")
    assert len(passages) == 5 and passages[0].texts[0].startswith("The soup was rich")
    assert title == "5 natural sentences", "they have no split"


def test_a_model_made_from_a_specimen_reads_what_the_specimen_reads_if_its_task_is_chosen() -> None:
    specimen, copy = (replace(subject("seq2seq")[0], name=name) for name in ("translator", "/somewhere/smaller"))
    expected = passages_for(specimen, 4)
    assert expected[0][0].alignment and expected[1] == "4 passages of development"
    assert passages_for(copy, 4, task="translation") == expected
    assert passages_for(copy, 4, task="fidelity")[1] == "4 natural sentences"
    with pytest.raises(ValueError, match="no task 'nonsense'; known: digits, fidelity"):
        passages_for(copy, 4, task="nonsense")


def test_every_passage_is_a_step_so_that_a_run_can_stop_there() -> None:
    steps = list(sampling(subject("encoder")[0], from_texts(["w1", "w2", "w1 w2"])))
    assert steps == [Progress(done, 3) for done in (1, 2, 3)]


@pytest.mark.parametrize(("suffix", "links"), [(".conllu", True), (".txt", False)])
def test_a_file_gives_trees_or_plain_texts(tmp_path: Path, suffix: str, links: bool) -> None:
    file = tmp_path / f"mine{suffix}"
    rows = "".join(f"{n}\tw{n}\t_\tX\t_\t_\t{n - 1}\t{'root' if n == 1 else 'dep'}\t_\t_\n" for n in (1, 2, 3))
    file.write_text(f"# text = w1 w2 w3\n{rows}\n" if links else "w1 w2 w3\n\nw4 w5\n")
    sample, broken = chosen_sample(subject("encoder")[0], 10, data=str(file))
    assert bool(sample.readings[0].links) == links and broken == ()
    assert len(sample.readings) == (1 if links else 2)
    assert "mine" in sample.title


def test_texts_for_a_model_of_images_are_refused() -> None:
    with pytest.raises(ValueError, match="found on digits"):
        chosen_sample(subject("vision")[0], 10, data="some.txt")
    with pytest.raises(ValueError, match="at least 2"):
        chosen_sample(subject("vision")[0], 1)


@dataclass
class _Token:
    i: int
    text: str
    dep_: str
    head: object = None
    is_space: bool = False


def test_a_spacy_pipeline_gives_trees_with_the_names_of_universal_dependencies(monkeypatch: pytest.MonkeyPatch) -> None:
    spelt = ((" ", ""), ("dogs", "nsubj"), ("chase", "ROOT"), ("cats", "dobj"))
    document = [_Token(number, text, relation, is_space=text == " ") for number, (text, relation) in enumerate(spelt)]
    for token in document:
        token.head = document[2]
    fake = SimpleNamespace(load=lambda _: lambda _: document)
    monkeypatch.setitem(sys.modules, "spacy", fake)
    (passage,) = parsed([" dogs chase cats"], "en")
    assert passage.words == (("dogs", "chase", "cats"),)
    assert passage.links == (Link("nsubj", 0, 1), Link("obj", 2, 1))


def test_a_pipeline_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ValueError, match="no spaCy pipeline 'en' is installed"):
        list(parsed(["a"], "en"))
