"""Readers: what was written comes back, what is broken is named, nothing else is lost."""

import csv
import io
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.tasks.readers import FORMATS, BrokenRow, Source, TreeSentence, preview, read_table, read_trees
from headscope.tasks.readers.source import MAX_BYTES, MAX_LINES

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)


def rows(name: str, content: bytes, *columns: str) -> list[tuple[str, ...]]:
    return [tuple(row.values.values()) for row in read_table(Source(name, content), columns).rows]


def broken(name: str, content: bytes, *columns: str) -> list[tuple[int, str]]:
    return [(row.line, row.reason) for row in read_table(Source(name, content), columns).broken]


def token(number: int | str, form: str, head: int | str, relation: str = "dep") -> str:
    return f"{number}\t{form}\t_\tX\t_\t_\t{head}\t{relation}\t_\t_\n"


GOOD_TREE = token(1, "Birds", 2, "nsubj") + token(2, "sing", 0, "root") + "\n"


def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_given: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "rows.csv").touch()
    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(ValueError, match=r"rows\.csv' cannot be read: Permission denied$"):
        Source.from_path(tmp_path / "rows.csv")


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8))
def test_rows_written_by_csv_come_back_identical(written: list[tuple[str, str]]) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([("text", "label"), *written])
    table = read_table(Source("x.csv", stream.getvalue().encode()), ["text", "label"])
    assert [(row.values["text"], row.values["label"]) for row in table.rows] == written
    assert table.broken == ()


@given(st.lists(st.tuples(TEXT, st.integers() | st.booleans()), min_size=1, max_size=8), st.booleans())
def test_rows_written_as_json_lines_come_back_identical(written: list[tuple[str, int]], ascii_only: bool) -> None:
    lines = [json.dumps({"text": text, "label": label}, ensure_ascii=ascii_only) for text, label in written]
    table = read_table(Source("x.jsonl", "\n".join(lines).encode()), ["text"], labels=["label"])
    assert [(row.values["text"], json.loads(row.values["label"])) for row in table.rows] == written
    assert [row.line for row in table.rows] == list(range(1, len(written) + 1))


@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=150)
@given(st.binary() | st.text().map(str.encode) | st.text('a",\t\n\r\0#1-.0_{}[]: ', max_size=80).map(str.encode))
def test_any_bytes_give_rows_or_a_value_error(suffix: str, content: bytes) -> None:
    source = Source(f"x{suffix}", content)
    calls: list[Callable[[Source], object]] = [preview, read_trees, lambda source: read_table(source, ["text"])]
    for call in calls:
        try:
            call(source)
        except ValueError as error:
            assert str(error)


@given(st.lists(st.text('a",\n', max_size=12), min_size=1, max_size=6), st.integers(1, 5))
def test_every_csv_row_starts_on_its_line_of_the_file(fields: list[str], n_blank: int) -> None:
    content, lines = "text,label\n", []
    for field in fields:
        content += "\n" * n_blank
        lines.append(1 + content.count("\n"))
        content += '"x' + field.replace('"', '""') + '",y\n'
    table = read_table(Source("x.csv", content.encode()), ["text"])
    assert [row.line for row in table.rows] == lines


def test_csv_rows_that_are_broken_are_named_by_line_and_the_others_kept() -> None:
    content = b'text,label\ngood,1\n"two\nlines",2\nshort\na,b,c\n,3\nnu\0l,4\n"open,5\nlast,6\n'
    assert rows("x.csv", content, "text", "label") == [("good", "1"), ("two\nlines", "2"), ("last", "6")]
    assert broken("x.csv", content, "text", "label") == [
        (5, "number of fields: 1 here, 2 in the header"),
        (6, "number of fields: 3 here, 2 in the header"),
        (7, "column 'text' is empty"),
        (8, "contains a NUL character"),
        (9, "a quotation mark is opened and never closed"),
    ]


def test_text_after_a_closing_quotation_mark_breaks_its_row_only() -> None:
    content = b'text,label\n"a" b,1\nc,2\n'
    assert rows("x.csv", content, "text") == [("c",)]
    assert [line for line, _ in broken("x.csv", content, "text")] == [2]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_a_byte_order_mark_leave_no_trace(end: str) -> None:
    content = ("\ufefftext,label" + end + "ä,1" + end + end + "bad" + end).encode()
    assert rows("x.csv", content, "text", "label") == [("ä", "1")]
    assert [line for line, _ in broken("x.csv", content, "text")] == [4]
    tabbed = content.replace(b",", b"\t")
    assert rows("x.tsv", tabbed, "text", "label") == [("ä", "1")]
    assert [line for line, _ in broken("x.tsv", tabbed, "text")] == [4]


def test_quotation_marks_in_tsv_are_characters() -> None:
    content = b'text\tlabel\n"He said\t1\n5" pipe\t0\n'
    assert rows("x.tsv", content, "text", "label") == [('"He said', "1"), ('5" pipe', "0")]


def test_columns_come_in_the_order_asked_for_and_others_may_be_empty() -> None:
    assert rows("x.csv", b"a,b,c\n1,,3\n", "c", "a") == [("3", "1")]


def test_a_nameless_column_is_called_by_its_number() -> None:
    assert preview(Source("x.csv", b",text\n0,a\n")).columns == ("column 1", "text")


def test_json_lines_that_are_broken_are_named_by_line_and_the_others_kept() -> None:
    lines = ['{"text": "a", "label": 1}', "", '{"text": ', "[1]", '{"label": 2}', '{"text": 3}', '{"text": null}']
    lines += ['{"text": " "}', r'{"text": "a\u0000"}', r'{"text": "\ud800"}', '{"text": "z", "label": true}']
    content = "\r\n".join(lines).encode()
    assert rows("x.jsonl", content, "text") == [("a",), ("z",)]
    assert broken("x.jsonl", content, "text") == [
        (3, "is not JSON: expecting value at character 11"),
        (4, "is not a JSON object but list"),
        (5, "column 'text' is missing"),
        (6, "column 'text' holds 3; text is needed"),
        (7, "column 'text' holds null; text is needed"),
        (8, "column 'text' is empty"),
        (9, "contains a NUL character"),
        (10, "contains half of a surrogate pair"),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "a", "b": ' + "1" * 5000 + "}", "is JSON with a number too long or brackets too deep to read"),
        ('{"text": "a", "b": ' + "[" * 5000 + "]" * 5000 + "}", "is JSON with a number too long or brackets too deep"),
        ('{"text": "a", "b": [' + "1, " * 400_000 + "1]}", "has 1200023 characters; at most 1000000 are allowed"),
        (json.dumps({"text": "a"} | {f"{n}": 1 for n in range(1000)}), "has 1001 columns; at most 1000 are allowed"),
        (r'{"text": "a", "b\u0000": 1}', "contains a NUL character"),
    ],
)
def test_a_json_line_that_no_page_could_show_is_broken(line: str, reason: str) -> None:
    content = (line + '\n{"text": "good"}\n').encode()
    assert rows("x.jsonl", content, "text") == [("good",)]
    ((number, told),) = broken("x.jsonl", content, "text")
    assert number == 1
    assert told.startswith(reason)


def test_a_label_may_be_an_integer_or_a_truth_value_but_no_fraction() -> None:
    content = b'{"t": "a", "y": 1}\n{"t": "b", "y": true}\n{"t": "c", "y": "no"}\n{"t": "d", "y": 0.5}\n{"t": "e"}\n'
    table = read_table(Source("x.jsonl", content), ["t"], labels=["y"])
    assert [row.values["y"] for row in table.rows] == ["1", "true", "no"]
    assert [str(row) for row in table.broken] == [
        "x.jsonl, line 4: column 'y' holds 0.5; text is needed",
        "x.jsonl, line 5: column 'y' is missing",
    ]


def test_a_line_separator_inside_json_text_ends_no_line() -> None:
    assert rows("x.jsonl", '{"text": "a\u2028b\x85c"}\n'.encode(), "text") == [("a\u2028b\x85c",)]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl"])
def test_a_text_of_more_than_100000_characters_breaks_its_row(name: str) -> None:
    texts = ["a" * 100_000, "a" * 100_001, "b"]
    lines = [json.dumps({"text": text}) for text in texts] if name == "x.jsonl" else ["text", *texts]
    content = "\n".join(lines).encode()
    assert rows(name, content, "text") == [("a" * 100_000,), ("b",)]
    assert [reason for _, reason in broken(name, content, "text")] == ["has a field of more than 100000 characters"]


def test_a_preview_shows_columns_and_the_first_rows_that_can_be_read() -> None:
    shown = preview(Source("x.csv", b"text,label\na,1\nbad\nb,\nc,3\n"), n=2)
    assert shown.columns == ("text", "label")
    assert shown.rows == (("a", "1"), ("b", ""))
    assert [row.line for row in shown.broken] == [3]


def test_a_preview_of_json_lines_unites_the_columns() -> None:
    shown = preview(Source("x.JSONL", b'{"a": "x", "b": 1.5}\n{"c": [1], "d": {}, "b": null}\n'))
    assert shown.columns == ("a", "b", "c", "d")
    assert shown.rows == (("x", "1.5", "", ""), ("", "", "[…]", "{…}"))


def test_a_preview_holds_20_rows_unless_told() -> None:
    content = b"text\n" + b"a\n" * 50
    assert len(preview(Source("x.csv", content)).rows) == 20


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"", "x.csv is empty"),
        ("x.jsonl", b"\xef\xbb\xbf \r\n\n", "x.jsonl is empty"),
        ("x.csv", b"text,label\n", "x.csv has no rows under its header"),
        ("x.csv", b"a,b\n1,2\n", "x.csv has no column 'text'; it has 'a', 'b'"),
        ("x.jsonl", b'{"a": 1}\n', "x.jsonl has no column 'text'; it has 'a'"),
        ("x.csv", b" , \na,b\n", "x.csv has no header: line 1 names no column"),
        ("x.csv", b'"text\na\n', "x.csv has no readable header, line 1: a quotation mark is opened"),
        ("x.csv", b"text,a,a\n", "more than one column 'a'"),
        ("x.csv", b"," * 1000 + b"\n", "x.csv has 1001 columns; at most 1000"),
        ("x.csv", b"text\nabc\n\xff\n", "x.csv is not UTF-8: byte 0xff at offset 9, line 3"),
        ("x.csv", b"\xef\xbb\xbftext\n\xe4", "x.csv is not UTF-8: byte 0xe4 at offset 8, line 2"),
        ("x.csv", "text\na\n".encode("utf-16"), "x.csv is in UTF-16; save it as UTF-8"),
        ("x.csv", "text\na\n".encode("utf-16-le"), "x.csv is binary"),
        ("x.tsv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "x.tsv is binary"),
        ("x.xlsx", b"PK", r"x.xlsx ends in '.xlsx'; known are .csv, .tsv, .jsonl, .conllu"),
        ("noend", b"text", "noend ends in ''; known are"),
        ("x.csv", b"text\n" * (MAX_LINES + 1), f"x.csv has {MAX_LINES + 1} lines; at most {MAX_LINES}"),
    ],
)
def test_a_file_that_is_broken_as_a_whole_is_refused_in_words(name: str, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_table(Source(name, content), ["text"])


@pytest.mark.parametrize("columns", [[], ["text", "text"]])
def test_columns_must_be_chosen_and_each_once(columns: list[str]) -> None:
    with pytest.raises(ValueError, match="at least one is needed, and each once"):
        read_table(Source("x.csv", b"text\na\n"), columns)


def test_a_file_over_the_limit_is_refused_by_upload_and_by_path(tmp_path: Path) -> None:
    file = tmp_path / "large.csv"
    with file.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(ValueError, match=r"large\.csv is larger than 64 MB"):
        Source.from_path(file)
    with pytest.raises(ValueError, match=r"up\.csv is larger than 64 MB"):
        Source("up.csv", bytes(MAX_BYTES + 1))


def test_a_path_gives_what_the_upload_gives(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(b"text\na\n")
    assert Source.from_path(str(file)) == Source("x.csv", b"text\na\n")
    for missing in (tmp_path, tmp_path / "y.csv", "a\0b"):
        with pytest.raises(ValueError, match="no file at"):
            Source.from_path(missing)


TEN_MB = 10 * 2**20


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", b"text,b\n" + b"x" * TEN_MB),
        ("x.csv", b'text,b\n"' + b"x" * TEN_MB),
        ("x.csv", b"text,b\n" + b"," * TEN_MB),
        ("x.csv", b"text,b\n" + b'a","\n' * 20_000),
        ("x.csv", b"text,b\n" + (b'a","' * 10_000 + b"\n") * 400),
        ("x.tsv", b"text\tb\n" + b"\t" * TEN_MB + b"x"),
        ("x.jsonl", b"[" * TEN_MB),
        ("x.jsonl", b'{"text":' * 100_000),
        ("x.jsonl", b"1" * 900_000),
        ("x.conllu", b"\t" * TEN_MB + b"x"),
        ("x.conllu", b"# text =" + b" " * 90_000 + b"\nx"),
    ],
)
def test_a_hostile_file_is_read_in_seconds_and_every_row_called_broken(name: str, content: bytes) -> None:
    start = time.process_time()
    table = read_table(Source(name, content), ["text"])
    assert time.process_time() - start < 10
    assert table.rows == () and table.broken
    assert all(len(row.reason) < 200 for row in table.broken)


def test_messages_do_not_repeat_a_whole_file() -> None:
    wide = b"\n".join(json.dumps({f"{n}" + "k" * 500: 1}).encode() for n in range(1000))
    with pytest.raises(ValueError, match="has no column") as caught:
        read_table(Source("x.jsonl", wide), ["text"])
    assert len(str(caught.value)) < 2000


def test_a_tree_is_read_without_multiword_ranges_and_empty_nodes() -> None:
    content = "# sent_id = 7\n# text = vámonos  al = mar\n"
    content += token("1-2", "vámonos", "_") + token(1, "vamos", 0, "root") + token(2, "nos", 1, "obj")
    content += token("2.1", "nada", "_") + token("3-4", "al", "_") + token(3, "a", 5, "case") + token(4, "el", 5, "det")
    content += token(5, "mar", 1, "obl")
    for text in (content, content + "\n", content.replace("\n", "\r\n"), "\ufeff\n\n" + content):
        assert read_trees(Source("x.conllu", text.encode())).sentences == (
            TreeSentence(
                text="vámonos  al = mar",
                words=("vamos", "nos", "a", "el", "mar"),
                upos=("X",) * 5,
                heads=(0, 1, 5, 5, 1),
                relations=("root", "obj", "case", "det", "obl"),
                comments=("sent_id = 7", "text = vámonos  al = mar"),
            ),
        )


def test_empty_nodes_may_stand_before_the_first_word() -> None:
    (sentence,) = read_trees(Source("x.conllu", (token("0.1", "e", "_") + GOOD_TREE).encode())).sentences
    assert sentence.words == ("Birds", "sing")
    assert sentence.text == "Birds sing"


@pytest.mark.parametrize(
    ("sentence", "line", "reason"),
    [
        (token(1, "a", 3) + token(2, "b", 0), 4, "head 3 of 'a' is not among the 2 words"),
        (token(1, "a", 0) + token(2, "b", 0), 5, "a sentence has 2 roots; one is allowed"),
        (token(1, "a", 2) + token(2, "b", 1), 4, "a sentence has no root"),
        (token(1, "r", 0) + token(2, "a", 3) + token(3, "b", 2), 5, "word 2 is above itself"),
        (token(1, "r", 0) + token(2, "a", 2), 5, "word 2 is above itself"),
        (token(1, "a", 0) + token(3, "b", 1), 5, "word number '3'; the next is 2"),
        (token(1, "a", "_"), 4, "head '_' of word 1 is not a number"),
        (token(1, "a", -1), 4, "head '-1' of word 1 is not a number"),
        (token(1, " ", 0), 4, "word 1 is empty"),
        (token("1-2", "ab", "_") + token(1, "a", 0), 4, "a range ends at word 2 of 1"),
        (token("2-3", "ab", "_") + token(1, "a", 0), 4, "the range 2-3 does not start at the next word, 1"),
        ("1\ta\t_\tX\n", 4, "number of columns: 4 here, 10 in CoNLL-U"),
        ("# only a comment\n", 4, "a sentence has no words"),
        (token(1, "a\0", 0), 4, "contains a NUL character"),
    ],
)
def test_a_broken_sentence_is_named_and_its_neighbours_are_kept(sentence: str, line: int, reason: str) -> None:
    treebank = read_trees(Source("x.conllu", (GOOD_TREE + sentence + "\n" + GOOD_TREE).encode()))
    assert [kept.words for kept in treebank.sentences] == [("Birds", "sing")] * 2
    (skipped,) = treebank.broken
    assert (skipped.file, skipped.line) == ("x.conllu", line)
    assert skipped.reason.startswith(reason)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_heads_are_accepted_exactly_when_every_word_climbs_to_one_root(heads: list[int]) -> None:
    def climbs(number: int) -> bool:
        for _ in heads:
            number = heads[number - 1] if 0 < number <= len(heads) else number
        return number == 0

    is_tree = heads.count(0) == 1 and all(climbs(number) for number in range(1, len(heads) + 1))
    content = "".join(token(number, "w", head) for number, head in enumerate(heads, start=1))
    treebank = read_trees(Source("x.conllu", content.encode()))
    assert (len(treebank.sentences), len(treebank.broken)) == (is_tree, not is_tree)


def test_sentences_are_also_rows_of_a_table() -> None:
    content = GOOD_TREE + token(1, "a", 1) + "\n# text = Birds sing!\n" + GOOD_TREE
    table = read_table(Source("x.conllu", content.encode()), ["text", "heads"])
    assert [(row.line, *row.values.values()) for row in table.rows] == [
        (1, "Birds sing", "2 0"),
        (6, "Birds sing!", "2 0"),
    ]
    assert table.broken == (BrokenRow("x.conllu", 4, "a sentence has no root"),)
    assert preview(Source("x.conllu", content.encode())).columns == ("text", "words", "upos", "heads", "relations")


def test_trees_are_read_from_conllu_only() -> None:
    with pytest.raises(ValueError, match=r"x\.csv ends in '\.csv'; trees are read from \.conllu"):
        read_trees(Source("x.csv", b"text\na\n"))
