"""An all-attention model that writes the grammar's stories."""

from __future__ import annotations

from typing import Any

from headscope.models.all_attention import AllAttentionConfig, AllAttentionForCausalLM
from headscope.specimens.recipe import Schedule, register
from headscope.specimens.story_recipe import BOS, EOS, LONGEST, PAD, StoryRecipe


@register
class AllAttentionWriter(StoryRecipe):
    """Six layers of eight heads with 64 persistent vectors each, and nothing else."""

    name = "all-attention-writer"
    title = "all-attention, 6 x 8 heads with 64 persistent vectors each, stories"
    schedule = Schedule(steps=7000, peak=2e-3, warm_up=200)
    architecture = AllAttentionForCausalLM

    def config(self, processor: Any) -> AllAttentionConfig:
        """Narrow and without dropout."""
        return AllAttentionConfig(
            vocab_size=len(processor),
            hidden_size=96,
            num_hidden_layers=6,
            num_attention_heads=8,
            n_persistent=64,
            initializer_range=0.08,
            max_position_embeddings=LONGEST,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
        )
