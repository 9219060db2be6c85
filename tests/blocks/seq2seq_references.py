"""Encoder–decoders that nobody here wrote, with our weights copied into them."""

import torch
from references import torch_layer
from torch import Tensor, nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
)

from blocks import ModelConfig
from blocks.model.models import EncoderDecoder

NAMES_OF_TORCH = {
    "self_attn": "attention",
    "multihead_attn": "cross_attention",
    "linear1": "feed_forward.up_proj",
    "linear2": "feed_forward.down_proj",
    "norm1": "attention_residual.norm",
    "norm2": "cross_attention_residual.norm",
    "norm3": "feed_forward_residual.norm",
}


def torch_decoder_layer(config: ModelConfig, ours: nn.Module) -> nn.TransformerDecoderLayer:
    """torch's layer with our layer's weights."""
    theirs = nn.TransformerDecoderLayer(
        config.d_model,
        config.n_heads,
        config.d_ff,
        activation=str(config.feed_forward.activation),
        layer_norm_eps=config.norm.norm_eps,
        norm_first=config.norm.norm_placement == "pre",
        batch_first=True,
    )
    weights: dict[str, Tensor] = {}
    for name, path in NAMES_OF_TORCH.items():
        module = ours.get_submodule(path)
        if not name.endswith("attn"):
            weights |= _named(name, module)
            continue
        weights |= _named(f"{name}.out_proj", module.get_submodule("out_proj"))
        for kind in ("weight", "bias"):
            projections = [module.get_parameter(f"{letter}_proj.{kind}") for letter in "qkv"]
            weights[f"{name}.in_proj_{kind}"] = torch.cat(projections)
    theirs.load_state_dict(weights)
    return theirs.eval()


def torch_transformer(config: ModelConfig, ours: EncoderDecoder) -> nn.Transformer:
    """torch's encoder and decoder, with final norms where ours has them."""
    encoder_layers = [torch_layer(config, layer) for layer in ours.encoder.layers]
    decoder_layers = [torch_decoder_layer(config, layer) for layer in ours.decoder.layers]
    encoder = nn.TransformerEncoder(
        encoder_layers[0],
        len(encoder_layers),
        _torch_norm(config, ours.encoder),
        enable_nested_tensor=False,
    )
    decoder = nn.TransformerDecoder(
        decoder_layers[0], len(decoder_layers), _torch_norm(config, ours.decoder)
    )
    encoder.layers, decoder.layers = nn.ModuleList(encoder_layers), nn.ModuleList(decoder_layers)
    theirs = nn.Transformer(config.d_model, config.n_heads, 1, 1, config.d_ff, batch_first=True)
    theirs.encoder, theirs.decoder = encoder, decoder  # set now: it draws new weights at birth
    return theirs.eval()


def _torch_norm(config: ModelConfig, stack: nn.Module) -> nn.LayerNorm | None:
    if config.norm.norm_placement == "post":
        return None
    norm = nn.LayerNorm(config.d_model, config.norm.norm_eps)
    norm.load_state_dict(dict(stack.final_norm.named_parameters()))
    return norm


NAMES_OF_BART = {
    "attention_residual.norm": "self_attn_layer_norm",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward_residual.norm": "final_layer_norm",
    "feed_forward.up_proj": "fc1",
    "feed_forward.down_proj": "fc2",
    "cross_attention": "encoder_attn",
    "attention": "self_attn",
}
BART_OFFSET = 2  # its positions begin in the third row


def hugging_face_bart(config: ModelConfig, ours: EncoderDecoder) -> BartForConditionalGeneration:
    """BART of `transformers`, its embedding scaled by √d_model."""
    theirs = BartForConditionalGeneration(
        BartConfig(
            vocab_size=config.vocab_size,
            d_model=config.d_model,
            encoder_layers=config.n_layers,
            decoder_layers=config.n_decoder_layers,
            encoder_attention_heads=config.n_heads,
            decoder_attention_heads=config.n_heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            max_position_embeddings=config.max_seq_len,
            activation_function=str(config.feed_forward.activation),
            scale_embedding=True,
            attn_implementation="eager",
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
            forced_eos_token_id=None,
        )
    )
    weights = {"shared.weight": ours.embed.weight}
    for name in ("encoder", "decoder"):
        stack = ours.get_submodule(name)
        unused = torch.zeros(BART_OFFSET, config.d_model)
        weights |= {
            f"{name}.embed_tokens.weight": ours.embed.weight,
            f"{name}.embed_positions.weight": torch.cat((unused, stack.position.weight)),
        }
        weights |= _named(f"{name}.layernorm_embedding", stack.embedding_norm)
        for path, values in stack.layers.named_parameters():
            weights[f"{name}.layers.{_bart_name(path)}"] = values
    theirs.model.load_state_dict(weights)
    return theirs.eval()


def _bart_name(path: str) -> str:
    layer, _, rest = path.partition(".")
    ours = next(name for name in NAMES_OF_BART if rest.startswith(f"{name}."))
    return f"{layer}.{NAMES_OF_BART[ours]}{rest.removeprefix(ours)}"


def hugging_face_t5(config: ModelConfig, ours: EncoderDecoder) -> T5ForConditionalGeneration:
    """T5 of `transformers`. What it leaves unscaled, ours takes from smaller weights.

    T5 does not divide scores by √d_head: our queries are √d_head times its own. It does not scale
    its embedding: its table is √d_model times ours, and tied, it divides before the unembedding.
    """
    is_tied = config.vocabulary.tie_embeddings
    theirs = T5ForConditionalGeneration(
        T5Config(
            vocab_size=config.vocab_size,
            d_model=config.d_model,
            d_kv=config.d_head,
            d_ff=config.d_ff,
            num_layers=config.n_layers,
            num_decoder_layers=config.n_decoder_layers,
            num_heads=config.n_heads,
            layer_norm_epsilon=config.norm.norm_eps,
            feed_forward_proj=str(config.feed_forward.activation),
            tie_word_embeddings=is_tied,
            attn_implementation="eager",
            pad_token_id=0,
            eos_token_id=2,
            decoder_start_token_id=1,
        )
    )
    table = ours.embed.weight * config.d_model**0.5
    weights = {"shared.weight": table}
    if not is_tied:  # transformers ties all of them now; the T5 1.1 of the paper did not
        theirs.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
    weights["lm_head.weight"] = table if is_tied else ours.unembed.weight
    for name in ("encoder", "decoder"):
        stack = ours.get_submodule(name)
        weights[f"{name}.embed_tokens.weight"] = table
        weights[f"{name}.final_layer_norm.weight"] = stack.final_norm.weight
        for i, layer in enumerate(stack.layers):
            weights |= {
                f"{name}.block.{i}.{path}": values
                for path, values in _t5_layer(layer, config.d_head).items()
            }
        first = f"{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        weights[first] = stack.relative_bias.weight
    theirs.load_state_dict(weights)
    return theirs.eval()


def _t5_layer(layer: nn.Module, d_head: int) -> dict[str, Tensor]:
    sublayers = {"attention": "SelfAttention", "cross_attention": "EncDecAttention"}
    sublayers = {name: theirs for name, theirs in sublayers.items() if hasattr(layer, name)}
    weights: dict[str, Tensor] = {}
    for i, (name, theirs) in enumerate(sublayers.items()):
        attention = layer.get_submodule(name)
        for letter in "qkv":
            scale = d_head**-0.5 if letter == "q" else 1.0
            projection = attention.get_parameter(f"{letter}_proj.weight")
            weights[f"layer.{i}.{theirs}.{letter}.weight"] = scale * projection
        weights[f"layer.{i}.{theirs}.o.weight"] = attention.out_proj.weight
        norm = layer.get_submodule(f"{name}_residual.norm")
        weights[f"layer.{i}.layer_norm.weight"] = norm.weight
    last, feed_forward = len(sublayers), layer.feed_forward
    wide = f"layer.{last}.DenseReluDense"
    weights |= {
        f"{wide}.wi.weight": feed_forward.up_proj.weight,
        f"{wide}.wo.weight": feed_forward.down_proj.weight,
        f"layer.{last}.layer_norm.weight": layer.feed_forward_residual.norm.weight,
    }
    return weights


def _named(name: str, module: nn.Module) -> dict[str, Tensor]:
    return {f"{name}.{kind}": value for kind, value in module.named_parameters()}
