"""What the page measures of a run: kept, keyed on the run and plain values.

A wide layer is looked at alone, on the input that it had in the run and with the run's weights;
`expert` is the expert that is looked at, 0 where the layer is dense.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from blocks import ModelConfig, Recording
from blocks.cost.parameters import active_parameters
from blocks.inspection import activations, permuted, ratios, routing, units, wide
from blocks.inspection.ratios import count_wide, flops_per_token
from blocks.model import devices
from blocks.model.kinds import Activation
from blocks.observe.run import Run
from pages.ui import cached, link
from pages.ui.feed_forward.fields import LIKELIEST
from pages.ui.settings import memory_budget

N_STRONGEST, N_EXCITING, N_ORDERS = 14, 10, 4
DEMO = {"n_experts": 8, "n_active_experts": 2}


def activation(run: Run) -> Activation:
    """The kind that this run bends with."""
    return run.config.feed_forward.activation


def layer_input(run: Run, layer: int):
    """What the wide layer of this run read: (batch, seq, d_model)."""
    stage = wide.read_by(run.config, "feed_forward_out", layer)
    return cached.recording(run).tensor(stage, layer)


@lru_cache(maxsize=3)
def seen(run: Run, layer: int) -> Recording:
    """What passed inside the wide layer."""
    x = layer_input(run, layer)
    with cached.turn(run.device):
        return wide.pass_alone(cached.model(run).layers[layer].feed_forward, x)


@lru_cache(maxsize=3)
def inside(run: Run, layer: int) -> list[wide.Wide]:
    """Every expert of the layer, or the one dense layer."""
    module = cached.model(run).layers[layer].feed_forward
    return wide.see_all(module, seen(run, layer), layer)


def selected_expert(run: Run, layer: int, token: int) -> int:
    """The expert that is looked at: the reader's, or the first with room for the pinned token."""
    if run.config.n_experts == 1:
        return 0
    chosen = link.value("expert")
    if chosen == LIKELIEST:
        found = routes(run, layer)
        return int(found.index[token, found.kept[token].argmax()])
    return min(chosen, run.config.n_experts - 1)


def selected_unit(run: Run, layer: int, expert: int, token: int) -> int:
    """The unit that is looked at: the reader's, or the strongest at the pinned token."""
    chosen = link.value("unit")
    if chosen == LIKELIEST:
        return shown_units(run, layer, expert, token)[0]
    return min(chosen, run.config.d_ff - 1)


@lru_cache(maxsize=64)
def unit_table(run: Run, layer: int, expert: int) -> pd.DataFrame:
    """One row a unit: how often it is active, and whether it is dead or saturated."""
    return units.frame(inside(run, layer)[expert], activation(run))


@lru_cache(maxsize=64)
def given(run: Run, layer: int, expert: int) -> tuple[int, ...]:
    """The tokens of the first sequence that the layer was given, counted from 0."""
    found = inside(run, layer)[expert].token.cpu().numpy()
    return tuple(found[found < run.input.shape[1]].tolist())


def n_given(run: Run, layer: int, expert: int) -> int:
    """How many tokens of the whole batch the layer was given."""
    return len(inside(run, layer)[expert].token)


@lru_cache(maxsize=64)
def strongest(run: Run, layer: int, expert: int, token: int) -> pd.DataFrame:
    """The strongest units at a token: unit, pre, gate, up, hidden; none where it went elsewhere."""
    here = given(run, layer, expert)
    if token not in here:
        return pd.DataFrame(columns=["unit", "pre", "gate", "up", "hidden"])
    return units.strongest(inside(run, layer)[expert], here.index(token), N_STRONGEST)


def shown_units(run: Run, layer: int, expert: int, token: int) -> tuple[int, ...]:
    """The strongest units at the pinned token; where it went elsewhere, the busiest."""
    table = strongest(run, layer, expert, token)
    if table.empty:
        table = unit_table(run, layer, expert).nlargest(N_STRONGEST, "mean_size")
    return tuple(int(unit) for unit in table["unit"])


def units_with(run: Run, layer: int, expert: int, token: int, unit: int) -> tuple[int, ...]:
    """The strongest units, and the one that is looked at wherever it stands."""
    shown = shown_units(run, layer, expert, token)
    return shown if unit in shown else (*shown, unit)


@lru_cache(maxsize=32)
def hidden(run: Run, layer: int, expert: int, chosen: tuple[int, ...]) -> np.ndarray:
    """`hidden` of some units at the tokens of the first sequence: (unit, token)."""
    found = units.at_tokens(inside(run, layer)[expert], chosen)
    return found[:, : len(given(run, layer, expert))]


def exciting(run: Run, layer: int, expert: int, unit: int) -> pd.DataFrame:
    """The tokens at which a unit's `hidden` is largest: number, label, hidden."""
    numbers = given(run, layer, expert)
    table = pd.DataFrame({"number": numbers, "hidden": hidden(run, layer, expert, (unit,))[0]})
    table["label"] = [run.input.labels[number] for number in numbers]
    return table.nlargest(N_EXCITING, "hidden").reset_index(drop=True)


@lru_cache(maxsize=64)
def off_shares(run: Run, layer: int, expert: int) -> tuple[float, ...]:
    """The share of units that are off, at each token of the first sequence that was given."""
    shares = units.closed_share(inside(run, layer)[expert], activation(run)).cpu().numpy()
    return tuple(shares[: len(given(run, layer, expert))].tolist())


@lru_cache(maxsize=64)
def standing(run: Run, layer: int, expert: int) -> activations.Standing:
    """Where all pre-activations of the layer stand."""
    return activations.standing(activation(run), inside(run, layer)[expert].pre)


@lru_cache(maxsize=16)
def curves(reach: float) -> pd.DataFrame:
    """Every activation and its derivative."""
    return activations.curves(reach)


@lru_cache(maxsize=64)
def spread(run: Run, layer: int, expert: int) -> pd.DataFrame:
    """How the pre-activations spread, within the reach of the picture."""
    reach = standing(run, layer, expert).reach
    return activations.spread(inside(run, layer)[expert].pre, reach)


@lru_cache(maxsize=256)
def layer_shares(run: Run, layer: int) -> dict[str, float]:
    """Dead, saturated and active shares of one layer."""
    x = layer_input(run, layer)
    with cached.turn(run.device):
        module = cached.model(run).layers[layer].feed_forward
        found = wide.see_all(module, wide.pass_alone(module, x), layer)
        return {"layer": layer, **units.layer_shares(found, activation(run))}


def ratio_config(run: Run, ratio: int) -> ModelConfig:
    """The same model with another d_ff."""
    return run.config.replace(d_ff=ratio * run.config.d_model)


def affordable_ratios(run: Run) -> tuple[int, ...]:
    """The ratios whose layer fits into the memory of this server."""
    dtype = devices.DTYPES[run.dtype]
    return tuple(
        ratio
        for ratio in ratios.RATIOS
        if ratios.is_affordable(ratio_config(run, ratio), dtype, memory_budget())
    )


@lru_cache(maxsize=128)
def at_ratio(run: Run, layer: int, ratio: int) -> dict[str, float]:
    """Cost by formula, and a real run of the layer at this ratio with weights from the seed."""
    config, x, before = ratio_config(run, ratio), layer_input(run, layer), base(run, layer)
    stream, attention = _tensors(run, layer)
    place = {"seed": run.seed, "device": run.device, "dtype": devices.DTYPES[run.dtype]}
    with cached.turn(run.device):
        write = ratios.at_width(config, layer, x, **place)
        block = cached.model(run).layers[layer]
        after = ratios.with_write(block, stream, attention, write)
        return {
            "ratio": ratio,
            "parameters": count_wide(config),
            "flops": flops_per_token(config),
            "write_rms": ratios.rms(write),
            "stream_rms": ratios.rms(stream),
            "change": ratios.relative_change(after, before),
        }


@lru_cache(maxsize=4)
def base(run: Run, layer: int):
    """What the run's own layer gives, in evaluation: (batch, seq, d_model)."""
    x, (stream, attention) = layer_input(run, layer), _tensors(run, layer)
    with cached.turn(run.device):
        block = cached.model(run).layers[layer]
        write = permuted.output(block.feed_forward, x)
        return ratios.with_write(block, stream, attention, write)


def _tensors(run: Run, layer: int):
    """The stream to which the feed-forward part adds, and what attention wrote."""
    found = cached.recording(run)  # takes a turn of its own
    is_parallel = run.config.norm.norm_placement == "parallel"
    stream = found.tensor("resid_pre" if is_parallel else "resid_mid", layer)
    return stream, found.tensor("attention_out", layer)


def mixture(run: Run) -> ModelConfig:
    """The run's own experts, or the demonstration of some where its layers are dense."""
    return run.config if run.config.n_experts > 1 else run.config.replace(**DEMO)


@lru_cache(maxsize=8)
def routes(run: Run, layer: int) -> routing.Routing:
    """Where the router sends the tokens; of a dense run, a random router of its seed."""
    if run.config.n_experts > 1:
        capacity = run.config.feed_forward.expert_capacity
        return routing.routing(seen(run, layer), layer, capacity)
    config, x = mixture(run), layer_input(run, layer)
    with cached.turn(run.device):
        dtype = devices.DTYPES[run.dtype]
        module = wide.layer_alone(config, layer, seed=run.seed, device=run.device, dtype=dtype)
        return routing.routing(wide.pass_alone(module, x), layer, 0.0)


def loads(run: Run, layer: int) -> pd.DataFrame:
    """One row an expert: expert, asked, kept, dropped, mean_prob; over the whole batch."""
    return routing.load(routes(run, layer))


def imbalance(run: Run, layer: int) -> float:
    """Switch's measure of the load: 1 where all experts are used alike."""
    return routing.imbalance(routes(run, layer))


def passed_by(run: Run, layer: int) -> np.ndarray:
    """Which tokens found no room with any expert."""
    return routing.passed_by(routes(run, layer))


@lru_cache(maxsize=16)
def chosen(run: Run, layer: int) -> pd.DataFrame:
    """One row a choice of the first sequence: token, expert, rank, weight, share, is_kept.

    `weight` is what the expert's answer is multiplied by, `share` the router's probability.
    """
    found, n = routes(run, layer), run.input.shape[1]
    k = found.index.shape[1]
    index = found.index[:n].ravel()
    token = np.repeat(np.arange(n), k)
    return pd.DataFrame(
        {
            "token": token,
            "expert": index,
            "rank": np.tile(np.arange(k), n),
            "weight": found.weight[:n].ravel(),
            "share": found.probs[token, index],
            "is_kept": found.kept[:n].ravel(),
        }
    )


def first_probs(run: Run, layer: int) -> np.ndarray:
    """The router's probabilities for the first sequence: (token, expert)."""
    return routes(run, layer).probs[: run.input.shape[1]]


@lru_cache(maxsize=64)
def share_of_model(run: Run) -> float:
    """The share of all parameters that stand in feed-forward layers."""
    table = cached.parameters(run.config)
    return run.config.n_layers * count_wide(run.config) / table["count"].sum()


def own_ratio(run: Run) -> float:
    """d_ff / d_model of this run."""
    return run.config.d_ff / run.config.d_model


def own_write(run: Run, layer: int) -> float:
    """RMS of what this run's own layer wrote."""
    return ratios.rms(cached.recording(run).tensor("feed_forward_out", layer))


def can_show_mixture(run: Run) -> bool:
    """Whether the demonstration fits into the memory of this server."""
    dtype = devices.DTYPES[run.dtype]
    is_own = run.config.n_experts > 1
    return is_own or ratios.is_affordable(mixture(run), dtype, memory_budget())


def totals(run: Run) -> pd.DataFrame:
    """Whole models: layout, total, active (parameters), flops (of a feed-forward layer, a token).

    `mixture`; `dense`, one layer of the same d_ff; `wide`, one dense layer of all units.
    """
    config = mixture(run)
    dense = config.replace(n_experts=1, expert_capacity=0.0)
    layouts = {"mixture": config, "dense": dense}
    if config.n_experts * config.d_ff <= 10**6:
        layouts["wide"] = dense.replace(d_ff=config.n_experts * config.d_ff)
    return pd.DataFrame(
        [
            {
                "layout": name,
                "total": int(cached.parameters(each)["count"].sum()),
                "active": active_parameters(each),
                "flops": flops_per_token(each),
            }
            for name, each in layouts.items()
        ]
    )


class Shuffled(NamedTuple):
    """The largest difference that shuffling the tokens makes, and the size of the output."""

    part: str
    difference: float
    size: float


@lru_cache(maxsize=32)
def shuffled(run: Run, layer: int) -> tuple[Shuffled, ...]:
    """Shuffle the tokens and compare: feed-forward, attention without and with this run's mask."""
    orders = permuted.orders(run.input.shape[1], run.seed, N_ORDERS)
    found = []
    for name, part, x in _parts(run, layer):
        with cached.turn(run.device):
            difference = max(permuted.shuffle_difference(part, x, order) for order in orders)
            found.append(Shuffled(name, difference, ratios.rms(permuted.output(part, x))))
    return tuple(found)


@lru_cache(maxsize=64)
def changed_token(run: Run, token: int) -> int:
    """The token whose input is changed: the pinned one, or else one that others may see."""
    return permuted.reaching_token(run.build_mask(), token)


@lru_cache(maxsize=32)
def moved(run: Run, layer: int, token: int) -> pd.DataFrame:
    """How far each output moves where one token's input changes: feed_forward, attention."""
    parts = {name: (part, x) for name, part, x in _parts(run, layer)}
    read = "masked" if "masked" in parts else "unmasked"
    chosen = {"feed_forward": "feed_forward", "attention": read}
    with cached.turn(run.device):
        return pd.DataFrame(
            {
                column: permuted.reach_of(*parts[name], token, run.seed).cpu().numpy()
                for column, name in chosen.items()
            }
        )


def _parts(run: Run, layer: int):
    """(name, function, its input in this run): feed_forward, unmasked, masked (if there is one)."""
    block, mask = cached.model(run).layers[layer], run.build_mask()
    stage = wide.read_by(run.config, "attention_out", layer)
    x = cached.recording(run).tensor(stage, layer)
    parts = [
        ("feed_forward", block.feed_forward, layer_input(run, layer)),
        ("unmasked", block.attention, x),
    ]
    if mask is not None and not bool(mask.all()):
        parts.append(("masked", lambda values: block.attention(values, mask), x))
    return parts
