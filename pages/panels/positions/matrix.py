"""The positions themselves: their table, one pair of it, all wavelengths, how alike they are."""

from functools import lru_cache
from typing import Any

import streamlit as st

from blocks.inspection import position_facts as facts_of
from blocks.inspection import position_tables, source
from blocks.inspection.position_facts import (
    KindFacts,
    LikenessFacts,
    PairFacts,
    TableFacts,
    n_pairs,
    pair_of,
)
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.theme import Picture, Translate
from pages.panels.positions import circle_picture, matrix_picture, shared
from pages.panels.positions.matrix_picture import first_number
from pages.ui import labelled, link, present, terms
from pages.ui.chart import columns, show
from pages.ui.controls import slide, slider
from pages.ui.explain import explained, note
from pages.ui.fold import details
from pages.ui.frame import section
from pages.ui.language import _, sentences
from pages.ui.link_fields.positions import LENGTHS
from pages.ui.said import say


@lru_cache(maxsize=32)
def kind_facts(run: Run, kind: PositionKind, n: int) -> KindFacts:
    """How fast its pairs turn, how far its heads see, or what its table is made of."""
    return facts_of.kind_facts(run, kind, n, shared.learned(run))


@lru_cache(maxsize=16)
def table_facts(run: Run, kind: PositionKind, n: int, position: int, pair: int) -> TableFacts:
    """What a kind makes of `n` positions."""
    learned = shared.learned(run)
    return facts_of.table_facts(run, kind, n, learned, position=position, pair=pair)


@lru_cache(maxsize=32)
def pair_facts(run: Run, kind: PositionKind, n: int, position: int, pair: int) -> PairFacts:
    """What one pair (of ALiBi: one head) says at each position."""
    learned = shared.learned(run)
    return facts_of.pair_facts(run, kind, n, learned, position=position, pair=pair)


@lru_cache(maxsize=16)
def likeness_facts(run: Run, kind: PositionKind, n: int) -> LikenessFacts:
    """How alike two positions are by their distance."""
    return facts_of.likeness_facts(run, kind, n, shared.learned(run))


def says_kind(facts: KindFacts) -> str:
    """Why it is needed, and what it does, read off this run."""
    why = _("q · k compares content alone, so position has to be supplied separately.")
    return sentences(why, _supplied(facts))


def _supplied(facts: KindFacts) -> str:
    match facts.kind:
        case PositionKind.NONE:
            text = _(
                "There is no position information: no table, no rotation and no bias. The "
                "panel “{panel}” measures what follows from that."
            )
            return text.format(panel=_(shared.CLAIMS))
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
        "The fastest pair completes a turn in {fast:.1f} positions, the slowest in "
        "{slow:,.0f}; {done} of {all} pairs do so within the {n} positions shown."
    )
    ends = {"fast": facts.shortest, "slow": facts.longest}
    found = text.format(done=facts.n_within, all=len(facts.lengths), n=facts.n, **ends)
    return sentences(begin, found)


def _learned_table(facts: KindFacts) -> str:
    begin = _("This is the table before training: random, N(0, 0.02²), seed {seed}.")
    if not facts.is_own_table:
        begin = _(
            "This model has no learned table: the one shown is drawn from N(0, 0.02²), seed {seed}."
        )
    elif facts.is_trained:
        begin = _("This is the learned table.")
    text = _(
        "It has {rows} rows (one per position) of {d} numbers; those shown have an RMS of {rms}."
    )
    config, rms = facts.config, f"{facts.rms:.3f}"
    size = text.format(rows=config.max_seq_len, d=config.d_model, rms=rms)
    return sentences(begin.format(seed=facts.seed), size)


def _biases(facts: KindFacts) -> str:
    text = _(
        "Nothing is added to the token vectors: each head lowers the scores of distant keys "
        "by slope · distance. The weights of head 1 halve every {first:.2g} tokens, those of "
        "head {last} every {far:,.4g}."
    )
    if len(facts.lengths) == 1:
        text = _(
            "Nothing is added to the token vectors: the head lowers the scores of distant "
            "keys by slope · distance. Its weights halve every {first:.2g} tokens."
        )
    return text.format(first=facts.shortest, last=len(facts.lengths), far=facts.longest)


def says_table(facts: TableFacts, n_asked: int) -> str:
    """How to read the table, and what of it is shown."""
    said = [_("Positions are counted from 0. Click a cell to pin its position and pair (or head).")]
    if facts.kind is PositionKind.LEARNED and facts.n < n_asked:
        text = _(
            "The table ends after {n} rows (max_seq_len), so it has no vector for later positions."
        )
        said.append(text.format(n=facts.n))
    if facts.kind is PositionKind.ALIBI:
        text = _(
            "The darkest color stands for a bias of {bias:g} or lower, i.e., a weight "
            "divided by {factor:,.0f} or more."
        )
        said.append(text.format(bias=facts.deepest, factor=facts.divided_by))
    if len(facts.columns) < facts.width:
        text = _("{shown} of {width} columns are shown.")
        said.append(text.format(shown=len(facts.columns), width=facts.width))
    return sentences(*said)


def says_pair(facts: PairFacts) -> str:
    """What the chosen pair says at the pinned position."""
    values = " / ".join(f"{value:.3f}" for value in facts.here).replace("-", "−")
    match facts.kind:
        case PositionKind.ALIBI:
            text = _(
                "Head {head}: slope {slope:.4g}. For a query at position {position}, the "
                "score of a key {far} tokens away is lowered by {loss:.2f}, which divides "
                "its weight by {factor:,.3g} before softmax normalization."
            )
            lost = {"far": facts.farthest, "loss": facts.loss, "factor": facts.divided_by}
            head = from_one(facts.pair)
            return text.format(head=head, slope=facts.slope, position=facts.position, **lost)
        case PositionKind.LEARNED:
            text = _(
                "At position {position}, the table holds {values} for this pair. No formula "
                "links the table's rows."
            )
            return text.format(position=facts.position, values=values)
    if facts.kind is PositionKind.ROPE:
        return _turned(facts)
    text = _(
        "Pair {pair} turns once in {wave:,.1f} positions; at position {position}, it has "
        "made {turns:.2f} turns (sine and cosine {values})."
    )
    turned = {"wave": facts.length, "turns": facts.turns}
    return text.format(pair=facts.pair, position=facts.position, values=values, **turned)


def _turned(facts: PairFacts) -> str:
    """How far RoPE turns a pair, and what is left of it in a score."""
    text = _(
        "RoPE rotates pair {pair} of a query or key at position {position} by {position} × "
        "{step:.3g}° = {angle:,.4g}°. Between a query and a key k positions apart, the "
        "rotation is k × {step:.3g}°: only their distance affects the score."
    )
    step = 360 / facts.length
    angle = facts.position * step
    return text.format(pair=facts.pair, position=facts.position, step=step, angle=angle)


def says_scale(facts: KindFacts) -> str:
    """What the wavelengths, half distances or waves of a table mean here."""
    if facts.kind is PositionKind.LEARNED:
        return _smoothness(facts)
    if facts.kind is PositionKind.ALIBI:
        text = _("In {near} of {all} heads, a weight halves within the {n} positions shown.")
        return text.format(near=facts.n_within, all=len(facts.lengths), n=facts.n)
    text = _(
        "Pairs below the dashed line repeat and tell nearby positions apart; pairs above it "
        "({slow}) turn slowly and give the approximate position."
    )
    return text.format(slow=facts.n_beyond)


def _smoothness(facts: KindFacts) -> str:
    if facts.waves.empty:
        return _("There are too few positions to show a wave.")
    text = _(
        "Waves that are {length:.0f} positions or longer account for {share:.0%} of the "
        "table's variance; noise would give {even:.0%}. {reading}"
    )
    reading = _("The table looks like noise: neighboring rows have little in common.")
    if facts.is_smooth:
        reading = _("Neighboring rows are similar: the table is smooth.")
    shares = {"share": facts.slow_share, "even": facts.slow_share_of_noise}
    return text.format(length=facts.slow, reading=reading, **shares)


def says_biases(facts: LikenessFacts, head: int) -> str:
    """What a head of ALiBi takes from the farthest key."""
    text = _("At distance {far}, head {head} lowers scores by {loss:.2f}. Each line is one head.")
    return text.format(far=facts.farthest, head=from_one(head), loss=facts.loss(head))


def says_likeness(facts: LikenessFacts) -> str:
    """How alike near and far positions are."""
    ends = {"near": facts.near, "far": facts.far, "n": facts.farthest}
    if facts.kind is PositionKind.ROPE:
        text = _(
            "The score of a vector with itself keeps {near:.0%} of its size at distance 1 "
            "and {far:.0%} at distance {n} (random vectors, seed {seed}); it {falls}."
        )
        falls = _("stays above half")
        if facts.half_at is not None:
            falls = _("falls below half at distance {d}").format(d=facts.half_at)
        return text.format(seed=facts.seed, falls=falls, **ends)
    text = _(
        "The mean cosine is {near:.2f} for neighboring positions and {far:.2f} for "
        "positions {n} apart."
    )
    more = _(
        "At equal distance, cosines differ by up to {width:.2f}: similarity also depends on "
        "the positions themselves."
    )
    if facts.is_of_distance_alone:
        more = _(
            "Similarity depends on distance alone: positions equally far apart are equally similar."
        )
    return sentences(text.format(**ends), more.format(width=facts.width))


def draw_table(facts: TableFacts, *, _: Translate) -> Picture:
    """The table of a kind."""
    return matrix_picture.table(facts, terms.option(facts.kind), _=_)


def draw_scale(run: Run, kind: PositionKind, n: int, pair: int) -> Picture:
    """Wavelength of every pair, or half distance of every head."""
    return matrix_picture.scale(kind_facts(run, kind, n), pair, _=_)


def draw_biases(run: Run, kind: PositionKind, n: int, head: int) -> Picture:
    """What every head of ALiBi takes."""
    return matrix_picture.biases(likeness_facts(run, kind, n), head, _=_)


def draw_similarity(run: Run, kind: PositionKind, n: int, position: int) -> Picture:
    """Cosine of every two positions."""
    square = facts_of.similarity(run, kind, n, shared.learned(run)).float().numpy()
    return matrix_picture.similarity(square, position, _=_)


@section
def the_positions(run: Run) -> None:
    """One kind, looked at from four sides."""
    kind = shared.kind(run)
    code = (*source.positions_source(kind), position_tables.similarity)
    place = explained(("positions", "rope_scaling"), code, key="positions")
    with present.aside():
        left, right = st.columns([7, 4])
    with left:
        shared.kind_choice(run)
    with right:
        slide("n_positions", _("Positions shown"), LENGTHS, link.value("n_positions"))
    shared.run_with_it(run)
    if shared.refusal(run):
        return
    n = shared.n_positions(run)
    with place:
        if kind is PositionKind.ROPE and present.is_on():
            say(says_pair, *looked_at(run, kind, n), facts=pair_facts)
        else:
            say(says_kind, run, kind, n, facts=kind_facts)
    if kind is not PositionKind.NONE:
        four_sides(run, kind, n)


def looked_at(run: Run, kind: PositionKind, n: int) -> tuple[Run, PositionKind, int, int, int]:
    """What is shown of how many positions, with the position and the pair that are pinned."""
    return run, kind, n, min(labelled.pinned_token(run), n - 1), chosen_pair(run)


def four_sides(run: Run, kind: PositionKind, n: int) -> None:
    """The table, one pair, all wavelengths, and how alike positions are."""
    shown = looked_at(run, kind, n)
    left, right = columns([6, 5])
    with left:
        draw = draw_table
        show(draw, *shown, facts=table_facts, key="position_table", on_click=pin_and_choose)
        note(says_table(table_facts(*shown), link.value("n_positions")))
    with right:
        with present.aside():
            pair_choice(run)
        is_turned = kind is PositionKind.ROPE
        if is_turned:
            show(circle_picture.circle, *shown, facts=pair_facts, key="position_circle")
        if not (is_turned and present.is_on()):
            show(matrix_picture.pair, *shown, facts=pair_facts, key="position_curves")
            st.markdown(says_pair(pair_facts(*shown)))
    if present.is_on():
        return  # there is room for one row
    left, right = st.columns(2)
    with left:
        _scale(*shown)
    with right:
        _likeness(*shown)


def _scale(run: Run, kind: PositionKind, n: int, _position: int, pair: int) -> None:
    """All speeds at once; of a learned table, the waves that it is made of."""
    shown = run, kind, n
    if kind is PositionKind.LEARNED:
        show(matrix_picture.spectrum, *shown, facts=kind_facts, key="wavelengths")
    else:
        show(draw_scale, *shown, pair, key="wavelengths", on_click=choose_pair)
    st.markdown(says_scale(kind_facts(*shown)))


def _likeness(run: Run, kind: PositionKind, n: int, position: int, pair: int) -> None:
    """How alike two positions are: by distance, and every two where they have vectors."""
    shown = run, kind, n
    if kind is PositionKind.ALIBI:
        show(draw_biases, *shown, pair, key="likeness")
        st.markdown(says_biases(likeness_facts(*shown), pair))
        return
    show(matrix_picture.likeness, *shown, facts=likeness_facts, key="likeness")
    st.markdown(says_likeness(likeness_facts(*shown)))
    if kind.is_added:
        with details(_("All pairs of positions"), key="every_two"):
            show(draw_similarity, *shown, position, key="similarity")


def chosen_pair(run: Run) -> int:
    """The pair (of ALiBi the head) that is drawn as curves: the reader's, or one that is seen."""
    kind, asked = shared.kind(run), link.value("position_pair")
    n = n_pairs(run.config, kind)
    usual = 0 if kind is PositionKind.ALIBI else n // 4
    return max(0, min(usual if asked is None else asked, n - 1))


def pair_choice(run: Run) -> None:
    """Choose a pair by keyboard, as a click on a column does."""
    kind = shared.kind(run)
    most = n_pairs(run.config, kind) - 1
    if most > 0:
        label = _("Head") if kind is PositionKind.ALIBI else _("Feature pair")
        first = first_number(kind)
        slider("position_pair", label, chosen_pair(run), most=most, first=first)


def pin_and_choose(customdata: list[Any]) -> None:
    """A cell of the table was clicked: its position is pinned, its pair chosen."""
    link.change("token", int(customdata[0]))
    config = link.config()
    kind = PositionKind(link.value("shown_position") or config.position.position_kind)
    link.change("position_pair", pair_of(config, kind, int(customdata[1])))
    link.redraw_everything()


def choose_pair(customdata: list[Any]) -> None:
    """A mark of the wavelengths was clicked."""
    link.change("position_pair", int(customdata[0]))
