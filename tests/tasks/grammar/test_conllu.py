"""CoNLL-U can be read back."""

from __future__ import annotations

from itertools import islice

from headscope.tasks.grammar import sentences, to_conllu


def test_columns_come_back_as_written() -> None:
    written = list(islice(sentences(1), 50))
    blocks = to_conllu(written).strip().split("\n\n")
    assert len(blocks) == 50
    for sentence, block in zip(written, blocks, strict=True):
        lines = block.split("\n")
        assert lines[1] == f"# text = {sentence.english}"
        assert lines[2] == f"# text_de = {sentence.german_text}"
        rows = [line.split("\t") for line in lines[3:]]
        assert all(len(row) == 10 for row in rows)
        assert [row[0] for row in rows] == [str(n) for n in range(1, len(sentence.words) + 1)]
        assert tuple(int(row[6]) for row in rows) == sentence.heads
        assert tuple(row[7] for row in rows) == sentence.relations
        text = "".join(row[1] + ("" if row[9] == "SpaceAfter=No" else " ") for row in rows).strip()
        assert text == sentence.english
