"""Sizes that fit, where those that were asked for do not."""

from collections.abc import Callable, Mapping

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, Fault
from blocks.model.kinds import PositionKind

MOST_LAYERS = 96  # that run: every layer takes time of its own, however narrow it is
MOST_BUILT = 300  # layers, each expert counted: a Python module takes time and memory of its own
SMALLEST_SIZES = {
    "batch": 1,
    "batch_size": 1,
    "seq_len": 8,
    "d_ff": 64,
    "d_expert": 64,
    "d_model": 8,
    "n_layers": 1,
    "n_decoder_layers": 1,
    "n_experts": 1,
    "max_seq_len": 1024,
}
Sizes = dict[str, int]


def sizes_of(config: ModelConfig) -> Sizes:
    """The sizes of a model that may be made smaller, without those that follow others."""
    own_d_ff, own_depth = config.feed_forward.d_ff, config.encoder_decoder.n_decoder_layers
    is_learned = config.position.position_kind is PositionKind.LEARNED
    return {
        **({} if own_d_ff is None else {"d_ff": own_d_ff}),
        **({"d_expert": d_expert} if (d_expert := config.experts.d_expert) else {}),
        "d_model": config.d_model,
        "n_layers": config.n_layers,
        **({"n_decoder_layers": own_depth} if config.n_decoder_layers and own_depth else {}),
        "n_experts": config.n_experts,
        **({"max_seq_len": config.max_seq_len} if is_learned else {}),
    }


def fitting(asked: Sizes, fits: Callable[[Sizes], bool], **least: int) -> Sizes:
    """Halve what is largest against its smallest useful size until it `fits`.

    `least` are smallest sizes of this case. Returns the sizes that differ from those `asked` for,
    and of these only what is needed.
    """
    smallest, sizes, changed = SMALLEST_SIZES | least, asked, Sizes()
    while shrinkable := [name for name in sizes if sizes[name] > smallest[name]]:
        name = max(shrinkable, key=lambda name: sizes[name] / smallest[name])
        sizes = sizes | {name: max(sizes[name] // 2, smallest[name])}
        changed = {name: size for name, size in sizes.items() if size != asked[name]}
        if fits(changed):
            return _needed(changed, fits)
    return changed


def _needed(sizes: Sizes, fits: Callable[[Sizes], bool]) -> Sizes:
    """Of sizes that fit those without which they would not."""
    for name in sizes:
        others = {other: size for other, size in sizes.items() if other != name}
        if fits(others):
            sizes = others
    return sizes


def with_mend(fault: Fault, sizes: Mapping[str, object]) -> Fault:
    """The fault with sizes that fit, which its text names as `choice`."""
    choice = ", ".join(f"{name} {value}" for name, value in sizes.items())
    return Fault(fault.text, {**fault.values, "choice": choice}, sizes)


def can_build(config: ModelConfig) -> bool:
    """Whether the modules are few enough to be built, even without memory."""
    return _n_built(config) <= MOST_BUILT


def depth_fault(config: ModelConfig) -> Fault | None:
    """Return the fault of a model with too many layers to run here; `with_mend` ends the sentence.

    Not a matter of bytes: a million layers of width 1 would take days.
    """
    n_layers = config.n_layers + config.n_decoder_layers
    if n_layers > MOST_LAYERS:
        text = N_("{value} layers exceed the {most} that can run here: use {choice}")
        return Fault(text, {"value": f"{n_layers:,}", "most": MOST_LAYERS})
    if not can_build(config):
        text = N_(
            "{value} layers, counting each expert as a layer, exceed the {most} that can run "
            "here: use {choice}"
        )
        return Fault(text, {"value": f"{_n_built(config):,}", "most": MOST_BUILT})
    return None


def _n_built(config: ModelConfig) -> int:
    """Layers, each expert counted."""
    n_dense = config.n_layers + config.n_decoder_layers - config.n_expert_layers
    return n_dense + config.n_expert_layers * config.n_experts
