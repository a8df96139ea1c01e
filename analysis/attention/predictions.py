"""What a model says about one example, in words and with probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.analysis.attention.attention_record import Answer, Guess
from headscope.analysis.attention.example import Inputs
from headscope.analysis.attention.readable_tokens import readable
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.encoding import longest_text
from headscope.tasks.model_kinds import kind_of
from headscope.tasks.task import precise

N_GUESSES = 5
N_CONTINUED = 12
"""Tokens by which a text is continued."""

Probabilities = Float[Tensor, "place choice"]
Names = Callable[[Sequence[int]], tuple[str, ...]]


def answer_of(head_model: HeadModel, inputs: Inputs) -> Answer:
    """The answer to one example; an encoder-decoder is asked about the `decoder_input_ids` it has written itself."""
    return _ANSWERS[kind_of(head_model.model)](head_model, inputs)


def _label(head_model: HeadModel, inputs: Inputs) -> Answer:
    """The label of the example, or of every token where the model labels tokens."""
    kind = kind_of(head_model.model)
    logits = _logits(head_model, inputs)
    if logits is None:
        return Answer(kind)
    if logits.shape[-1] == 1:  # a number and not a choice: it has no probability
        return Answer(kind, " ".join(f"{number:.3f}" for number in logits.flatten().tolist()))
    probabilities = logits.flatten(end_dim=-2).softmax(dim=-1)
    labels: Mapping[Any, str] = head_model.model.config.id2label or {}
    guesses = _guesses(probabilities, lambda numbers: tuple(str(labels.get(number, number)) for number in numbers))
    text = " ".join(choice[0].text for choice in guesses)
    return Answer(kind, text, guesses, tuple(choice[0].probability for choice in guesses))


def _continuation(head_model: HeadModel, inputs: Inputs) -> Answer:
    """The likeliest next tokens, and how the text goes on if the likeliest is taken again and again."""
    tokenizer, model = head_model.tokenizer, head_model.model
    begun: list[int] = inputs["input_ids"][0].tolist()
    ends = model.generation_config.eos_token_id
    ends = [ends] if isinstance(ends, int) else ends or []
    guesses: tuple[tuple[Guess, ...], ...] = ()
    written: list[int] = []
    certainty: list[float] = []
    unread, cache = inputs["input_ids"], None
    for step in range(min(N_CONTINUED, longest_text(head_model) - len(begun) + 1)):
        mask = torch.ones(1, len(begun) + step, dtype=torch.long, device=head_model.device)
        output = model(input_ids=unread, attention_mask=mask, past_key_values=cache, use_cache=True)
        probabilities = precise(output.logits[0, -1:]).softmax(dim=-1)
        guesses = guesses or _guesses(probabilities, lambda numbers: readable(tokenizer, numbers))
        token = int(probabilities.argmax())
        if token in ends:
            break
        written.append(token)
        certainty.append(float(probabilities[0, token]))
        unread, cache = torch.tensor([[token]], device=head_model.device), output.past_key_values
    return Answer("writer", _after(tokenizer, begun, written), guesses, tuple(certainty))


def _filled_gaps(head_model: HeadModel, inputs: Inputs) -> Answer:
    """The likeliest tokens of every gap, each seen with all gaps open, and the text with the likeliest in place."""
    tokenizer = head_model.tokenizer
    tokens = inputs["input_ids"][0].clone()
    gaps = (tokens == tokenizer.mask_token_id).nonzero().flatten() if tokenizer.mask_token_id is not None else []
    logits = _logits(head_model, inputs)
    if not len(gaps) or logits is None:
        return Answer("filler")
    probabilities = logits[0, gaps].softmax(dim=-1)
    guesses = _guesses(probabilities, lambda numbers: readable(tokenizer, numbers))
    tokens[gaps] = probabilities.argmax(dim=-1)
    text = tokenizer.decode(tokens.tolist(), skip_special_tokens=True)
    return Answer("filler", text, guesses, tuple(choice[0].probability for choice in guesses))


def _translation(head_model: HeadModel, inputs: Inputs) -> Answer:
    """The text that was written, and the probability of each of its tokens after those before it."""
    written = inputs["decoder_input_ids"][0, 1:]
    logits = _logits(head_model, inputs)
    if logits is None:
        return Answer("translator")
    probabilities = logits[0, :-1].softmax(dim=-1).gather(1, written[:, None]).flatten()
    text = head_model.tokenizer.decode(written.tolist(), skip_special_tokens=True)
    return Answer("translator", text, (), tuple(probabilities.tolist()))


def _nothing(head_model: HeadModel, inputs: Inputs) -> Answer:
    del inputs
    return Answer(kind_of(head_model.model))


_ANSWERS: Mapping[str, Callable[[HeadModel, Inputs], Answer]] = {
    "looker": _label,
    "classifier": _label,
    "writer": _continuation,
    "filler": _filled_gaps,
    "translator": _translation,
    "encoder": _nothing,
}


def _logits(head_model: HeadModel, inputs: Inputs) -> Tensor | None:
    logits = getattr(head_model.model(**inputs), "logits", None)
    return None if logits is None else precise(logits)


def _guesses(probabilities: Probabilities, names: Names) -> tuple[tuple[Guess, ...], ...]:
    """The likeliest choices of each place, the likeliest first."""
    likeliest = probabilities.topk(min(N_GUESSES, probabilities.shape[-1]), dim=-1)
    return tuple(
        tuple(Guess(text, share) for text, share in zip(names(numbers), shares, strict=True))
        for numbers, shares in zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
    )


def _after(tokenizer: Any, begun: list[int], written: list[int]) -> str:
    """The new text as it stands after the old one, its first blank included."""
    before = tokenizer.decode(begun, skip_special_tokens=True)
    whole: str = tokenizer.decode([*begun, *written], skip_special_tokens=True)
    return whole.removeprefix(before) if whole.startswith(before) else tokenizer.decode(written)
