"""Sentences about memory, and what it fits into."""

from blocks import ModelConfig
from blocks.cost import fit
from blocks.cost.fit import Setup
from blocks.kinds import PositionKind
from pages.ui.cost import amounts, counted, frames, names
from pages.ui.cost.chosen import Shape
from pages.ui.cost.counted import HERE
from pages.ui.language import _
from pages.ui.numbers import percent


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
