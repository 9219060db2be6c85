"""What a reader is told of the device: what ran there, how near its limits, what it may have."""

from blocks.cost.hardware import data_sheet
from blocks.cost.roofline import Bound
from blocks.cost.sheet_share import SheetShare, sheet_share
from blocks.cost.units import bytes_text, with_prefix
from blocks.model import devices
from blocks.observe.recording import Recording
from blocks.observe.run import Run
from pages.figures.units import duration
from pages.server import settings
from pages.words.language import _, sentences
from pages.words.numbers import percent


def says_run(run: Run, seen: Recording) -> str:
    """The device, the time measured, the memory counted, and the share of its data sheet."""
    text = _(
        "{device} · {dtype} · recorded in {time} · {memory} of activations stored · runs "
        "may use {budget}"
    )
    if seen.is_replayed:
        text = _(
            "{device} · {dtype} · recorded in {time} as one CUDA graph · {memory} of activations "
            "stored · runs may use {budget}"
        )
    said = text.format(
        device=devices.device_name(run.device),
        dtype=run.dtype,
        time=duration(_seconds(seen)),
        memory=bytes_text(seen.kept_bytes),
        budget=bytes_text(settings.memory_budget(run.device)),
    )
    reached = _reached(run, seen)
    return sentences(said, _says_share(reached)) if reached else said


def _reached(run: Run, seen: Recording) -> SheetShare | None:
    """None where the data sheet of the device is not known, or two texts go in."""
    sheet = data_sheet(devices.device_name(run.device))
    if sheet is None or run.has_target:
        return None
    batch, n = run.input.shape
    seconds = _seconds(seen)
    return sheet_share(run.config, sheet, batch=batch, n=n, dtype=run.dtype, seconds=seconds)


def _seconds(seen: Recording) -> float:
    return seen.milliseconds / 1000


def _says_share(reached: SheetShare) -> str:
    text = _("The model’s weights were read at {share} of the {rate}B/s given in the data sheet.")
    if reached.bound is Bound.COMPUTE:
        text = _("The computation ran at {share} of the {rate}FLOP/s given in the data sheet.")
    return text.format(share=percent(reached.share), rate=with_prefix(reached.rate))


def says_budget(device: str) -> str:
    """Which setting allows more memory, and what it is where nothing is said."""
    text = _(
        "The server’s setting BLOCKSCOPE_MEMORY_GIB ({gib:.3g} GiB) sets this limit; by "
        "default it is a quarter of the machine’s memory."
    )
    if device != "cpu":
        text = _(
            "The server’s setting BLOCKSCOPE_MEMORY_GIB ({gib:.3g} GiB) sets this limit; by "
            "default it is half of what {device} had free when the server started, divided among "
            "the server’s processes."
        )
    return text.format(gib=settings.budget_gib(device), device=devices.device_name(device))


def says_training(device: str) -> str:
    """What a training may have there, and which settings allow more."""
    text = _(
        "On {device}, a training run may use up to {steps:,} steps, {parameters:,} parameters"
        " and {memory}. The server’s settings BLOCKSCOPE_TRAINING_STEPS, "
        "BLOCKSCOPE_TRAINING_PARAMETERS and BLOCKSCOPE_TRAINING_GIB can raise these limits."
    )
    return text.format(
        device=devices.device_name(device),
        steps=settings.training_steps(device),
        parameters=settings.training_parameters(device),
        memory=bytes_text(settings.training_bytes(device)),
    )
