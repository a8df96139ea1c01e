"""The heads that a command switches off or removes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from models.shown import shown

if TYPE_CHECKING:
    from models.head_model import HeadModel
    from pruning.mask import HeadMask

SPELT = 'addresses such as "encoder.0.3 cross.5.1", or a .json file with a mask'


def mask_of(text: str, head_model: HeadModel) -> HeadMask:
    """The mask that addresses, or a file that holds one as JSON, give."""
    from pruning.mask import HeadMask

    if not text.endswith(".json"):
        return HeadMask.of(head_model.grid, text)
    try:
        return HeadMask.from_json(head_model.grid, Path(text).read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ValueError(f"cannot read the mask {shown(text)}: {reason}") from error
