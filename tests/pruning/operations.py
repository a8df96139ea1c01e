"""The operations of a pass that is really made."""

from __future__ import annotations

from torch.utils.flop_counter import FlopCounterMode

from headscope.models.head_model import HeadModel
from headscope.models.inputs import sized_inputs
from headscope.pruning.export.proof import attending, attention_implementations


def counted(head_model: HeadModel, length: int) -> int:
    """As torch counts them for one example, with attention written out."""
    written_out = attention_implementations(head_model.model)[0]
    with attending(head_model.model, written_out), FlopCounterMode(display=False) as counter:
        head_model.model(**sized_inputs(head_model.model, 1, length))
    return counter.get_total_flops()
