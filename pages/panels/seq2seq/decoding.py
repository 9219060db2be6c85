"""The target, written step by step: what was chosen, what could have been, what became of it."""

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.inspection.search import AgainstGreedy, CandidateFacts, Choice, SearchFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.text.beam import BeamConfig, BeamSearch, Fate
from blocks.text.bilingual import SentenceTokenizer
from pages.page.declared import Panel
from pages.panels.seq2seq import decoding_picture, inputs, shared
from pages.panels.seq2seq.search import (
    Search,
    Standing,
    against_greedy,
    candidate_facts,
    search_facts,
)
from pages.show.chart import columns, show
from pages.show.controls import slider
from pages.show.explain import explained, note
from pages.show.parts import File, Matrix
from pages.show.said import tell
from pages.show.tables import show_table
from pages.show.ways import way
from pages.stage import link, present, tokens
from pages.state.link_fields.seq2seq import written_ids
from pages.state.values import State
from pages.words import chips, terms
from pages.words.chips import Chip
from pages.words.language import _, fill, literal, sentences
from pages.words.numbers import percent


def says_target(facts: SearchFacts) -> str:
    """How far it is, how sure, and what else the search knows."""
    if facts.place is None:
        return _("There is only the start token, since the decoder has generated nothing yet.")
    text = _(
        "After {step} of {n} steps, the target has a log-probability of {log_prob} nats "
        "(probability {probability:percent}, the product over its tokens)."
    )
    said = fill(text, facts, log_prob=nats(facts.log_prob))
    return sentences(said, _fate(facts), _weakest(facts), _limit(facts))


def says_smoothing(facts: SearchFacts, coming: CandidateFacts) -> str:
    """Why even a target that is right has a small probability."""
    if facts.place is None or not coming.smoothing:
        return ""
    return _(
        "With label smoothing {smoothing}, training aims for a probability of {most} for the "
        "correct token, not 100%."
    ).format(smoothing=coming.smoothing, most=percent(coming.most))


def _fate(facts: SearchFacts) -> str:
    match facts.fate:
        case Fate.DROPPED:
            return _("The search pruned this hypothesis, since other candidates scored higher.")
        case Fate.FINISHED:
            text = _("The target is complete ({token}).")
            return text.format(token=literal(facts.choices[-1].label))
        case _:
            return ""


def _weakest(facts: SearchFacts) -> str:
    """The token of which the model was least sure, of those that it chose itself."""
    least = facts.least_sure
    if least is None:
        return ""
    if facts.is_sure:
        return (
            _("The model was confident about every token: none had a probability below 99%.")
            if facts.is_own
            else _(
                "The model was confident about all its own choices: none had a "
                "probability below 99%."
            )
        )
    text = (
        _("The model was least confident about {token} at step {step}: {chance}.")
        if facts.is_own
        else _(
            "Of its own choices, the model was least confident about {token} at step "
            "{step}: {chance}."
        )
    )
    chance = percent(least.probability)
    return text.format(token=literal(least.label), step=least.step, chance=chance)


def _limit(facts: SearchFacts) -> str:
    """Where the target ended for want of room."""
    if not facts.limit:
        return ""
    if facts.how.stop_id < 0:
        return _(
            "With random weights, the generated text does not end by itself, so it is cut off"
            " at a length of {n}."
        ).format(n=facts.n)
    text = _("The target was cut off: {name} limits it to {n} tokens.")
    return text.format(name=facts.limit, n=facts.n)


def nats(log_prob: float) -> str:
    return f"{log_prob:.3g}".replace("-", "−")


def says_tree(facts: SearchFacts) -> str:
    """What was explored."""
    text = _("The search explored {n} hypotheses, pruned {dropped} and finished {finished}.")
    said = text.format(
        n=len(facts.nodes), dropped=facts.count(Fate.DROPPED), finished=facts.count(Fate.FINISHED)
    )
    if facts.how.beam_width > 1:
        return said
    return sentences(said, _("Greedy search keeps only the most probable token at each step."))


def says_against_greedy(facts: AgainstGreedy) -> str:
    """What the beam found that greedy search did not."""
    if facts.is_same:
        return _("Greedy search finds the same target.")
    return _(
        "Greedy search finds a different target, with a log-probability of {theirs} "
        "(beam search: {ours})."
    ).format(theirs=nats(facts.greedy), ours=nats(facts.ours))


def says_steps(facts: SearchFacts) -> str:
    """Which steps are drawn where there are too many."""
    first, last = facts.steps_drawn
    if (first, last) == (1, facts.n):
        return ""
    text = _("Steps {first} to {last} of {n} are shown, around the chosen one.")
    return text.format(first=first, last=last, n=facts.n)


def says_candidates(facts: CandidateFacts) -> str:
    """What the distribution says, and that it can be overruled."""
    first = facts.candidates.iloc[0]
    said = _(
        "The model's top prediction is {token} ({chance}). Click another token to force it; "
        "the search continues from there."
    ).format(token=literal(first["label"]), chance=percent(first["probability"]))
    if not facts.smoothing:
        return said
    text = _(
        "The model was trained with label smoothing {smoothing}, so even a confident "
        "prediction stays well below 100%."
    )
    return sentences(said, text.format(smoothing=facts.smoothing))


def against_grammar(run: Run, facts: SearchFacts) -> str:
    """Whether the grammar says the same; nothing where the source is none of its sentences."""
    reader = tokens.tokenizer_of(run.input.vocabulary)
    if not run.weights or not isinstance(reader, SentenceTokenizer):
        return ""
    true = shared.translation(run.input.token_ids, run.input.vocabulary)
    if true is None:
        return _(
            "The grammar behind the training data cannot produce this source, so the "
            "translation is a guess."
        )
    if facts.is_ended and list(facts.unended) == reader.ids(true):
        return _("Identical to the grammar's translation.")
    text = _("The grammar's own translation: {text}")
    return text.format(text=literal(reader.decode(reader.ids(true))))


def mask_note(run: Run) -> str:
    """A search is causal whatever the mask of the recorded run."""
    mask = run.mask.mask_kind
    if mask == "causal":
        return ""
    if mask == "none":
        said = _(
            "Without a mask, the generated target and its probabilities stay the same: each "
            "token is processed once, before later ones exist, and cached. The mask matters "
            "only where a whole target is read at once, as in the pictures below and in "
            "training."
        )
    else:
        said = _(
            "The target's mask is “{mask}”: the pictures show it, but generation is "
            "autoregressive, so the search is always causal."
        ).format(mask=terms.option(mask))
    if not shared.knows_grammar(run):
        return said
    return sentences(said, _("Scores on validation sentences use the causal mask."))


def target_chips(facts: SearchFacts) -> str:
    """The target as chips: what stands, and behind it what the result goes on with."""
    stands = [_chip(each) for each in facts.choices]
    rest = [Chip(label, "", "read") for label in facts.to_come]
    return chips.as_markdown([Chip(facts.start, "", "read"), *stands, *rest])


def _chip(choice: Choice) -> Chip:
    role = "pinned" if choice.is_overruled else "written"
    return Chip(choice.label, percent(choice.probability), role)


def legend() -> str:
    """What the colours of the chips mean."""
    names = (
        ("written", _("generated by the model")),
        ("pinned", _("your choice (the model preferred another token)")),
        ("read", _("start token, or not yet generated")),
    )
    return " ".join(f":{chips.COLORS[role]}-badge[{name}]" for role, name in names)


def results_table(facts: SearchFacts) -> None:
    """The best targets of a beam with what they are judged by, the best first."""
    if len(facts.results) < 2:
        return
    found = pd.DataFrame(
        {
            _("target"): [each.text for each in facts.results],
            _("tokens"): [each.n_tokens for each in facts.results],
            _("log-probability"): [nats(each.log_prob) for each in facts.results],
            _("probability"): [percent(each.probability) for each in facts.results],
            _("beam score"): [nats(each.score) for each in facts.results],
        }
    )
    show_table(found, key="beam_results")


def how_it_is_written(here: Standing, state: State) -> None:
    """The target as it stands, what was tried, and what could come next."""
    facts, run = search_facts(here), here.search.run
    code = (BeamSearch.advance, BeamConfig.score)
    with explained(("beam_search",), code, key="decoding"):
        said = [says_target(facts)]
        if not present.is_on():
            said += says_smoothing(facts, candidate_facts(here)), against_grammar(run, facts)
        tell(sentences(*said))
    keys, target = st.columns([4, 11]) if present.is_on() else (st.container(), st.container())
    with keys:
        step_controls(here)
    with target:
        _target(facts, state)
    if said_of_mask := mask_note(run):
        note(said_of_mask)
    left, right = columns([7, 5])
    with left:
        if here.n:
            _tree(here, facts)
    with right:
        show(
            decoding_picture.choices,
            here,
            facts=candidate_facts,
            key="next_choices",
            room=405,
            on_click=partial(force, here),
        )
        note(says_candidates(candidate_facts(here)))
        with present.aside():
            search_controls(here.search)


def _target(facts: SearchFacts, state: State) -> None:
    """The target as it stands."""
    with st.container(border=True, key="target_so_far"):
        text = " ".join(facts.text.split())
        if text and not present.is_on():
            st.markdown(f"### {chips.literally(text)}")
        st.markdown(target_chips(facts), help=legend())
        if left_out := sentences(*inputs.source_notes(state)):
            st.caption(f":material/content_cut: {left_out}")


def _tree(here: Standing, facts: SearchFacts) -> None:
    """What was looked at, and the best of it."""
    if facts.nodes["log_prob"].isna().any():
        text = _(
            "The numbers overflow with these settings, so no hypothesis has a valid probability."
        )
        st.info(text, icon=":material/error:")
        return
    show(
        decoding_picture.tree,
        here,
        facts=search_facts,
        key="beam_tree",
        room=405,
        on_click=partial(open_hypothesis, here),
    )
    if not facts.is_on_path:
        st.button(
            _("Continue from the outlined hypothesis"),
            icon=":material/play_arrow:",
            key="go_on_from",
            on_click=_force_all,
            args=(facts.token_ids,),
        )
    said = says_tree(facts)
    if here.search.how.beam_width > 1 and (other := against_greedy(here)):
        said = sentences(said, says_against_greedy(other))
    note(said)
    results_table(facts)
    if said := says_steps(facts):
        note(said)


def step_controls(here: Standing) -> None:
    """Back, on, to both ends; and what was forced can be taken back."""
    places = [12, 1] if present.is_on() else [6, 5]
    left, right = st.columns(places, vertical_alignment="bottom")
    with left, st.container(horizontal=True, gap="small", key="decoding_steps"):
        if not present.is_on():
            _go("target_start", _("To the start"), ":material/first_page:", 0, here.step > 0)
        _go("target_back", _("One step back"), ":material/undo:", here.step - 1, here.step > 0)
        goes_on = here.step < here.n
        _go("target_on", _("One step forward"), ":material/skip_next:", here.step + 1, goes_on)
        if not present.is_on():
            _go("target_end", _("Skip to end"), ":material/last_page:", None, goes_on)
    with right:
        if here.n > 1 and not present.is_on():
            slider("target_step", _("Steps"), here.step, most=here.n)
    if here.search.forced:
        label = _("Let the model choose again")
        way(label, "unforce", icon=":material/restart_alt:", forced_ids="")


def _go(key: str, label: str, icon: str, step: int | None, is_possible: bool) -> None:
    st.button(
        label,
        icon=icon,
        key=key,
        type="primary" if key == "target_on" else "secondary",
        disabled=not is_possible,
        on_click=link.change,
        args=("target_step", step),
    )


def search_controls(search: Search) -> None:
    """Greedy or a beam, and when it ends."""
    slider("beam_width", _("beam_width · hypotheses kept (1: greedy)"), search.how.beam_width)
    label = _("max_new_tokens · maximum target length")
    slider("max_new_tokens", label, search.how.max_new_tokens, most=64)
    if search.how.beam_width > 1:
        label = _("length_penalty · above 0 favors longer targets")
        slider("length_penalty", label, search.how.length_penalty, step=0.1)


def open_hypothesis(here: Standing, customdata: list[Any]) -> None:
    """A mark in the tree was clicked: the page shows what stands there.

    What was not taken is written there, and the search goes on from it.
    """
    place = int(customdata[0])
    row = search_facts(here).nodes.iloc[place]
    there = replace(here, step=int(row["step"]), place=place)
    if row["fate"] == Fate.DROPPED:
        _force_all(search_facts(there).token_ids)
        link.change("target_step", there.step)
    else:
        link.change("beam_node", place)
        link.change("target_token", None)


def force(here: Standing, customdata: list[Any]) -> None:
    """A candidate was clicked: it is written after what stands, and the search goes on."""
    unended = search_facts(here).unended
    _force_all((*unended, int(customdata[0])))
    link.change("target_step", len(unended) + 1)


def _force_all(token_ids: tuple[int, ...]) -> None:
    link.change("forced_ids", written_ids(token_ids))
    link.change("target_step", None)


PANEL = Panel(
    "decoding",
    N_("How is the target generated?"),
    lambda _run, here, state: how_it_is_written(here, state),
    fields=("n_layers", "n_decoder_layers", "d_model", "n_heads"),
    at=lambda _run, here: (here,),
    shows=(
        File(lambda here: search_facts(here).nodes, "search"),
        File(lambda here: candidate_facts(here).candidates, "next_tokens"),
        Matrix(decoding_picture.tree, "beam_tree", facts=search_facts),
        Matrix(decoding_picture.choices, "next_choices", facts=candidate_facts),
    ),
)
