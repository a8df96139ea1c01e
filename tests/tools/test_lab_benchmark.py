from __future__ import annotations

from math import nan

from benchmarks.lab import broken_promises


def test_a_cancel_that_was_not_measured_is_no_promise_kept() -> None:
    kept = {"first": 0.5, "whole": 1.0, "cancel": 1.0}
    assert broken_promises("looker", kept) == []
    assert broken_promises("looker", kept | {"cancel": nan}) == ["looker: cancel not measured"]
    assert broken_promises("looker", kept | {"first": 9.0}) == ["looker: first 9.00 s"]
