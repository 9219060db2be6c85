"""Does a learning rate carry over to wider models? A check of coordinates, and best rates."""

from functools import lru_cache
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError
from blocks.observe.run import Run
from blocks.scaling import plan, transfer
from blocks.scaling.series import recorded
from blocks.scaling.transfer import (
    OPTIMIZERS,
    CoordinateCheck,
    Moved,
    RateSearch,
    Scheme,
    Tried,
    narrowest,
    shipped_searches,
    slope,
    widths_of,
)
from blocks.training.optimizers import build_optimizers
from blocks.training.recipe import OptimizerKind
from pages.figures.chart import Axis, Chart, Legend, Look, line
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.scaling.charts import tried_axis
from pages.panels.scaling.rates import COLORS, NAMES, RATE_ITEMS, rate_facts
from pages.show import words
from pages.show.chart import show
from pages.show.controls import choose, switch
from pages.show.explain import explained, note
from pages.show.parts import Given
from pages.show.said import say
from pages.show.steps import in_series
from pages.stage import present
from pages.state.values import State
from pages.words.language import _, say_fault, sentences

WORK = 64  # of an update beside what grows with the width
FLAT = 0.1  # slopes below this count as flat


class SlopeFacts(NamedTuple):
    """How far a few updates moved stream and logits at each width, and with which power of it."""

    found: tuple[Moved, ...]

    def slopes(self, scheme: Scheme) -> tuple[float, float]:
        """Of the stream and of the logits."""
        of = [each for each in self.found if each.scheme is scheme]
        widths = [each.width for each in of]
        return (
            slope(widths, [each.stream[-1] for each in of]),
            slope(widths, [each.logits[-1] for each in of]),
        )

    @property
    def is_flat(self) -> bool:
        return max(map(abs, self.slopes(Scheme.MUP))) < FLAT

    @property
    def n_updates(self) -> int:
        return len(self.found[0].logits)


slope_facts = lru_cache(maxsize=16)(SlopeFacts)


def says_slopes(facts: SlopeFacts) -> str:
    """The powers of the width under both schemes, and what they mean."""
    text = _(
        "After {n} updates at the same learning rate, the change in the residual stream after"
        " the last layer scales as width to the power {stream:.2f}, and that in the logits as"
        " width to the power {logits:.2f}. Under muP the exponents are {mup_stream:.2f} and "
        "{mup_logits:.2f}."
    )
    stream, logits = facts.slopes(Scheme.STANDARD)
    mup_stream, mup_logits = facts.slopes(Scheme.MUP)
    said = text.format(
        n=facts.n_updates,
        stream=stream,
        logits=logits,
        mup_stream=mup_stream,
        mup_logits=mup_logits,
    )
    flat = _(
        "An update therefore has the same effect at every width, so a learning rate carries over."
    )
    bends = _("Something in this configuration does not scale as muP requires.")
    return sentences(said, flat if facts.is_flat else bends)


def slope_chart(facts: SlopeFacts) -> Chart:
    """Against the width: how far stream and logits have moved, under both schemes."""
    rows = pd.DataFrame(
        [
            {"scheme": e.scheme, "width": e.width, "stream": e.stream[-1], "logits": e.logits[-1]}
            for e in facts.found
        ]
    )
    ends = rows[["stream", "logits"]].to_numpy()
    looks = (("stream", _("stream, {scheme}"), ""), ("logits", _("logits, {scheme}"), "dot"))
    return Chart(
        _("How far {n} updates move the model").format(n=facts.n_updates),
        rows,
        tried_axis(_("d_model (logarithmic)"), "width", rows["width"]),
        Axis(_("RMS of the change (logarithmic)"), (ends.min(), ends.max()), is_log=True),
        [
            line(
                value,
                Look(name.format(scheme=_(NAMES[scheme])), COLORS[scheme], "circle", dash=dash),
                rows=rows[rows["scheme"] == scheme],
            )
            for value, name, dash in looks
            for scheme in Scheme
        ],
        hover="d_model {width}: {y:.3g}",
        legend=Legend.FOOT,
        tall=320,
    )


def says_how(config: ModelConfig, optimizer: OptimizerKind, seed: int = 0) -> str:
    """What is trained, and which rate is meant."""
    text = _(
        "The models are GPTs like {whose} with d_model {widths}, at most {layers} layers, "
        "d_head {d_head} and untied embeddings; each gets {n} updates on text of known "
        "entropy, with one seed ({seed}) and learning rates a factor of {step:g} apart. Standard "
        "weights are initialized as in PyTorch; under muP, the weights that write to the "
        "stream, and the logits, start at zero."
    )
    is_shipped = narrowest(config) == shipped_searches()[0].config
    said = text.format(
        widths=" · ".join(map(str, widths_of(config))),
        layers=transfer.MOST_LAYERS,
        d_head=transfer.head_of(config),
        whose="GPT-2" if is_shipped else _("the one configured in the sidebar"),
        n=transfer.N_TRIED,
        seed=seed,
        step=transfer.RATE_STEP,
    )
    if optimizer is not OptimizerKind.MUON:
        return said
    text = _(
        "The learning rate shown is that of Muon, for the matrices of the layers; AdamW "
        "updates everything else at {rate}, where muP applies."
    )
    return sentences(said, text.format(rate=plan.RATE))


@section
def does_it_carry_over(run: Run, state: State) -> None:
    """The recorded search; both measurements of the reader's model, trained where asked for."""
    code = (transfer.widened, transfer.spec_of, build_optimizers)
    place = explained(("mup", "optimizers"), code, key="transfer")
    with present.aside(), st.container(horizontal=True, vertical_alignment="bottom"):
        choose("transfer_optimizer", _("Optimizer"), OPTIMIZERS)
        switch("check_coordinates", _("Check coordinates here"))
        switch("search_rates", _("Search for the best rate here"))
    optimizer = OptimizerKind(state.transfer_optimizer)
    shipped = recorded(_search(optimizer))
    if not (state.check_coordinates or state.search_rates):
        _curves(shipped, place)
        note(says_how(_search(optimizer).config, optimizer))
        note(words.trained(is_recorded=True))
        return
    try:
        for width in widths_of(run.config):
            transfer.widened(run.config, width, Scheme.MUP)
    except ConfigError as error:
        for fault in error.faults:
            st.info(say_fault(fault), icon=":material/block:")
        return
    if state.check_coordinates:
        check = CoordinateCheck(run.config, optimizer, run.seed)
        _slopes(check, place)
    if state.search_rates:
        _rates(RateSearch(narrowest(run.config), optimizer, run.seed), place)
    note(says_how(run.config, optimizer, run.seed))


def _search(optimizer: OptimizerKind) -> RateSearch:
    return next(each for each in shipped_searches() if each.optimizer is optimizer)


def _slopes(check: CoordinateCheck, place: Any) -> None:
    found = in_series(
        check, key="slope_steps", asked_by="check_coordinates", fewest=check.n_steps
    ).found
    if len(found) == check.n_steps:
        with place:
            say(says_slopes, tuple(found), facts=slope_facts)
        show(slope_chart, tuple(found), facts=slope_facts, key="transfer_slopes")


def _rates(search: RateSearch, place: Any) -> None:
    costs = [WORK + width for _scheme, width, _rate in search.asked]
    two = 2 * search.n_of_width
    found = in_series(
        search, key="rate_steps", asked_by="search_rates", costs=costs, fewest=two
    ).found
    whole = len(found) // search.n_of_width * search.n_of_width  # whole widths
    _curves(tuple(found[: whole if whole >= two else 0]), place)


def _curves(found: tuple[Tried, ...], place: Any) -> None:
    for item in RATE_ITEMS if found else ():
        item.draw(Given((found,), rate_facts, place))


def at(_run: Run, state: State) -> tuple[tuple[Tried, ...]] | None:
    found = recorded(_search(OptimizerKind(state.transfer_optimizer)))
    return (found,) if found else None


PANEL = Panel(
    "transfer",
    N_("Does a learning rate carry over?"),
    does_it_carry_over,
    fields=("d_model", "n_heads", "norm_kind", "activation"),
    of_this_run=False,
    reads_input=False,
    at=at,
    facts=rate_facts,
    shows=RATE_ITEMS,
)
