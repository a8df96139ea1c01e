from __future__ import annotations

from headscope.web.cards.speed_card import speed_table

TIMING = {
    "batch": 16,
    "length": 128,
    "dense": {"median": 0.02, "low": 0.019, "high": 0.022},
    "smaller": {"median": 0.0125, "low": 0.012, "high": 0.014},
    "speedup": {"median": 1.6, "low": 1.5, "high": 1.75},
    "throughput": {"dense": 800.0, "smaller": 1280.04},
    "memory_dense": 40e6,
    "memory_smaller": 30e6,
}


def test_the_table_of_speeds_has_the_spread_and_both_throughputs() -> None:
    (row,) = speed_table([TIMING]).to_dict("records")
    assert row["Dense, ms"] == "20.00 (19.00 to 22.00)"
    assert row["Smaller, ms"] == "12.50 (12.00 to 14.00)"
    assert row["Times as fast"] == "1.60 (1.50 to 1.75)"
    assert (row["Dense, examples a second"], row["Smaller, examples a second"]) == (800.0, 1280.0)
