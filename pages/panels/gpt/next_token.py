"""What comes next: the model's own probabilities, and what sampling makes of them."""

from functools import lru_cache, partial

import pandas as pd
import streamlit as st

from blocks.inspection import next_token
from blocks.inspection.next_token import NextFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.text import sampling as source
from blocks.text.sampling import SamplingConfig
from pages.page.declared import Panel
from pages.panels.gpt import next_token_picture, shared
from pages.server import cached
from pages.show.chart import columns, show
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.parts import File, Matrix, the_values
from pages.show.said import say
from pages.stage import present, tokens
from pages.state.values import State
from pages.words.language import _, fill, sentences


@lru_cache(maxsize=8)
def next_facts(run: Run, position: int, sampling: SamplingConfig) -> NextFacts:
    found = next_token.vocabulary(cached.recording(run).output[0, position], sampling)
    return NextFacts(run, position, sampling, found, partial(tokens.label, run))


@lru_cache(maxsize=8)
def whole_vocabulary(run: Run, position: int, sampling: SamplingConfig) -> pd.DataFrame:
    """Every token that could come next."""
    found = next_facts(run, position, sampling).tokens
    found = found.assign(token=[tokens.label(run, token_id) for token_id in found["token_id"]])
    columns = ["rank", "token", "token_id", "logit", "scaled", "kept"]
    return found[[*columns, "model_probability", "probability"]]


def says_next(facts: NextFacts) -> str:
    """What comes first, how many are left to draw from, and how open it is."""
    n = len(facts.tokens)
    after = _("After {after:token} the top prediction is {first:token}.")
    kept = _(
        "Its sampling probability is {probability:percent}. {n_kept:,} of {n:,} tokens can be "
        "sampled; the entropy is {bits:.2f} bits, equivalent to a choice among {n_alike:,.1f} "
        "equally likely tokens."
    )
    dropped = _("The excluded tokens had a total probability of {dropped:percent}.")
    if facts.sampling.is_greedy:
        kept = _("Temperature 0 is greedy: the most probable token is always chosen.")
    chance = _(
        "The weights are random (seed {run.seed}), so no token is much more probable than another."
    )
    return sentences(
        fill(after, facts, first=facts.likeliest["label"].iloc[0]),
        fill(kept, facts, n=n),
        "" if facts.sampling.is_greedy or facts.n_kept == n else fill(dropped, facts),
        "" if facts.run.weights else fill(chance, facts),
    )


def of_the_pinned(run: Run, state: State) -> tuple[Run, int, SamplingConfig]:
    return *shared.pinned(run, state), shared.current_sampling(state)


def what_comes_next(run: Run, state: State) -> None:
    """The likeliest tokens after the pinned one, before and after sampling."""
    values = of_the_pinned(run, state)
    code = (source.filtered, source.choose, source.next_tokens)
    place = explained(("sampling",), code, key="next")
    if said := shared.says_ahead(run):
        note(said)
    in_class = present.is_on()
    left, right = (st.sidebar, st.container()) if in_class else columns([4, 7], gap="large")
    with left:
        shared.temperature()
        shared.top_k()
        shared.top_p()
    with place:
        say(says_next, *values, facts=next_facts)
    with right:
        show(next_token_picture.bars, *values, facts=next_facts, key="next_bars", room=490)
    searchable(*values)


def searchable(run: Run, position: int, sampling: SamplingConfig) -> None:
    """The whole vocabulary, where the reader opens it."""
    name = _("The whole vocabulary: {n:,} tokens").format(n=run.config.vocab_size)
    box = details(name, key="vocabulary", on_change="rerun", icon=":material/table_rows:")
    if not box.open:
        return
    names = {
        "rank": _("rank"),
        "token": _("token"),
        "token_id": _("id"),
        "logit": _("logit"),
        "scaled": _("÷ temperature"),
        "kept": _("kept"),
        "model_probability": _("model probability"),
        "probability": _("sampling probability"),
    }
    shares = ["model_probability", "probability"]
    found = whole_vocabulary(run, position, sampling)
    found = found.assign(**{name: 100 * found[name] for name in shares})
    with box:
        st.caption(_("Search with the magnifying glass above the table; click a column to sort."))
        st.dataframe(
            found.rename(columns=names),
            hide_index=True,
            key="vocabulary_table",
            column_config={
                names[name]: st.column_config.NumberColumn(format="%.4f %%") for name in shares
            },
            height=400,
        )


PANEL = Panel(
    "next",
    N_("What comes next?"),
    what_comes_next,
    of_predictions=True,
    fields=("n_layers", "d_model", "n_heads"),
    at=of_the_pinned,
    facts=next_facts,
    shows=(
        File(whole_vocabulary, "next_tokens", facts=the_values),
        Matrix(next_token_picture.bars, "next_bars"),
    ),
)
