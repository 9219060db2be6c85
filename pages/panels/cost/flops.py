"""Operations of a step by formula, and where attention overtakes the rest."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import crossover, fit, flops
from blocks.cost.fit import Setup
from blocks.cost.hardware import HARDWARE
from blocks.cost.parameters import active_parameters
from blocks.cost.passes import PassKind, operations, pass_kinds, total_flops
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from pages.figures.theme import Picture
from pages.panels.cost import flops_picture, shared
from pages.panels.cost.shared import Shape
from pages.ui import link
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.tables import show_whole


@lru_cache(maxsize=64)
def layer_growth(config: ModelConfig, n: int) -> pd.DataFrame:
    """FLOPs of one layer from short texts to long ones, the reader's length among them."""
    crossing = crossover.crossover(config)
    most = max(4 * n, 4 * crossing, 1024)
    lengths = [2**i for i in range(4, 40) if 2**i <= most]
    return crossover.growth(config, sorted({*lengths, n}))


def pass_sizes(config: ModelConfig) -> dict[str, int]:
    """Sizes of one token that meets one."""
    return flops.pass_sizes(config, flops.Pass(1, 1))


def flops_sentence(config: ModelConfig, kind: PassKind, shape: shared.Shape, setup: Setup) -> str:
    """The whole step, each token of it, what rule it follows, and what is computed twice."""
    said = _flops_of_the_step(config, kind, shape)
    again = sum(each.recomputed for each in shared.step(config, kind, shape, setup))
    if not again:
        return said
    text = _("In addition, {again} are recomputed in the backward pass: {why}.")
    why = [
        _("fused attention does not store the scores") if setup.fused else "",
        _("with activation checkpointing each layer runs forward twice")
        if setup.checkpointing
        else "",
    ]
    return f"{said} " + text.format(again=shared.flops(again), why="; ".join(filter(None, why)))


def _flops_of_the_step(config: ModelConfig, kind: PassKind, shape: shared.Shape) -> str:
    found = shared.step(config, kind, shape)
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
        total=shared.flops(flops),
        each=shared.flops(flops / tokens),
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


def n_tokens(config: ModelConfig, kind: PassKind, shape: shared.Shape) -> int:
    """Tokens that are computed; an encoder–decoder reads two texts."""
    is_two = config.architecture is Architecture.ENCODER_DECODER
    if kind is PassKind.DECODE:
        return shape.batch
    n_texts = 2 if is_two and kind is not PassKind.PREFILL else 1
    return n_texts * shape.n * shape.batch


def writing_sentence(config: ModelConfig, shape: shared.Shape, setup: Setup) -> str:
    """Reading a prompt against writing the next token; nothing where it does not write."""
    if PassKind.DECODE not in pass_kinds(config):
        return ""
    one = shared.Shape(shape.n, 1)
    read = total_flops(shared.step(config, PassKind.PREFILL, one))
    write = total_flops(shared.step(config, PassKind.DECODE, one))
    title, could = _while_one_is_read(setup)
    text = _(
        "Reading {n:,} tokens takes {read}, generating one more {write}: {ratio:,.0f} "
        "times less. Yet every weight it uses is read from memory: at batch {batch:,} "
        "each weight read serves at most {work:,} FLOPs, while in the same time "
        "{device} could do {could:,.0f} FLOPs."
    )
    return text.format(
        n=shape.n,
        read=shared.flops(read),
        write=shared.flops(write),
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
    return f"{said} {shared.capacity_note(config)}".strip()


def flops_alt(config: ModelConfig, kind: PassKind, shape: shared.Shape, setup: Setup) -> str:
    """Write the alt text of the bars."""
    table = shared.operation_rows(config, kind, shape, setup)
    rows = shared.in_words(table)
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
    sizes = pass_sizes(config)
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
    """Write the alt text of the lines."""
    text = _("FLOPs of one layer against n on logarithmic axes: two lines. {sentence}")
    return text.format(sentence=crossover_sentence(config, n))


PASSES = {
    "training": N_("training step"),
    "forward": N_("forward"),
    "prefill": N_("prefill · read a prompt"),
    "decode": N_("decode · generate one more token"),
}


def pass_kind_name(kind: str) -> str:
    """A kind of step."""
    return _(PASSES[kind])


def operations_table(
    config: ModelConfig, kind: PassKind, shape: shared.Shape, setup: Setup
) -> None:
    """Every product with its formula, in letters and in numbers."""
    table = shared.operation_rows(config, kind, shape, setup)
    columns = {
        _("operation"): table["label"],
        _("forward"): table["forward"].map(shared.flops),
        _("formula"): table["formula"],
        _("in numbers"): table["numbers"],
    }
    if table["backward"].any():
        columns[_("backward")] = table["backward"].map(shared.flops)
    if table["recomputed"].any():
        columns[_("recomputed")] = table["recomputed"].map(shared.flops)
    shown = pd.DataFrame(columns)
    st.dataframe(shown, hide_index=True, key="operation_table", height="content")


def passes(config: ModelConfig, shape: shared.Shape) -> None:
    """Each kind of step: what it takes in all, and for each token."""
    rows = []
    for kind in pass_kinds(config):
        flops = total_flops(shared.step(config, kind, shape))
        tokens = n_tokens(config, kind, shape)
        rows.append(
            {
                _("computation"): pass_kind_name(kind),
                _("total"): shared.flops(flops),
                _("per token"): shared.flops(flops / tokens),
                _("tokens computed"): f"{tokens:,}",
            }
        )
    show_whole(pd.DataFrame(rows))


def pass_choice(config: ModelConfig) -> None:
    """What goes through the model."""
    kinds = [str(kind) for kind in pass_kinds(config)]
    st.segmented_control(
        _("Kind of computation"),
        kinds,
        format_func=pass_kind_name,
        required=True,
        wrap=True,
        **link.view(
            "counted_pass", str(shared.pass_kind(config)), (tuple(kinds), current_language())
        ),
    )


@section
def how_much_is_computed(config: ModelConfig) -> None:
    """FLOPs by operation: forward and back, of a prompt, of one more token."""
    place = explained(("flops", "backward_flops"), (operations,), key="operations")
    pass_choice(config)
    shown = config, shared.pass_kind(config), shared.shape(), shared.setup(is_training=True)
    with place:
        say(flops_sentence, *shown)
    left, right = columns([6, 5])
    with left:
        show(draw_operations, *shown, key="operation_bars", alt=flops_alt)
    with right:
        passes(config, shown[2])
        if said := writing_sentence(config, *shown[2:]):
            note(said)
    with st.expander(_("Every matrix product with its formula"), icon=":material/functions:"):
        operations_table(*shown)
    note(flops_note(config))


def draw_operations(config: ModelConfig, kind: PassKind, shape: Shape, setup: Setup) -> Picture:
    """FLOPs by operation."""
    table = shared.operation_rows(config, kind, shape, setup)
    title = _("FLOPs by operation, all layers: {what}").format(what=pass_kind_name(kind))
    return flops_picture.operation_bars(table, title=title, _=_)


@section
def where_attention_overtakes(config: ModelConfig) -> None:
    """O(n²·d) against O(n·d²)."""
    code = (crossover.crossover, crossover.layer_flops)
    shown = config, shared.shape().n
    with explained(("crossover",), code, key="crossover"):
        say(crossover_sentence, *shown)
    show(draw_crossing, *shown, key="crossover_lines", alt=crossover_alt)
    st.code(crossover_formula(config), language=None, wrap_lines=True)


def draw_crossing(config: ModelConfig, n: int) -> Picture:
    """FLOPs of one layer against the length."""
    table = layer_growth(config, n)
    return flops_picture.crossing(table, crossover.crossover(config), n, _=_)
