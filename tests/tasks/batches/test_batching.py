"""Batching: every row once, nothing over budget, and hardly a padded place."""

import pytest
import torch

from headscope.tasks.batches.batching import IGNORED, EncodedRow, batched, collated
from tests.tasks.tiny import tiny

LENGTHS = [3, 9, 1, 5, 3, 9, 2, 8]


@pytest.fixture(scope="module")
def bert():
    return tiny("bert")


def rows(lengths):
    return [
        EncodedRow(index, {"input_ids": [7] * n, "attention_mask": [1] * n}, [5] * n) for index, n in enumerate(lengths)
    ]


@pytest.mark.parametrize("budget", [1, 9, 20, 1000])
def test_every_row_is_in_one_batch_and_no_batch_is_over_budget(bert, budget):
    batches = list(batched(rows(LENGTHS), bert, "test", budget))
    assert sorted(index for batch in batches for index in batch.indices) == list(range(len(LENGTHS)))
    assert all(batch.inputs["input_ids"].numel() <= budget or len(batch) == 1 for batch in batches)


def test_rows_of_like_length_are_neighbours(bert):
    batches = list(batched(rows(LENGTHS * 10), bert, "test", 40))
    padded = sum(int((batch.inputs["attention_mask"] == 0).sum()) for batch in batches)
    in_order = sum(10 * (max(LENGTHS) - n) for n in LENGTHS)
    assert padded < 0.1 * in_order


def test_padding_is_masked_and_not_judged(bert):
    batch = collated(rows([1, 3]), bert, "test")
    torch.testing.assert_close(batch.inputs["input_ids"], torch.tensor([[7, 0, 0], [7, 7, 7]]))
    torch.testing.assert_close(batch.inputs["attention_mask"], torch.tensor([[1, 0, 0], [1, 1, 1]]))
    torch.testing.assert_close(batch.labels, torch.tensor([[5, IGNORED, IGNORED], [5, 5, 5]]))
    assert (batch.split, batch.indices) == ("test", (0, 1))


def test_a_budget_of_nothing_is_refused(bert):
    with pytest.raises(ValueError, match="a budget of 0 places"):
        list(batched(rows([1]), bert, "test", 0))
