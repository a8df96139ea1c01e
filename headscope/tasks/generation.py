"""What an encoder-decoder writes: greedy or by beam search, batched and cached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headscope.models.head_model import HeadModel
from headscope.models.pausing import may_pause
from headscope.tasks.batches.encoding import longest_text

LIMIT_STEP = 16
"""Rows whose limits fall within one step share a limit, so that beam search can take them together."""

CHECK_EVERY = 4
"""Steps between two looks at which rows are done; each look waits for the device."""

ENCODED_TOGETHER = 32
"""Sources that the encoder reads at once."""

WORTH_DROPPING = 0.75
"""Rows are dropped from the batch once fewer than this share of them goes on."""

PLAIN: dict[str, tuple[Any, ...]] = {
    "repetition_penalty": (None, 1.0),
    "encoder_repetition_penalty": (None, 1.0),
    "no_repeat_ngram_size": (None, 0),
    "encoder_no_repeat_ngram_size": (None, 0),
    "min_length": (None, 0),
    "min_new_tokens": (None, 0),
    "exponential_decay_length_penalty": (None,),
    "sequence_bias": (None,),
    "begin_suppress_tokens": (None, []),
    "guidance_scale": (None, 1.0),
}
"""The settings of a generation config under which the loop here computes what `generate` does."""


def generated(head_model: HeadModel, inputs: dict[str, Tensor], n_beams: int = 1) -> list[list[int]]:
    """The tokens written for every source, without the start token and without the end.

    A source of n tokens may be answered by 2 n + 10, rounded up to a multiple of 16: a model that has lost its heads
    may never end a sentence. The limit depends on the source alone, so no batch changes what is written. Gates must
    be the same for all examples, [head].
    """
    if n_beams < 1:
        raise ValueError(f"{n_beams} beams; at least 1 is needed")
    model, longest = head_model.model, longest_text(head_model)
    _check_tokens(head_model)
    limits = [_limit(length, longest) for length in inputs["attention_mask"].sum(dim=1).tolist()]
    if n_beams == 1 and _is_plain(model.generation_config):
        return greedy(model, inputs, limits)
    return _by_library(model, inputs, limits, n_beams)


def greedy(model: PreTrainedModel, inputs: dict[str, Tensor], limits: Sequence[int]) -> list[list[int]]:
    """At every step the likeliest token; row i ends with the model's end token or after limits[i] tokens.

    Equal to `model.generate(num_beams=1, do_sample=False)`, and quicker: rows that are done leave the batch.
    """
    rule = _Rule.of(model)
    device = inputs["input_ids"].device
    encoded = encoded_sources(model, inputs)
    source_mask = inputs["attention_mask"][:, : encoded.shape[1]]
    remaining = torch.tensor(limits, device=device)  # [row]
    written = torch.full((len(limits), max(limits)), rule.filler, device=device)  # [source, step]
    ends = rule.ends.to(device)
    rows = torch.arange(len(limits), device=device)  # [row], numbers of the sources that go on
    done = torch.zeros_like(rows, dtype=torch.bool)
    token = torch.full_like(rows, rule.start)
    cache: Any = None
    for step in range(max(limits)):
        if step and step % CHECK_EVERY == 0:
            may_pause()
            kept = (~done & (remaining > step)).nonzero().squeeze(1)
            if not len(kept):
                break
            if len(kept) < WORTH_DROPPING * len(rows):
                rows, done, remaining, token = rows[kept], done[kept], remaining[kept], token[kept]
                encoded, source_mask = encoded[kept], source_mask[kept]
                cache.batch_select_indices(kept)
        output = model(
            encoder_outputs=(encoded,),
            attention_mask=source_mask,
            decoder_input_ids=token[:, None],
            past_key_values=cache,
            use_cache=True,
        )
        cache = output.past_key_values
        token = rule.choose(output.logits[:, -1], step)
        written[rows, step] = token
        done |= torch.isin(token, ends)
    return [rule.cut(tokens, limit) for tokens, limit in zip(written.tolist(), limits, strict=True)]


def encoded_sources(model: PreTrainedModel, inputs: dict[str, Tensor]) -> Tensor:
    """The encoder's states [source, position, d_model] of sources padded on the right; 0 where there is padding.

    Sources of like length are encoded together, each group without the padding that only longer ones need.
    """
    lengths = inputs["attention_mask"].sum(dim=1).tolist()
    order = sorted(range(len(lengths)), key=lambda row: lengths[row])
    states: Tensor | None = None
    for start in range(0, len(order), ENCODED_TOGETHER):
        may_pause()
        rows = order[start : start + ENCODED_TOGETHER]
        width = lengths[rows[-1]]
        found = model.get_encoder()(**{name: value[rows, :width] for name, value in inputs.items()}).last_hidden_state
        if states is None:
            states = found.new_zeros(len(lengths), max(lengths), found.shape[-1])
        states[rows, :width] = found
    if states is None:
        raise ValueError("no sources; at least one is needed")
    return states


INDEXED = ("forced_bos_token_id", "suppress_tokens", "begin_suppress_tokens", "bad_words_ids")
"""Settings whose tokens are looked up among those of the model, as is the first; an end that it lacks does no harm."""


def _check_tokens(head_model: HeadModel) -> None:
    """Raise a ValueError for a token of the generation config that the model does not have."""
    config = head_model.model.generation_config
    most = head_model.model.config.get_text_config(decoder=True).vocab_size
    named = {"first token": start_token(head_model.model)} | {name: getattr(config, name, None) for name in INDEXED}
    for name, tokens in named.items():
        for token in _flat(tokens):
            if not 0 <= token < most:
                raise ValueError(
                    f"{head_model.name} has {token} as {name} in its generation_config.json or config.json; "
                    f"allowed are 0 to {most - 1}"
                )


def _flat(tokens: Any) -> Iterator[int]:
    if isinstance(tokens, int):
        yield tokens
    for one in tokens if isinstance(tokens, list) else ():
        yield from _flat(one)


def start_token(model: PreTrainedModel) -> int:
    """The token before the first that a model writes."""
    for config in (model.generation_config, model.config):
        for name in ("decoder_start_token_id", "bos_token_id"):
            token = getattr(config, name, None)
            if token is not None:
                return int(token)
    raise ValueError(f"{type(model).__name__} names no token to start its answer with (decoder_start_token_id)")


@dataclass(frozen=True, eq=False)
class _Rule:
    """What a model's generation config says about greedy choices."""

    start: int
    ends: Tensor
    filler: int
    forced_first: int | None
    forced_last: bool
    banned: list[int]

    @classmethod
    def of(cls, model: PreTrainedModel) -> _Rule:
        config = model.generation_config
        ends = _tokens(config.eos_token_id)
        banned = [words[0] for words in config.bad_words_ids or []] + list(config.suppress_tokens or [])
        return cls(
            start_token(model),
            torch.tensor(ends),
            ends[0] if ends else 0,
            config.forced_bos_token_id,
            config.forced_eos_token_id is not None,
            banned,
        )

    def choose(self, logits: Tensor, step: int) -> Tensor:
        """The likeliest token [row] that is allowed."""
        if step == 0 and self.forced_first is not None:
            return torch.full_like(logits[:, 0], self.forced_first, dtype=torch.long)
        if self.banned:
            logits = logits.index_fill(1, torch.tensor(self.banned, device=logits.device), -torch.inf)
        return logits.argmax(dim=-1)

    def cut(self, tokens: list[int], limit: int) -> list[int]:
        """The tokens before the end, within the limit; a forced end takes the place of the last one."""
        allowed = tokens[: limit - 1 if self.forced_last else limit]
        ends = set(self.ends.tolist())
        return next((allowed[:place] for place, token in enumerate(allowed) if token in ends), allowed)


def _by_library(
    model: PreTrainedModel, inputs: dict[str, Tensor], limits: Sequence[int], n_beams: int
) -> list[list[int]]:
    """What `generate` writes, row groups of one limit at a time."""
    ends = set(_tokens(model.generation_config.eos_token_id))
    written: dict[int, list[int]] = {}
    by_limit = sorted(range(len(limits)), key=lambda row: limits[row])
    for limit, group in groupby(by_limit, key=lambda row: limits[row]):
        rows = list(group)
        own = {name: value[rows] for name, value in inputs.items()}
        with _followed(model):
            output = model.generate(  # type: ignore[operator]
                **own, num_beams=n_beams, do_sample=False, max_new_tokens=limit, num_return_sequences=1,
                return_dict_in_generate=False,
            )  # fmt: skip
        for row, tokens in zip(rows, output[:, 1:].tolist(), strict=True):
            written[row] = next((tokens[:place] for place, token in enumerate(tokens) if token in ends), tokens)
    return [written[row] for row in range(len(limits))]


@contextmanager
def _followed(model: PreTrainedModel) -> Iterator[None]:
    """Tells in one sentence that `generate` cannot follow a model's settings; it checks hardly any of them itself."""
    try:
        yield
    except (TypeError, LookupError, AttributeError, ValueError) as error:
        reason = str(error).partition("\n")[0][:200] or type(error).__name__
        raise ValueError(f"{type(model).__name__} cannot follow its generation_config.json: {reason}") from error


def _limit(n_source: int, longest: int) -> int:
    return min(LIMIT_STEP * -(-(2 * n_source + 10) // LIMIT_STEP), longest)


def _is_plain(config: Any) -> bool:
    single = all(len(words) == 1 for words in config.bad_words_ids or [])
    return single and all(getattr(config, name, None) in neutral for name, neutral in PLAIN.items())


def _tokens(named: int | list[int] | None) -> list[int]:
    if named is None:
        return []
    return [named] if isinstance(named, int) else list(named)
