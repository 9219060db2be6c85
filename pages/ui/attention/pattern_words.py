"""Sentences about who reads whom, in one head and in all of them."""

import numpy as np

from blocks.observe.run import Run
from pages.ui import terms
from pages.ui.attention import frames, measured
from pages.ui.attention.step_words import drawn_note
from pages.ui.attention.words import head_called, token
from pages.ui.language import _, enumeration
from pages.ui.numbers import percent


def edges_sentence(run: Run, layer: int, head: int, query: int) -> str:
    """Which token is read most, over all queries."""
    pattern = np.nan_to_num(measured.head(run, layer, head).pattern)
    received = pattern.sum(axis=0)
    most = int(received.argmax())
    text = _(
        "In {head} most attention goes to {token}: all tokens together give it "
        "{total:.1f}, of {all:.0f} in total. Orange lines leave the pinned token "
        "{pinned}."
    )
    return text.format(
        head=head_called(layer, head),
        token=token(run, most),
        total=received[most],
        all=pattern.sum(),
        pinned=token(run, query),
    )


def edges_note(run: Run, layer: int, head: int, query: int, n_edges: int, least: float) -> str:
    """Which lines are drawn."""
    text = _(
        "Shown: the {n} largest weights of each token, from {least:.0%} up; all those "
        "of the pinned token."
    )
    shown = frames.window(run, query, frames.MOST_LINES)
    note = drawn_note(run, layer, head, query, shown)
    return " ".join(filter(None, (text.format(n=n_edges, least=least), note)))


def edges_alt(run: Run, layer: int, head: int, query: int, _n_edges: int) -> str:
    """The lines in words."""
    text = _("Tokens left and right, a line from each token to those it attends to. {sentence}")
    return text.format(sentence=edges_sentence(run, layer, head, query))


def table_sentence(run: Run) -> str:
    """The sharpest and the widest head, and those with a name."""
    table = measured.all_heads(run)
    sharp, wide = (
        table.loc[pick] for pick in (table["entropy_bits"].idxmin(), table["entropy_bits"].idxmax())
    )
    text = _(
        "Of {n} heads {sharp} is the sharpest ({sharp_bits:.2f} bits) and {wide} the "
        "most spread out ({wide_bits:.2f} bits). {named}"
    )
    return text.format(
        n=len(table),
        sharp=head_called(int(sharp["layer"]), int(sharp["head"])),
        sharp_bits=sharp["entropy_bits"],
        wide=head_called(int(wide["layer"]), int(wide["head"])),
        wide_bits=wide["entropy_bits"],
        named=_named(run),
    )


def _named(run: Run) -> str:
    table = measured.all_heads(run)
    counts = table.loc[table["name"] != "", "name"].value_counts()
    if counts.empty:
        return _(
            "No head puts more than half of its weight on one kind of position, so none is named."
        )
    listed = enumeration(f"{terms.head_name(name)} {n}" for name, n in counts.items())
    return _("Named, with more than half of the weight: {listed}.").format(listed=listed)


def table_alt(run: Run, *_sorted: object) -> str:
    """The heat table in words."""
    return _("One row per head, one column per measure. {sentence}").format(
        sentence=table_sentence(run)
    )


def sharpest_for(run: Run, query: int) -> tuple[int, int, int, float]:
    """Layer, head, key and weight: where the pinned token reads most from one other token."""
    return max(
        ((layer, *measured.strongest(run, layer, query)) for layer in range(run.config.n_layers)),
        key=lambda found: found[-1],
    )


def sharpest_label(run: Run, query: int) -> str:
    """What the button says that goes there."""
    layer, head, key, weight = sharpest_for(run, query)
    text = _("Sharpest for the pinned token: {head} ({share} on {key})")
    return text.format(
        head=head_called(layer, head), share=percent(weight), key=run.input.labels[key]
    )
