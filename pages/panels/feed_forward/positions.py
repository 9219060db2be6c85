"""Each position alone: tokens shuffled, and one token changed, measured beside attention."""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

import pandas as pd
import streamlit as st

from blocks.inspection import permuted, ratios, wide
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.feed_forward import positions_picture, shared
from pages.ui import cached, terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, literal
from pages.ui.said import say

if TYPE_CHECKING:
    from torch import Tensor, nn


class Shuffled(NamedTuple):
    """The largest difference that shuffling the tokens makes, and the size of the output."""

    part: str
    difference: float
    size: float


@lru_cache(maxsize=32)
def shuffled(run: Run, layer: int) -> tuple[Shuffled, ...]:
    """Shuffle the tokens and compare: feed-forward, attention without and with this run's mask."""
    orders = permuted.orders(run.input.shape[1], run.seed, shared.N_ORDERS)
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
def measured_moved(run: Run, layer: int, token: int) -> pd.DataFrame:
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


def _parts(run: Run, layer: int) -> list[tuple[str, permuted.Part, "Tensor"]]:
    """(name, function, its input in this run): feed_forward, unmasked, masked (if there is one)."""
    attention, mask = cast("nn.Module", cached.model(run).layers[layer].attention), run.build_mask()
    stage = wide.read_by(run.config, "attention_out", layer)
    x = cached.recording(run).tensor(stage, layer)
    parts: list[tuple[str, permuted.Part, Tensor]] = [
        ("feed_forward", cached.feed_forward(run, layer), shared.layer_input(run, layer)),
        ("unmasked", attention, x),
    ]
    if mask is not None and not bool(mask.all()):
        parts.append(("masked", lambda values: attention(values, mask), x))
    return parts


def shuffled_table(run: Run, layer: int) -> None:
    """What shuffling the tokens changes in each part."""
    rows = shuffled(run, layer)
    verdicts = [_("same outputs") if is_rounding(run, row) else _("changes") for row in rows]
    shown = pd.DataFrame(
        {
            _("part"): [part_name(row.part) for row in rows],
            _("tokens shuffled"): verdicts,
            _("largest |difference|"): [f"{row.difference:.2g}" for row in rows],
            _("RMS of its output"): [f"{row.size:.3g}" for row in rows],
        }
    )
    st.dataframe(shown, hide_index=True, key="shuffle_table", height="content")


ROUNDING = 1e-4  # of the output's size, in float32 and more


COARSE_ROUNDING = 0.05  # in 16 bits


def part_name(part: str) -> str:
    """What one of the compared parts is called."""
    names = {
        "feed_forward": _("feed-forward"),
        "unmasked": _("attention, no mask"),
        "masked": _("attention, this run's mask"),
    }
    return names[part]


def is_rounding(run: Run, found: Shuffled) -> bool:
    """Whether a difference is no more than rounding makes."""
    is_coarse = run.dtype in ("float16", "bfloat16")
    return found.difference <= (COARSE_ROUNDING if is_coarse else ROUNDING) * max(found.size, 1e-9)


def shuffle_sentence(run: Run, layer: int) -> str:
    """What shuffling the tokens changes, and why."""
    found = {each.part: each for each in shuffled(run, layer)}
    text = _(
        "Shuffle the {n} tokens ({orders} orders tried): feed-forward outputs of "
        "shuffled tokens differ from the shuffled outputs by at most {difference}, "
        "{verdict}."
    )
    own = found["feed_forward"]
    is_same = is_rounding(run, own)
    verdict = _("rounding only") if own.difference else _("exactly 0")
    verdict = verdict if is_same else _("more than rounding: with a capacity limit, order decides")
    difference = f"{own.difference:.1e}" if own.difference else "0"
    tried = {"n": run.input.shape[1], "orders": shared.N_ORDERS}
    said = text.format(difference=difference, verdict=verdict, **tried)
    return " ".join((said, *_attention(run, found)))


def _attention(run: Run, found: dict[str, Shuffled]) -> tuple[str, ...]:
    bare, kind = found["unmasked"], run.config.position.position_kind
    inside = kind in (PositionKind.ROPE, PositionKind.ALIBI)
    if is_rounding(run, bare):
        text = _(
            "Attention without a mask does the same ({difference:.1e}): it treats tokens as a set."
        )
    elif inside:
        text = _(
            "Even without a mask attention changes by up to {difference:.2g}, since "
            "{kind} gives it positions."
        )
    else:
        text = _("Attention changes by up to {difference:.2g} without a mask.")
    first = text.format(difference=bare.difference, kind=terms.option(kind))
    if "masked" not in found:
        return (first,)
    second = _("With this run's mask it changes by up to {difference:.2g}.")
    return first, second.format(difference=found["masked"].difference)


def reach_sentence(run: Run, layer: int, token: int) -> str:
    """Whose output one changed token moves."""
    changed = changed_token(run, token)
    table = measured_moved(run, layer, changed)
    wide, read = (int((table[part] > 0).sum()) for part in ("feed_forward", "attention"))
    text = _(
        "The input of {token} (position {position}) was replaced by a random vector of "
        "the same size. Feed-forward outputs that changed: {wide} of {n}; attention "
        "outputs: {read} of {n}."
    )
    name = literal(run.input.labels[changed])
    said = text.format(token=name, position=changed + 1, wide=wide, read=read, n=len(table))
    return " ".join((said, *_why_elsewhere(run, token, changed, wide)))


def _why_elsewhere(run: Run, token: int, changed: int, wide: int) -> tuple[str, ...]:
    notes = []
    if changed != token:
        text = _(
            "Only {token} itself may attend to the pinned {token}, so another token was changed."
        )
        notes.append(text.format(token=literal(run.input.labels[token])))
    if wide > 1 and run.config.n_experts > 1:
        text = _("With a capacity limit, changing one token can displace others.")
        rounding = _("An expert that processes other tokens in the same batch rounds differently.")
        notes.append(text if run.config.feed_forward.expert_capacity else rounding)
    return tuple(notes)


def reach_alt(run: Run, layer: int, token: int) -> str:
    """The reach in words."""
    return reach_sentence(run, layer, token)


@section
def each_position_alone(run: Run, layer: int, token: int) -> None:
    """Shuffle the tokens; change one of them; see what moves."""
    code = (permuted.shuffle_difference, permuted.reach_of)
    place = explained(("feed_forward", "attention"), code, key="positions")
    if run.input.shape[1] == 1:
        place.info(
            _("A single token has no other order: type a longer text."), icon=":material/lightbulb:"
        )
        return
    with place:
        say(shuffle_sentence, run, layer)
    left, right = columns(2)
    with left:
        show(draw_reach, run, layer, token, key="reach", alt=reach_alt)
    with right:
        shuffled_table(run, layer)
        st.markdown(reach_sentence(run, layer, token))
    note(
        _(
            "Each part was rerun on its own inputs of this run, in evaluation mode and with "
            "the mask in place."
        )
    )


def draw_reach(run: Run, layer: int, token: int) -> Picture:
    """Which outputs move."""
    changed = changed_token(run, token)
    moved = measured_moved(run, layer, changed)
    return positions_picture.reach(moved, run.input.labels, changed=changed, pinned=token, _=_)
