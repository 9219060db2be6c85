"""Frames of the page of costs with the reader's words in them, ready to be drawn."""

import pandas as pd

from blocks import ModelConfig
from blocks.cost.fit import Setup
from blocks.cost.hardware import HARDWARE
from blocks.cost.passes import PassKind
from pages.ui.cost import amounts, counted, names
from pages.ui.cost.chosen import Plan, Shape
from pages.ui.numbers import percent

NEEDS = {
    True: ("weights", "gradients", "master", "optimizer", "activations"),
    False: ("weights", "cache", "activations"),
}
LONGEST_DRAWN = 2**20


def operation_rows(config: ModelConfig, kind: PassKind, shape: Shape, setup: Setup) -> pd.DataFrame:
    """One row an operation: how it is called, its FLOPs each way, its share."""
    found = counted.step(config, kind, shape, setup)
    total = sum(each.flops for each in found)
    return pd.DataFrame(
        {
            "label": [names.operation(each.name) for each in found],
            "group": [each.group for each in found],
            "formula": [each.formula for each in found],
            "numbers": [each.numbers for each in found],
            "forward": [each.forward for each in found],
            "backward": [each.backward for each in found],
            "recomputed": [each.recomputed for each in found],
            "said": [f"{amounts.flops(e.flops)} · {percent(e.flops / total)}" for e in found],
        }
    ).astype({"forward": float, "backward": float, "recomputed": float})


def memory_rows(
    config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool
) -> pd.DataFrame:
    """One row a way to do it: bytes by what they are for."""
    variants = counted.training_variants if is_training else counted.inference_variants
    rows = []
    for name, (changed, how) in variants(config, setup).items():
        need = counted.need(changed, how, shape, is_training=is_training)
        bytes_of = {part: float(getattr(need, part)) for part in NEEDS[is_training]}
        said = amounts.in_bytes(need.total)
        rows.append({"label": names.variant(name, how), "said": said, **bytes_of})
    table = pd.DataFrame(rows)
    return table.assign(total=table[[*NEEDS[is_training]]].sum(axis=1))


def need_names(*, is_training: bool) -> dict[str, str]:
    """What each part of the bytes is called."""
    return {part: names.need(part) for part in NEEDS[is_training]}


def device_lines(here: str, usable: float, n_devices: int) -> list[tuple[str, int]]:
    """Memory to draw; of several devices with as much, the first."""
    sizes = {size: name for name, size in reversed(counted.devices(here, n_devices).items())}
    return [(names.device(name), int(usable * size)) for size, name in sorted(sizes.items())]


def growth_rows(
    config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool
) -> pd.DataFrame:
    """Bytes at every length, the reader's among them."""
    lengths = sorted({*(2**i for i in range(6, 21)), shape.n})
    rows = []
    for n in lengths:
        need = counted.need(config, setup, Shape(n, shape.batch), is_training=is_training)
        parts = {part: float(getattr(need, part)) for part in ("activations", "cache")}
        rows.append({"n": n, "weights": float(need.state), **parts, "total": float(need.total)})
    return pd.DataFrame(rows)


def growth_names(config: ModelConfig, *, is_training: bool) -> dict[str, str]:
    """What the lines are called: what stays, and what grows."""
    growing = ["activations"]
    if not is_training and counted.has_cache(config):
        growing.append("cache")
    return {"weights": names.state(is_training=is_training)} | {
        part: names.need(part) for part in growing
    }


def cost_rows(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> pd.DataFrame:
    """From 6·N·D to the exact count; what changes nothing is left out."""
    found = counted.cost(config, plan.n_tokens, n, setup)._asdict()
    changes = [name for name in ("tables", "vectors", "idle", "pairs", "rest") if found[name]]
    measures = {"rule": "absolute", "exact": "total"} | dict.fromkeys(changes, "relative")
    shown = ["rule", *changes, "exact"]
    if found["recomputed"]:
        measures["recomputed"] = "relative"
        shown.append("recomputed")
    return pd.DataFrame(
        {
            "label": [names.term(name, config) for name in shown],
            "measure": [measures[name] for name in shown],
            "flops": [float(found[name]) for name in shown],
            "said": [amounts.flops(found[name]) for name in shown],
        }
    )


def hours_rows(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> pd.DataFrame:
    """Hours on so many of each kind of device, and whether they hold the training."""
    found = counted.on_devices(config, plan, n, setup)
    return pd.DataFrame(
        {
            "device": [each.device for each in found],
            "label": [HARDWARE[each.device].title for each in found],
            "hours": [each.hours for each in found],
            "said": [amounts.duration(each.hours) for each in found],
            "fits": [plan.n_devices >= each.fewest for each in found],
        }
    )


def in_words(table: pd.DataFrame) -> str:
    """The rows of a picture of bars: what each is called, and what is said of it."""
    rows = zip(table["label"], table["said"], strict=True)
    return "; ".join(f"{label} {said}" for label, said in rows)
