"""Sentences about the FLOPs of a step, and where attention overtakes."""

from blocks import ModelConfig
from blocks.cost import crossover, fit
from blocks.cost.fit import Setup
from blocks.cost.hardware import HARDWARE
from blocks.cost.parameters import active_parameters
from blocks.cost.passes import PassKind, pass_kinds, total_flops
from blocks.model.kinds import Architecture
from pages.ui import link
from pages.ui.cost import amounts, counted, frames
from pages.ui.cost.chosen import Shape
from pages.ui.language import _
from pages.ui.numbers import percent


def flops_sentence(config: ModelConfig, kind: PassKind, shape: Shape, setup: Setup) -> str:
    """The whole step, each token of it, what rule it follows, and what is computed twice."""
    said = _flops_of_the_step(config, kind, shape)
    again = sum(each.recomputed for each in counted.step(config, kind, shape, setup))
    if not again:
        return said
    text = _("In addition, {again} are recomputed in the backward pass: {why}.")
    why = [
        _("fused attention does not store the scores") if setup.fused else "",
        _("with activation checkpointing each layer runs forward twice")
        if setup.checkpointing
        else "",
    ]
    return f"{said} " + text.format(again=amounts.flops(again), why="; ".join(filter(None, why)))


def _flops_of_the_step(config: ModelConfig, kind: PassKind, shape: Shape) -> str:
    found = counted.step(config, kind, shape)
    flops, tokens = total_flops(found), n_tokens(config, kind, shape)
    times = 6 if kind is PassKind.TRAINING else 2
    pairs = sum(each.flops for each in found if each.name.endswith(crossover.PAIRS))
    text = _(
        "{total} in total: {each} for each of {tokens:,} tokens, {share:.2f} times the "
        "estimate {rule}. Attention between tokens (scores and weighted sum) is {pairs} "
        "of it."
    )
    if tokens == 1:
        text = _(
            "{total} per token, {share:.2f} times the estimate {rule}. Attention "
            "between tokens (scores and weighted sum) is {pairs} of it."
        )
    return text.format(
        total=amounts.flops(flops),
        each=amounts.flops(flops / tokens),
        tokens=tokens,
        share=flops / tokens / (times * active_parameters(config)),
        rule=_rule(config, times),
        pairs=percent(pairs / flops),
    )


def _rule(config: ModelConfig, times: int) -> str:
    """So many FLOPs for every parameter that a token meets."""
    active = active_parameters(config)
    text = _("{times} FLOPs per parameter")
    if active < fit.n_parameters(config):
        text = _("{times} FLOPs per active parameter ({active:,} per token)")
    return text.format(times=times, active=active)


def n_tokens(config: ModelConfig, kind: PassKind, shape: Shape) -> int:
    """Tokens that are computed; an encoder–decoder reads two texts."""
    is_two = config.architecture is Architecture.ENCODER_DECODER
    if kind is PassKind.DECODE:
        return shape.batch
    n_texts = 2 if is_two and kind is not PassKind.PREFILL else 1
    return n_texts * shape.n * shape.batch


def writing_sentence(config: ModelConfig, shape: Shape, setup: Setup) -> str:
    """Reading a prompt against writing the next token; nothing where it does not write."""
    if PassKind.DECODE not in pass_kinds(config):
        return ""
    one = Shape(shape.n, 1)
    read = total_flops(counted.step(config, PassKind.PREFILL, one))
    write = total_flops(counted.step(config, PassKind.DECODE, one))
    title, could = _while_one_is_read(setup)
    text = _(
        "Reading {n:,} tokens takes {read}, generating one more {write}: {ratio:,.0f} "
        "times less. Yet every weight it uses is read from memory: at batch {batch:,} "
        "each weight read serves at most {work:,} FLOPs, while in the same time "
        "{device} could do {could:,.0f} FLOPs."
    )
    return text.format(
        n=shape.n,
        read=amounts.flops(read),
        write=amounts.flops(write),
        ratio=read / write,
        batch=shape.batch,
        work=2 * shape.batch,
        device=title,
        could=could,
    )


def _while_one_is_read(setup: Setup) -> tuple[str, float]:
    """The FLOPs that the chosen device could do while it reads one weight."""
    device = HARDWARE[link.value("training_device")]
    peak = device.peak.get(str(setup.weight_format), max(device.peak.values()))
    return device.title, peak * setup.itemsize / device.bandwidth


def flops_note(config: ModelConfig) -> str:
    """What is counted, and what is not."""
    said = _(
        "Matrix products exactly, 2·m·n·k each: equal to torch's own count for eager "
        "attention, forward and backward. Not counted: norms, softmax, activation "
        "functions, additions, the optimizer. Masked pairs are computed, then discarded."
    )
    return f"{said} {capacity_note(config)}".strip()


def capacity_note(config: ModelConfig) -> str:
    """What a limit to what an expert takes means for FLOPs; empty without one."""
    if config.n_experts == 1 or not config.feed_forward.expert_capacity:
        return ""
    return _(
        "All routed tokens count, even those dropped by expert_capacity: with a "
        "capacity limit this is an upper bound."
    )


def flops_alt(config: ModelConfig, kind: PassKind, shape: Shape, setup: Setup) -> str:
    """The bars in words."""
    table = frames.operation_rows(config, kind, shape, setup)
    rows = frames.in_words(table)
    return _("FLOPs by operation: {rows}.").format(rows=rows)


def crossover_sentence(config: ModelConfig, n: int) -> str:
    """Where both cost the same, and on which side the reader stands."""
    at = crossover.crossover(config)
    weights, pairs = crossover.layer_flops(config, n)
    share = percent(pairs / (weights + pairs))
    text = _(
        "The two are equal at n = {at:,.0f}, {ratio:.2f} times d_model. At your n = "
        "{n:,} attention between tokens is {share} of a layer's FLOPs."
    )
    said = text.format(at=at, ratio=at / config.d_model, n=n, share=share)
    is_causal = config.architecture in (Architecture.GPT, Architecture.ENCODER_DECODER)
    if not is_causal:
        return said
    more = _(
        "Masked pairs are computed too; a kernel that skips them halves that line and moves the "
        "crossing to {twice:,.0f}."
    )
    return f"{said} {more.format(twice=2 * at)}"


def crossover_formula(config: ModelConfig) -> str:
    """The length at which both are equal, in letters and in numbers."""
    sizes = counted.pass_sizes(config)
    weights, pairs = crossover.layer_parts(config)
    top = " + ".join(_per_token(part.formula()) for part in weights)
    bottom = " + ".join(_per_token(part.formula()) for part in pairs)
    numbers = (sum(part.count(sizes) for part in parts) for parts in (weights, pairs))
    above, below = numbers
    at = crossover.crossover(config)
    return f"n* = ({top}) / ({bottom}) = {above:,} / {below:,} = {at:,.1f}"


def _per_token(formula: str) -> str:
    return formula.replace(" · n_new", "").replace(" · n_keys", "")


def crossover_alt(config: ModelConfig, n: int) -> str:
    """The lines in words."""
    text = _("FLOPs of one layer against n on logarithmic axes: two lines. {sentence}")
    return text.format(sentence=crossover_sentence(config, n))
