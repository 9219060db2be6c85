"""The positions themselves: their table, one pair of it, all wavelengths, how alike they are."""

from collections.abc import Hashable, Sequence
from typing import Any

import streamlit as st

from blocks.inspection import position_tables, source
from blocks.inspection.position_facts import (
    KindFacts,
    LikenessFacts,
    PairFacts,
    TableFacts,
    n_pairs,
    pair_of,
)
from blocks.model.faults import N_
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.page.declared import Panel
from pages.panels.positions import shared
from pages.panels.positions.circle_picture import circle as draw_circle
from pages.panels.positions.curves import (
    biases,
    curves,
    draw_similarity,
    draw_table,
    first_number,
    kind_facts,
    likeness,
    likeness_facts,
    pair_facts,
    scale,
    spectrum,
    table_facts,
)
from pages.show.choices import chooses
from pages.show.controls import slide, slider
from pages.show.explain import Code
from pages.show.parts import (
    Beside,
    Controls,
    Details,
    Item,
    Matrix,
    Note,
    OffScreen,
    Say,
    Shown,
    Text,
    the_values,
)
from pages.show.ways import click_sets
from pages.stage import link, present
from pages.state import labelled
from pages.state.link_fields.positions import LENGTHS
from pages.state.values import State
from pages.words.language import _, fill, sentences


def says_kind(facts: KindFacts) -> str:
    why = _("q · k compares content alone, so position has to be supplied separately.")
    return sentences(why, _supplied(facts))


def _supplied(facts: KindFacts) -> str:
    match facts.kind:
        case PositionKind.NONE:
            return _(
                "There is no position information: no table, no rotation and no bias. The "
                "panel “{panel}” measures what follows from that."
            ).format(panel=_(shared.CLAIMS))
        case PositionKind.LEARNED:
            return _learned_table(facts)
        case PositionKind.ALIBI:
            return _biases(facts)
    return _waves(facts)


def _waves(facts: KindFacts) -> str:
    begin = _("Nothing is added; each feature pair of a query or key is rotated by its own angle.")
    if facts.kind is PositionKind.SINUSOIDAL:
        begin = _("Row p is added to the embedding of the token at position p.")
    text = _(
        "The fastest pair completes a turn in {shortest:.1f} positions, and the slowest in "
        "{longest:,.0f}. Within the {n} positions shown, {n_within} of {all} pairs complete "
        "at least one turn."
    )
    return sentences(begin, fill(text, facts, all=len(facts.lengths)))


def _learned_table(facts: KindFacts) -> str:
    begin = _("This is the table before training: drawn at random from N(0, 0.02²), seed {seed}.")
    if not facts.is_own_table:
        begin = _(
            "This model has no learned table: the one shown is drawn from N(0, 0.02²), seed {seed}."
        )
    elif facts.is_trained:
        begin = _("This is the learned table.")
    text = _(
        "It has {config.max_seq_len} rows (one per position) of {config.d_model} numbers; those "
        "shown have an RMS of {rms:.3f}."
    )
    return sentences(fill(begin, facts), fill(text, facts))


def _biases(facts: KindFacts) -> str:
    text = _(
        "Nothing is added to the token vectors: each head lowers the scores of distant keys "
        "by slope · distance. The weights of head 1 halve every {shortest:.2g} tokens, and "
        "those of head {last} every {longest:,.4g}."
    )
    if len(facts.lengths) == 1:
        text = _(
            "Nothing is added to the token vectors: the head lowers the scores of distant "
            "keys by slope · distance. Its weights halve every {shortest:.2g} tokens."
        )
    return fill(text, facts, last=len(facts.lengths))


def says_table(facts: TableFacts, n_asked: int) -> str:
    """How to read the table, and what of it is shown."""
    said = [_("Positions are counted from 0. Click a cell to pin its position and pair (or head).")]
    if facts.kind is PositionKind.LEARNED and facts.n < n_asked:
        text = _(
            "The table ends after {n} rows (max_seq_len), so it has no vector for later positions."
        )
        said.append(fill(text, facts))
    if facts.kind is PositionKind.ALIBI:
        text = _(
            "The darkest color stands for a bias of {deepest:g} or lower, i.e., a weight "
            "divided by {divided_by:,.0f} or more."
        )
        said.append(fill(text, facts))
    if len(facts.columns) < facts.width:
        text = _("{shown} of {width} columns are shown.")
        said.append(fill(text, facts, shown=len(facts.columns)))
    return sentences(*said)


def says_pair(facts: PairFacts) -> str:
    """What the chosen pair says at the pinned position."""
    values = " / ".join(f"{value:.3f}" for value in facts.here).replace("-", "−")
    match facts.kind:
        case PositionKind.ALIBI:
            text = _(
                "Head {pair:from_one}: slope {slope:.4g}. For a query at position {position}, the "
                "score of a key {farthest} tokens away is lowered by {loss:.2f}, which divides "
                "its weight by {divided_by:,.3g} before softmax normalization."
            )
            return fill(text, facts)
        case PositionKind.LEARNED:
            text = _(
                "At position {position}, the table holds {values} for this pair. No formula "
                "links the table's rows."
            )
            return fill(text, facts, values=values)
    if facts.kind is PositionKind.ROPE:
        return _turned(facts)
    text = _(
        "Pair {pair} turns once in {length:,.1f} positions; at position {position}, it has "
        "made {turns:.2f} turns (sine and cosine {values})."
    )
    return fill(text, facts, values=values)


def _turned(facts: PairFacts) -> str:
    """How far RoPE turns a pair, and what is left of it in a score."""
    text = _(
        "RoPE rotates pair {pair} of a query or key at position {position} by {position} × "
        "{step:.3g}° = {angle:,.4g}°. Between a query and a key k positions apart, the "
        "rotation is k × {step:.3g}°: only their distance affects the score."
    )
    step = 360 / facts.length
    return fill(text, facts, step=step, angle=facts.position * step)


def says_scale(facts: KindFacts) -> str:
    """What the wavelengths, half distances or waves of a table mean here."""
    if facts.kind is PositionKind.LEARNED:
        return _smoothness(facts)
    if facts.kind is PositionKind.ALIBI:
        text = _("In {n_within} of {all} heads, a weight halves within the {n} positions shown.")
        return fill(text, facts, all=len(facts.lengths))
    text = _(
        "Pairs below the dashed line repeat and tell nearby positions apart; pairs above it "
        "({n_beyond}) turn slowly and give the approximate position."
    )
    return fill(text, facts)


def _smoothness(facts: KindFacts) -> str:
    if facts.waves.empty:
        return _("There are too few positions to show a wave.")
    text = _(
        "Waves of {slow:.0f} positions or more account for {slow_share:.0%} of the table's "
        "variance; noise would give {slow_share_of_noise:.0%}. {reading}"
    )
    reading = _("The table looks like noise: neighboring rows have little in common.")
    if facts.is_smooth:
        reading = _("Neighboring rows are similar: the table is smooth.")
    return fill(text, facts, reading=reading)


def says_biases(facts: LikenessFacts, head: int) -> str:
    """What a head of ALiBi takes from the farthest key."""
    text = _(
        "At distance {farthest}, head {head} lowers scores by {loss:.2f}. Each line is one head."
    )
    return fill(text, facts, head=from_one(head), loss=facts.loss(head))


def says_likeness(facts: LikenessFacts) -> str:
    """How alike near and far positions are."""
    if facts.kind is PositionKind.ROPE:
        text = _(
            "The score of a vector with itself keeps {near:.0%} of its size at distance 1 "
            "and {far:.0%} at distance {farthest} (random vectors, seed {seed}); it {falls}."
        )
        falls = _("stays above half")
        if facts.half_at is not None:
            falls = fill(_("falls below half at distance {half_at}"), facts)
        return fill(text, facts, falls=falls)
    text = _(
        "The mean cosine is {near:.2f} for neighboring positions and {far:.2f} for "
        "positions {farthest} apart."
    )
    more = _(
        "At equal distance, cosines differ by up to {width:.2f}: similarity also depends on "
        "the positions themselves."
    )
    if facts.is_of_distance_alone:
        more = _(
            "Similarity depends on distance alone: positions equally far apart are equally similar."
        )
    return sentences(fill(text, facts), fill(more, facts))


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    """The kind, how many positions are shown and were asked for, the position and the pair."""
    n = shared.n_positions(run, state)
    position, asked = min(labelled.pinned_token(run, state), n - 1), state.n_positions
    return run, shared.kind(run, state), n, position, chosen_pair(run, state), asked


@chooses("shown_position", "n_positions")
def kind_and_length(run: Run, state: State) -> None:
    """Which kind is looked at, over how many positions, and a way to run the model with it."""
    with present.aside():
        left, right = st.columns([7, 4])
    with left:
        shared.kind_choice(run, state)
    with right:
        slide("n_positions", _("Positions shown"), LENGTHS)
    shared.run_with_it(run, state)


def shown(run: Run, kind: PositionKind) -> Sequence[Item]:
    """One kind from four sides; in front of a class two of them, and of RoPE its circle."""
    is_turned = kind is PositionKind.ROPE
    says = (
        Say(says_pair, pair_facts) if is_turned and present.is_on() else Say(says_kind, kind_facts)
    )
    if kind is PositionKind.NONE:
        return (says,)
    pair = (Shown(curves, "position_curves", facts=pair_facts), Text(says_pair, pair_facts))
    circle = Matrix(draw_circle, "position_circle", facts=pair_facts)
    lengths = Shown(scale, "wavelengths", click=click_sets("position_pair"), facts=the_values)
    if kind is PositionKind.LEARNED:
        lengths = Shown(spectrum, "wavelengths", facts=kind_facts)
    alike = (Shown(likeness, "likeness", facts=likeness_facts), Text(says_likeness, likeness_facts))
    if kind is PositionKind.ALIBI:
        alike = (Shown(biases, "likeness", facts=the_values), Text(says_bias_of, the_values))
    square = Matrix(draw_similarity, "similarity", facts=the_values)
    every_two = Details(N_("All pairs of positions"), square)
    return (
        says,
        Beside(
            (
                Matrix(draw_table, "position_table", click=pin_and_choose, facts=table_facts),
                Note(says_table_of, the_values),
            ),
            (Controls(pair_choice), *((circle, OffScreen(*pair)) if is_turned else pair)),
            widths=(6, 5),
        ),
        OffScreen(
            Beside(
                (lengths, Text(says_scale, kind_facts)),
                (*alike, *((every_two,) if kind.is_added else ())),
            )
        ),
    )


def says_table_of(
    run: Run, kind: PositionKind, n: int, position: int, pair: int, n_asked: int
) -> str:
    return says_table(table_facts(run, kind, n, position, pair), n_asked)


def says_bias_of(run: Run, kind: PositionKind, n: int, _position: int, head: int) -> str:
    return says_biases(likeness_facts(run, kind, n), head)


def code(run: Run, state: State) -> Code:
    return (*source.positions_source(shared.kind(run, state)), position_tables.similarity)


def chosen_pair(run: Run, state: State) -> int:
    """The pair (of ALiBi the head) that is drawn as curves: the reader's, or one that is seen."""
    kind, asked = shared.kind(run, state), state.position_pair
    n = n_pairs(run.config, kind)
    usual = 0 if kind is PositionKind.ALIBI else n // 4
    return max(0, min(usual if asked is None else asked, n - 1))


def pair_choice(run: Run, state: State) -> None:
    """Choose a pair by keyboard, as a click on a column does."""
    kind = shared.kind(run, state)
    most = n_pairs(run.config, kind) - 1
    if most > 0:
        label = _("Head") if kind is PositionKind.ALIBI else _("Feature pair")
        first = first_number(kind)
        slider("position_pair", label, chosen_pair(run, state), most=most, first=first)


def pin_and_choose(customdata: list[Any]) -> None:
    """A cell of the table was clicked: its position is pinned, its pair chosen."""
    link.change("token", int(customdata[0]))
    config = link.config()
    kind = PositionKind(link.value("shown_position") or config.position.position_kind)
    link.change("position_pair", pair_of(config, kind, int(customdata[1])))
    link.redraw_everything()


PANEL = Panel(
    "kinds",
    N_("How is word order encoded?"),
    choices=kind_and_length,
    fields=(
        *("position_kind", "d_model", "n_heads"),
        *("rotary_share", "rope_scaling", "rope_factor"),
    ),
    of_attention=True,
    concepts=("positions", "rope_scaling"),
    code=code,
    at=at,
    absent=shared.misfit,
    mend=shared.mend,
    facts=table_facts,
    shows=shown,
)
