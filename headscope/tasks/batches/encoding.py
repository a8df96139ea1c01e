"""Texts as a model's tokenizer gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted

LONGEST = 2048
"""Tokens that are read of a text at once, whatever a model allows."""

NEEDED = ("batch_decode", "all_special_ids")
"""What a tokenizer can tell, and what prepares images or hands texts on to two tokenizers cannot."""


def text_inputs(head_model: HeadModel, texts: Sequence[tuple[str, str | None]]) -> list[dict[str, list[int]]]:
    """What the model reads of each text or pair of texts, cut to what it can read."""
    firsts, seconds = [text for text, _ in texts], [pair for _, pair in texts]
    if len({second is None for second in seconds}) > 1:
        raise ValueError("some texts have a second text and some do not; all or none must")
    encoded = read_texts(
        head_model,
        firsts,
        seconds if seconds and seconds[0] is not None else None,
        truncation=True,
        max_length=longest_text(head_model),
        return_attention_mask=True,
    )
    named = accepted(head_model.model, **encoded)
    return [{name: list(values[row]) for name, values in named.items()} for row in range(len(texts))]


def text_tokens(head_model: HeadModel, texts: Sequence[str]) -> list[list[int]]:
    """The tokens of every text, however long, after a begin token where the tokenizer has one."""
    begin = tokenizer_of(head_model).bos_token_id
    tokens: list[list[int]] = read_texts(head_model, list(texts), verbose=False).input_ids
    return [list(ids) if begin is None or ids[:1] == [begin] else [begin, *ids] for ids in tokens]


def read_texts(head_model: HeadModel, *texts: Any, **how: Any) -> Any:
    """Lists of texts as the tokenizer gives them; a ValueError where one has a token that the model does not know.

    On a GPU such a token would end the process.
    """
    encoded = tokenizer_of(head_model)(*texts, **how)
    known = _n_known(head_model, written="text_target" in how)
    largest = max((token for tokens in encoded.input_ids for token in tokens), default=0)
    if known is not None and largest >= known:
        raise ValueError(
            f"the tokenizer of {head_model.name} gives token {largest} and the model knows {known}; "
            "it needs the tokenizer that it was trained with"
        )
    return encoded


def _n_known(head_model: HeadModel, *, written: bool) -> int | None:
    """How many tokens a model reads, or writes; None where it does not say."""
    model = head_model.model
    try:
        table = model.get_output_embeddings() if written else model.get_input_embeddings()
    except (AttributeError, NotImplementedError):
        return None
    weight = getattr(table, "weight", None)
    return None if weight is None else len(weight)


def tokenizer_of(head_model: HeadModel) -> Any:
    """The model's tokenizer; a ValueError if it has none."""
    if not callable(head_model.tokenizer) or not all(hasattr(head_model.tokenizer, name) for name in NEEDED):
        raise ValueError(f"{head_model.name} has no tokenizer; one is needed to read texts")
    return head_model.tokenizer


def longest_text(head_model: HeadModel) -> int:
    """How many tokens the model reads at most; never more than LONGEST."""
    config = head_model.model.config.get_text_config(decoder=True)
    named = [getattr(config, name, None) for name in ("max_position_embeddings", "n_positions")]
    named.append(getattr(head_model.tokenizer, "model_max_length", None))
    return min(LONGEST, *(int(limit) for limit in named if limit is not None and limit > 1))
