"""Where the parameters are: a model taken apart, piece by piece; every part with its formula."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from blocks.cost import breakdown, parameters
from blocks.cost.breakdown import CountFacts, Kind, Node, OpenedFacts, Piece, path_to
from blocks.cost.setup import BITS, WeightFormat
from blocks.cost.units import bytes_text
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture, Translate
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.parameter_table import count_badge
from pages.panels.parameters import breakdown_picture, shared
from pages.panels.parameters.breakdown_picture import Bar
from pages.server.cached import count_facts
from pages.show.chart import show
from pages.show.controls import choose
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.parts import File, Matrix
from pages.show.said import say
from pages.show.tables import show_table
from pages.stage import link, present
from pages.state.link_fields.parameters import VIEWS
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, current_language, sentences
from pages.words.numbers import percent

opened_facts = lru_cache(maxsize=64)(breakdown.opened_facts)
VIEW_NAMES = {"by_kind": N_("by kind"), "by_layer": N_("by layer")}
STACKS = {
    "layers": N_("layers"),
    "encoder.layers": N_("layers of the encoder"),
    "decoder.layers": N_("layers of the decoder"),
    "mtp.layers": N_("MTP modules"),
}


def node_name(found: Node) -> str:
    """What a piece is called."""
    if found.name == "":
        return _("the whole model")
    if found.name in STACKS:
        return _(STACKS[found.name])
    if found.name == found.kind and found.children:
        return shared.kind_name(found.name)
    if is_layer(found):
        return _("layer {layer}").format(layer=found.name)
    return terms.part(found.name)


def is_layer(found: Node) -> bool:
    """Whether a piece is one layer (or the last of very many), called by its number."""
    return found.name[:1].isdigit()


def says_in_brief(facts: CountFacts) -> str:
    """What of the total a token meets, what weight tying saves, and how many bytes it takes."""
    said = [_("parameters")]
    if facts.active < facts.total:
        text = _("each token uses **{active:,}** of them ({share})")
        share = percent(facts.share(facts.active))
        said.append(text.format(active=facts.active, share=share))
    if facts.tied_otherwise is not None:
        text = _("embeddings not tied; if tied, **{n:,}**")
        if facts.is_tied:
            text = _("embeddings tied; if not, **{n:,}**")
        said.append(text.format(n=facts.tied_otherwise))
    size = bytes_text(WeightFormat.BFLOAT16.bytes_of(facts.total))
    said.append(_("in bfloat16 **{size}**").format(size=size))
    return " · ".join(said)


def says_breakdown(facts: CountFacts) -> str:
    """Where most of it is, and how little the small parts are."""
    if facts.largest is None:
        return _("This model has no parameters at all.")
    norms = facts.kinds.get(Kind.NORM, 0)
    largest = percent(facts.share(facts.kinds[facts.largest]))
    text = _("The largest part is {kind}: {share} of the total.")
    said = [text.format(kind=shared.kind_name(facts.largest), share=largest)]
    text = _(
        "Norms hold {norms:,} parameters ({norm_share}), and biases {biases:,} ({bias_share})."
    )
    shares = {
        "norm_share": percent(facts.share(norms)),
        "bias_share": percent(facts.share(facts.biases)),
    }
    said.append(text.format(norms=norms, biases=facts.biases, **shares))
    if facts.tied_otherwise is not None:
        text = _("The token embedding and the output matrix hold {share} of the total.")
        if facts.is_tied:
            text = _(
                "The token embedding holds {share} of the total; it is tied to the output "
                "matrix, so it counts once."
            )
        said.append(text.format(share=percent(facts.share(facts.ends))))
    return sentences(*said)


def says_opened(facts: OpenedFacts) -> str:
    """What is opened, and how much of the model it is."""
    if facts.is_whole:
        return _("Click a part to open it; it then fills the width. All widths are to scale.")
    text = _("Opened: {piece}, {count:,} parameters, {share} of the model.")
    piece, share = node_name(facts.opened), percent(facts.share)
    return text.format(piece=piece, count=facts.opened.count, share=share)


def draw_pieces(facts: OpenedFacts, *, _: Translate) -> Picture:
    """Rows of pieces, from what is opened downwards."""
    top, *below = [[_bar(piece, facts.opened.count) for piece in row] for row in facts.rows]
    up = [replace(bar, path=path_to(facts.along[:-1])) for bar in top]
    return breakdown_picture.rows([up, *below], _=_)


def _bar(piece: Piece, whole: int) -> Bar:
    node, start, path = piece
    said, name = (
        f"{shared.short(node.count)} · {percent(node.count / max(1, whole))}",
        node_name(node),
    )
    short = node.name if is_layer(node) else name
    return Bar(start, node.count, short, name, said, node.kind, path)


def size_rows(facts: CountFacts) -> pd.DataFrame:
    """Bytes of the weights in each number format, tied and not."""
    counts = {_("weights"): facts.total}
    if facts.active < facts.total:
        counts[_("active per token")] = facts.active
    if facts.tied_otherwise is not None:
        counts[_("if untied") if facts.is_tied else _("if tied")] = facts.tied_otherwise
    sizes = {
        label: [bytes_text(each.bytes_of(count)) for each in BITS]
        for label, count in counts.items()
    }
    return pd.DataFrame({_("number format"): map(str, BITS), _("bits"): BITS.values(), **sizes})


def way_back(facts: OpenedFacts) -> None:
    """The whole, and what was opened on the way, each a button that leads back to it."""
    with st.container(horizontal=True, gap="xsmall", key="way_back"):
        for i, node in enumerate(facts.along):
            st.button(
                node_name(node),
                key=f"back_to_{i}",
                on_click=link.change,
                args=("opened_piece", path_to(facts.along[: i + 1])),
                disabled=node is facts.opened,
                type="tertiary",
                icon=":material/chevron_right:" if i else ":material/home:",
            )


def open_choice(facts: OpenedFacts) -> None:
    """The pieces of what is opened, by name: also for those too thin to click."""
    if len(facts.rows) == 1:
        return
    inside = {piece.path: node_name(piece.node) for piece in facts.rows[1]}
    options = (facts.path, *inside)
    with st.container(key="open_piece"):
        st.selectbox(
            _("Open a part"),
            options,
            format_func=lambda path: inside.get(path, _("choose one here, or click it above")),
            **link.view("opened_piece", facts.path, (options, current_language())),
        )


def open_clicked(customdata: list[Any]) -> None:
    link.change("opened_piece", str(customdata[0]))


def total(facts: CountFacts) -> None:
    """The total, whether formula and model agree, and what of it a token meets."""
    with st.container(horizontal=True, vertical_alignment="center", key="parameter_count"):
        st.markdown(f"## {facts.total:,}", width="content")
        count_badge(facts)
    st.markdown(says_in_brief(facts))


@section
def where_they_are(run: Run, state: State) -> None:
    """The total, the picture to click through, and the table."""
    view, path = state.breakdown, state.opened_piece
    shown = run.config, view, path
    counted, opened = count_facts(run.config), opened_facts(*shown)
    code = (parameters.count_parameters, breakdown.by_kind)
    with explained(("parameters",), code, key="breakdown_story"):
        total(counted)
    say(says_breakdown, run.config, facts=count_facts)
    with present.aside():
        choose("breakdown", _("Breakdown"), VIEWS, label_of=lambda name: _(VIEW_NAMES[name]))
    if not (present.is_on() and opened.is_whole):
        way_back(opened)
    show(draw_pieces, *shown, facts=opened_facts, key="pieces", on_click=open_clicked, room=290)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        note(says_opened(opened))
    with right, present.aside():
        open_choice(opened)
    of_one_kind = view == "by_kind" and not opened.is_whole
    kind = opened.along[1].kind if of_one_kind else None
    show_table(shared.part_rows(counted, kind), key="piece_table", counts=[_("count")])
    with details(_("Memory of the weights"), icon=":material/memory:"):
        show_table(size_rows(counted), key="size_table")
        note(
            _("Only the weights are counted; int8 and int4 also need scales for groups of weights.")
        )


PANEL = Panel(
    "breakdown",
    N_("Where are the parameters?"),
    where_they_are,
    fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings"),
    at=lambda run, state: (run.config, state.breakdown, state.opened_piece),
    shows=(
        File(lambda config: shared.part_rows(count_facts(config)), "parameters"),
        File(lambda config: size_rows(count_facts(config)), "weights_bytes"),
        Matrix(draw_pieces, "pieces", facts=opened_facts),
    ),
)
