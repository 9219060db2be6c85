"""Attention is not contribution: weight beside what is really added, and heads that rest."""

from collections.abc import Hashable
from functools import lru_cache, partial
from operator import attrgetter

import pandas as pd

from blocks.inspection import contribution as measures
from blocks.inspection.contribution import ContributionFacts, SinkFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, Series, bars
from pages.figures.counting import told_apart
from pages.figures.table_rows import each_row
from pages.figures.theme import faint, token_label
from pages.panels.attention import shared
from pages.panels.attention.sinks_picture import sinks as sinks_map
from pages.show.controls import choose
from pages.show.parts import Beside, Controls, File, Matrix, Note, Say, Shown, Steps
from pages.show.views import pin_token
from pages.state import sinks
from pages.state.link_fields.attention import COUNTED
from pages.state.values import State
from pages.words.language import _, fill, listing, ngettext, sentences
from pages.words.numbers import percent

COUNTED_LABELS = {"one_head": N_("this head"), "all_heads": N_("all heads of the layer")}
MOST_KEYS, ROW_HEIGHT = 32, 22


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    """The head and token, whether sinks are set apart, and whether all heads are counted."""
    return (*shared.at(run, state), state.sinks_apart, state.counted == "all_heads")


@lru_cache(maxsize=64)
def contribution_facts(
    run: Run, layer: int, head: int, query: int, is_apart: bool, is_of_all: bool
) -> ContributionFacts:
    """What each key adds at a query, of one head or of all; `is_apart`: sinks are set apart."""
    counted = None if is_of_all else head
    parts = measures.contribution(shared.attention(run, layer), query, counted)
    apart = sinks.set_apart(run, is_apart)
    sees_others = parts.keys["weight"].drop(index=[*apart]).any()
    return ContributionFacts(run, layer, counted, query, parts, apart if sees_others else ())


@lru_cache(maxsize=64)
def first_token(run: Run, layer: int) -> pd.DataFrame:
    """How much of each head's weight rests on the first token, and what that moves."""
    return measures.first_token(shared.attention(run, layer)).assign(layer=layer)


def first_tokens(run: Run) -> list[partial[pd.DataFrame]]:
    return [partial(first_token, run, layer) for layer in run.config.attention_layers]


@lru_cache(maxsize=16)
def sink_facts(run: Run, layer: int, head: int, n_layers: int) -> SinkFacts:
    found = pd.concat([each() for each in first_tokens(run)[:n_layers]], ignore_index=True)
    return SinkFacts(found, (layer, head))


def named_keys(facts: ContributionFacts) -> pd.DataFrame:
    """Every key by its place from 1 and its token, with its weight and what it contributes."""
    keys = facts.parts.keys
    names = {"token": range(1, len(keys) + 1), "token_label": facts.run.input.labels}
    return pd.DataFrame({**names, **keys})


def says_contribution(facts: ContributionFacts) -> str:
    """Which key has the most weight, and which one adds most."""
    if facts.parts.out_norm == 0:
        return _("Attention adds nothing at this token: its output has length 0.")
    if facts.weight(facts.heaviest) == 0:
        return _("This token cannot attend to any key, so attention adds only its output bias.")
    apart = _(
        "{apart_weight:percent} of the weight rests on sinks, which are left out of what follows."
    )
    head = _("This head contributes {head_share:.0%} of what attention adds here.")
    bias = _("The output bias, which comes from no token, contributes {parts.bias:.0%}.")
    return sentences(
        fill(apart, facts) if facts.apart else "",
        _largest(facts),
        fill(head, facts) if facts.head is not None else "",
        fill(bias, facts) if facts.parts.bias_norm > 0 else "",
    )


def _largest(facts: ContributionFacts) -> str:
    text = _(
        "{token} has the largest weight ({weight}), but {other_token} contributes the most: "
        "{other_norm} of the summed vector lengths with a weight of {other_weight}; "
        "{token} contributes {norm}."
    )
    if facts.heaviest == facts.longest:
        text = _(
            "{token} has the largest weight ({weight}) and contributes the most ({norm} of "
            "the summed vector lengths)."
        )
    said = dict[str, str]()
    for name, key in (("", facts.heaviest), ("other_", facts.longest)):
        said[f"{name}token"] = shared.token(facts.run, key)
        said[f"{name}weight"] = percent(facts.weight(key))
        said[f"{name}norm"] = percent(facts.norm_share(key))
    return text.format(**said)


def says_shares(facts: ContributionFacts) -> str:
    """Which keys are drawn, and what is counted."""
    text = _("Of {n_seen} visible keys, the {n} with the largest weight or share are shown.")
    cut = fill(text, facts, n=MOST_KEYS) if facts.n_seen > MOST_KEYS else ""
    what = _(
        "The share is the component of each contribution along the attention output "
        "at this token, before dropout; all rows sum to 100%. A row with a negative "
        "share works against the others."
    )
    return sentences(cut, what)


def says_sinks(facts: SinkFacts) -> str:
    """Which heads rest on the first token, by which numbers."""
    text = _(
        "Some heads park their attention on the first token, an attention sink. A head is "
        "marked if its mean weight on that token is above {above:.0%} while the token's "
        "‖v·W_O‖ is below {below} times the mean over the other tokens."
    )
    rule = fill(text, facts)
    if facts.sinks.empty:
        text = _(
            "No head uses the first token as an attention sink here; the closest is {head}: "
            "weight {weight:percent}, ‖v·W_O‖ ratio {value_ratio:.2f}."
        )
        return sentences(rule, *_each(text, facts.closest))
    each = _("{head} (weight {weight:percent}, ‖v·W_O‖ ratio {value_ratio:.2f})")
    text = ngettext(
        "{n} of {all} heads uses the first token as an attention sink: {listed}.",
        "{n} of {all} heads use the first token as an attention sink, most clearly {listed}.",
        len(facts.sinks),
    )
    listed = listing(_each(each, facts.sinks.head(4)))
    return sentences(rule, text.format(n=len(facts.sinks), all=len(facts.heads), listed=listed))


def _each(text: str, heads: pd.DataFrame) -> list[str]:
    return [
        fill(text, row, head=shared.head_called(row.layer, row.head)) for row in each_row(heads)
    ]


def counted_choice() -> None:
    label_of = COUNTED_LABELS.__getitem__
    choose("counted", _("Heads included"), COUNTED, label_of=lambda name: _(label_of(name)))


def contributions(facts: ContributionFacts) -> Chart:
    """A row per key: its weight, the length of what it adds, its share of the output.

    The last rows are no keys of this head. A click returns the number of a key.
    """
    rows = _rows(facts)
    counted = _("all heads of the layer")
    if facts.head is not None:
        counted = shared.head_called(facts.layer, facts.head)
    token = token_label(told_apart(facts.run.input.labels)[facts.query])
    columns = {
        "weight": (_("weight"), palette.ATTENTION),
        "norm": ("‖α·v·W_O‖", palette.NORM),
        "share": (_("share of the output"), palette.FEED_FORWARD),
    }
    return Chart(
        _("Contributions at {token}: {counted}").format(token=token, counted=counted),
        rows,
        tuple(
            Axis(
                title,
                _with_room(*_ends(rows, name)),
                is_share=name != "norm",
                has_zero=True,
                n_ticks=4,
            )
            for name, (title, _color) in columns.items()
        ),
        Axis(names=rows["label"].tolist()),
        [_bars(rows, name, i, *look) for i, (name, look) in enumerate(columns.items())],
        tall=ROW_HEIGHT * len(rows),
        legend=Legend.NONE,
        gap=0.3,
    )


def _rows(facts: ContributionFacts) -> pd.DataFrame:
    """The keys in the order of the text, other heads, and the output bias."""
    keys, labels = facts.largest(MOST_KEYS), told_apart(facts.run.input.labels)
    names = [token_label(labels[key]) for key in keys.index]
    bold = [
        f"<b>{name}</b>" if key == facts.query else name
        for name, key in zip(names, keys.index, strict=True)
    ]
    kinds = ["apart" if key in facts.apart else "key" for key in keys.index]
    keys = keys.assign(number=keys.index, kind=kinds, label=bold)
    rest = {"label": _("other heads"), "kind": "rest", "share": facts.parts.rest}
    bias = {"kind": "bias", "share": facts.parts.bias, "norm": facts.parts.bias_norm}
    more = [] if facts.head is None else [rest]
    rows = [*keys.to_dict("records"), *more, {**bias, "label": _("output bias")}]
    found = pd.DataFrame(rows, columns=keys.columns)
    return found.assign(row=range(len(found)))


def _ends(rows: pd.DataFrame, column: str) -> tuple[float, float]:
    """The least, 0 or below, and the most; what is set apart may reach beyond."""
    values = rows.loc[rows["kind"] != "apart", column].dropna()
    return min((0.0, *values)), max((1e-9, *values))


def _with_room(least: float, most: float) -> tuple[float, float]:
    """Where an axis ends, so that a number stands beyond each bar."""
    room = 0.28 * (most - least)
    return least - (room if least < 0 else 0), most + room


def _bars(rows: pd.DataFrame, column: str, plot: int, name: str, color: str) -> Series:
    """The bars of a column, each with its number; those of weights tell and return their key."""
    found, (_least, most) = rows.dropna(subset=column), _ends(rows, column)
    written = "{:.3f}" if column == "norm" else "{:.1%}"
    said = found[column].where(found[column].abs() >= 5e-4, 0.0).map(written.format)
    others = {"apart": faint(color, 0.3), "rest": palette.BEFORE, "bias": palette.RESIDUAL}
    look = Look(name, [others.get(kind, color) for kind in found["kind"]])
    rows = found.assign(bar=found[column].clip(upper=most), said=said)
    if plot:
        return bars("bar", look, rows=rows, text="{said}", plot=plot)
    hover = "{label}<br>α {weight:.3f} · ‖v·W_O‖ {value_norm:.3g} · ‖α·v·W_O‖ {norm:.3g}"
    return bars("bar", look, rows=rows, text="{said}", column=most, hover=hover, click=("number",))


PANEL = shared.of_a_head(
    "contribution",
    N_("Which tokens contribute?"),
    instruments=("attention",),
    fields=("n_heads", "norm_placement", "norm_kind"),
    concepts=("contribution",),
    code=(measures.contribution, measures.value_norms, measures.first_token),
    at=at,
    facts=contribution_facts,
    shows=(
        Say(says_contribution),
        shared.sinks_switch("contribution"),
        Controls(counted_choice),
        Beside(
            (Shown(contributions, "contributions", click=pin_token), Note(says_shares)),
            Steps(
                first_tokens,
                Matrix(sinks_map, "sinks", click=shared.open_head, facts=sink_facts),
                Note(says_sinks, sink_facts),
                File(
                    attrgetter("heads"), "first_token", counted=("layer", "head"), facts=sink_facts
                ),
                key="first_token",
            ),
            widths=(7, 5),
        ),
        File(named_keys, "contribution"),
    ),
)
