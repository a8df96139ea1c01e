"""Masks, addresses and links that are broken in thousands of ways: a result or one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st

from headscope.cli.arguments import mask_of
from headscope.models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from headscope.models.loading.fingerprint import fingerprint
from headscope.models.loading.loader import find_folder
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.budgets import parse_budgets
from headscope.runs.kinds.attention import AttentionQuery
from headscope.runs.kinds.dynamics import DynamicsRun
from headscope.runs.kinds.live import LiveQuery
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.store import Store
from headscope.tasks.readers import FORMATS, Source
from headscope.web.grid.head_grid import MaskEdit, accepted
from headscope.web.grid.mask_link import mask_in_link, read_mask, short_mask
from headscope.web.page.choice import Choice, head_in_link
from headscope.web.runs.role_facts import roles_run
from tests.bad_input.mutations import (
    FILES,
    N_FILES,
    N_KEPT,
    N_LINKS,
    N_MASKS,
    NAMES,
    broken_files,
    broken_texts,
    sentence_of,
)

GRID = HeadGrid(
    (
        HeadBank("encoder", (LayerHeads(tuple(range(8))),) * 6),
        HeadBank("cross", (LayerHeads((0, 0, 1)), LayerHeads(()), LayerHeads(tuple(range(5))))),
    )
)
MASK = HeadMask.of(GRID, "encoder.0.3 encoder.5.7 cross.2.4")
SPELT = [str(MASK), "encoder.0.1,cross.2.4", short_mask(GRID, MASK.removed), short_mask(GRID, frozenset(GRID.heads))]
BUDGETS = ["accuracy within 1 point", "1.3 times faster at batch 16 and length 128", "at most 40 % of heads"]

STORED = ["The old key."]
PATHS = ["./models/own", "owner/name", "/srv/model", "~/model"]

MASK_READERS: dict[str, tuple[list[str], Callable[[str], object]]] = {
    "link": (SPELT, lambda text: read_mask(GRID, text)),
    "addresses": (SPELT, lambda text: GRID.parse(text)),
    "address": (["encoder.0.3"], HeadId.parse),
    "file": ([MASK.to_json()], lambda text: HeadMask.from_json(GRID, text)),
    "command": ([*SPELT, "mask.json", "/no/such/mask.json"], lambda text: mask_of(text, SimpleNamespace(grid=GRID))),
    "budget": (BUDGETS, lambda text: parse_budgets([text])),
}


@pytest.mark.parametrize("way", MASK_READERS)
def test_a_broken_mask_is_read_or_refused_in_one_sentence(way: str) -> None:
    valid, read = MASK_READERS[way]
    for text in valid[:1]:
        read(text)
    refused = [bool(sentence_of(lambda text=text: read(text))) for text in broken_texts(valid, seed=3, n=N_MASKS)]
    assert any(refused)


def test_what_the_browser_sends_for_a_mask_is_taken_whole_or_not_at_all() -> None:
    given = MaskEdit(MASK.removed, 4)
    for text in broken_texts(SPELT, seed=4, n=N_MASKS):
        for choice in ({"revision": 4, "heads": text.split()}, {"revision": 4, "heads": [text, None]}, text, [text]):
            edit = accepted(choice, given, GRID, frozenset())
            assert edit.mask <= frozenset(GRID.heads)


LINK = {
    "model": ["reader", "owner/name", "./models/own"],
    "task": ["", "reading"],
    "data": ["", "0123456789abcdef", "/no/rows.csv", "hub:nyu-mll/glue:sst2"],
    "column-text": ["text"],
    "column-label": ["label"],
    "head": ["encoder.0.3"],
    "mask": SPELT,
    "trees": ["", "0123456789abcdef", "trees.conllu"],
    "passages": ["600", "²", "99999999999999999999"],
    "checkpoints": ["", "a/b c/d", "reader writer"],
    "text": ["The old key is on the table."],
}
"""The parameters of a link, and what they may say; the first is what a usual link says."""


def read_link(store: Store) -> None:
    """What the pages make of the parameters of a link before any model is loaded."""
    choice = Choice.from_link()
    grid_things = [head_in_link(GRID), mask_in_link(GRID)]
    assert len(grid_things) == 2
    listed = st.query_params.get("checkpoints", "").split()
    kinds = [
        SweepRun(choice.model, **choice.judged),
        LiveQuery(choice.model, mask=st.query_params.get("mask", ""), **choice.judged),
        AttentionQuery(choice.model, text=st.query_params.get("text", "")),
        roles_run(choice),
        *([DynamicsRun(listed[-1], listed, **choice.judged)] if listed else []),
    ]
    for kind in kinds:
        run = kind.as_run(store.folder)
        assert run.folder.parent == store.folder
        assert run.title
        assert kind.command is not None


def broken_links() -> dict[str, list[str]]:
    """What is tried for each parameter."""
    return {
        name: list(broken_texts(values, seed=number, n=N_LINKS)) for number, (name, values) in enumerate(LINK.items())
    }


def test_a_broken_link_is_read_or_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "home")
    monkeypatch.setenv("HEADSCOPE_HOME", str(store.folder))
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    refused = 0
    for name, texts in broken_links().items():
        usual = {other: values[0] for other, values in LINK.items()}
        for text in texts:
            monkeypatch.setattr(st, "query_params", usual | {name: text})
            refused += bool(sentence_of(lambda: read_link(store)))
    assert refused
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_run_of_any_link_can_be_stored_and_found(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for text in [*broken_texts(STORED, seed=9, n=N_LINKS), *NAMES]:

        def asked(text: str = text) -> None:
            run = store.submit(AttentionQuery(text, text=text, mask=text).as_run(store.folder))
            assert store.get(run.id).spec["text"] == text

        sentence_of(asked)


def test_no_name_of_a_model_or_a_file_is_more_than_one_sentence() -> None:
    names = [*broken_texts(PATHS, seed=20, n=N_MASKS), *NAMES]
    for name in names:
        sentence_of(lambda name=name: fingerprint(name))
        sentence_of(lambda name=name: find_folder(name))
        sentence_of(lambda name=name: Source.from_path(name))


def cases() -> Iterator[tuple[str, object]]:
    """Every case of the tests of this folder that are seeded: which test, and what it is given."""
    for suffix in FORMATS:
        yield from ((f"read {suffix}", one) for one in broken_files(suffix, seed=1, n=N_FILES))
    for suffix in FILES:
        yield from ((f"kept {suffix}", one) for one in broken_files(suffix, seed=2, n=N_KEPT))
    for way, (valid, _) in MASK_READERS.items():
        yield from ((way, text) for text in broken_texts(valid, seed=3, n=N_MASKS))
    yield from (("browser", text) for text in broken_texts(SPELT, seed=4, n=N_MASKS))
    for name, texts in broken_links().items():
        yield from ((name, text) for text in texts)
    yield from (("stored", text) for text in (*broken_texts(STORED, seed=9, n=N_LINKS), *NAMES))
    yield from (("name", text) for text in (*broken_texts(PATHS, seed=20, n=N_MASKS), *NAMES))


def test_there_are_ten_thousand_different_cases() -> None:
    assert len(set(cases())) >= 10_000


@pytest.mark.parametrize("name", NAMES)
def test_no_id_of_a_run_leads_out_of_the_store(name: str, tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert sentence_of(lambda: store.get(name))
    assert sentence_of(lambda: store.delete(name))
