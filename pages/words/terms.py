"""What the standard terms are called on the screen."""

from typing import Any

from blocks import ModelConfig
from blocks.model.faults import N_
from blocks.model.kinds import NormKind, NormPlacement
from pages.words.language import _

NOTHING, MOST_OF_A_LIST = "–", 40
OPTIONS = {
    "none": N_("none"),
    "pre": N_("pre"),
    "post": N_("post"),
    "sandwich": N_("sandwich"),
    "res_post": N_("res-post"),
    "attention": N_("attention"),
    "gru": "GRU",
    "gated_delta": N_("gated delta rule"),
    "linear": N_("linear"),
    "ntk": "NTK",
    "yarn": "YaRN",
    "llama3": "Llama 3",
    "longrope": "LongRoPE",
    "parallel": N_("parallel"),
    "layernorm": "LayerNorm",
    "rmsnorm": "RMSNorm",
    "batchnorm": "BatchNorm",
    "sinusoidal": N_("sinusoidal"),
    "learned": N_("learned"),
    "rope": "RoPE",
    "alibi": "ALiBi",
    "relu": "ReLU",
    "relu_squared": "ReLU²",
    "gelu": "GELU",
    "gelu_tanh": "GELU (tanh)",
    "silu": "SiLU",
    "glu": "GLU",
    "reglu": "ReGLU",
    "geglu": "GEGLU",
    "geglu_tanh": "GEGLU (tanh)",
    "swiglu": "SwiGLU",
    "quick_geglu": "QuickGEGLU",
    "softmax": "softmax",
    "sigmoid": "sigmoid",
    "pytorch": N_("PyTorch default"),
    "zero_writes": N_("output projections start at zero"),
    "xavier_uniform": N_("Xavier uniform"),
    "normal": N_("normal, std 0.02 (GPT-2)"),
    "causal": N_("causal"),
    "padding": N_("padding"),
    "causal_padding": N_("causal + padding"),
    "sliding_window": N_("sliding window"),
    "prefix": N_("prefix"),
    "painted": N_("painted"),
    "head": N_("per head"),
    "elementwise": N_("elementwise"),
    "explicit": N_("eager (step by step)"),
    "fused": N_("fused kernel"),
    "left": N_("left"),
    "right": N_("right"),
    "sentence": N_("sentence"),
    "random": N_("random tensor"),
    "trained": N_("trained"),
    "text": N_("a text"),
    "stories": N_("stories"),
    "induction": N_("induction"),
    "markov": N_("text of known entropy"),
    "copy": N_("copy"),
    "reverse": N_("reversal"),
    "sort": N_("sorting"),
    "addition": N_("addition"),
    "masked_words": N_("masked words"),
    "translation": N_("translation"),
    "modular_addition": N_("modular addition"),
    "modular_subtraction": N_("modular subtraction"),
    "parity": N_("parity"),
    "brackets": N_("brackets"),
    "gpt": "GPT",
    "encoder": N_("encoder"),
    "encoder-decoder": N_("encoder–decoder"),
    "en": "English",
    "zh": "中文",
    "both": N_("both"),
    "python": N_("Python's documentation"),
    "own": N_("your text"),
    "characters": N_("characters"),
    "byte_pairs": N_("byte pairs (BPE)"),
    "fast": N_("fast"),
    "baseline": N_("baseline"),
    "paper": N_("Vaswani et al. 2017"),
    "plain": N_("plain SGD"),
    "sgd": "SGD",
    "adamw": "AdamW",
    "muon": "Muon",
    "constant": N_("constant"),
    "cosine": N_("cosine"),
    "trapezoid": N_("trapezoid (WSD)"),
    "task": N_("the task's example"),
    "first_token": N_("first token"),
    "same_token": N_("itself"),
    "previous_token": N_("previous token"),
    # What a model saved earlier calls its task and its score.
    "masked words of stories": N_("masked words in stories"),
    "words found": N_("words predicted correctly"),
}
PARTS = {
    "q_proj": "q_proj",
    "k_proj": "k_proj",
    "v_proj": "v_proj",
    "out_proj": "out_proj",
    "q_latent_proj": "q_latent_proj",
    "kv_latent_proj": "kv_latent_proj",
    "kv_proj": "kv_proj",
    "absorbed_k_proj": N_("k part of kv_proj, absorbed into queries"),
    "absorbed_v_proj": N_("v part of kv_proj, applied to head outputs"),
    "latent_norms": N_("latent norms"),
    "attention_bias": N_("attention biases"),
    "out_gate_proj": "out_gate_proj",
    "input_proj": N_("input_proj (r, z, n)"),
    "state_proj": N_("state_proj (r, z, n)"),
    "conv": N_("short convolution"),
    "write_proj": N_("write_proj (β)"),
    "decay_proj": N_("decay_proj (α)"),
    "decay": N_("decay rates"),
    "head_norm": N_("readout norm"),
    "mixer_bias": N_("token-mixer biases"),
    "sinks": N_("attention sinks"),
    "cross_sinks": N_("cross-attention sinks"),
    "gate_proj": "gate_proj",
    "up_proj": "up_proj",
    "down_proj": "down_proj",
    "feed_forward_bias": N_("feed-forward biases"),
    "router": N_("router"),
    "router_bias": N_("router bias"),
    "shared_expert_gate": N_("gate of the shared experts"),
    "dense_gate_proj": N_("gate_proj, dense layers"),
    "dense_up_proj": N_("up_proj, dense layers"),
    "dense_down_proj": N_("down_proj, dense layers"),
    "dense_feed_forward_bias": N_("feed-forward biases, dense layers"),
    "shared_gate_proj": N_("gate_proj, shared experts"),
    "shared_up_proj": N_("up_proj, shared experts"),
    "shared_down_proj": N_("down_proj, shared experts"),
    "shared_feed_forward_bias": N_("feed-forward biases, shared experts"),
    "norms": N_("norms"),
    "attention_norms": N_("norms before attention"),
    "position": N_("position table"),
    "embed": N_("token embedding"),
    "unembed": N_("unembedding"),
    "final_norm": N_("final norm"),
    "source_embed": N_("source embedding"),
    "embedding_norm": N_("embedding norm"),
    "segment_embed": N_("segment embedding"),
    "pooler": N_("pooler"),
    "prediction_head": N_("prediction head"),
    "prediction_norm": N_("normalization of the prediction head"),
    "unembed_bias": N_("logit biases"),
    "join_norms": N_("norms of both inputs"),
    "join_proj": "join_proj",
    "qk_norm": N_("QK norms"),
    "cross_qk_norm": N_("QK norms, cross-attention"),
    "relative_bias": N_("relative position bias"),
    "cross_attention_bias": N_("cross-attention biases"),
}
STACKS = {
    "encoder": N_("encoder: {part}"),
    "decoder": N_("decoder: {part}"),
    "dense": N_("dense layers: {part}"),
    "mtp": N_("MTP: {part}"),
    "mixer": N_("recurrent layers: {part}"),
    "dense.mixer": N_("recurrent dense layers: {part}"),
}
STAGES = {
    "input": N_("embedding"),
    "attention_norm": N_("norm 1"),
    "norm": N_("norm"),
    "attention_out": N_("attention"),
    "attention_out_norm": N_("norm after attention"),
    "attention_sum": N_("attention + residual"),
    "feed_forward_norm": N_("norm 2"),
    "feed_forward_out": N_("feed-forward"),
    "feed_forward_out_norm": N_("norm after feed-forward"),
    "feed_forward_sum": N_("feed-forward + residual"),
}
OF_MIXERS = {
    "attention_out": "{mixer}",
    "attention_out_norm": N_("norm after {mixer}"),
    "attention_sum": N_("{mixer} + residual"),
}
HEAD_NAMES = {
    "first_token": N_("first token"),
    "same_token": N_("itself"),
    "previous_token": N_("previous token"),
    "duplicate_token": N_("duplicate token"),
    "induction": N_("induction"),
}
SHORT_HEAD_NAMES = {
    "first_token": N_("first"),
    "same_token": N_("itself"),
    "previous_token": N_("prev."),
    "duplicate_token": N_("dup."),
    "induction": N_("ind."),
}


def option(value: str) -> str:
    return _(OPTIONS.get(value, value))


def value(found: Any) -> str:
    """A setting as it is read; what does nothing is a dash."""
    if found is None:
        return NOTHING
    if isinstance(found, bool):
        return _("yes") if found else _("no")
    if not isinstance(found, str):
        return f"{found:,.10g}"
    named = option(found) or NOTHING
    return named if len(named) <= MOST_OF_A_LIST else f"{named[:MOST_OF_A_LIST]}…"


def part(name: str) -> str:
    """The label of a part of the parameters; of an encoder–decoder with its half."""
    stack, _dot, rest = name.rpartition(".")
    said = _(PARTS.get(rest, rest))
    return _(STACKS[stack]).format(part=said) if stack else said


def head_name(name: str) -> str:
    """What a head is called where its measure passes the threshold."""
    return _(HEAD_NAMES[name]) if name else ""


def short_head_name(name: str) -> str:
    return _(SHORT_HEAD_NAMES[name]) if name else ""


def stage(name: str, config: ModelConfig, layer: int = 0) -> str:
    """What a stage is called; the stream's name depends on what happens to it there."""
    if not config.attends_in(layer) and name in OF_MIXERS:
        return _(OF_MIXERS[name]).format(mixer=option(config.token_mixer))
    if name in STAGES:
        return _(STAGES[name])
    is_added = config.position.position_kind.is_added
    has_norm = config.norm.norm_kind is not NormKind.NONE
    is_post = has_norm and config.norm.norm_placement is NormPlacement.POST
    match name:
        case "resid_pre" if layer > 0:
            return _("from layer {layer}").format(layer=layer)
        case "resid_pre" if config.architecture.reads_tokens and is_added:
            return _("embedding + position")
        case "resid_pre":
            return _("+ position vectors") if is_added else _("embedding")
        case "resid_mid" if is_post:
            return _("norm 1")
        case "resid_mid":
            label = "+ " + option(config.token_mixer)
            return _stream(_("+ attention") if config.attends_in(layer) else label, config)
        case _:
            return _("norm (output)") if is_post else _stream(_("output"), config)


def _stream(label: str, config: ModelConfig) -> str:
    return label if config.norm.residual else _("no residual")


def attention_kind(config: ModelConfig) -> str:
    """MHA, GQA or MQA, which follow from the number of key and value heads; or MLA, or none."""
    if not config.has_attention:
        return option(config.token_mixer)
    if config.is_hybrid:
        whole = config.like(config.attention_layers[0])
        return f"{attention_kind(whole)} + {option(config.token_mixer)}"
    if config.is_latent:
        return "MLA"
    if config.n_kv_heads == config.n_heads:
        return "MHA"
    return "MQA" if config.n_kv_heads == 1 else "GQA"
