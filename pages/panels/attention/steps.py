"""The filmstrip of one head: from queries and keys to what is written."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import streamlit as st

from blocks.inspection import head_steps, source
from blocks.inspection.head_steps import HeadSteps, Products, products, softmax_of
from blocks.model.faults import N_
from blocks.model.kinds import PositionKind
from blocks.model.positions import alibi_slopes
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.matrix import Matrix
from pages.figures.theme import Picture
from pages.panels.attention import shared, steps_picture
from pages.ui import link, present, terms
from pages.ui.chart import show
from pages.ui.controls import slider
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language, enumeration, literal
from pages.ui.numbers import percent
from pages.ui.said import say


def written_out(
    run: Run, layer: int, head: int, query: int, key: int, features: tuple[int, int]
) -> dict[str, str]:
    """Every step of one query and one key in numbers, by the name of the step.

    `features`: the columns that are written out of what is mixed, and of what is written.
    """
    one = shared.head_steps_of(run, layer, head)
    lines = {
        "qkv": _projected(run, one, head, query),
        "scores": _scores(run, one, query, key),
        "scaled": _scaled(one, query, key),
        "bias": _biased(run, one, head, query, key),
        "mask": _masked(one, query, key),
        "softmax": _softmax(one, query, key),
        "mix": _mixed(one, query, features[0]),
        "write": _written(one, query, features[1]),
    }
    return {step: lines[step] for step in shared.steps_of(run)}


def _projected(run: Run, one: HeadSteps, head: int, query: int) -> str:
    first = ", ".join(number(x) for x in one.q[query, :4])
    more = _more(max(0, one.d_head - 4))
    text = _("q({token}) = ({first}{more}), likewise k and v: d_head = {d_head} numbers each.")
    said = text.format(
        token=literal(run.input.labels[query]), first=first, more=more, d_head=one.d_head
    )
    return " ".join((said, *_of_this_model(run, head)))


def _of_this_model(run: Run, head: int) -> list[str]:
    """What this model does to queries and keys before they meet."""
    config, said = run.config, []
    if config.n_kv_heads < config.n_heads:
        text = _("{kind}: this head uses key and value head {kv_head} of {n}.")
        kv_head = from_one(head * config.n_kv_heads // config.n_heads)
        kind = terms.attention_kind(config)
        said.append(text.format(kind=kind, kv_head=kv_head, n=config.n_kv_heads))
    if config.attention.qk_norm:
        said.append(_("q and k are scaled to RMS 1."))
    if config.position.position_kind is PositionKind.ROPE:
        said.append(_("RoPE has turned q and k by their positions."))
    return said


def _scores(run: Run, one: HeadSteps, query: int, key: int) -> str:
    labels = run.input.labels
    text = _("q({query}) · k({key}) = {sum}")
    summed = _sum(products(one.q[query], one.k[key]))
    return text.format(query=literal(labels[query]), key=literal(labels[key]), sum=summed)


def _scaled(one: HeadSteps, query: int, key: int) -> str:
    raw, scaled = number(one.raw[query, key]), number(one.scaled[query, key])
    return f"{raw} / √{one.d_head} = {raw} / {number(one.d_head**0.5)} = **{scaled}**"


def _biased(run: Run, one: HeadSteps, head: int, query: int, key: int) -> str:
    if one.biased is None:
        return ""
    slope, distance = alibi_slopes(run.config.n_heads)[head], abs(query - key)
    text = _("{scaled} − slope {slope} × distance {distance} = **{biased}**")
    return text.format(
        scaled=number(one.scaled[query, key]),
        slope=number(slope),
        distance=distance,
        biased=number(one.biased[query, key]),
    )


def _masked(one: HeadSteps, query: int, key: int) -> str:
    score = one.masked[query, key]
    if np.isnan(score):
        return _("This query may not attend to this key: the score becomes −∞.")
    return _("This query may attend to this key: {score} stays.").format(score=number(score))


def _softmax(one: HeadSteps, query: int, key: int) -> str:
    row = one.masked[query]
    if np.isnan(row).all():
        return _("This query cannot attend to any key: its whole row is zeros.")
    found = softmax_of(row, key)
    if found is None:
        return _("exp(−∞) = 0: a masked key gets no weight at all.")
    text = _(
        "exp({score} − {largest}) / Σ = {exp} / {total} = **{weight:.3f}** (the largest "
        "score of the row is subtracted first)"
    )
    return text.format(
        score=number(found.score),
        largest=number(found.largest),
        exp=number(found.exp),
        total=number(found.total),
        weight=found.weight,
    )


def _mixed(one: HeadSteps, query: int, feature: int) -> str:
    """The heaviest keys first."""
    found = products(one.pattern[query], one.v[:, feature], largest_first=True)
    text = _("head_out[{feature}] = Σ weight × v[{feature}] = {sum}")
    return text.format(feature=feature, sum=_sum(found))


def _written(one: HeadSteps, query: int, feature: int) -> str:
    found = products(one.mixed[query], one.out_weight[:, feature])
    text = _("write[{feature}] = head_out · W_O[:, {feature}] = {sum}")
    return text.format(feature=feature, sum=_sum(found))


def _sum(found: Products) -> str:
    terms_shown = " + ".join(f"{number(a)} × {number(b)}" for a, b in found.terms) or "0"
    return f"{terms_shown}{_more(found.n_more, plus=True)} = **{number(found.total)}**"


def _more(n: int, *, plus: bool = False) -> str:
    if n == 0:
        return ""
    text = _(" + {n} more") if plus else _(", and {n} more")
    return text.format(n=n)


def number(x: float) -> str:
    """Three figures after the point, fewer for large numbers, with a real minus sign."""
    text = f"{x:.3f}" if abs(x) < 100 else f"{x:.4g}"
    return text.replace("-", "−") if float(text) else "0"


SYMBOLS = {
    "q": "Q",
    "k": "K",
    "v": "V",
    "raw": "QKᵀ",
    "scaled": "÷ √d",
    "biased": "ALiBi",
    "masked": N_("mask"),
    "pattern": "softmax",
    "mixed": "· V",
    "written": "· W_O",
    "out_weight": "W_O",
}


TITLES = {
    "q": N_("Queries: what each token looks for"),
    "k": N_("Keys: what each token can be found by"),
    "v": N_("Values: what each token passes on"),
    "raw": N_("Scores: the dot product of each query with each key"),
    "scaled": N_("Scaled dot products: scores ÷ √d_head"),
    "biased": N_("Scores lowered by distance (ALiBi)"),
    "masked": N_("Scores that the mask lets through"),
    "pattern": N_("Weights: softmax over each row"),
    "mixed": N_("Weighted sum of the values"),
    "written": N_("Output projection: what the head adds to the stream"),
    "out_weight": N_("Output projection: the share of this head"),
}


STEP_TITLES = {
    "qkv": N_("Queries, keys, values"),
    "scores": N_("Scores q · k"),
    "scaled": N_("Divide by √d_head"),
    "bias": N_("Add the ALiBi bias"),
    "mask": N_("Apply the mask"),
    "softmax": N_("Softmax over each row"),
    "mix": N_("Weights times values"),
    "write": N_("Output projection"),
}


FRAMES_OF = {
    "qkv": ("q", "k", "v"),
    "scores": ("raw",),
    "scaled": ("scaled",),
    "bias": ("biased",),
    "mask": ("masked",),
    "softmax": ("pattern",),
    "mix": ("mixed",),
    "write": ("written",),
}


Frame = dict[str, Any]  # the fields of `pages.figures.matrix.Matrix`


def matrix_frame(run: Run, layer: int, head: int, token: int, name: str) -> Frame:
    """One matrix of the head, cut to the window and to the features that are drawn."""
    return _matrices(run, layer, head, shared.window(run, token), current_language())[name]


def strip_frames(run: Run, layer: int, head: int, token: int) -> list[tuple[str, Frame]]:
    """All of them in the order of the steps: (step, matrix)."""
    return [
        (step, matrix_frame(run, layer, head, token, name))
        for step in shared.steps_of(run)
        for name in FRAMES_OF[step]
    ]


@lru_cache(maxsize=16)
def _matrices(
    run: Run, layer: int, head: int, shown: shared.Window, language: str
) -> dict[str, Frame]:
    found = shared.head_steps_of(run, layer, head)
    rows = slice(*shown)
    tokens = run.input.labels[rows]
    made = {}
    for name in SYMBOLS.keys() - {"out_weight"}:
        values = getattr(found, name)
        if values is None:
            continue
        is_square = name in ("raw", "scaled", "biased", "masked", "pattern")
        values = values[rows, rows] if is_square else values[rows, : shared.MOST_FEATURES]
        columns = tokens if is_square else _features(values.shape[1])
        made[name] = _matrix(name, values, tokens, columns)
    made["out_weight"] = _out_weight(found)
    return made


def _matrix(name: str, values: np.ndarray, rows: Sequence[str], columns: Sequence[str]) -> Frame:
    return {
        "name": name,
        "symbol": _(SYMBOLS[name]),
        "title": _(TITLES[name]),
        "values": values,
        "rows": rows,
        "columns": columns,
        "is_weights": name == "pattern",
    }


def _out_weight(found: HeadSteps) -> Frame:
    values = found.out_weight[: shared.MOST_FEATURES, : shared.MOST_FEATURES]
    return _matrix("out_weight", values, *(_features(n) for n in values.shape))


def _features(n: int) -> tuple[str, ...]:
    return tuple(f"[{i}]" for i in range(n))


def inside(run: Run, token: int, key: int, feature: int) -> tuple[int, int | None, int | None]:
    """Query, key and feature counted within what is drawn; None where one is not drawn."""
    shown = shared.window(run, token)
    return (
        token - shown.first,
        shown.inside(key),
        feature if feature < shared.MOST_FEATURES else None,
    )


def reads_sentence(run: Run, layer: int, head: int, query: int) -> str:
    """Where the pinned token reads from in this head, and whose weights these are."""
    row = shared.head_steps_of(run, layer, head).pattern[query]
    if np.isnan(row).all():
        text = _("In {head}, {token} cannot attend to any key: its row is all zeros.")
        return text.format(head=shared.head_called(layer, head), token=shared.token(run, query))
    text = _("In {head}, {token} (position {position}) attends mostly to {read}. {source}")
    return text.format(
        head=shared.head_called(layer, head),
        token=shared.token(run, query),
        position=query + 1,
        read=_most_read(run, row),
        source=_whose_weights(run),
    )


def _most_read(run: Run, row: np.ndarray, most: int = 3) -> str:
    order = np.argsort(-np.nan_to_num(row), kind="stable")[:most]
    text = _("{token} ({share})")
    shown = [key for key in order if row[key] > 0.05] or order[:1]
    return enumeration(
        text.format(token=shared.token(run, int(key)), share=percent(float(row[key])))
        for key in shown
    )


def _whose_weights(run: Run) -> str:
    if run.weights:
        return _("The weights are trained.")
    return _("The weights are random (seed {seed}): no role has been learned.").format(
        seed=run.seed
    )


STEP_SENTENCES = {
    "qkv": N_(
        "Every token makes three vectors of {d_head} numbers: a query (what it looks "
        "for), a key (what it can be found by) and a value (what it passes on)."
    ),
    "scores": N_("The dot product of the pinned query with every key: scores range {raw}."),
    "scaled": N_("Divided by √{d_head}, the scores range {scaled}."),
    "bias": N_("The further a key, the lower its score: the range is now {biased}."),
    "mask": N_(
        "The mask hides {n_masked} of {n} keys from the pinned token; the remaining scores "
        "range {masked}."
    ),
    "softmax": N_("Softmax turns the row's scores into weights ({pattern}) that sum to {sum}."),
    "mix": N_("The values, each times its weight, are summed: a vector of length {mixed}."),
    "write": N_(
        "The output projection maps {d_head} numbers to d_model = {d_model}: this head "
        "adds a vector of length {written}, and those of all heads are summed."
    ),
}


def step_sentence(run: Run, layer: int, head: int, query: int, step: str) -> str:
    """What this step did to the pinned row, in numbers."""
    one = shared.head_steps_of(run, layer, head)
    rows = {name: getattr(one, name)[query] for name in ("raw", "scaled", "masked", "pattern")}
    rows["biased"] = rows["scaled"] if one.biased is None else one.biased[query]
    return _(STEP_SENTENCES[step]).format(
        **{name: _spread(row) for name, row in rows.items()},
        n=len(one.raw),
        n_masked=int(np.isnan(one.masked[query]).sum()),
        sum=f"{np.nansum(one.pattern[query]):.3f}",
        mixed=f"{np.linalg.norm(one.mixed[query]):.3f}",
        written=f"{np.linalg.norm(one.written[query]):.3f}",
        d_head=one.d_head,
        d_model=run.config.d_model,
    )


def _spread(row: np.ndarray) -> str:
    there = row[~np.isnan(row)]
    least, most = (there.min(), there.max()) if len(there) else (0, 0)
    return _("{least} to {most}").format(least=number(least), most=number(most))


def window_note(run: Run, layer: int, head: int, query: int) -> str:
    """What is not drawn: tokens beyond the window, features beyond the first, dropout."""
    notes = [shared.drawn_note(run, layer, head, query, shared.window(run, query))]
    if max(run.config.d_head, run.config.d_model) > shared.MOST_FEATURES:
        text = _("Only the first {n} features of long vectors are drawn.")
        notes.append(text.format(n=shared.MOST_FEATURES))
    if run.training and run.config.dropout > 0:
        notes.append(_("Training mode: values before dropout are shown."))
    if run.input.shape[0] > 1:
        notes.append(_("The first sequence of the batch is shown."))
    return " ".join(filter(None, notes))


def strip_alt(run: Run, layer: int, head: int, query: int, _step: str) -> str:
    """Write the alt text of the strip."""
    order = " → ".join(_(STEP_TITLES[step]) for step in shared.steps_of(run))
    text = _("All steps of {head} as thumbnails, in order: {order}. Pinned: {token}.")
    return text.format(
        head=shared.head_called(layer, head), order=order, token=run.input.labels[query]
    )


def step_alt(
    run: Run, layer: int, head: int, query: int, key: int, step: str, _feature: int
) -> str:
    """Write the alt text of the large picture."""
    text = _("{step}: {sentence} Outlined: query {query}, key {key}.")
    return text.format(
        step=_(STEP_TITLES[step]),
        sentence=step_sentence(run, layer, head, query, step),
        query=run.input.labels[query],
        key=run.input.labels[key],
    )


def step_choice(run: Run, step: str) -> None:
    """Back and on, by button or key, and every step by name."""
    steps = shared.steps_of(run)
    with st.container(horizontal=True, vertical_alignment="center", key="steps"):
        shared.step_keys(run, step)
        st.pills(
            _("Step"),
            steps,
            format_func=lambda name: f"{steps.index(name) + 1} · {_(STEP_TITLES[name])}",
            required=True,
            wrap=True,
            label_visibility="collapsed",
            **link.view("attention_step", step, (steps, current_language())),
        )


def open_step(customdata: list[Any]) -> None:
    """A frame of the strip was clicked."""
    link.change("attention_step", customdata[0])


def open_cell(customdata: list[Any]) -> None:
    """A cell was clicked: its query is pinned, its key or feature written out."""
    query, column, is_key = (int(number) for number in customdata[:3])
    if query != link.value("token"):
        link.change("token", query)
        link.redraw_everything()
    link.change("key" if is_key else "feature", column)


def cell_choice(run: Run, key: int, step: str, feature: int) -> None:
    """The key, and in the last steps the feature, that are written out."""
    labels = run.input.labels
    left, right = st.columns([2, 3])
    with left, st.container(key="key"):
        st.selectbox(
            _("Key · the cell written out below"),
            range(len(labels)),
            format_func=lambda i: f"{i + 1} · {labels[i]}",
            **link.view("key", key, labels),
        )
    width = {"mix": run.config.d_head, "write": run.config.d_model}.get(step, 1)
    if width > 1:
        with right:
            label = _("Feature · the column written out below")
            slider("feature", label, feature, most=width - 1)


PRODUCTS = {
    "scores": ("q", "k", "raw"),
    "mix": ("pattern", "v", "mixed"),
    "write": ("mixed", "out_weight", "written"),
}

SIDE_BY_SIDE = {
    "qkv": ("q", "k", "v"),
    "scaled": ("raw", "scaled"),
    "bias": ("scaled", "biased"),
    "mask": ("scaled", "masked"),
    "softmax": ("masked", "pattern"),
}


@section
def steps_of_a_head(run: Run, layer: int, head: int, token: int) -> None:
    """All steps small, one of them large, and one cell of it in numbers."""
    step = shared.current_step(run)
    key = shared.chosen_key(run, layer, head, token)
    feature = shared.chosen_feature(run, step)
    cell = key, step, feature
    if present.is_on():
        _on_one_screen(run, layer, head, token, cell)
        return
    code = (*source.heads_source(), head_steps.attention_steps)
    with explained(("attention_steps", "attention"), code, key="filmstrip"):
        say(reads_sentence, run, layer, head, token)
    shown = run, layer, head, token
    show(
        draw_strip,
        *shown,
        step,
        key="strip",
        alt=strip_alt,
        on_click=open_step,
    )
    step_choice(run, step)
    cell_choice(run, key, step, feature)
    st.markdown(step_sentence(*shown, step))
    _step_large(*shown, cell)
    if said := window_note(*shown):
        note(said)
    cell_in_numbers(*shown, key, step)


def _on_one_screen(run: Run, layer: int, head: int, token: int, cell: tuple[int, str, int]) -> None:
    """For a projector: one step, and beside it the cell in numbers; keys lead through the steps."""
    key, step, feature = cell
    with st.container(horizontal=True, vertical_alignment="center"):
        shared.step_keys(run, step)
        st.markdown(step_sentence(run, layer, head, token, step), width="stretch")
    left, right = st.columns([7, 5], vertical_alignment="center")
    with left:
        _step_large(run, layer, head, token, cell)
    with right:
        cell_in_numbers(run, layer, head, token, key, step)
    with st.sidebar:
        cell_choice(run, key, step, feature)


def _step_large(run: Run, layer: int, head: int, token: int, cell: tuple[int, str, int]) -> None:
    shown = run, layer, head, token, *cell
    show(draw_step, *shown, key="step", alt=step_alt, on_click=open_cell)


def cell_in_numbers(run: Run, layer: int, head: int, token: int, key: int, step: str) -> None:
    """Every step of the chosen cell, the current one marked."""
    features = shared.chosen_feature(run, "mix"), shared.chosen_feature(run, "write")
    lines = written_out(run, layer, head, token, key, features)
    with st.container(border=True, key="in_numbers"):
        st.markdown("  \n".join(_line(name, line, name == step) for name, line in lines.items()))


def _line(name: str, line: str, is_current: bool) -> str:
    title = _(STEP_TITLES[name])
    return f":orange[▸ **{title}** →] {line}" if is_current else f"**{title}** → {line}"


def draw_strip(run: Run, layer: int, head: int, token: int, step: str) -> Picture:
    """All steps small."""
    found = strip_frames(run, layer, head, token)
    return steps_picture.strip(
        [(name, Matrix(**frame)) for name, frame in found],
        current=step,
        pinned=token - shared.window(run, token).first,
        _=_,
    )


def draw_step(
    run: Run, layer: int, head: int, token: int, key: int, step: str, feature: int
) -> Picture:
    """One step large."""

    def matrix(name: str) -> Matrix:
        return Matrix(**matrix_frame(run, layer, head, token, name))

    chosen = steps_picture.Chosen(*inside(run, token, key, feature))
    numbers = steps_picture.Numbers(range(*shared.window(run, token)))
    title = _(STEP_TITLES[step])
    if step in PRODUCTS:
        left, right, result = (matrix(name) for name in PRODUCTS[step])
        right = right.transposed if step == "scores" else right
        return steps_picture.product(left, right, result, chosen, numbers, title=title, _=_)
    names = SIDE_BY_SIDE[step]
    if step == "mask" and "bias" in shared.steps_of(run):
        names = ("biased", "masked")
    matrices = [matrix(name) for name in names]
    return steps_picture.side_by_side(matrices, chosen, numbers, title=title, _=_)
