"""One cell written out in numbers, a line a step."""

import numpy as np

from blocks.inspection.head_steps import HeadSteps, Products, products, softmax_of
from blocks.model.kinds import PositionKind
from blocks.model.positions import alibi_slopes
from blocks.observe.run import Run
from pages.ui import terms
from pages.ui.attention import frames, measured
from pages.ui.language import _, literal


def written_out(
    run: Run, layer: int, head: int, query: int, key: int, features: tuple[int, int]
) -> dict[str, str]:
    """Every step of one query and one key in numbers, by the name of the step.

    `features`: the columns that are written out of what is mixed, and of what is written.
    """
    one = measured.head(run, layer, head)
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
    return {step: lines[step] for step in frames.steps(run)}


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
        kv_head = head * config.n_kv_heads // config.n_heads
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
