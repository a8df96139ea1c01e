"""The catalog: every task has its splits, and every model finds one that judges it."""

from dataclasses import replace

import pytest
import transformers as hf

from headscope.tasks import task_catalog
from headscope.tasks.fidelity import Fidelity, TranslationFidelity
from headscope.tasks.natural.passages import REGISTERS, passages
from headscope.tasks.task import SPLITS
from headscope.tasks.task_catalog import SPECIMEN_TASKS, TASKS, example_texts, fitting, task, task_for
from tests.families import TEXT, VISION
from tests.tasks.tiny import filler, sharpened, tiny, tokenizer

GRAMMAR = ("inference", "translation", "stories")


@pytest.fixture
def sizes(monkeypatch):
    """Small splits: with every call type-checked, as in tests, the grammar is a hundred times slower."""
    made = (task_catalog._inference_examples, task_catalog._translation_examples, task_catalog._story_examples)
    small = {"calibration": 6, "development": 4, "test": 8}
    monkeypatch.setattr(task_catalog, "SIZES", small)
    for examples in made:
        examples.cache_clear()
    yield small
    for examples in made:
        examples.cache_clear()


@pytest.mark.parametrize("key", GRAMMAR)
def test_the_grammar_fills_every_split_with_different_examples(key, sizes):
    seen = [example for split in SPLITS for example in task(key).examples.first(split)]
    assert [len(task(key).examples.first(split)) for split in SPLITS] == list(sizes.values())
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("key", [key for key in TASKS if key not in GRAMMAR and key != "digits"])
def test_natural_sentences_and_passages_fill_every_split(key):
    texts = [set(task(key).examples.first(split)) for split in SPLITS]
    assert all(len(part) >= 10 for part in texts)
    assert not texts[0] & texts[1] and not texts[0] & texts[2] and not texts[1] & texts[2]


@pytest.mark.parametrize("split", SPLITS)
def test_every_split_has_24_passages_and_any_six_in_a_row_are_of_six_registers(split):
    register = {passage.text: name for name, own in passages().items() for passage in own}
    found = [register[text] for text in task("passages").examples.first(split)]
    assert found == [*REGISTERS] * 4


def test_every_task_goes_by_its_key_and_every_specimen_has_one():
    assert all(task(key).key == key for key in TASKS)
    assert set(SPECIMEN_TASKS.values()) <= set(TASKS)
    with pytest.raises(KeyError, match="no task 'nothing'; known: "):
        task("nothing")


def test_a_specimen_is_judged_by_what_it_learned():
    assert task_for(replace(tiny("marian"), name="translator")) is task("translation")


def test_models_are_judged_by_what_they_can_do():
    assert task_for(tiny("gpt2")) is task("passages")
    assert task_for(filler()) is task("passages")
    assert isinstance(task_for(tiny("marian")), TranslationFidelity)
    assert isinstance(task_for(tiny("bert")), Fidelity)
    assert isinstance(task_for(tiny("vit")), Fidelity)


@pytest.mark.parametrize(
    ("labels", "key"),
    [(("Neutral", "ENTAILMENT", "contradiction"), "inference"), (("negative", "neutral", "positive"), "sentiment")],
)
def test_a_classifier_is_judged_by_the_labels_it_knows(labels, key):
    head_model = tiny("bert")
    head_model.model.config.id2label = dict(enumerate(labels))
    assert task_for(head_model) is task(key)


def test_a_model_without_a_head_is_judged_by_its_features():
    headless = sharpened(lambda: hf.BertModel(hf.BertConfig(**TEXT)), tokenizer())
    assert isinstance(task_for(headless), Fidelity)
    assert list(fitting(headless)) == ["fidelity"]


def test_a_tower_whose_configuration_names_ten_digits_does_not_tell_them():
    names = {number: str(number) for number in range(10)}
    tower = sharpened(lambda: hf.ViTModel(hf.ViTConfig(**VISION, id2label=names)))
    assert isinstance(task_for(tower), Fidelity)
    teller = sharpened(lambda: hf.ViTForImageClassification(hf.ViTConfig(**VISION, id2label=names)))
    assert task_for(teller) is task("digits")


def test_a_model_that_listens_is_told_what_it_needs():
    with pytest.raises(ValueError, match=r"listens to sound; it is judged on own data alone: a table \(.tsv\) of two"):
        task_for(tiny("whisper"))
    assert fitting(tiny("whisper")) == {}


def test_passages_come_first_and_natural_sentences_stay_to_be_chosen():
    assert list(fitting(tiny("gpt2"))) == ["passages", "stories", "natural-text", "fidelity"]
    assert list(fitting(filler())) == ["passages", "natural-text", "fidelity"]


def test_texts_to_look_at_are_short_though_the_model_is_judged_on_long_ones():
    sentences = task("natural-text").examples.first("development", 5)
    assert example_texts(tiny("gpt2"), 5) == [(sentence, None) for sentence in sentences]
    specimen = replace(tiny("marian"), name="translator")
    assert example_texts(specimen, 1)[0][0] == task("translation").examples.first("development", 1)[0].source


@pytest.mark.parametrize("key", GRAMMAR)
def test_the_grammar_makes_fresh_examples_for_every_round_of_a_training(key, monkeypatch):
    monkeypatch.setattr(task_catalog, "ROUND", 5)
    examples = task(key).examples
    rounds = [examples.training(seed, number) for seed, number in ((0, 0), (0, 0), (0, 1), (1, 0))]
    assert rounds[0] == rounds[1]
    assert [len(one) for one in rounds] == [5] * 4
    assert not set(rounds[0]) & (set(rounds[2]) | set(rounds[3])) and not set(rounds[2]) & set(rounds[3])
    assert task(key).fresh


def test_fresh_sentences_have_no_combination_that_is_held_out(monkeypatch):
    asked = []
    monkeypatch.setattr(task_catalog, "sentences", lambda _, split: asked.append(split) or iter(()))
    assert task_catalog._fresh_translation(0, 0) == ()
    assert asked == ["train"]


def test_natural_sentences_are_trained_on_by_calibration_alone():
    natural = task("natural-text")
    assert not natural.fresh
    assert natural.examples.training(0, 7) == natural.examples.first("calibration")
