"""The GPT that a budget buys, from the command line: python -m blocks shape --help."""

import argparse
import sys
from collections.abc import Sequence

from blocks.cost.budget_shape import (
    Budget,
    BudgetKind,
    ShapeFacts,
    Wish,
    by_attention,
    shape_for,
    with_fewest_devices,
)
from blocks.cost.chosen_shape import AttentionShape
from blocks.cost.fit import cache_bytes_per_token
from blocks.cost.hardware import HARDWARE
from blocks.cost.quantity import quantity
from blocks.cost.scaling_laws import LAWS
from blocks.cost.units import bytes_text
from blocks.export.opened import print_answer
from blocks.model.faults import N_, ConfigError, Fault

WRONG_USAGE = 2
BYTES = 2  # of a number in the cache


def main(words: Sequence[str]) -> int:
    """Do as the arguments say; returns the exit code."""
    options = parser().parse_args(words)
    try:
        found = found_for(options)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return WRONG_USAGE
    print_answer(options, answer_of(found), said_of(found))
    return 0


def parser() -> argparse.ArgumentParser:
    """The options; each number may have a unit."""
    usual = Budget(BudgetKind.FLOPS, 0)
    options = argparse.ArgumentParser(
        prog="python -m blocks shape",
        description="Which GPT a budget is best spent on, by a published scaling law.",
        epilog="Numbers may have units: 1e19, 300B, 1.5T, 40%.",
    )
    add = options.add_argument
    of = options.add_mutually_exclusive_group(required=True)
    of.add_argument("--flops", metavar="C", help="total FLOPs")
    of.add_argument("--hours", metavar="H", help="hours on all devices")
    of.add_argument("--money", metavar="M", help="money in all; say the --price as well")
    add("--price", metavar="P", help="of one device-hour, in the same money")
    add("--device", default=usual.device, choices=HARDWARE, help="(%(default)s)")
    fewest = "how many of it (the fewest that hold the training; of --hours 1)"
    add("--devices", metavar="N", help=fewest)
    add("--utilization", default="40%", metavar="U", help="share of the peak (40%%)")
    add("--law", default=Wish().law, choices=LAWS, help="(%(default)s)")
    add("--attention", default="gqa", choices=[*AttentionShape], help="(%(default)s)")
    add("--vocabulary", default="32,000", metavar="N", help="(%(default)s)")
    add("--n", default=str(Wish().n), metavar="N", help="tokens of a text (%(default)s)")
    add("--json", action="store_true", help="answer as one JSON object")
    return options


def found_for(options: argparse.Namespace) -> ShapeFacts:
    """The GPT, on as many devices as were said, or as few as hold it. Raises `ConfigError`."""
    found = shape_for(budget_of(options), wish_of(options))
    if options.devices or options.hours or found.texts_at_once:
        return found
    return with_fewest_devices(found) or found


def budget_of(options: argparse.Namespace) -> Budget:
    """What there is. Raises `ConfigError`."""
    given = {BudgetKind.FLOPS: options.flops, BudgetKind.TIME: options.hours}
    kind = next((each for each, text in given.items() if text), BudgetKind.MONEY)
    if kind is BudgetKind.MONEY and not options.price:
        raise ConfigError(
            [Fault(N_("A budget in money needs the price of a device-hour: add --price"))]
        )
    numbers = {
        "amount": quantity(given.get(kind) or options.money),
        "price": quantity(options.price or "1"),
        "utilisation": quantity(options.utilization),
        "n_devices": quantity(options.devices or "1"),
    }
    if wrong := [name for name, value in numbers.items() if value <= 0]:
        raise ConfigError([Fault(N_("{name} must be above 0"), {"name": each}) for each in wrong])
    return Budget(
        kind,
        numbers["amount"],
        options.device,
        max(1, round(numbers["n_devices"])),
        numbers["utilisation"],
        price=numbers["price"],
    )


def wish_of(options: argparse.Namespace) -> Wish:
    """What is wanted. Raises `ConfigError`."""
    vocab_size, n = (max(1, round(quantity(each))) for each in (options.vocabulary, options.n))
    return Wish(options.law, AttentionShape(options.attention), vocab_size, n)


def answer_of(found: ShapeFacts) -> dict[str, object]:
    """Every number of it, and the configuration."""
    return {
        "flops": found.budget.flops,
        "law": found.law.source,
        "parameters": found.n_parameters,
        "tokens": found.n_tokens,
        "flops_of_6nd": found.cost.rule,
        "flops_exact": found.cost.exact,
        "flops_recomputed": found.cost.recomputed,
        "n": found.wish.n,
        "batch_texts": found.texts,
        "updates": found.n_steps,
        "learning_rate": found.learning_rate,
        "device_hours": found.device_hours,
        "devices": found.budget.n_devices,
        "hours": found.seconds / 3600,
        "texts_at_once": found.texts_at_once,
        "bytes_of_each_device": found.need.total,
        "loss": found.loss and found.loss._asdict(),
        "config": found.config.flat(),
    }


def said_of(found: ShapeFacts) -> str:
    """The same, to read."""
    config, budget = found.config, found.budget
    heads = f"{config.n_heads} heads of {config.d_head}, {config.n_kv_heads} of keys and values"
    if config.is_latent:
        heads = f"{config.n_heads} heads of {config.d_head}, latent {config.latent.d_kv_latent}"
    loss = "not stated by this law"
    if found.loss:
        loss = "{:.3f} nats per token ({:.3f} to {:.3f})".format(*found.loss)
    rows = {
        "budget": f"{budget.flops:.4g} FLOPs in texts of {found.wish.n:,} tokens; 6·N·D "
        f"{found.cost.rule:.4g}, exact {found.of_rule:.3f} times that, "
        f"{found.recomputed_share:.1%} computed twice",
        "pairs": f"all n² are counted, masked ones too; kernels that skip those, as FlashAttention "
        f"does and serve counts, leave FLOPs for {found.more_unmasked:.1%} more tokens",
        "law": f"{found.law.title}: {found.law.source}",
        "model": f"{found.n_parameters:,} parameters ({found.off:+.1%} of the law's)",
        "shape": f"{config.n_layers} layers, d_model {config.d_model}, {heads}, d_ff {config.d_ff}",
        "tokens": f"{found.n_tokens:,} ({found.tokens_per_parameter:.3g} per parameter)",
        "batch": f"{found.texts:,} texts of {found.wish.n:,}; {found.n_steps:,} updates, peak "
        f"learning rate {found.learning_rate:.2e}",
        "time": f"{_long(found)} on {budget.n_devices:,} × {budget.device} at "
        f"{budget.utilisation:.0%}; {found.device_hours:,.2f} device-hours",
        "memory": _memory(found),
        "cache": _caches(found),
        "loss": loss,
    }
    return "\n".join(f"{name:<8}{text}" for name, text in rows.items())


def _long(found: ShapeFacts) -> str:
    return f"{found.seconds / 3600:,.2f} h ({found.seconds / 86400:,.1f} days)"


def _memory(found: ShapeFacts) -> str:
    """Whether it fits; if it does not, on how many devices it would."""
    said = f"{bytes_text(found.need.total)} of {bytes_text(found.memory)} on each device, "
    if found.texts_at_once:
        return f"{said}{found.texts_at_once:,} texts at once"
    fewest = with_fewest_devices(found)
    if fewest is None:
        return f"{said}DOES NOT FIT on any number without activation checkpointing: lower --n"
    return f"{said}DOES NOT FIT: --devices {fewest.budget.n_devices} would, in {_long(fewest)}"


def _caches(found: ShapeFacts) -> str:
    """What each attention keeps of a token, beside the loss that it buys."""
    return (
        "; ".join(
            f"{each.wish.attention.upper()} {bytes_text(cache_bytes_per_token(each.config, BYTES))}"
            + (f" at loss {each.loss.value:.3f}" if each.loss else "")
            for each in by_attention(found.budget, found.wish)
        )
        + " (a token, 16 bits)"
    )
