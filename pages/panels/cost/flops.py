"""FLOPs of a step, product by product, and where attention between tokens overtakes the rest."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import crossover, step
from blocks.cost.crossover import CrossoverFacts
from blocks.cost.passes import PassKind, operations, pass_kinds
from blocks.cost.setup import Setup
from blocks.cost.step import Decoding, Shape, StepFacts
from blocks.model.faults import N_
from pages.figures import units
from pages.figures.theme import Picture, Translate
from pages.page.frame import section
from pages.panels.cost import flops_picture, shared
from pages.show.chart import columns, show
from pages.show.controls import switch
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.mixers import attend_somewhere, no_pairs
from pages.show.said import say
from pages.show.tables import show_both, show_table
from pages.stage import link, present
from pages.state.values import State
from pages.words.language import _, current_language, listing, sentences
from pages.words.numbers import percent

step_facts = lru_cache(maxsize=64)(step.step_facts)
crossover_facts = lru_cache(maxsize=64)(crossover.crossover_facts)
PASSES = {
    "forward": N_("forward"),
    "prefill": N_("prefill · read a prompt"),
    "decode": N_("decode · generate one more token"),
    "training": N_("training step"),
}


SUMS = {
    "qkv": N_("queries, keys and values"),
    "pairs": N_("attention between tokens (scores and weighted sum)"),
    "out": N_("output projection of attention"),
    "feed_forward": N_("feed-forward"),
    "mixer": N_("token mixer"),
    "mtp": "MTP",
    "embedding": N_("unembedding"),
}


Step = tuple[ModelConfig, PassKind, Shape, Setup, str]


def shown_step(config: ModelConfig, state: State) -> Step:
    """The step that the reader has set, and the device that it is weighed against."""
    setup, device = shared.setup(is_training=True, state=state), state.training_device
    return config, shared.pass_kind(config, state), shared.shape(state), setup, device


def pass_name(kind: str) -> str:
    return _(PASSES[kind])


def says_flops(facts: StepFacts) -> str:
    """The whole step, each token of it, what rule it follows, and what is computed twice."""
    text = _(
        "{total} in total: {each} for each of {tokens:,} tokens, {share:.2f} times the "
        "estimate of {rule}. Attention between tokens (scores and weighted sum) accounts for "
        "{pairs}."
    )
    if facts.chosen.n_tokens == 1:
        text = _(
            "{total} per token, {share:.2f} times the estimate of {rule}. Attention between "
            "tokens (scores and weighted sum) accounts for {pairs}."
        )
    said = text.format(
        total=units.flops(facts.chosen.flops),
        each=units.flops(facts.chosen.per_token),
        tokens=facts.chosen.n_tokens,
        share=facts.of_rule,
        rule=_rule(facts),
        pairs=percent(facts.pairs_share),
    )
    return sentences(said, _again(facts))


def _rule(facts: StepFacts) -> str:
    """So many FLOPs for every parameter that a token meets."""
    text = _("{times} FLOPs per parameter")
    if facts.n_active < facts.n_parameters:
        text = _("{times} FLOPs per active parameter ({active:,} per token)")
    return text.format(times=facts.per_parameter, active=facts.n_active)


def _again(facts: StepFacts) -> str:
    if not facts.recomputed:
        return ""
    text = _("In addition, recomputation in the backward pass takes {again}, because {why}.")
    reasons = (
        (facts.setup.fused, _("fused attention does not store the scores")),
        (
            facts.setup.checkpointing,
            _("with activation checkpointing, each layer runs forward twice"),
        ),
    )
    why = listing(reason for is_so, reason in reasons if is_so)
    return text.format(again=units.flops(facts.recomputed), why=why)


def says_decoding(facts: Decoding) -> str:
    """Reading a prompt against writing the next token."""
    text = _(
        "Processing {n:,} tokens takes {read}, {ratio:,.0f} times as much as generating one "
        "more ({write}). Yet generating it still requires reading every weight used from "
        "memory: at batch size {batch:,}, each weight read serves at most {work:,} FLOPs, "
        "while in the same time {device} could do {could:,.0f} FLOPs."
    )
    return text.format(
        n=facts.n,
        read=units.flops(facts.read),
        write=units.flops(facts.written),
        ratio=facts.ratio,
        batch=facts.batch,
        work=facts.flops_per_weight,
        device=facts.device,
        could=facts.could,
    )


def says_counted(facts: StepFacts) -> str:
    """What is counted, and what is not."""
    said = _(
        "Matrix products are counted exactly, 2·m·n·k each, which equals torch's own "
        "count for eager attention, forward and backward. Norms, softmax, activation "
        "functions, additions and the optimizer are not counted. Masked pairs are "
        "computed, then discarded."
    )
    if facts.config.local_window:
        said = _(
            "Matrix products are counted exactly, 2·m·n·k each, forward and backward. Norms, "
            "softmax, activation functions, additions and the optimizer are not counted. A "
            "causal mask saves nothing, but a local layer is counted with only the keys in "
            "its window (n_local_keys): a sliding-window kernel skips the rest, which a "
            "masked product would compute and discard. If both are counted by the same rule, "
            "the windows leave {share} of the pairs that the mask allows."
        ).format(share=percent(facts.seen_share))
    if not facts.config.attends:
        said = _(
            "Matrix products are counted exactly, 2·m·n·k each, forward and backward; a "
            "state is counted token by token, following its recurrence. Norms, activation "
            "functions, additions and the optimizer are not counted."
        )
    return sentences(said, shared.capacity_note(facts.config))


def says_crossover(facts: CrossoverFacts) -> str:
    """Where both cost the same, and on which side the reader stands."""
    text = _(
        "Products with weights and products between tokens cost the same at n = {at:,.0f}, "
        "which is {ratio:.2f} times d_model. At your n = {n:,}, attention between tokens is "
        "{share} of a layer's FLOPs."
    )
    share = percent(facts.pairs_share)
    said = text.format(at=facts.at, ratio=facts.of_width, n=facts.n, share=share)
    if facts.is_causal:
        more = _(
            "Masked pairs are computed too; a kernel that skips them halves the n² line and "
            "moves the crossing to n = {twice:,.0f}."
        )
        said = sentences(said, more.format(twice=facts.at_unmasked))
    return sentences(said, _says_local(facts))


def _says_local(facts: CrossoverFacts) -> str:
    """Which layers see less than is counted."""
    if not facts.n_local:
        return ""
    text = _(
        "This count is for a layer that attends to all tokens. In {n} of {all} layers a token"
        " attends to at most {window:,} tokens, so beyond that length their FLOPs grow only "
        "linearly with n."
    )
    window = facts.window if facts.is_causal else 2 * facts.window - 1
    return text.format(n=facts.n_local, all=facts.n_layers, window=window)


def draw_operations(facts: StepFacts, *, _: Translate) -> Picture:
    """FLOPs by operation."""
    names = {each.name: shared.operation(each.name) for each in facts.operations}
    title = _("FLOPs by operation, all layers: {what}")
    title = title.format(what=pass_name(facts.chosen.kind))
    shares = [percent(share) for share in facts.shares]
    return flops_picture.operation_bars(facts, names, shares, title=title, _=_)


def operation_rows(facts: StepFacts) -> pd.DataFrame:
    """One row a product: what it is called, its formula, and its FLOPs each way."""
    table = pd.DataFrame([vars(each) for each in facts.operations])
    table.insert(0, "label", table.pop("name").map(shared.operation))
    return table.astype(dict.fromkeys(flops_picture.LOOKS, float))


def operations_table(facts: StepFacts, *, is_exact: bool) -> None:
    """Every product with its formula, in letters and in numbers, then sums by part."""
    found, said = facts.operations, "{:,}".format if is_exact else units.flops
    table = {
        _("operation"): [shared.operation(each.name) for each in found],
        _("forward"): [said(each.forward) for each in found],
        _("formula"): [each.formula for each in found],
        _("in numbers"): [each.numbers for each in found],
    }
    for way, name in (("backward", _("backward")), ("recomputed", _("recomputed"))):
        if any(getattr(each, way) for each in found):
            table[name] = [said(getattr(each, way)) for each in found]
    show_table(pd.DataFrame(table), key="operation_table")
    show_table(sums_table(facts, is_exact=is_exact), key="sums_table")


def sums_table(facts: StepFacts, *, is_exact: bool) -> pd.DataFrame:
    """All that is computed, by part and in all."""
    said, found = "{:,}".format if is_exact else units.flops, facts.by_part
    shares = [f"{flops / facts.done:.2%}" for flops in found.values()]
    return pd.DataFrame(
        {
            _("part"): [*(_(SUMS[part]) for part in found), _("total")],
            _("FLOPs"): [*map(said, found.values()), said(facts.done)],
            _("share"): [*shares, f"{1:.2%}"],
        }
    )


def pass_rows(facts: StepFacts) -> pd.DataFrame:
    """Each kind of step: what it takes in all, and for each token."""
    rows = {
        _("computation"): [pass_name(each.kind) for each in facts.passes],
        _("total"): [_unbroken(units.flops(each.flops)) for each in facts.passes],
        _("per token"): [_unbroken(units.flops(each.per_token)) for each in facts.passes],
        _("tokens processed"): [f"{each.n_tokens:,}" for each in facts.passes],
    }
    return pd.DataFrame(rows)


def _unbroken(said: str) -> str:
    return said.replace(" ", "\N{NO-BREAK SPACE}")


def pass_choice(config: ModelConfig, state: State) -> None:
    """What goes through the model."""
    kinds, shown = tuple(map(str, pass_kinds(config))), str(shared.pass_kind(config, state))
    st.segmented_control(
        _("Kind of computation"),
        kinds,
        format_func=pass_name,
        required=True,
        wrap=True,
        **link.view("counted_pass", shown, (kinds, current_language())),
    )


@section
def how_much_is_computed(config: ModelConfig, state: State) -> None:
    """FLOPs by operation: forward and back, of a prompt, of one more token."""
    place = explained(("flops", "backward_flops"), (operations,), key="operations")
    with present.aside():
        pass_choice(config, state)
    shown = shown_step(config, state)
    with place:
        say(says_flops, *shown, facts=step_facts)
    facts = step_facts(*shown)
    left, right = columns([6, 5])
    with left:
        show(draw_operations, *shown, facts=step_facts, key="operation_bars")
    with right:
        show_both(pass_rows, *shown, facts=step_facts)
        if facts.decoding:
            note(says_decoding(facts.decoding))
    with details(_("Every matrix product with its formula"), icon=":material/functions:"):
        switch("exact_digits", _("Exact digits"))
        operations_table(facts, is_exact=state.exact_digits)
    note(says_counted(facts))


@section
def where_attention_overtakes(config: ModelConfig, state: State) -> None:
    """O(n²·d) against O(n·d²)."""
    shown = config, shared.shape(state).n
    if not attend_somewhere(config):
        no_pairs(config)
        return
    with explained(("crossover",), (crossover.crossover, crossover.layer_flops), key="crossover"):
        say(says_crossover, *shown, facts=crossover_facts)
    show(flops_picture.crossing, *shown, facts=crossover_facts, key="crossover_lines")
    with present.aside():
        st.code(crossover_facts(*shown).formula, language=None, wrap_lines=True)
