"""What each head is for: random tokens, read twice, whatever the reader's text is."""

from collections.abc import Hashable, Iterable
from functools import partial

import pandas as pd
import streamlit as st

from blocks.inspection import head_probe
from blocks.inspection.head_facts import AllHeads
from blocks.inspection.head_probe import KINDS, N_ROWS, SEED, ProbeFacts
from blocks.model.faults import N_
from blocks.observe.interventions import Intervention, Part, written
from blocks.observe.run import Run
from pages.figures import head_grid, palette
from pages.figures.chart import Axis, Chart, Ground, Look, line
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture
from pages.figures.weights import codes, weight_map
from pages.page.declared import Panel
from pages.panels.attention import all_heads, pattern, shared
from pages.server import probed, starts
from pages.show import layers
from pages.show.controls import choose
from pages.show.parts import Beside, Controls, Matrix, Note, Say, Shown, Steps, Table
from pages.show.ways import way
from pages.stage import present
from pages.state import labelled
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, bracketed, enumeration, listing, sentences

MOST_LISTED = 6
MOST_WRITTEN = 64  # heads whose cells have room for a number
COPIES = "induction"  # the model that learned to copy
PLACES = {
    "induction": N_("the token after the earlier copy of the current one (induction heads)"),
    "previous_token": N_("the previous token (previous-token heads)"),
    "duplicate_token": N_("the earlier copy of the current token (duplicate-token heads)"),
    "first_token": N_("the first token (an attention sink)"),
    "same_token": N_("the current token itself"),
}


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    """Which kind of head is looked for, and the head that is looked at."""
    layer, head, _token = labelled.selection(run, state)
    return run, state.head_kind, layer, head


def probe_facts(run: Run, kind: str, layer: int, head: int, _n_steps: int = 1) -> ProbeFacts:
    """The heads of one kind, and the probe without them. ValueError where nothing was learned."""
    if not probed.can_probe(run):
        raise ValueError(run)
    probe = probed.probe(run)
    off = probe.places(kind)
    others = head_probe.as_many_others(probe.heads, off)
    without, others_off = (
        probed.bits_without(run, each) if off else None for each in (off, others)
    )
    named = {} if probe.n_named else AllHeads(layers.named_heads(run), "", (layer, head)).n_named
    in_text = tuple(named.items())
    return ProbeFacts(probe, kind, off, others, without, others_off, (layer, head), in_text)


def says_none(run: Run) -> str | None:
    """Which models can be probed; None of one that can."""
    text = _(
        "The probe needs a trained GPT that has room for two copies of at least {n} tokens: "
        "choose one under Preset."
    )
    return None if probed.can_probe(run) else text.format(n=head_probe.FEWEST)


def says_probe(facts: ProbeFacts) -> str:
    """Which heads have the name, and what the second copy costs with and without them."""
    probe = facts.probe
    text = _(
        "{tokens} random tokens are read twice. Heads that put over half of their weight on "
        "{place}: {n} of {all}, namely {listed}."
    )
    if not facts.off:
        text = _(
            "{tokens} random tokens are read twice. None of the {all} heads puts over half of"
            " its weight on {place}; the closest is {listed}."
        )
    named = probe.named(facts.kind) if facts.off else facts.strongest.to_frame().T
    n, place, listed = len(named), _(PLACES[facts.kind]), _listed(named, facts.kind)
    said = text.format(tokens=probe.n_tokens, n=n, all=len(probe.heads), place=place, listed=listed)
    return sentences(said, _other_kinds(facts), _costs(facts))


def _other_kinds(facts: ProbeFacts) -> str:
    """Where no head has this name: those that have another, or what it means that none has any."""
    if facts.off:
        return ""
    found = facts.probe.n_named
    if facts.in_text:
        text = _(
            "No head gets any of the five names regardless of the text. In your own text "
            "alone, “{panel}” names some: {counts}."
        )
        return text.format(panel=_(all_heads.PANEL.title), counts=_counted(facts.in_text))
    if not found:
        return _(
            "No head gets any of the five names: none attends to one of these kinds of "
            "position regardless of the text. “{panel}” shows what a head does in your own "
            "text."
        ).format(panel=_(pattern.PANEL.title))
    return _("Heads with other names: {counts}.").format(counts=_counted(found.items()))


def _counted(n_named: Iterable[tuple[str, int]]) -> str:
    return enumeration(bracketed(terms.head_name(kind), n) for kind, n in n_named)


def _listed(heads: pd.DataFrame, kind: str) -> str:
    shown = [
        f"{shared.head_called(row.layer, row.head)} ({getattr(row, kind):.2f})"
        for row in each_row(heads[:MOST_LISTED])
    ]
    more = len(heads) - len(shown)
    return listing([*shown, _("{n} more").format(n=more)] if more else shown)


def _costs(facts: ProbeFacts) -> str:
    first, second = facts.probe.copies()
    text = _(
        "The surprisal is {second:.1f} bits per token in the second copy and {first:.1f} in "
        "the first."
    )
    said = text.format(first=first, second=second)
    if facts.without is None or facts.without_others is None:
        return said
    text = _(
        "With these heads ({n}) switched off, it is {without:.1f} bits per token in the "
        "second copy; with other heads of the same layers ({n_others}) switched off instead, "
        "as a control, it is {others:.1f}."
    )
    if not facts.others:
        text = _(
            "With these heads ({n}) switched off, it is {without:.1f} bits per token in the "
            "second copy."
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


def kind_choice() -> None:
    choose("head_kind", _("Heads that attend to"), KINDS, label_of=terms.head_name)


def says_how(facts: ProbeFacts) -> str:
    """What was drawn, how scores are made, and where the threshold is from."""
    return _(
        "Each cell shows a head's mean weight in the second copy, averaged over {n} rows of "
        "random tokens from the model's vocabulary (seed {seed}). The scores are defined as "
        "in Olsson et al. 2022, who set no threshold; here a head is named only if it puts "
        "more than half of its weight on one position. A head that always reads the token "
        "after the one {back} tokens back, whatever that token is, would be called an "
        "induction head too."
    ).format(n=N_ROWS, seed=SEED, back=facts.probe.n_tokens)


def ways_on(run: Run, kind: str, layer: int, head: int, _n_steps: int) -> None:
    """The heads of this name in the reader's own text: seen, and switched off.

    Where no head has any name, to a model whose heads have.
    """
    facts = probe_facts(run, kind, layer, head)
    if not facts.off:
        if not facts.probe.n_named:
            model = _(starts.start(COPIES).title)
            way(_("Open {model}").format(model=model), "probe_copies", preset=COPIES)
        return
    changes = [Intervention(part=Part.HEAD, layer=layer, head=head) for layer, head in facts.off]
    layer, head = facts.off[0]
    with present.aside(), st.container(horizontal=True):
        label = _("Switch these heads off on the whole page ({n})").format(n=len(changes))
        way(label, "probe_off", icon=":material/edit:", interventions=written(changes))
        called = _("See what {head} does in your text").format(head=shared.head_called(layer, head))
        way(called, "probe_open", panel="pattern", layer=layer, head=head)


def scores(facts: ProbeFacts) -> Picture:
    """Every head, colored by its mean weight on one kind of place; a click opens it."""
    heads, n = facts.probe.heads, facts.scores.shape[1]
    places = list(zip(heads["layer"].tolist(), heads["head"].tolist(), strict=True))
    text, values = _("{head}: {score:.2f}"), zip(places, heads[facts.kind], strict=True)
    said = (text.format(head=shared.head_called(*at), score=score) for at, score in values)
    heat = weight_map(codes(facts.scores), _)
    if facts.scores.size <= MOST_WRITTEN:
        written = [[f"{score:.2f}" for score in row] for row in facts.scores]
        heat |= {"text": written, "texttemplate": "%{text}"}
    return head_grid.grid(
        heat,
        [*said],
        places,
        title=_("Mean weight of every head in the second copy: {kind}").format(
            kind=terms.head_name(facts.kind)
        ),
        layers=heads["layer"].unique().tolist(),
        columns=[str(from_one(i)) for i in range(n)],
        across=_("head"),
        selected=[places.index(facts.selected)] if facts.selected in places else [],
        _=_,
    )


def surprisal(facts: ProbeFacts) -> Chart:
    """What each token of the probe costs: with all heads, without those named, without others."""
    n = facts.probe.n_tokens
    curves = {
        "all": (facts.probe.bits, Look(_("all heads"), palette.BEFORE, width=2)),
        "without": (facts.without, Look(_("without these heads"), palette.PINNED, width=2)),
        "others": (
            facts.without_others if facts.others else None,
            Look(_("without other heads"), palette.CROSS_ATTENTION, width=2),
        ),
    }
    drawn = {name: bits for name, (bits, _look) in curves.items() if bits is not None}
    return Chart(
        _("Surprisal of random tokens, read twice"),
        {"position": range(2, len(facts.probe.bits) + 2), **drawn},
        Axis(_("position; the second copy is shaded"), (1.5, 2 * n + 0.5), of="position"),
        Axis(_("surprisal (bits)"), (0, 1.05 * max(bits.max() for bits in drawn.values()))),
        [line(name, curves[name][1]) for name in drawn],
        hover="{x}: {y:.2f}",
        tall=260,
        grounds=[Ground(n + 0.5, 2 * n + 0.5, palette.MASKED)],
    )


def work(run: Run, kind: str, layer: int, head: int) -> list[partial[ProbeFacts]]:
    """One step: the probe, and the probe without some heads."""
    return [partial(probe_facts, run, kind, layer, head)]


PANEL = Panel(
    "head-probe",
    N_("What is each head for?"),
    fields=("n_layers", "n_heads"),
    instruments=("head-names",),
    of_attention=True,
    in_any_layer=True,
    reads_input=False,
    concepts=("head_probe", "induction"),
    code=(head_probe.probe_ids, head_probe.head_probe, head_probe.probe_bits),
    at=at,
    absent=says_none,
    facts=probe_facts,
    shows=(
        Controls(kind_choice, is_aside=False),
        Steps(
            work,
            Say(says_probe),
            Beside(
                (
                    Matrix(scores, "probe_scores", click=shared.open_head, room=300),
                    Note(says_how),
                    Controls(ways_on, is_aside=False),
                ),
                Shown(surprisal, "probe_bits", room=300),
                widths=(6, 5),
            ),
            Table(table, "probe_table", n_names=2, height=318),
            key="probing",
        ),
    ),
)
