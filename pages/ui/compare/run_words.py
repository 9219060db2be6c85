"""Sentences of the page that compares that read the runs of both."""

import numpy as np

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from pages.figures.theme import token_label
from pages.ui import labelled
from pages.ui.compare import frames, measured, sides
from pages.ui.compare.sides import Pair
from pages.ui.compare.words import in_rows
from pages.ui.language import _, literal
from pages.ui.numbers import percent, readable

STAGES = {
    "resid_post": N_("the stream after the layer"),
    "attention_out": N_("attention output"),
    "feed_forward_out": N_("feed-forward output"),
}
MOMENTS = {
    "rms": "RMS",
    "std": N_("std"),
    "mean": N_("mean"),
    "min": N_("min"),
    "max": N_("max"),
    "outlier_share": N_("beyond 3 std"),
}


def stage(name: str) -> str:
    """What is followed through the layers."""
    return _(STAGES[name])


def moment(name: str) -> str:
    """What is read off its values."""
    return _(MOMENTS[name])


def cannot_run(name: str, why: str) -> str:
    """Why one of them is counted only."""
    text = _("{name} is only counted here, not run. {why}. What needs a run of both is left out.")
    return text.format(name=literal(name), why=why.rstrip("."))


def overflow(pair: Pair) -> str:
    """Which of them grew beyond its number format; nothing where none did."""
    sizes = zip(sides.names(pair), pair.both, strict=True)
    found = [(name, run.dtype) for name, run in sizes if not measured.is_finite(run)]
    text = _("The values of {name} overflowed {dtype}: there is nothing to compare.")
    return " ".join(text.format(name=literal(name), dtype=dtype) for name, dtype in found)


def tokens_differ(pair: Pair) -> str:
    """Why patterns are not subtracted."""
    n_a, n_b = (run.input.shape[1] for run in pair.both)
    text = _(
        "A and B tokenize this text differently ({n_a} and {n_b} tokens), so their "
        "attention cannot be compared cell by cell."
    )
    return text.format(n_a=n_a, n_b=n_b)


def flow_sentence(pair: Pair, stage_name: str, moment_name: str) -> str:
    """Both after the last common layer, and where they part most."""
    a, b = (measured.over_layers(run, stage_name, moment_name) for run in pair.both)
    both = a.merge(b, on="layer", suffixes=("_a", "_b"))
    start, last = both.iloc[0], both.iloc[-1]
    text = _(
        "{stage}, {moment}: A goes from {a_start} to {a_end}, B from {b_start} to "
        "{b_end} (layers {first} to {last}). They are furthest apart at layer {apart}."
    )
    apart = both["layer"][(both["value_b"] - both["value_a"]).abs().idxmax()]
    said = text.format(
        stage=_capital(stage(stage_name)),
        moment=moment(moment_name),
        a_start=readable(start["value_a"]),
        a_end=readable(last["value_a"]),
        b_start=readable(start["value_b"]),
        b_end=readable(last["value_b"]),
        first=int(start["layer"]),
        last=int(last["layer"]),
        apart=int(apart),
    )
    return f"{said} {_depths(pair)}".strip()


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _depths(pair: Pair) -> str:
    n_a, n_b = (run.config.n_layers for run in pair.both)
    if n_a == n_b:
        return ""
    return _("A has {n_a} layers, B {n_b}.").format(n_a=n_a, n_b=n_b)


def flow_alt(pair: Pair, stage_name: str, moment_name: str, *_layer: int) -> str:
    """The lines in words."""
    text = _("Two lines over the layers, and their difference below. {sentence}")
    return text.format(sentence=flow_sentence(pair, stage_name, moment_name))


def stages_alt(pair: Pair, layer: int, side: int) -> str:
    """The stages of one side in words."""
    rows = labelled.stages(pair.both[side], layer).itertuples()
    said = "; ".join(f"{row.label} {row.mean:.2f} ± {row.std:.2f}" for row in rows)
    text = _("{name}, layer {layer}, mean and standard deviation at each stage: {rows}.")
    return text.format(name=sides.names(pair)[side], layer=layer + 1, rows=said)


def heads_sentence(pair: Pair, layer: int) -> str:
    """How far apart the heads are, which most, and which other head is nearer."""
    found = measured.distances(pair)
    text = _(
        "Heads of A and B with the same number are {mean:.3f} apart on average (0: "
        "identical, 1: disjoint; {n} queries). Furthest apart: layer {layer}, head "
        "{head}, {most:.3f}."
    )
    place = np.unravel_index(found.argmax(), found.shape)
    said = text.format(
        mean=found.mean(),
        n=measured.n_compared(pair),
        layer=place[0] + 1,
        head=place[1],
        most=found.max(),
    )
    return f"{said} {_nearest(pair, layer)}"


def _nearest(pair: Pair, layer: int) -> str:
    """Whether heads keep their numbers, in one layer."""
    matrix = measured.matrix(pair, layer)
    nearest = matrix.argmin(axis=1)
    n_own = sum(int(place) == i for i, place in enumerate(nearest))
    text = _("In layer {layer} the nearest head of B has the same number for {n} of {all} heads.")
    return text.format(layer=layer + 1, n=n_own, all=len(nearest))


def heads_note(pair: Pair) -> str:
    """How to read the distances."""
    same = _(
        "Distance: half the sum of |A − B| over the keys (total variation), averaged "
        "over the queries that can attend to more than one key."
    )
    if all(run.weights for run in pair.both) and pair.a.weights != pair.b.weights:
        more = _("Heads have no order: models trained separately need not number them alike.")
        return f"{same} {more}"
    return same


def tiles_alt(pair: Pair, side: int, layer: int, head: int, *_token: int) -> str:
    """All heads of one side in words."""
    text = _("{name}: all {n} heads of layer {layer}, head {head} outlined.")
    n = pair.both[side].config.n_heads
    return text.format(name=sides.names(pair)[side], n=n, layer=layer + 1, head=head)


def distances_alt(pair: Pair, layer: int, *_head: int) -> str:
    """The map of distances in words."""
    return heads_sentence(pair, layer)


def matrix_alt(pair: Pair, layer: int) -> str:
    """The map of every head against every head in words."""
    text = _("Distance from each head of A (rows) to each head of B (columns). {sentence}")
    return text.format(sentence=_nearest(pair, layer))


def head_sentence(pair: Pair, layer: int, head: int, token: int) -> str:
    """Where the pinned token reads from in both."""
    a, b = (measured.one_head(run, layer, head).weights[token] for run in pair.both)
    if np.isnan(a).all() or np.isnan(b).all():
        return _("The pinned token cannot attend to any key in one of them.")
    labels_a, labels_b = pair.a.input.labels, pair.b.input.labels
    key_a, key_b = int(np.nanargmax(a)), int(np.nanargmax(b))
    text = _(
        "{token} (token {place}) attends most to {key_a} in A ({weight_a:.2f}) and to "
        "{key_b} in B ({weight_b:.2f})."
    )
    if not pair.reads_the_same:
        text = _(
            "Token {place} is {token_a} in A and attends most to {key_a} "
            "({weight_a:.2f}); in B it is {token} and attends most to {key_b} "
            "({weight_b:.2f})."
        )
    said = text.format(
        token=literal(labels_b[token]),
        token_a=literal(labels_a[token]),
        place=token + 1,
        key_a=literal(labels_a[key_a]),
        key_b=literal(labels_b[key_b]),
        weight_a=a[key_a],
        weight_b=b[key_b],
    )
    return f"{said} {_moved(pair, layer, head, token)}".strip()


def _moved(pair: Pair, layer: int, head: int, token: int) -> str:
    """How much weight lies elsewhere; nothing where the tokens are others."""
    if not pair.reads_the_same:
        return ""
    difference = measured.difference(pair, layer, head)[token]
    text = _("{share} of its weight lies on other keys; {mean} on average over the head's queries.")
    share, mean = np.abs(np.nan_to_num(difference)).sum() / 2, measured.distances(pair)[layer, head]
    return text.format(share=percent(float(share)), mean=percent(float(mean)))


def one_alt(pair: Pair, side: int, layer: int, head: int, token: int) -> str:
    """One head of one side in words."""
    text = _("{name}, layer {layer}, head {head}. {sentence}")
    return text.format(
        name=sides.names(pair)[side],
        layer=layer + 1,
        head=head,
        sentence=head_sentence(pair, layer, head, token),
    )


def difference_alt(pair: Pair, layer: int, head: int, token: int) -> str:
    """The difference in words."""
    text = _("B − A in layer {layer}, head {head}. {sentence}")
    sentence = head_sentence(pair, layer, head, token)
    return text.format(layer=layer + 1, head=head, sentence=sentence)


def expected_sentence(pair: Pair, place: int) -> str:
    """What both expect most, and how far apart they are."""
    found, table = measured.expected(pair.a, pair.b, place), frames.expected(pair, place)
    first_a, first_b = (table.loc[table[side].idxmax()] for side in ("a", "b"))
    text = _(
        "A's top prediction is {a} ({p_a}), B's is {b} ({p_b}). The two distributions "
        "differ in {share} of their probability; over the whole text the top "
        "predictions agree at {agreement} of positions."
    )
    return text.format(
        a=literal(first_a["label"]),
        p_a=first_a["said_a"],
        b=literal(first_b["label"]),
        p_b=first_b["said_b"],
        share=percent(found.distance),
        agreement=percent(found.agreement),
    )


def expected_alt(pair: Pair, place: int) -> str:
    """The bars in words."""
    return f"{expected_sentence(pair, place)} {in_rows(frames.expected(pair, place))}"


def encoder_only() -> str:
    """What is compared of a model that reads a source and writes a target."""
    return _("Of an encoder–decoder, the encoder is compared: it reads the text.")


def flow_title(stage_name: str, moment_name: str) -> str:
    """What is drawn over the layers."""
    return f"{_capital(stage(stage_name))}: {moment(moment_name)}"


def tiles_title(pair: Pair, side: int, layer: int) -> str:
    """Whose heads these are."""
    letter = "AB"[side]
    text = _("{letter}: all heads of layer {layer}")
    return text.format(letter=letter, layer=layer + 1)


def expected_title(pair: Pair, place: int) -> str:
    """Where it is expected."""
    token = token_label(pair.b.input.labels[place])
    if pair.b.config.architecture is Architecture.ENCODER:
        return _("Predictions of both at {token}").format(token=token)
    return _("Predictions of both after {token}").format(token=token)


def expected_note(pair: Pair) -> str:
    """Whether the numbers mean anything."""
    random = [letter for letter, run in zip("AB", pair.both, strict=True) if not run.weights]
    said = _("At temperature 1, at the pinned token: the most probable tokens of either.")
    if not random:
        return said
    more = _("Random weights (seed {seed}): {which}; such predictions are meaningless.")
    return f"{said} {more.format(which=', '.join(random), seed=pair.b.seed)}"
