from __future__ import annotations

from tools.lesson_times import BEGIN, DOCUMENT, END, with_table


def test_new_times_take_the_place_of_the_old_ones_and_the_rest_stays() -> None:
    document = f"before\n{BEGIN}| old | row |\n{END}\nafter"
    once = with_table(document, [("2, step 5", "gates", 12.3)])
    assert "| 2, step 5 | gates | 12 |" in once
    assert "old" not in once
    assert once.startswith("before\n") and once.endswith("\nafter")
    assert with_table(once, [("2, step 5", "gates", 12.3)]) == once


def test_the_document_has_a_place_for_them() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
