"""The heads that a command switches off or removes."""

from __future__ import annotations

import json
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


def addresses(text: str) -> str:
    """The addresses in one order, so that the same heads are the same run; those of a file where one is named."""
    from models.heads import HeadId

    if text.endswith(".json"):
        try:
            text = " ".join(json.loads(Path(text).read_text(encoding="utf-8"))["removed"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"cannot read the mask {text}; allowed is a file that holds one as JSON") from error
    heads = {HeadId.parse(word) for word in text.replace(",", " ").split()}
    if not heads:
        raise ValueError("no heads to remove; give addresses such as encoder.0.3")
    return " ".join(str(head) for head in sorted(heads))
