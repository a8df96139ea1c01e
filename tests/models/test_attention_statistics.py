import math

import pytest
import torch
from torch import Tensor

from headscope.models.recording.attention_statistics import QuerySums, diagonal_sums, entropies, query_sums


def random_attention(batch: int, heads: int, queries: int, keys: int) -> Tensor:
    return (3 * torch.randn(batch, heads, queries, keys, dtype=torch.float64)).softmax(-1)


def random_mask(batch: int, length: int) -> Tensor:
    return torch.rand(batch, length) > 0.3


def literal(attention: Tensor, queries: Tensor, keys: Tensor) -> QuerySums:
    """The same sums, one query and one key at a time."""
    batch, n_heads, n_queries, n_keys = attention.shape
    radius = max(n_queries, n_keys) - 1
    count = 0
    maximum, entropy = torch.zeros(2, n_heads, dtype=torch.float64)
    mass, argmax = torch.zeros(2, n_heads, 2 * radius + 1, dtype=torch.float64)
    for example in range(batch):
        admitted = [key for key in range(n_keys) if keys[example, key]]
        for query in range(n_queries):
            if not queries[example, query] or not admitted:
                continue
            count += 1
            for head in range(n_heads):
                weights = {key: float(attention[example, head, query, key]) for key in admitted}
                total = sum(weights.values())
                best = max(weights, key=lambda key: weights[key])
                maximum[head] += weights[best]
                shares = [weight / total for weight in weights.values() if weight > 0]
                entropy[head] -= sum(share * math.log(share) for share in shares)
                argmax[head, best - query + radius] += weights[best] > 0
                for key, weight in weights.items():
                    mass[head, key - query + radius] += weight
    return QuerySums(torch.tensor(count, dtype=torch.float64), maximum, entropy, mass, argmax)


def assert_same(sums: QuerySums, expected: QuerySums) -> None:
    for name in ("n_queries", "maximum", "entropy", "mass", "argmax"):
        torch.testing.assert_close(
            getattr(sums, name), getattr(expected, name), msg=lambda text, name=name: name + text
        )


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 6), (6, 1), (5, 5), (4, 7), (7, 4)])
def test_diagonal_sums_are_the_sums_of_torch_diagonals(queries: int, keys: int) -> None:
    weights = torch.randn(3, queries, keys, dtype=torch.float64)
    expected = [torch.diagonal(weights, offset, -2, -1).sum(-1) for offset in range(1 - queries, keys)]
    torch.testing.assert_close(diagonal_sums(weights), torch.stack(expected, dim=-1))


@pytest.mark.parametrize("batch", [1, 2, 3, 4])
@pytest.mark.parametrize(("queries", "keys"), [(6, 6), (4, 7), (7, 3)])
def test_sums_are_those_of_the_literal_computation(batch: int, queries: int, keys: int) -> None:
    attention = random_attention(batch, 3, queries, keys)
    attention[0, 0, -1] = 0.0
    attention[0, 0, -1, 0] = 1.0  # all weight on a key that may be left out
    masks = random_mask(batch, queries), random_mask(batch, keys)
    assert_same(query_sums(attention, *masks), literal(attention, *masks))


def test_a_query_whose_whole_weight_is_left_out_counts_as_zero_without_an_argmax() -> None:
    attention = torch.tensor([[[[1.0, 0.0]]]])
    sums = query_sums(attention, torch.tensor([[True]]), torch.tensor([[False, True]]))
    assert (sums.n_queries, sums.maximum, sums.entropy, sums.mass.sum(), sums.argmax.sum()) == (1, 0, 0, 0, 0)


def test_an_example_without_any_valid_key_is_not_counted() -> None:
    attention = random_attention(2, 2, 3, 3)
    keys = torch.tensor([[True] * 3, [False] * 3])
    assert_same(query_sums(attention, None, keys), query_sums(attention[:1], None, keys[:1]))


@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_sums_of_chunks_and_single_examples_add_up_to_those_of_the_whole(chunk: int) -> None:
    attention = random_attention(3, 2, 7, 5)
    queries, keys = random_mask(3, 7), random_mask(3, 5)
    parts = [
        query_sums(attention[[example], :, rows], queries[[example], rows], keys[[example]], first)
        for example in range(3)
        for first in range(0, 7, chunk)
        for rows in [slice(first, first + chunk)]
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert_same(total, query_sums(attention, queries, keys))


def test_sums_of_maps_of_different_size_add_up_offset_by_offset() -> None:
    short, long = random_attention(1, 2, 3, 3), random_attention(1, 2, 6, 6)
    both = query_sums(short, None, None) + query_sums(long, None, None)
    for offset in range(-5, 6):
        expected = torch.diagonal(long, offset, -2, -1).sum((0, -1))
        if abs(offset) < 3:
            expected = expected + torch.diagonal(short, offset, -2, -1).sum((0, -1))
        torch.testing.assert_close(both.mass[:, offset + 5], expected)


def test_entropy_is_zero_for_one_key_and_log_n_for_n_equal_ones() -> None:
    attention = torch.tensor([[[[0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]]], dtype=torch.float64)
    torch.testing.assert_close(entropies(attention)[0, 0], torch.tensor([0.0, math.log(4)], dtype=torch.float64))


def test_a_head_that_looks_one_back_has_confidence_one_and_all_of_it_at_minus_one() -> None:
    attention = torch.eye(5)[:4][None, None]  # query 1 looks at key 0, and so on
    (head,) = query_sums(attention, None, None, first_query=1).averages()
    assert (head.n_queries, head.confidence, head.entropy) == (4, 1.0, 0.0)
    for shares in (head.mass, head.argmax):
        assert dict(zip(head.offsets, shares, strict=True)) == {offset: float(offset == -1) for offset in range(-4, 5)}


def test_mass_and_argmax_of_every_head_sum_to_one_when_nothing_is_left_out() -> None:
    for head in query_sums(random_attention(2, 3, 5, 8), None, None).averages():
        assert sum(head.mass) == pytest.approx(1)
        assert sum(head.argmax) == pytest.approx(1)


def test_half_precision_is_summed_in_full_precision() -> None:
    attention = torch.full((1, 1, 300, 300), 1 / 300).bfloat16()
    (head,) = query_sums(attention, None, None).averages()
    assert sum(head.mass) == pytest.approx(300 * float(torch.tensor(1 / 300).bfloat16()), rel=1e-6)
    assert head.entropy == pytest.approx(math.log(300), rel=1e-5)


def test_nothing_to_average_over_is_an_error() -> None:
    nothing = query_sums(random_attention(1, 1, 2, 2), torch.zeros(1, 2, dtype=torch.bool), None)
    with pytest.raises(ValueError, match="no query to average over"):
        nothing.averages()
