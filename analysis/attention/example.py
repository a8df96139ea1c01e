"""One example to look at: a text, a pair of texts, or a handwritten digit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.models.head_model import HeadModel
from headscope.tasks.batches.encoding import longest_text, text_inputs, text_tokens, tokenizer_of
from headscope.tasks.model_kinds import KINDS, kind_of
from headscope.tasks.vision import DIGIT_SIZES, digit_split, pixel_values

MOST_TOKENS = 96
"""Tokens of a text whose attention is shown; more cannot be told apart on a screen."""

DIGIT_SPLIT = "test"
TAKES_PAIRS = ("classifier", "filler", "encoder")

Inputs = dict[str, Tensor]


@dataclass(frozen=True)
class Example:
    """A text, a text and a second one, or the number of a digit in the split "test" of headscope.tasks.vision."""

    text: str = ""
    pair: str | None = None
    image: int | None = None

    def __post_init__(self) -> None:
        if self.image is None:
            if not self.text.strip() or (self.pair is not None and not self.pair.strip()):
                raise ValueError("an empty text; at least one word is needed")
        elif self.text or self.pair is not None:
            raise ValueError("both a text and an image; one of them is allowed")
        elif not 0 <= self.image < DIGIT_SIZES[DIGIT_SPLIT]:
            raise ValueError(f"no image {self.image}; allowed are 0 to {DIGIT_SIZES[DIGIT_SPLIT] - 1}")


def inputs_of(head_model: HeadModel, example: Example) -> Inputs:
    """What the model reads of the example, a batch of one; a ValueError if it cannot read such an example."""
    kind = kind_of(head_model.model)
    if kind == "listener":
        raise ValueError(f"{head_model.name} is a model that {KINDS[kind]}; examples are texts and images")
    if (kind == "looker") != (example.image is not None):
        given, needed = ("a text", "an image") if example.image is None else ("an image", "a text")
        raise ValueError(f"{given} for {head_model.name}, a model that {KINDS[kind]}; {needed} is needed")
    if example.image is not None:
        return {"pixel_values": _image(head_model, example.image)}
    if example.pair is not None and kind not in TAKES_PAIRS:
        raise ValueError(f"a second text for {head_model.name}, a model that {KINDS[kind]}; it takes one text")
    tokens = _written_so_far(head_model, example.text) if kind == "writer" else _tokens(head_model, example)
    return {name: torch.tensor([values], device=head_model.device) for name, values in tokens.items()}


def _image(head_model: HeadModel, number: int) -> Tensor:
    images, _ = digit_split(DIGIT_SPLIT)
    return pixel_values(head_model, images[number : number + 1]).to(head_model.device, head_model.model.dtype)


def _tokens(head_model: HeadModel, example: Example) -> dict[str, list[int]]:
    counted = tokenizer_of(head_model)(example.text, example.pair, verbose=False).input_ids
    _check_length(head_model, len(counted))
    return text_inputs(head_model, [(example.text, example.pair)])[0]


def _written_so_far(head_model: HeadModel, text: str) -> dict[str, list[int]]:
    """The text without the end mark that some tokenizers add, for the model is to go on writing."""
    (tokens,) = text_tokens(head_model, [text])
    if len(tokens) > 1 and tokens[-1] == tokenizer_of(head_model).eos_token_id:
        tokens = tokens[:-1]
    _check_length(head_model, len(tokens))
    return {"input_ids": tokens, "attention_mask": [1] * len(tokens)}


def _check_length(head_model: HeadModel, n_tokens: int) -> None:
    if not n_tokens:
        raise ValueError(f"a text in which {head_model.name} finds no token; at least one word is needed")
    most = min(MOST_TOKENS, longest_text(head_model))
    if n_tokens > most:
        raise ValueError(f"a text of {n_tokens} tokens; at most {most} can be shown")
