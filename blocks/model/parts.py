"""The parts of a configuration: every option declared once.

Its type and default, its bounds (`check`), where it does something (`where`, `acts`), where it may
not be set (`bar`), and what it follows where it is not given. See `blocks.model.options`.
"""

from dataclasses import dataclass

from blocks.model import has
from blocks.model.faults import N_
from blocks.model.kinds import (
    Activation,
    AttentionGate,
    NormKind,
    NormPlacement,
    PositionKind,
    RopeScaling,
    RouterKind,
)
from blocks.model.options import (
    CAP,
    LARGEST_FACTOR,
    SCALE,
    SIZE,
    TOO_MANY,
    Bar,
    Between,
    Where,
    check_factors,
    option,
)

MOST_EXPERTS, MOST_MTP_MODULES = 512, 8
EXPERTS, SHARED_EXPERTS, MTP_MODULES = (
    Between(least, most, above=TOO_MANY)
    for least, most in ((1, MOST_EXPERTS), (0, MOST_EXPERTS), (0, MOST_MTP_MODULES))
)
PARALLEL_NORMS = Between(
    1, 2, above=N_("parallel_norms ({value}) must be 1 (shared) or 2 (separate): use 2")
)
CAPACITY = Between(
    0.0,
    64.0,
    N_("expert_capacity ({value}) must be 0 (no limit) or a factor up to {most}: use {mend}"),
)
ROUTED_SCALE = Between(
    0.0,
    64.0,
    N_("routed_scale ({value}) must be above 0 and at most {most}: use {mend}"),
    is_open=True,
)
EPS = Between(
    0.0, 1.0, N_("norm_eps ({value}) must be above 0 and at most 1: use {mend}"), is_open=True
)
ROPE_BASE = Between(
    1.0, 1e9, N_("rope_base ({value}) must be above 1 and at most 1e9: use {mend}"), is_open=True
)
ROTARY_SHARE = Between(
    0.0,
    1.0,
    N_(
        "rotary_share ({value}), the rotated share of a head, must be above 0 and at "
        "most 1: use {mend}"
    ),
    is_open=True,
)
ROPE_FACTOR = Between(
    1.0, LARGEST_FACTOR, N_("rope_factor ({value}) must be from 1 to {most}: use {mend}")
)
LOCAL_BASE = Between(0.0, 1e9, CAP.text)

BESIDE_LATENTS = Bar(
    has.LATENT_WIDTH, N_("Latent attention does not support {name} ({value}) here: use {mend}")
)
OF_TWO_TEXTS = Bar(
    has.TWO_STACKS, N_("Latent attention is for models that read one text: use d_kv_latent 0")
)
OF_READERS = Bar(
    has.BOTH_WAYS,
    N_("n_mtp_modules ({value}) applies only to a GPT, not to the {kind} architecture: use 0"),
)
UNDONE = Bar(
    has.NORMED_OUTPUTS,
    N_("A norm on a sub-layer's output undoes residual_multiplier ({value}): use 1"),
)


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """Heads. `n_kv_heads` of None follows `n_heads`, `d_head` of None is d_model / n_heads.

    `attention_bias` is that of q, k and v; `out_bias` of None follows it. `qk_norm` gives queries
    and keys RMS 1, and with `qk_norm_scale` a learned scale, as in Qwen3; with `qk_norm_whole` the
    norm is over all heads at once, as in OLMo 2. Without `scale_scores` nothing divides by √d_head,
    as in T5.

    `local_window`: how many tokens a layer sees, itself included, 0 for all (Beltagy et al. 2020;
    Jiang et al. 2023). With `global_every` n every n-th layer sees all of them: 2 in Gemma 2, 6 in
    Gemma 3; 0: none does, as in Mistral. With `global_first` the first layer is one of them
    (Warner et al. 2024, ModernBERT). `score_softcap`: scores are bent to stay below it, 0 for
    no cap (Gemma Team 2024, Gemma 2). `attention_sink`: each head learns a score that takes weight
    and gives nothing (OpenAI 2025, gpt-oss). `attention_gate`: a sigmoid of the input decides how
    much of each head, or of each of its features, is passed on (Qiu et al. 2025; Qwen3-Next).
    """

    n_heads: int = option(8, where=has.HEAD_COUNT)
    n_kv_heads: int | None = option(None, SIZE, where=has.OWN_KEYS, follows="n_heads")
    d_head: int | None = option(
        None, SIZE, where=has.ATTENTION | has.STATES_AS_WIDE_AS_HEADS, follows="d_model"
    )
    attention_bias: bool = option(True)
    out_bias: bool | None = option(None, follows="attention_bias")
    qk_norm: bool = option(False, where=has.OWN_KEYS)
    qk_norm_scale: bool = option(False, where=has.QUERY_NORMS)
    qk_norm_whole: bool = option(False, where=has.QUERY_NORMS)
    scale_scores: bool = option(True, where=has.ATTENTION & ~has.MULTIPLIED_SCORES)
    local_window: int = option(0, where=has.ATTENTION, bar=BESIDE_LATENTS)
    global_every: int = option(0, where=has.WINDOWS)
    global_first: bool = option(False, where=has.WINDOWS_AMONG_OTHERS)
    score_softcap: float = option(0.0, CAP, where=has.ATTENTION, bar=BESIDE_LATENTS)
    attention_sink: bool = option(False, where=has.ATTENTION, bar=BESIDE_LATENTS)
    attention_gate: AttentionGate = option(
        AttentionGate.NONE, where=has.ATTENTION, bar=BESIDE_LATENTS
    )


@dataclass(frozen=True, kw_only=True)
class LatentConfig:
    """Multi-head latent attention, where `d_kv_latent` says how wide the cached vector is.

    Keys and values are made of that one vector a token (d_c of DeepSeek-V2, section 2.1; 0: they
    are not), queries of one of `d_q_latent` or, 0, of the stream. RoPE turns `d_rotary` more
    numbers of each query and of one key that all heads share; None is half of d_head, as in the
    paper. `d_value`, the width of a value, of None follows d_head.
    """

    d_kv_latent: int = option(0, where=has.ATTENTION, acts=has.LATENTS, bar=OF_TWO_TEXTS)
    d_q_latent: int = option(0, where=has.LATENTS)
    d_rotary: int | None = option(None, SIZE, where=has.LATENTS, follows="d_head")
    d_value: int | None = option(None, SIZE, where=has.LATENTS, follows="d_head")


@dataclass(frozen=True, kw_only=True)
class StateConfig:
    """The heads of a gated delta rule, where they are others than those of attention.

    `n_state_heads` of None follows n_heads; as many have a state. Several may share their queries
    and keys: `n_key_heads` of None is one each. `d_state`, the width of queries, keys and values,
    of None follows d_head (Qwen Team 2025, Qwen3-Next).
    """

    n_state_heads: int | None = option(None, SIZE, where=has.STATES, follows="n_heads")
    n_key_heads: int | None = option(None, SIZE, where=has.STATES, follows="n_state_heads")
    d_state: int | None = option(None, SIZE, where=has.STATES, follows="d_head")


@dataclass(frozen=True, kw_only=True)
class FeedForwardConfig:
    """The position-wise layer. `d_ff` of None follows 4·d_model.

    Of a gated one: what the gate reads stays below `gate_limit`, and what it lets pass within ± it,
    0 for no limit; with `up_offset` it lets 1 + that pass (OpenAI 2025, gpt-oss).
    """

    d_ff: int | None = option(
        None, SIZE, where=has.FEED_FORWARD & ~has.NOTHING_DENSE, follows="d_model"
    )
    activation: Activation = option(Activation.GELU, where=has.HIDDEN)
    feed_forward_bias: bool = option(True, where=has.HIDDEN)
    gate_limit: float = option(0.0, CAP, where=has.GATE)
    up_offset: bool = option(False, where=has.GATE)


@dataclass(frozen=True, kw_only=True)
class ExpertsConfig:
    """A mixture in place of the feed-forward layer, where there is more than one expert.

    Each token is sent to `n_active_experts`; an expert takes at most `expert_capacity` times its
    even share of the tokens (0: as many as come). `d_expert`, the width of one, of None follows
    d_ff; `n_shared_experts` more are passed by every token, and the first `n_dense_layers` have no
    experts (Dai et al. 2024, DeepSeekMoE). With `shared_expert_gate` a sigmoid of the input decides
    how much of what the shared ones say passes (Qwen2-MoE, Qwen3-Next). A sigmoid router
    (DeepSeek-V3) balances by a bias; a
    `router_bias` is learned and counts in the weights too (gpt-oss). The
    weights of the chosen sum to 1 with `normalize_top_k`; `routed_scale` multiplies them. Of
    `n_expert_groups` a token chooses among the best `n_active_groups` (DeepSeek-V2 and V3).
    """

    n_experts: int = option(1, EXPERTS, where=has.FEED_FORWARD)
    n_active_experts: int = option(2, where=has.EXPERTS)
    expert_capacity: float = option(0.0, CAPACITY, where=has.EXPERTS)
    d_expert: int | None = option(None, SIZE, where=has.EXPERTS, follows="d_ff")
    n_shared_experts: int = option(0, SHARED_EXPERTS, where=has.EXPERTS)
    shared_expert_gate: bool = option(False, where=has.SHARED_EXPERTS)
    n_dense_layers: int = option(0, where=has.EXPERTS & has.SEVERAL_LAYERS & ~has.TWO_STACKS)
    router_kind: RouterKind = option(RouterKind.SOFTMAX, where=has.EXPERTS)
    router_bias: bool = option(False, where=has.EXPERTS)
    normalize_top_k: bool = option(True, where=has.EXPERTS & ~(has.SOFTMAX & has.ALL_ACTIVE))
    routed_scale: float = option(1.0, ROUTED_SCALE, where=has.EXPERTS)
    n_expert_groups: int = option(1, where=has.EXPERTS)
    n_active_groups: int = option(1, where=has.GROUPS)


@dataclass(frozen=True, kw_only=True)
class NormConfig:
    """Norm and residual connection; `norm_affine`: a norm scales (and shifts) by what it learns.

    `norm_offset`: what is learned is added to 1 before it scales, as in Gemma. Without `norm_bias`
    a LayerNorm only scales. Without `first_norm` the first layer's attention reads the stream as it
    is, where others read it through a norm: an `embedding_norm` has just been there (ModernBERT).
    `parallel_norms`: where both sub-layers read the stream at once, they share one norm (GPT-J,
    Falcon) or have one each (GPT-NeoX, Pythia). `embedding_norm`: a norm after embedding and
    position, as in BERT and BART; a block has none.
    """

    norm_kind: NormKind = option(NormKind.LAYER_NORM)
    norm_placement: NormPlacement = option(
        NormPlacement.PRE,
        where=has.NORMS | (has.FEED_FORWARD & ~has.TWO_STACKS),
        acts=has.NORMS | has.PARALLEL,
    )
    norm_eps: float = option(1e-5, EPS, where=has.ANY_NORMS)
    norm_affine: bool = option(True, where=has.NORMS)
    norm_offset: bool = option(False, where=has.SCALES | has.QUERY_SCALES)
    norm_bias: bool = option(True, where=has.SCALES & ~has.RMS_NORMS)
    first_norm: bool = option(True, where=has.FIRST_NORM, acts=Where(lambda c: c.lacks_first_norm))
    parallel_norms: int = option(1, PARALLEL_NORMS, where=has.NORMS & has.PARALLEL)
    embedding_norm: bool = option(False, where=has.NORMS & has.TOKENS)
    residual: bool = option(True)


@dataclass(frozen=True, kw_only=True)
class PositionConfig:
    """Position. `max_seq_len` is the longest context; the learned table has a row for each token.

    Before these rows stand `position_offset` others (BART, OPT, RoBERTa: 2), which nothing reads.
    Sinusoidal features alternate between sine and cosine, as the paper writes them; with
    `sines_first` all sines stand before all cosines, as in its code (tensor2tensor) and Marian.
    RoPE turns `rotary_share` of each head and leaves the rest as it is (GPT-NeoX: a quarter). It is
    stretched by `rope_scaling` from `rope_trained_len` tokens to `rope_factor` times as many; the
    ramp of YaRN begins and ends at whole pairs, or (gpt-oss) without `yarn_whole_pairs` between.
    LongRoPE (Phi-3) divides the speed of each pair by a number of its own: of `rope_short_factors`
    in texts of up to `rope_trained_len` tokens, of `rope_long_factors` in longer ones; as text,
    with commas between. Where there is not one for each pair, short texts have none, and long ones
    those of NTK. YaRN and LongRoPE multiply queries and keys by `rope_attention_factor`, 0: by what
    their formula says.
    `local_rope_base`: the base of local layers, which are not stretched then (Gemma 3); 0: that of
    all. With `nope_every` n every n-th layer turns nothing (Kazemnejad et al. 2023; SmolLM3).
    """

    position_kind: PositionKind = option(PositionKind.SINUSOIDAL, acts=has.ATTENTION | has.ADDED)
    max_seq_len: int = option(512)
    position_offset: int = option(0, where=has.POSITION_TABLE)
    sines_first: bool = option(False, where=has.WAVES)
    rope_base: float = option(10_000.0, ROPE_BASE, where=has.USUAL_BASE)
    rotary_share: float = option(1.0, ROTARY_SHARE, where=has.TURNED & ~has.LATENTS)
    rope_scaling: RopeScaling = option(RopeScaling.NONE, where=has.USUAL_BASE, acts=has.STRETCH)
    rope_factor: float = option(1.0, ROPE_FACTOR, where=has.STRETCH)
    rope_trained_len: int = option(2048, where=has.YARN | has.LLAMA3 | has.LONGROPE)
    yarn_whole_pairs: bool = option(True, where=has.YARN)
    rope_short_factors: str = option(
        "", check_factors, where=has.LONGROPE, acts=Where(lambda c: c.rope_factors[0])
    )
    rope_long_factors: str = option(
        "", check_factors, where=has.LONGROPE, acts=Where(lambda c: c.rope_factors[1])
    )
    rope_attention_factor: float = option(0.0, CAP, where=has.YARN | has.LONGROPE)
    local_rope_base: float = option(0.0, LOCAL_BASE, where=has.TURNED_IN_WINDOWS)
    nope_every: int = option(
        0, where=has.ROPE, acts=Where(lambda c: c.position.nope_every), bar=BESIDE_LATENTS
    )


@dataclass(frozen=True, kw_only=True)
class VocabularyConfig:
    """Tokens that a whole model knows; tied, the rows that read them also write them.

    `scale_embeddings`: rows are multiplied by √d_model when read; None follows the architecture,
    where a GPT does not. `scale_output`: the stream is divided by √d_model before it meets the
    table again, as in T5. `unembed_bias`: each token has a logit of its own to begin with.
    `logit_softcap`: logits are bent to stay below it, 0 for no cap (Gemma 2). `n_mtp_modules`: how
    many tokens after the next one a GPT learns to predict too, each by a layer of its own
    (Gloeckle et al. 2024; DeepSeek-V3, section 2.2).
    """

    vocab_size: int = option(1024, where=has.TOKENS)
    tie_embeddings: bool = option(True, where=has.TOKENS)
    scale_embeddings: bool | None = option(None, where=has.TOKENS, follows="architecture")
    scale_output: bool = option(False, where=has.TOKENS)
    unembed_bias: bool = option(False, where=has.TOKENS)
    logit_softcap: float = option(0.0, CAP, where=has.TOKENS)
    n_mtp_modules: int = option(0, MTP_MODULES, where=has.ONE_GPT, bar=OF_READERS)


@dataclass(frozen=True, kw_only=True)
class ScalesConfig:
    """Fixed numbers that bring what passes to a size that does not depend on the width.

    Muparametrization (Yang et al. 2022) as Granite has it (IBM 2024). `embedding_multiplier`: rows
    are multiplied by it when read; `attention_multiplier`: scores are multiplied by it and not by
    1 / √d_head (0: they are divided, as `scale_scores` says); `residual_multiplier`: what a
    sub-layer writes is multiplied by it; `logits_scaling`: logits are divided by it.
    """

    embedding_multiplier: float = option(1.0, SCALE, where=has.TOKENS)
    attention_multiplier: float = option(0.0, CAP, where=has.ATTENTION)
    residual_multiplier: float = option(1.0, SCALE, bar=UNDONE)
    logits_scaling: float = option(1.0, SCALE, where=has.TOKENS)


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """What an encoder alone has, as in BERT; other architectures leave it aside.

    `n_segments`: rows that say to which text a token belongs, 0 for none. `pooler`: a layer that
    makes one vector of the first token, to classify the text by. `prediction_head`: a layer and a
    norm before the unembedding, which predict the hidden tokens.
    """

    n_segments: int = option(0, where=has.ONE_ENCODER)
    pooler: bool = option(False, where=has.ONE_ENCODER)
    prediction_head: bool = option(False, where=has.ONE_ENCODER)


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderConfig:
    """What an encoder–decoder alone has; other architectures leave it aside.

    `n_decoder_layers` of None follows n_layers, which counts those of the encoder. With
    `share_embeddings` one table reads source and target. `relative_bias`: scores of
    self-attention learn what to add for each distance, as in T5.
    """

    n_decoder_layers: int | None = option(None, SIZE, where=has.TWO_STACKS, follows="n_layers")
    share_embeddings: bool = option(True, where=has.TWO_STACKS)
    relative_bias: bool = option(False, where=has.TWO_STACKS)
