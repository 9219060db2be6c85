"""A config.json of a known family of models, read as a configuration: to be counted exactly.

Nothing is guessed. A family that is not known, a size that is missing and an option that no
configuration can say are refused by name; an option that may be left out has the family's default,
which is said too.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from blocks.model.config import CONV_WIDTH, ModelConfig
from blocks.model.faults import N_, ConfigError, Fault, nearest_names
from blocks.model.kinds import Activation, Architecture, PositionKind, RopeScaling, RouterKind
from blocks.model.legal import is_of
from blocks.model.options import LARGEST_SIZE, factors
from blocks.model.positions import N_BUCKETS, yarn_size
from blocks.text.json_text import check_characters
from blocks.weights.multimodal import AROUND, text_part

NO_DECODER = N_("The text part of a {around} model must be a decoder here, but it is {name}")
MOST_CHARACTERS, USUAL_CONTEXT, USUAL_OF_T5 = 200_000, 2048, 512
MOST_LISTED = 120  # characters of a value that a sentence may name
USUAL_OF_GEMMA = "gelu_pytorch_tanh"
CONTEXT, WINDOW = "max_position_embeddings", "sliding_window"
Values = dict[str, Any]

PLAIN = {
    "relu": Activation.RELU,
    "relu2": Activation.RELU_SQUARED,
    "gelu": Activation.GELU,
    "gelu_python": Activation.GELU,
    "gelu_new": Activation.GELU_TANH,
    "gelu_fast": Activation.GELU_TANH,
    "gelu_pytorch_tanh": Activation.GELU_TANH,
    "silu": Activation.SILU,
    "swish": Activation.SILU,
}
GATED = {
    "relu": Activation.REGLU,
    "gelu": Activation.GEGLU,
    "gelu_new": Activation.GEGLU_TANH,
    "gelu_fast": Activation.GEGLU_TANH,
    "gelu_pytorch_tanh": Activation.GEGLU_TANH,
    "silu": Activation.SWIGLU,
    "swish": Activation.SWIGLU,
    "sigmoid": Activation.GLU,
}
OF_T5 = {
    **PLAIN,
    **{f"gated-{name}": kind for name, kind in GATED.items()},
    "gated-gelu": Activation.GEGLU_TANH,  # T5 v1.1 means the tanh form
}


class ConfigFile(NamedTuple):
    """What a config.json says.

    `name`: what the model is called; where the file does not say, its family. `counted_as`: the
    class of `transformers` that has as many parameters; `named`: the classes that the file itself
    names; `assumed`: options that it leaves out, with the family's default; `around`: the family
    of the larger model whose text part this is; `values`: what the file says of that part.
    """

    config: ModelConfig
    name: str
    family: str
    counted_as: str
    named: tuple[str, ...]
    assumed: tuple[tuple[str, str], ...]
    around: str = ""
    values: Mapping[str, Any] = MappingProxyType({})

    @property
    def n_fixed(self) -> int:
        """Numbers of position tables that are computed and never learned, one for each stack.

        They are no parameters here; `transformers` keeps them frozen among its own, and
        `num_parameters` counts them.
        """
        if self.config.position.position_kind is not PositionKind.SINUSOIDAL:
            return 0
        n_stacks = 2 if self.config.architecture is Architecture.ENCODER_DECODER else 1
        return n_stacks * self.config.max_seq_len * self.config.d_model


class Keys:
    """The keys of a file, each asked for by type; what is wrong is collected.

    `usual`: what those that are left out are in this family, whatever default is asked with.
    """

    def __init__(self, values: Mapping[str, Any], usual: Mapping[str, Any] = MappingProxyType({})):
        self.values = values
        self.usual = usual
        self.faults: dict[tuple[str, str], Fault] = {}
        self.assumed: dict[str, str] = {}

    def size(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number. Without a `default` the file must have it; null is as good as absent."""
        found, default = self.values.get(name), self.usual.get(name, default)
        if found is None and default is not None:
            self._assume(name, default)
            return default
        if found is None:
            self._say(N_("The file has no {name}, which is needed to count the parameters"), name)
        elif type(found) is not int:
            self._say(N_("{name} must be a whole number, but is {value}"), name)
        elif not least <= found <= LARGEST_SIZE:
            bounds = {"least": least, "most": f"{LARGEST_SIZE:,}"}
            self._say(
                N_("{name} is {value}, but sizes here must be from {least} to {most}"),
                name,
                **bounds,
            )
        else:
            return found
        return max(1, least)

    def optional(self, name: str) -> int | None:
        """A whole number, or None where the file has null, or nothing and the family none."""
        found = self.values.get(name, self.usual.get(name))
        return None if found is None else self.size(name)

    def number(self, name: str, default: float) -> float:
        """A finite number."""
        found = self.values.get(name)
        if found is None:
            return float(self.usual.get(name, default))
        if is_of(float, found):
            return float(found)
        is_large = type(found) in (int, float)
        text = N_("{name} is {value}, larger than any number allowed here")
        self._say(text if is_large else N_("{name} must be a number, but is {value}"), name)
        return default

    def factors(self, name: str) -> str:
        """A list of numbers above 0, as a configuration writes it; empty where there is none."""
        found = self.values.get(name) or []
        are_numbers = isinstance(found, list) and all(is_of(float, each) for each in found)
        text = ",".join(str(float(each)) for each in found) if are_numbers else ""
        if not are_numbers or factors(text) is None:
            self._say(N_("{name} must be a list of numbers above 0, but is {value}"), name)
        return text

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        found, default = self.values.get(name), self.usual.get(name, default)
        if found is None:
            self._assume(name, default)
            return default
        if type(found) is not bool:
            self._say(N_("{name} must be true or false, but is {value}"), name)
        return found is True

    def choice(self, name: str, options: Mapping[str, Activation], default: str) -> Activation:
        """Read one of several allowed words."""
        found = self.values.get(name)
        if found is None:
            self._assume(name, default)
            found = default
        if type(found) is str and found in options:
            return options[found]
        known = nearest_names(found, options, len(options))
        self._say(N_("{name} is {value}; known values: {known}"), name, known=known)
        return next(iter(options.values()))

    def part(self, name: str) -> "Keys":
        """The keys of an object inside the file, none where it has no such object."""
        found = self.values.get(name)
        if found is not None and type(found) is not dict:
            self._say(N_("{name} must be an object, but is {value}"), name)
        inner = Keys(found if type(found) is dict else {})
        inner.faults = self.faults
        return inner

    def must_be(self, name: str, *allowed: Any) -> None:
        """Refuse another value than these; the first is what absence means, if nothing else is."""
        found = self.values.get(name, self.usual.get(name, allowed[0]))
        if not any(found == value and type(found) is type(value) for value in allowed):
            text = N_("{name} is {value}, which is not supported here; supported: {known}")
            known = [_brief(value, MOST_LISTED) for value in allowed]
            self._say(text, name, known=" / ".join(known))

    def equal(self, name: str, other: str) -> None:
        """Refuse two sizes that a configuration has only once."""
        if self.values.get(name) != self.values.get(other):
            text = N_("{name} is {value} and {other} is {theirs}: here they must be equal")
            self._say(text, name, other=other, theirs=_brief(self.values.get(other)))

    def refuse(self, name: str, text: str, **more: object) -> None:
        """Say of a key what is wrong with it; `text` may name it and its value."""
        self._say(text, name, **more)

    def _assume(self, name: str, default: object) -> None:
        self.assumed[name] = json.dumps(default)

    def _say(self, text: str, name: str, **more: object) -> None:
        found = self.values.get(name, self.usual.get(name))
        said = {"name": name, "value": _brief(found), **more}
        self.faults[text, name] = Fault(text, said)


def _gpt2(keys: Keys) -> Values:
    keys.must_be("add_cross_attention", False)
    d_model = keys.size("n_embd")
    return {
        "architecture": "gpt",
        **_sizes(keys, "n_layer", d_model, "n_head"),
        "d_ff": keys.size("n_inner", 4 * d_model),
        "max_seq_len": keys.size("n_positions"),
        "position_kind": "learned",
        "activation": keys.choice("activation_function", PLAIN, "gelu_new"),
        "norm_eps": keys.number("layer_norm_epsilon", 1e-5),
        "tie_embeddings": keys.flag("tie_word_embeddings", True),
    }


def _bert(keys: Keys) -> Values:
    keys.must_be("add_cross_attention", False)
    keys.must_be("position_embedding_type", "absolute")
    return {
        "architecture": "encoder",
        **_sizes(keys, "num_hidden_layers", keys.size("hidden_size"), "num_attention_heads"),
        "d_ff": keys.size("intermediate_size"),
        "max_seq_len": keys.size("max_position_embeddings"),
        "position_kind": "learned",
        "n_segments": keys.size("type_vocab_size", 2, least=0),
        "activation": keys.choice("hidden_act", PLAIN, "gelu"),
        "norm_eps": keys.number("layer_norm_eps", 1e-12),
        "norm_placement": "post",
        "embedding_norm": True,
        "pooler": True,
        "scale_embeddings": False,
    }


def _modernbert(keys: Keys) -> Values:
    """Of three layers two see half a window to either side, and turn by a base of their own."""
    rope = keys.part("rope_parameters")
    to_each_side = keys.size("local_attention", 128, least=0) // 2
    base = keys.number("global_rope_theta", 160_000.0)
    local = keys.number("local_rope_theta", 10_000.0)
    every = keys.size("global_attn_every_n_layers", 3)
    return {
        "architecture": "encoder",
        **_sizes(keys, "num_hidden_layers", keys.size("hidden_size"), "num_attention_heads"),
        **_local_layers(keys, to_each_side + 1, every, first=True),
        "d_ff": keys.size("intermediate_size"),
        "activation": keys.choice("hidden_activation", GATED, "gelu"),
        "max_seq_len": keys.size("max_position_embeddings"),
        "position_kind": "rope",
        "rope_base": rope.part(FULL).number("rope_theta", base),
        "local_rope_base": rope.part(LOCAL).number("rope_theta", local),
        "norm_eps": keys.number("norm_eps", 1e-5),
        "norm_bias": keys.flag("norm_bias", False),
        "first_norm": False,
        "embedding_norm": True,
        "scale_embeddings": False,
        "attention_bias": keys.flag("attention_bias", False),
        "feed_forward_bias": keys.flag("mlp_bias", False),
    }


def _bart(keys: Keys) -> Values:
    for name in ("normalize_before", "add_final_layer_norm", "static_position_embeddings"):
        keys.must_be(name, False)
    keys.must_be("normalize_embedding", True)
    return {
        **_of_bart_kind(keys),
        "position_kind": "learned",
        "position_offset": 2,
        "embedding_norm": True,
    }


def _marian(keys: Keys) -> Values:
    """As BART, with waves for positions and no norm before the first layer."""
    for name in ("normalize_before", "add_final_layer_norm", "normalize_embedding"):
        keys.must_be(name, False)
    keys.must_be("static_position_embeddings", True)
    if keys.values.get("decoder_vocab_size") is not None:
        keys.equal("decoder_vocab_size", "vocab_size")
    return {
        **_of_bart_kind(keys),
        "position_kind": "sinusoidal",
        "sines_first": True,
        "share_embeddings": keys.flag("share_encoder_decoder_embeddings", True),
    }


def _of_bart_kind(keys: Keys) -> Values:
    keys.equal("encoder_attention_heads", "decoder_attention_heads")
    keys.equal("encoder_ffn_dim", "decoder_ffn_dim")
    for name in ("tie_word_embeddings", "is_encoder_decoder"):
        keys.must_be(name, True)
    return {
        "architecture": "encoder-decoder",
        **_sizes(keys, "encoder_layers", keys.size("d_model"), "encoder_attention_heads"),
        "n_decoder_layers": keys.size("decoder_layers"),
        "d_ff": keys.size("encoder_ffn_dim"),
        "max_seq_len": keys.size("max_position_embeddings"),
        "activation": keys.choice("activation_function", PLAIN, "gelu"),
        "norm_placement": "post",
        "scale_embeddings": keys.flag("scale_embedding", False),
    }


def _t5(keys: Keys) -> Values:
    is_tied = keys.flag("tie_word_embeddings", True)
    return {
        **_of_t5_kind(keys, activation="relu"),
        "scale_output": keys.flag("scale_decoder_outputs", is_tied),
        "tie_embeddings": is_tied,
    }


def _mt5(keys: Keys) -> Values:
    """T5 v1.1 of many languages: gated, and a head of its own."""
    return {
        **_of_t5_kind(keys, activation="gated-gelu"),
        "scale_output": False,
        "tie_embeddings": keys.flag("tie_word_embeddings", False),
    }


def _of_t5_kind(keys: Keys, *, activation: str) -> Values:
    keys.must_be("is_encoder_decoder", True)
    keys.must_be("relative_attention_num_buckets", N_BUCKETS)
    n_layers = keys.size("num_layers")
    return {
        "architecture": "encoder-decoder",
        **_sizes(keys, "num_layers", keys.size("d_model"), "num_heads"),
        "n_decoder_layers": keys.size("num_decoder_layers", n_layers),
        "d_head": keys.size("d_kv"),
        "d_ff": keys.size("d_ff"),
        "activation": keys.choice("feed_forward_proj", OF_T5, activation),
        "max_seq_len": keys.optional("n_positions") or USUAL_OF_T5,
        "norm_kind": "rmsnorm",
        "norm_eps": keys.number("layer_norm_epsilon", 1e-6),
        "position_kind": "none",
        "relative_bias": True,
        "scale_scores": False,
        "scale_embeddings": False,
        **WITHOUT_BIAS,
    }


WITHOUT_BIAS = {"attention_bias": False, "feed_forward_bias": False}


def _llama(keys: Keys) -> Values:
    return {
        **_of_llama_kind(keys),
        "attention_bias": keys.flag("attention_bias", False),
        "feed_forward_bias": keys.flag("mlp_bias", False),
    }


def _granite(keys: Keys) -> Values:
    """As Llama, with four fixed numbers."""
    return {
        **_llama(keys),
        "embedding_multiplier": keys.number("embedding_multiplier", 1.0),
        "attention_multiplier": keys.number("attention_multiplier", 1.0),
        "residual_multiplier": keys.number("residual_multiplier", 1.0),
        "logits_scaling": keys.number("logits_scaling", 1.0),
    }


def _mistral(keys: Keys) -> Values:
    keys.size("num_key_value_heads")
    return {**_of_llama_kind(keys), **_windows(keys)}


def _windows(keys: Keys, *, global_every: int = 0) -> Values:
    """Which layers see a window of how many tokens; `global_every`: where the file does not say."""
    return _local_layers(keys, keys.optional("sliding_window") or 0, global_every)


def _local_layers(keys: Keys, window: int, every: int, *, first: bool = False) -> Values:
    """Layers with this window, and every n-th, or the `first` and every n-th after it, without."""
    told = _every_full(keys, LOCAL, first=first)
    if told == 1:
        return {}
    every = every if told is None else told
    return {"local_window": window, "global_every": every, "global_first": first}


def _every_full(keys: Keys, other: str, *, first: bool = False) -> int | None:
    """Return n where every n-th of the `layer_types` is full attention, 0 where none is.

    All else is of the `other` kind. None where the file has no such list.
    """
    n_layers, kinds = keys.size("num_hidden_layers"), keys.values.get("layer_types")
    if not isinstance(kinds, list):
        return None
    found = _rhythm([kind == FULL for kind in kinds], first=first)
    if len(kinds) != n_layers or found is None or not {*map(str, kinds)} <= {FULL, other}:
        keys.refuse("layer_types", NO_RHYTHM, full=FULL, n=n_layers)
    return found or 0


NO_RHYTHM = N_(
    "{name} is {value}, but here {full} must be all, none or every n-th of the {n} layers"
)


def _rhythm(marked: Sequence[bool], *, first: bool = False) -> int | None:
    """Return n where every n-th is marked, counted from the first or from 1; 0 where none is.

    None where no n says it.
    """
    places = range(len(marked)) if first else range(1, len(marked) + 1)
    if True not in marked:
        return 0
    found = (place for place, each in zip(places, marked, strict=True) if each and place > 0)
    every = next(found, len(marked))
    return every if [place % every == 0 for place in places] == [*marked] else None


FULL, LOCAL, LINEAR = "full_attention", "sliding_attention", "linear_attention"


def _phi3(keys: Keys) -> Values:
    """As Mistral, where a share of each head may be turned."""
    return {
        **_of_llama_kind(keys),
        **_windows(keys),
        "rotary_share": _rotary_share(keys, keys.number("partial_rotary_factor", 1.0)),
    }


def _mixtral(keys: Keys) -> Values:
    n_experts = keys.size("num_local_experts")
    n_active = keys.size("num_experts_per_tok")
    return {**_mistral(keys), "n_experts": n_experts, "n_active_experts": n_active}


def _qwen2(keys: Keys) -> Values:
    keys.size("num_key_value_heads")
    return {**_of_llama_kind(keys), "attention_bias": True, "out_bias": False}


def _qwen3(keys: Keys) -> Values:
    for name in ("num_key_value_heads", "head_dim"):
        keys.size(name)
    bias = keys.flag("attention_bias", False)
    return {**_of_llama_kind(keys), "attention_bias": bias, "qk_norm": True, "qk_norm_scale": True}


def _qwen3_moe(keys: Keys) -> Values:
    return {**_qwen3(keys), **_experts_of_qwen(keys)}


def _qwen2_moe(keys: Keys) -> Values:
    bias = keys.flag("qkv_bias", True)
    return {**_qwen2(keys), **_experts_of_qwen(keys), **_gated_shared(keys), "attention_bias": bias}


def _qwen3_next(keys: Keys) -> Values:
    return {**_qwen3_5(keys), **_experts_of_qwen(keys), **_gated_shared(keys)}


def _gated_shared(keys: Keys) -> Values:
    """A shared expert that is as wide as several of the others, whose output a gate multiplies."""
    name = "shared_expert_intermediate_size"
    width, each = keys.size(name), keys.size("moe_intermediate_size")
    if width % each:
        text = N_(
            "{name} is {value}, but here it must be a multiple of moe_intermediate_size ({each})"
        )
        keys.refuse(name, text, each=each)
    return {"n_shared_experts": max(1, width // each), "shared_expert_gate": True}


def _experts_of_qwen(keys: Keys) -> Values:
    keys.must_be("decoder_sparse_step", 1)
    dense = keys.values.get("mlp_only_layers") or []
    n_dense = len(dense) if isinstance(dense, list) else 0
    if dense != [*range(n_dense)]:  # layers elsewhere than at the beginning
        keys.must_be("mlp_only_layers", [])
    name = "num_experts" if "num_experts" in keys.values else "num_local_experts"
    return {
        "n_experts": keys.size(name, least=2),
        "n_active_experts": keys.size("num_experts_per_tok"),
        "d_expert": keys.size("moe_intermediate_size"),
        "n_dense_layers": n_dense,
        "normalize_top_k": keys.flag("norm_topk_prob", False),
    }


def _qwen3_5(keys: Keys) -> Values:
    """Three of four layers keep a state; the others attend, their output is gated."""
    for name, usual in (("linear_conv_kernel_dim", CONV_WIDTH), ("hidden_act", "silu")):
        keys.must_be(name, usual)
    keys.must_be("attention_bias", False)
    keys.must_be("attn_output_gate", True)
    every, told = keys.size("full_attention_interval", 4), _every_full(keys, LINEAR)
    d_state = keys.size("linear_key_head_dim", 128)
    if keys.size("linear_value_head_dim", 128) != d_state:
        keys.equal("linear_value_head_dim", "linear_key_head_dim")
    return {
        **_of_llama_kind(keys),
        "token_mixer": "gated_delta",
        "attention_every": every if told is None else told,
        "n_state_heads": keys.size("linear_num_value_heads", 32),
        "n_key_heads": keys.size("linear_num_key_heads", 16),
        "d_state": d_state,
        "attention_gate": "elementwise",
        "qk_norm": True,
        "qk_norm_scale": True,
        "norm_offset": True,
        "rotary_share": _rotary_share(keys, keys.number("partial_rotary_factor", 0.25)),
    }


def _gpt_oss(keys: Keys) -> Values:
    """Learned sinks, every second layer global, experts with biases that are cut at a limit."""
    for name, usual in (("hidden_act", "silu"), ("swiglu_alpha", 1.702)):
        keys.must_be(name, usual)
    limit = keys.number("swiglu_limit", 7.0)
    if limit <= 0:
        keys.must_be("swiglu_limit", 7.0)
    stretched = keys.values.get("rope_parameters") or keys.values.get("rope_scaling")
    return {
        **_of_llama_kind(keys),
        **_windows(keys, global_every=2),
        **({} if stretched else GPT_OSS_STRETCHED),
        "n_kv_heads": keys.size("num_key_value_heads"),
        "d_head": keys.size("head_dim", 64),
        "activation": Activation.QUICK_GEGLU,
        "gate_limit": limit,
        "up_offset": True,
        "attention_sink": True,
        "attention_bias": keys.flag("attention_bias", True),
        "feed_forward_bias": True,
        "n_experts": keys.size("num_local_experts", least=2),
        "n_active_experts": keys.size("num_experts_per_tok"),
        "router_bias": True,
    }


GPT_OSS_STRETCHED: Values = {
    "rope_scaling": "yarn",
    "rope_factor": 32.0,
    "rope_trained_len": 4096,
    "yarn_whole_pairs": False,
}


def _deepseek(keys: Keys) -> Values:
    """What DeepSeek-V2 and V3 have in common: latent attention, fine and shared experts."""
    n_layers = keys.size("num_hidden_layers")
    n_dense = keys.size("first_k_dense_replace", 0, least=0)
    if n_dense >= n_layers:
        keys.must_be("first_k_dense_replace", 0)
    keys.must_be("moe_layer_freq", None, 1)
    bias = keys.flag("attention_bias", False)
    of_stream = "q_lora_rank" in keys.values and keys.values["q_lora_rank"] is None
    return {
        **_of_llama_kind(keys),
        "n_kv_heads": None,
        "d_head": keys.size("qk_nope_head_dim"),
        "d_kv_latent": keys.size("kv_lora_rank"),
        "d_q_latent": 0 if of_stream else keys.size("q_lora_rank"),
        "d_rotary": keys.size("qk_rope_head_dim"),
        "d_value": keys.size("v_head_dim"),
        "attention_bias": bias,
        "n_experts": keys.size("n_routed_experts", least=2),
        "n_active_experts": keys.size("num_experts_per_tok"),
        "d_expert": keys.size("moe_intermediate_size"),
        "n_shared_experts": keys.size("n_shared_experts"),
        "n_dense_layers": n_dense,
        "routed_scale": keys.number("routed_scaling_factor", 1.0),
        **_sizes_of_yarn(keys),
    }


def _sizes_of_yarn(keys: Keys) -> Values:
    """Stretched, all scores grow, and with them those that RoPE does not turn."""
    part = _stretching(keys)
    factor = max(1.0, part.number("factor", 1.0))
    of_turned, of_all = part.number("mscale", 0.0), part.number("mscale_all_dim", 0.0)
    d_qk = keys.size("qk_nope_head_dim") + keys.size("qk_rope_head_dim")
    found: Values = {}
    if of_all:
        found["attention_multiplier"] = yarn_size(factor, of_all) ** 2 / d_qk**0.5
    if of_all and of_turned and part.values.get("attention_factor") is None:
        size = yarn_size(factor, of_turned) / yarn_size(factor, of_all)
        found["rope_attention_factor"] = size
    return found


def _deepseek_v2(keys: Keys) -> Values:
    keys.must_be("topk_method", "greedy", "group_limited_greedy")
    keys.must_be("norm_topk_prob", False)
    keys.must_be("mlp_bias", False)
    is_grouped = keys.values.get("topk_method") == "group_limited_greedy"
    return {
        **_deepseek(keys),
        **(_expert_groups(keys) if is_grouped else {}),
        "normalize_top_k": False,
    }


def _deepseek_v3(keys: Keys) -> Values:
    keys.must_be("rope_interleave", True, False)
    keys.must_be("topk_method", None, "noaux_tc")
    keys.must_be("scoring_func", None, "sigmoid")
    return {
        **_deepseek(keys),
        **_expert_groups(keys),
        "router_kind": RouterKind.SIGMOID,
        "normalize_top_k": keys.flag("norm_topk_prob", True),
    }


def _expert_groups(keys: Keys) -> Values:
    return {"n_expert_groups": keys.size("n_group"), "n_active_groups": keys.size("topk_group")}


def _gemma(keys: Keys) -> Values:
    """The first files say gelu and mean its tanh form, as `transformers` knows."""
    meant = {**GATED, "gelu": Activation.GEGLU_TANH}
    found = _of_gemma_kind(keys)
    return {**found, "activation": keys.choice("hidden_act", meant, USUAL_OF_GEMMA)}


def _of_gemma_kind(keys: Keys) -> Values:
    for name in ("num_key_value_heads", "head_dim"):
        keys.size(name)
    return {
        **_of_llama_kind(keys, is_tied=True, activation=("hidden_activation", USUAL_OF_GEMMA)),
        "attention_bias": keys.flag("attention_bias", False),
        "scale_embeddings": True,
        "norm_offset": True,
    }


def _gemma2(keys: Keys) -> Values:
    """Four norms in a layer, every second layer global, scores and logits capped."""
    return {
        **_of_gemma_kind(keys),
        **_windows(keys, global_every=2),
        **_divided(keys),
        "norm_placement": "sandwich",
        "score_softcap": _cap(keys, "attn_logit_softcapping", 50.0),
        "logit_softcap": _cap(keys, "final_logit_softcapping", 30.0),
    }


def _divided(keys: Keys) -> Values:
    """What scores are divided by the root of, where it is not the width of a head (27 B)."""
    divisor = keys.size("query_pre_attn_scalar", 256)
    is_width = divisor == keys.optional("head_dim")
    return {} if is_width else {"attention_multiplier": divisor**-0.5}


def _cap(keys: Keys, name: str, default: float) -> float:
    """A soft-cap: null is none, and absence the family's own."""
    is_null = name in keys.values and keys.values[name] is None
    return 0.0 if is_null else keys.number(name, default)


def _gemma3(keys: Keys) -> Values:
    """Every sixth layer global; a norm of queries and keys; local layers with their own base."""
    every = keys.size("sliding_window_pattern", 6)
    return {
        **_of_gemma_kind(keys),
        **_windows(keys, global_every=every),
        **_turns_of_each_kind(keys, local_base=keys.number("rope_local_base_freq", 1e4)),
        **_divided(keys),
        "norm_placement": "sandwich",
        "qk_norm": True,
        "qk_norm_scale": True,
        "score_softcap": _cap(keys, "attn_logit_softcapping", 0.0),
        "logit_softcap": _cap(keys, "final_logit_softcapping", 0.0),
    }


def _turns_of_each_kind(keys: Keys, *, local_base: float) -> Values:
    """Global layers may be stretched; local ones are not, and have a base of their own."""
    rope = keys.part("rope_parameters")
    full = rope.part(FULL)
    stretched = full if full.values else keys.part("rope_scaling")
    return {
        **_stretched(stretched, keys),
        "rope_base": full.number("rope_theta", keys.number("rope_theta", 1e6)),
        "local_rope_base": rope.part(LOCAL).number("rope_theta", local_base),
    }


def _olmo2(keys: Keys) -> Values:
    """A norm after each sub-layer only, and of queries and keys over their whole width."""
    return {
        **_of_llama_kind(keys),
        "attention_bias": keys.flag("attention_bias", False),
        "norm_placement": "res_post",
        "qk_norm": True,
        "qk_norm_scale": True,
        "qk_norm_whole": True,
    }


def _olmo3(keys: Keys) -> Values:
    """As OLMo 2; every fourth layer global, and local layers not stretched."""
    return {
        **_olmo2(keys),
        **_windows(keys, global_every=4),
        **_turns_of_each_kind(keys, local_base=keys.number("rope_theta", 10_000.0)),
    }


def _exaone4(keys: Keys) -> Values:
    """Norms after each sub-layer; beside layers with a window, those that see all turn nothing."""
    found = {
        **_of_llama_kind(keys),
        "norm_placement": "res_post",
        "qk_norm": True,
        "qk_norm_scale": True,
    }
    if keys.optional(WINDOW) is None:
        return found
    is_told = isinstance(keys.values.get("layer_types"), list)
    windows = _windows(keys, global_every=0 if is_told else keys.size("sliding_window_pattern", 4))
    return {**found, **windows, "nope_every": windows.get("global_every", 1)}


def _smollm3(keys: Keys) -> Values:
    """As Llama; every fourth layer turns nothing, or those that a list names with 0."""
    n_layers, every = keys.size("num_hidden_layers"), keys.size("no_rope_layer_interval", 4)
    turned = keys.values.get("no_rope_layers")
    if turned is not None:
        is_list = isinstance(turned, list) and len(turned) == n_layers
        found = _rhythm([each == 0 for each in turned]) if is_list else None
        if found is None:
            keys.refuse("no_rope_layers", NO_RHYTHM, full=0, n=n_layers)
        every = found or 0
    return {**_llama(keys), "nope_every": every}


def _starcoder2(keys: Keys) -> Values:
    """As Mistral, with LayerNorm, biases and a feed-forward layer without a gate."""
    bias = keys.flag("use_bias", True)
    values = _of_llama_kind(
        keys, is_tied=True, activation=("hidden_act", USUAL_OF_GEMMA), words=PLAIN
    )
    return {
        **values,
        "local_window": keys.optional(WINDOW) or 0,
        "norm_kind": "layernorm",
        "norm_eps": keys.number("norm_epsilon", 1e-5),
        "attention_bias": bias,
        "feed_forward_bias": bias,
    }


def _glm(keys: Keys) -> Values:
    """As Llama; biases of q, k and v, and half of each head turned."""
    return {
        **_of_llama_kind(keys),
        "attention_bias": keys.flag("attention_bias", True),
        "out_bias": False,
        "rotary_share": _rotary_share(keys, keys.number("partial_rotary_factor", 0.5)),
    }


def _glm4(keys: Keys) -> Values:
    """As GLM, with a norm before and one after each sub-layer."""
    return {**_glm(keys), "norm_placement": "sandwich"}


def _seed_oss(keys: Keys) -> Values:
    return {
        **_of_llama_kind(keys),
        "attention_bias": keys.flag("attention_bias", True),
        "out_bias": keys.flag("attention_out_bias", False),
        "feed_forward_bias": keys.flag("mlp_bias", False),
    }


def _ernie4_5(keys: Keys) -> Values:
    bias = keys.flag("use_bias", False)
    values = _of_llama_kind(keys, is_tied=True)
    return {**values, "attention_bias": bias, "feed_forward_bias": bias}


def _of_llama_kind(
    keys: Keys,
    *,
    is_tied: bool = False,
    activation: tuple[str, str] = ("hidden_act", "silu"),
    words: Mapping[str, Activation] = GATED,
) -> Values:
    """What Llama and its descendants have in common."""
    d_model, n_heads = keys.size("hidden_size"), keys.size("num_attention_heads")
    return {
        "architecture": "gpt",
        **_sizes(keys, "num_hidden_layers", d_model, "num_attention_heads"),
        **_rope(keys),
        "n_kv_heads": keys.size("num_key_value_heads", n_heads),
        "d_head": keys.optional("head_dim"),
        "d_ff": keys.size("intermediate_size"),
        "activation": keys.choice(activation[0], words, activation[1]),
        "norm_kind": "rmsnorm",
        "norm_eps": keys.number("rms_norm_eps", 1e-6),
        "tie_embeddings": keys.flag("tie_word_embeddings", is_tied),
        **WITHOUT_BIAS,
    }


def _gpt_neox(keys: Keys) -> Values:
    is_parallel = keys.flag("use_parallel_residual", True)
    bias = keys.flag("attention_bias", True)
    return {
        "architecture": "gpt",
        **_sizes(keys, "num_hidden_layers", keys.size("hidden_size"), "num_attention_heads"),
        **_rope(keys),
        "rotary_share": _rotary_share(keys, keys.number("rotary_pct", 0.25)),
        "d_ff": keys.size("intermediate_size"),
        "activation": keys.choice("hidden_act", PLAIN, "gelu"),
        "norm_eps": keys.number("layer_norm_eps", 1e-5),
        "norm_placement": "parallel" if is_parallel else "pre",
        "parallel_norms": 2,
        "attention_bias": bias,
        "tie_embeddings": keys.flag("tie_word_embeddings", False),
    }


def _rotary_share(keys: Keys, share: float) -> float:
    return keys.part("rope_parameters").number("partial_rotary_factor", share)


def _falcon(keys: Keys) -> Values:
    is_new = keys.flag("new_decoder_architecture", False)
    is_parallel = keys.flag("parallel_attn", True) or is_new
    n_heads, d_model = keys.size("num_attention_heads"), keys.size("hidden_size")
    bias = keys.flag("bias", False)
    return {
        "architecture": "gpt",
        **_sizes(keys, "num_hidden_layers", d_model, "num_attention_heads"),
        **({"position_kind": "alibi"} if keys.flag("alibi", False) else _rope(keys)),
        "n_kv_heads": _falcon_kv_heads(keys, is_new, n_heads),
        "d_ff": keys.size("ffn_hidden_size", 4 * d_model),
        "activation": keys.choice("activation", PLAIN, "gelu"),
        "norm_eps": keys.number("layer_norm_epsilon", 1e-5),
        "norm_placement": "parallel" if is_parallel else "pre",
        "parallel_norms": _falcon_norms(keys, is_new),
        "attention_bias": bias,
        "feed_forward_bias": bias,
        "tie_embeddings": keys.flag("tie_word_embeddings", True),
    }


def _falcon_kv_heads(keys: Keys, is_new: bool, n_heads: int) -> int:
    if is_new:
        return keys.size("num_kv_heads")
    return 1 if keys.flag("multi_query", True) else n_heads


def _falcon_norms(keys: Keys, is_new: bool) -> int:
    """Two norms for two parallel sub-layers are of the new form, unless it says otherwise."""
    if not is_new:
        return 1
    keys.must_be("num_ln_in_parallel_attn", None, 1, 2)
    return 1 if keys.values.get("num_ln_in_parallel_attn") == 1 else 2


def _roberta(keys: Keys) -> Values:
    """BERT whose positions begin after the row of the padding token."""
    offset = 1 + keys.size("pad_token_id", 1, least=0)
    n_rows = keys.size("max_position_embeddings", least=1 + offset)
    return {**_bert(keys), "max_seq_len": n_rows - offset, "position_offset": offset}


def _distilbert(keys: Keys) -> Values:
    return {
        "architecture": "encoder",
        **_sizes(keys, "n_layers", keys.size("dim"), "n_heads"),
        "d_ff": keys.size("hidden_dim"),
        "max_seq_len": keys.size("max_position_embeddings"),
        "position_kind": "learned",
        "activation": keys.choice("activation", PLAIN, "gelu"),
        "norm_eps": 1e-12,
        "norm_placement": "post",
        "embedding_norm": True,
        "scale_embeddings": False,
    }


def _phi(keys: Keys) -> Values:
    keys.must_be("qk_layernorm", False)
    n_heads = keys.size("num_attention_heads")
    return {
        "architecture": "gpt",
        **_sizes(keys, "num_hidden_layers", keys.size("hidden_size"), "num_attention_heads"),
        **_rope(keys),
        "rotary_share": _rotary_share(keys, keys.number("partial_rotary_factor", 0.5)),
        "n_kv_heads": keys.size("num_key_value_heads", n_heads),
        "d_ff": keys.size("intermediate_size"),
        "activation": keys.choice("hidden_act", PLAIN, "gelu_new"),
        "norm_eps": keys.number("layer_norm_eps", 1e-5),
        "norm_placement": "parallel",
        "tie_embeddings": keys.flag("tie_word_embeddings", False),
        "unembed_bias": True,
    }


def _gptj(keys: Keys) -> Values:
    d_model, n_heads = keys.size("n_embd"), keys.size("n_head")
    width = keys.size("rotary_dim", 64)
    return {
        "architecture": "gpt",
        **_sizes(keys, "n_layer", d_model, "n_head"),
        "d_ff": keys.size("n_inner", 4 * d_model),
        "max_seq_len": keys.size("n_positions"),
        "position_kind": "rope",
        "rotary_share": width * n_heads / d_model,
        "activation": keys.choice("activation_function", PLAIN, "gelu_new"),
        "norm_eps": keys.number("layer_norm_epsilon", 1e-5),
        "norm_placement": "parallel",
        "attention_bias": False,
        "tie_embeddings": keys.flag("tie_word_embeddings", False),
        "unembed_bias": True,
    }


def _opt(keys: Keys) -> Values:
    keys.must_be("do_layer_norm_before", True)
    keys.must_be("_remove_final_layer_norm", False)
    if keys.values.get("word_embed_proj_dim") is not None:
        keys.equal("word_embed_proj_dim", "hidden_size")
    bias = keys.flag("enable_bias", True)
    return {
        "architecture": "gpt",
        **_sizes(keys, "num_hidden_layers", keys.size("hidden_size"), "num_attention_heads"),
        "d_ff": keys.size("ffn_dim"),
        "max_seq_len": keys.size("max_position_embeddings"),
        "position_offset": 2,
        "position_kind": "learned",
        "activation": keys.choice("activation_function", PLAIN, "relu"),
        "norm_affine": keys.flag("layer_norm_elementwise_affine", True),
        "attention_bias": bias,
        "feed_forward_bias": bias,
        "tie_embeddings": keys.flag("tie_word_embeddings", True),
    }


def _bloom(keys: Keys) -> Values:
    keys.must_be("apply_residual_connection_post_layernorm", False)
    layers, heads, width = (
        next((name for name in names if name in keys.values), names[0])
        for names in (
            ("n_layer", "num_hidden_layers"),
            ("n_head", "num_attention_heads"),
            ("hidden_size", "n_embed"),
        )
    )
    return {
        "architecture": "gpt",
        **_sizes(keys, layers, keys.size(width), heads),
        "max_seq_len": keys.size("seq_length", USUAL_CONTEXT),
        "position_kind": "alibi",
        "activation": Activation.GELU_TANH,
        "norm_eps": keys.number("layer_norm_epsilon", 1e-5),
        "embedding_norm": True,
        "tie_embeddings": keys.flag("tie_word_embeddings", True),
    }


def _sizes(keys: Keys, n_layers: str, d_model: int, n_heads: str) -> Values:
    return {
        "vocab_size": keys.size("vocab_size"),
        "n_layers": keys.size(n_layers),
        "d_model": d_model,
        "n_heads": keys.size(n_heads),
    }


def _rope(keys: Keys) -> Values:
    """Rotary positions have no parameters: a context may be left out, or longer than any here."""
    longest = keys.values.get("max_position_embeddings")
    is_longer = type(longest) is int and longest > LARGEST_SIZE
    name = "max_position_embeddings"
    return {
        **_stretched(_stretching(keys), keys),
        "position_kind": "rope",
        "max_seq_len": LARGEST_SIZE if is_longer else keys.size(name, USUAL_CONTEXT),
        "rope_base": _rope_base(keys),
    }


def _stretching(keys: Keys) -> Keys:
    """What the file says of positions; older ones have another name for it."""
    rope = keys.part("rope_parameters")
    return rope if rope.values else keys.part("rope_scaling")


def _rope_base(keys: Keys) -> float:
    older = keys.number("rope_theta", keys.number("rotary_emb_base", 10_000.0))
    return keys.part("rope_parameters").number("rope_theta", older)


STRETCHED = ("linear", "yarn", "llama3", "longrope")
ONCE_LONGROPE = "su"  # what the first files of Phi-3 call it


def _stretched(part: Keys, keys: Keys) -> Values:
    """How RoPE is stretched, as far as a configuration can say it; the rest is no matter of size.

    `blocks.weights.maths` refuses to run what is left out here.
    """
    kind = part.values.get("rope_type", part.values.get("type"))
    if kind in ("longrope", ONCE_LONGROPE):
        return _long_rope(part, keys)
    if kind not in STRETCHED:
        return {}
    if part.values.get("factor") is None:
        part.refuse("factor", N_("RoPE scaling needs {name} to be a number, but it is {value}"))
    found: Values = {"rope_scaling": kind, "rope_factor": part.number("factor", 1.0)}
    if kind != "linear":
        found["rope_trained_len"] = part.size("original_max_position_embeddings")
    if kind == "yarn":
        found["yarn_whole_pairs"] = part.flag("truncate", True)
        found["rope_attention_factor"] = part.number("attention_factor", 0.0)
    return found


def _long_rope(part: Keys, keys: Keys) -> Values:
    """Two lists of factors; the trained length may stand beside them or one level up."""
    name = "original_max_position_embeddings"
    trained = (keys if part.values.get(name) is None else part).size(name)
    longest = keys.number("max_position_embeddings", trained)
    for each in ("short_factor", "long_factor"):
        if not part.values.get(each):
            part.refuse(each, N_("LongRoPE needs {name} to be a list, but it is {value}"))
    return {
        "rope_scaling": "longrope",
        "rope_factor": max(1.0, part.number("factor", longest / trained)),
        "rope_trained_len": trained,
        "rope_short_factors": part.factors("short_factor"),
        "rope_long_factors": part.factors("long_factor"),
        "rope_attention_factor": part.number("attention_factor", 0.0),
    }


class Family(NamedTuple):
    """How a family is read, and the class of `transformers` that is counted."""

    read: Callable[[Keys], Values]
    counted_as: str


FAMILIES: dict[str, Family] = {
    "gpt2": Family(_gpt2, "GPT2LMHeadModel"),
    "bert": Family(_bert, "BertModel"),
    "roberta": Family(_roberta, "RobertaModel"),
    "distilbert": Family(_distilbert, "DistilBertModel"),
    "modernbert": Family(_modernbert, "ModernBertModel"),
    "t5": Family(_t5, "T5ForConditionalGeneration"),
    "mt5": Family(_mt5, "MT5ForConditionalGeneration"),
    "bart": Family(_bart, "BartModel"),
    "marian": Family(_marian, "MarianModel"),
    "llama": Family(_llama, "LlamaForCausalLM"),
    "granite": Family(_granite, "GraniteForCausalLM"),
    "mistral": Family(_mistral, "MistralForCausalLM"),
    "mixtral": Family(_mixtral, "MixtralForCausalLM"),
    "qwen2": Family(_qwen2, "Qwen2ForCausalLM"),
    "qwen3": Family(_qwen3, "Qwen3ForCausalLM"),
    "qwen2_moe": Family(_qwen2_moe, "Qwen2MoeForCausalLM"),
    "qwen3_moe": Family(_qwen3_moe, "Qwen3MoeForCausalLM"),
    "qwen3_next": Family(_qwen3_next, "Qwen3NextForCausalLM"),
    "gpt_oss": Family(_gpt_oss, "GptOssForCausalLM"),
    "deepseek_v2": Family(_deepseek_v2, "DeepseekV2ForCausalLM"),
    "deepseek_v3": Family(_deepseek_v3, "DeepseekV3ForCausalLM"),
    "gemma": Family(_gemma, "GemmaForCausalLM"),
    "gemma2": Family(_gemma2, "Gemma2ForCausalLM"),
    "gemma3_text": Family(_gemma3, "Gemma3ForCausalLM"),
    "olmo2": Family(_olmo2, "Olmo2ForCausalLM"),
    "olmo3": Family(_olmo3, "Olmo3ForCausalLM"),
    "smollm3": Family(_smollm3, "SmolLM3ForCausalLM"),
    "ministral": Family(_mistral, "MinistralForCausalLM"),
    "exaone4": Family(_exaone4, "Exaone4ForCausalLM"),
    "seed_oss": Family(_seed_oss, "SeedOssForCausalLM"),
    "ernie4_5": Family(_ernie4_5, "Ernie4_5ForCausalLM"),
    "glm": Family(_glm, "GlmForCausalLM"),
    "glm4": Family(_glm4, "Glm4ForCausalLM"),
    "starcoder2": Family(_starcoder2, "Starcoder2ForCausalLM"),
    "qwen3_5_text": Family(_qwen3_5, "Qwen3_5ForCausalLM"),
    "phi": Family(_phi, "PhiForCausalLM"),
    "phi3": Family(_phi3, "Phi3ForCausalLM"),
    "gpt_neox": Family(_gpt_neox, "GPTNeoXForCausalLM"),
    "gptj": Family(_gptj, "GPTJForCausalLM"),
    "opt": Family(_opt, "OPTForCausalLM"),
    "bloom": Family(_bloom, "BloomForCausalLM"),
    "falcon": Family(_falcon, "FalconForCausalLM"),
}


EPS, BASE = "rms_norm_eps", "rope_theta"
KV_HEADS, WIDTH = "num_key_value_heads", "head_dim"
OF_GLM = {CONTEXT: 131_072, EPS: 1.5625e-7, KV_HEADS: 2, WIDTH: 128}
USUAL: dict[str, Values] = {  # of families that leave out other values than Llama
    "mistral": {CONTEXT: 131_072, WINDOW: 4096},
    "mixtral": {CONTEXT: 131_072, EPS: 1e-5, "rope_theta": 1e6},
    "qwen2": {CONTEXT: 32_768},
    "qwen3": {CONTEXT: 32_768},
    "qwen2_moe": {CONTEXT: 32_768},
    "qwen3_moe": {CONTEXT: 32_768},
    "qwen3_next": {CONTEXT: 32_768, KV_HEADS: 2, WIDTH: 256, "norm_topk_prob": True},
    "gpt_oss": {CONTEXT: 131_072, WINDOW: 128, EPS: 1e-5, "rope_theta": 150_000.0},
    "deepseek_v3": {CONTEXT: 4096, "first_k_dense_replace": 3, "routed_scaling_factor": 2.5},
    "gemma": {CONTEXT: 8192},
    "gemma2": {CONTEXT: 8192, WINDOW: 4096},
    "gemma3_text": {CONTEXT: 131_072, WINDOW: 4096},
    "olmo2": {EPS: 1e-5},
    "olmo3": {EPS: 1e-5, WINDOW: 4096, BASE: 500_000.0},
    "smollm3": {CONTEXT: 32_768, KV_HEADS: 4, "tie_word_embeddings": True, BASE: 2e6},
    "ministral": {CONTEXT: 131_072, WINDOW: 4096, KV_HEADS: 8},
    "exaone4": {EPS: 1e-5, WINDOW: 4096, KV_HEADS: 32},
    "seed_oss": {CONTEXT: 524_288, KV_HEADS: 8, WIDTH: 128},
    "ernie4_5": {CONTEXT: 131_072, EPS: 1e-5, KV_HEADS: 2, WIDTH: 128, BASE: 500_000.0},
    "glm": OF_GLM,
    "glm4": OF_GLM,
    "starcoder2": {CONTEXT: 4096, KV_HEADS: 2},
    "qwen3_5_text": {CONTEXT: 32_768, KV_HEADS: 4, WIDTH: 256},
    "phi3": {CONTEXT: 4096, EPS: 1e-5},
}


DROPOUT = {  # what a family calls that of the stream, where it is not that of attention
    "gpt2": ("resid_pdrop", 0.1),
    "gptj": ("resid_pdrop", 0.0),
    "phi": ("resid_pdrop", 0.0),
    "phi3": ("resid_pdrop", 0.0),
    "bert": ("hidden_dropout_prob", 0.1),
    "roberta": ("hidden_dropout_prob", 0.1),
    "distilbert": ("dropout", 0.1),
    "modernbert": ("mlp_dropout", 0.0),
    "t5": ("dropout_rate", 0.1),
    "mt5": ("dropout_rate", 0.1),
    "bart": ("dropout", 0.1),
    "marian": ("dropout", 0.1),
    "gpt_neox": ("hidden_dropout", 0.0),
    "falcon": ("hidden_dropout", 0.0),
    "bloom": ("hidden_dropout", 0.0),
    "opt": ("dropout", 0.1),
    "starcoder2": ("residual_dropout", 0.0),
    "seed_oss": ("residual_dropout", 0.1),
}


def read_config_json(text: str) -> ModelConfig:
    """The configuration that a config.json describes. Raises `ConfigError`."""
    return read_config_file(text).config


def read_config_file(text: str) -> ConfigFile:
    """Read a configuration, with what is counted and what was ignored. Raises `ConfigError`."""
    whole = parsed(text)
    values, around = text_part(whole)
    name = values.get("model_type")
    if type(name) is not str or name not in FAMILIES:
        raise ConfigError([_unknown_family(name)])
    keys = Keys(values, USUAL.get(name, {}))
    found = FAMILIES[name].read(keys)
    if around and found["architecture"] != Architecture.GPT:
        raise _refusal(NO_DECODER, around=around, name=name)
    word, usual = DROPOUT.get(name, ("attention_dropout", 0.0))
    found["dropout"] = keys.number(word, usual)
    if keys.faults:
        raise ConfigError(keys.faults.values())
    config = ModelConfig.from_flat(_as_brief(found))
    _check_factors(config)
    return ConfigFile(
        config=config,
        name=_called(whole) or name,
        family=name,
        counted_as=FAMILIES[name].counted_as,
        named=_named(whole.get("architectures")),
        assumed=tuple(keys.assumed.items()),
        around=around,
        values=values,
    )


def _check_factors(config: ModelConfig) -> None:
    """LongRoPE has a factor for each pair that it turns."""
    if config.position.rope_scaling is RopeScaling.LONGROPE and not all(config.rope_factors):
        text = N_("short_factor and long_factor need {n} numbers each, one per rotated pair")
        raise _refusal(text, n=config.rotary_width // 2)


def _as_brief(values: Values) -> Values:
    """Sizes that follow from others are left to follow."""
    d_model, n_heads = values["d_model"], values["n_heads"]
    follows = {
        "d_ff": 4 * d_model,
        "n_kv_heads": n_heads,
        "d_head": None if d_model % n_heads else d_model // n_heads,
        "n_decoder_layers": values["n_layers"],
    }
    return {
        name: None if value == follows.get(name, _NOTHING) else value
        for name, value in values.items()
    }


_NOTHING = object()


def _named(found: object) -> tuple[str, ...]:
    """The classes that a file names."""
    names = found if isinstance(found, list) else []
    return tuple(name for name in names if isinstance(name, str))


def parsed(text: str) -> Values:
    """The object that a config.json is. Raises `ConfigError`."""
    if len(text) > MOST_CHARACTERS:
        text_ = N_("The text has {n} characters, but a config.json may have at most {most}")
        raise _refusal(text_, n=f"{len(text):,}", most=f"{MOST_CHARACTERS:,}")
    try:
        values = json.loads(
            text.removeprefix("\ufeff"),
            object_pairs_hook=object_of,
            parse_constant=_NoNumber,
            parse_float=_finite,
        )
        check_characters(values)
    except ConfigError:
        raise
    except UnicodeEncodeError:
        raise _refusal(
            N_("The text contains an unpaired surrogate, which is not a character")
        ) from None
    except RecursionError:
        raise _refusal(N_("The text is nested too deeply for a config.json")) from None
    except json.JSONDecodeError as error:
        text_ = N_("This is not JSON: parsing fails at line {line}, column {column}")
        raise _refusal(text_, line=error.lineno, column=error.colno) from None
    except ValueError:
        raise _refusal(N_("A number in the text has too many digits to be a size")) from None
    if type(values) is not dict:
        text_ = N_("A config.json is a single JSON object in braces, but this is {value}")
        raise _refusal(text_, value=_brief(values))
    return values


def _called(values: Values) -> str:
    """The last part of the name or path that `transformers` writes into the file."""
    found = values.get("_name_or_path")
    return found.rstrip("/").rpartition("/")[2] if type(found) is str else ""


def object_of(pairs: list[tuple[str, Any]]) -> Values:
    """A JSON object of these pairs. Raises `ConfigError` where a name comes twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = Counter(name for name, _value in pairs).most_common(1)[0][0]
        raise _refusal(
            N_("{name} appears twice in one object: which one is meant?"), name=_cut(twice)
        )
    for name, value in pairs:
        if wrong := _no_number_in(value):
            text = N_("{name} is {value}, which is not a valid number")
            raise _refusal(text, name=_cut(name), value=_cut(wrong))
    return values


class _NoNumber(str):
    """NaN, Infinity or 1e999, as the file writes it, until it is known what it stands for."""


def _finite(text: str) -> float | _NoNumber:
    number = float(text)
    return number if math.isfinite(number) else _NoNumber(text)


def _no_number_in(value: Any) -> _NoNumber | None:
    """What is no number in a value or in a list of them."""
    if type(value) is list:
        return next(filter(None, map(_no_number_in, value)), None)
    return value if type(value) is _NoNumber else None


def _unknown_family(name: object) -> Fault:
    names = [*FAMILIES, *AROUND]
    known = ", ".join(names)
    if isinstance(name, str):
        known = nearest_names(name, names, len(names))
    if name is None:
        text = N_("The file does not name its model family (model_type); known families: {known}")
        return Fault(text, {"known": known})
    text = N_("Unknown model family {name} (model_type); known families: {known}")
    return Fault(text, {"name": _brief(name), "known": known})


def _refusal(text: str, **values: object) -> ConfigError:
    return ConfigError([Fault(text, values)])


def _brief(value: object, most: int = 40) -> str:
    """A value as the file writes it, however long it is."""
    try:
        return _cut(json.dumps(value, ensure_ascii=False), most)
    except ValueError:  # more digits than Python writes out
        return "…"


def _cut(text: str, most: int = 40) -> str:
    return text if len(text) <= most else text[:most] + "…"
