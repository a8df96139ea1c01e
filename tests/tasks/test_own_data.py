"""Own data: rows become a task, equal texts share a split, and errors name what is wrong."""

import sys
from types import SimpleNamespace

import pytest

from headscope.tasks.classification import Classification
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.own_data import Columns, hub_rows, read_task, read_text_task, split_by_hash
from headscope.tasks.readers import Source
from headscope.tasks.task import SPLITS
from headscope.tasks.translation import Translation

LINES = [f"text {number}\tsecond {number}\t{number % 2}" for number in range(200)]


def tsv(lines):
    return Source("own.tsv", "\n".join(["one\ttwo\tlabel", *lines]).encode())


def everything(task):
    return [example for split in SPLITS for example in task.examples.first(split)]


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        (Columns("one", label="label"), Classification),
        (Columns("one", pair="two", label="label"), Classification),
        (Columns("one", target="two"), Translation),
        (Columns("one"), LanguageModelling),
    ],
)
def test_the_columns_decide_the_task_and_every_row_is_in_one_split(columns, kind):
    task, broken = read_task(tsv(LINES), columns)
    assert type(task) is kind
    assert len(everything(task)) == len(set(everything(task))) == 200
    assert broken == ()


def test_the_second_text_is_kept():
    task, _ = read_task(tsv(LINES), Columns("one", pair="two", label="label"))
    assert all(example.text.split()[1] == example.pair.split()[1] for example in everything(task))


def test_a_broken_row_is_named_and_the_rest_is_kept():
    task, broken = read_task(tsv([*LINES, "too few"]), Columns("one"))
    assert len(everything(task)) == 200
    assert str(broken[0]).startswith("own.tsv, line 202")


def test_equal_texts_share_a_split_and_new_rows_move_no_old_ones():
    small = split_by_hash("s", [str(number) for number in range(100)] * 2, str)
    large = split_by_hash("s", [str(number) for number in range(300)], str)
    for split in SPLITS:
        assert set(small.first(split)) <= set(large.first(split))
    assert not set(small.first("calibration")) & set(small.first("test"))


def test_too_few_rows_are_refused_with_their_counts():
    with pytest.raises(ValueError, match=r"own.tsv has 12 usable rows: \d+ for calibration.*every split needs 10"):
        read_task(tsv(LINES[:12]), Columns("one"))


def test_columns_that_make_no_task_are_refused():
    with pytest.raises(ValueError, match="'a' as label and 'b' as target"):
        Columns("t", label="a", target="b")
    with pytest.raises(ValueError, match="'p' as second text without a label"):
        Columns("t", pair="p")
    with pytest.raises(ValueError, match=r"own.tsv has no column 'three'"):
        read_task(tsv(LINES), Columns("three"))


def test_a_plain_text_is_read_by_paragraphs_or_else_by_lines():
    paragraphs = "\n\n".join(f"first {number}\nsecond" for number in range(100))
    assert "first 7 second" in everything(read_text_task(Source("a.txt", paragraphs.encode())))
    lines = "\n".join(f"line {number}" for number in range(100))
    assert "line 7" in everything(read_text_task(Source("a.txt", lines.encode())))


def test_a_data_set_of_the_hub_without_the_package_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ValueError, match="'some/set' needs the package datasets, which is not installed"):
        hub_rows("some/set", Columns("text"))


class Named:
    def int2str(self, number):
        return ("no", "yes")[number]


def package_of(files):
    """A stand-in for the package datasets, whose only data set lists these files."""

    class Streamed(list):
        @property
        def features(self):
            return {"text": object(), "label": Named()}

    class Builder:
        config = SimpleNamespace(data_files=files)

        def as_streaming_dataset(self, split):
            assert split == "train"
            return Streamed([{"text": "a", "label": 1}, {"text": "b", "label": 0}])

    class Package:
        @staticmethod
        def load_dataset_builder(path, configuration):
            assert (path, configuration) == ("some/set", "part")
            return Builder()

    return Package


def test_a_data_set_of_the_hub_gives_rows_with_class_names(monkeypatch):
    files = {"train": ["hf://datasets/some/set@0123/a.csv", "zip://a.csv::hf://datasets/some/set@0123/a.zip"]}
    monkeypatch.setitem(sys.modules, "datasets", package_of(files))
    rows = hub_rows("some/set:part", Columns("text", label="label"))
    assert [row.values for row in rows] == [{"text": "a", "label": "yes"}, {"text": "b", "label": "no"}]
    with pytest.raises(ValueError, match="has no column 'body'; it has text, label"):
        hub_rows("some/set:part", Columns("body"))


@pytest.mark.parametrize(
    "file",
    ["/etc/passwd", "file:///etc/passwd", "http://127.0.0.1/x", "hf://datasets/other/set@0123/a.csv", "",
     "zip://a.csv::/home/a.zip", "hf://datasets/some/set@0123/../../other/set/a.csv"],
)  # fmt: skip
def test_a_data_set_of_the_hub_that_lists_another_file_is_refused(monkeypatch, file):
    """The lines of a data set's own card may name any path, which the package would open on this machine."""
    files = {"train": ["hf://datasets/some/set@0123/a.csv", file]} if file else None
    monkeypatch.setitem(sys.modules, "datasets", package_of(files))
    with pytest.raises(ValueError, match="'some/set' lists a file that is not its own"):
        hub_rows("some/set:part", Columns("text"))
