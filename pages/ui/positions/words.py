"""Sentences about the positions of this run, and its pictures in words."""

import math

from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.ui import link, terms
from pages.ui.language import _, literal
from pages.ui.positions import measured
from pages.ui.positions.measured import SHOWN_COLUMNS

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
    waves = measured.wavelengths(run, kind)["wavelength"]
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
    if not measured.is_own_table(run):
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
    rows = measured.table_of(run, PositionKind.LEARNED, n)
    rms = f"{math.sqrt(float((rows**2).mean())):.3f}"
    return text.format(rows=run.config.max_seq_len, d=run.config.d_model, rms=rms)


def _alibi_sentence(run: Run) -> str:
    half = measured.half_distances(run)["half_distance"]
    text = _(
        "Nothing is added to tokens: each head lowers the scores of distant keys by "
        "slope · distance. Head 0 halves a weight every {first:.2g} tokens, head {last} "
        "every {far:,.4g}."
    )
    if len(half) == 1:
        text = _(
            "Nothing is added to tokens: the head lowers the scores of distant keys by "
            "slope · distance. It halves a weight every {first:.2g} tokens."
        )
    return text.format(first=half.iloc[0], last=len(half) - 1, far=half.iloc[-1])


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
        deepest = measured.most(run, kind, n, 0)
        notes.append(text.format(bias=-deepest, factor=math.exp(deepest)))
    width = {
        PositionKind.ROPE: run.config.rotary_width // 2,
        PositionKind.ALIBI: run.config.n_heads,
    }.get(kind, run.config.d_model)
    if width > SHOWN_COLUMNS:
        shown = len(measured.table(run, kind, n, 0).columns)
        notes.append(_("{shown} of {width} columns are shown.").format(shown=shown, width=width))
    return " ".join(notes)


def pair_sentence(run: Run, kind: PositionKind, n: int, pair: int, position: int) -> str:
    """What the chosen pair says at the pinned position."""
    curves = measured.pair_curves(run, kind, n, pair, position)
    if kind is PositionKind.ALIBI:
        row = measured.half_distances(run).iloc[pair]
        text = _(
            "Head {head}: slope {slope:.4g}. For a query at position {position} a key "
            "{far} tokens away loses {loss:.2f}, which divides its weight by "
            "{factor:,.3g} before softmax normalizes."
        )
        far = max(position, n - 1 - position)
        loss = row["slope"] * far
        factor = math.exp(min(loss, 700))
        said = {"head": pair, "slope": row["slope"], "far": far, "loss": loss, "factor": factor}
        return text.format(position=position, **said)
    here = curves.iloc[position]
    values = [f"{here[name]:.3f}" for name in ("first", "second") if name in curves]
    if kind is PositionKind.LEARNED:
        text = _(
            "At position {position} the table holds {values} there. No formula links its rows."
        )
        return text.format(position=position, values=" / ".join(values))
    wave = measured.wavelengths(run, kind)["wavelength"].iloc[pair]
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
        half = measured.half_distances(run)["half_distance"]
        text = _("In {near} of {all} heads a weight halves within the {n} positions shown.")
        return text.format(near=int((half <= n).sum()), all=len(half), n=n)
    waves = measured.wavelengths(run, kind)["wavelength"]
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
    slope = float(measured.half_distances(run)["slope"].iloc[head])
    text = _("At distance {far} head {head} lowers a score by {loss:.2f}; one line per head.")
    return text.format(far=n - 1, head=head, loss=slope * (n - 1))


def similarity_sentence(run: Run, kind: PositionKind, n: int) -> str:
    """How alike near and far positions are."""
    if kind is PositionKind.ROPE:
        table = measured.rope_similarity(run, n)
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
    table = measured.similarity_by_distance(run, kind, n)
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
    table = measured.spectrum(run, n)
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
    """The table in words."""
    text = _("Table of {kind}: {n} positions down; position {position} is outlined. {what}")
    what = kind_sentence(run, kind, n)
    return text.format(kind=terms.option(kind), n=n, position=position, what=what)


def pair_alt(run: Run, kind: PositionKind, n: int, pair: int, position: int) -> str:
    """The curves of the pair in words."""
    return pair_sentence(run, kind, n, pair, position)


def scale_alt(run: Run, kind: PositionKind, n: int, _pair: int) -> str:
    """Wavelengths, half distances or spectrum in words."""
    return scale_sentence(run, kind, n)


def similarity_alt(run: Run, kind: PositionKind, n: int, *_more: int) -> str:
    """Likeness of positions in words."""
    return _alibi_sentence(run) if kind is PositionKind.ALIBI else similarity_sentence(run, kind, n)


def token_name(run: Run, token: int) -> str:
    """A token inside a sentence."""
    return literal(run.input.labels[token])
