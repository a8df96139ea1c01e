"""Own texts judge every model that reads, each by what it does, and own sounds those that listen."""

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
import transformers as hf

from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.gradient import Gradient
from headscope.tasks.classification import Classification
from headscope.tasks.fidelity import Fidelity, TranslationFidelity
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.own_data import Columns
from headscope.tasks.readers import Source
from headscope.tasks.speech import Speech
from headscope.tasks.task import SPLITS
from headscope.tasks.task_catalog import task
from headscope.tasks.task_selection import chosen_task, columns_for
from headscope.tasks.translation import TextPair, Translation
from tests.families import FAMILIES, TEXT
from tests.tasks.sounds import listener
from tests.tasks.sounds import table as sound_table
from tests.tasks.tiny import filler, sharpened, tiny, tokenizer

LOOKERS = ("vit", "deit", "clip-vision")
LISTENERS = ("whisper",)
LINES = [
    " ".join(f"w{random.Random(row).randrange(50)}" for row in range(first, first + 3 + first % 4)) + f" w{first % 55}"
    for first in range(0, 720, 9)
]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("own") / "own.txt"
    path.write_text("\n".join(LINES))
    return str(path)


def table(folder: Path, *columns: str) -> str:
    cells = {"label": lambda row: str(row % 2), "target": lambda row: LINES[-row - 1]}
    rows = ["\t".join(cells.get(name, lambda row: LINES[row])(row) for name in columns) for row in range(len(LINES))]
    path = folder / "own.tsv"
    path.write_text("\n".join(["\t".join(columns), *rows]))
    return str(path)


@pytest.mark.parametrize(
    "family", [*(family for family in FAMILIES if family not in (*LOOKERS, *LISTENERS)), "headless"]
)
def test_every_family_that_reads_is_scored_on_plain_text(family, plain):
    head_model = headless() if family == "headless" else tiny(family)
    found, left_out = chosen_task(head_model, data=plain)
    scores = score(Gradient(), head_model, found, "calibration", 6)
    assert left_out == ()
    assert set(scores.values) == set(head_model.grid)
    assert all(math.isfinite(value) for value in scores.values.values())
    assert sum(value > 0 for value in scores.values.values()) > len(head_model.grid) / 2


@pytest.mark.parametrize("family", LOOKERS)
def test_a_model_that_looks_at_images_says_so_and_is_scored_on_digits(family):
    head_model = tiny(family)
    found, left_out = chosen_task(head_model, data="/far/away/own.txt")
    assert [str(one) for one in left_out] == [
        f"own.txt: {head_model.name} is a model that looks at images, so it is judged on digits"
    ]
    assert max(score(Gradient(), head_model, found, "calibration", 6).values.values()) > 0


@pytest.mark.parametrize("header", ["path\ttranscript", "file\twords"])
def test_a_model_that_listens_is_scored_on_a_table_of_sounds_and_transcripts(header, tmp_path):
    head_model = listener()
    found, left_out = chosen_task(head_model, data=str(sound_table(tmp_path, header=header)))
    assert left_out == () and isinstance(found, Speech)
    assert found.examples.first("test", 1)[0].transcript.startswith("w")
    assert min(score(Gradient(), head_model, found, "calibration", 4).values.values()) > 0


def test_the_list_of_models_says_how_those_without_a_head_for_text_are_scored():
    listed = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    _, _, sentence = listed.partition("- **Scores.**")
    assert {family for family in FAMILIES if f" {family} " in sentence.replace("\n", " ")} == {"clip-vision", "whisper"}
    assert "every family" in sentence and "but" not in sentence


def test_plain_text_is_what_each_kind_of_model_does_with_it(plain):
    def kinds(key):
        models = (tiny("gpt2"), filler(), tiny("bert"), tiny("marian"), headless())
        return [type(chosen_task(head_model, key, plain)[0]) for head_model in models]

    assert kinds("") == [LanguageModelling, LanguageModelling, Fidelity, TranslationFidelity, Fidelity]
    assert kinds("fidelity") == [Fidelity, Fidelity, Fidelity, TranslationFidelity, Fidelity]


def test_the_loss_of_a_classifier_on_plain_text_is_that_of_its_own_first_choice(plain):
    head_model = tiny("bert")
    found, _ = chosen_task(head_model, data=plain)
    read = found.examples.first("test", 5)
    assert set(read) <= set(LINES)
    assert found.title == "Fidelity on own.txt"
    (batch,) = found.batches(head_model, "test", 5)
    losses = dict(zip(batch.indices, found.losses(head_model, batch).tolist(), strict=True))
    for index, text in enumerate(read):
        logits = head_model.model(**head_model.tokenizer(text, return_tensors="pt")).logits
        assert losses[index] == pytest.approx(-math.log(float(logits.detach().softmax(-1).max())), rel=1e-6)


def test_a_translator_is_held_to_its_own_translation_of_plain_text(plain):
    head_model = tiny("marian")
    found, _ = chosen_task(head_model, data=plain)
    given = found.examples.first("test", 3)
    written = found.pairs("test", 3)
    assert [pair.source for pair in written] == [pair.source for pair in given]
    assert len({pair.source for pair in given} & set(LINES)) == 3
    expected = head_model.tokenizer(given[0].source, return_tensors="pt")
    tokens = head_model.model.generate(
        input_ids=expected.input_ids, attention_mask=expected.attention_mask, num_beams=1, do_sample=False,
        max_new_tokens=32,
    )  # fmt: skip
    text = head_model.tokenizer.decode(tokens[0], skip_special_tokens=True)
    assert len(written[0].target.split()) > 3
    assert text.startswith(written[0].target)


def test_a_table_is_read_by_the_names_of_its_columns_and_by_what_the_model_does(tmp_path):
    labelled = table(tmp_path, "source", "label", "target")
    classified, _ = chosen_task(tiny("bert"), data=labelled)
    translated, _ = chosen_task(tiny("marian"), data=labelled)
    predicted, _ = chosen_task(tiny("gpt2"), data=labelled)
    assert [type(one) for one in (classified, translated, predicted)] == [
        Classification, Translation, LanguageModelling,
    ]  # fmt: skip
    pairs = {pair for split in SPLITS for pair in translated.examples.first(split)}
    assert pairs == {TextPair(LINES[row], LINES[-row - 1]) for row in range(len(LINES))}


@pytest.mark.parametrize(
    ("kind", "header", "columns"),
    [
        ("translator", "german\tenglish", Columns("german", target="english")),
        ("translator", "id\ttext\ttarget", Columns("text", target="target")),
        ("translator", "only", Columns("only")),
        ("classifier", "sentence\tlabel", Columns("sentence", label="label")),
        ("classifier", "pair\tlabel\ttext", Columns("text", "pair", "label")),
        ("classifier", "sentence\tscore", Columns("sentence")),
        ("writer", "label\tsource\ttarget", Columns("source")),
        ("listener", "client\tpath\tsentence", Columns("path", target="sentence")),
        ("listener", "text\tsound", Columns("sound", target="text")),
        ("listener", "file\twords", Columns("file", target="words")),
        ("listener", "path", Columns("path")),
    ],
)
def test_columns_are_found_by_name_and_else_by_place(kind, header, columns):
    assert columns_for(kind, Source("own.tsv", f"{header}\n".encode())) == columns


def test_columns_that_are_named_are_taken_as_they_are(tmp_path):
    data = table(tmp_path, "source", "label", "target")
    fidelity, _ = chosen_task(tiny("bert"), data=data, columns={"text": "target"})
    assert isinstance(fidelity, Fidelity)
    with pytest.raises(ValueError, match="has no column 'body'"):
        chosen_task(tiny("bert"), data=data, columns={"text": "body"})
    with pytest.raises(ValueError, match="'pair' as second text without a label"):
        columns_for("classifier", Source("own.tsv", b"text\tpair\n"))


def test_fidelity_to_a_table_needs_neither_labels_nor_targets(tmp_path):
    data = table(tmp_path, "source", "label", "target")
    for columns in ({}, {"text": "source", "label": "label"}):
        found, _ = chosen_task(tiny("bert"), "fidelity", data, columns)
        assert isinstance(found, Fidelity)
        assert set(found.examples.first("test")) < set(LINES)
    assert isinstance(chosen_task(tiny("marian"), "fidelity", data)[0], TranslationFidelity)


def test_without_data_the_key_decides():
    head_model = replace(tiny("bert"), name="reader")
    assert chosen_task(head_model, "sentiment")[0] is task("sentiment")
    assert chosen_task(head_model)[0] is task("inference")
    assert isinstance(chosen_task(head_model, "fidelity")[0], Fidelity)
    with pytest.raises(KeyError, match="no task 'chess'"):
        chosen_task(head_model, "chess")


def test_a_task_of_ours_and_own_data_exclude_each_other(plain):
    with pytest.raises(ValueError, match=r"the task 'stories' and the data '.*own.txt'; allowed is one of them"):
        chosen_task(tiny("gpt2"), "stories", plain)


def headless():
    return sharpened(lambda: hf.BertModel(hf.BertConfig(**TEXT)), tokenizer())


@pytest.mark.parametrize(
    ("key", "data", "told"),
    [
        ("", "own.txt", r"own.txt for \w+, a model that listens to sound; it needs a table \(.tsv\) of two columns"),
        ("", "hub:owner/name", r"name for \w+, a model that listens"),
        ("fidelity", "own.tsv", r"fidelity for \w+, a model that listens"),
        ("", "one.tsv", r"one.tsv has no transcripts; \w+ listens to sound and needs a table"),
    ],
)
def test_a_model_that_listens_refuses_texts_in_one_sentence(key, data, told, tmp_path):
    (tmp_path / "one.tsv").write_text("path\na.wav")
    with pytest.raises(ValueError, match=told):
        chosen_task(listener(), key, data if data.startswith("hub:") else str(tmp_path / data))


def test_a_file_that_is_not_understood_is_one_sentence(tmp_path):
    page = tmp_path / "own.pdf"
    page.write_text("words")
    with pytest.raises(ValueError, match=r"own.pdf ends in '.pdf'; known are .txt, .csv, .tsv, .jsonl, .conllu"):
        chosen_task(tiny("gpt2"), data=str(page))
    with pytest.raises(ValueError, match="no file at"):
        chosen_task(tiny("gpt2"), data=str(tmp_path / "gone.tsv"))
    broken = tmp_path / "own.jsonl"
    broken.write_text("no json\n")
    with pytest.raises(ValueError, match=r"own.jsonl has no readable row"):
        chosen_task(tiny("gpt2"), data=str(broken))
