"""The positions themselves: their table, one pair of it, all wavelengths, how alike they are."""

import math
from typing import Any

import streamlit as st

from blocks.inspection import position_tables, source
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures import position_matrix
from pages.figures.counting import from_one
from pages.figures.position_matrix import Names
from pages.figures.theme import Picture
from pages.panels.positions import matrix_facts, matrix_picture, shared
from pages.panels.positions.matrix_picture import Axes
from pages.ui import labelled, link, terms
from pages.ui.chart import columns, show
from pages.ui.controls import slide, slider
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, say_fault
from pages.ui.link_fields.positions import LENGTHS
from pages.ui.said import say


def is_own(run: Run) -> bool:
    """Whether that is how this run tells positions."""
    return shared.kind(run) is run.config.position.position_kind


def chosen_position(run: Run) -> int:
    """The pinned position, from 0: that of the pinned token, or the last one shown."""
    return min(labelled.pinned_token(run), shared.n_positions(run) - 1)


def n_pairs(run: Run) -> int:
    """How many pairs there are to choose from; of ALiBi, heads."""
    config = run.config
    match shared.kind(run):
        case PositionKind.ALIBI:
            return config.n_heads
        case PositionKind.ROPE:
            return config.rotary_width // 2
        case PositionKind.NONE:
            return 0
        case _:
            return -(-config.d_model // 2)


def chosen_pair(run: Run) -> int:
    """The pair (of ALiBi the head) that is drawn as curves: the reader's, or one that is seen."""
    asked = link.value("position_pair")
    usual = 0 if shared.kind(run) is PositionKind.ALIBI else n_pairs(run) // 4
    return max(0, min(usual if asked is None else asked, n_pairs(run) - 1))


QUARTER = 0.25


def kind_sentence(run: Run, kind: PositionKind, n: int) -> str:
    """What a kind does, read off this run."""
    match kind:
        case PositionKind.NONE:
            return _(
                "No position information: no table, no rotation, no bias. The panel "
                "“Are the claims true?” measures what follows from that."
            )
        case PositionKind.LEARNED:
            return f"{_learned_source(run)} {_learned_size(run, n)}"
        case PositionKind.ALIBI:
            return _alibi_sentence(run)
        case _:
            return _waves_sentence(run, kind, n)


def _waves_sentence(run: Run, kind: PositionKind, n: int) -> str:
    waves = matrix_facts.wavelengths(run, kind)["wavelength"]
    begin = (
        _("Row p is added to the embedding of the token at position p.")
        if kind is PositionKind.SINUSOIDAL
        else _("Nothing is added: each feature pair of a query or key is rotated by its own angle.")
    )
    text = _(
        "The fastest pair completes a turn in {fast:.1f} positions, the slowest in "
        "{slow:,.0f}: {done} of {all} pairs complete one within the {n} positions shown."
    )
    found = text.format(
        fast=waves.iloc[0],
        slow=waves.iloc[-1],
        done=int((waves <= n).sum()),
        all=len(waves),
        n=n,
    )
    return f"{begin} {found}"


def _learned_source(run: Run) -> str:
    if not shared.is_own_table(run):
        text = _(
            "This model has no learned table: this one is drawn from N(0, 0.02²), seed {seed}."
        )
    elif run.weights:
        text = _("This is the table as it was learned.")
    else:
        text = _("This is the table before training: random, N(0, 0.02²), seed {seed}.")
    return text.format(seed=run.seed)


def _learned_size(run: Run, n: int) -> str:
    text = _("It has {rows} rows of {d} numbers, one per position; those shown have RMS {rms}.")
    rows = matrix_facts.table_of(run, PositionKind.LEARNED, n)
    rms = f"{math.sqrt(float((rows**2).mean())):.3f}"
    return text.format(rows=run.config.max_seq_len, d=run.config.d_model, rms=rms)


def _alibi_sentence(run: Run) -> str:
    half = matrix_facts.half_distances(run)["half_distance"]
    text = _(
        "Nothing is added to tokens: each head lowers the scores of distant keys by "
        "slope · distance. Head 1 halves a weight every {first:.2g} tokens, head {last} "
        "every {far:,.4g}."
    )
    if len(half) == 1:
        text = _(
            "Nothing is added to tokens: the head lowers the scores of distant keys by "
            "slope · distance. It halves a weight every {first:.2g} tokens."
        )
    return text.format(first=half.iloc[0], last=len(half), far=half.iloc[-1])


def table_note(run: Run, kind: PositionKind, n: int) -> str:
    """How to read the table, and what of it is shown."""
    notes = [_("Positions count from 0, as in the formula. Click to pin a position and its pair.")]
    if kind is PositionKind.LEARNED and n < link.value("n_positions"):
        text = _(
            "The table ends after {n} rows (max_seq_len): it has no vector for later positions."
        )
        notes.append(text.format(n=n))
    if kind is PositionKind.ALIBI:
        text = _("Darkest color: {bias:g} or lower, a weight divided by {factor:,.0f} or more.")
        deepest = matrix_facts.most(run, kind, n, 0)
        notes.append(text.format(bias=-deepest, factor=math.exp(deepest)))
    width = {
        PositionKind.ROPE: run.config.rotary_width // 2,
        PositionKind.ALIBI: run.config.n_heads,
    }.get(kind, run.config.d_model)
    if width > matrix_facts.SHOWN_COLUMNS:
        shown = len(matrix_facts.table(run, kind, n, 0).columns)
        notes.append(_("{shown} of {width} columns are shown.").format(shown=shown, width=width))
    return " ".join(notes)


def pair_sentence(run: Run, kind: PositionKind, n: int, pair: int, position: int) -> str:
    """What the chosen pair says at the pinned position."""
    curves = matrix_facts.pair_curves(run, kind, n, pair, position)
    if kind is PositionKind.ALIBI:
        row = matrix_facts.half_distances(run).iloc[pair]
        text = _(
            "Head {head}: slope {slope:.4g}. For a query at position {position} a key "
            "{far} tokens away loses {loss:.2f}, which divides its weight by "
            "{factor:,.3g} before softmax normalizes."
        )
        far = max(position, n - 1 - position)
        loss = row["slope"] * far
        factor = math.exp(min(loss, 700))
        said = {"slope": row["slope"], "far": far, "loss": loss, "factor": factor}
        return text.format(head=from_one(pair), position=position, **said)
    here = curves.iloc[position]
    values = [f"{here[name]:.3f}" for name in ("first", "second") if name in curves]
    if kind is PositionKind.LEARNED:
        text = _(
            "At position {position} the table holds {values} there. No formula links its rows."
        )
        return text.format(position=position, values=" / ".join(values))
    wave = matrix_facts.wavelengths(run, kind)["wavelength"].iloc[pair]
    text = _(
        "Pair {pair} completes a turn in {wave:,.1f} positions. At position {position} "
        "it has made {turns:.2f} turns: sine and cosine are {values}."
    )
    return text.format(
        pair=pair, wave=wave, position=position, turns=position / wave, values=" / ".join(values)
    )


def scale_sentence(run: Run, kind: PositionKind, n: int) -> str:
    """What the wavelengths, half distances or waves of a table mean here."""
    if kind is PositionKind.LEARNED:
        return spectrum_sentence(run, n)
    if kind is PositionKind.ALIBI:
        half = matrix_facts.half_distances(run)["half_distance"]
        text = _("In {near} of {all} heads a weight halves within the {n} positions shown.")
        return text.format(near=int((half <= n).sum()), all=len(half), n=n)
    waves = matrix_facts.wavelengths(run, kind)["wavelength"]
    slow = int((waves > n).sum())
    text = _(
        "Pairs below the dashed line repeat within the positions shown and tell near "
        "positions apart; the {slow} above it turn so slowly that they only give the "
        "rough position."
    )
    return text.format(slow=slow)


def likeness_sentence(run: Run, kind: PositionKind, n: int, head: int) -> str:
    """How alike near and far positions are; of ALiBi, what a head takes from the farthest."""
    if kind is not PositionKind.ALIBI:
        return similarity_sentence(run, kind, n)
    slope = float(matrix_facts.half_distances(run)["slope"].iloc[head])
    text = _("At distance {far} head {head} lowers a score by {loss:.2f}; one line per head.")
    return text.format(far=n - 1, head=from_one(head), loss=slope * (n - 1))


def similarity_sentence(run: Run, kind: PositionKind, n: int) -> str:
    """How alike near and far positions are."""
    if kind is PositionKind.ROPE:
        table = matrix_facts.rope_similarity(run, n)
        text = _(
            "The score of a vector with itself keeps {near:.0%} of its size one "
            "position apart and {far:.0%} at {n} (mean of 256 random vectors, seed "
            "{seed}); it {falls}."
        )
        below = table.index[table["mean"] < 0.5]
        falls = (
            _("falls below half at distance {d}").format(d=int(below[0]))
            if len(below)
            else _("stays above half")
        )
        near, far = table["mean"].iloc[1], table["mean"].iloc[-1]
        return text.format(near=near, far=far, n=n - 1, seed=run.seed, falls=falls)
    table = matrix_facts.similarity_by_distance(run, kind, n)
    near, far = table["mean"].iloc[1], table["mean"].iloc[-1]
    width = float((table["most"] - table["least"]).max())
    text = _("Neighbors have a mean cosine of {near:.2f}, positions {n} apart {far:.2f}.")
    begin = text.format(near=near, far=far, n=n - 1)
    if width < 1e-3:
        return f"{begin} " + _(
            "It depends on the distance alone: pairs at equal distance have equal similarity."
        )
    text = _(
        "Pairs at equal distance differ by up to {width:.2f}: similarity also depends on "
        "where they are."
    )
    return f"{begin} {text.format(width=width)}"


def spectrum_sentence(run: Run, n: int) -> str:
    """Whether a learned table is smooth."""
    table = matrix_facts.spectrum(run, n)
    if table.empty:
        return _("Too few positions to show a wave.")
    slow = float(table["share"][table["wavelength"] >= n / 4].sum())
    even = float((table["wavelength"] >= n / 4).mean())
    text = _(
        "Waves of {length:.0f} positions and longer hold {share:.0%} of the table's "
        "variance; noise would have {even:.0%}. {reading}"
    )
    reading = (
        _("Neighboring rows are similar: the table is smooth.")
        if slow > even + QUARTER
        else _("It looks like noise: neighboring rows have little in common.")
    )
    return text.format(length=n / 4, share=slow, even=even, reading=reading)


def table_alt(run: Run, kind: PositionKind, n: int, position: int, _pair: int) -> str:
    """Write the alt text of the table."""
    text = _("Table of {kind}: {n} positions down; position {position} is outlined. {what}")
    what = kind_sentence(run, kind, n)
    return text.format(kind=terms.option(kind), n=n, position=position, what=what)


def pair_alt(run: Run, kind: PositionKind, n: int, pair: int, position: int) -> str:
    """Write the alt text of the curves of the pair."""
    return pair_sentence(run, kind, n, pair, position)


def scale_alt(run: Run, kind: PositionKind, n: int, _pair: int) -> str:
    """Write the alt text of wavelengths, half distances or spectrum."""
    return scale_sentence(run, kind, n)


def similarity_alt(run: Run, kind: PositionKind, n: int, *_more: int) -> str:
    """Write the alt text of the similarity of positions."""
    return _alibi_sentence(run) if kind is PositionKind.ALIBI else similarity_sentence(run, kind, n)


def kind_choice(run: Run) -> None:
    """Which way to tell positions is looked at, and the way to run the model with it."""
    with st.container(key="shown_position"):
        st.segmented_control(
            _("Look at"),
            [str(kind) for kind in shared.KINDS],
            format_func=lambda name: _marked(name, run),
            required=True,
            wrap=True,
            **link.view("shown_position", str(shared.kind(run)), run.config.position.position_kind),
        )


def _marked(name: str, run: Run) -> str:
    """The model's own kind is marked."""
    label = terms.option(name)
    is_own = name == run.config.position.position_kind
    return _("{kind} · this model").format(kind=label) if is_own else label


def length_choice() -> None:
    """How many positions are shown."""
    slide("n_positions", _("Positions shown"), LENGTHS, link.value("n_positions"))


def pair_choice(run: Run) -> None:
    """Choose a pair by keyboard, as a click on a column does."""
    most = n_pairs(run) - 1
    if most > 0:
        is_alibi = shared.kind(run) is PositionKind.ALIBI
        label = _("Head") if is_alibi else _("Pair of features")
        first = first_number(shared.kind(run))
        slider("position_pair", label, chosen_pair(run), most=most, first=first)


def first_number(kind: PositionKind) -> int:
    """The number of the first column: heads count from 1, pairs and features as in the formula."""
    return from_one(0) if kind is PositionKind.ALIBI else 0


def run_with_it(run: Run) -> None:
    """Where another kind than the model's is looked at: say so, with a way to run it."""
    kind = shared.kind(run)
    if is_own(run):
        return
    own = terms.option(run.config.position.position_kind)
    text = _("This model uses {own}; below is what {kind} would be in its place.")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(text.format(own=own, kind=terms.option(kind)), width="content")
        if shared.fault_of(run, kind) is None:
            st.button(
                _("Run the model with {kind}").format(kind=terms.option(kind)),
                icon=":material/play_arrow:",
                on_click=_use,
                args=(kind,),
                key="use_position",
            )


def _use(kind: PositionKind) -> None:
    link.change("position_kind", str(kind))
    link.restore("shown_position")
    link.redraw_everything()


def refusal(run: Run) -> bool:
    """Where the kind does not fit this model: the sentence and the mend. Whether it was so."""
    fault = shared.fault_of(run, shared.kind(run))
    if fault is None:
        return False
    st.warning(say_fault(fault), icon=":material/block:")
    if "n_heads" in fault.mend:
        st.button(
            _("Use {mend}").format(mend=f"n_heads = {fault.mend['n_heads']}"),
            on_click=_mend,
            args=(fault.mend["n_heads"],),
            key="mend_position",
        )
    return True


def _mend(n_heads: int) -> None:
    link.change("n_heads", n_heads)
    link.redraw_everything()


def pin_and_choose(customdata: list[Any]) -> None:
    """A cell of the table was clicked: its position is pinned, its pair chosen."""
    link.change("token", int(customdata[0]))
    column = int(customdata[1])
    is_added = PositionKind(link.value("shown_position") or _own()).is_added
    link.change("position_pair", column // 2 if is_added else column)
    link.redraw_everything()


def _own() -> str:
    return str(link.config().position.position_kind)


def choose_pair(customdata: list[Any]) -> None:
    """A mark of the wavelengths was clicked."""
    link.change("position_pair", int(customdata[0]))


@section
def the_positions(run: Run) -> None:
    """One kind, looked at from four sides."""
    kind = shared.kind(run)
    code = (*source.positions_source(kind), position_tables.similarity)
    place = explained(("positions",), code, key="positions")
    left, right = st.columns([7, 4])
    with left:
        kind_choice(run)
    with right:
        length_choice()
    run_with_it(run)
    if refusal(run):
        return
    n = shared.n_positions(run)
    with place:
        say(kind_sentence, run, kind, n)
    if kind is not PositionKind.NONE:
        _four_sides(run, kind, n)


def _four_sides(run: Run, kind: PositionKind, n: int) -> None:
    position, pair = chosen_position(run), chosen_pair(run)
    left, right = columns([6, 5])
    with left:
        shown = run, kind, n, position, pair
        show(draw_table, *shown, key="position_table", alt=table_alt, on_click=pin_and_choose)
        note(table_note(run, kind, n))
    with right:
        pair_choice(run)
        shown = run, kind, n, pair, position
        show(draw_pair, *shown, key="position_curves", alt=pair_alt)
        st.markdown(pair_sentence(*shown))
    left, right = st.columns(2)
    with left:
        _scale(run, kind, n, pair)
    with right:
        _likeness(run, kind, n, pair, position)


def _scale(run: Run, kind: PositionKind, n: int, pair: int) -> None:
    """All speeds at once; of a learned table, the waves that it is made of."""
    is_learned = kind is PositionKind.LEARNED
    show(
        draw_spectrum if is_learned else draw_scale,
        *(run, kind, n, pair),
        key="wavelengths",
        alt=scale_alt,
        on_click=None if is_learned else choose_pair,
    )
    st.markdown(scale_sentence(run, kind, n))


def _likeness(run: Run, kind: PositionKind, n: int, pair: int, position: int) -> None:
    """How alike two positions are: by distance, and every two where they have vectors."""
    show(draw_likeness, run, kind, n, pair, key="likeness", alt=similarity_alt)
    st.markdown(likeness_sentence(run, kind, n, pair))
    if kind.is_added:
        shown = run, kind, n, position
        with st.expander(_("Every two positions"), key="every_two"):
            show(draw_similarity, *shown, key="similarity", alt=similarity_alt)


def draw_table(run: Run, kind: PositionKind, n: int, position: int, pair: int) -> Picture:
    """The table of a kind."""
    found = matrix_facts.table(run, kind, n, position)
    return position_matrix.table(
        found.values,
        found.columns,
        _table_names(kind, position),
        most=matrix_facts.most(run, kind, n, position),
        pinned=position,
        chosen=matrix_facts.columns_of(kind, pair),
        first=first_number(kind),
        tokens=run.input.labels,
        _=_,
    )


def _table_names(kind: PositionKind, position: int) -> Names:
    rows = _("position")
    match kind:
        case PositionKind.ROPE:
            return Names(_("Cosine of each pair's angle"), rows, _("pair"), _("cosine"))
        case PositionKind.ALIBI:
            title = _("Bias added to the scores of query {position}").format(position=position)
            return Names(title, _("key at position"), _("head"), _("bias"))
        case _:
            title = _("Added to the embedding, {kind}").format(kind=terms.option(kind))
            is_waves = kind is PositionKind.SINUSOIDAL
            features = _("feature: sines (even), then cosines (odd)")
            return Names(title, rows, features if is_waves else _("feature"), _("value"))


def draw_pair(run: Run, kind: PositionKind, n: int, pair: int, position: int) -> Picture:
    """One pair over the positions."""
    names: tuple[str, ...] = (_("sine"), _("cosine"))
    title = _("Pair {pair} over the positions").format(pair=pair)
    y = _("value")
    if kind is PositionKind.LEARNED:
        columns = matrix_facts.columns_of(kind, pair)
        names = tuple(_("feature {i}").format(i=column) for column in columns)
    if kind is PositionKind.ALIBI:
        names = (_("head {head}").format(head=from_one(pair)),)
        title = _("Bias of head {head} on each key").format(head=from_one(pair))
        y = _("bias")
    axes = Axes(title, _("position"), y)
    curves = matrix_facts.pair_curves(run, kind, n, pair, position)
    return matrix_picture.pair(curves, names, axes, pinned=position, _=_)


def draw_scale(run: Run, kind: PositionKind, n: int, pair: int) -> Picture:
    """Wavelength of every pair, or half distance of every head."""
    if kind is PositionKind.ALIBI:
        found = matrix_facts.half_distances(run)
        table = found.rename(columns={"head": "number", "half_distance": "length"})
        axes = Axes(_("How far each head attends"), _("head"), _("tokens until a weight halves"))
    else:
        found = matrix_facts.wavelengths(run, kind)
        table = found.rename(columns={"pair": "number", "wavelength": "length"})
        axes = Axes(_("Wavelength of each pair"), _("pair"), _("positions per turn"))
    name = _("{n} positions shown").format(n=n)
    first = first_number(kind)
    return matrix_picture.scale(
        table, axes, chosen=pair, first=first, length=n, length_name=name, _=_
    )


def draw_spectrum(run: Run, _kind: PositionKind, n: int, _pair: int) -> Picture:
    """Of which waves the learned table is made."""
    axes = Axes(
        _("Waves in the learned table"), _("wavelength in positions"), _("share of variance")
    )
    even = _("dashed: noise")
    return matrix_picture.spectrum(matrix_facts.spectrum(run, n), axes, even_name=even, _=_)


def draw_likeness(run: Run, kind: PositionKind, n: int, pair: int) -> Picture:
    """Likeness, score or bias by distance."""
    x = _("distance in positions")
    if kind is PositionKind.ALIBI:
        slopes = tuple(matrix_facts.half_distances(run)["slope"])
        axes = Axes(_("Bias against distance, every head"), x, _("bias"))
        name = _("head {head}").format(head=from_one(pair))
        return matrix_picture.biases(slopes, axes, n=n, chosen=pair, name=name, _=_)
    if kind is PositionKind.ROPE:
        table = matrix_facts.rope_similarity(run, n)
        axes = Axes(_("Dot product of a vector with itself, rotated"), x, _("share of the score"))
        names = {"mean_name": _("mean of 256 vectors"), "band_name": _("± std")}
        return matrix_picture.likeness(table, axes, **names, _=_)
    table = matrix_facts.similarity_by_distance(run, kind, n)
    axes = Axes(_("Similarity of two positions against distance"), x, _("cosine"))
    names = {"mean_name": _("mean"), "band_name": _("least to largest")}
    return matrix_picture.likeness(table, axes, **names, _=_)


def draw_similarity(run: Run, kind: PositionKind, n: int, position: int) -> Picture:
    """Cosine of every two positions."""
    names = Names(_("Similarity of every two positions"), _("position"), _("position"), _("cosine"))
    return position_matrix.square(
        matrix_facts.similarity(run, kind, n), names, pinned=position, _=_
    )
