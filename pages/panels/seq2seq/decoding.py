"""The target, written step by step: what was chosen, what could have been, what became of it."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.observe.run import Run
from blocks.text.beam import BeamConfig, BeamSearch, Fate
from blocks.text.bilingual import SentenceTokenizer
from pages.figures.table_rows import row_at
from pages.figures.theme import Picture
from pages.panels.seq2seq import decoding_facts, decoding_picture, shared
from pages.panels.seq2seq.decoding_facts import Search, Standing
from pages.ui import chips, link, starts, terms, tokens
from pages.ui.chart import columns, show
from pages.ui.chips import Chip
from pages.ui.controls import slider
from pages.ui.explain import explained, note
from pages.ui.language import _, literal
from pages.ui.link_fields.seq2seq import written_ids
from pages.ui.numbers import percent
from pages.ui.steps import in_steps


def search_controls(search: Search) -> None:
    """Greedy or a beam, and when it ends."""
    label = _("beam_width · hypotheses kept (1: greedy)")
    slider("beam_width", label, search.how.beam_width)
    label = _("max_new_tokens · longest target")
    slider("max_new_tokens", label, search.how.max_new_tokens, most=64)
    if search.how.beam_width > 1:
        label = _("length_penalty · above 0 favors longer targets")
        slider("length_penalty", label, search.how.length_penalty, step=0.1)


def step_controls(here: Standing) -> None:
    """Back, on, to both ends; and what was forced can be taken back."""
    n = here.n
    with st.container(horizontal=True, vertical_alignment="bottom", key="decoding_steps"):
        _go("target_start", _("To the start"), ":material/first_page:", 0, here.step > 0)
        _go("target_back", _("Back"), ":material/undo:", here.step - 1, here.step > 0)
        _go("target_on", _("One step"), ":material/skip_next:", here.step + 1, here.step < n)
        _go("target_end", _("To the end"), ":material/last_page:", None, here.step < n)
        st.button(
            _("Let the model choose again"),
            icon=":material/restart_alt:",
            key="unforce",
            disabled=not here.search.forced,
            on_click=link.change,
            args=("forced_ids", ""),
        )
    if n > 1:
        slider("target_step", _("Tokens generated"), here.step, most=n)


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


def go_on_from(here: Standing) -> None:
    """Where a hypothesis was opened that is not on the path to the result: make it one."""
    if here.place is None or here.place in decoding_facts.path(decoding_facts.decoded(here)):
        return
    st.button(
        _("Continue from the outlined one"),
        icon=":material/play_arrow:",
        key="go_on_from",
        on_click=_force_all,
        args=(decoding_facts.token_ids(here),),
    )


def _force_all(written: tuple[int, ...]) -> None:
    link.change("forced_ids", written_ids(written))
    link.change("target_step", None)


def open_hypothesis(here: Standing, customdata: list[Any]) -> None:
    """A mark in the tree was clicked: the page shows what stands there.

    What was not taken is written there, and the search goes on from it.
    """
    place = int(customdata[0])
    row = row_at(decoding_facts.nodes(here), place)
    there = replace(here, step=int(row["step"]), place=place)
    if row["fate"] == Fate.DROPPED:
        _force_all(decoding_facts.token_ids(there))
        link.change("target_step", there.step)
    else:
        link.change("beam_node", place)
        link.change("target_token", None)


def force(here: Standing, customdata: list[Any]) -> None:
    """A candidate was clicked: it is written after what stands, and the search goes on."""
    written = tuple(
        each for each in decoding_facts.token_ids(here) if each != here.search.how.stop_id
    )
    link.change("forced_ids", written_ids((*written, int(customdata[0]))))
    link.change("target_step", len(written) + 1)


SURE = math.log(0.99)


def target_chips(here: Standing) -> str:
    """The target as chips: what stands, and behind it what the result goes on with."""
    table, places = decoding_facts.nodes(here), decoding_facts.path(here)
    result = decoding_facts.path(decoding_facts.decoded(here))
    rest = result[len(places) :] if result[: len(places)] == places else ()
    found = [Chip(here.search.run.target_or_start.labels[0], "", "read")]
    found += [_chip(table, place, here.search) for place in places]
    found += [Chip(table["label"].loc[place], "", "read") for place in rest]
    return chips.as_markdown(found)


def _chip(table: pd.DataFrame, place: int, search: Search) -> Chip:
    row = row_at(table, place)
    role = "pinned" if _is_overruled(table, row, search) else "written"
    return Chip(row["label"], percent(_chance(row["token_log_prob"])), role)


def _is_overruled(table: pd.DataFrame, row: pd.Series, search: Search) -> bool:
    """Whether the reader put a token where the model had a likelier one."""
    if row["step"] > len(search.forced):
        return False
    parents, parent = table["parent"], row["parent"]
    siblings = parents.isna() if pd.isna(parent) else parents.eq(parent).fillna(False)
    return bool(row["token_log_prob"] < table.loc[siblings, "token_log_prob"].max())


def _chance(log_prob: float) -> float:
    return math.exp(log_prob)


def legend() -> str:
    """What the colours of the chips mean."""
    names = (
        ("written", _("generated by the model")),
        ("pinned", _("your choice (the model preferred another)")),
        ("read", _("start token and what is not generated yet")),
    )
    return " ".join(f":{chips.COLORS[role]}-badge[{name}]" for role, name in names)


def translation(here: Standing) -> str:
    """What is written, as one writes it."""
    text = " ".join(decoding_facts.written_text(here).split())
    return f"### {chips.literally(text)}" if text else ""


def sentence(here: Standing) -> str:
    """How far it is, how sure, and what else the search knows."""
    if here.place is None:
        return _("Only the start token: the decoder has generated nothing yet.")
    row = _row(here)
    text = _(
        "After {step} of {n} steps the target has log-probability {log_prob} nats "
        "(probability {chance})."
    )
    said = text.format(
        step=here.step,
        n=here.n,
        log_prob=nats(row["log_prob"]),
        chance=percent(_chance(row["log_prob"])),
    )
    return " ".join(filter(None, (said, _fate(row), _weakest(here), _limit(here))))


def _fate(row: pd.Series) -> str:
    match row["fate"]:
        case "dropped":
            return _("Pruned by the search: other candidates were more probable.")
        case "finished":
            return _("It is complete: {token} was written.").format(token=literal(row["label"]))
        case _:
            return ""


def _weakest(here: Standing) -> str:
    """The token of which the model was least sure, of those that it chose itself."""
    table = decoding_facts.nodes(here)
    rows = table.loc[list(decoding_facts.path(here))]
    is_own = [not _is_overruled(table, row, here.search) for _place, row in rows.iterrows()]
    if not any(is_own):
        return ""
    own = rows[is_own]
    least = own.iloc[own["token_log_prob"].argmin()]
    if least["token_log_prob"] > SURE:
        return _sure(all(is_own))
    text = (
        _("It was least confident of {token} at step {step}: {chance}.")
        if all(is_own)
        else _("Of its own choices it was least confident of {token} at step {step}: {chance}.")
    )
    return text.format(
        token=literal(least["label"]),
        step=int(least["step"]),
        chance=percent(_chance(least["token_log_prob"])),
    )


def _sure(is_all_own: bool) -> str:
    if is_all_own:
        return _("It was confident of every token: none had less than 99%.")
    return _("It was confident of all its own choices: none had less than 99%.")


def _limit(here: Standing) -> str:
    """Where the target ended for want of room."""
    search, n = here.search, here.n
    if n < search.n_steps or decoding_facts.is_ended(here) or here.step < n:
        return ""
    if search.how.stop_id < 0:
        text = _("With random weights nothing ends a target: it stops at {n} tokens.")
        return text.format(n=n)
    name = "max_seq_len" if search.n_steps < search.how.max_new_tokens else "max_new_tokens"
    text = _("It did not end: {name} limits it to {n} tokens.")
    return text.format(name=name, n=n)


def tree_sentence(here: Standing) -> str:
    """What the beam found that greedy search did not, or what it dropped."""
    table = decoding_facts.nodes(here)
    n_fates = table["fate"].value_counts()
    text = _("{n} hypotheses explored: {dropped} pruned, {finished} finished.")
    said = text.format(
        n=len(table),
        dropped=int(n_fates.get("dropped", 0)),
        finished=int(n_fates.get("finished", 0)),
    )
    if here.search.how.beam_width == 1:
        greedy = _("Greedy search keeps only the most probable token at each step.")
        return f"{said} {greedy}"
    return f"{said} {_against_greedy(here)}"


def _against_greedy(here: Standing) -> str:
    ours, theirs = decoding_facts.decoded(here), decoding_facts.greedy_result(here)
    if ours.place is None or theirs.place is None:
        return ""
    if decoding_facts.token_ids(ours) == decoding_facts.token_ids(theirs):
        return _("Greedy search finds the same target.")
    text = _("Greedy search finds another target: log-probability {theirs}, {ours} here.")
    said = {"theirs": _log_prob(theirs), "ours": _log_prob(ours)}
    return text.format(**said)


def _row(here: Standing) -> pd.Series:
    """What the tree knows of the hypothesis that stands."""
    assert here.place is not None
    return row_at(decoding_facts.nodes(here), here.place)


def _log_prob(here: Standing) -> str:
    return nats(_row(here)["log_prob"])


def nats(log_prob: float) -> str:
    """A log-probability with a true minus sign."""
    return f"{log_prob:.3g}".replace("-", "−")


def window_note(here: Standing) -> str:
    """Which steps are drawn where there are too many."""
    first, last = decoding_facts.shown_steps(here)
    n = here.n
    if last - first + 1 == n:
        return ""
    text = _("Shown: steps {first} to {last} of {n}, around the chosen one.")
    return text.format(first=first, last=last, n=n)


def against_grammar(here: Standing) -> str:
    """Whether the grammar says the same; nothing where the source is none of its sentences."""
    run = here.search.run
    reader = tokens.tokenizer_of(run.input.vocabulary)
    if not run.weights or not isinstance(reader, SentenceTokenizer):
        return ""
    true = shared.translation(run.input.token_ids, run.input.vocabulary)
    if true is None:
        return _(
            "The grammar behind the training data cannot produce this source: the "
            "translation is a guess."
        )
    written = list(decoding_facts.token_ids(here)[:-1])
    if decoding_facts.is_ended(here) and written == reader.ids(true):
        return _("Identical to the grammar's own translation.")
    text = _("The grammar's own translation is: {text}")
    return text.format(text=literal(reader.decode(reader.ids(true))))


def choices_sentence(here: Standing) -> str:
    """What the distribution says, and that it can be overruled."""
    table = decoding_facts.next_choices(here)
    first = table.iloc[0]
    text = _(
        "The model's top prediction is {token} ({chance}). Click another token to force "
        "it, and the search continues from there."
    )
    said = text.format(token=literal(first["label"]), chance=percent(first["probability"]))
    return " ".join(filter(None, (said, _smoothed(here))))


def _smoothed(here: Standing) -> str:
    """Why a model that was trained with label smoothing is never quite sure."""
    weights = here.search.run.weights
    smoothing = starts.model(weights).card.recipe["recipe"]["label_smoothing"] if weights else 0
    if not smoothing:
        return ""
    text = _(
        "It was trained with label smoothing {smoothing}, so even a confident prediction "
        "stays below 100%."
    )
    return text.format(smoothing=smoothing)


def tree_alt(here: Standing) -> str:
    """Write the alt text of the tree."""
    labels = " ".join(
        decoding_facts.nodes(here)["label"].loc[
            list(decoding_facts.path(decoding_facts.decoded(here)))
        ]
    )
    text = _("Search tree over {n} steps; path to the result: {labels}.")
    return text.format(n=here.n, labels=labels)


def choices_alt(here: Standing) -> str:
    """Write the alt text of the next tokens."""
    rows = decoding_facts.next_choices(here).itertuples()
    listed = "; ".join(f"{row.label} {row.probability:.1%}" for row in rows)
    return _("Candidates for the next token: {listed}.").format(listed=listed)


def mask_note(here: Standing) -> str:
    """A search is causal whatever the mask of the recorded run."""
    run = here.search.run
    if run.mask.mask_kind == "causal":
        return ""
    parts = _unmasked() if run.mask.mask_kind == "none" else _other_mask(run), _held_out(run)
    return " ".join(filter(None, parts))


def _unmasked() -> str:
    return _(
        "Without a mask the generated target and its probabilities stay the same: when "
        "a token is predicted, later ones do not exist yet. The mask matters only where "
        "a whole target is read at once, as in the pictures below and in training."
    )


def _other_mask(run: Run) -> str:
    text = _(
        "The target's mask is {mask}: the pictures show it, but generation is "
        "autoregressive, so the search is always causal."
    )
    return text.format(mask=terms.option(run.mask.mask_kind))


def _held_out(run: Run) -> str:
    if not shared.knows_grammar(run):
        return ""
    return _("Scores on validation sentences use the causal mask.")


def results(here: Standing) -> None:
    """The best targets of a beam with what they are judged by, the best first."""
    found = decoding_facts.results_by_beam(here)
    if len(found) < 2:
        return
    rows = [
        (
            decoding_facts.written_text(each),
            each.step,
            nats(row["log_prob"]),
            percent(_chance(row["log_prob"])),
            nats(row["score"]),
        )
        for each, row in zip(found, map(_row, found), strict=True)
    ]
    columns = [_("target"), _("tokens"), _("log-probability"), _("probability"), _("beam score")]
    st.dataframe(pd.DataFrame(rows, columns=columns), hide_index=True, key="beam_results")


def how_it_is_written(here: Standing) -> None:
    """The target as it stands, what was tried, and what could come next."""
    code = (BeamSearch.advance, BeamConfig.score)
    place = explained(("beam_search",), code, key="decoding")
    step_controls(here)
    with st.container(border=True, key="target_so_far"):
        st.markdown(translation(here))
        st.markdown(target_chips(here), help=legend())
    notes = (sentence(here), against_grammar(here))
    place.info(" ".join(filter(None, notes)), icon=":material/lightbulb:")
    if said := mask_note(here):
        note(said)
    what_was_looked_at(here)


def written(search: Search) -> Standing:
    """Write the target, in sight of the reader where it takes long; what stands then."""
    write(search)
    return decoding_facts.standing(search)


def write(search: Search) -> None:
    """As many tokens as the search needs."""
    steps = [_step(search, step) for step in range(1, search.n_steps + 1)]
    in_steps(steps, what=search, key="writing")


def _step(search: Search, step: int) -> Callable[[], None]:
    return lambda: decoding_facts.writer(search).advance_to(step)


def what_was_looked_at(here: Standing) -> None:
    """The tree of the search, and what could come next where the reader stands."""
    left, right = columns([7, 5])
    with left:
        if here.n:
            show(
                draw_tree,
                here,
                key="beam_tree",
                alt=tree_alt,
                on_click=partial(open_hypothesis, here),
            )
            go_on_from(here)
            note(tree_sentence(here))
            results(here)
            if said := window_note(here):
                note(said)
    with right:
        show(
            draw_choices,
            here,
            key="next_choices",
            alt=choices_alt,
            on_click=partial(force, here),
        )
        note(choices_sentence(here))
        search_controls(here.search)


def draw_tree(here: Standing) -> Picture:
    """All hypotheses, and the path to the result."""
    result = set(decoding_facts.path(decoding_facts.decoded(here)))
    return decoding_picture.tree(
        decoding_facts.shown_nodes(here), result=result, chosen=here.place, _=_
    )


def draw_choices(here: Standing) -> Picture:
    """The likeliest next tokens, and the one that was taken."""
    after = decoding_facts.run_of(here).target_or_start.labels[-1]
    taken = decoding_facts.written_next(here)
    return decoding_picture.choices(
        decoding_facts.next_choices(here), after=after, taken=taken, _=_
    )
