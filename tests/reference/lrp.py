"""Layer-wise relevance propagation written out neuron by neuron, as the papers print it, with epsilon 0.

No autograd and no code of ours: relevance r_u = sum_v w_uv r_v, Voita et al. 2019, is carried back by loops through a
GPT-2 whose forward pass is written out too.
"""

from __future__ import annotations

import numpy as np
import torch
import transformers as hf
from numpy.typing import NDArray

Array = NDArray[np.float64]


def linear(inputs: Array, weights: Array, bias: Array, relevance: Array) -> tuple[Array, Array]:
    """r_u = sum_v (W_uv u / v) r_v of a layer v = sum_u W_uv u + b_v, and what its biases get, (b_v / v) r_v."""
    n_inputs, n_outputs = weights.shape
    to_inputs, to_bias = np.zeros(n_inputs), np.zeros(n_outputs)
    for v in range(n_outputs):
        output = sum(weights[u, v] * inputs[u] for u in range(n_inputs)) + bias[v]
        for u in range(n_inputs):
            to_inputs[u] += weights[u, v] * inputs[u] / output * relevance[v]
        to_bias[v] += bias[v] / output * relevance[v]
    return to_inputs, to_bias


def added(first: Array, second: Array, relevance: Array) -> tuple[Array, Array]:
    """Each addend in proportion to its size."""
    return first / (first + second) * relevance, second / (first + second) * relevance


def layer_norm(inputs: Array, weight: Array, bias: Array, eps: float, relevance: Array) -> Array:
    """The z-rule of a linear layer, W_uv = (1[u = v] - 1/n) g_v / deviation."""
    n = len(inputs)
    deviation = np.sqrt(((inputs - inputs.mean()) ** 2).mean() + eps)
    weights = np.zeros((n, n))
    for u in range(n):
        for v in range(n):
            weights[u, v] = (float(u == v) - 1 / n) * weight[v] / deviation
    return linear(inputs, weights, bias, relevance)[0]


def attention_cp(weights: Array, values: Array, relevance: Array) -> Array:
    """r of value j: sum_i (a_ij v_j / c_i) r_i, for each neuron of a head; weights are constants."""
    n_places, width = values.shape
    to_values = np.zeros((n_places, width))
    for neuron in range(width):
        for i in range(n_places):
            context = sum(weights[i, j] * values[j, neuron] for j in range(n_places))
            for j in range(n_places):
                to_values[j, neuron] += weights[i, j] * values[j, neuron] / context * relevance[i, neuron]
    return to_values


def attention_attnlrp(
    parts: tuple[Array, Array, Array], scores: Array, weights: Array, relevance: Array
) -> tuple[Array, Array, Array]:
    """What query, key and value get: half of every product to each factor, softmax x_j (r_j - a_j sum_k r_k)."""
    queries, keys, values = parts
    n_places, width = values.shape
    to_values = attention_cp(weights, values, relevance) / 2
    to_weights = np.zeros((n_places, n_places))
    for i in range(n_places):
        for neuron in range(width):
            context = sum(weights[i, j] * values[j, neuron] for j in range(n_places))
            for j in range(i + 1):
                to_weights[i, j] += weights[i, j] * values[j, neuron] / context * relevance[i, neuron] / 2
    to_queries, to_keys = np.zeros_like(queries), np.zeros_like(keys)
    for i in range(n_places):
        for j in range(i + 1):
            to_score = scores[i, j] * (to_weights[i, j] - weights[i, j] * to_weights[i, : i + 1].sum())
            for neuron in range(width):
                share = queries[i, neuron] * keys[j, neuron] / np.sqrt(width) / scores[i, j] * to_score / 2
                to_queries[i, neuron] += share
                to_keys[j, neuron] += share
    return to_queries, to_keys, to_values


def gpt2_relevances(model: hf.GPT2LMHeadModel, tokens: list[int], n_judged: int, rule: str) -> Array:
    """The relevance of [layer, head] for the sum of the largest logits at the first `n_judged` places."""
    weights = {name: value.detach().double().numpy() for name, value in model.state_dict().items()}
    config = model.config
    hidden = weights["transformer.wte.weight"][tokens] + weights["transformer.wpe.weight"][: len(tokens)]
    blocks = []
    for layer in range(config.n_layer):
        blocks.append(_Block(weights, f"transformer.h.{layer}.", config))
        hidden = blocks[-1].forward(hidden)
    final = [weights[f"transformer.ln_f.{name}"] for name in ("weight", "bias")]
    relevance = np.zeros_like(hidden)
    for place in range(n_judged):
        normed = _normed(hidden[place], *final, config.layer_norm_epsilon)
        logits = weights["lm_head.weight"] @ normed
        start = np.where(logits == logits.max(), logits, 0.0)
        unembedded, _ = linear(normed, weights["lm_head.weight"].T, np.zeros(len(logits)), start)
        relevance[place] = layer_norm(hidden[place], *final, config.layer_norm_epsilon, unembedded)
    found = []
    for block in reversed(blocks):
        relevance = block.backward(relevance, rule)
        found.append(block.head_relevances)
    return np.array(found[::-1])


class _Block:
    """One layer of GPT-2; it keeps what the way back needs."""

    def __init__(self, weights: dict[str, Array], path: str, config: hf.GPT2Config) -> None:
        self.of = {name.removeprefix(path): value for name, value in weights.items() if name.startswith(path)}
        self.n_heads, self.eps = config.n_head, config.layer_norm_epsilon
        self.head_relevances = np.zeros(config.n_head)

    def forward(self, hidden: Array) -> Array:
        self.hidden = hidden
        self.normed = np.array([_normed(place, *self._pair("ln_1"), self.eps) for place in hidden])
        projected = self.normed @ self.of["attn.c_attn.weight"] + self.of["attn.c_attn.bias"]
        self.parts = [np.split(part, self.n_heads, axis=1) for part in np.split(projected, 3, axis=1)]
        self.scores, self.weights = [], []
        for query, key in zip(*self.parts[:2], strict=True):
            scores = query @ key.T / np.sqrt(query.shape[1])
            powers = np.tril(np.exp(scores))
            self.scores.append(scores)
            self.weights.append(powers / powers.sum(axis=1, keepdims=True))
        heads = [weights @ value for weights, value in zip(self.weights, self.parts[2], strict=True)]
        self.context = np.concatenate(heads, axis=1)
        self.attended = self.context @ self.of["attn.c_proj.weight"] + self.of["attn.c_proj.bias"]
        self.middle = hidden + self.attended
        self.normed_middle = np.array([_normed(place, *self._pair("ln_2"), self.eps) for place in self.middle])
        self.inner = self.normed_middle @ self.of["mlp.c_fc.weight"] + self.of["mlp.c_fc.bias"]
        self.activated = torch.nn.functional.gelu(torch.tensor(self.inner), approximate="tanh").numpy()
        self.added = self.activated @ self.of["mlp.c_proj.weight"] + self.of["mlp.c_proj.bias"]
        return self.middle + self.added

    def backward(self, relevance: Array, rule: str) -> Array:
        """From the relevance of what the layer gives to that of what it reads."""
        at_context, at_hidden = np.zeros_like(self.context), np.zeros_like(self.hidden)
        for place in range(len(relevance)):
            at_middle, at_mlp = added(self.middle[place], self.added[place], relevance[place])
            at_activated, _ = linear(self.activated[place], *self._pair("mlp.c_proj"), at_mlp)
            at_normed, _ = linear(self.normed_middle[place], *self._pair("mlp.c_fc"), at_activated)
            at_middle = at_middle + layer_norm(self.middle[place], *self._pair("ln_2"), self.eps, at_normed)
            at_hidden[place], at_attended = added(self.hidden[place], self.attended[place], at_middle)
            at_context[place], _ = linear(self.context[place], *self._pair("attn.c_proj"), at_attended)
        by_head = np.split(at_context, self.n_heads, axis=1)
        self.head_relevances = np.array([part.sum() for part in by_head])
        at_parts = self._through_attention(by_head, rule)
        for place in range(len(relevance)):
            at_normed, _ = linear(self.normed[place], *self._pair("attn.c_attn"), at_parts[place])
            at_hidden[place] += layer_norm(self.hidden[place], *self._pair("ln_1"), self.eps, at_normed)
        return at_hidden

    def _through_attention(self, by_head: list[Array], rule: str) -> Array:
        """From the contexts of every head to queries, keys and values, side by side."""
        found: list[list[Array]] = [[], [], []]
        for head, relevance in enumerate(by_head):
            parts = (self.parts[0][head], self.parts[1][head], self.parts[2][head])
            if rule == "cp":
                to_values = attention_cp(self.weights[head], parts[2], relevance)
                of_head = (np.zeros_like(to_values), np.zeros_like(to_values), to_values)
            else:
                of_head = attention_attnlrp(parts, self.scores[head], self.weights[head], relevance)
            for column, part in zip(found, of_head, strict=True):
                column.append(part)
        return np.concatenate([np.concatenate(column, axis=1) for column in found], axis=1)

    def _pair(self, name: str) -> tuple[Array, Array]:
        return self.of[f"{name}.weight"], self.of[f"{name}.bias"]


def _normed(inputs: Array, weight: Array, bias: Array, eps: float) -> Array:
    deviation = np.sqrt(((inputs - inputs.mean()) ** 2).mean() + eps)
    return (inputs - inputs.mean()) / deviation * weight + bias
