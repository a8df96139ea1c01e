"""What the roles ask for: thresholds by `role.name`, such as `syntactic.margin`, those of the papers by default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from headscope.analysis.roles.role import Role, roles
from headscope.models.text import shown

Roles = Mapping[str, Role]
"""By key, each with the thresholds that were asked for."""


def usual_roles() -> dict[str, Role]:
    """Every role with its thresholds by default."""
    return {key: role() for key, role in roles().items()}


def asked_roles(options: Mapping[str, Any]) -> dict[str, Role]:
    """Every role, with the thresholds that are given and its own where none is."""
    asked = usual_roles()
    for name, value in options.items():
        key, threshold = _known(name)
        asked[key] = replace(asked[key], **{threshold: _allowed(name, value)})  # type: ignore[type-var]
    return asked


def thresholds_of(role: Role) -> dict[str, float]:
    """Its thresholds by name."""
    return asdict(role)  # type: ignore[call-overload,no-any-return]


def all_thresholds() -> dict[str, float]:
    """Every threshold by its full name, with its value by default."""
    return {
        f"{key}.{name}": value for key, role in usual_roles().items() for name, value in thresholds_of(role).items()
    }


def read_thresholds(pairs: Iterable[str]) -> dict[str, Any]:
    """`role.name=value` pairs as a command line spells them."""
    read = {}
    for name, _, text in (pair.partition("=") for pair in pairs):
        _known(name)
        try:
            read[name] = type(all_thresholds()[name])(text)
        except ValueError as error:
            raise ValueError(f"{name}={text}; a number such as {all_thresholds()[name]} is needed") from error
        _allowed(name, read[name])
    return read


def asks_of(role: Role) -> str:
    """What a head must do for the role; where thresholds are not the usual ones, with them."""
    usual = {field.name: field.default for field in fields(role)}  # type: ignore[arg-type]
    other = [f"{name} {value}" for name, value in thresholds_of(role).items() if value != usual[name]]
    return f"{role.asks}; here by your own {', '.join(other)}" if other else role.asks


def _known(name: str) -> tuple[str, str]:
    if name not in all_thresholds():
        raise ValueError(f"no threshold {shown(name)!r} of a role; known: {', '.join(all_thresholds())}")
    key, _, threshold = name.rpartition(".")
    return key, threshold


def _allowed(name: str, value: Any) -> Any:
    """The value; a share or a margin is between 0 and 1, a count is a whole number."""
    usual = all_thresholds()[name]
    if isinstance(usual, int):
        if not isinstance(value, int) or value < 0:
            raise ValueError(f"{name}={value}; a whole number such as {usual} is needed")
    elif not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{name}={value}; allowed is 0 to 1")
    return value
