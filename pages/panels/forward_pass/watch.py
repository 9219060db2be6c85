"""The whole pass as one picture that moves, from the sentence to the next word."""

import html
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
import streamlit as st

from blocks.inspection import scene as scenes
from blocks.inspection.scene_backward import can_learn
from blocks.inspection.scene_backward_facts import back_cell
from blocks.inspection.scene_cell import CellFacts, cell_facts, drawn_exactly
from blocks.inspection.scene_moves import MoveKind
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.page.frame import section
from pages.panels.forward_pass import ghosts, moving, said
from pages.panels.forward_pass.head import head_of
from pages.panels.forward_pass.message import Packed, message, packed
from pages.panels.forward_pass.said_cell import says_cell
from pages.panels.forward_pass.shown import Asked, keys_of, labels_of, scene_of, sinks_of
from pages.panels.home import append_word
from pages.server import cached
from pages.show import beside, page_file
from pages.show.controls import enter
from pages.show.explain import note
from pages.show.export import download
from pages.show.inputs import current_run, shorten
from pages.stage import link, present, tokens
from pages.stage.phone import is_phone
from pages.state import labelled, sinks
from pages.state.values import State
from pages.words.language import _, current_language, sentences

AT_END = {"zoom": "model", "moment": "", "head": 0, "cell": None, "cached": False}
OF_HEADS = (MoveKind.PROJECT, MoveKind.SCORES, MoveKind.SOFTMAX, MoveKind.MIX)


def the_pass(run: Run) -> None:
    """The picture, and how it is read; of a text whose numbers are too many, the way to fewer."""
    moving.begin()
    if fits(run):
        picture(run)
        return
    most, n = scenes.most_tokens(run.config), run.input.shape[1]
    text = _(
        "The animation stores every number of a forward pass. For this model it has room for "
        "{most:,} tokens, but the text has {n:,}. Shorten the text."
    )
    st.info(text.format(most=most, n=n), icon=":material/content_cut:")
    label = _("Use the first {n:,} tokens").format(n=most)
    st.button(label, key="shorten_for_the_pass", on_click=shorten, args=(most,))


def fits(run: Run) -> bool:
    """Whether all numbers of its pass can be kept."""
    return run.input.shape[1] <= scenes.most_tokens(run.config)


@section
def picture(run: Run, state: State) -> None:
    """Redrawn alone where the reader comes to another layer or head."""
    layer, head = labelled.selected_layer(run, state), labelled.selected_head(run, state)
    token = labelled.pinned_token(run, state)
    is_back = state.direction == "backward" and can_learn(run)
    drafted = () if is_back else ghosts.drafted(run, state)
    read = ghosts.with_draft(run, drafted)
    asked = Asked(
        *(read, scenes.opened_layers(read, layer), token, is_back, len(drafted)),
        state.first_feature,
    )
    pair = beside.found()
    is_pair = pair is not None and pair.b == run and fits(pair.a)
    if is_pair and pair:
        st.markdown("**B**")
    told: dict[str, Any] = {
        **{"writes": _may_grow(run) and not is_back, "sends": True},
        "is_presented": present.is_on(),
        **{"pair": "b" if is_pair else "", "drafts": not is_back and ghosts.can_draft(run)},
    }
    if cell := moving.chosen_cell(state):
        told["written"] = written_out(asked, head, cell)
    moving.moving_picture(partial(_message, asked, head, told), _write, state)
    if is_pair and pair:
        a_in_step(pair, layer, head, is_back, state)
    note(sentences(how_to_read(is_back), says_sinks(run)))
    what_is_drawn(asked)


def what_is_drawn(asked: Asked) -> None:
    """Of a long text its tokens, and of wide rows their features, with the way to the others."""
    seen, n = scene_of(asked), len(asked.run.input.labels)
    if (window := next(iter(seen.windows.values()))).stop - window.start < n:
        text = _("Tokens {first} to {last} of {n} are shown; the model reads all of them.")
        st.caption(text.format(first=from_one(window.start), last=window.stop, n=n))
    widest = max(each.of for each in seen.matrices.values() if each.columns is None)
    most, few = scenes.columns(max(w.stop - w.start for w in seen.windows.values()))
    if widest <= most:
        return
    text = _(
        "The picture draws at most {most} numbers of each row, and {few} in layers that are not "
        "opened. The model computes all of them, up to {widest:,} in a row."
    )
    note(text.format(most=most, few=few, widest=widest))
    label, last = _("First feature drawn"), widest - most
    with present.aside():
        enter("first_feature", label, asked.first, most=last, first=1, step=most, width=220)


def a_in_step(pair: beside.Beside, layer: int, head: int, is_back: bool, state: State) -> None:
    """A below B, at the same moment; of a model of other depth, as far along."""
    run = pair.a
    own = layer * run.config.n_layers // pair.b.config.n_layers
    opened = scenes.opened_layers(run, own)
    asked = Asked(run, opened, labelled.pinned_token(run, state), is_back and can_learn(run))
    st.markdown(f"**A** · {beside.name_of_a()}")
    moving.beside(_alone(asked, min(head, run.config.n_heads - 1), "a"))


def what_to_take(run: Run, state: State) -> None:
    """The moving picture as a file of its own, which plays without a network."""
    download("pass.html", partial(_file, run, state=state), "text/html")


def _file(run: Run, state: State) -> str:
    asked = Asked(
        run,
        scenes.opened_layers(run, labelled.selected_layer(run, state)),
        labelled.pinned_token(run, state),
    )
    made = _alone(asked, labelled.selected_head(run, state), "")
    title = _("From the sentence to the next word")
    return page_file.whole(
        title, (f"<h1>{html.escape(title)}</h1>", moving.as_html(made)), current_language()
    )


def written_out(asked: Asked, head: int, cell: tuple[str, int, int]) -> dict[str, Any] | None:
    """The number that the reader has zoomed to, as arithmetic, and all of its head, exactly."""
    seen, (path, row, column) = scene_of(asked), cell
    if asked.is_back:
        facts = back_cell(seen, path, head, row, column)
    else:
        facts = cell_facts(seen, cached.model(asked.run), path, head, row, column)
    if facts is None:
        return None
    text = says_cell(facts, f"**{_place(asked.run, facts)}**", asked.run.config)
    numbers = drawn_exactly(seen, path, head)
    sent = [[float(f"{x:.7g}") if np.isfinite(x) else None for x in each] for each in numbers]
    at = {"cell": f"{path}:{row},{column}", "path": path, "head": head}
    return {**at, "text": text, "numbers": sent}


def _place(run: Run, facts: CellFacts) -> str:
    """Which matrix, which head, whose row, which column."""
    move, labels = facts.move, labels_of(run)
    rows = labels["encoder" if move.stage in ("cross_k", "cross_v") else move.stack]
    column = _("feature {n}").format(n=from_one(facts.column))
    if move.kind in (MoveKind.SCORES, MoveKind.SOFTMAX):
        column = labels[keys_of(move)][facts.column]
    is_head = move.kind in OF_HEADS
    head = _("head {n}").format(n=from_one(facts.head)) if is_head else ""
    return " · ".join(filter(None, (said.title(run, move), head, rows[facts.row], column)))


def how_to_read(is_back: bool) -> str:
    """What colours mean, and which keys lead where."""
    keys = _(
        "Click to go in, Esc to come out; Space plays, ← and → step. Click a word to see its lines "
        "alone, and once more to see all."
    )
    if is_phone():
        keys = _(
            "Tap to go in; the minus sign below the picture leads out again. Tap a word to see its "
            "lines alone, and once more to see all."
        )
    text = _(
        "Each square is a number of this run: blue above 0, orange below. Lines, frames and the "
        "bars above have the colors of the parts in the legend."
    )
    if is_back:
        text = _(
            "Each square is a gradient: how fast the loss would rise with that number. Blue is "
            "above 0, orange below."
        )
    return sentences(text, keys)


def says_sinks(run: Run) -> str:
    """Which lines are pale, and why; empty where none are."""
    if not (found := sinks_of(run)):
        return ""
    return _(
        "Most of the attention goes to {tokens}, whatever the text says; lines from these "
        "tokens are drawn pale, and the widths of the other lines are relative to the "
        "strongest of those."
    ).format(tokens=sinks.names(run, found))


def _alone(asked: Asked, head: int, pair: str) -> bytes:
    told = {"writes": False, "sends": False, "pair": pair}
    return _message(asked, head, told, {"place_id": 0, "place": AT_END})


def _message(asked: Asked, head: int, told: Mapping[str, Any], place: dict[str, Any]) -> bytes:
    return message(_numbers(asked), {**head_of(asked, head, current_language()), **place, **told})


@lru_cache(maxsize=64)
def _numbers(asked: Asked) -> Packed:
    return packed(scene_of(asked))


def _may_grow(run: Run) -> bool:
    is_gpt = run.config.architecture is Architecture.GPT
    return is_gpt and len(run.input.token_ids) < tokens.most_tokens()


def _write() -> None:
    """The likeliest next word joins the sentence, with drafts before it that stand."""
    run = current_run(None)
    if text := ghosts.text_written(run, link.now()):
        link.change("text", link.value("text") + text)
        link.restore("token")
    else:
        append_word(run)
    link.redraw_everything()
