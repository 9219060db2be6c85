"""What each token takes from each token, through all layers."""

import math
from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache

import pandas as pd

from blocks.inspection import contribution_graph as measures
from blocks.inspection.contribution_graph import ContributionGraph, GraphFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.counting import from_one, read_apart
from pages.page.declared import Panel
from pages.panels.contribution_graph_picture import graph
from pages.server import cached
from pages.show.controls import slider
from pages.show.parts import Beside, Controls, File, Matrix, Note, Say, Table
from pages.show.views import pin_token
from pages.state import labelled
from pages.state.values import State
from pages.words.language import _, bracketed, enumeration, literal, ngettext, sentences
from pages.words.numbers import percent

MOST_ROWS = 8
LEAST_SAID = 0.005
MOST_NUMBERS = 2**30  # parts of all streams together: seconds on a small machine


def fits(run: Run) -> bool:
    """Whether all parts of all streams are few enough to be looked at."""
    return run.input.shape[1] <= most_tokens(run)


def most_tokens(run: Run) -> int:
    return math.isqrt(MOST_NUMBERS // (run.config.n_layers * run.config.d_model))


@lru_cache(maxsize=4)
def graph_of(run: Run) -> ContributionGraph:
    """The graph of a run, in evaluation mode: dropout would be a part that comes from nowhere."""
    calm = replace(run, training=False)
    seen, model = cached.recording(calm), cached.model(calm)
    with cached.turn(run.device):
        changed = calm.replacements(model)
        return measures.contribution_graph(seen, model, calm.config, replace=changed)


def graph_facts(run: Run, token: int, least: float = 0.0) -> GraphFacts:
    return GraphFacts(run, graph_of(run), token, least)


def least_share(state: State) -> float:
    return state.least_share / 100


def called(run: Run, token: int) -> str:
    return literal(read_apart(run.input.labels)[token])


def says_too_large(run: Run) -> str | None:
    """Why there is no graph, and how long a text has one; None where there is one."""
    if fits(run):
        return None
    return _(
        "For a model of this size, the contribution graph is drawn for at most {most} tokens,"
        " but this text has {n}: shorten the text."
    ).format(most=most_tokens(run), n=run.input.shape[1])


def says_sources(facts: GraphFacts) -> str:
    """Where what a token has become comes from."""
    name = called(facts.run, facts.token)
    if not facts.sources:
        return _("{token} takes nothing from any other token.").format(token=name)
    (first, first_share), *second = facts.sources
    values = {"token": name, "own": percent(facts.own), "first": called(facts.run, first)}
    values["first_share"] = percent(first_share)
    text = _(
        "After the last layer, {own} of the vector of {token} is its own and "
        "{first_share} comes from {first}."
    )
    for other, share in second:
        values |= {"second": called(facts.run, other), "second_share": percent(share)}
        text = _(
            "After the last layer, {own} of the vector of {token} is its own, {first_share} "
            "comes from {first} and {second_share} from {second}."
        )
    most = _("The token takes in the most from other tokens in layer {layer}.")
    layer = from_one(facts.busiest_layer)
    return sentences(text.format(**values), _says_rest(facts), most.format(layer=layer))


def _says_rest(facts: GraphFacts) -> str:
    """What is left for the tokens that are not named, and for none."""
    n, share = facts.unnamed
    text = ngettext("{share} comes from {n} more token.", "{share} comes from {n} more tokens.", n)
    said = text.format(share=percent(share), n=n) if n else ""
    if facts.of_no_token >= LEAST_SAID:
        text = _("{share} comes from biases, not from any token.")
        return sentences(said, text.format(share=percent(facts.of_no_token)))
    return said


def says_routes(facts: GraphFacts) -> str:
    """Which wires are lit, and from which tokens most has come."""
    token = called(facts.run, facts.token)
    named = (
        bracketed(called(facts.run, source), percent(share)) for source, share in facts.sources
    )
    text = _("Orange wires are the main routes to {token}, which takes most from {sources}.")
    return text.format(token=token, sources=enumeration(named)) if facts.sources else ""


def says_how_to_read(facts: GraphFacts) -> str:
    """Wires, dots and colour in one line."""
    text = _("Orange wires are the main routes to {token}.")
    routes = text.format(token=called(facts.run, facts.token))
    return sentences(routes, says_wires(facts), says_click(facts))


def says_wires(facts: GraphFacts) -> str:
    rest = _(
        "The prediction need not depend on them. Each dot shows how much its token has gathered "
        "so far."
    )
    return sentences(says_wire(facts), rest)


def says_wire(_facts: GraphFacts) -> str:
    return _("Each wire shows how much of one token's vector comes from another token.")


def says_click(_facts: GraphFacts) -> str:
    return _("Click a token to pin it.")


def says_drawn(facts: GraphFacts) -> str:
    """Which wires and tokens are drawn, and what they carry."""
    text = _(
        "Only wires of at least {least:.0%} are drawn; together they carry {carried} of all "
        "that tokens take from one another."
    )
    said = [says_window(facts), text.format(least=facts.least, carried=percent(facts.carried))]
    if facts.run.training:
        said.append(_("Measured in evaluation mode."))
    return sentences(*said)


def says_window(facts: GraphFacts) -> str:
    """Which tokens of a long text are in the picture; nothing where all are."""
    drawn = facts.drawn
    if drawn.is_whole:
        return ""
    text = _("Tokens {first} to {last} of {n} are shown.")
    return text.format(first=from_one(drawn.first), last=drawn.end, n=drawn.n)


def table(facts: GraphFacts) -> pd.DataFrame:
    """The tokens that make up most of the pinned one after the last layer."""
    found = facts.comes_from(MOST_ROWS)
    return pd.DataFrame(
        {
            _("from token"): [called(facts.run, token) for token, _share in found],
            _("share"): [percent(share) for _token, share in found],
        }
    )


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    return run, labelled.pinned_token(run, state), least_share(state)


def width_choice() -> None:
    slider("least_share", _("Smallest share drawn (%)"), most=20)


PANEL = Panel(
    "contribution-graph",
    N_("Contributions through all layers"),
    of_predictions=True,
    fields=("n_layers", "n_heads", "norm_placement"),
    of_attention=True,
    instruments=("contributions",),
    concepts=("contribution_graph",),
    code=(measures.contribution_graph, measures.Parts.of, measures.linear),
    at=at,
    absent=says_too_large,
    facts=graph_facts,
    shows=(
        Say(says_sources),
        Beside(
            (Matrix(graph, "graph", click=pin_token), Note(says_how_to_read), Note(says_drawn)),
            (Controls(width_choice), Table(table, "contribution_sources", is_whole=True)),
            widths=(7, 3),
        ),
        File(GraphFacts.table, "contribution_graph"),
    ),
)
