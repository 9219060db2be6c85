"""Where the parameters are: a model taken apart, piece by piece; every part with its formula."""

from functools import lru_cache
from typing import Any

import streamlit as st

from blocks import ModelConfig
from blocks.cost import breakdown, parameters
from blocks.cost.breakdown import Kind, Node, by_kind, by_layer, count_kinds, opened
from blocks.cost.fitting import can_build
from blocks.cost.memory import bytes_text
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import breakdown as pictures
from pages.figures.theme import Picture
from pages.panels.parameters import shared
from pages.ui import cached, link, terms
from pages.ui.chart import show
from pages.ui.controls import choose
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language
from pages.ui.link_fields.parameters import VIEWS
from pages.ui.said import say


@lru_cache(maxsize=64)
def kinds(config: ModelConfig) -> dict[Kind, int]:
    """Parameters by kind."""
    return count_kinds(config)


@lru_cache(maxsize=32)
def tree(config: ModelConfig, view: str) -> Node:
    """The model taken apart by kind, or by layer."""
    return by_layer(config) if view == "by_layer" else by_kind(config)


VIEW_NAMES = {"by_kind": N_("by kind"), "by_layer": N_("by layer")}


STACKS = {
    "layers": N_("layers"),
    "encoder.layers": N_("layers of the encoder"),
    "decoder.layers": N_("layers of the decoder"),
}


def view(found: str) -> str:
    """How the model is taken apart."""
    return _(VIEW_NAMES[found])


def node_name(found: Node) -> str:
    """What a piece is called."""
    if found.name == "":
        return _("the whole model")
    if found.name in STACKS:
        return _(STACKS[found.name])
    if found.name in list(Kind) and found.kind == found.name and found.children:
        return shared.kind_name(found.name)
    if is_layer(found):
        return _("layer {layer}").format(layer=found.name)
    return terms.part(found.name)


def is_layer(found: Node) -> bool:
    """Whether a piece is one layer (or the last of very many), called by its number."""
    return found.name[:1].isdigit()


Fields = tuple[int, int, str, str, str, str, str]  # of `pages.figures.breakdown.Piece`


def path_of(run: Run, view: str, text: str) -> tuple[Node, ...]:
    """The pieces that a path leads through, the whole first."""
    return opened(tree(run.config, view), text.split("/") if text else [])


def text_of(nodes: tuple[Node, ...]) -> str:
    """The path that leads to the last of them."""
    return "/".join(node.name for node in nodes[1:])


def piece_levels(run: Run, view: str, text: str) -> list[list[Fields]]:
    """What is opened, and as many rows below it as can be told apart."""
    along = path_of(run, view, text)
    whole, up = along[-1], text_of(along[:-1])
    row = [(whole, 0, text_of(along))]
    found = [[_piece(whole, 0, up, whole.count)]]
    while len(found) < shared.MOST_ROWS:
        row = _below(row)
        if not row or len(row) > shared.MOST_PIECES:
            break
        found.append([_piece(n, start, path, whole.count) for n, start, path in row])
    return found


def _below(row: list[tuple[Node, int, str]]) -> list[tuple[Node, int, str]]:
    """The children of all pieces of a row, each where its parent is."""
    found = []
    for node, start, path in row:
        for child in node.children:
            found.append((child, start, f"{path}/{child.name}".lstrip("/")))
            start += child.count
    return found


def _piece(node: Node, start: int, path: str, whole: int) -> Fields:
    said = f"{shared.short(node.count)} · {shared.share(node.count, whole)}"
    label = node_name(node)
    short = node.name if is_layer(node) else label
    return start, node.count, short, label, said, str(node.kind or ""), path


def parts(config: ModelConfig, kind: str) -> None:
    """Show the parts of one kind as a table."""
    shared._shown(shared.part_frame(config, kind), "piece_table", _("count"))


def sizes(config: ModelConfig) -> None:
    """Bytes of the weights in each number format, tied and not."""
    shared._shown(shared.size_frame(config), "size_table")


def total(config: ModelConfig) -> None:
    """The total, whether formula and model agree, and what of it a token meets."""
    found = shared.total(config)
    with st.container(horizontal=True, vertical_alignment="center", key="parameter_count"):
        st.markdown(f"## {found:,}", width="content")
        if not can_build(config):
            st.badge(_("by formula"), icon=":material/functions:")
        elif cached.counted_parameters(config) == found:
            st.badge(_("formula = counted"), color="green", icon=":material/check:")
        else:
            text = _("formula {formula:,}, counted {counted:,}")
            said = text.format(formula=found, counted=cached.counted_parameters(config))
            st.badge(said, color="red")
    st.markdown(" · ".join(_in_brief(config)))


def _in_brief(config: ModelConfig) -> list[str]:
    found, active = shared.total(config), shared.active(config)
    said = [_("parameters")]
    if active < found:
        text = _("each token uses **{active:,}** of them ({share})")
        said.append(text.format(active=active, share=shared.share(active, found)))
    if config.architecture.reads_tokens:
        said.append(_tied(config))
    in_two_bytes = bytes_text(shared.bytes_in(found, "bfloat16"))
    said.append(_("in bfloat16 **{size}**").format(size=in_two_bytes))
    return said


def _tied(config: ModelConfig) -> str:
    is_tied = config.vocabulary.tie_embeddings
    other = shared.total(config.replace(tie_embeddings=not is_tied))
    text = _("tied; if not, **{n:,}**") if is_tied else _("not tied; if it were, **{n:,}**")
    return text.format(n=other)


def breakdown_sentence(config: ModelConfig) -> str:
    """Where most of it is, and how little the small parts are."""
    found, whole = kinds(config), shared.total(config)
    if not found:
        return _("This model has no parameters at all.")
    largest = max(found, key=found.__getitem__)
    text = _("The largest part is {kind}: {share} of all.")
    said = [text.format(kind=shared.kind_name(largest), share=shared.share(found[largest], whole))]
    rows = shared.counted_rows(config)
    biases = sum(row.count for row in rows if row.part.endswith("bias") and row.kind != "position")
    norms = found.get(Kind.NORM, 0)
    text = _("Norms hold {norms:,} ({norm_share}), biases {biases:,} ({bias_share}).")
    shares = {
        "norm_share": shared.share(norms, whole),
        "bias_share": shared.share(biases, whole),
    }
    said.append(text.format(norms=norms, biases=biases, **shares))
    if config.architecture.reads_tokens:
        said.append(_tables(config))
    return " ".join(said)


def _tables(config: ModelConfig) -> str:
    found, whole = kinds(config), shared.total(config)
    ends = found.get(Kind.EMBEDDING, 0) + found.get(Kind.OUTPUT, 0)
    text = _("Token embedding and output matrix hold {share}.")
    if config.vocabulary.tie_embeddings:
        text = _("The token embedding holds {share}; input and output are tied, so it counts once.")
    return text.format(share=shared.share(ends, whole))


def opened_sentence(run: Run, view: str, path: str) -> str:
    """What is opened: how much it is, and of one layer."""
    nodes = path_of(run, view, path)
    whole, found = nodes[0].count, nodes[-1].count
    if len(nodes) == 1:
        return _("Click a piece to open it: it then fills the width. All widths are exact.")
    label = node_name(nodes[-1])
    text = _("Opened: {piece}, {count:,} parameters, {share} of the model.")
    return text.format(piece=label, count=found, share=shared.share(found, whole))


def breakdown_alt(run: Run, view: str, path: str) -> str:
    """Write the alt text of the rows of bars."""
    top, *rest = piece_levels(run, view, path)
    below = rest[0] if rest else top
    rows = "; ".join(f"{label} {said}" for _start, _count, _short, label, said, *_more in below)
    return _("Breakdown of {whole}: {rows}.").format(whole=top[0][3], rows=rows)


def view_choice() -> None:
    """By kind or by layer."""
    choose("breakdown", _("Breakdown"), VIEWS, label_of=view)


def way_back(run: Run, view: str, path: str) -> None:
    """The whole, and what was opened on the way, each a button that leads back to it."""
    nodes = path_of(run, view, path)
    with st.container(horizontal=True, gap="xsmall", key="way_back"):
        for i, node in enumerate(nodes):
            st.button(
                node_name(node),
                key=f"back_to_{i}",
                on_click=link.change,
                args=("opened_piece", text_of(nodes[: i + 1])),
                disabled=i == len(nodes) - 1,
                type="tertiary",
                icon=":material/chevron_right:" if i else ":material/home:",
            )


def open_choice(run: Run, view: str, path: str) -> None:
    """The pieces of what is opened, by name: also for those too thin to click."""
    nodes = path_of(run, view, path)
    here = text_of(nodes)
    inside = {f"{here}/{n.name}".lstrip("/"): node_name(n) for n in nodes[-1].children}
    if not inside:
        return
    options = (here, *inside)
    with st.container(key="open_piece"):
        st.selectbox(
            _("Open a piece"),
            options,
            format_func=lambda path: inside.get(path, _("choose one, or click it")),
            **link.view("opened_piece", here, (options, current_language())),
        )


def open_clicked(customdata: list[Any]) -> None:
    """A piece of the picture was clicked."""
    link.change("opened_piece", str(customdata[0]))


@section
def where_they_are(run: Run) -> None:
    """The total, the picture to click through, and the table."""
    code = (parameters.count_parameters, breakdown.by_kind)
    with explained(("parameters",), code, key="breakdown_story"):
        total(run.config)
    say(breakdown_sentence, run.config)
    view, path = link.value("breakdown"), link.value("opened_piece")
    view_choice()
    way_back(run, view, path)
    shown = run, view, path
    alt, click = breakdown_alt, open_clicked
    show(draw_pieces, *shown, key="pieces", alt=alt, on_click=click)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        note(opened_sentence(run, view, path))
    with right:
        open_choice(run, view, path)
    kind = path.partition("/")[0] if view == "by_kind" else ""
    parts(run.config, kind if kind in list(Kind) else "")
    with st.expander(_("Memory of the weights"), icon=":material/memory:"):
        sizes(run.config)
        note(_("Weights alone; int8 and int4 also need scales for groups of weights."))


def draw_pieces(run: Run, view: str, path: str) -> Picture:
    """Rows of pieces, from what is opened downwards."""
    levels = [[pictures.Piece(*fields) for fields in row] for row in piece_levels(run, view, path)]
    return pictures.rows(levels, title=_("From the whole to its parts: click one"), _=_)
