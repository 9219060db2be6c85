"""Commands that count what a model costs: operations and bytes, where it fits, how fast it is."""

import argparse
import sys
from dataclasses import asdict

import pandas as pd

from blocks.cost.device_fit import LARGEST_BATCH, LONGEST, fit_facts
from blocks.cost.hardware import Rated
from blocks.cost.held import uneven_heads
from blocks.cost.quantity import quantity
from blocks.cost.served_facts import (
    MOST_TEXTS,
    OWN,
    BoundFacts,
    Serving,
    UserFacts,
    bound_facts,
    user_facts,
)
from blocks.cost.setup import PREFILL_CHUNK, CacheFormat, Layout, Setup, WeightFormat
from blocks.cost.speed import Speculation
from blocks.cost.step import Shape
from blocks.cost.summary import summarise
from blocks.cost.units import bytes_text
from blocks.export.opened import Opened, print_answer, rows
from blocks.model.faults import N_, ConfigError, Fault


def number(text: str) -> float:
    """A number with a unit, as `quantity` reads it, for argparse."""
    try:
        return quantity(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def whole_number(text: str) -> int:
    """The same for what is counted: at least 1."""
    if (found := round(number(text))) < 1:
        raise argparse.ArgumentTypeError(f"{text} must be at least 1")
    return found


def add_shape(options: argparse.ArgumentParser) -> None:
    """How long texts are, and in which numbers the weights."""
    formats = [str(each) for each in WeightFormat]
    options.add_argument(
        "--n", type=whole_number, default=1024, help="tokens of a text; 32k is 32,000 (%(default)s)"
    )
    options.add_argument("--weights", default="bfloat16", choices=formats, help="(%(default)s)")


def add_serving(options: argparse.ArgumentParser) -> None:
    """How a model is served, and on how many devices."""
    add_shape(options)
    add, kinds = options.add_argument, [str(each) for each in CacheFormat]
    add("--batch", type=whole_number, default=1, help="texts at once (%(default)s)")
    add("--cache", choices=kinds, help="number format of the KV cache (that of what passes)")
    add("--group", type=int, default=128, help="int4: weights that share a scale (%(default)s)")
    add("--group-bits", type=int, default=16, help="int4: bits of a scale (%(default)s)")
    for name in ("tensor", "pipeline", "data", "expert"):
        add(f"--{name}", type=int, default=1, metavar="N", help=f"{name} parallelism (%(default)s)")
    add("--chunk", type=int, default=PREFILL_CHUNK, help="tokens of a prefill pass (%(default)s)")
    add("--usable", type=number, default="90%", help="share of the memory (90%%)")


def add_speed(options: argparse.ArgumentParser) -> None:
    """On which device, how long answers are, and what drafts them."""
    add_serving(options)
    add = options.add_argument
    add("--on", default="h100-sxm", metavar="SHEET", help="a data sheet (%(default)s)")
    add("--own", metavar="GB,GB/S,TFLOP/S[,LINK]", help="numbers of your own device instead")
    add("--answer", type=whole_number, default=256, metavar="N", help="its tokens (%(default)s)")
    add("--draft", type=int, default=0, metavar="N", help="tokens drafted a pass (%(default)s)")
    add("--acceptance", type=number, default=0.8, help="of a drafted token (%(default)s)")
    add("--draft-cost", type=number, default=0.05, help="share of a pass (%(default)s)")


def cost(options: argparse.Namespace, model: Opened) -> None:
    """FLOPs and bytes of a text of n tokens."""
    _say_length(model, options.n)
    found = asdict(summarise(model.config, n=options.n, dtype=options.weights))
    text = "\n".join(f"{name:18} {value:>28,.0f}" for name, value in found.items())
    said = "read_flops and decode_flops are those of one token, memory that of one text."
    print_answer(options, found, f"{text}\n{said}")


def fit(options: argparse.Namespace, model: Opened) -> None:
    """Each device: whether the texts fit, and how far it goes."""
    shape = Shape(options.n, options.batch)
    setup = _setup(options, model)
    _say_length(model, options.n)
    facts = fit_facts(model.config, setup, shape, False, "cpu", options.usable)
    names = [each.device for each in facts.devices]
    table = pd.DataFrame(
        {
            "device": names,
            "fits": [each.is_enough for each in facts.devices],
            "share": [each.share for each in facts.devices],
            "devices_needed": facts.fewest,
            "largest_batch": [each.batch for each in facts.devices],
            "longest_text": [each.n for each in facts.devices],
        }
    )
    parts = {name: int(size) for name, size in facts.parts.items()}
    answer = {"bytes": facts.needed, **parts, "n_devices": facts.n_devices, "devices": rows(table)}
    sizes = ", ".join(f"{name} {bytes_text(size)}" for name, size in parts.items())
    said = (
        f"each of {facts.n_devices} needs {bytes_text(facts.needed)}: {sizes}\n"
        f"share of the usable memory; largest_batch is looked for up to {LARGEST_BATCH:,} texts, "
        f"longest_text up to {LONGEST:,} tokens"
    )
    print_answer(options, answer, f"{table.to_string(index=False)}\n{said}")


def serve(options: argparse.Namespace, model: Opened) -> None:
    """What bounds a step and a prompt, and what one user gets; at best, by data sheets."""
    asked = _serving(options, model)
    bound, user = bound_facts(asked), user_facts(asked)
    if bound is None or user is None:
        text = N_("There is nothing to count: choose a GPT, and a device that computes in {dtype}")
        raise ConfigError([Fault(text, {"dtype": asked.setup.computes_in})])
    _say_length(model, asked.longest)
    if asked.needed > asked.memory:
        print(_too_much(asked, user.most), file=sys.stderr)
    paces = {"step": bound.step.pace, "prompt": bound.prompt}
    counted = _counted(bound, user)
    answer = {
        "fits": asked.needed <= asked.memory,
        **{name: value for name, (value, _unit) in counted.items()},
        **{name: {**pace._asdict(), "bound": pace.bound} for name, pace in paces.items()},
    }
    fits = "fits" if answer["fits"] else "DOES NOT FIT"
    memory = f"{bytes_text(asked.needed)} of {bytes_text(asked.memory)} on each device, {fits}"
    lines = [f"memory: {memory}"]
    for name, (value, unit) in counted.items():
        said = bytes_text(value or 0) if unit.startswith("bytes") else f"{value or 0:,.5g}"
        said = "never" if value is None else said
        lines.append(f"{name:36} {said:>12} {unit.removeprefix('bytes ')}")
    for name, pace in paces.items():
        parts = ", ".join(f"{key} {1e3 * value:.4g} ms" for key, value in pace._asdict().items())
        lines.append(f"{name}: bound by {pace.bound} ({parts})")
    print_answer(options, answer, "\n".join(lines))


def _counted(bound: BoundFacts, user: UserFacts) -> dict[str, tuple[float | None, str]]:
    """Each number of a served model by its name, with its unit and what it is of."""
    asked, step = bound.serving, bound.step
    of_batch, n_experts = f"at batch {asked.batch:,}", asked.config.n_experts
    mixed = f"tokens/s, {of_batch}, prompts of new users read in between"
    touched = bound.touched * n_experts
    from_batch = f"the first batch, of powers of two up to {MOST_TEXTS:,}, bound by arithmetic"
    of_all = f"of {n_experts:,} experts of a layer ({bound.touched:.1%}), expected in a step"
    experts = {"experts_touched": (touched, of_all)} if n_experts > 1 else {}
    return {
        "bytes_needed": (asked.needed, "bytes on each device"),
        "bytes_usable": (asked.memory, "bytes on each device"),
        "step_seconds": (step.seconds, f"s, one decode pass {of_batch}"),
        "tokens_a_pass": (step.tokens_a_step, "tokens of each text, with what is drafted"),
        "weight_bytes_a_step": (bound.weight_bytes, f"bytes on each device, read {of_batch}"),
        "cache_bytes_a_step": (bound.cache_bytes, f"bytes on each device, read {of_batch}"),
        "decode_tokens_per_second_each": (step.per_user, f"tokens/s, {of_batch}, decode alone"),
        "decode_tokens_per_second_all": (step.all, f"tokens/s, {of_batch}, decode alone"),
        "with_prompts_tokens_per_second_each": (user.now["per_user"], mixed),
        "with_prompts_tokens_per_second_all": (user.now["all"], mixed),
        "first_token_seconds_at_batch_1": (user.prompt.seconds, "s, prompt of one user"),
        "decode_tokens_per_second_at_batch_1": (user.alone.per_user, "tokens/s, decode alone"),
        "answer_seconds_at_batch_1": (user.answer_seconds, f"s, for {asked.n_output:,} tokens"),
        **experts,
        "arithmetic_from_batch": (bound.turns_at or None, from_batch),
        "largest_batch": (user.most, "texts that fit"),
        "n_devices": (bound.n_devices, "devices"),
    }


def _too_much(asked: Serving, most: int) -> str:
    """What is missing, and ways to mend it."""
    rest = f"at most {most:,} texts fit" if most else "not even one text fits"
    return (
        f"DOES NOT FIT: each device needs {bytes_text(asked.needed)} and may use "
        f"{bytes_text(asked.memory)} of its {bytes_text(asked.sheet.memory)}; {rest}. The speeds "
        "are those of a device with more memory: try --tensor, --weights, --cache or --batch."
    )


def _say_length(model: Opened, n: int) -> None:
    """Say on stderr where a text is longer than the model was made for."""
    most = model.config.max_seq_len
    if n > most:
        said = f"{n:,} tokens exceed max_seq_len, {most:,}: counted as if the model took them"
        print(said, file=sys.stderr)


def _setup(options: argparse.Namespace, model: Opened) -> Setup:
    """How it is served. Raises `ConfigError` for what no server starts."""
    layout = Layout(options.tensor, options.pipeline, options.data, options.expert)
    if fault := uneven_heads(model.config, layout):
        raise ConfigError([fault])
    return Setup(
        weight_format=WeightFormat(options.weights),
        cache_format=CacheFormat(options.cache) if options.cache else None,
        group_size=options.group,
        group_bits=options.group_bits,
        prefill_chunk=options.chunk,
        n_devices=layout.n_devices,
        layout=layout,
    )


def _serving(options: argparse.Namespace, model: Opened) -> Serving:
    own = _own(options.own) if options.own else None
    return Serving(
        config=model.config,
        setup=_setup(options, model),
        n=options.n,
        batch=options.batch,
        device=OWN if own else options.on,
        n_output=options.answer,
        draft=Speculation(options.draft, options.acceptance, options.draft_cost),
        usable=options.usable,
        own=own,
    )


def _own(text: str) -> Rated:
    """Read the memory, bandwidth, arithmetic and link of a device. Raises `ConfigError`."""
    try:
        memory, bandwidth, flops, *link = map(float, text.split(","))
    except ValueError:
        said = N_("--own takes GB, GB/s and TFLOP/s separated by commas, such as 24,1008,165")
        raise ConfigError([Fault(said)]) from None
    return Rated.of_sheet(memory, bandwidth, flops, sum(link))
