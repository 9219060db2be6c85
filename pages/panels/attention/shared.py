"""Exact numbers of ways to attend, and of heads that share."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from blocks.inspection import contribution as parts
from blocks.inspection import head_steps as steps
from blocks.inspection import scaling
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.ui import cached, layers, link
from pages.ui.language import _, literal
from pages.ui.link_fields.attention import STEPS
from pages.ui.numbers import percent
from pages.ui.views import head_choice, layer_choice


@lru_cache(maxsize=2)
def attention(run: Run, layer: int) -> steps.AttentionSteps:
    """One layer taken apart, on the device of the run."""
    seen, model = cached.recording(run), cached.model(run)
    with cached.turn(run.device):
        return steps.attention_steps(
            seen, model, run.config, layer, run.build_mask(), replace=run.replacements(model)
        )


@lru_cache(maxsize=4)
def head_steps_of(run: Run, layer: int, number: int) -> steps.HeadSteps:
    """One head of it, on the host."""
    return steps.head_steps(attention(run, layer), number)


@lru_cache(maxsize=64)
def contribution(run: Run, layer: int, number: int | None, query: int) -> parts.Contribution:
    """What each key adds at a query, of one head or of all."""
    return parts.contribution(attention(run, layer), query, number)


@lru_cache(maxsize=64)
def first_token(run: Run, layer: int) -> pd.DataFrame:
    """How much of each head's weight rests on the first token, and what that moves."""
    return parts.first_token(attention(run, layer)).assign(layer=layer)


@lru_cache(maxsize=16)
def random_sharpness(run: Run) -> pd.DataFrame:
    """Sharpness of random queries and keys of every width, under the run's mask."""
    return scaling.random_sharpness(attention(run, 0).mask, run.seed)


@lru_cache(maxsize=32)
def all_heads(run: Run) -> pd.DataFrame:
    """One row a head of the whole model: its measures."""
    return layers.heads(run)


@lru_cache(maxsize=64)
def strongest(run: Run, layer: int, query: int) -> tuple[int, int, float]:
    """Head, key and weight of the largest weight of a query on another token."""
    row = cached.recording(run).pattern(layer)[0, :, query].float().clone()
    row[:, query] = 0
    place = int(row.argmax())
    head, key = divmod(place, row.shape[-1])
    return head, key, float(row.flatten()[place])


@lru_cache(maxsize=16)
def sinks(run: Run) -> pd.DataFrame:
    """`first_token` of all layers."""
    found = [first_token(run, layer) for layer in range(run.config.n_layers)]
    return pd.concat(found, ignore_index=True)


def token(run: Run, i: int) -> str:
    """A token as it stands in a sentence of ours."""
    return literal(run.input.labels[i])


def head_called(layer: int, head: int) -> str:
    """Layer and head in words."""
    return _("layer {layer}, head {head}").format(layer=from_one(layer), head=from_one(head))


EXACT = 1e-3


def sharpest_for(run: Run, query: int) -> tuple[int, int, int, float]:
    """Layer, head, key and weight: where the pinned token reads most from one other token."""
    return max(
        ((layer, *strongest(run, layer, query)) for layer in range(run.config.n_layers)),
        key=lambda found: found[-1],
    )


def sharpest_label(run: Run, query: int) -> str:
    """What the button says that goes there."""
    layer, head, key, weight = sharpest_for(run, query)
    text = _("Sharpest for the pinned token: {head} ({share} on {key})")
    return text.format(
        head=head_called(layer, head), share=percent(weight), key=run.input.labels[key]
    )


def which_head(run: Run, layer: int, head: int, query: int) -> None:
    """The layer and head that the whole page looks at, and a way to a telling one."""
    left, middle, right = st.columns([3, 3, 5], vertical_alignment="bottom")
    with left:
        layer_choice(run)
    with middle, st.container(gap="xxsmall"):
        if run.config.n_heads > 1:
            st.caption(_("Head"))
        head_choice(run, head)
    with right:
        there = sharpest_for(run, query)[:2]
        st.button(
            sharpest_label(run, query),
            icon=":material/my_location:",
            on_click=_go_to,
            args=there,
            key="sharpest",
            disabled=there == (layer, head),
            help=_("The head in which the pinned token puts the largest weight on another token."),
        )


def _go_to(layer: int, head: int) -> None:
    link.change("layer", layer)
    link.change("head", head)


def step_keys(run: Run, step: str) -> None:
    """Back and on, by button or key."""
    steps = steps_of(run)
    i, last = steps.index(step), len(steps) - 1
    _step_button(_("Back"), "step_back", steps[max(0, i - 1)], i == 0, "B")
    _step_button(_("Continue"), "step_on", steps[min(i + 1, last)], i == last, "N")


def _step_button(label: str, key: str, to: str, is_end: bool, shortcut: str) -> None:
    st.button(
        label,
        key=key,
        on_click=link.change,
        args=("attention_step", to),
        disabled=is_end,
        shortcut=shortcut,
        type="primary" if key == "step_on" else "secondary",
    )


def counted_head(head: int) -> int | None:
    """The head whose contributions are shown; None: all together."""
    return head if link.value("counted") == "one_head" else None


def open_head(customdata: list[Any]) -> None:
    """A head was clicked, in the table or among the sinks: [layer, head]."""
    _go_to(int(customdata[0]), int(customdata[1]))
    link.redraw_everything()


MOST_TOKENS, MOST_FEATURES = 32, 64

MOST_LINES = 64  # tokens in pictures that are long and not square


class Window(NamedTuple):
    """The tokens that are drawn: all where they can be read, else those around the pinned one."""

    first: int
    end: int

    def __contains__(self, token: object) -> bool:
        return isinstance(token, int) and self.first <= token < self.end

    def inside(self, token: int) -> int | None:
        """Its number within the window; None where it is not drawn."""
        return token - self.first if token in self else None


def window(run: Run, token: int, most: int = MOST_TOKENS) -> Window:
    """So many tokens around the pinned one."""
    n = len(run.input.labels)
    first = max(0, min(token - most // 2, n - most))
    return Window(first, min(n, first + most))


def steps_of(run: Run) -> tuple[str, ...]:
    """The steps that this model takes."""
    is_alibi = run.config.position.position_kind is PositionKind.ALIBI
    return tuple(step for step in STEPS if is_alibi or step != "bias")


def current_step(run: Run) -> str:
    """The step that is shown large: the reader's where this model takes it."""
    chosen = link.value("attention_step")
    return chosen if chosen in steps_of(run) else "scaled"


def chosen_key(run: Run, layer: int, head: int, token: int) -> int:
    """The key that is written out: the reader's, or the one that the pinned token reads most."""
    chosen = link.value("key")
    if chosen is not None:
        return min(chosen, len(run.input.labels) - 1)
    return int(np.nan_to_num(head_steps_of(run, layer, head).pattern[token]).argmax())


def chosen_feature(run: Run, step: str) -> int:
    """The column that is written out in the last two steps."""
    width = run.config.d_model if step == "write" else run.config.d_head
    return min(link.value("feature"), width - 1)


def drawn_note(run: Run, layer: int, head: int, query: int, shown: Window) -> str:
    """Which tokens are drawn and how much of the pinned row they hold; nothing where all are."""
    n = len(run.input.labels)
    if shown.end - shown.first == n:
        return ""
    row = np.nan_to_num(head_steps_of(run, layer, head).pattern[query])
    text = _(
        "Shown: tokens {first} to {last} of {n}, around the pinned one; they hold "
        "{share} of its weight. All numbers use all tokens."
    )
    share = percent(float(row[slice(*shown)].sum()))
    return text.format(first=shown.first + 1, last=shown.end, n=n, share=share)


MOST_KEYS, MOST_HEADS = 32, 32


def sort_by() -> str:
    """The chosen order."""
    return link.value("sort_heads_by")
