"""A GPT-2 that writes the grammar's stories."""

from __future__ import annotations

from typing import Any

from transformers import GPT2Config, GPT2LMHeadModel

from headscope.specimens.recipe import Schedule, register
from headscope.specimens.story_recipe import BOS, EOS, LONGEST, PAD, StoryRecipe


@register
class Writer(StoryRecipe):
    """Six layers of eight heads."""

    name = "writer"
    title = "GPT-2 style, 6 x 8 heads, stories"
    schedule = Schedule(steps=24000, peak=2e-3, warm_up=200)
    architecture = GPT2LMHeadModel

    def config(self, processor: Any) -> GPT2Config:
        """Narrow and without dropout."""
        return GPT2Config(
            vocab_size=len(processor),
            n_embd=96,
            n_layer=6,
            n_head=8,
            n_inner=192,
            n_positions=LONGEST,
            initializer_range=0.08,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            resid_pdrop=0.0,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
        )
