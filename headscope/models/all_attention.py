"""A causal language model of attention alone: no feed-forward layers, but persistent vectors in every head.

Each head has a few learned keys and values that stand in front of those of the text and can always be attended to;
they take the place of the feed-forward layer (Sukhbaatar et al. 2019, "Augmenting self-attention with persistent
memory"). Every weight of a layer thus belongs to a head, and removing a head removes its share of everything.
Exported models carry a copy of this file, so it needs nothing but torch and transformers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, no_type_check

import torch
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers import initialization as init
from transformers.cache_utils import Cache, DynamicCache
from transformers.masking_utils import create_causal_mask
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs


@no_type_check  # the base class turns this into a dataclass that takes more than its fields
class AllAttentionConfig(PreTrainedConfig):
    """The shape of an all-attention model; `n_persistent` counts the persistent vectors of each head."""

    model_type = "all_attention"
    keys_to_ignore_at_inference = ("past_key_values",)

    vocab_size: int = 1000
    hidden_size: int = 128
    num_hidden_layers: int = 6
    num_attention_heads: int = 8
    n_persistent: int = 64
    max_position_embeddings: int = 256
    dropout: float = 0.0
    attention_dropout: float = 0.0
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-5
    use_cache: bool = True
    tie_word_embeddings: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 2

    def __post_init__(self, **kwargs: Any) -> None:
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"{self.num_attention_heads} heads in a width of {self.hidden_size}; the width must be a multiple"
            )
        super().__post_init__(**kwargs)  # type: ignore[no-untyped-call]


class AllAttention(nn.Module):
    """Causal self-attention in which every head also sees its own persistent keys and values."""

    def __init__(self, config: AllAttentionConfig, layer_idx: int) -> None:
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.scaling = self.head_dim**-0.5
        self.is_causal = True
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.k_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.v_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size)
        persistent = (config.num_attention_heads, config.n_persistent, self.head_dim)
        self.persistent_keys = nn.Parameter(torch.empty(persistent))
        self.persistent_values = nn.Parameter(torch.empty(persistent))

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None, past_key_values: Cache | None, **kwargs: Any
    ) -> tuple[Tensor, Tensor | None]:
        """What the layer adds to [batch, position, d_model], and its attention [batch, head, query, key] if known.

        The first `n_persistent` keys are the persistent ones.
        """
        heads = (*hidden_states.shape[:-1], -1, self.head_dim)
        query = self.q_proj(hidden_states).view(heads).transpose(1, 2)  # [batch, head, query, d_head]
        key = self.k_proj(hidden_states).view(heads).transpose(1, 2)
        value = self.v_proj(hidden_states).view(heads).transpose(1, 2)
        if past_key_values is not None:
            key, value = past_key_values.update(key, value, self.layer_idx)
        attention_mask = self._mask(attention_mask, query, key)
        attend: Callable[..., tuple[Tensor, Tensor | None]] = ALL_ATTENTION_FUNCTIONS.get_interface(
            self.config._attn_implementation, eager_attention_forward
        )
        context, attention = attend(
            self,
            query,
            _in_front(self.persistent_keys, key),
            _in_front(self.persistent_values, value),
            attention_mask,
            dropout=self.config.attention_dropout if self.training else 0.0,
            scaling=self.scaling,
            **kwargs,
        )
        return self.o_proj(context.flatten(-2)), attention

    def _mask(self, attention_mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
        """The mask with an open column for every persistent key; none where every key may be seen."""
        if attention_mask is None:
            if query.shape[-2] == 1:
                return None
            attention_mask = _causal(query, key)
        n_persistent = self.persistent_keys.shape[-2] if len(self.persistent_keys) else 0
        open_value = 1.0 if attention_mask.dtype == torch.bool else 0.0
        return nn.functional.pad(attention_mask, (n_persistent, 0), value=open_value)


def eager_attention_forward(  # noqa: PLR0913  (the library's signature)
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[Tensor, Tensor]:
    """softmax(q k' scaling + mask) v as [batch, query, head, d_head], and the softmax itself."""
    del kwargs
    scores = query @ key.transpose(-1, -2) * scaling  # [batch, head, query, key]
    if attention_mask is not None:
        scores = scores + attention_mask
    attention = nn.functional.softmax(scores, dim=-1)
    attention = nn.functional.dropout(attention, p=dropout, training=module.training)
    return (attention @ value).transpose(1, 2).contiguous(), attention


def _in_front(persistent: Tensor, of_text: Tensor) -> Tensor:
    """Persistent vectors [head, n, d_head] before those of the text; a layer without heads has none."""
    if not len(persistent):
        return of_text
    return torch.cat([persistent.expand(of_text.shape[0], -1, -1, -1), of_text], dim=-2)


def _causal(query: Tensor, key: Tensor) -> Tensor:
    """Zero where a query may look and the lowest number elsewhere; the queries are the last of the keys."""
    n_queries, n_keys = query.shape[-2], key.shape[-2]
    lowest = query.new_full((1, 1, n_queries, n_keys), torch.finfo(query.dtype).min)
    return lowest.triu(n_keys - n_queries + 1)


class AllAttentionLayer(nn.Module):
    """Norm, attention, residual: that is all."""

    def __init__(self, config: AllAttentionConfig, layer_idx: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.attention = AllAttention(config, layer_idx)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden_states: Tensor, **kwargs: Any) -> Tensor:
        """The next hidden states, [batch, position, d_model]."""
        added: Tensor = self.dropout(self.attention(self.norm(hidden_states), **kwargs)[0])
        return hidden_states + added


class AllAttentionPreTrainedModel(PreTrainedModel):
    """Initial weights and what the library asks about."""

    config: AllAttentionConfig
    config_class = AllAttentionConfig
    base_model_prefix = "model"
    _no_split_modules = ["AllAttentionLayer"]  # noqa: RUF012
    _supports_attention_backend = True
    _supports_sdpa = True
    _can_record_outputs = {"hidden_states": AllAttentionLayer, "attentions": AllAttention}  # noqa: RUF012

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """As usual; persistent vectors start out as large as projected ones."""
        super()._init_weights(module)  # type: ignore[no-untyped-call]
        if isinstance(module, AllAttention):
            spread = self.config.initializer_range * math.sqrt(self.config.hidden_size)
            init.normal_(module.persistent_keys, mean=0.0, std=spread)
            init.normal_(module.persistent_values, mean=0.0, std=spread)


class AllAttentionModel(AllAttentionPreTrainedModel):
    """Token and position embeddings, layers, a last norm."""

    def __init__(self, config: AllAttentionConfig) -> None:
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.embed_positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(AllAttentionLayer(config, layer) for layer in range(config.num_hidden_layers))
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.post_init()  # type: ignore[no-untyped-call]

    @merge_with_config_defaults  # type: ignore[untyped-decorator]
    @capture_outputs  # type: ignore[untyped-decorator]
    def forward(  # noqa: PLR0913  (the library's signature)
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPast:
        """Hidden states [batch, position, d_model] of `input_ids` or of `inputs_embeds`."""
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        if position_ids is None:
            past = past_key_values.get_seq_length() if past_key_values is not None else 0
            position_ids = torch.arange(past, past + inputs_embeds.shape[1], device=inputs_embeds.device)[None]
        causal = create_causal_mask(
            config=self.config,
            inputs_embeds=inputs_embeds,
            attention_mask=attention_mask,
            past_key_values=past_key_values,
        )
        hidden_states = self.dropout(inputs_embeds + self.embed_positions(position_ids))
        for layer in self.layers:
            hidden_states = layer(hidden_states, attention_mask=causal, past_key_values=past_key_values, **kwargs)
        return BaseModelOutputWithPast(
            last_hidden_state=self.norm(hidden_states), past_key_values=past_key_values if use_cache else None
        )


class AllAttentionForCausalLM(AllAttentionPreTrainedModel, GenerationMixin):
    """The all-attention model with the next token's logits."""

    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}  # noqa: RUF012

    def __init__(self, config: AllAttentionConfig) -> None:
        super().__init__(config)
        self.model = AllAttentionModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()  # type: ignore[no-untyped-call]

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(  # noqa: PLR0913  (the library's signature)
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        """Logits [batch, position, vocabulary], and the mean loss of the next token where `labels` are given."""
        outputs = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=past_key_values,
            inputs_embeds=inputs_embeds,
            use_cache=use_cache,
            **kwargs,
        )
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.lm_head(outputs.last_hidden_state[:, kept])
        loss = None
        if labels is not None:
            loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.vocab_size, **kwargs)
        return CausalLMOutputWithPast(
            loss=loss,
            logits=logits,
            past_key_values=outputs.past_key_values,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )
