"""What a model is made of: every parameter, by formula, and counted."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from blocks.cost.breakdown import CountFacts
from blocks.cost.parameters import count_parameters
from blocks.model.faults import N_
from blocks.model.kinds import Architecture, TokenMixer
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Look, bars
from pages.figures.theme import plain
from pages.page.declared import Panel
from pages.server import cached
from pages.show import explain
from pages.show.chart import columns, show
from pages.show.explain import explained
from pages.show.parts import File, Shown, the_values
from pages.show.said import say
from pages.show.tables import show_table
from pages.stage import present
from pages.words import terms
from pages.words.language import _

Note = Callable[[Run], str]
ROW = 34  # pixels of a bar


def part_facts(run: Run, of_one_block: bool) -> CountFacts:
    """Count the parameters of the whole model, or of one of its blocks."""
    return cached.count_facts(run.config.one_block() if of_one_block else run.config)


def part_counts(run: Run, of_one_block: bool) -> pd.DataFrame:
    return cached.parameters(run.config.one_block() if of_one_block else run.config)


def total(facts: CountFacts, where: str) -> None:
    """The number of parameters, what it is of, and how it was counted."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{facts.total:,}**", width="content")
        st.markdown(where, width="content")
        count_badge(facts)


def count_badge(facts: CountFacts) -> None:
    """Whether the formulas and the modules as they are built agree."""
    if facts.built is None:
        st.badge(_("by formula"), icon=":material/functions:")
    elif facts.built == facts.total:
        st.badge(_("formula = count"), color="green", icon=":material/check:")
    else:
        text = _("formula {formula:,}, counted {counted:,}")
        st.badge(text.format(formula=facts.total, counted=facts.built), color="red")


def says_heads(run: Run) -> str:
    """What surprises people about heads."""
    config = run.config
    text = _(
        "With n_kv_heads = {n_kv} and n_heads = {n} (each head {d_head} wide), k_proj and "
        "v_proj are smaller than q_proj. If the two numbers were equal, n_heads would not "
        "change the parameter count."
    )
    if config.n_kv_heads == config.n_heads:
        text = _(
            "n_heads changes neither the parameters nor the FLOPs of the projections: d_model"
            " = {d_model} is divided by n_heads = {n}, so each head is {d_head} wide. "
            "n_kv_heads changes both: lowering it shrinks the key and value projections."
        )
    if config.attention.d_head:
        text = _(
            "d_head = {d_head} is set separately, so the projections grow with n_heads. "
            "Where d_head is d_model / n_heads, n_heads does not change the parameter count."
        )
    if config.token_mixer is TokenMixer.GRU and not config.has_attention:
        text = _(
            "A GRU has no heads: its state is one vector of d_model = {d_model} numbers, and "
            "its gates and candidate state take six matrices of d_model × d_model."
        )
    if config.token_mixer is TokenMixer.GATED_DELTA and not config.has_attention:
        text = _(
            "Each head ({n} in all) keeps a matrix of {d_head} × {d_head} numbers. More but "
            "narrower heads leave the large projections as they are and make the state "
            "smaller."
        )
        return text.format(n=config.n_state_heads, d_head=config.d_state)
    if config.is_latent:
        text = _(
            "kv_proj computes the keys and values of {n} heads from one vector of {latent} "
            "numbers per token: for a given d_head, its parameters grow with n_heads; the "
            "cache does not."
        )
    sizes = {"n": config.n_heads, "n_kv": config.n_kv_heads, "latent": config.d_kv_latent}
    return text.format(d_head=config.d_head, d_model=config.d_model, **sizes)


def part_bars(facts: CountFacts) -> Chart:
    """A bar for each part with its count and share; even the smallest is seen."""
    parts = facts.parts
    return Chart(
        _("Parameters by part"),
        [
            {**vars(part), "size": float(part.count), "share": facts.share(part.count)}
            for part in parts
        ],
        Axis(_("parameters"), (0, 1.5 * max((float(part.count) for part in parts), default=1.0))),
        Axis(names=[plain(terms.part(part.name)) for part in parts]),
        [
            bars(
                "size",
                Look(color=[palette.KIND_COLORS[part.kind] for part in parts]),
                text="{count:,} · {share:.1%}",
            )
        ],
        hover="<b>{y}</b><br>{formula} = {x:,}",
        click=("formula",),
        tall=46 + ROW * len(parts),
    )


def part_table(facts: CountFacts) -> None:
    """Every part with its formula, in letters and in numbers."""
    shown = pd.DataFrame(
        {
            _("part"): [terms.part(part.name) for part in facts.parts],
            _("count"): [part.count for part in facts.parts],
            _("formula"): [part.formula for part in facts.parts],
            _("in numbers"): [part.numbers for part in facts.parts],
        }
    )
    show_table(shown, key="parameter_table", counts=[_("count")])


def what_it_is_made_of(of_one_block: bool, note: Note | None, run: Run) -> None:
    """Every parameter, by formula, and counted; of the whole model, or of one of its blocks."""
    facts = part_facts(run, of_one_block)
    with explained(("parameters",), (count_parameters,), key="parameters"):
        is_block = of_one_block or run.config.architecture is Architecture.BLOCK
        where = _("parameters in this block") if is_block else _("parameters in the whole model")
        total(facts, where)
    left, right = [st.container()] * 2 if present.is_on() else columns([5, 6])
    with left:
        show(part_bars, run, of_one_block, facts=part_facts, key="parameter_bars", room=430)
    with right:
        part_table(facts)
    say(says_heads, run)
    if note:
        explain.note(note(run))


def parameters(*fields: str, of_one_block: bool = False, note: Note | None = None) -> Panel:
    """The panel on a page that shows a model; `fields` are the settings it answers to there."""
    return Panel(
        "parameters",
        N_("Parameters"),
        lambda run, *_values: what_it_is_made_of(of_one_block, note, run),
        fields=fields,
        reads_input=False,
        at=lambda run: (run, of_one_block),
        facts=part_facts,
        shows=(
            File(part_counts, "parameters", facts=the_values),
            Shown(part_bars, "parameter_bars"),
        ),
    )
