"""Attention is not contribution: weight beside what is really added, and heads that rest."""

from functools import lru_cache, partial

import pandas as pd
import streamlit as st

from blocks.inspection import contribution as measures
from blocks.inspection.contribution import ContributionFacts, SinkFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.table_rows import each_row
from pages.panels.attention import contribution_picture, shared, sinks_picture
from pages.ui import labelled, link, present, sinks
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language, listing, sentences
from pages.ui.link_fields.attention import COUNTED
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.views import pin_token

COUNTED_LABELS = {"one_head": N_("this head"), "all_heads": N_("all heads of the layer")}


@lru_cache(maxsize=64)
def contribution_facts(
    run: Run, layer: int, head: int | None, query: int, is_apart: bool = False
) -> ContributionFacts:
    """What each key adds at a query, of one head or of all; `is_apart`: sinks are set apart."""
    parts = measures.contribution(shared.attention(run, layer), query, head)
    apart = sinks.set_apart(run, is_apart)
    sees_others = parts.keys["weight"].drop(index=[*apart]).any()
    return ContributionFacts(run, layer, head, query, parts, apart if sees_others else ())


@lru_cache(maxsize=64)
def first_token(run: Run, layer: int) -> pd.DataFrame:
    """How much of each head's weight rests on the first token, and what that moves."""
    return measures.first_token(shared.attention(run, layer)).assign(layer=layer)


@lru_cache(maxsize=16)
def sink_facts(run: Run, layer: int, head: int) -> SinkFacts:
    """The same of all layers."""
    found = [first_token(run, i) for i in run.config.attention_layers]
    return SinkFacts(pd.concat(found, ignore_index=True), (layer, head))


def named_keys(run: Run, layer: int, head: int | None, query: int, is_apart: bool) -> pd.DataFrame:
    """Every key by its place from 1 and its token, with its weight and what it contributes."""
    keys = contribution_facts(run, layer, head, query, is_apart).parts.keys
    names = {"token": range(1, len(keys) + 1), "token_label": run.input.labels}
    return pd.DataFrame({**names, **keys})


def counted_head(head: int) -> int | None:
    """The head whose contributions are shown; None: all together."""
    return head if link.value("counted") == "one_head" else None


def says_contribution(facts: ContributionFacts) -> str:
    """Which key has the most weight, and which one adds most."""
    if facts.parts.out_norm == 0:
        return _("Attention adds nothing at this token: its output has length 0.")
    if facts.weight(facts.heaviest) == 0:
        return _("This token cannot attend to any key, so attention adds only its output bias.")
    said = [_apart(facts), _largest(facts)]
    if facts.head is not None:
        text = _("This head contributes {share:.0%} of what attention adds here.")
        said.append(text.format(share=facts.head_share))
    if facts.parts.bias_norm > 0:
        text = _("The output bias contributes {share:.0%}: it comes from no token.")
        said.append(text.format(share=facts.parts.bias))
    return sentences(*said)


def _apart(facts: ContributionFacts) -> str:
    """How much of the weight rests on sinks, where they are set apart."""
    if not facts.apart:
        return ""
    text = _("{share} of the weight rests on sinks, which are left out of what follows.")
    return text.format(share=percent(facts.apart_weight))


def _largest(facts: ContributionFacts) -> str:
    text = _(
        "{token} has the largest weight ({weight}), but {other} contributes the most: "
        "{other_norm} of the summed vector lengths with a weight of {other_weight}; "
        "{token} contributes {norm}."
    )
    if facts.heaviest == facts.longest:
        text = _(
            "{token} has the largest weight ({weight}) and contributes the most ({norm} of "
            "the summed vector lengths)."
        )
    return text.format(
        token=shared.token(facts.run, facts.heaviest),
        weight=percent(facts.weight(facts.heaviest)),
        norm=percent(facts.norm_share(facts.heaviest)),
        other=shared.token(facts.run, facts.longest),
        other_norm=percent(facts.norm_share(facts.longest)),
        other_weight=percent(facts.weight(facts.longest)),
    )


def says_shares(facts: ContributionFacts) -> str:
    """Which keys are drawn, and what is counted."""
    notes, most = [], contribution_picture.MOST_KEYS
    if facts.n_seen > most:
        text = _("Of {all} visible keys, the {n} with the largest weight or share are shown.")
        notes.append(text.format(n=most, all=facts.n_seen))
    notes.append(
        _(
            "The share is the component of each contribution along the attention output "
            "at this token, before dropout; all rows sum to 100%. A row with a negative "
            "share works against the others."
        )
    )
    return sentences(*notes)


def says_sinks(facts: SinkFacts) -> str:
    """Which heads rest on the first token, by which numbers."""
    rule = _(
        "Some heads park their attention on the first token, an attention sink. A head is "
        "marked if its mean weight on that token is above {above:.0%} while the token's "
        "‖v·W_O‖ is below {below} times the mean over the other tokens."
    ).format(above=facts.above, below=facts.below)
    if facts.sinks.empty:
        text = _(
            "No head uses the first token as an attention sink here; the closest is {head}: "
            "weight {weight}, ‖v·W_O‖ ratio {ratio:.2f}."
        )
        return sentences(rule, *_each(text, facts.closest))
    each = _("{head} (weight {weight}, ‖v·W_O‖ ratio {ratio:.2f})")
    text = _("{n} of {all} heads use the first token as an attention sink, most clearly {listed}.")
    listed = listing(_each(each, facts.sinks.head(4)))
    return sentences(rule, text.format(n=len(facts.sinks), all=len(facts.heads), listed=listed))


def _each(text: str, heads: pd.DataFrame) -> list[str]:
    return [
        text.format(
            head=shared.head_called(row.layer, row.head),
            weight=percent(row.weight),
            ratio=row.value_ratio,
        )
        for row in each_row(heads)
    ]


@section
def weight_and_contribution(run: Run) -> None:
    """The keys of the pinned token, by weight and by what they add; then the first token."""
    at = labelled.selection(run)
    code = (measures.contribution, measures.value_norms, measures.first_token)
    shown = run, at.layer, counted_head(at.head), at.token, sinks.is_wanted()
    with explained(("contribution",), code, key="contribution"):
        say(says_contribution, *shown, facts=contribution_facts)
    sinks.sinks_switch(run, "contribution")
    with present.aside():
        st.segmented_control(
            _("Heads included"),
            COUNTED,
            format_func=lambda name: _(COUNTED_LABELS[name]),
            required=True,
            **link.view("counted", link.value("counted"), current_language()),
        )
    left, right = columns([7, 5])
    with left:
        show(
            contribution_picture.bars,
            *shown,
            facts=contribution_facts,
            key="contribution",
            on_click=pin_token,
        )
        note(says_shares(contribution_facts(*shown)))
    with right:
        rests_on_the_first(run, at.layer, at.head)


def rests_on_the_first(run: Run, *head: int) -> None:
    """Every head of the model: its weight on the first token, and what that would move."""
    layers = [partial(first_token, run, layer) for layer in run.config.attention_layers]
    if in_steps(layers, what=run, key="first_token", shows_parts=False).is_stopped:
        return
    draw = sinks_picture.sinks
    show(draw, run, *head, facts=sink_facts, key="sinks", on_click=shared.open_head)
    note(says_sinks(sink_facts(run, *head)))
