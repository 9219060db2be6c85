"""What comes next: the model's own probabilities, and what sampling makes of them."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from blocks.observe.run import Run
from blocks.text import sampling as source
from blocks.text.sampling import SamplingConfig
from pages.figures.theme import Picture
from pages.panels.gpt import next_token_picture, shared
from pages.ui import link, tokens
from pages.ui.chart import columns, show
from pages.ui.controls import slide, slider
from pages.ui.explain import explained, note
from pages.ui.language import _, current_language, literal
from pages.ui.numbers import percent
from pages.ui.said import say


def next_tokens(run: Run, position: int, sampling: SamplingConfig) -> None:
    """The whole vocabulary, searchable, where the reader opens it."""
    name = _("The whole vocabulary: {n:,} tokens").format(n=run.config.vocab_size)
    box = st.expander(name, key="vocabulary", on_change="rerun", icon=":material/table_rows:")
    if not box.open:
        return
    table = shared.vocabulary(run, position, sampling)
    names = {
        "rank": _("rank"),
        "token": _("token"),
        "token_id": _("id"),
        "logit": _("logit"),
        "scaled": _("÷ temperature"),
        "kept": _("kept"),
        "model_probability": _("the model's own"),
        "probability": _("sampling probability"),
    }
    percent = st.column_config.NumberColumn(format="%.4f %%")
    shown = table.assign(
        model_probability=100 * table["model_probability"], probability=100 * table["probability"]
    )
    columns = {names[name]: percent for name in ("model_probability", "probability")}
    with box:
        st.caption(_("Search with the magnifying glass above the table; click a column to sort."))
        st.dataframe(
            shown.rename(columns=names),
            hide_index=True,
            key="vocabulary_table",
            column_config=columns,
            height=400,
        )


def next_sentence(run: Run, position: int, sampling: SamplingConfig) -> str:
    """What comes first, how many are left to draw from, and how open it is."""
    found = outlook(run, position, sampling)
    text = _("After {token} the top prediction is {first}.")
    said = [text.format(token=literal(run.input.labels[position]), first=literal(found.label))]
    if sampling.is_greedy:
        said.append(_("Temperature 0 is greedy: the most probable token is always taken."))
    else:
        said.append(_kept(run, found))
    if not run.weights:
        text = _(
            "The weights are random (seed {seed}): no token is much more probable than another."
        )
        said.append(text.format(seed=run.seed))
    return " ".join(said)


class Outlook(NamedTuple):
    """The next token in numbers: the first one, how many are kept, how open it is."""

    label: str
    probability: float
    n_kept: int
    dropped: float
    bits: float


def _kept(run: Run, found: Outlook) -> str:
    text = _(
        "Its sampling probability is {probability}. {n:,} of {vocab_size:,} tokens can "
        "be sampled; entropy {bits:.2f} bits, as uncertain as {alike:,.1f} equally "
        "likely tokens."
    )
    said = text.format(
        probability=percent(found.probability),
        n=found.n_kept,
        vocab_size=run.config.vocab_size,
        alike=2**found.bits,
        bits=found.bits,
    )
    if found.n_kept == run.config.vocab_size:
        return said
    return said + " " + _("Those excluded had {share}.").format(share=percent(found.dropped))


def next_alt(run: Run, position: int, sampling: SamplingConfig) -> str:
    """Write the alt text of the likeliest tokens."""
    rows = likeliest(run, position, sampling).itertuples()
    listed = "; ".join(
        f"{row.label} {row.model_probability:.1%} → {row.probability:.1%}" for row in rows
    )
    text = _(
        "Next-token probabilities after position {n}, before and after the sampling "
        "settings: {listed}."
    )
    return text.format(n=position + 1, listed=listed)


N_LIKELIEST = 20


def likeliest(run: Run, position: int, sampling: SamplingConfig) -> pd.DataFrame:
    """The first of them with their labels, and one row for all others together."""
    return _likeliest(run, position, sampling, current_language())


@lru_cache(maxsize=64)
def _likeliest(run: Run, position: int, sampling: SamplingConfig, language: str) -> pd.DataFrame:
    table = shared.next_tokens(run, position, sampling)
    first, rest = table[:N_LIKELIEST], table[N_LIKELIEST:]
    first = first.assign(label=[tokens.label(run, token_id) for token_id in first["token_id"]])
    if rest.empty:
        return first
    others = {
        "label": _("{n:,} others").format(n=len(rest)),
        "kept": bool(rest["kept"].any()),
        "probability": rest["probability"].sum(),
        "model_probability": rest["model_probability"].sum(),
    }
    return pd.concat([first, pd.DataFrame([others])], ignore_index=True)


@lru_cache(maxsize=64)
def outlook(run: Run, position: int, sampling: SamplingConfig) -> Outlook:
    """Read off the whole vocabulary; `dropped` is the model's own probability that is cut off."""
    table = shared.next_tokens(run, position, sampling)
    kept = table[table["kept"]]
    shares = kept["probability"].to_numpy()
    shares = shares[shares > 0]
    return Outlook(
        label=tokens.label(run, int(table["token_id"][0])),
        probability=float(table["probability"][0]),
        n_kept=len(kept),
        dropped=float(table["model_probability"][~table["kept"]].sum()),
        bits=max(0.0, float(-(shares * np.log2(shares)).sum())),
    )


TOP_K = (0, 1, 2, 3, 5, 8, 10, 20, 50, 100, 200, 500)


def sampling_controls() -> None:
    """Temperature, top-k, top-p: the model does not run again for any of them."""
    slider("temperature", _("temperature · 0 is greedy"), link.value("temperature"), step=0.05)
    slide("top_k", _("top_k · 0 keeps all"), TOP_K, link.value("top_k"))
    slider("top_p", _("top_p · 1 keeps all"), link.value("top_p"), step=0.01)


def what_comes_next(run: Run, position: int, sampling: SamplingConfig) -> None:
    """The likeliest tokens after the pinned one, before and after sampling."""
    code = (source.filtered, source.choose, source.next_tokens)
    place = explained(("sampling",), code, key="next")
    if said := shared.sees_ahead(run):
        note(said)
    left, right = columns([4, 7], gap="large")
    with left:
        sampling_controls()
        with place:
            say(next_sentence, run, position, sampling)
    with right:
        show(draw_next, run, position, sampling, key="next_bars", alt=next_alt)
    next_tokens(run, position, sampling)


def draw_next(run: Run, position: int, sampling: SamplingConfig) -> Picture:
    """The likeliest tokens, and the chance of each."""
    return next_token_picture.bars(
        likeliest(run, position, sampling), after=run.input.labels[position], _=_
    )
