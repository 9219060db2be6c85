"""A circuit read whole: every weight of a small model drawn, and what becomes of it without any."""

from functools import lru_cache, partial

import pandas as pd
import streamlit as st

from blocks.known import circuit as read
from blocks.known import pruned, sparse
from blocks.known.circuit import CircuitFacts, circuit_facts
from blocks.known.faithful import faithful
from blocks.known.recorded_circuits import N_TEXTS, control_of, recorded
from blocks.known.sparse import CONFIG, KEPT_SHARE, Circuit, Part, SparseTraining
from blocks.model.faults import N_
from pages.figures.counting import from_one
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.instruments.circuit_control import control_chart, says_control, says_counted
from pages.panels.instruments.circuit_picture import attention, graph, node_name
from pages.show.chart import columns, show
from pages.show.controls import choose, enter, several, slide, switch
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.parts import Matrix, Say, Table
from pages.show.said import say
from pages.show.steps import in_series
from pages.show.tables import show_table
from pages.stage import link, present
from pages.state.link_fields.circuit import MOST_SEED, TEXTS
from pages.state.values import State
from pages.words.language import _, fill, sentences

N_WEIGHTS = 2 * CONFIG.vocab_size * CONFIG.d_model + 4 * CONFIG.d_model**2
CONTROL_SHARE = 0.15
ROOM = 500  # pixels of the circuit before a class
CODE = (sparse.keep_largest, pruned.prune, read.through_edges)
kept_facts = lru_cache(maxsize=32)(circuit_facts)


def says_circuit(facts: CircuitFacts) -> str:
    """How few weights are left, what they can do, and what is lost where some are taken out."""
    text = _(
        "Of {n_weights:,} weights, {n_edges} are left. With these, the model names the "
        "bracket to be closed in {circuit.held_out:.2%} of cases, in texts that it was not "
        "trained on."
    )
    if facts.without:
        text = _(
            "Of {n_weights:,} weights, {n_edges} were left. With {n} of these removed, a new "
            "measurement finds {now.accuracy:.1%} of the brackets right instead of "
            "{whole.accuracy:.1%}, and a loss of {now.loss:.3f} nats instead of "
            "{whole.loss:.3f}."
        )
    here = _(
        "At the token {token} it answers {said}. Click the mark on a line to remove its "
        "weight, or to put it back."
    )
    token = f"{facts.tokens[facts.token]} ({from_one(facts.token)})"
    said = fill(text, facts, n_weights=N_WEIGHTS, n=len(facts.without))
    return sentences(said, fill(here, facts, token=token))


def says_how(facts: CircuitFacts) -> str:
    """What a line is, and how it came to be the only one left."""
    text = _(
        "Lines are blue for positive weights and orange for negative ones; their width shows "
        "how large a weight is compared with the others in its matrix, and lines along which "
        "something flows to the selected token are drawn more boldly. After each of "
        "{n_updates:,} updates, all but the largest weights of each matrix were set to 0, "
        "until {n_trained} were left. Then every weight was removed whose removal leaves each"
        " right answer well ahead and attention nearly unchanged. 1.v3 is value 3 of head 1. "
        "Dotted lines have no weight: they show the residual stream bypassing attention, and "
        "queries and keys leading to their scores."
    )
    return fill(text, facts, n_updates=sparse.N_UPDATES)


def says_faithful(facts: CircuitFacts) -> str:
    """How well the circuit stands for the model that it was cut out of."""
    text = _(
        "Training left {n_trained} weights, and pruning removed {n} of them. Removing a "
        "random half of those {n} changes at most {most_changed:.1%} of the model's answers. "
        "The attention patterns of the circuit and the model have a cosine similarity of "
        "{cosine:.3f}. So the model really does compute with the weights drawn."
    )
    found = faithful(facts.circuit)._asdict()
    return text.format(n_trained=facts.n_trained, n=len(facts.circuit.pruned), **found)


def parts_table(facts: CircuitFacts) -> pd.DataFrame:
    """A row a number of the stream after attention: what it stands for."""
    names = ("dimension", "raised_by", "lowered_by", "raises", "lowers")
    rows = [[from_one(each.dimension), *each[1:]] for each in facts.parts]
    titles = (
        _("dimension of the stream"),
        _("raised by tokens"),
        _("lowered by tokens"),
        _("raises the logit of"),
        _("lowers the logit of"),
    )
    return pd.DataFrame(rows, columns=[*names]).set_axis([*titles], axis=1)


def edges_table(facts: CircuitFacts) -> pd.DataFrame:
    """A row an edge, and what the model can do without it."""
    found = zip(facts.edges, facts.alone, strict=True)
    return pd.DataFrame(
        [
            {
                _("weight no."): from_one(i),
                _("from node"): node_name(edge.start),
                _("to node"): node_name(edge.end),
                _("weight"): edge.weight,
                _("flow at this token"): facts.flow(edge),
                _("accuracy without it"): alone.accuracy,
                _("loss without it (nats)"): alone.loss,
            }
            for i, (edge, alone) in enumerate(found)
        ]
    )


def without(state: State) -> frozenset[int]:
    """The edges that the reader took out, from 0."""
    return frozenset(map(int, filter(None, state.circuit_without.split(","))))


def take_out(customdata: list[int]) -> None:
    """Take the clicked edge out, or put it back."""
    taken = without(link.now()) ^ {int(customdata[0])}
    link.change("circuit_without", ",".join(map(str, sorted(taken))))


def at(_run: None, state: State) -> tuple[Circuit, frozenset[int], str, int] | None:
    """The recorded circuit of the seed, where it ships."""
    found = recorded().circuits.get(state.circuit_seed)
    return None if found is None else _values(found, state)


def _values(found: Circuit, state: State) -> tuple[Circuit, frozenset[int], str, int]:
    taken = frozenset(i for i in without(state) if i < len(found.kept))
    return found, taken, state.circuit_text, state.circuit_token


@section
def read_whole(_run: None, state: State) -> None:
    """The circuit that ships or was trained here, what is taken out of it, and its control."""
    place = explained(("sparse_circuit",), CODE, key="circuit")
    with present.aside(), st.container(horizontal=True, vertical_alignment="bottom"):
        enter("circuit_seed", _("Seed"), state.circuit_seed, least=0, most=MOST_SEED)
        switch("train_circuit", _("Train it here"))
    values = _trained(state) if state.train_circuit else at(None, state)
    if values is None:
        if not state.train_circuit:
            place.info(_("No circuit with this seed is included: train it here."))
        return
    with place:
        say(says_circuit, *values, facts=kept_facts)
    _choices(kept_facts(*values))
    left, right = columns([3, 2])
    with left:
        show(graph, *values, facts=kept_facts, key="circuit_graph", on_click=take_out, room=ROOM)
        facts = kept_facts(*values)
        note(says_how(facts))
    with right:
        show(attention, *values, facts=kept_facts, key="circuit_attention")
        note(says_faithful(facts))
    show_table(parts_table(facts), key="circuit_parts")
    with details(_("All weights, and what the model can do without each"), icon=":material/table:"):
        show_table(edges_table(facts), key="circuit_edges")
    if not present.is_on():
        _control()


def _choices(facts: CircuitFacts) -> None:
    with present.aside():
        choose("circuit_text", _("Text"), TEXTS, label_of=str)
        n, token = len(facts.tokens), facts.token
        label = _("Selected token")
        slide("circuit_token", label, range(n), token, label_of=partial(_token_name, facts))
        several(
            "circuit_without",
            _("Weights removed"),
            tuple(map(str, range(facts.n_edges))),
            [str(i) for i in sorted(facts.without)],
            write=",".join,
            label_of=lambda i: _edge_name(facts, int(i)),
            is_list=True,
        )


def _token_name(facts: CircuitFacts, i: int) -> str:
    """Its number and itself: equal names would be one place of the slider."""
    return f"{from_one(i)} {facts.tokens[i]}"


def _edge_name(facts: CircuitFacts, i: int) -> str:
    edge = facts.edges[i]
    return f"{from_one(i)}: {node_name(edge.start)} → {node_name(edge.end)}"


def _control() -> None:
    st.markdown(says_control(recorded()))
    show(control_chart, facts=recorded, key="circuit_control")
    note(says_counted())


def says_part(part: Part) -> str:
    """How far a training came that was stopped."""
    text = _(
        "After {n_updates:,} updates, {n_weights:,} weights are left, the loss is {loss:.3f} "
        "nats, and {accuracy:.1%} of the training answers are right."
    )
    return fill(text, part)


def _trained(state: State) -> tuple[Circuit, frozenset[int], str, int] | None:
    """Train it here, with its control; as far as it has come."""
    seed = state.circuit_seed
    made = in_series(
        SparseTraining(seed=seed, share=KEPT_SHARE),
        key="circuit_training",
        asked_by="train_circuit",
    ).found
    if not made:
        return None
    if isinstance(found := made[-1], Part):
        st.caption(says_part(found))
        return None
    control = control_of(seed, N_TEXTS[0], is_shuffled=True, share=CONTROL_SHARE)
    beside = in_series(control, key="circuit_of_shuffled", asked_by="train_circuit").found
    if beside and isinstance(last := beside[-1], Circuit):
        text = _(
            "Trained here with seed {seed}. Its control, trained on {n_texts} texts with "
            "shuffled answers, has {n} weights left and gets {accuracy:.0%} of its answers "
            "right."
        )
        n = len(last.kept)
        st.caption(text.format(seed=seed, n_texts=N_TEXTS[0], n=n, accuracy=last.accuracy))
    return _values(found, state)


PANEL = Panel(
    "circuit",
    N_("Can a whole circuit be read?"),
    read_whole,
    reads_input=False,
    of_this_run=False,
    at=at,
    facts=kept_facts,
    shows=(
        Say(says_circuit),
        Matrix(graph, "circuit_graph", click=take_out),
        Matrix(attention, "circuit_attention"),
        Table(parts_table, "circuit_parts"),
        Table(edges_table, "circuit_edges"),
    ),
)
