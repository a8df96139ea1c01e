"""The options of a method, as a command line spells them and as a form shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from headscope.analysis.importance.method import Method
from headscope.models.text import shown


@dataclass(frozen=True)
class Option:
    """A field of a method: its type, its value by default, what it is for, and its values where they are few."""

    name: str
    type: type
    default: Any
    about: str
    choices: tuple[Any, ...] = ()

    def read(self, text: str) -> Any:
        """The value that a text spells."""
        allowed = self.choices or ((True, False) if self.type is bool else ())
        for choice in allowed:
            if text.lower() == str(choice).lower():
                return choice
        if allowed:
            raise ValueError(f"{self.name}={text}; allowed: {', '.join(str(choice).lower() for choice in allowed)}")
        try:
            return self.type(text)
        except ValueError as error:
            raise ValueError(f"{self.name}={text}; a value such as {self.default} is needed") from error


def options_of(method: type[Method]) -> tuple[Option, ...]:
    """All options of a method, in the order in which it declares them."""
    hints = get_type_hints(method)
    found = []
    for field in fields(method):  # type: ignore[arg-type]  # every method is a dataclass
        hint = hints[field.name]
        choices = get_args(hint) if get_origin(hint) is Literal else ()
        about = field.metadata.get("about", "")
        found.append(Option(field.name, type(field.default), field.default, about, choices))
    return tuple(found)


def read_options(method: type[Method], pairs: Iterable[str]) -> dict[str, Any]:
    """`name=value` pairs as the fields of a method."""
    known = {option.name: option for option in options_of(method)}
    read = {}
    for name, _, value in (pair.partition("=") for pair in pairs):
        if name not in known:
            raise ValueError(f"no option {shown(name)!r} of {method.key}; it has: {', '.join(known) or 'none'}")
        read[name] = known[name].read(value)
    return read
