"""Which instrument was right about which model, and one of its answers beside the truth."""

from collections.abc import Callable, Hashable, Mapping, Sequence

import pandas as pd
import streamlit as st

from blocks.inspection.mask_faults import MaskFault
from blocks.known import scoring
from blocks.known.cells import INSTRUMENTS, Cell
from blocks.known.chart import ChartFacts, chart_facts
from blocks.known.example import Example, Said, example
from blocks.known.scores import wilson
from blocks.known.words import INSTRUMENTS as TITLES
from blocks.known.words import MODELS, QUESTIONS
from blocks.model.faults import N_
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Ground, Legend, Look, bars, dots
from pages.figures.counting import from_one
from pages.figures.theme import token_label
from pages.page.declared import Panel
from pages.panels.masks.faults import NAMES as FAULTS
from pages.server.starts import KNOWN
from pages.show.controls import pick
from pages.show.parts import Controls, Item, Note, Say, Shown, Table, Text
from pages.show.ways import take
from pages.stage import link, present
from pages.words import terms
from pages.words.language import _, bracketed, enumeration, fill, literal, sentences

VERDICTS = {
    "right": Look(N_("right answer"), palette.NORM, "circle", size=11),
    "wrong": Look(N_("wrong answer"), palette.PINNED, "x", size=10),
    "silent": Look(N_("no answer"), palette.BEFORE, "circle-open", size=11),
    "unasked": Look(N_("not tested"), palette.BEFORE, "circle", size=3),
}
PLACES = {"instrument": {name: TITLES[name] for name in INSTRUMENTS}, "model": MODELS}
ROOM = 510  # pixels before a class
ROW, TRUE = 24, "rgba(0, 158, 115, 0.22)"  # pixels; behind what is true
OWN_PICTURE = {
    "head-names": ("attention", "head-probe"),
    "attention": ("attention", "heads"),
    "contributions": ("attention", "contribution-graph"),
    "ablation": ("gpt", "ablation"),
    "patching": ("gpt", "two-answers"),
    "direct": ("gpt", "two-answers"),
    "leave-one-out": ("gpt", "leave-one-out"),
    "logit-lens": ("gpt", "logit-lens"),
    "leak-test": ("masks", "leaks"),
}


def at(_run: None) -> tuple[Hashable, ...]:
    """The cell that is looked at."""
    return link.value("instrument"), link.value("known_model")


def facts_of(_instrument: str, _name: str) -> ChartFacts:
    """The whole chart."""
    return chart_facts()


def says_chart(facts: ChartFacts) -> str:
    """Which instrument is right least often, and which one answers its question best."""
    text = _(
        "Models whose answers are known show whether an instrument can be trusted. {question}"
        " “{best}” was right about {best_right} of {best_n} models, and “{worst}” about "
        "{worst_right} of {worst_n}."
    )
    best, worst = facts.best, facts.worst
    said = text.format(
        question=_(QUESTIONS[worst.question]),
        best=_(TITLES[best.instrument]),
        best_right=best.n_right,
        best_n=best.n,
        worst=_(TITLES[worst.instrument]),
        worst_right=worst.n_right,
        worst_n=worst.n,
    )
    return sentences(said, says_red(facts) or "")


def says_red(facts: ChartFacts) -> str | None:
    """Which controls do better than chance, if any."""
    text = _("The chart is red: {names} do better than chance where nothing can be known.")
    names = {_(TITLES[each.instrument]) for each in facts.too_good}
    return text.format(names=enumeration(sorted(names))) if names else None


def grid(facts: ChartFacts) -> Chart:
    """A mark for each instrument and model: right, wrong, or no answer."""
    return _grid(facts, "instrument", "model")


def lying(facts: ChartFacts) -> Chart:
    """The same with a row for each instrument, which are fewer: it stands on one screen."""
    return _grid(facts, "model", "instrument")


def _grid(facts: ChartFacts, across: str, down: str) -> Chart:
    names, titles = PLACES[across], PLACES[down]
    asked = {(cell.instrument, cell.subject): cell for cell in facts.shown}
    rows = pd.DataFrame(
        [
            {
                "instrument": i,
                "model": j,
                "verdict": cell.verdict if (cell := asked.get((instrument, model))) else "unasked",
                "said": says_cell(instrument, model, cell),
            }
            for i, instrument in enumerate(INSTRUMENTS)
            for j, model in enumerate(MODELS)
        ]
    )
    return Chart(
        _("Right or wrong, by instrument"),
        rows,
        _axis(names, (-0.6, len(names) - 0.4), of=across, is_above=True),
        _axis(titles, (len(titles) - 0.4, -0.6)),
        [
            dots(down, look_of(verdict), rows=some)
            for verdict in VERDICTS
            if len(some := rows[rows["verdict"] == verdict])
        ],
        hover="{said}",
        click=("instrument", "model"),
        tall=ROW * len(titles) + 20,
        legend=Legend.ABOVE,
    )


def _axis(
    names: Mapping[str, str], ends: tuple[float, float], of: str = "", *, is_above: bool = False
) -> Axis:
    said = [*names.values()]
    ticks = range(len(said))
    return Axis(ends=ends, ticks=ticks, said=lambda i: _(said[int(i)]), of=of, is_above=is_above)


def look_of(verdict: str) -> Look:
    """How it looks."""
    look = VERDICTS[verdict]
    return Look(_(look.name), look.color, look.symbol, size=look.size)


def says_cell(instrument: str, model: str, cell: Cell | None) -> str:
    """What stands under the cursor."""
    names = {"instrument": _(TITLES[instrument]), "model": _(MODELS[model])}
    if cell is None:
        return _("{instrument} on {model}: not tested").format(**names)
    text = _("{instrument} on {model}: precision {precision:.0%}, recall {recall:.0%}")
    if cell.is_silent:
        text = _("{instrument} on {model}: no answer")
    return fill(text, cell, **names)


def open_cell(customdata: list[float]) -> None:
    """Look at what an instrument said of a model."""
    instrument, model = map(int, customdata[:2])
    take({"instrument": [*INSTRUMENTS][instrument], "known_model": [*MODELS][model]})


def cell_choice() -> None:
    """Which instrument, and which model."""
    left, right = st.columns(2)
    with left:
        pick("instrument", _("Instrument"), INSTRUMENTS, label_of=lambda name: _(TITLES[name]))
    with right:
        pick("known_model", _("Model"), MODELS, label_of=lambda name: _(MODELS[name]))


def says_truth(found: Example | None) -> str:
    """The text, what the model says, what is true, and what the instrument named."""
    if found is None:
        return _(
            "This instrument was not tested on this model, because none of its possible "
            "answers is known to be right or wrong."
        )
    read = _("{model} reads {text} and answers {answer} at token {place}.").format(
        model=_(MODELS[found.name]),
        text=literal(found.asked.text),
        answer=literal(found.answer),
        place=from_one(found.asked.position),
    )
    if found.question == "names":
        return read
    true, named, tied = (
        enumeration(called(found, row) for row in rows) or _("none")
        for rows in (found.true_rows, found.named_rows, found.tied_rows)
    )
    text = _("True: {true}. The instrument names: {named}.")
    said = sentences(read, text.format(true=true, named=named))
    if found.tied_rows:
        text = _("{tied} tie for the remaining places.")
        said = sentences(said, text.format(tied=tied))
    return sentences(said, says_left_out(found))


def says_left_out(found: Example) -> str:
    """The token at which it answers, and what attention gives it."""
    if found.question != "tokens":
        return ""
    text = _("Token {place} itself is not part of the question, so it is not drawn.")
    if found.instrument == "attention":
        text = _(
            "Token {place} itself is not drawn; it has the remaining {rest:.3f} of the weight."
        )
    return text.format(place=from_one(found.asked.position), rest=found.rest)


def called(
    found: Example,
    row: Said,
    quoted: Callable[[str], str] = literal,
    joined: Callable[[str, int], str] = bracketed,
) -> str:
    """What a place is called: a head, a token with its number, a layer, or a fault."""
    if isinstance(row.place, str):
        return _(FAULTS[MaskFault(row.place)])
    if found.question == "tokens":
        (token,) = row.place
        return joined(quoted(found.asked.text[token]), from_one(token))
    if found.question == "layer":
        return str(*row.place)
    return places_of(row)


def places(found: Example | None) -> Chart | None:
    """What the instrument says of each place; the ground behind the true ones is marked."""
    if found is None or found.question == "names":
        return None
    rows = pd.DataFrame(
        {
            "place": [called(found, row, token_label, "{}<br>{}".format) for row in found.rows],
            "said": [row.said for row in found.rows],
            "true": [_("true") if row.is_true else _("not true") for row in found.rows],
        }
    )
    axis = {"heads": _("head (layer.head)"), "tokens": _("token"), "layer": _("after layer")}
    return Chart(
        _("The instrument's answer (the correct one is shaded)"),
        rows,
        Axis(axis.get(found.question, ""), names=rows["place"].tolist()),
        Axis(_("what the instrument measures"), from_0=found.is_positive),
        [bars("said", Look(color=palette.ATTENTION))],
        hover="{x}: {y:.3g}, {true}",
        tall=230,
        grounds=[Ground(i - 0.5, i + 0.5, TRUE) for i, row in enumerate(found.rows) if row.is_true],
    )


def names_table(found: Example | None) -> pd.DataFrame | None:
    """What each head is called, and what it does."""
    if found is None or found.question != "names":
        return None
    return pd.DataFrame(
        {
            _("head (layer.head)"): [places_of(row) for row in found.rows],
            _("role named"): [terms.head_name(str(row.said)) for row in found.rows],
            _("true role"): [terms.head_name(row.truth) for row in found.rows],
        }
    )


def places_of(row: Said) -> str:
    """A head by its numbers."""
    return ".".join(str(from_one(int(i))) for i in row.place)


def own_picture(instrument: str, name: str) -> None:
    """The way to the picture that the instrument draws of this model on its own page."""
    found, place = example(instrument, name), OWN_PICTURE.get(instrument)
    if found is None or place is None:
        return
    page, panel = place
    if page == "gpt" and not found.is_gpt:
        page = "encoder"
    query = {
        "preset": found.name.removeprefix("learned-") if found.is_trained else KNOWN + found.name,
        "text": found.asked.text,
        "token": str(found.asked.position),
        "panel": panel,
        **({"lang": lang} if (lang := link.value("lang")) else {}),
    }
    label = _("Open the instrument's own picture of this model")
    if instrument == "attention":
        label = _("Open all heads (this picture shows their mean)")
    st.page_link(f"pages/{page}.py", label=label, icon=":material/zoom_in:", query_params=query)


SHOWS = (
    Say(says_chart),
    Shown(grid, "chart_grid", click=open_cell),
    Controls(cell_choice),
    Text(says_truth, facts=example),
    Shown(places, "chart_places", facts=example),
    Table(names_table, "chart_names", facts=example),
    Controls(own_picture),
    Note(
        N_(
            "An instrument counts as right about a model if at least nine in ten of its "
            "answers, on 18 texts, are right. More than half of the heads are deliberate "
            "decoys, so an instrument that shows everything that heads move is wrong more"
            " often here than in a model where most of it matters."
        )
    ),
)


def shows() -> Sequence[Item]:
    """Before a class the chart alone, which the sentence speaks of."""
    alone = (Say(says_chart), Shown(lying, "chart_lying", room=ROOM))
    return alone if present.is_on() else SHOWS


PANEL = Panel(
    "chart",
    N_("Can I trust this picture?"),
    reads_input=False,
    of_this_run=False,
    at=at,
    facts=facts_of,
    concepts=("known_truth",),
    code=(scoring.ranked, scoring.labelled, wilson),
    shows=shows,
)
