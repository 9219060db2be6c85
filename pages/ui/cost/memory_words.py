"""Sentences about memory, and what it fits into."""

import dataclasses

from blocks import ModelConfig
from blocks.cost import fit
from blocks.cost.fit import Setup
from blocks.model.kinds import PositionKind
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
    text = _("{total} in total; the largest part is {part}: {bytes}, {share}.")
    if setup.n_devices > 1:
        text = _("{total} on each device; the largest part is {part}: {bytes}, {share}.")
    said = text.format(
        total=amounts.in_bytes(need.total),
        part=names.need(largest),
        bytes=amounts.in_bytes(parts[largest]),
        share=percent(parts[largest] / need.total),
    )
    if is_training:
        return f"{said} {_state_sentence(config, setup)}"
    if not counted.has_cache(config):
        return said
    text = _("The cache takes {each} for each token: {cache} for {batch} × {n:,}.")
    return f"{said} " + text.format(
        each=amounts.in_bytes(fit.cache_bytes(config, setup.itemsize, batch=1, n=1)),
        cache=amounts.in_bytes(need.cache),
        batch=shape.batch,
        n=shape.n,
    )


def _state_sentence(config: ModelConfig, setup: Setup) -> str:
    """Bytes of a weight, on one device or shared among several."""
    alone = dataclasses.replace(setup, n_devices=1)
    state = counted.need(config, alone, Shape(1, 1), is_training=True).state
    said = _(
        "Weights, gradients and optimizer states take {n:.3g} bytes per parameter, before "
        "any activations."
    ).format(n=state / fit.n_parameters(config))
    if setup.n_devices == 1:
        return said
    text = _("These {total} are shared among {n:,} devices.")
    return f"{said} {text.format(total=amounts.in_bytes(state), n=setup.n_devices)}"


def memory_title(n_devices: int, *, is_training: bool) -> str:
    """What the bars are, and whether they are those of one device among several."""
    if n_devices > 1:
        text = _("Memory for inference on each of {n:,} devices")
        if is_training:
            text = _("Training memory on each of {n:,} devices")
        return text.format(n=n_devices)
    return _("Training memory") if is_training else _("Memory for inference")


def bars_note() -> str:
    """What the first bar is, and what the others are."""
    return _("The first bar is your choice; each of the others changes one thing.")


def growth_title(n_devices: int) -> str:
    """What the lines are."""
    if n_devices > 1:
        return _("Memory per device against length")
    return _("Memory against length")


def kept_note(config: ModelConfig, setup: Setup) -> str:
    """What the estimate of activations is, and what it is not."""
    said = _(
        "Estimated term by term for the modules that run here, whose norms are not "
        "fused; in the tests within 15% of a real step, measured tensor by tensor. Not "
        "counted: memory of the framework, allocator and kernels, and communication."
    )
    is_own = (
        config.position.position_kind is PositionKind.ALIBI or config.encoder_decoder.relative_bias
    )
    if setup.fused and is_own:
        more = _(
            "No fused kernel here supports a per-head bias, so the full attention weights "
            "are kept in memory."
        )
        return f"{said} {more}"
    if setup.fused and config.dropout:
        more = _("Fused attention is assumed to apply dropout itself.")
        return f"{said} {more}"
    return said


def use_note() -> str:
    """What the estimate of use leaves out."""
    return _(
        "The prompt is read in one pass; logits are computed for its last token only. "
        "Not counted: scales of quantized weights, memory of the framework and the "
        "allocator. With int8 and int4 weights, cache and activations stay at 16 bits."
    )


def memory_alt(config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, *_rest) -> str:
    """The bars in words."""
    table = frames.memory_rows(config, setup, shape, is_training=is_training)
    rows = frames.in_words(table)
    return _("Memory of each implementation: {rows}.").format(rows=rows)


def fits_sentence(found: tuple[counted.Fits, ...], n_devices: int) -> str:
    """What is enough, and what is not."""
    if n_devices > 1:
        return _fits_shared(found, n_devices)
    enough = [each for each in found if each.is_enough]
    own = next((each for each in found if each.device == HERE), None)
    needed = amounts.in_bytes(found[0].needed)
    if not enough:
        text = _(
            "{needed} fit into none of these: shard over several devices, or reduce batch "
            "or length."
        )
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


def _fits_shared(found: tuple[counted.Fits, ...], n_devices: int) -> str:
    """The same where each device holds its share."""
    enough = [each for each in found if each.is_enough]
    needed = amounts.in_bytes(found[0].needed)
    if not enough:
        text = _(
            "{needed} on each of {n:,} devices: none of these kinds has that much. Use "
            "more devices, or reduce batch or length."
        )
        return text.format(needed=needed, n=n_devices)
    text = _(
        "{needed} on each of {n:,} devices: {enough} of {all} kinds have enough memory; "
        "the smallest is {device}."
    )
    least = min(enough, key=lambda each: each.memory)
    said = text.format(
        needed=needed,
        n=n_devices,
        enough=len(enough),
        all=len(found),
        device=names.device(least.device),
    )
    return f"{said} {_whole_batch(least)}"


def _whole_batch(found: counted.Fits) -> str:
    """The largest batch of one device, and of all of them together."""
    text = _("Largest batch there: {each} per device, {all} in total.")
    if found.batch == counted.LARGEST_BATCH:
        text = _("Largest batch there: at least {each} per device, {all} in total.")
    return text.format(each=f"{found.batch:,}", all=f"{found.batch * found.n_devices:,}")


def fits_note(config: ModelConfig, shape: Shape, n_devices: int, *, is_training: bool) -> str:
    """How the largest sizes were found, and what is shared."""
    said = _(
        "Largest batch at n = {n:,}, longest text at batch {batch:,}: found by "
        "bisection on the estimate. Memory as in the data sheet, 1 GB = 10⁹ bytes."
    ).format(n=shape.n, batch=shape.batch)
    if n_devices > 1:
        said = f"{_sharing_note(is_training=is_training)} {said}"
    if config.position.position_kind is not PositionKind.LEARNED:
        return said
    more = _("The learned position table ends at {most:,} tokens, whatever the memory.")
    return f"{said} {more.format(most=config.max_seq_len)}"


def _sharing_note(*, is_training: bool) -> str:
    """What several devices share, and what each has for itself."""
    if not is_training:
        return _(
            "Sharded evenly: weights. Not sharded: KV cache and activations, since each "
            "device has its own batch. Not counted: the layer whose weights are "
            "gathered at the moment."
        )
    return _(
        "Sharded evenly (ZeRO stage 3, Rajbhandari et al. 2020): weights, gradients, "
        "master weights and optimizer states. Not sharded: activations, since each "
        "device has its own batch. Not counted: the layer whose weights are gathered at "
        "the moment."
    )


def growth_sentence(config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool) -> str:
    """What twice the length takes."""
    now = counted.need(config, setup, shape, is_training=is_training)
    twice = counted.need(config, setup, Shape(2 * shape.n, shape.batch), is_training=is_training)
    text = _(
        "Batch {batch:,}: twice the length takes {ratio:.2f} times the memory ({now} → {then})."
    )
    if setup.n_devices > 1:
        text = _(
            "Batch {batch:,} on each of {devices:,} devices: twice the length takes {ratio:.2f} "
            "times the memory ({now} → {then})."
        )
    return text.format(
        batch=shape.batch,
        devices=setup.n_devices,
        ratio=twice.total / now.total,
        now=amounts.in_bytes(now.total),
        then=amounts.in_bytes(twice.total),
    )


def growth_alt(config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, *_rest) -> str:
    """The lines in words."""
    text = _("Memory against length on logarithmic axes, devices as horizontal lines. {sentence}")
    return text.format(sentence=growth_sentence(config, setup, shape, is_training=is_training))
