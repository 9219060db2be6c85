"""What pieces of a model and changes of it are called on the screen."""

from blocks.cost.breakdown import Kind, Node
from blocks.cost.growth import Share
from blocks.model.faults import N_
from pages.ui import terms
from pages.ui.language import _

KINDS = {
    Kind.EMBEDDING: N_("embedding"),
    Kind.POSITION: N_("positional encoding"),
    Kind.ATTENTION: N_("attention"),
    Kind.CROSS_ATTENTION: N_("cross-attention"),
    Kind.FEED_FORWARD: N_("feed-forward"),
    Kind.ROUTER: N_("router"),
    Kind.NORM: N_("norms"),
    Kind.POOLER: N_("pooler"),
    Kind.OUTPUT: N_("output"),
}
SHARES = {
    Share.EMBEDDINGS: N_("embeddings"),
    Share.ATTENTION: N_("attention"),
    Share.FEED_FORWARD: N_("feed-forward"),
    Share.REST: N_("norms and the rest"),
}
VIEWS = {"by_kind": N_("by kind"), "by_layer": N_("by layer")}
STACKS = {
    "layers": N_("layers"),
    "encoder.layers": N_("layers of the encoder"),
    "decoder.layers": N_("layers of the decoder"),
}
CHANGES = {
    "twice_the_heads": N_("twice the heads, half as wide"),
    "half_the_heads": N_("half the heads, twice as wide"),
    "one_kv_head": N_("multi-query attention (MQA): one head of keys and values"),
    "kv_as_many": N_("multi-head attention (MHA): keys and values per head"),
    "tied": N_("weight tying: one table for input and output"),
    "untied": N_("an output matrix of its own (untied)"),
    "rope": N_("RoPE instead of a learned position table"),
    "learned_positions": N_("a learned position table"),
    "no_biases": N_("no biases"),
    "biases": N_("biases everywhere"),
    "layernorm": N_("LayerNorm instead of RMSNorm"),
    "rmsnorm": N_("RMSNorm, without a shift"),
    "no_norms": N_("no norms"),
    "norms": N_("norms (LayerNorm)"),
    "plain": N_("feed-forward without a gate"),
    "gated": N_("a gate in the feed-forward layer"),
    "gated_narrower": N_("a gate, and d_ff two thirds"),
    "twice_d_ff": N_("twice d_ff"),
    "experts": N_("8 experts, 2 active"),
    "dense": N_("one feed-forward layer, no experts"),
    "one_more_layer": N_("one more layer"),
    "twice_as_wide": N_("twice d_model, and d_ff with it"),
}
WHY = {
    "twice_the_heads": N_("n_heads · d_head stays: the same matrices are split into more pieces."),
    "half_the_heads": N_("n_heads · d_head stays: the same matrices are split into fewer pieces."),
    "one_kv_head": N_("k_proj and v_proj shrink to the width of one head; the KV cache with them."),
    "kv_as_many": N_("k_proj and v_proj become as large as q_proj; the KV cache with them."),
    "tied": N_("The output matrix of vocab_size · d_model is gone: the embedding takes its place."),
    "untied": N_("Another vocab_size · d_model."),
    "rope": N_("max_seq_len · d_model is gone: rotations are computed, not learned."),
    "learned_positions": N_("d_model numbers for each of max_seq_len positions."),
    "no_biases": N_("One number fewer per output of each projection: negligible."),
    "biases": N_("One number more per output of each projection: negligible."),
    "layernorm": N_("A shift beside each scale: d_model more per norm."),
    "rmsnorm": N_("No shift, a scale alone: d_model fewer per norm."),
    "no_norms": N_("All scales and shifts are gone: next to nothing in size, but not in training."),
    "norms": N_("A scale and a shift of d_model numbers per norm: negligible."),
    "plain": N_("gate_proj is gone: a third of the matrices of the layer."),
    "gated": N_("gate_proj is added: the layer's matrices grow by half."),
    "gated_narrower": N_("Three matrices of two thirds: as many as before (Shazeer 2020)."),
    "twice_d_ff": N_("The feed-forward layer doubles, all else stays."),
    "experts": N_("Eight feed-forward layers and a router; each token passes through two of them."),
    "dense": N_("All experts but one are gone, and the router."),
    "one_more_layer": N_("As many parameters as any other layer."),
    "twice_as_wide": N_("The matrices of each layer grow fourfold, the embedding twofold."),
}


def kind(found: Kind | str) -> str:
    """What a kind is called."""
    return _(KINDS[Kind(found)])


def share(found: Share | str) -> str:
    """What a share is called."""
    return _(SHARES[Share(found)])


def view(found: str) -> str:
    """How the model is taken apart."""
    return _(VIEWS[found])


def node(found: Node) -> str:
    """What a piece is called."""
    if found.name == "":
        return _("the whole model")
    if found.name in STACKS:
        return _(STACKS[found.name])
    if found.name in list(Kind) and found.kind == found.name and found.children:
        return kind(found.name)
    if is_layer(found):
        return _("layer {layer}").format(layer=found.name)
    return terms.part(found.name)


def is_layer(found: Node) -> bool:
    """Whether a piece is one layer (or the last of very many), called by its number."""
    return found.name[:1].isdigit()


def change(name: str) -> str:
    """What a change is called."""
    return _(CHANGES[name])


def why(name: str) -> str:
    """Why a change changes what it does."""
    return _(WHY[name])
