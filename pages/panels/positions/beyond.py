"""Texts longer than the model was made for."""

import dataclasses
from functools import lru_cache, partial
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks import ConfigError, Fault
from blocks.cost.memory import bytes_text, estimate_memory
from blocks.inspection import beyond_length
from blocks.inspection.beyond_length import FACTORS
from blocks.inspection.other_positions import random_values, with_position
from blocks.model import devices
from blocks.model.kinds import Architecture, PositionKind
from blocks.model.masks import build_mask, everyone
from blocks.model.randomness import generator
from blocks.observe.run import Input, Run
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import Task, TaskConfig
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture
from pages.panels.positions import beyond_picture, shared
from pages.panels.positions.shared import KINDS
from pages.ui import cached, labelled, link, starts, terms
from pages.ui.chart import columns, show
from pages.ui.controls import slide
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration, say_fault
from pages.ui.link_fields.positions import TRAINED_LENGTHS
from pages.ui.said import say
from pages.ui.settings import memory_budget
from pages.ui.steps import in_steps
from pages.ui.views import head_choice, layer_choice

if TYPE_CHECKING:
    from torch import Tensor


def trained_len(run: Run) -> int:
    """The length that counts as trained: the reader's, or else that of the training."""
    return link.value("trained_len") or default_length(run)


N_TEXTS = 4


def trained_spec(run: Run) -> TrainingSpec | None:
    """How the weights of this run were trained; None where they are random."""
    return TrainingSpec.from_plain(starts.model(run.weights).card.recipe) if run.weights else None


def default_length(run: Run) -> int:
    """The length that the model was trained on; of a random one, a small one."""
    spec = trained_spec(run)
    return spec.task.seq_len if spec else 32


def memory_needed(run: Run, trained_len: int) -> int:
    """Bytes that the longest of the runs takes, from above."""
    batch, seq_len = N_TEXTS, beyond_length.FACTORS[-1] * trained_len
    dtype = devices.DTYPES[run.dtype]
    return estimate_memory(run.config, batch=batch, seq_len=seq_len, dtype=dtype).total


def fitting_length(run: Run, trained_len: int) -> int:
    """The longest trained length, halved from this one, whose runs fit into memory."""
    while trained_len > 2 and memory_needed(run, trained_len) > memory_budget():
        trained_len //= 2
    return trained_len


@lru_cache(maxsize=64)
def spread(
    run: Run, kind: PositionKind, layer: int, trained_len: int, factor: int
) -> beyond_length.Spread | Fault:
    """How the last query spreads its weight in texts of `factor` · `trained_len` tokens.

    The fault where the kind does not fit, or has no row for so late a position.
    """
    n = factor * trained_len
    try:
        with cached.turn(run.device):
            model = with_position(
                cached.model(run),
                run.config,
                kind,
                seed=run.seed,
                n_rows=trained_len,
                n_layers=layer + 1,
            )
            return beyond_length.spread(
                model,
                _values(run, n),
                _mask(run, n),
                layer=layer,
                trained_len=trained_len,
            )
    except ConfigError as error:
        return error.faults[0]


def _values(run: Run, n: int) -> "Tensor":
    """Held-out rows of what the model was trained on where they are long enough, else random."""
    task = task_of(run, n)
    if task is None:
        return random_values(cached.model(run), run.config, N_TEXTS, n, run.seed)
    rows = task.held_out(N_TEXTS, generator(run.seed, "beyond length"))
    return cast("Tensor", rows.token_ids).to(run.device)  # pairs are not read on this page


def _mask(run: Run, n: int) -> "Tensor | None":
    """The run's mask for texts without padding."""
    is_token = dataclasses.replace(PLAIN, seq_len=n).is_token().to(run.device)
    mask = build_mask(run.mask, is_token)
    is_gpt = run.config.architecture is Architecture.GPT
    return everyone(n, run.device) if mask is None and is_gpt else mask


PLAIN = Input()


def task_of(run: Run, n: int) -> Task | None:
    """The task of a trained run with rows of `n` tokens; None where random, or no rows so long."""
    spec = trained_spec(run)
    if spec is None:
        return None
    least, most = spec.task.kind.seq_len_bounds
    return _task(spec.task, n) if least <= n <= most else None


@lru_cache(maxsize=4)
def _task(task: TaskConfig, n: int) -> Task:
    return starts.build_task_once(dataclasses.replace(task, seq_len=n))


def longest_measured(run: Run, trained_len: int) -> int:
    """How many positions the loss can be measured on: a table ends, and so do a task's rows."""
    n = beyond_length.FACTORS[-1] * trained_len
    if shared.is_own_table(run):
        n = min(n, run.config.max_seq_len)
    spec = trained_spec(run)
    return min(n, spec.task.kind.seq_len_bounds[1]) if spec else 0


@lru_cache(maxsize=64)
def measured_bits(run: Run, n: int, step: int) -> NDArray[np.float64]:
    """Bits by position over some held-out rows, others at each step."""
    task = task_of(run, n)
    if task is None:
        raise ValueError("nothing was learned that could be asked for")
    rows = task.held_out(
        shared.ROWS_A_STEP, generator(run.seed, "beyond length", "bits", str(step))
    )
    with cached.turn(run.device):
        return beyond_length.bits_by_position(cached.model(run), rows.to(run.device))


TRAINED = "stories-en-zh"


def trained_length_choice(run: Run) -> None:
    """The length that counts as trained."""
    label = _("L · trained length, in tokens")
    slide("trained_len", label, TRAINED_LENGTHS, trained_len(run))


def open_trained_model() -> None:
    """The way from random weights to a model whose loss means something."""
    st.button(
        _("Open the trained story model"),
        icon=":material/model_training:",
        on_click=_open_trained,
        key="open_trained",
    )


def _open_trained() -> None:
    link.change("preset", TRAINED)
    link.redraw_everything()


Done = tuple[tuple[PositionKind, int], ...]  # kinds and factors that were run


def spreads(run: Run, layer: int, trained_len: int, done: Done) -> pd.DataFrame:
    """A row for each kind and length that was run: kind, factor, seq_len, found."""
    rows = [
        (kind, factor, factor * trained_len, spread(run, kind, layer, trained_len, factor))
        for kind, factor in done
    ]
    return pd.DataFrame(rows, columns=["kind", "factor", "seq_len", "found"])


def worked(run: Run, layer: int, trained_len: int, done: Done) -> pd.DataFrame:
    """Those that ran."""
    table = spreads(run, layer, trained_len, done)
    return table[[not isinstance(found, Fault) for found in table["found"]]]


def refusals(run: Run, layer: int, trained_len: int, done: Done) -> list[str]:
    """A sentence for each kind that cannot be so long, or does not fit at all."""
    table = spreads(run, layer, trained_len, done)
    refused = table[[isinstance(found, Fault) for found in table["found"]]]
    text = _("{kind} at {lengths} tokens is refused: {why}.")
    return [
        text.format(
            kind=terms.option(str(kind)),
            lengths=enumeration(map(str, rows["seq_len"])),
            why=say_fault(rows["found"].iloc[0]),
        )
        for kind, rows in refused.groupby("kind", sort=False)
    ]


def longest(trained_len: int) -> int:
    """Tokens of the longest texts."""
    return FACTORS[-1] * trained_len


def has_spread(run: Run, kind: PositionKind, layer: int, trained_len: int, done: Done) -> bool:
    """Whether a kind ran at any length."""
    return kind in set(worked(run, layer, trained_len, done)["kind"])


def curves_text(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> list[tuple[str, pd.DataFrame]]:
    """Weight by distance of one kind: what each length is called, and its bands."""
    table = worked(run, layer, trained_len, done)
    text = _("{n} tokens ({factor}×)")
    return [
        (
            text.format(n=row.seq_len, factor=row.factor),
            beyond_length.banded(row.found.weight[head]),
        )
        for row in each_row(table)
        if row.kind == kind
    ]


def entropies(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> pd.DataFrame:
    """Entropy as a share of even weights, by kind and length, ready to be drawn."""
    table = worked(run, layer, trained_len, done)
    return table.assign(
        label=[terms.option(each) for each in table["kind"]],
        value=[float(found.entropy_share[head]) for found in table["found"]],
        is_shown=(table["kind"] == kind).to_list(),
    )


def spread_sentence(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> str:
    """How far the last query looks in short and in long texts."""
    table = worked(run, layer, trained_len, done)
    rows = table[table["kind"] == kind]
    if rows.empty:
        return _("{kind} has nothing to show here.").format(kind=terms.option(kind))
    first, last = rows.iloc[0], rows.iloc[-1]
    text = _(
        "{kind}, head {head}: in a text of {n0} tokens the last query looks back "
        "{d0:.1f} tokens on average, in one of {n1} tokens {d1:.1f}, with {far:.0%} of "
        "its weight {length} or more tokens back; its normalized entropy goes from "
        "{e0:.0%} to {e1:.0%}."
    )
    if len(rows) == 1:
        text = _(
            "{kind}, head {head}: in a text of {n0} tokens the last query looks back "
            "{d0:.1f} tokens on average; longer texts are refused."
        )
    return text.format(
        kind=terms.option(kind),
        head=from_one(head),
        length=trained_len,
        n0=first["seq_len"],
        n1=last["seq_len"],
        d0=first["found"].distance[head],
        d1=last["found"].distance[head],
        far=last["found"].far_share[head],
        e0=first["found"].entropy_share[head],
        e1=last["found"].entropy_share[head],
    )


def entropy_sentence(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> str:
    """Which kind stays the sharpest in the longest texts."""
    table = entropies(run, kind, layer, head, trained_len, done)
    longest = table[table["factor"] == table["factor"].max()]
    if len(longest) < 2:
        return ""
    values = longest["value"]
    sharpest, widest = longest.iloc[values.argmin()], longest.iloc[values.argmax()]
    text = _(
        "At {n} tokens {sharp} is the sharpest (normalized entropy {a:.0%}), {wide} the "
        "most spread out ({b:.0%}). The weights are the same; only the positional "
        "encoding differs."
    )
    if run.weights:
        text += " " + _("Sharper is not better: these weights were trained with one encoding only.")
    return text.format(
        n=longest["seq_len"].iloc[0],
        sharp=sharpest["label"],
        a=sharpest["value"],
        wide=widest["label"],
        b=widest["value"],
    )


def input_note(run: Run, trained_len: int) -> str:
    """What the texts are made of."""
    n = FACTORS[-1] * trained_len
    memory = bytes_text(memory_needed(run, trained_len))
    begin = (
        _("{n} random inputs per length, seed {seed}.")
        if task_of(run, n) is None
        else _("{n} validation examples of its training task per length, seed {seed}.")
    ).format(n=N_TEXTS, seed=run.seed)
    own = run.config.position.position_kind
    random = (
        _(
            "These weights were trained with {own}; with another kind the model performs "
            "badly at first."
        )
        if run.weights
        else _("The weights are random: this is what each kind does before any training.")
    ).format(own=terms.option(own))
    need = _("Memory: at most about {memory}.").format(memory=memory)
    return f"{begin} {random} {need}"


def spread_table(run: Run, layer: int, head: int, trained_len: int, done: Done) -> None:
    """Exact numbers of one head."""
    table = worked(run, layer, trained_len, done)

    def column(name: str) -> list[float]:
        return [float(getattr(found, name)[head]) for found in table["found"]]

    shown = pd.DataFrame(
        {
            _("positional encoding"): [terms.option(kind) for kind in table["kind"]],
            _("tokens"): table["seq_len"].to_numpy(),
            _("keys seen"): [found.n_visible for found in table["found"]],
            _("normalized entropy (H / log n)"): column("entropy_share"),
            _("distance (tokens)"): column("distance"),
            _("weight beyond L"): column("far_share"),
            _("score mean"): column("score_mean"),
            _("score std"): column("score_std"),
            _("score max"): column("score_max"),
        }
    )
    st.dataframe(shown.round(3), hide_index=True, key="beyond_table", height="content")


def by_distance_alt(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> str:
    """Write the alt text of the curves."""
    return spread_sentence(run, kind, layer, head, trained_len, done)


def by_length_alt(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> str:
    """Where the lines end."""
    table = entropies(run, kind, layer, head, trained_len, done)
    text = _("{kind}: {share:.0%} at {n} tokens")
    ends = [
        text.format(kind=row.label, share=row.value, n=row.seq_len)
        for row in each_row(table.drop_duplicates("kind", keep="last"))
    ]
    shown = _("Normalized entropy of head {head} (H / log n). {ends}")
    return shown.format(head=from_one(head), ends="; ".join(ends))


def bits(run: Run, n: int, n_steps: int) -> np.ndarray:
    """Bits by position over the steps done, (3, seq)."""
    return np.sum([measured_bits(run, n, step) for step in range(n_steps)], axis=0)


def bands_text(run: Run, n: int, n_steps: int, trained_len: int) -> pd.DataFrame:
    """Bits in bands of an eighth of the trained length."""
    return beyond_length.bits_in_bands(bits(run, n, n_steps), max(1, trained_len // 8))


def loss_sentence(run: Run, n: int, n_steps: int, trained_len: int) -> str:
    """What a token costs within and beyond the trained length."""
    found = bits(run, n, n_steps)
    inside = beyond_length.mean_bits(found, trained_len // 2, trained_len)
    last = beyond_length.mean_bits(found, max(trained_len, n - trained_len // 2), n)
    own = terms.option(run.config.position.position_kind)
    if inside is None:
        return _("No target position lies within the trained length.")
    if last is None:
        text = _(
            "In the second half of its trained length of {length} tokens, the loss is "
            "{inside:.2f} bits per token ({kind})."
        )
        return text.format(length=trained_len, inside=inside, kind=own)
    text = _(
        "In the second half of its trained length of {length} tokens the loss is "
        "{inside:.2f} bits per token; at the end, up to position {n}, {last:.2f} "
        "({kind}). {reading}"
    )
    return text.format(
        length=trained_len, inside=inside, n=n, last=last, kind=own, reading=_reading(inside, last)
    )


def _reading(inside: float, last: float) -> str:
    if last > 1.2 * inside:
        return _("It runs there, but does worse: running is not generalizing.")
    if last < 0.9 * inside:
        return _("It does better there: more context, and nothing breaks.")
    return _("It does about as well there as within the trained length.")


def table_end(run: Run, n: int, trained_len: int) -> str:
    """Where the loss ends before four times the length, why."""
    wanted = FACTORS[-1] * trained_len
    if n >= wanted:
        return ""
    if shared.is_own_table(run) and n == run.config.max_seq_len:
        text = _(
            "The learned table has {n} rows: position {n} (from 0) has none, so nothing can be "
            "measured up to {wanted}."
        )
    else:
        text = _(
            "Examples of this task have at most {n} tokens, so nothing can be measured "
            "up to {wanted}."
        )
    return text.format(n=n, wanted=wanted)


def loss_note(run: Run, n_steps: int) -> str:
    """On what it was measured."""
    text = _("{n} validation examples, cut at random places, seed {seed}.")
    return text.format(n=n_steps * shared.ROWS_A_STEP, seed=run.seed)


def loss_alt(run: Run, n: int, n_steps: int, trained_len: int) -> str:
    """Write the alt text of the loss by position."""
    return loss_sentence(run, n, n_steps, trained_len)


@section
def beyond_the_length(run: Run) -> None:
    """Run every kind of encoding at 1, 2 and 4 times the trained length."""
    code = (beyond_length.spread, beyond_length.banded)
    layer, head = labelled.selected_layer(run), labelled.selected_head(run)
    left, right = explained(("beyond_length",), code, key="beyond").columns(2)
    with left:
        trained_length_choice(run)
    with right:
        layer_choice(run)
        head_choice(run, head)
    length = trained_len(run)
    if _too_long(run, length):
        return
    work = [(kind, factor) for kind in shared.order(run) for factor in FACTORS]
    steps = [partial(spread, run, kind, layer, length, factor) for kind, factor in work]
    what = run, layer, length, shared.kind(run)
    n_done = len(in_steps(steps, what=what, key="beyond_steps").found)
    if not n_done:
        return
    done = tuple((kind, factor) for kind in KINDS for factor in FACTORS)
    done = tuple(each for each in done if each in work[:n_done])
    note(input_note(run, length))
    _pictures(run, shared.kind(run), layer, head, length, done)


def _pictures(run: Run, kind: PositionKind, layer: int, head: int, length: int, done: Done) -> None:
    shown = run, kind, layer, head, length, done
    say(spread_sentence, *shown)
    left, right = columns(2)
    with left:
        if has_spread(run, kind, layer, length, done):
            show(draw_spread, *shown, key="spread_far", alt=by_distance_alt)
        for sentence in refusals(run, layer, length, done):
            st.markdown(f":material/block: {sentence}")
    with right:
        show(draw_entropies, *shown, key="entropy_far", alt=by_length_alt)
        st.markdown(entropy_sentence(*shown))
    spread_table(run, layer, head, length, done)


def _too_long(run: Run, length: int) -> bool:
    """Where four times the length would not fit into memory: said, with a length that does."""
    fitting = fitting_length(run, length)
    if fitting == length:
        return False
    text = _("Texts of {n} tokens need about {memory}, more than is allowed here.")
    need = bytes_text(memory_needed(run, length))
    n = longest(length)
    st.warning(text.format(n=n, memory=need), icon=":material/block:")
    st.button(
        _("Use {mend}").format(mend=f"L = {fitting}"),
        on_click=link.change,
        args=("trained_len", fitting),
        key="shorter_length",
    )
    return True


@section
def what_it_costs(run: Run) -> None:
    """The loss by position, where the weights are trained."""
    place = explained(("beyond_length", "surprise"), (beyond_length.bits_by_position,), key="costs")
    if not run.weights:
        place.info(_("The weights are random: losses mean nothing yet."), icon=":material/info:")
        open_trained_model()
        return
    length = trained_len(run)
    n = longest_measured(run, length)
    if task_of(run, n) is None:
        place.info(_("The task of this model has no examples of this length: choose another L."))
        return
    steps = [partial(measured_bits, run, n, step) for step in range(shared.N_STEPS)]
    n_steps = len(in_steps(steps, what=(run, n), key="costs_steps").found)
    if not n_steps:
        return
    shown = run, n, n_steps, length
    with place:
        say(loss_sentence, *shown)
    show(draw_loss, *shown, key="loss_far", alt=loss_alt)
    note(f"{loss_note(run, n_steps)} {table_end(run, n, length)}")


def draw_spread(
    run: Run, kind: PositionKind, layer: int, head: int, length: int, done: Done
) -> Picture:
    """Weight by distance in texts of all lengths."""
    found = curves_text(run, kind, layer, head, length, done)
    curves = [beyond_picture.Curve(*each) for each in found]
    title = _("{kind}, head {head}: where the last query looks")
    title = title.format(kind=terms.option(kind), head=from_one(head))
    return beyond_picture.by_distance(curves, trained_len=length, title=title, _=_)


def draw_entropies(
    run: Run, kind: PositionKind, layer: int, head: int, length: int, done: Done
) -> Picture:
    """How spread the last query is, by kind and length."""
    table = entropies(run, kind, layer, head, length, done)
    title = _("Entropy of the last query, head {head}").format(head=from_one(head))
    return beyond_picture.by_length(table, title=title, y=_("normalized entropy (H / log n)"), _=_)


def draw_loss(run: Run, n: int, n_steps: int, length: int) -> Picture:
    """The loss by position."""
    bands = bands_text(run, n, n_steps, length)
    own = terms.option(run.config.position.position_kind)
    title = _("Bits per token by position, {kind}").format(kind=own)
    return beyond_picture.loss(bands, trained_len=length, title=title, _=_)
