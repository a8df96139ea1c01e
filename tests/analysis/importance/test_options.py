from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from headscope.analysis.importance.method import Method
from headscope.analysis.importance.options import options_of, read_options


@dataclass(frozen=True)
class Example(Method):
    key = "example"
    shape: Literal["round", "square"] = field(default="round", metadata={"about": "its outline"})
    steps: int = 3
    rate: float = 0.5
    signs: bool = False

    def of_batch(self, head_model: Any, task: Any, batch: Any) -> Any:
        raise NotImplementedError


def test_options_are_read_as_the_types_that_the_method_declares() -> None:
    read = read_options(Example, ["shape=square", "steps=7", "rate=2", "signs=true"])
    assert read == {"shape": "square", "steps": 7, "rate": 2.0, "signs": True}
    assert [type(value) for value in read.values()] == [str, int, float, bool]


def test_options_tell_their_choices_and_what_they_are_for() -> None:
    shape = options_of(Example)[0]
    assert (shape.default, shape.choices, shape.about) == ("round", ("round", "square"), "its outline")


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        ("shape=oval", "shape=oval; allowed: round, square"),
        ("steps=many", "steps=many; a value such as 3 is needed"),
        ("signs=perhaps", "signs=perhaps; allowed: true, false"),
        ("size=1", "no option 'size' of example; it has: shape, steps, rate, signs"),
    ],
)
def test_a_wrong_option_is_refused_in_one_sentence(pair: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_options(Example, [pair])
