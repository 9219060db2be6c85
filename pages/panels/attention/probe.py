"""What each head is for: random tokens, read twice, whatever the reader's text is."""

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from blocks.inspection import head_probe
from blocks.inspection.head_probe import KINDS, N_ROWS, SEED, ProbeFacts
from blocks.model.faults import N_
from blocks.observe.interventions import Intervention, Part, written
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.panels.attention import probe_picture, shared
from pages.ui import labelled, link, probed, starts, terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, bracketed, current_language, enumeration, listing, sentences
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.tables import show_table
from pages.ui.ways import way

MOST_LISTED = 6
READS_WHOM = N_("Who reads whom?")
COPIES = "induction"  # the model that learned to copy
PLACES = {
    "induction": N_("the token after the earlier copy of the current one (induction heads)"),
    "previous_token": N_("the previous token (previous-token heads)"),
    "duplicate_token": N_("the earlier copy of the current token (duplicate-token heads)"),
    "first_token": N_("the first token (an attention sink)"),
    "same_token": N_("the current token itself"),
}


def probe_facts(run: Run, kind: str, layer: int, head: int) -> ProbeFacts:
    """The heads of one kind, and the probe without them. ValueError where nothing was learned."""
    if not probed.can_probe(run):
        raise ValueError(run)
    probe = probed.probe(run)
    off = probe.places(kind)
    others = head_probe.as_many_others(probe.heads, off)
    without, others_off = (
        probed.bits_without(run, each) if off else None for each in (off, others)
    )
    return ProbeFacts(probe, kind, off, others, without, others_off, (layer, head))


def says_probe(facts: ProbeFacts) -> str:
    """Which heads have the name, and what the second copy costs with and without them."""
    probe = facts.probe
    text = _(
        "{tokens} random tokens are read twice. Heads that put over half of their weight on "
        "{place}: {n} of {all}, namely {listed}."
    )
    if not facts.off:
        text = _(
            "{tokens} random tokens are read twice. Not one of {all} heads puts over half of its "
            "weight on {place}; the closest is {listed}."
        )
    named = probe.named(facts.kind) if facts.off else facts.strongest.to_frame().T
    said = text.format(
        tokens=probe.n_tokens,
        n=len(named),
        all=len(probe.heads),
        place=_(PLACES[facts.kind]),
        listed=_listed(named, facts.kind),
    )
    return sentences(said, _other_kinds(facts), _costs(facts))


def _other_kinds(facts: ProbeFacts) -> str:
    """Where no head has this name: those that have another, or what it means that none has any."""
    if facts.off:
        return ""
    found = facts.probe.n_named
    if not found:
        text = _(
            "No head gets any of the five names: none attends to one of these places "
            "regardless of the text. “{panel}” shows what a head does in your own text."
        )
        return text.format(panel=_(READS_WHOM))
    counts = [bracketed(terms.head_name(kind), n) for kind, n in found.items()]
    return _("Heads with other names: {counts}.").format(counts=enumeration(counts))


def _listed(heads: pd.DataFrame, kind: str) -> str:
    shown = [
        f"{shared.head_called(row.layer, row.head)} ({getattr(row, kind):.2f})"
        for row in each_row(heads[:MOST_LISTED])
    ]
    more = len(heads) - len(shown)
    return listing([*shown, _("{n} more").format(n=more)] if more else shown)


def _costs(facts: ProbeFacts) -> str:
    first, second = facts.probe.copies()
    text = _("The second copy costs {second:.1f} bits per token, the first {first:.1f}.")
    said = text.format(first=first, second=second)
    if facts.without is None or facts.without_others is None:
        return said
    text = _(
        "With these heads ({n}) switched off, the second copy costs {without:.1f} bits per "
        "token; with other heads of the same layers ({n_others}) switched off instead, as a "
        "control, it costs {others:.1f}."
    )
    if not facts.others:
        text = _(
            "With these heads ({n}) switched off, the second copy costs {without:.1f} bits per "
            "token."
        )
    found = [facts.probe.copies(bits)[1] for bits in (facts.without, facts.without_others)]
    counts = {"n": len(facts.off), "n_others": len(facts.others)}
    return sentences(said, text.format(**counts, without=found[0], others=found[1]))


def table(facts: ProbeFacts) -> pd.DataFrame:
    """Every head with its scores, the highest of this kind first."""
    heads = facts.probe.heads.sort_values(facts.kind, ascending=False, kind="stable")
    return pd.DataFrame(
        {
            _("layer"): heads["layer"].map(from_one),
            _("head"): heads["head"].map(from_one),
            _("name"): [terms.head_name(name) for name in heads["name"]],
            **{terms.head_name(kind): heads[kind].round(3) for kind in KINDS},
        }
    )


@section
def what_heads_are_for(run: Run) -> None:
    """The sentence, every head, the surprisal with and without those of a name."""
    code = (head_probe.probe_ids, head_probe.head_probe, head_probe.probe_bits)
    place = explained(("head_probe", "induction"), code, key="head_probe")
    if not probed.can_probe(run):
        text = _(
            "The probe needs a trained GPT that has room for two copies of at least {n} tokens: "
            "choose one under Preset."
        )
        place.info(text.format(n=head_probe.FEWEST), icon=":material/lightbulb:")
        return
    at, kind = labelled.selection(run), kind_choice()
    steps: list[Callable[[], object]] = [
        partial(probed.probe, run),
        partial(probe_facts, run, kind, *at[:2]),
    ]
    if in_steps(steps, what=(run.untouched, kind), key="probing", shows_parts=False).is_stopped:
        return
    values = run, kind, at.layer, at.head
    with place:
        say(says_probe, *values, facts=probe_facts)
    left, right = columns([6, 5])
    with left:
        draw = probe_picture.scores
        show(draw, *values, facts=probe_facts, key="probe_scores", on_click=shared.open_head)
        note(says_how())
    with right:
        show(probe_picture.surprisal, *values, facts=probe_facts, key="probe_bits", room=380)
        ways_on(probe_facts(*values))
    show_table(table(probe_facts(*values)), key="probe_table", n_names=2, height=318)


def kind_choice() -> str:
    """Which kind of head is looked for."""
    shown: str = link.value("head_kind")
    with st.container(key="head_kind"):
        st.segmented_control(
            _("Heads that attend to"),
            KINDS,
            format_func=terms.head_name,
            required=True,
            **link.view("head_kind", shown, current_language()),
        )
    return shown


def says_how() -> str:
    """What was drawn, how scores are made, and where the threshold is from."""
    text = _(
        "Each cell shows a head's mean weight in the second copy, averaged over {n} rows of "
        "random tokens from the model's vocabulary (seed {seed}). The scores are defined as "
        "in Olsson et al. 2022, who set no threshold; here a head needs more than half of its"
        " weight on a position to be named."
    )
    return text.format(n=N_ROWS, seed=SEED)


def ways_on(facts: ProbeFacts) -> None:
    """The heads of this name in the reader's own text: seen, and switched off.

    Where no head has any name, to a model whose heads have.
    """
    if not facts.off:
        if not facts.probe.n_named:
            model = _(starts.start(COPIES).title)
            way(_("Open {model}").format(model=model), "probe_copies", preset=COPIES)
        return
    changes = [Intervention(part=Part.HEAD, layer=layer, head=head) for layer, head in facts.off]
    with st.container(horizontal=True):
        text = _("Switch these heads off on the whole page ({n})")
        label = text.format(n=len(changes))
        way(label, "probe_off", icon=":material/edit:", interventions=written(changes))
        layer, head = facts.off[0]
        text = _("See what {head} does in your text")
        label = text.format(head=shared.head_called(layer, head))
        way(label, "probe_open", panel="pattern", layer=layer, head=head)
