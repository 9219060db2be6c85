"""Sentences about the lens and about surprise."""

import math

from blocks.observe.run import Run
from pages.ui import predicted
from pages.ui.language import _, literal
from pages.ui.numbers import percent


def layer_name(layer: int) -> str:
    """What a row of the lens is called; 0 is before the first layer."""
    return _("layer {layer}").format(layer=layer) if layer else _("embedding")


def lens_sentence(run: Run, position: int) -> str:
    """From which layer on the final answer stands first."""
    lens, layer = predicted.lens(run), predicted.decided(run, position)
    final = predicted.lens_view(run, position)
    row = final.positions.index(position)
    text = _("At the pinned token {token} the answer {answer} ranks first from “{layer}” on.")
    said = text.format(
        token=literal(run.input.labels[position]),
        answer=literal(final.labels[row][-1]),
        layer=layer_name(layer),
    )
    before = _("Before the first layer it ranked {rank:,} of {vocab_size:,}.")
    return f"{said} " + before.format(
        rank=int(lens.rank[0, position]), vocab_size=run.config.vocab_size
    )


def lens_note(run: Run, position: int) -> str:
    """How to read the grid, and which part of it is shown."""
    view = predicted.lens_view(run, position)
    said = [_("Small number: rank of the final answer at this layer; #1 means decided.")]
    if len(view.positions) < len(run.input.labels):
        text = _("Positions {first} to {last} of {n}: pin another token to see others.")
        first, last = view.positions[0] + 1, view.positions[-1] + 1
        said.append(text.format(first=first, last=last, n=len(run.input.labels)))
    if len(view.layers) <= run.config.n_layers:
        text = _("{shown} of {n} layers are drawn; the table has all of them.")
        said.append(text.format(shown=len(view.layers), n=run.config.n_layers + 1))
    return " ".join(said)


def lens_hovers(run: Run, position: int) -> list[list[str]]:
    """What is said of each cell under the cursor, as plain text."""
    view = predicted.lens_view(run, position)
    return [
        [
            _hover(run, at, layer, label, float(chance), int(rank))
            for layer, label, chance, rank in zip(view.layers, *cells, strict=True)
        ]
        for at, *cells in zip(view.positions, view.labels, view.probability, view.rank, strict=True)
    ]


def _hover(run: Run, at: int, layer: int, label: str, chance: float, rank: int) -> str:
    text = _(
        "position {position}, {token} · {layer}: {label} {chance:.2%} · "
        "the final answer is at rank {rank:,}"
    )
    return text.format(
        position=at + 1,
        token=run.input.labels[at],
        layer=layer_name(layer),
        label=label,
        chance=chance,
        rank=rank,
    )


def lens_alt(run: Run, position: int) -> str:
    """The pinned row of the lens in words."""
    view = predicted.lens_view(run, position)
    row = view.positions.index(position)
    cells = zip(view.layers, view.labels[row], view.probability[row], strict=True)
    listed = "; ".join(f"{layer_name(layer)} {label} {share:.1%}" for layer, label, share in cells)
    text = _("Prediction read off at each layer after {token}: {listed}.")
    return text.format(token=run.input.labels[position], listed=listed)


def one_token_only() -> str:
    """Where no token has one before it."""
    return _("Surprisal needs two tokens: nothing precedes the first. Type a longer text.")


def surprise_sentence(run: Run) -> str:
    """Loss, perplexity, and the token that surprised most."""
    table = predicted.surprise(run)
    bits = table["bits"].mean()
    text = _(
        "Mean loss {nats:.2f} nats = {bits:.2f} bits per token, perplexity "
        "{perplexity:,.1f}: as uncertain as choosing among {perplexity:,.1f} equally "
        "likely tokens; a uniform guess over {vocab_size:,} would cost {even:.2f} bits."
    )
    said = text.format(
        nats=bits * math.log(2),
        bits=bits,
        perplexity=2**bits,
        vocab_size=run.config.vocab_size,
        even=predicted.guess_bits(run),
    )
    return f"{said} {_most_surprising(run)}"


def _most_surprising(run: Run) -> str:
    table = predicted.surprise(run)
    most = table.loc[table["bits"].idxmax()]
    text = _(
        "The most surprising token is {token} at position {position}: {bits:.2f} bits, "
        "probability {share}, rank {rank:,}."
    )
    return text.format(
        token=literal(most["label"]),
        position=most["position"] + 1,
        bits=most["bits"],
        share=percent(most["probability"]),
        rank=most["rank"],
    )


def surprise_alt(run: Run, _pinned: int) -> str:
    """Surprise in words."""
    rows = predicted.surprise(run).itertuples()
    listed = "; ".join(f"{row.label} {row.bits:.1f}" for row in rows)
    return _("Surprisal of each token in bits: {listed}.").format(listed=listed)
