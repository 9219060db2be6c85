"""The residual network as an ensemble of paths: which lengths carry gradient and output."""

from functools import lru_cache, partial

import pandas as pd

from blocks import ConfigError
from blocks.inspection import paths
from blocks.inspection.paths import PathFacts, PathQuestion
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import ROW, Axis, Chart, Level, Look, band, bars, line
from pages.page.frame import section
from pages.panels.efficiency import score_text, shared
from pages.server import cached, starts
from pages.show.chart import columns, show
from pages.show.controls import switch
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.said import say
from pages.show.steps import in_steps
from pages.state.values import State
from pages.words.language import _, fill, say_fault
from pages.words.numbers import percent

TALL = 230
CODE = (paths.gradients_by_length, paths.streams_by_length)


def question(run: Run, measured: str) -> PathQuestion:
    """The paths of the shown model, on a held-out batch. Raises `ConfigError` where it has none."""
    batch = starts.calibrated(measured).examiner.batches[0]
    return paths.of_batch(cached.model(run), batch.to(run.device))


@lru_cache(maxsize=1024)
def part(run: Run, measured: str, i: int) -> tuple[float, ...]:
    with cached.turn(run.device):
        return question(run, measured).part(i)


@lru_cache(maxsize=32)
def path_facts(run: Run, measured: str) -> PathFacts:
    asked = question(run, measured)
    return asked.facts([part(run, measured, i) for i in range(asked.n_parts)])


def says_paths(facts: PathFacts) -> str:
    """Which length carries most, and how short the paths are that the model needs."""
    text = _(
        "The {n_sublayers} sub-layers form {n_all:,} paths. The largest share of the "
        "gradient, {share}, comes through paths of length {heaviest}, which make up "
        "{of_paths} of all paths. With only the paths of length {enough} or less, the loss is"
        " within a tenth of the whole model's ({loss:.3f})."
    )
    return fill(
        text,
        facts,
        share=percent(facts.shares[facts.heaviest]),
        of_paths=percent(facts.share_of_paths[facts.heaviest]),
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


def gradients(facts: PathFacts) -> Chart:
    """The share of the gradient by length of path, beside the share of the paths."""
    paths = Look(_("share of all paths"), palette.BEFORE, width=1.5, dash="dash")
    return Chart(
        _("Gradient at the embedding, by path length"),
        {"n": facts.n_paths, "share": facts.shares, "of_paths": facts.share_of_paths},
        _lengths(_("sub-layers on the path"), facts),
        Axis(_("share"), is_share=True, from_0=True),
        [
            bars("share", Look(_("share of the gradient"), palette.RESIDUAL)),
            line("of_paths", paths, hover=""),
        ],
        hover=_("{n:,} paths of length {row}: {share:.1%} of the gradient"),
        tall=TALL,
    )


def losses(facts: PathFacts) -> Chart:
    """The loss with paths up to each length, and with so many sub-layers kept at random."""
    low, high = ([end(each) for each in facts.kept_losses] for end in (min, max))
    ends = min(*low, *facts.losses), max(*high, *facts.losses)
    kept = _("this many sub-layers kept, the others deleted")
    return Chart(
        _("Loss with fewer paths"),
        {"low": low, "high": high, "kept": facts.kept_means, "up_to": facts.losses},
        _lengths(_("sub-layers"), facts),
        Axis(_("loss, nats (logarithmic)"), ends, is_log=True),
        [
            band("low", "high", palette.PINNED),
            line("kept", Look(kept, palette.PINNED, "circle", width=2)),
            line(
                "up_to",
                Look(_("all paths up to this length"), palette.ATTENTION, "circle", width=2),
            ),
        ],
        hover="{x}: {y:.3f}",
        tall=TALL,
        levels=[Level(facts.losses[-1])],
    )


def _lengths(title: str, facts: PathFacts) -> Axis:
    n = len(facts.n_paths)
    return Axis(title, of=ROW, ticks=range(0, n, max(1, n // 12)))


@section
def which_paths(run: Run, state: State) -> None:
    """Gradient by length of path; loss as paths grow, and as sub-layers are deleted."""
    place = explained(("paths",), CODE, key="paths")
    at = run, score_text.measured(run, state)
    try:
        asked = question(*at)
    except ConfigError as error:
        place.info(say_fault(error.faults[0]), icon=":material/lightbulb:")
        return
    asked_by = "follow_paths" if asked.is_long else ""
    if asked_by:
        switch(asked_by, _("Measure the paths here ({n} parts)").format(n=asked.n_parts))
        if not state[asked_by]:
            shared.said_time(run, asked.flops, state)
            return
    steps = [partial(part, *at, i) for i in range(asked.n_parts)]
    done = in_steps(steps, what=at, key="path_parts", asked_by=asked_by, shows_parts=False)
    if done.is_stopped:
        return
    with place:
        say(says_paths, *at, facts=path_facts)
    left, right = columns(2)
    with left:
        show(gradients, *at, facts=path_facts, key="path_gradients")
    with right:
        show(losses, *at, facts=path_facts, key="path_losses")
    facts = path_facts(*at)
    text = _(
        "Measured on {tokens:,} held-out tokens. The sub-layers to delete are drawn at random"
        " {n} times (seed {seed}); the band shows the range."
    )
    n_tokens = asked.token_ids.numel()
    note(text.format(tokens=n_tokens, n=paths.N_DRAWS, seed=facts.seed))
    download("paths.csv", lambda: path_table(facts).to_csv(index=False), "text/csv")
