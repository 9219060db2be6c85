"""Two edges of masking: a query that may see no key, and keys of another, padded sequence."""

from collections.abc import Hashable
from functools import lru_cache

import streamlit as st

from blocks.inspection import blind_rows
from blocks.inspection import mask_steps as measures
from blocks.inspection.blind_rows import Treatment, spread_of_nan
from blocks.inspection.mask_steps import BlindFacts, Cross
from blocks.model import masks as mask_rules
from blocks.model.attention import attention_pattern
from blocks.model.faults import N_
from blocks.model.model_input import PADDING
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.theme import Picture, token_label
from pages.page.declared import Panel
from pages.panels.masks import shared, steps_picture
from pages.server import cached
from pages.show.controls import slider
from pages.show.parts import Beside, Controls, Matrix, Note, Say
from pages.state.values import State
from pages.words.language import _, fill, sentences

LONGEST_LABEL = 24


@lru_cache(maxsize=32)
def blind_facts(run: Run, layer: int, head: int, token: int) -> BlindFacts:
    """A query that may see no key, or the pinned one if it saw none."""
    query, is_real = measures.blind_query(shared.open_cells(run), token)
    weights = shared.layer_steps(run, layer).without_a_key(head, query)
    model = cached.model(run)
    with cached.turn(run.device):
        n_spoiled = spread_of_nan(run, model, layer=layer, head=head, query=query)
    at = run.input.labels, layer, head, query
    return BlindFacts(*at, is_real, run.dtype, weights, n_spoiled)


@lru_cache(maxsize=32)
def cross(run: Run, n_tokens: int, n_padding: int) -> Cross:
    """One head of random queries and keys; as many queries as the run has tokens."""
    n_queries = len(run.input.labels)
    return measures.cross(n_queries, run.config.d_head, n_tokens, n_padding, run.seed)


def says_blind(facts: BlindFacts) -> str:
    """What becomes of a query that may see no key."""
    text = _(
        "Every query can attend to at least one key in this run. Suppose query {query} could not."
    )
    if facts.is_real:
        text = _("Query {query} cannot attend to any key in this run.")
    rest = _(
        "A row of −∞ gives 0/0 = NaN. From this row of head {head:from_one} in layer "
        "{layer:from_one}, NaN spreads to other outputs ({n_spoiled} of {all} in the end). "
        "Since 0 × NaN is NaN, a mask in a later layer does not stop it."
    )
    said = text.format(query=shared.token(facts.labels, facts.query))
    return sentences(said, _by_1e9(facts), fill(rest, facts, all=len(facts.labels)))


def _by_1e9(facts: BlindFacts) -> str:
    text = _(
        "Adding −10⁹ to all scores changes nothing in {dtype}: the row attends to every key "
        "({n} in all) as if there were no mask."
    )
    if facts.overflows:
        text = _("In {dtype}, −10⁹ is out of range and becomes −∞.")
    elif facts.is_even:
        text = _(
            "Adding −10⁹ wipes out the scores in {dtype}: every key ({n} in all) gets a "
            "weight of {mean_weight:.4f}, padding and later tokens included."
        )
    return fill(text, facts, n=len(facts.labels))


def says_cross(facts: Cross, seed: int) -> str:
    """What the rectangle shows."""
    text = _(
        "The queries of this input ({n_queries}) attend to the keys of another sequence "
        "({n_keys}, of which {n_padding} are padding). The padding columns are masked for "
        "every query, and each row spreads its weight over the other keys ({n_tokens}). "
        "Queries and keys are random here (seed {seed})."
    )
    return fill(text, facts, seed=seed)


def says_this_cross(run: Run, n_tokens: int, n_padding: int) -> str:
    return says_cross(cross(run, n_tokens, n_padding), run.seed)


def draw_blind(facts: BlindFacts) -> Picture:
    """The weights of a query without a key, by each treatment."""
    names = {
        Treatment.ZEROS: _("zeros (used here)"),
        Treatment.MINUS_1E9: _("−10⁹ added"),
        Treatment.LEAST: _("dtype minimum"),
        Treatment.MINUS_INFINITY: _("−∞ added"),
    }
    label = token_label(facts.labels[facts.query], LONGEST_LABEL)
    token, head = f"{from_one(facts.query)} {label}", from_one(facts.head)
    title = _("Query {token}, head {head}: weights if no key is allowed")
    return steps_picture.blind_row(
        facts.weights,
        [names[treatment] for treatment in Treatment],
        facts.labels,
        title=title.format(token=token, head=head),
        _=_,
    )


def draw_cross_mask(run: Run, n_tokens: int, n_padding: int) -> Picture:
    found = cross(run, n_tokens, n_padding)
    return steps_picture.mask_map(found.open, run.input.labels, _keys(found), _=_)


def draw_cross_scores(run: Run, n_tokens: int, n_padding: int) -> Picture:
    found = cross(run, n_tokens, n_padding)
    return steps_picture.score_map(found.scores, run.input.labels, _keys(found), _=_)


def draw_cross_pattern(run: Run, n_tokens: int, n_padding: int) -> Picture:
    found, queries = cross(run, n_tokens, n_padding), run.input.labels
    return steps_picture.pattern_map(found.pattern, found.open, queries, _keys(found), _=_)


def _keys(found: Cross) -> list[str]:
    """What the keys are called: their number, or padding."""
    numbers = (str(from_one(i)) for i in range(found.n_tokens))
    return [*numbers, *([PADDING] * found.n_padding)]


def sizes(_run: Run, n_tokens: int, n_padding: int) -> None:
    """How long the other sequence is."""
    left, right = st.columns(2)
    with left:
        slider("cross_len", _("Tokens in the other sequence, without padding"), n_tokens)
    with right:
        slider("cross_padding", _("Padding tokens added"), n_padding)


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    return run, state.cross_len, state.cross_padding


NO_KEY = Panel(
    "no-key",
    N_("What if no key is left?"),
    fields=("n_heads", "position_kind"),
    of_attention=True,
    concepts=("masks", "mask_faults"),
    code=(attention_pattern, blind_rows.treated),
    at=shared.at,
    facts=blind_facts,
    shows=(Matrix(draw_blind, "blind_row"), Say(says_blind)),
)
CROSS = Panel(
    "cross-padding",
    N_("And in cross-attention?"),
    fields=("n_heads", "position_kind"),
    of_attention=True,
    concepts=("masks",),
    code=(mask_rules.cross_padding,),
    at=at,
    shows=(
        Say(says_this_cross),
        Note(
            N_(
                "In cross-attention, queries come from one sequence and keys from another, so "
                "the mask is a rectangle. Here a single head with random queries and keys "
                "illustrates this."
            )
        ),
        Controls(sizes),
        Beside(
            Matrix(draw_cross_mask, "cross_mask"),
            Matrix(draw_cross_scores, "cross_scores"),
            Matrix(draw_cross_pattern, "cross_pattern"),
        ),
    ),
)
