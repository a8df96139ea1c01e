"""Libraries written in Rust, tokenizers among them, that give up instead of raising an error."""

from __future__ import annotations


def is_panic(error: BaseException) -> bool:
    """Whether Rust code gave up. Its PanicException is no `Exception`, and no module has it to import."""
    return type(error).__module__ == "pyo3_runtime"
