"""Commands that count what a model costs: operations and bytes, where it fits, how fast it is."""

import argparse
from dataclasses import asdict

import pandas as pd

from blocks.cost.device_fit import fit_facts
from blocks.cost.hardware import Rated
from blocks.cost.served_facts import OWN, Serving, bound_facts, user_facts
from blocks.cost.setup import PREFILL_CHUNK, CacheFormat, Layout, Setup, WeightFormat
from blocks.cost.speed import Speculation
from blocks.cost.step import Shape
from blocks.cost.summary import summarise
from blocks.cost.units import bytes_text
from blocks.export.opened import Opened, print_answer, rows
from blocks.model.faults import N_, ConfigError, Fault

GIGA, TERA = 10**9, 10**12


def add_shape(options: argparse.ArgumentParser) -> None:
    """How long texts are, and in which numbers the weights."""
    formats = [str(each) for each in WeightFormat]
    options.add_argument("--n", type=int, default=1024, help="tokens of a text (%(default)s)")
    options.add_argument("--weights", default="bfloat16", choices=formats, help="(%(default)s)")


def add_serving(options: argparse.ArgumentParser) -> None:
    """How a model is served, and on how many devices."""
    add_shape(options)
    add, kinds = options.add_argument, [str(each) for each in CacheFormat]
    add("--batch", type=int, default=1, help="texts at once (%(default)s)")
    add("--cache", choices=kinds, help="number format of the KV cache (that of what passes)")
    add("--group", type=int, default=128, help="int4: weights that share a scale (%(default)s)")
    add("--group-bits", type=int, default=16, help="int4: bits of a scale (%(default)s)")
    for name in ("tensor", "pipeline", "data", "expert"):
        add(f"--{name}", type=int, default=1, metavar="N", help=f"{name} parallelism (%(default)s)")
    add("--chunk", type=int, default=PREFILL_CHUNK, help="tokens of a prefill pass (%(default)s)")
    add("--usable", type=float, default=0.9, help="share of the memory (%(default)s)")


def add_speed(options: argparse.ArgumentParser) -> None:
    """On which device, how long answers are, and what drafts them."""
    add_serving(options)
    add = options.add_argument
    add("--on", default="h100-sxm", metavar="SHEET", help="a data sheet (%(default)s)")
    add("--own", metavar="GB,GB/S,TFLOP/S[,LINK]", help="numbers of your own device instead")
    add("--answer", type=int, default=256, metavar="N", help="tokens to write (%(default)s)")
    add("--draft", type=int, default=0, metavar="N", help="tokens drafted a pass (%(default)s)")
    add("--acceptance", type=float, default=0.8, help="of a drafted token (%(default)s)")
    add("--draft-cost", type=float, default=0.05, help="share of a pass (%(default)s)")


def cost(options: argparse.Namespace, model: Opened) -> None:
    """FLOPs and bytes of a text of n tokens."""
    found = asdict(summarise(model.config, n=options.n, dtype=options.weights))
    text = "\n".join(f"{name:18} {value:>28,.0f}" for name, value in found.items())
    said = "read_flops and decode_flops are those of one token, memory that of one text."
    print_answer(options, found, f"{text}\n{said}")


def fit(options: argparse.Namespace, model: Opened) -> None:
    """Each device: whether the texts fit, and how far it goes."""
    shape = Shape(options.n, options.batch)
    facts = fit_facts(model.config, _setup(options), shape, False, "cpu", options.usable)
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
    said = f"each of {facts.n_devices} needs {bytes_text(facts.needed)}: {sizes}"
    print_answer(options, answer, f"{table.to_string(index=False)}\n{said}")


def serve(options: argparse.Namespace, model: Opened) -> None:
    """What bounds a step and a prompt, and what one user gets; at best, by data sheets."""
    asked = _serving(options, model)
    bound, user = bound_facts(asked), user_facts(asked)
    if bound is None or user is None:
        text = N_("Nothing to count: choose a GPT, and a device that computes in {dtype}")
        raise ConfigError([Fault(text, {"dtype": asked.setup.computes_in})])
    answer = {
        "step_seconds": bound.step.seconds,
        "step": {**bound.step.pace._asdict(), "bound": bound.step.pace.bound},
        "prompt": {**bound.prompt._asdict(), "bound": bound.prompt.bound},
        "first_token_seconds": user.prompt.seconds,
        "tokens_per_second_alone": user.alone.per_user,
        "answer_seconds": user.answer_seconds,
        "tokens_per_second_each": float(user.now["per_user"]),
        "tokens_per_second_all": float(user.now["all"]),
        "experts_touched": bound.touched,
        "arithmetic_from_batch": bound.turns_at,
        "largest_batch": user.most,
        "n_devices": bound.n_devices,
    }
    plain = {name: value for name, value in answer.items() if not isinstance(value, dict)}
    lines = [f"{name:24} {value:>16,.6g}" for name, value in plain.items()]
    for name, pace in (("step", bound.step.pace), ("prompt", bound.prompt)):
        parts = ", ".join(f"{key} {1e3 * value:.4g} ms" for key, value in pace._asdict().items())
        lines.append(f"{name}: bound by {pace.bound} ({parts})")
    print_answer(options, answer, "\n".join(lines))


def _setup(options: argparse.Namespace) -> Setup:
    layout = Layout(options.tensor, options.pipeline, options.data, options.expert)
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
        setup=_setup(options),
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
        said = N_("--own takes GB, GB/s and TFLOP/s with commas, such as 24,1008,165")
        raise ConfigError([Fault(said)]) from None
    return Rated(int(memory * GIGA), bandwidth * GIGA, flops * TERA, sum(link) * GIGA)
