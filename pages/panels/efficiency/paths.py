"""The residual network as an ensemble of paths: which lengths carry gradient and output."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks import ConfigError
from blocks.inspection import paths
from blocks.inspection.paths import PathFacts
from blocks.observe.run import Run
from pages.panels.efficiency import paths_picture, shared
from pages.ui import cached
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.frame import section
from pages.ui.language import _, say_fault
from pages.ui.numbers import percent
from pages.ui.said import say

CODE = (paths.gradients_by_length, paths.streams_by_length)


@lru_cache(maxsize=32)
def path_facts(run: Run) -> PathFacts:
    """The paths of the shown model, on a held-out batch of its own task."""
    batch = shared.whole(run).examiner.batches[0]
    model = cached.model(run)
    with cached.turn(run.device):
        return paths.of_batch(model, batch.to(run.device))


def says_paths(facts: PathFacts) -> str:
    """Which length carries most, and how short the paths are that the model needs."""
    text = _(
        "{n} sub-layers make {all:,} paths. The largest share of the gradient, {share}, "
        "comes through paths of length {k}, which make up {of_paths} of all paths. With "
        "paths of length at most {enough}, the loss is within a tenth of the whole model's "
        "({loss:.3f})."
    )
    return text.format(
        n=facts.n_sublayers,
        all=facts.n_all,
        share=percent(facts.shares[facts.heaviest]),
        k=facts.heaviest,
        of_paths=percent(facts.share_of_paths[facts.heaviest]),
        enough=facts.enough,
        loss=facts.losses[-1],
    )


def path_table(facts: PathFacts) -> pd.DataFrame:
    """One row a length."""
    return pd.DataFrame(
        {
            "length": range(len(facts.n_paths)),
            "paths": facts.n_paths,
            "gradient_norm": facts.gradients,
            "loss_with_paths_up_to_it": facts.losses,
        }
    )


@section
def which_paths(run: Run) -> None:
    """Gradient by length of path; loss as paths grow, and as sub-layers are deleted."""
    place = explained(("paths",), CODE, key="paths")
    try:
        with place, st.spinner(_("Following the paths …")):
            say(says_paths, run, facts=path_facts)
    except ConfigError as error:
        place.info(say_fault(error.faults[0]), icon=":material/lightbulb:")
        return
    left, right = columns(2)
    with left:
        show(paths_picture.gradients, run, facts=path_facts, key="path_gradients")
    with right:
        show(paths_picture.losses, run, facts=path_facts, key="path_losses")
    facts = path_facts(run)
    text = _(
        "One held-out batch of the model's own task. Deletions: {n} random draws, seed "
        "{seed}; the band is their range."
    )
    note(text.format(n=paths.N_DRAWS, seed=facts.seed))
    download("paths.csv", lambda: path_table(facts).to_csv(index=False), "text/csv")
