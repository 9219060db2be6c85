"""How the files of each family of models name and lay out their weights: tables to read down.

A row is a key of the file, the parameters here that it holds, and the operation between them; it
is read both ways. {layer} and {expert} are numbers, {kind} is weight or bias. Where only our side
says {expert}, a key holds the parameters of all experts, one after the other.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.models import expected_shapes
from blocks.weights.multimodal import FRONTS, PARTS
from blocks.weights.mxfp4 import BLOCKS
from blocks.weights.operations import (
    AS_A_ROW,
    BY_GROUPS,
    GATE_ABOVE_UP,
    GATE_BESIDE_UP,
    OF_STATE,
    OF_STATE_BY_KEY_HEADS,
    ONE_AN_EXPERT,
    ONE_BELOW_ANOTHER,
    QUERIES_BESIDE_GATES,
    RATES_BY_KEY_HEADS,
    SAME,
    SIDE_BY_SIDE,
    TRANSPOSED,
    TURNED_ABOUT,
    UNPAIRED,
    UNPAIRED_KEY,
    UNPAIRED_QUERIES,
    Operation,
)

MASK = N_("a buffer that is recomputed")
OTHER_TASK = N_("a head for another task")


OUR_LAYER = "layers.{layer}."
Pair = tuple[str, str] | tuple[str, str, Operation]


class Row(NamedTuple):
    """A pattern of keys, and what it holds."""

    theirs: str
    ours: tuple[str, ...]
    operation: Operation = SAME


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The rows of a family, and what else its files may hold.

    `prefix`: what the keys of a model without its head lack. `aside`: regular expressions of keys
    that nothing here needs, with the reason; `repeats`: keys that hold another tensor once more.
    `older`: endings that older or packed files write otherwise. `may_be_untied`: where the files
    have a head of its own, config.json may say otherwise (`transformers` 5 writes that every T5 is
    tied). `optional`: fields that a configuration has where the file has a key; the config.json
    does not say. `mtp`: what an MTP module has beside its layer, which stands after the last.
    `fronts`: what may stand before a key where the model is part of another, and in its place.
    """

    rows: tuple[Row, ...]
    prefix: str = ""
    aside: Mapping[str, str] = field(default_factory=dict)
    repeats: Mapping[str, str] = field(default_factory=dict)
    older: Mapping[str, str] = field(default_factory=dict)
    may_be_untied: bool = False
    optional: Mapping[str, str] = field(default_factory=dict)
    mtp: tuple[Pair, ...] = ()
    fronts: Mapping[str, str] = field(default_factory=dict)

    @property
    def stacks_experts(self) -> bool:
        """Whether a key holds what all experts of a layer have."""
        expert = "{expert}"
        return any(expert in row.ours[0] and expert not in row.theirs for row in self.rows)


class Place(NamedTuple):
    """The parameter that a tensor of a file becomes."""

    ours: tuple[str, ...]
    operation: Operation


@dataclass(frozen=True)
class Plan:
    """All that a model of a configuration needs of a file: its layout, places, and our shapes."""

    family: str
    config: ModelConfig
    layout: Layout
    places: Mapping[str, Place]
    shapes: Mapping[str, tuple[int, ...]]


def plan_of(family: str, config: ModelConfig) -> Plan:
    """What the files of this model hold; nothing is allocated. Raises `ConfigError`."""
    layout, shapes = layout_of(family, config), expected_shapes(config)
    try:
        return Plan(family, config, layout, places(layout, shapes), shapes)
    except KeyError as error:
        text = N_("{name} has no counterpart in the files of the {family} family")
        raise ConfigError([Fault(text, {"name": error.args[0], "family": family})]) from None


def places(layout: Layout, names: Iterable[str]) -> dict[str, Place]:
    """The keys that a file must have so that a model has parameters of these names.

    Raises `KeyError` with the name of a parameter that the family cannot have.
    """
    patterns = [(_pattern(row.ours[0]), row) for row in layout.rows]
    others = {name for row in layout.rows for name in row.ours[1:]}
    rest = [_pattern(name) for name in others]
    found: dict[str, Place] = {}
    for name in names:
        for pattern, row in patterns:
            if match := pattern.fullmatch(name):
                numbers = match.groupdict()
                ours = tuple(each.format(**numbers) for each in row.ours)
                key = row.theirs.format(**numbers)
                before = found[key].ours if key in found else ()  # of experts
                found[key] = Place((*before, *ours), row.operation)
                break
        else:
            if not any(pattern.fullmatch(name) for pattern in rest):
                raise KeyError(name)
    return found


NUMBER = r"(?P<{}>\d+)"
NAMED = {
    "layer": NUMBER.format("layer"),
    "expert": NUMBER.format("expert"),
    "kind": r"(?P<kind>weight|bias)",
}


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", lambda match: NAMED[match[1]], re.escape(name)))


def _layer(theirs: str, *pairs: Pair) -> list[Row]:
    """Rows of the parts of a layer, under what its keys begin with."""
    return _rows(theirs, OUR_LAYER, *pairs)


def _separate(theirs: str, three: str, names: Sequence[str], out: str) -> list[Row]:
    """Queries, keys and values one by one, whose keys differ in a name, and the output."""
    pairs = [
        (three.format(each), f"attention.{our}_proj")
        for each, our in zip(names, "qkv", strict=True)
    ]
    return _layer(theirs, *pairs, (out, "attention.out_proj"))


def _rows(theirs: str, ours: str, *pairs: Pair) -> list[Row]:
    """Rows of modules whose weight and bias have the same names."""
    return [
        Row(f"{theirs}{pair[0]}.{{kind}}", (f"{ours}{pair[1]}.{{kind}}",), *pair[2:])
        for pair in pairs
    ]


def _fused(theirs: str, ours: str, operation: Operation) -> Row:
    """Queries, keys and values in one."""
    return Row(
        f"{theirs}.{{kind}}", tuple(f"{ours}.{letter}_proj.{{kind}}" for letter in "qkv"), operation
    )


def _gate_and_up(theirs: str) -> Row:
    """A gate and what it gates in one."""
    ours = tuple(f"{OUR_LAYER}{name}.{{kind}}" for name in (GATE, UP))
    return Row(f"{theirs}.{{kind}}", ours, GATE_ABOVE_UP)


NORM_1, NORM_2 = "attention_residual.norm", "feed_forward_residual.norm"
GATE, UP = "feed_forward.gate_proj", "feed_forward.up_proj"
DOWN = "feed_forward.down_proj"
EMBED, UNEMBED, POSITION = "embed.weight", "unembed.weight", "position.weight"

GPT2_LAYER = "transformer.h.{layer}."
GPT2 = Layout(
    prefix="transformer.",
    rows=(
        Row("transformer.wte.weight", (EMBED,)),
        Row("transformer.wpe.weight", (POSITION,)),
        _fused(f"{GPT2_LAYER}attn.c_attn", f"{OUR_LAYER}attention", SIDE_BY_SIDE),
        *_layer(
            GPT2_LAYER,
            ("attn.c_proj", "attention.out_proj", TRANSPOSED),
            ("mlp.c_fc", UP, TRANSPOSED),
            ("mlp.c_proj", DOWN, TRANSPOSED),
            ("ln_1", NORM_1),
            ("ln_2", NORM_2),
        ),
        *_rows("transformer.", "", ("ln_f", "final_norm")),
        Row("lm_head.weight", (UNEMBED,)),
    ),
    aside={r"transformer\.h\.\d+\.attn\.(bias|masked_bias)": MASK},
    repeats={"lm_head.weight": "transformer.wte.weight"},
)

LLAMA_LAYER = "model.layers.{layer}."
LLAMA_AROUND = (
    *_layer(
        LLAMA_LAYER,
        ("self_attn.q_norm", "attention.q_norm"),
        ("self_attn.k_norm", "attention.k_norm"),
        ("input_layernorm", NORM_1),
        ("post_attention_layernorm", NORM_2),
    ),
    Row("model.embed_tokens.weight", (EMBED,)),
    *_rows("model.", "", ("norm", "final_norm")),
    Row("lm_head.weight", (UNEMBED,)),
)
LLAMA_ATTENTION = (
    *_separate(LLAMA_LAYER, "self_attn.{}_proj", "qkv", "self_attn.o_proj"),
    *LLAMA_AROUND,
)
LLAMA_WIDE = _layer(
    LLAMA_LAYER, ("mlp.gate_proj", GATE), ("mlp.up_proj", UP), ("mlp.down_proj", DOWN)
)
LLAMA = Layout(
    prefix="model.",
    rows=(*LLAMA_ATTENTION, *LLAMA_WIDE),
    aside={r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq": MASK},
    repeats={"lm_head.weight": "model.embed_tokens.weight"},
)
PHI3 = replace(
    LLAMA,
    rows=(
        _fused(f"{LLAMA_LAYER}self_attn.qkv_proj", f"{OUR_LAYER}attention", ONE_BELOW_ANOTHER),
        _gate_and_up(f"{LLAMA_LAYER}mlp.gate_up_proj"),
        *_layer(LLAMA_LAYER, ("self_attn.o_proj", "attention.out_proj"), ("mlp.down_proj", DOWN)),
        *LLAMA_AROUND,
    ),
)
MIXTRAL = replace(
    LLAMA,
    rows=(
        *LLAMA_ATTENTION,
        *_layer(LLAMA_LAYER, ("block_sparse_moe.gate", "feed_forward.router")),
        *_rows(
            f"{LLAMA_LAYER}block_sparse_moe.experts.{{expert}}.",
            f"{OUR_LAYER}feed_forward.experts.{{expert}}.",
            ("w1", "gate_proj"),
            ("w2", "down_proj"),
            ("w3", "up_proj"),
        ),
    ),
)


def _with_neighbors_paired(layout: Layout) -> Layout:
    """Where RoPE turns numbers that stand beside each other."""
    names = tuple(f".self_attn.{each}_proj.{{kind}}" for each in "qk")
    rows = (
        row._replace(operation=UNPAIRED) if row.theirs.endswith(names) else row
        for row in layout.rows
    )
    return replace(layout, rows=tuple(rows))


ERNIE = _with_neighbors_paired(LLAMA)
OUT_1, OUT_2 = "attention_residual.out_norm", "feed_forward_residual.out_norm"
WITH_OUT_NORMS = replace(  # four norms in a layer, or the two that come after
    LLAMA,
    rows=(
        *_layer(
            LLAMA_LAYER,
            ("post_attention_layernorm", OUT_1),
            ("pre_feedforward_layernorm", NORM_2),
            ("post_feedforward_layernorm", OUT_2),
        ),
        *LLAMA.rows,
    ),
)

GLM = replace(
    ERNIE,
    rows=(
        *(
            row
            for row in ERNIE.rows
            if row.ours[0] not in (f"{OUR_LAYER}{GATE}.{{kind}}", f"{OUR_LAYER}{UP}.{{kind}}")
        ),
        _gate_and_up(f"{LLAMA_LAYER}mlp.gate_up_proj"),
    ),
)
GLM4 = replace(
    GLM,
    rows=(
        *_layer(LLAMA_LAYER, ("post_self_attn_layernorm", OUT_1), ("post_mlp_layernorm", OUT_2)),
        *GLM.rows,
    ),
)
STARCODER2 = replace(
    LLAMA, rows=(*LLAMA_ATTENTION, *_layer(LLAMA_LAYER, ("mlp.c_fc", UP), ("mlp.c_proj", DOWN)))
)

LINEAR = f"{LLAMA_LAYER}linear_attn."
MIXER = f"{OUR_LAYER}attention."
BEHIND_STATES = (
    *_rows(LINEAR, MIXER, ("conv1d", "conv"), ("norm", "head_norm"), ("out_proj", "out_proj")),
    Row(f"{LINEAR}A_log", (f"{OUR_LAYER}attention.decay_rate",)),
    Row(f"{LINEAR}dt_bias", (f"{OUR_LAYER}attention.decay_bias",)),
)
IN_STATES = (
    _fused(f"{LINEAR}in_proj_qkv", f"{OUR_LAYER}attention", OF_STATE),
    *_rows(
        LINEAR,
        MIXER,
        ("in_proj_z", "out_gate_proj"),
        ("in_proj_b", "write_proj"),
        ("in_proj_a", "decay_proj"),
    ),
    *BEHIND_STATES,
)
IN_STATES_BY_KEY_HEADS = (
    Row(
        f"{LINEAR}in_proj_qkvz.weight",
        tuple(f"{MIXER}{name}_proj.weight" for name in ("q", "k", "v", "out_gate")),
        OF_STATE_BY_KEY_HEADS,
    ),
    Row(
        f"{LINEAR}in_proj_ba.weight",
        tuple(f"{MIXER}{name}_proj.weight" for name in ("write", "decay")),
        RATES_BY_KEY_HEADS,
    ),
    *BEHIND_STATES,
)
GATED_ATTENTION = (
    Row(
        f"{LLAMA_LAYER}self_attn.q_proj.{{kind}}",
        tuple(f"{OUR_LAYER}attention.{name}_proj.{{kind}}" for name in ("q", "out_gate")),
        QUERIES_BESIDE_GATES,
    ),
    *_layer(
        LLAMA_LAYER,
        ("self_attn.k_proj", "attention.k_proj"),
        ("self_attn.v_proj", "attention.v_proj"),
        ("self_attn.o_proj", "attention.out_proj"),
    ),
)
QWEN3_5 = replace(
    LLAMA,
    rows=(*LLAMA_AROUND, *LLAMA_WIDE),
    aside={**LLAMA.aside, r"mtp\..+": N_("a module that predicts later tokens")},
)


def _with_states(layout: Layout, config: ModelConfig) -> Layout:
    """Layers of two kinds, whose parameters have the same names here: each has rows of its own."""
    in_states = IN_STATES if layout is QWEN3_5 else IN_STATES_BY_KEY_HEADS
    own = [
        row._replace(
            theirs=row.theirs.replace("{layer}", str(layer)),
            ours=tuple(name.replace("{layer}", str(layer)) for name in row.ours),
        )
        for layer in range(config.n_layers)
        for row in (GATED_ATTENTION if config.attends_in(layer) else in_states)
    ]
    return replace(layout, rows=(*own, *layout.rows))


EACH_EXPERT = _rows(
    f"{LLAMA_LAYER}mlp.experts.{{expert}}.",
    f"{OUR_LAYER}feed_forward.experts.{{expert}}.",
    *((name, name) for name in ("gate_proj", "up_proj", "down_proj")),
)
QWEN_EXPERTS = (
    *LLAMA_WIDE,
    *EACH_EXPERT,
    *_layer(LLAMA_LAYER, ("mlp.gate", "feed_forward.router")),
)
QWEN3_MOE = replace(LLAMA, rows=(*LLAMA_ATTENTION, *QWEN_EXPERTS))
GATED_SHARED_EXPERT = _layer(
    LLAMA_LAYER,
    ("mlp.shared_expert_gate", "feed_forward.shared_expert_gate"),
    *(
        (f"mlp.shared_expert.{name}", f"feed_forward.shared.{name}")
        for name in ("gate_proj", "up_proj", "down_proj")
    ),
)
QWEN2_MOE = replace(QWEN3_MOE, rows=(*QWEN3_MOE.rows, *GATED_SHARED_EXPERT))
QWEN3_NEXT = replace(QWEN3_5, rows=(*LLAMA_AROUND, *QWEN_EXPERTS, *GATED_SHARED_EXPERT))

GPT_OSS_EXPERTS = f"{LLAMA_LAYER}mlp.experts."
OUR_EXPERT = f"{OUR_LAYER}feed_forward.experts.{{expert}}."
GPT_OSS = replace(
    LLAMA,
    rows=(
        *LLAMA_ATTENTION,
        Row(f"{LLAMA_LAYER}self_attn.sinks", (f"{OUR_LAYER}attention.sinks",)),
        *_layer(LLAMA_LAYER, ("mlp.router", "feed_forward.router")),
        *(
            Row(
                f"{GPT_OSS_EXPERTS}gate_up_proj{ending}",
                (f"{OUR_EXPERT}gate_proj.{kind}", f"{OUR_EXPERT}up_proj.{kind}"),
                GATE_BESIDE_UP,
            )
            for kind, ending in (("weight", ""), ("bias", "_bias"))
        ),
        *(
            Row(
                f"{GPT_OSS_EXPERTS}down_proj{ending}",
                (f"{OUR_EXPERT}down_proj.{kind}",),
                ONE_AN_EXPERT,
            )
            for kind, ending in (("weight", ""), ("bias", "_bias"))
        ),
    ),
    older={BLOCKS: ""},
)

DEEPSEEK = Layout(
    prefix="model.",
    rows=(
        *_layer(
            LLAMA_LAYER,
            ("self_attn.q_a_proj", "attention.q_latent_proj"),
            ("self_attn.q_a_layernorm", "attention.q_latent_norm"),
            ("self_attn.q_b_proj", "attention.q_proj", UNPAIRED_QUERIES),
            ("self_attn.kv_a_proj_with_mqa", "attention.kv_latent_proj", UNPAIRED_KEY),
            ("self_attn.kv_a_layernorm", "attention.kv_latent_norm"),
            ("self_attn.kv_b_proj", "attention.kv_proj"),
            ("self_attn.o_proj", "attention.out_proj"),
            ("input_layernorm", NORM_1),
            ("post_attention_layernorm", NORM_2),
        ),
        *LLAMA_WIDE,
        *EACH_EXPERT,
        *_layer(LLAMA_LAYER, ("mlp.gate", "feed_forward.router")),
        Row(
            f"{LLAMA_LAYER}mlp.gate.e_score_correction_bias",
            (f"{OUR_LAYER}feed_forward.expert_bias",),
        ),
        *_rows(
            f"{LLAMA_LAYER}mlp.shared_experts.",
            f"{OUR_LAYER}feed_forward.shared.",
            *((name, name) for name in ("gate_proj", "up_proj", "down_proj")),
        ),
        Row("model.embed_tokens.weight", (EMBED,)),
        *_rows("model.", "", ("norm", "final_norm")),
        Row("lm_head.weight", (UNEMBED,)),
    ),
    aside={r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq": MASK},
    repeats={"lm_head.weight": "model.embed_tokens.weight"},
)
DEEPSEEK_V3 = replace(
    DEEPSEEK,
    mtp=(
        ("hnorm", "hidden_norm"),
        ("enorm", "embedding_norm"),
        ("eh_proj", "join_proj", TURNED_ABOUT),
        ("shared_head.norm", "final_norm"),
    ),
)


def mtp_layer(config: ModelConfig, module: int) -> str:
    """What the keys of an MTP module begin with: it is the next layer after the model's own."""
    return f"model.layers.{config.n_layers + module}."


def _with_mtp(layout: Layout, config: ModelConfig) -> Layout:
    """With the modules, which are layers with something more; embedding and head are repeated."""
    rows, repeats = [*layout.rows], dict(layout.repeats)
    is_tied = config.vocabulary.tie_embeddings
    head = layout.repeats["lm_head.weight"] if is_tied else "lm_head.weight"
    for module in range(config.n_mtp_modules):
        theirs, ours = mtp_layer(config, module), f"mtp.{module}."
        rows += _rows(theirs, ours, *layout.mtp)
        rows += [
            row._replace(
                theirs=row.theirs.replace(LLAMA_LAYER, theirs),
                ours=tuple(name.replace(OUR_LAYER, f"{ours}layer.") for name in row.ours),
            )
            for row in layout.rows
            if row.theirs.startswith(LLAMA_LAYER)
        ]
        repeats[f"{theirs}embed_tokens.weight"] = layout.repeats["lm_head.weight"]
        repeats[f"{theirs}shared_head.head.weight"] = head
    return replace(layout, rows=tuple(rows), repeats=repeats)


WIDE_4H = (("mlp.dense_h_to_4h", UP), ("mlp.dense_4h_to_h", DOWN))
NEOX_LAYER = "gpt_neox.layers.{layer}."
GPT_NEOX = Layout(
    prefix="gpt_neox.",
    rows=(
        Row("gpt_neox.embed_in.weight", (EMBED,)),
        _fused(f"{NEOX_LAYER}attention.query_key_value", f"{OUR_LAYER}attention", BY_GROUPS),
        *_layer(NEOX_LAYER, ("attention.dense", "attention.out_proj"), *WIDE_4H),
        # one after the other, or both at once
        *_layer(NEOX_LAYER, ("input_layernorm", NORM_1), ("input_layernorm", "norm")),
        *_layer(
            NEOX_LAYER,
            ("post_attention_layernorm", NORM_2),
            ("post_attention_layernorm", "feed_forward_norm"),
        ),
        *_rows("gpt_neox.", "", ("final_layer_norm", "final_norm")),
        Row("embed_out.weight", (UNEMBED,)),
    ),
    aside={r"gpt_neox\.layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)": MASK},
    repeats={"embed_out.weight": "gpt_neox.embed_in.weight"},
)

BLOOM_LAYER = "transformer.h.{layer}."
BLOOM_ROWS = (
    Row("transformer.word_embeddings.weight", (EMBED,)),
    _fused(f"{BLOOM_LAYER}self_attention.query_key_value", f"{OUR_LAYER}attention", BY_GROUPS),
    *_layer(BLOOM_LAYER, ("self_attention.dense", "attention.out_proj"), *WIDE_4H),
    *_layer(BLOOM_LAYER, ("input_layernorm", NORM_1)),
    *_layer(BLOOM_LAYER, ("post_attention_layernorm", NORM_2)),
    *_rows("transformer.", "", ("ln_f", "final_norm")),
    Row("lm_head.weight", (UNEMBED,)),
)
BLOOM = Layout(
    prefix="transformer.",
    rows=(*BLOOM_ROWS, *_rows("transformer.", "", ("word_embeddings_layernorm", "embedding_norm"))),
    repeats={"lm_head.weight": "transformer.word_embeddings.weight"},
)
FALCON = replace(
    BLOOM,
    rows=(*BLOOM_ROWS, *_layer(BLOOM_LAYER, ("input_layernorm", "norm"))),
    aside={r"transformer\.h\.\d+\.self_attention\.rotary_emb\.inv_freq": MASK},
)
FALCON_OF_TWO_NORMS = replace(
    FALCON,
    rows=(*BLOOM_ROWS, *_layer(BLOOM_LAYER, ("ln_attn", "norm"), ("ln_mlp", "feed_forward_norm"))),
)

GPTJ_LAYER = "transformer.h.{layer}."
GPTJ = Layout(
    prefix="transformer.",
    rows=(
        Row("transformer.wte.weight", (EMBED,)),
        *_layer(
            GPTJ_LAYER,
            ("attn.q_proj", "attention.q_proj", UNPAIRED),
            ("attn.k_proj", "attention.k_proj", UNPAIRED),
            ("attn.v_proj", "attention.v_proj"),
            ("attn.out_proj", "attention.out_proj"),
            ("mlp.fc_in", UP),
            ("mlp.fc_out", DOWN),
            ("ln_1", "norm"),
        ),
        *_rows("transformer.", "", ("ln_f", "final_norm")),
        Row("lm_head.weight", (UNEMBED,)),
        Row("lm_head.bias", ("unembed_bias.bias",)),
    ),
    aside={r"transformer\.h\.\d+\.attn\.(bias|masked_bias|embed_positions)": MASK},
)

PHI = Layout(
    prefix="model.",
    rows=(
        Row("model.embed_tokens.weight", (EMBED,)),
        *_separate(LLAMA_LAYER, "self_attn.{}_proj", "qkv", "self_attn.dense"),
        *_layer(LLAMA_LAYER, ("mlp.fc1", UP), ("mlp.fc2", DOWN), ("input_layernorm", "norm")),
        *_rows("model.", "", ("final_layernorm", "final_norm")),
        Row("lm_head.weight", (UNEMBED,)),
        Row("lm_head.bias", ("unembed_bias.bias",)),
    ),
    aside={r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq": MASK},
)

OPT_LAYER = "model.decoder.layers.{layer}."
OPT = Layout(
    prefix="model.",
    rows=(
        Row("model.decoder.embed_tokens.weight", (EMBED,)),
        Row("model.decoder.embed_positions.weight", (POSITION,)),
        *_separate(OPT_LAYER, "self_attn.{}_proj", "qkv", "self_attn.out_proj"),
        *_layer(
            OPT_LAYER,
            ("fc1", UP),
            ("fc2", DOWN),
            ("self_attn_layer_norm", NORM_1),
            ("final_layer_norm", NORM_2),
        ),
        *_rows("model.decoder.", "", ("final_layer_norm", "final_norm")),
        Row("lm_head.weight", (UNEMBED,)),
    ),
    repeats={"lm_head.weight": "model.decoder.embed_tokens.weight"},
)


def _bert_body(name: str) -> tuple[Row, ...]:
    layer = f"{name}.encoder.layer.{{layer}}."
    return (
        Row(f"{name}.embeddings.word_embeddings.weight", (EMBED,)),
        Row(f"{name}.embeddings.position_embeddings.weight", (POSITION,)),
        Row(f"{name}.embeddings.token_type_embeddings.weight", ("segment_embed.weight",)),
        *_rows(f"{name}.", "", ("embeddings.LayerNorm", "embedding_norm")),
        *_separate(layer, "attention.self.{}", ("query", "key", "value"), "attention.output.dense"),
        *_layer(
            layer,
            ("attention.output.LayerNorm", NORM_1),
            ("intermediate.dense", UP),
            ("output.dense", DOWN),
            ("output.LayerNorm", NORM_2),
        ),
        *_rows(f"{name}.", "", ("pooler.dense", "pooler")),
    )


BERT = Layout(
    prefix="bert.",
    rows=(
        *_bert_body("bert"),
        *_rows("cls.predictions.transform.", "prediction_head.", ("dense", "dense")),
        *_rows("cls.predictions.transform.", "prediction_head.", ("LayerNorm", "norm")),
        Row("cls.predictions.bias", ("unembed_bias.bias",)),
    ),
    aside={
        r"bert\.embeddings\.position_ids": MASK,
        r"cls\.seq_relationship\.(weight|bias)": OTHER_TASK,
    },
    repeats={
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
    older={".gamma": ".weight", ".beta": ".bias"},
    optional={
        "pooler": "bert.pooler.dense.weight",
        "prediction_head": "cls.predictions.transform.dense.weight",
        "unembed_bias": "cls.predictions.bias",
    },
)
ROBERTA = Layout(
    prefix="roberta.",
    rows=(
        *_bert_body("roberta"),
        *_rows("lm_head.", "prediction_head.", ("dense", "dense"), ("layer_norm", "norm")),
        Row("lm_head.bias", ("unembed_bias.bias",)),
    ),
    aside={r"roberta\.embeddings\.(position_ids|token_type_ids)": MASK},
    repeats={
        "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    },
    optional={
        "pooler": "roberta.pooler.dense.weight",
        "prediction_head": "lm_head.dense.weight",
        "unembed_bias": "lm_head.bias",
    },
)

MODERNBERT = Layout(
    prefix="model.",
    rows=(
        Row("model.embeddings.tok_embeddings.weight", (EMBED,)),
        *_rows("model.", "", ("embeddings.norm", "embedding_norm"), ("final_norm", "final_norm")),
        _fused(f"{LLAMA_LAYER}attn.Wqkv", f"{OUR_LAYER}attention", ONE_BELOW_ANOTHER),
        _gate_and_up(f"{LLAMA_LAYER}mlp.Wi"),
        *_layer(
            LLAMA_LAYER,
            ("attn.Wo", "attention.out_proj"),
            ("mlp.Wo", DOWN),
            ("attn_norm", NORM_1),
            ("mlp_norm", NORM_2),
        ),
        *_rows("head.", "prediction_head.", ("dense", "dense"), ("norm", "norm")),
        Row("decoder.bias", ("unembed_bias.bias",)),
    ),
    repeats={"decoder.weight": "model.embeddings.tok_embeddings.weight"},
    optional={"prediction_head": "head.dense.weight", "unembed_bias": "decoder.bias"},
)

DISTILBERT_LAYER = "distilbert.transformer.layer.{layer}."
DISTILBERT = Layout(
    prefix="distilbert.",
    rows=(
        Row("distilbert.embeddings.word_embeddings.weight", (EMBED,)),
        Row("distilbert.embeddings.position_embeddings.weight", (POSITION,)),
        *_rows("distilbert.", "", ("embeddings.LayerNorm", "embedding_norm")),
        *_separate(DISTILBERT_LAYER, "attention.{}_lin", "qkv", "attention.out_lin"),
        *_layer(
            DISTILBERT_LAYER,
            ("sa_layer_norm", NORM_1),
            ("ffn.lin1", UP),
            ("ffn.lin2", DOWN),
            ("output_layer_norm", NORM_2),
        ),
        *_rows("", "prediction_head.", ("vocab_transform", "dense"), ("vocab_layer_norm", "norm")),
        Row("vocab_projector.bias", ("unembed_bias.bias",)),
    ),
    aside={r"distilbert\.embeddings\.position_ids": MASK},
    repeats={"vocab_projector.weight": "distilbert.embeddings.word_embeddings.weight"},
    optional={"prediction_head": "vocab_transform.weight", "unembed_bias": "vocab_projector.bias"},
)


def _t5_stack(name: str) -> Iterator[Row]:
    theirs, ours = f"{name}.block.{{layer}}.layer.", f"{name}.{OUR_LAYER}"
    sublayers = [("SelfAttention", "attention")]
    if name == "decoder":
        sublayers.append(("EncDecAttention", "cross_attention"))
    for i, (their, our) in enumerate(sublayers):
        pairs = [(f"{their}.{letter}", f"{our}.{letter}_proj") for letter in "qkv"]
        norm = ("layer_norm", f"{our}_residual.norm")
        yield from _rows(f"{theirs}{i}.", ours, *pairs, (f"{their}.o", f"{our}.out_proj"), norm)
    last = f"{theirs}{len(sublayers)}."
    wide = "DenseReluDense."
    yield from _rows(last, ours, (f"{wide}wi", UP), (f"{wide}wo", DOWN), ("layer_norm", NORM_2))
    bias = f"{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    yield Row(bias, (f"{name}.relative_bias.weight",))
    yield from _rows(f"{name}.", f"{name}.", ("final_layer_norm", "final_norm"))


def _gated(row: Row) -> list[Row]:
    """T5 v1.1 has two products where T5 has one: the first is the gate."""
    if not row.theirs.endswith("DenseReluDense.wi.{kind}"):
        return [row]
    gate, up = (row.theirs.replace(".wi.", name) for name in (".wi_0.", ".wi_1."))
    return [Row(gate, (row.ours[0].replace("up_proj", "gate_proj"),)), Row(up, row.ours)]


UNREAD_BIAS = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
T5 = Layout(
    rows=(
        Row("shared.weight", (EMBED,)),
        *_t5_stack("encoder"),
        *_t5_stack("decoder"),
        Row("lm_head.weight", (UNEMBED,)),
    ),
    may_be_untied=True,
    aside={re.escape(UNREAD_BIAS): N_("a table that no version of the model reads")},
    repeats={
        "lm_head.weight": "shared.weight",
        "encoder.embed_tokens.weight": "shared.weight",
        "decoder.embed_tokens.weight": "shared.weight",
    },
)
T5_GATED = replace(T5, rows=tuple(chain.from_iterable(map(_gated, T5.rows))))


def _bart_stack(name: str) -> Iterator[Row]:
    theirs, ours = f"model.{name}.layers.{{layer}}.", f"{name}.{OUR_LAYER}"
    kinds = [("self_attn", "attention")]
    if name == "decoder":
        kinds.append(("encoder_attn", "cross_attention"))
    for their, our in kinds:
        names = (*(f"{letter}_proj" for letter in "qkv"), "out_proj")
        yield from _rows(theirs, ours, *((f"{their}.{each}", f"{our}.{each}") for each in names))
        yield from _rows(theirs, ours, (f"{their}_layer_norm", f"{our}_residual.norm"))
    yield from _rows(theirs, ours, ("fc1", UP), ("fc2", DOWN), ("final_layer_norm", NORM_2))
    yield Row(f"model.{name}.embed_positions.weight", (f"{name}.{POSITION}",))
    yield from _rows(f"model.{name}.", f"{name}.", ("layernorm_embedding", "embedding_norm"))


BART = Layout(
    prefix="model.",
    rows=(
        Row("model.shared.weight", (EMBED,)),
        *_bart_stack("encoder"),
        *_bart_stack("decoder"),
        Row("final_logits_bias", ("unembed_bias.bias",), AS_A_ROW),
    ),
    repeats={
        "lm_head.weight": "model.shared.weight",
        "model.encoder.embed_tokens.weight": "model.shared.weight",
        "model.decoder.embed_tokens.weight": "model.shared.weight",
    },
    optional={"unembed_bias": "final_logits_bias"},
)

MARIAN = replace(BART, aside={r"model\.(encoder|decoder)\.embed_positions\.weight": MASK})
MARIAN_OF_TWO_TABLES = replace(
    MARIAN,
    rows=(
        Row("model.encoder.embed_tokens.weight", ("source_embed.weight",)),
        Row("model.decoder.embed_tokens.weight", (EMBED,)),
        *(row for row in MARIAN.rows if row.ours != (EMBED,)),
    ),
    repeats={"lm_head.weight": "model.decoder.embed_tokens.weight"},
)

LAYOUTS: dict[str, Layout] = {
    "gpt2": GPT2,
    "bert": BERT,
    "roberta": ROBERTA,
    "distilbert": DISTILBERT,
    "modernbert": MODERNBERT,
    "t5": T5,
    "mt5": T5,
    "bart": BART,
    "marian": MARIAN,
    "llama": LLAMA,
    "granite": LLAMA,
    "mistral": LLAMA,
    "mixtral": MIXTRAL,
    "qwen2": LLAMA,
    "qwen3": LLAMA,
    "qwen2_moe": QWEN2_MOE,
    "qwen3_moe": QWEN3_MOE,
    "qwen3_next": QWEN3_NEXT,
    "gpt_oss": GPT_OSS,
    "deepseek_v2": DEEPSEEK,
    "deepseek_v3": DEEPSEEK_V3,
    "gemma": LLAMA,
    "gemma2": WITH_OUT_NORMS,
    "gemma3_text": WITH_OUT_NORMS,
    "olmo2": WITH_OUT_NORMS,
    "olmo3": WITH_OUT_NORMS,
    "smollm3": LLAMA,
    "ministral": LLAMA,
    "exaone4": WITH_OUT_NORMS,
    "seed_oss": LLAMA,
    "ernie4_5": ERNIE,
    "glm": GLM,
    "glm4": GLM4,
    "starcoder2": STARCODER2,
    "qwen3_5_text": QWEN3_5,
    "phi": PHI,
    "phi3": PHI3,
    "gpt_neox": GPT_NEOX,
    "gptj": GPTJ,
    "opt": OPT,
    "bloom": BLOOM,
    "falcon": FALCON,
}


def text_layout(layout: Layout) -> Layout:
    """The layout of a text model whose files hold other parts too."""
    return replace(layout, fronts=FRONTS, aside={**layout.aside, **PARTS})


def layout_of(family: str, config: ModelConfig) -> Layout:
    """The table of a family, or of its variant that this configuration is."""
    if family == "falcon" and config.norm.parallel_norms > 1:
        return FALCON_OF_TWO_NORMS
    if LAYOUTS[family] is T5 and config.feed_forward.activation.is_gated:
        return T5_GATED
    if family == "marian" and not config.encoder_decoder.share_embeddings:
        return MARIAN_OF_TWO_TABLES
    layout = LAYOUTS[family]
    if layout in (QWEN3_5, QWEN3_NEXT):
        return _with_states(layout, config)
    if layout in (DEEPSEEK, DEEPSEEK_V3) and not config.d_q_latent:
        rows = (
            row._replace(theirs=row.theirs.replace("q_b_proj", "q_proj")) for row in layout.rows
        )
        layout = replace(layout, rows=tuple(rows))
    return _with_mtp(layout, config) if layout.mtp and config.n_mtp_modules else layout
