"""A run's id is a hash of its spec: where a default changes, links and stored runs of those who kept it point nowhere.

Who changes a default on purpose changes specs.json with it, and a changed result raises the edition.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from headscope.runs.kind import kind_with

SPECS = Path(__file__).with_name("specs.json")


def test_a_run_that_names_only_its_model_asks_for_what_it_always_asked_for() -> None:
    expected = json.loads(SPECS.read_text(encoding="utf-8"))
    kinds = {key: kind_with(key, {"model": "looker"}) for key in expected}
    assert {key: [kind.edition, asdict(kind)] for key, kind in kinds.items()} == expected
