"""A circuit read whole: every weight of a small model drawn, and what becomes of it without any."""

from functools import lru_cache, partial

import pandas as pd
import streamlit as st

from blocks.known import circuit as read
from blocks.known import pruned, sparse
from blocks.known.bracket_texts import CHARACTERS, opened
from blocks.known.circuit import CircuitFacts, circuit_facts
from blocks.known.circuit_parts import parts
from blocks.known.faithful import faithful
from blocks.known.followed import Followed, followed
from blocks.known.recorded_circuits import N_TEXTS, control_of, recorded
from blocks.known.sparse import CONFIG, KEPT_SHARE, Circuit, Part, SparseTraining
from blocks.model.faults import N_
from pages.figures.counting import from_one
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.instruments.circuit_control import control_chart, says_control, says_counted
from pages.panels.instruments.circuit_picture import graph, node_name
from pages.panels.instruments.circuit_read_picture import attention, votes
from pages.show.chart import columns, show
from pages.show.controls import choose, enter, pick, several, slide, switch
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.parts import Matrix, Say, Table
from pages.show.said import say
from pages.show.steps import in_series
from pages.show.tables import show_table
from pages.stage import link, present
from pages.state.link_fields.circuit import FOLLOWED, MOST_SEED, TEXTS
from pages.state.values import State
from pages.words.language import _, bracketed, enumeration, fill, literal, sentences

N_WEIGHTS = 2 * CONFIG.vocab_size * CONFIG.d_model + 4 * CONFIG.d_model**2
CONTROL_SHARE = 0.15
ROOM, ROOM_BELOW_CHOICE = 450, 335  # pixels of the pictures before a class
Values = tuple[Circuit, frozenset[int], str, int, int | None, int]
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
            "{whole.loss:.3f}. Right answers by bracket: {by_kind}."
        )
    here, right = _("At the token {token} it answers {said}."), facts.right
    if right not in (None, facts.said):
        here = _("At the token {token} it answers {said}, which is wrong; it should be {right}.")
    if right is None:
        here = _("At the token {token} no bracket is open, so no answer is asked for.")
    of_kind = _("{share:.0%} for {kind}")
    kinds = (of_kind.format(share=x, kind=literal(kind)) for kind, x in facts.by_kind.items())
    by_kind = enumeration(kinds) if facts.without else ""
    said = fill(text, facts, n_weights=N_WEIGHTS, n=len(facts.without), by_kind=by_kind)
    token, said_right = _place(facts, facts.token), literal(right or "")
    here = fill(here, token=token, said=literal(facts.said), right=said_right)
    return sentences(said, here, says_followed(facts))


def _place(facts: CircuitFacts, i: int) -> str:
    """A token with its number."""
    return bracketed(literal(facts.tokens[i]), from_one(i))


def says_followed(facts: CircuitFacts) -> str:
    """What the token that is followed adds to the logit of the answer."""
    if (found := followed(facts)) is None:
        return ""
    name = _place(facts, found.key)
    if not found.ways:
        text = _("No path leads from {token} to the logit of {said}.")
        return text.format(token=name, said=literal(facts.said))
    text = _(
        "The logit of {said} is {logit:.1f}. {token} adds {sum} to it, and all other tokens "
        "together add {rest:+.1f}."
    )
    return fill(text, found, said=literal(facts.said), token=name, sum=_says_sum(facts, found))


def _says_sum(facts: CircuitFacts, found: Followed) -> str:
    """What it adds to the answer, and by which nodes of the stream, where they are several."""
    added = f"{found.sum:+.1f}"
    by_node = _("{value:+.1f} through {node}")
    terms = [
        by_node.format(value=value, node=node_name(facts.edges[i].start))
        for i, value in found.last_steps.items()
    ]
    return bracketed(added, enumeration(terms)) if len(terms) > 1 else added


def says_marked(facts: CircuitFacts) -> str:
    """What is highlighted of the token that is followed."""
    found = followed(facts)
    if found is None or not found.ways:
        return _("Choose a token above to follow it through the circuit.")
    text = _(
        "All paths from {token} to {said} are highlighted; the number beside a node is what "
        "{token} adds to it."
    )
    return text.format(token=_place(facts, found.key), said=literal(facts.said))


def says_product(facts: CircuitFacts) -> str:
    """Its strongest path, as the product that it is."""
    found = followed(facts)
    if found is None or not found.ways:
        return ""
    way = found.ways[0]
    steps = [
        f"{literal(node_name(edge.start))} → {literal(node_name(edge.end))}: {edge.weight:.2f}"
        for edge in (facts.edges[i] for i in way.edges)
    ]
    if way.head is not None:
        text = _("attention of head {head} to this token: {attention:.2f}")
        steps.insert(2, text.format(head=from_one(way.head), attention=way.attention))
    text = _(
        "The strongest path multiplies the weights written on it and the attention: {steps}. The "
        "product is {product:+.1f}."
    )
    return text.format(steps="; ".join(steps), product=way.product)


def says_how(facts: CircuitFacts) -> str:
    """What a line is, and how it came to be the only one left."""
    text = _(
        "Lines are blue for positive weights and orange for negative ones; their width shows "
        "how large a weight is compared with the others in its matrix. After each of "
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
        "random half of those {n} changes at most {most_changed:.2%} of the model's answers. "
        "The attention patterns of the circuit and the model have a cosine similarity of "
        "{cosine:.3f}."
    )
    found = faithful(facts.circuit)
    n = len(facts.circuit.pruned)
    return text.format(n_trained=facts.n_trained, n=n, **found._asdict())


def parts_table(facts: CircuitFacts) -> pd.DataFrame:
    """A row a number of the stream after attention: what it stands for."""
    names = ("dimension", "raised_by", "lowered_by", "raises", "lowers")
    rows = [[from_one(each.dimension), *each[1:]] for each in parts(facts)]
    titles = (_("dimension"), _("raised by"), _("lowered by"), _("raises logit"), _("lowers logit"))
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


def at(_run: None, state: State) -> Values | None:
    """The recorded circuit of the seed, where it ships."""
    found = recorded().circuits.get(state.circuit_seed)
    return None if found is None else _values(found, state)


def _values(found: Circuit, state: State) -> Values:
    taken = frozenset(i for i in without(state) if i < len(found.kept))
    ids = [*map(CHARACTERS.index, state.circuit_text)]
    token = min(state.circuit_token, len(ids) - 1)
    key = opened(ids[: token + 1])
    if state.circuit_follow != "open":
        key = None if state.circuit_follow == "all" else min(int(state.circuit_follow), token)
    return found, taken, state.circuit_text, token, key, int(state.circuit_head)


@section
def read_whole(_run: None, state: State) -> None:
    """The circuit that ships or was trained here, what is taken out of it, and its control."""
    place = explained(("sparse_circuit",), CODE, key="circuit")
    values = _trained(state) if state.train_circuit else at(None, state)
    if values is None:
        _seed_choice(state)
        if not state.train_circuit:
            place.info(_("No circuit with this seed is included: train it here."))
        return
    with place:
        say(says_circuit, *values, facts=kept_facts)
    facts = kept_facts(*values)
    _choices(facts, state)
    left, right = columns([3, 2])
    with left:
        show(graph, *values, facts=kept_facts, key="circuit_graph", on_click=take_out, room=ROOM)
    with right:
        if present.is_on():
            _text_choice(facts)
        show(votes, *values, facts=kept_facts, key="circuit_votes", room=ROOM_BELOW_CHOICE)
    st.markdown(says_marked(facts))
    if present.is_on():
        return
    note(sentences(says_product(facts), says_how(facts)))
    _around(facts, values)
    _seed_choice(state)
    _control()


def _seed_choice(state: State) -> None:
    """Other circuits: those that ship, or one that is trained here."""
    with present.aside(), st.container(horizontal=True, vertical_alignment="bottom"):
        enter("circuit_seed", _("Seed"), state.circuit_seed, least=0, most=MOST_SEED)
        switch("train_circuit", _("Train it here"))


def _around(facts: CircuitFacts, values: Values) -> None:
    """Who reads what, what each number of the stream stands for, and all weights in a table."""
    left, right = columns([2, 3])
    with left:
        show(attention, *values, facts=kept_facts, key="circuit_attention")
    with right:
        show_table(parts_table(facts), key="circuit_parts")
        note(says_faithful(facts))
    with details(_("All weights, and what the model can do without each"), icon=":material/table:"):
        show_table(edges_table(facts), key="circuit_edges")


def _choices(facts: CircuitFacts, state: State) -> None:
    if not present.is_on():
        _text_choice(facts)
    with present.aside():
        left, middle, right = st.columns(3)
        with left:
            follows = FOLLOWED[: 2 + facts.token + 1]
            pick("circuit_follow", _("Follow"), follows, label_of=partial(_follow_name, facts))
        with middle:
            heads = map(str, sorted(facts.heads))
            label = _("Head whose attention is drawn")
            pick("circuit_head", label, heads, label_of=_head_name, shown=str(facts.head))
        with right:
            several(
                "circuit_without",
                _("Weights removed"),
                tuple(map(str, range(facts.n_edges))),
                [str(i) for i in sorted(facts.without)],
                write=",".join,
                label_of=lambda i: _edge_name(facts, int(i)),
                is_list=True,
            )
        if facts.without:
            label, icon = _("Put all weights back"), ":material/undo:"
            put = link.change
            st.button(label, icon=icon, on_click=put, args=("circuit_without", ""), key="put_back")
        else:
            _offer(facts)


def _text_choice(facts: CircuitFacts) -> None:
    """The text and the token: before a class above the picture that has room for them."""
    left, right = st.columns([2, 3] if present.is_on() else 2)
    with left:
        choice = pick if present.is_on() else choose
        choice("circuit_text", _("Text"), TEXTS, label_of=str)
    with right:
        n, token, label = len(facts.tokens), facts.token, _("Selected token")
        slide("circuit_token", label, range(n), token, label_of=partial(_token_name, facts))


def _offer(facts: CircuitFacts) -> None:
    """The weight that matters most, to be taken out by one key."""
    label = _("Remove the most important weight, {edge}").format(edge=_edge_name(facts, 0))
    with st.container(horizontal=True, vertical_alignment="center"):
        icon = ":material/content_cut:"
        st.button(label, icon=icon, on_click=take_out, args=([0],), key="circuit_first")
        st.caption(_("Or click the mark on any line to remove its weight, or to put it back."))


def _head_name(head: str) -> str:
    return str(from_one(int(head)))


def _follow_name(facts: CircuitFacts, name: str) -> str:
    """The token that is followed, by its number and itself."""
    if name == "all":
        return _("all tokens")
    return _("the open bracket") if name == "open" else _token_name(facts, int(name))


def _token_name(facts: CircuitFacts, i: int) -> str:
    """Its number and itself: equal names would be one place of the slider."""
    return f"{from_one(i)} {facts.tokens[i]}"


def _edge_name(facts: CircuitFacts, i: int) -> str:
    edge = facts.edges[i]
    return f"{from_one(i)}: {node_name(edge.start)} → {node_name(edge.end)}"


def _control() -> None:
    note(says_control(recorded()))
    show(control_chart, facts=recorded, key="circuit_control")
    note(says_counted())


def says_part(part: Part) -> str:
    """How far a training came that was stopped."""
    text = _(
        "After {n_updates:,} updates, {n_weights:,} weights are left, the loss is {loss:.3f} "
        "nats, and {accuracy:.1%} of the training answers are right."
    )
    return fill(text, part)


def _trained(state: State) -> Values | None:
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
            "This circuit was trained here with seed {seed}. Its control, trained on "
            "{n_texts} texts with shuffled answers, has {n} weights left and gets "
            "{accuracy:.0%} of its answers right."
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
        Matrix(votes, "circuit_votes"),
        Matrix(attention, "circuit_attention"),
        Table(parts_table, "circuit_parts"),
        Table(edges_table, "circuit_edges"),
    ),
)
