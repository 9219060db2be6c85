"""Sentences of the page of costs, computed from what is set."""

from blocks import ModelConfig
from blocks.cost import crossover, fit
from blocks.cost.fit import Setup
from blocks.cost.hardware import HARDWARE
from blocks.cost.parameters import active_parameters
from blocks.cost.passes import PassKind, pass_kinds, total_flops
from blocks.cost.training_cost import compute_optimal_tokens
from blocks.kinds import Architecture, PositionKind
from pages.ui import link
from pages.ui.cost import amounts, counted, frames, names
from pages.ui.cost.chosen import Plan, Shape
from pages.ui.cost.counted import HERE
from pages.ui.language import _
from pages.ui.numbers import percent


def counted_model(config: ModelConfig) -> str:
    """The model in one line, and how long counting took nothing."""
    n, active = fit.n_parameters(config), active_parameters(config)
    if active == n:
        return _("{n:,} parameters. Nothing is built for what is counted here.").format(n=n)
    text = _(
        "{n:,} parameters, of which a token meets {active:,}. Nothing is built for what is "
        "counted here."
    )
    return text.format(n=n, active=active)


def flops_sentence(config: ModelConfig, kind: PassKind, shape: Shape, setup: Setup) -> str:
    """The whole step, each token of it, what rule it follows, and what is computed twice."""
    said = _flops_of_the_step(config, kind, shape)
    again = sum(each.recomputed for each in counted.step(config, kind, shape, setup))
    if not again:
        return said
    text = _("On top, {again} are computed again on the way back: {why}.")
    why = [
        _("fused attention does not keep the scores") if setup.fused else "",
        _("with checkpointing each layer goes forward twice") if setup.checkpointing else "",
    ]
    return f"{said} " + text.format(again=amounts.flops(again), why="; ".join(filter(None, why)))


def _flops_of_the_step(config: ModelConfig, kind: PassKind, shape: Shape) -> str:
    found = counted.step(config, kind, shape)
    flops, tokens = total_flops(found), n_tokens(config, kind, shape)
    times = 6 if kind is PassKind.TRAINING else 2
    rule = times * active_parameters(config)
    pairs = sum(each.flops for each in found if each.name.endswith(crossover.PAIRS))
    text = _(
        "{total} in all: {each} for each of {tokens:,} tokens, {share:.2f} times the rule of "
        "{times} FLOP a parameter. Between tokens (scores, pattern · V): {pairs} of it."
    )
    return text.format(
        total=amounts.flops(flops),
        each=amounts.flops(flops / tokens),
        tokens=tokens,
        share=flops / tokens / rule,
        times=times,
        pairs=percent(pairs / flops),
    )


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
        "Reading {n:,} tokens takes {read}, and a token written after them {write}: {ratio:,.0f} "
        "times less. It meets as many weights all the same: at batch {batch:,} that is at most "
        "{work:,} FLOP for each weight read, and while one is read {device} could do {could:,.0f}."
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


def flops_note() -> str:
    """What is counted, and what is not."""
    return _(
        "Exact for products of matrices: 2·m·n·k for each, equal to the last FLOP to what torch "
        "counts in eager attention, forward and back. Norms, softmax, activations, additions and "
        "the optimizer are left out; masked pairs are computed and thrown away."
    )


def flops_alt(config: ModelConfig, kind: PassKind, shape: Shape, setup: Setup) -> str:
    """The bars in words."""
    table = frames.operation_rows(config, kind, shape, setup)
    rows = "; ".join(
        f"{label} {said}" for label, said in zip(table["label"], table["said"], strict=True)
    )
    return _("FLOP by operation: {rows}.").format(rows=rows)


def crossover_sentence(config: ModelConfig, n: int) -> str:
    """Where both cost the same, and on which side the reader stands."""
    at = crossover.crossover(config)
    weights, pairs = crossover.layer_flops(config, n)
    share = percent(pairs / (weights + pairs))
    text = _(
        "Both cost the same at n = {at:,.0f}, {ratio:.2f} times d_model. At your n = {n:,} "
        "attention between tokens is {share} of a layer."
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
    text = _("FLOP of one layer against n on logarithmic axes: two lines. {sentence}")
    return text.format(sentence=crossover_sentence(config, n))


def memory_sentence(config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool) -> str:
    """What takes most, and how many bytes a weight comes to."""
    need = counted.need(config, setup, shape, is_training=is_training)
    parts = {part: getattr(need, part) for part in frames.NEEDS[is_training]}
    largest = max(parts, key=parts.__getitem__)
    said = _("{total} in all; most of it is {part}: {bytes}, {share}.").format(
        total=amounts.in_bytes(need.total),
        part=names.need(largest),
        bytes=amounts.in_bytes(parts[largest]),
        share=percent(parts[largest] / need.total),
    )
    if is_training:
        text = _("Before anything passes, each weight takes {n:.3g} bytes.")
        return f"{said} {text.format(n=need.state / fit.n_parameters(config))}"
    if not counted.has_cache(config):
        return said
    text = _("The cache takes {each} for each token: {cache} for {batch} × {n:,}.")
    return f"{said} " + text.format(
        each=amounts.in_bytes(fit.cache_bytes(config, setup.itemsize, batch=1, n=1)),
        cache=amounts.in_bytes(need.cache),
        batch=shape.batch,
        n=shape.n,
    )


def kept_note(config: ModelConfig, setup: Setup) -> str:
    """What the estimate of activations is, and what it is not."""
    said = _(
        "Estimated term by term for the modules that run here, which write their norms out in "
        "steps; in the tests within 15 % of what a real step took, tensor by tensor. Left out: "
        "what the framework, the allocator and kernels take for themselves, and communication."
    )
    is_own = (
        config.position.position_kind is PositionKind.ALIBI or config.encoder_decoder.relative_bias
    )
    if setup.fused and is_own:
        more = _("What each head adds to its scores no fused kernel takes here: patterns are kept.")
        return f"{said} {more}"
    if setup.fused and config.dropout:
        more = _("Fused attention is taken to draw its own dropout.")
        return f"{said} {more}"
    return said


def use_note() -> str:
    """What the estimate of use leaves out."""
    return _(
        "A prompt is read in one pass, and the vocabulary scored after its last token only. Left "
        "out: scales of quantised weights, what the framework and the allocator take. With int8 "
        "and int4 the cache and what passes stay at 16 bits."
    )


def memory_alt(config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, *_rest) -> str:
    """The bars in words."""
    table = frames.memory_rows(config, setup, shape, is_training=is_training)
    rows = "; ".join(
        f"{label} {said}" for label, said in zip(table["label"], table["said"], strict=True)
    )
    return _("Memory of each way to do it: {rows}.").format(rows=rows)


def fits_sentence(found: tuple[counted.Fits, ...]) -> str:
    """What is enough, and what is not."""
    enough = [each for each in found if each.is_enough]
    own = next((each for each in found if each.device == HERE), None)
    needed = amounts.in_bytes(found[0].needed)
    if not enough:
        text = _("{needed} fit into none of these: share it among several, or ask for less.")
        return text.format(needed=needed)
    least = min(enough, key=lambda each: each.memory)
    text = _("{needed} fit into {n} of {all} devices; the smallest is {device}.")
    said = text.format(
        needed=needed, n=len(enough), all=len(found), device=names.device(least.device)
    )
    if own is None:
        return said
    verdict = _("It fits here.") if own.is_enough else _("It does not fit here.")
    return f"{said} {verdict}"


def fits_note(config: ModelConfig, shape: Shape) -> str:
    """How the largest sizes were found."""
    said = _(
        "Largest batch at n = {n:,}, longest text at batch {batch:,}: found by halving on the "
        "estimate. Memory as on the data sheet, 1 GB = 10⁹ bytes."
    ).format(n=shape.n, batch=shape.batch)
    if config.position.position_kind is not PositionKind.LEARNED:
        return said
    more = _("The learned table of positions ends at {most:,} tokens, whatever the memory.")
    return f"{said} {more.format(most=config.max_seq_len)}"


def growth_sentence(config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool) -> str:
    """What twice the length takes."""
    now = counted.need(config, setup, shape, is_training=is_training)
    twice = counted.need(config, setup, Shape(2 * shape.n, shape.batch), is_training=is_training)
    text = _("Twice the length takes {ratio:.2f} times the memory ({now} → {then}).")
    return text.format(
        ratio=twice.total / now.total,
        now=amounts.in_bytes(now.total),
        then=amounts.in_bytes(twice.total),
    )


def growth_alt(config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, *_rest) -> str:
    """The lines in words."""
    text = _("Memory against the length on logarithmic axes, with devices across. {sentence}")
    return text.format(sentence=growth_sentence(config, setup, shape, is_training=is_training))


def cost_sentence(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> str:
    """The rule against the exact count."""
    found = counted.cost(config, plan.n_tokens, n, setup)
    text = _(
        "6·N·D = 6 · {n_parameters:,} · {tokens} = {rule}. Counted exactly it is {exact}, "
        "{share:.2f} times that."
    )
    return text.format(
        n_parameters=fit.n_parameters(config),
        tokens=amounts.tokens(plan.n_tokens),
        rule=amounts.flops(found.rule),
        exact=amounts.flops(found.exact),
        share=found.exact / found.rule,
    )


def optimal_sentence(config: ModelConfig, plan: Plan) -> str:
    """How far from twenty tokens a parameter."""
    ratio = plan.n_tokens / active_parameters(config)
    text = _(
        "{ratio:,.3g} tokens for each parameter. Hoffmann et al. (2022) found about 20 to be best "
        "for a fixed number of FLOPs: {optimal} here. Who uses a model much trains it longer."
    )
    return text.format(ratio=ratio, optimal=amounts.tokens(compute_optimal_tokens(config)))


def hours_sentence(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> str:
    """Hours on the chosen devices, and whether they hold it."""
    rows = {each.device: each for each in counted.on_devices(config, plan, n, setup)}
    title = HARDWARE[plan.device].title
    if plan.device not in rows:
        text = _("{device} does not compute in {dtype}: choose another number format.")
        return text.format(device=title, dtype=setup.weight_format)
    found = rows[plan.device]
    text = _(
        "{count:,} × {device} at {utilisation:.0%} of {peak}/s: {time}, {hours} of one device."
    )
    said = text.format(
        count=plan.n_devices,
        device=title,
        utilisation=plan.utilisation,
        peak=amounts.flops(found.peak),
        time=amounts.duration(found.hours),
        hours=amounts.duration(found.device_hours),
    )
    text = _("Weights, gradients and optimizer states alone need {fewest} of them.")
    if found.fewest > plan.n_devices:
        text = _("But weights, gradients and optimizer states alone need {fewest} of them.")
    return f"{said} {text.format(fewest=found.fewest)}"


def hours_note() -> str:
    """What the hours leave out."""
    return _(
        "FLOPs (with what is computed again) / (devices · utilisation · peak). Hatched: so many of "
        "them cannot hold weights, gradients and optimizer states, even shared evenly. "
        "Communication, failures and evaluation are in the utilisation or left out."
    )


def cost_alt(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> str:
    """The steps in words."""
    table = frames.cost_rows(config, plan, n, setup)
    rows = "; ".join(
        f"{label} {said}" for label, said in zip(table["label"], table["said"], strict=True)
    )
    return _("From the rule to the exact count: {rows}.").format(rows=rows)


def hours_alt(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> str:
    """The bars in words."""
    table = frames.hours_rows(config, plan, n, setup)
    rows = "; ".join(
        f"{label} {said}" for label, said in zip(table["label"], table["said"], strict=True)
    )
    return _("Time of the training on each kind of device: {rows}.").format(rows=rows)


def caption(config: ModelConfig, shape: Shape) -> str:
    """What was set, for the page that is taken along."""
    return _("Costs: {model} n = {n:,}, batch = {batch}.").format(
        model=counted_model(config), n=shape.n, batch=shape.batch
    )
