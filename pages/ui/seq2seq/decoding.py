"""The target as it is written: kept while it is looked at, shared by all who look at the same."""

import threading
from dataclasses import dataclass, replace
from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.interventions import Intervention, InterventionKind, replacements
from blocks.run import Input, Run
from blocks.text.beam import BeamConfig, BeamSearch, Fate
from pages.ui import cached, link, tokens
from pages.ui.inputs import target
from pages.ui.seq2seq.fields import read_ids


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
    """What stands when the search has come to `step`: the hypothesis at `place` in its tree.

    `place` is None where nothing is written yet.
    """

    search: Search
    step: int
    place: int | None


class Writer:
    """One search; sessions that share it take turns."""

    def __init__(self, search: Search):
        run = search.run
        self.device, self.lock = run.device, threading.Lock()
        self.beam = BeamSearch(
            cached.model(run),
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
@st.cache_resource(max_entries=6, show_spinner=False)
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
    """The same run with the longest target that can come of it, to ask whether it fits."""
    return replace(run, target=written_target(run, (0,) * link.value("max_new_tokens")))


def forced_ids(run: Run, how: BeamConfig) -> tuple[int, ...]:
    """What the reader has put into the target, up to what this model cannot write."""
    found = read_ids(link.value("forced_ids"))[: how.max_new_tokens]
    unknown = [i for i, each in enumerate(found) if each >= run.config.vocab_size]
    ends = [i + 1 for i, each in enumerate(found) if each == how.stop_id]
    return found[: min([len(found), *unknown, *ends])]


@lru_cache(maxsize=64)
def tree(search: Search) -> pd.DataFrame:
    """Every hypothesis that was looked at; `BeamSearch.frame` with the label of its token."""
    beam = writer(search).beam
    table = beam.frame()
    labels = [tokens.label(search.run, token_id) for token_id in table["token_id"]]
    return table.assign(label=labels)


def n_written(search: Search) -> int:
    """Steps of the search so far."""
    return writer(search).beam.step


def standing(search: Search) -> Standing:
    """Where the reader looks: at a hypothesis, a step, or the end."""
    table, n = tree(search), n_written(search)
    node, asked = link.value("beam_node"), link.value("target_step")
    if node is not None and node < len(table):
        return Standing(search, int(table["step"].iloc[node]), node)
    step = n if asked is None else min(asked, n)
    return Standing(search, step, best_at(search, step))


def best_at(search: Search, step: int) -> int | None:
    """The best hypothesis when the search has come to this step; at the end its result."""
    table = tree(search)
    if step == 0 or table.empty:
        return None
    if step >= n_written(search):
        results = table[table["rank"] == 1]
        if len(results):
            return int(results.index[0])
    alive = table[(table["step"] == step) & (table["fate"] != str(Fate.DROPPED))]
    return int(alive["log_prob"].idxmax()) if len(alive) else best_at(search, step - 1)


def path(here: Standing) -> tuple[int, ...]:
    """Places in the tree of all that was written, the first token first."""
    parents, place, found = tree(here.search)["parent"], here.place, []
    while place is not None:
        found.append(place)
        place = None if pd.isna(parents.iloc[place]) else int(parents.iloc[place])
    return tuple(found[::-1])


def token_ids(here: Standing) -> tuple[int, ...]:
    """What was written, the stop token too."""
    ids = tree(here.search)["token_id"]
    return tuple(int(ids.iloc[place]) for place in path(here))


def run_of(here: Standing) -> Run:
    """The run whose target is what stands here, as far as its positions reach."""
    ids = tuple(each for each in token_ids(here) if each != here.search.how.stop_id)
    return replace(here.search.run, target=written_target(here.search.run, ids))


def written_target(run: Run, ids: tuple[int, ...]) -> Input:
    """Start token and what follows; the model reads no more than max_seq_len."""
    return target(ids[: run.config.max_seq_len - 1])
