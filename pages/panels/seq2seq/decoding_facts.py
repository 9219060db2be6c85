"""The target as it is written: kept while it is looked at, shared by all who look at the same."""

import threading
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

import pandas as pd
import streamlit as st

from blocks.inspection import predictions
from blocks.model.models import EncoderDecoder
from blocks.observe.interventions import Intervention, InterventionKind, replacements
from blocks.observe.run import Input, Run
from blocks.text.beam import BeamConfig, BeamSearch, Fate
from pages.ui import cached, link, tokens
from pages.ui.inputs import target
from pages.ui.link_fields.seq2seq import read_ids

STEPS_SHOWN, N_CHOICES = 24, 10


@dataclass(frozen=True)
class Search:
    """How the target of a run is written; `run` has nothing but the start token yet."""

    run: Run
    how: BeamConfig
    forced: tuple[int, ...]

    @property
    def n_steps(self) -> int:
        """Most tokens that can be written."""
        return min(self.how.max_new_tokens, self.run.config.max_seq_len)


@dataclass(frozen=True)
class Standing:
    """What stands when a search of `n` steps has come to `step`: the hypothesis at `place`.

    That is its place in the tree, None where nothing is written yet.
    """

    search: Search
    n: int
    step: int
    place: int | None


class Writer:
    """One search; sessions that share it take turns."""

    def __init__(self, search: Search):
        run = search.run
        self.device, self.lock = run.device, threading.Lock()
        self.beam = BeamSearch(
            cast(EncoderDecoder, cached.model(run)),
            run.config,
            run.input.padded_ids,
            search.how,
            is_source=run.input.is_token()[0].tolist(),
            forced=search.forced,
            replace=replacements(lasting(run.interventions)),
        )

    def advance_to(self, step: int) -> None:
        """Go on until there are this many steps, or the search is done."""
        while self.beam.step < step and not self.beam.is_done:
            with self.lock, cached.turn(self.device):
                if self.beam.step < step:
                    self.beam.advance()


# Few, since each keeps its model alive.
@st.cache_resource(max_entries=6, show_spinner=False, hash_funcs={Search: cached.written_out})
def writer(search: Search) -> Writer:
    """The one who writes the target; the same for all who ask for the same."""
    return Writer(search)


def lasting(changes: tuple[Intervention, ...]) -> tuple[Intervention, ...]:
    """The changes inside that hold for every new token: parts that are switched off at all."""
    off = (each for each in changes if each.kind is InterventionKind.ZERO)
    return tuple(each for each in off if each.token is None)


def current_search(run: Run) -> Search:
    """The search that the reader has set."""
    marks = tokens.marks()
    how = BeamConfig(
        start_id=marks.start,
        stop_id=marks.stop,
        beam_width=link.value("beam_width"),
        max_new_tokens=link.value("max_new_tokens"),
        length_penalty=link.value("length_penalty"),
    )
    return Search(run, how, forced_ids(run, how))


def longest(run: Run) -> Run:
    """Give the run its longest possible target, to estimate whether it fits."""
    return replace(run, target=written_target(run, (0,) * link.value("max_new_tokens")))


def forced_ids(run: Run, how: BeamConfig) -> tuple[int, ...]:
    """What the reader has put into the target, up to what this model cannot write."""
    found = read_ids(link.value("forced_ids"))[: how.max_new_tokens]
    unknown = [i for i, each in enumerate(found) if each >= run.config.vocab_size]
    ends = [i + 1 for i, each in enumerate(found) if each == how.stop_id]
    return found[: min([len(found), *unknown, *ends])]


@lru_cache(maxsize=64)
def tree(search: Search, n: int) -> pd.DataFrame:
    """What was looked at in `n` steps; `BeamSearch.frame` with the label of each token."""
    found = writer(search)
    found.advance_to(n)
    table = found.beam.frame()
    table = table[table["step"] <= n]
    if found.beam.is_done:  # what was kept to the last step and is no result has lost
        is_lost = (table["step"] == n) & (table["fate"] == str(Fate.KEPT)) & table["rank"].isna()
        table.loc[is_lost, "fate"] = str(Fate.DROPPED)
    return table.assign(label=[tokens.label(search.run, each) for each in table["token_id"]])


def standing(search: Search) -> Standing:
    """Where the reader looks: at a hypothesis, a step, or the end."""
    n = writer(search).beam.step
    node, asked = link.value("beam_node"), link.value("target_step")
    if node is not None and node < len(tree(search, n)):
        return Standing(search, n, int(tree(search, n)["step"].iloc[node]), node)
    step = n if asked is None else min(asked, n)
    return Standing(search, n, step, best_at(search, n, step))


def at_end(search: Search) -> Standing:
    """Where the search ends."""
    found = writer(search)
    found.advance_to(search.n_steps)
    n = found.beam.step
    return Standing(search, n, n, best_at(search, n, n))


def best_at(search: Search, n: int, step: int) -> int | None:
    """The best hypothesis when the search has come to this step of `n`; at the end its result."""
    table = tree(search, n)
    results = table[table["rank"] == 1]
    if step == n and len(results):
        return int(results.index[0])
    alive = table[(table["step"] == step) & (table["fate"] != str(Fate.DROPPED))]
    if len(alive):
        return int(alive.index[int(alive["log_prob"].argmax())])
    return best_at(search, n, step - 1) if step > 1 else None


def results_by_beam(here: Standing) -> tuple[Standing, ...]:
    """The best targets of a beam, the best score first."""
    ranks = nodes(here)["rank"].dropna().sort_values()
    steps = nodes(here)["step"]
    return tuple(replace(here, step=int(steps.loc[i]), place=int(i)) for i in ranks.index)


def nodes(here: Standing) -> pd.DataFrame:
    """All that was looked at."""
    return tree(here.search, here.n)


def path(here: Standing) -> tuple[int, ...]:
    """Places in the tree of all that was written, the first token first."""
    parents, place, found = nodes(here)["parent"], here.place, []
    while place is not None:
        found.append(place)
        place = None if pd.isna(parents.loc[place]) else int(parents.loc[place])
    return tuple(found[::-1])


def token_ids(here: Standing) -> tuple[int, ...]:
    """What was written, the stop token too."""
    ids = nodes(here)["token_id"]
    return tuple(int(ids.loc[place]) for place in path(here))


def decoded(here: Standing) -> Standing:
    """Where the same search stands at its last step so far."""
    n = here.n
    return replace(here, step=n, place=best_at(here.search, n, n))


def greedy_result(here: Standing) -> Standing:
    """Where greedy search would end."""
    return at_end(replace(here.search, how=replace(here.search.how, beam_width=1)))


def shown_steps(here: Standing) -> tuple[int, int]:
    """The first and the last step that are drawn: of a long target those around the chosen one."""
    first = max(1, min(here.step - STEPS_SHOWN // 2, here.n - STEPS_SHOWN + 1))
    return first, min(here.n, first + STEPS_SHOWN - 1)


def shown_nodes(here: Standing) -> pd.DataFrame:
    """The part of the tree that is drawn."""
    return nodes(here)[nodes(here)["step"].between(*shown_steps(here))]


def next_choices(here: Standing) -> pd.DataFrame:
    """What could come after what stands: token_id, label, probability; the likeliest first."""
    run = run_of(here)
    table = predictions.candidates(cached.recording(run).output[0, -1], N_CHOICES)
    return table.assign(label=[tokens.label(run, each) for each in table["token_id"]])


def written_next(here: Standing) -> int | None:
    """The token that was written after what stands here, on the path to the result."""
    stop, ids = here.search.how.stop_id, token_ids(decoded(here))
    standing_ids = tuple(each for each in token_ids(here) if each != stop)
    is_before = len(ids) > len(standing_ids) and ids[: len(standing_ids)] == standing_ids
    return ids[len(standing_ids)] if is_before else None


def written_text(here: Standing) -> str:
    """What is written, as one writes it."""
    reader = tokens.tokenizer_of(here.search.run.input.vocabulary)
    stop = here.search.how.stop_id
    return reader.decode([i for i in token_ids(here) if i < reader.vocab_size and i != stop])


def is_ended(here: Standing) -> bool:
    """Whether the stop token stands at the end."""
    return token_ids(here)[-1:] == (here.search.how.stop_id,)


def run_of(here: Standing) -> Run:
    """The run whose target is what stands here, as far as its positions reach."""
    ids = tuple(each for each in token_ids(here) if each != here.search.how.stop_id)
    return replace(here.search.run, target=written_target(here.search.run, ids))


def written_target(run: Run, ids: tuple[int, ...]) -> Input:
    """Start token and what follows; the model reads no more than max_seq_len."""
    return target(ids[: run.config.max_seq_len - 1])
