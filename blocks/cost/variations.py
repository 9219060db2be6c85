"""Changes of the parameter count, one setting at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from blocks.cost.parameters import active_parameters, total_parameters
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError
from blocks.model.kinds import Activation, NormKind, PositionKind, TokenMixer

Changes = dict[str, Any]
N_EXPERTS, N_ACTIVE = 8, 2
GATED_OF = {
    Activation.RELU: Activation.REGLU,
    Activation.GELU: Activation.GEGLU,
    Activation.GELU_TANH: Activation.GEGLU_TANH,
}
PLAIN_OF = {gated: plain for plain, gated in GATED_OF.items()} | {
    Activation.SWIGLU: Activation.SILU,
    Activation.GLU: Activation.GELU,
    Activation.QUICK_GEGLU: Activation.GELU,
}


class Variation(NamedTuple):
    """A change of a configuration, and how many parameters it then has; a token meets `active`."""

    name: str
    changes: Changes
    total: int
    active: int


@dataclass(frozen=True)
class ChangesFacts:
    """Every change that a configuration can take, the largest loss first."""

    total: int
    changes: tuple[Variation, ...]

    @property
    def deltas(self) -> dict[str, int]:
        """Parameters that each change adds."""
        return {change.name: change.total - self.total for change in self.changes}

    @property
    def heads_are_free(self) -> bool:
        """Whether more or fewer heads leave the count as it is."""
        return any(self.deltas.get(name) == 0 for name in ("twice_the_heads", "half_the_heads"))

    @property
    def has_biases(self) -> bool:
        """Whether there are biases that could go."""
        return "no_biases" in self.deltas

    @property
    def small_share(self) -> float | None:
        """The share of biases and norms; None where there are neither."""
        found = [self.deltas[name] for name in ("no_biases", "no_norms") if name in self.deltas]
        return -sum(found) / self.total if found and self.total else None

    @property
    def tied_saves(self) -> int | None:
        """Parameters that weight tying saves; None where there is no vocabulary."""
        found = [abs(self.deltas[name]) for name in ("tied", "untied") if name in self.deltas]
        return found[0] if found else None


def changes_facts(config: ModelConfig) -> ChangesFacts:
    """Count every change against a configuration."""
    changes = sorted(variations(config), key=lambda change: change.total)
    return ChangesFacts(total_parameters(config), tuple(changes))


def variations(config: ModelConfig) -> tuple[Variation, ...]:
    """Every change that this configuration can take, counted; those that it cannot are left out."""
    found = []
    for name, changes in _changes(config):
        try:
            changed = config.replace(**changes)
        except ConfigError:
            continue
        if changed != config:
            counted = total_parameters(changed), active_parameters(changed)
            found.append(Variation(name, changes, *counted))
    return tuple(found)


def _changes(config: ModelConfig) -> Iterator[tuple[str, Changes]]:
    yield from _of_heads(config)
    yield from _of_ends(config)
    yield from _of_small_parts(config)
    if not config.attention_only:
        yield from _of_feed_forward(config)
    yield "one_more_layer", _one_more_layer(config)
    yield "twice_as_wide", _twice_as_wide(config)


def _of_heads(config: ModelConfig) -> Iterator[tuple[str, Changes]]:
    if not config.has_attention and config.token_mixer is TokenMixer.GRU:
        return
    yield "twice_the_heads", _times_heads(config, 2, 1)
    yield "half_the_heads", _times_heads(config, 1, 2)
    if config.has_attention and config.n_kv_heads > 1:
        yield "one_kv_head", {"n_kv_heads": 1}
    if config.n_kv_heads < config.n_heads:
        yield "kv_as_many", {"n_kv_heads": config.n_heads}


def _times_heads(config: ModelConfig, times: int, parts: int) -> Changes:
    """More heads that are as much narrower; nothing where that is no whole number."""
    n_kv, width = config.attention.n_kv_heads, config.attention.d_head
    sizes = (config.n_heads * times, (n_kv or parts) * times, (width or times) * parts)
    if any(size % by for size, by in zip(sizes, (parts, parts, times), strict=True)):
        return {}
    return {
        "n_heads": sizes[0] // parts,
        "n_kv_heads": n_kv and sizes[1] // parts,
        "d_head": width and sizes[2] // times,
    }


def _of_ends(config: ModelConfig) -> Iterator[tuple[str, Changes]]:
    if config.architecture.reads_tokens:
        is_tied = config.vocabulary.tie_embeddings
        yield ("untied" if is_tied else "tied"), {"tie_embeddings": not is_tied}
    is_learned = config.position.position_kind is PositionKind.LEARNED
    if is_learned:
        yield "rope", {"position_kind": PositionKind.ROPE}
    else:
        yield "learned_positions", {"position_kind": PositionKind.LEARNED}


def _of_small_parts(config: ModelConfig) -> Iterator[tuple[str, Changes]]:
    names = ("attention_bias", "out_bias", "feed_forward_bias")
    has_bias = (
        config.attention.attention_bias or config.out_bias or config.feed_forward.feed_forward_bias
    )
    name = "no_biases" if has_bias else "biases"
    yield name, dict.fromkeys(names, not has_bias)
    if config.norm.norm_affine:
        yield from _of_norms(config.norm.norm_kind)


def _of_norms(kind: NormKind) -> Iterator[tuple[str, Changes]]:
    if kind is NormKind.NONE:
        yield "norms", {"norm_kind": NormKind.LAYER_NORM}
        return
    if kind is NormKind.RMS_NORM:
        yield "layernorm", {"norm_kind": NormKind.LAYER_NORM}
    else:
        yield "rmsnorm", {"norm_kind": NormKind.RMS_NORM}
    yield "no_norms", {"norm_kind": NormKind.NONE}


def _of_feed_forward(config: ModelConfig) -> Iterator[tuple[str, Changes]]:
    activation = config.feed_forward.activation
    if activation.is_gated:
        yield "plain", {"activation": PLAIN_OF.get(activation, Activation.GELU)}
    else:
        gated = GATED_OF.get(activation, Activation.SWIGLU)
        yield "gated", {"activation": gated}
        yield "gated_narrower", {"activation": gated, "d_ff": max(1, 2 * config.d_ff // 3)}
    yield "twice_d_ff", {"d_ff": 2 * config.d_ff}
    if config.n_experts > 1:
        yield "dense", {"n_experts": 1}
    else:
        yield "experts", {"n_experts": N_EXPERTS, "n_active_experts": N_ACTIVE}


def _one_more_layer(config: ModelConfig) -> Changes:
    """In both stacks, where there are two."""
    own = config.encoder_decoder.n_decoder_layers
    return {"n_layers": config.n_layers + 1, "n_decoder_layers": own and own + 1}


def _twice_as_wide(config: ModelConfig) -> Changes:
    """Everything that is as wide as the stream, or a multiple of it, with it."""
    d_ff, d_expert = config.feed_forward.d_ff, config.experts.d_expert
    width = config.attention.d_head
    return {
        "d_model": 2 * config.d_model,
        "d_ff": d_ff and 2 * d_ff,
        "d_expert": d_expert and 2 * d_expert,
        "d_head": width and 2 * width,
    }
