"""Models that nobody here wrote, with our weights copied into them."""

import torch
from torch import nn
from toy import D_FF, D_MODEL, N_HEADS
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
)

from blocks import ModelConfig
from blocks.model.models import GPT, Encoder


def torch_layer(config: ModelConfig, ours: nn.Module) -> nn.TransformerEncoderLayer:
    """torch's layer with our layer's weights."""
    theirs = nn.TransformerEncoderLayer(
        D_MODEL,
        N_HEADS,
        D_FF,
        activation=str(config.feed_forward.activation),
        layer_norm_eps=config.norm.norm_eps,
        norm_first=config.norm.norm_placement == "pre",
        batch_first=True,
    )
    weights = {
        f"{name}.{kind}": ours.get_parameter(f"{path}.{kind}")
        for name, path in {
            "self_attn.out_proj": "attention.out_proj",
            "linear1": "feed_forward.up_proj",
            "linear2": "feed_forward.down_proj",
            "norm1": "attention_residual.norm",
            "norm2": "feed_forward_residual.norm",
        }.items()
        for kind in ("weight", "bias")
    }
    for kind in ("weight", "bias"):
        projections = [ours.get_parameter(f"attention.{name}_proj.{kind}") for name in "qkv"]
        weights[f"self_attn.in_proj_{kind}"] = torch.cat(projections)
    theirs.load_state_dict(weights)
    return theirs.eval()


def torch_encoder(config: ModelConfig, ours: Encoder) -> nn.TransformerEncoder:
    """torch's stack of layers, final norm included, with our weights."""
    layers = [torch_layer(config, layer) for layer in ours.layers]
    has_norm = config.norm.norm_placement == "pre"
    norm = nn.LayerNorm(config.d_model, config.norm.norm_eps) if has_norm else None
    theirs = nn.TransformerEncoder(layers[0], len(layers), norm, enable_nested_tensor=False)
    theirs.layers = nn.ModuleList(layers)
    if norm is not None:
        norm.load_state_dict(dict(ours.final_norm.named_parameters()))
    return theirs.eval()


def hugging_face_gpt2(config: ModelConfig, ours: GPT) -> GPT2LMHeadModel:
    """GPT-2 of `transformers`: linear layers lie transposed, q, k and v side by side."""
    theirs = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocab_size,
            n_positions=config.max_seq_len,
            n_embd=config.d_model,
            n_layer=config.n_layers,
            n_head=config.n_heads,
            n_inner=config.d_ff,
            activation_function="gelu_new",
            layer_norm_epsilon=config.norm.norm_eps,
            attn_implementation="eager",
        )
    )
    weights = {"wte.weight": ours.embed.weight, "wpe.weight": ours.position.weight}
    weights |= _both("ln_f", ours.final_norm)
    for i, layer in enumerate(ours.layers):
        attention, feed_forward = layer.attention, layer.feed_forward
        weights |= _both(f"h.{i}.ln_1", layer.attention_residual.norm)
        weights |= _both(f"h.{i}.ln_2", layer.feed_forward_residual.norm)
        weights |= _transposed(
            f"h.{i}.attn.c_attn", attention.q_proj, attention.k_proj, attention.v_proj
        )
        weights |= _transposed(f"h.{i}.attn.c_proj", attention.out_proj)
        weights |= _transposed(f"h.{i}.mlp.c_fc", feed_forward.up_proj)
        weights |= _transposed(f"h.{i}.mlp.c_proj", feed_forward.down_proj)
    theirs.transformer.load_state_dict(weights)
    return theirs.eval()


def _both(name: str, module: nn.Module) -> dict[str, torch.Tensor]:
    return {f"{name}.{kind}": value for kind, value in module.named_parameters()}


def _transposed(name: str, *linears: nn.Linear) -> dict[str, torch.Tensor]:
    return {
        f"{name}.weight": torch.cat([linear.weight.T for linear in linears], dim=1),
        f"{name}.bias": torch.cat([linear.bias for linear in linears]),
    }


def hugging_face_llama(config: ModelConfig, ours: GPT) -> LlamaForCausalLM:
    """Llama of `transformers`."""
    theirs = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.d_model,
            intermediate_size=config.d_ff,
            num_hidden_layers=config.n_layers,
            num_attention_heads=config.n_heads,
            num_key_value_heads=config.n_kv_heads,
            max_position_embeddings=config.max_seq_len,
            rms_norm_eps=config.norm.norm_eps,
            rope_parameters={"rope_type": "default", "rope_theta": config.position.rope_base},
            tie_word_embeddings=config.vocabulary.tie_embeddings,
            attn_implementation="eager",
        )
    )
    weights = {
        "model.embed_tokens.weight": ours.embed.weight,
        "model.norm.weight": ours.final_norm.weight,
        "lm_head.weight": (ours.unembed or ours.embed).weight,
    }
    for i, layer in enumerate(ours.layers):
        weights |= {
            f"model.layers.{i}.{path}.weight": module.weight
            for path, module in {
                "input_layernorm": layer.attention_residual.norm,
                "post_attention_layernorm": layer.feed_forward_residual.norm,
                "self_attn.q_proj": layer.attention.q_proj,
                "self_attn.k_proj": layer.attention.k_proj,
                "self_attn.v_proj": layer.attention.v_proj,
                "self_attn.o_proj": layer.attention.out_proj,
                "mlp.gate_proj": layer.feed_forward.gate_proj,
                "mlp.up_proj": layer.feed_forward.up_proj,
                "mlp.down_proj": layer.feed_forward.down_proj,
            }.items()
        }
    theirs.load_state_dict(weights)
    return theirs.eval()


def hugging_face_mixtral(config: ModelConfig, ours: GPT) -> MixtralForCausalLM:
    """Mixtral of `transformers`: the weights of all experts in one tensor, gate and up in one."""
    theirs = MixtralForCausalLM(
        MixtralConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.d_model,
            intermediate_size=config.d_ff,
            num_hidden_layers=config.n_layers,
            num_attention_heads=config.n_heads,
            num_key_value_heads=config.n_kv_heads,
            max_position_embeddings=config.max_seq_len,
            rms_norm_eps=config.norm.norm_eps,
            rope_parameters={"rope_type": "default", "rope_theta": config.position.rope_base},
            tie_word_embeddings=config.vocabulary.tie_embeddings,
            num_local_experts=config.n_experts,
            num_experts_per_tok=config.n_active_experts,
            attn_implementation="eager",
        )
    )
    weights = {
        "model.embed_tokens.weight": ours.embed.weight,
        "model.norm.weight": ours.final_norm.weight,
        "lm_head.weight": (ours.unembed or ours.embed).weight,
    }
    for i, layer in enumerate(ours.layers):
        mixture = layer.feed_forward
        both = [
            torch.cat((expert.gate_proj.weight, expert.up_proj.weight))
            for expert in mixture.experts
        ]
        down = [expert.down_proj.weight for expert in mixture.experts]
        weights |= {
            f"model.layers.{i}.{path}": weight
            for path, weight in {
                "input_layernorm.weight": layer.attention_residual.norm.weight,
                "post_attention_layernorm.weight": layer.feed_forward_residual.norm.weight,
                "self_attn.q_proj.weight": layer.attention.q_proj.weight,
                "self_attn.k_proj.weight": layer.attention.k_proj.weight,
                "self_attn.v_proj.weight": layer.attention.v_proj.weight,
                "self_attn.o_proj.weight": layer.attention.out_proj.weight,
                "mlp.gate.weight": mixture.router.weight,
                "mlp.experts.gate_up_proj": torch.stack(both),
                "mlp.experts.down_proj": torch.stack(down),
            }.items()
        }
    theirs.load_state_dict(weights)
    return theirs.eval()
