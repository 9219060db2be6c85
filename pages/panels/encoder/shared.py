"""Sentences that read a whole encoder."""

import pandas as pd
import streamlit as st

from blocks.observe.run import Run
from blocks.text.bpe import MASK
from pages.ui import layers, starts, terms, tokens
from pages.ui.language import _, literal


def layers_table(run: Run) -> None:
    """The stream after every layer, with the length of a token's vector."""
    stream = layers.flow(run)
    shown = pd.DataFrame(
        {
            _("after"): stream["label"],
            _("mean"): stream["mean"],
            _("std"): stream["std"],
            _("min"): stream["min"],
            _("max"): stream["max"],
            _("token norm (RMS · √d_model)"): stream["token_norm"],
        }
    )
    st.dataframe(shown.round(4), hide_index=True, key="layer_table", height="content")


def guesses(run: Run) -> None:
    """What the model would write at each position."""
    table = layers.guesses(run)
    shown = pd.DataFrame(
        {
            _("position"): range(1, len(table) + 1),
            _("token it read"): table["token"],
            _("most probable token"): table["guess"],
            _("probability"): table["probability"].map("{:.1%}".format),
        }
    )
    st.dataframe(shown, hide_index=True, key="guess_table", height=380)


def guess_sentence(run: Run, token: int) -> str:
    """What the model expects at the pinned token, and what really stands there."""
    first = layers.candidates(run, token).iloc[0]
    text = _("At position {position} the model predicts {guess} ({probability:.0%}).")
    guess = text.format(
        position=token + 1, guess=literal(first["label"]), probability=first["probability"]
    )
    return " ".join((guess, *_hidden(run, token), *_written(run), _trained_for(run)))


def _written(run: Run) -> tuple[str, ...]:
    """All guesses in a row: of a model that sorts, the sorted letters."""
    if not run.weights:
        return ()
    text = _("Taken together it would write {text}.")
    return (text.format(text=literal(layers.written(run))),)


def _hidden(run: Run, token: int) -> tuple[str, ...]:
    if run.input.labels[token] != MASK:
        return ()
    text = _("The input there is [MASK]; the masked word is {word}.")
    return (text.format(word=literal(tokens.reading().pieces[token].label)),)


def _trained_for(run: Run) -> str:
    if not run.weights:
        text = _("The weights are random (seed {seed}): these predictions mean nothing yet.")
        return text.format(seed=run.seed)
    card = starts.model(run.weights).card
    if card.score is None:
        return ""
    text = _("Trained on {task} (seed {seed}); {score_name} on unseen data: {score:.1%}.")
    return text.format(
        task=terms.option(card.task),
        seed=card.seed,
        score_name=_(card.score_name),
        score=card.score,
    )


def candidates_alt(run: Run, token: int) -> str:
    """Write the alt text of the candidates."""
    rows = layers.candidates(run, token).itertuples()
    listed = "; ".join(f"{row.label} {row.probability:.1%}" for row in rows)
    return _("Most probable tokens at position {n}: {listed}.").format(n=token + 1, listed=listed)


def layers_sentence(run: Run) -> str:
    """How the stream grows from layer to layer."""
    table = layers.flow(run)
    stream = table[table["part"] == "stream"]
    text = _(
        "RMS {start:.2f} after the embedding, {first:.2f} after layer 1, {last:.2f} at the end."
    )
    numbers = text.format(
        start=table["rms"].iloc[0], first=stream["rms"].iloc[0], last=stream["rms"].iloc[-1]
    )
    if run.config.norm.norm_placement == "post":
        return numbers + " " + _("Post-norm brings every layer back to the same scale.")
    return numbers + " " + _("Every layer adds to the residual stream; see whether one adds most.")


def layers_alt(run: Run, *_before: Run | None) -> str:
    """Write the alt text of the picture of the layers."""
    rows = layers.flow(run).itertuples()
    listed = "; ".join(f"{row.label} {row.mean:.2f} ± {row.std:.2f}" for row in rows)
    return _("Mean and standard deviation after each layer: {listed}.").format(listed=listed)
