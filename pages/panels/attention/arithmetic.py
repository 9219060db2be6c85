"""One cell of a head, written out in numbers, step by step."""

from collections.abc import Callable

from blocks.inspection.head_facts import Cell, HeadFacts, steps_taken
from blocks.inspection.head_steps import Products, products
from blocks.model.kinds import PositionKind
from pages.figures.counting import from_one
from pages.panels.attention import shared
from pages.panels.attention.matrices import STEP_TITLES, number_of
from pages.words import terms
from pages.words.language import _, sentences

MOST_HEADS = 8  # whose shares are written out
MOST_RESULTS = 5  # of earlier steps, beside a step that is presented
ROUNDING = 1e-4
MINUS = str.maketrans("-", "−")


def written_out(facts: HeadFacts) -> str:
    """A line for the current step, after one for each that led to it, by number."""
    cell, steps = facts.cell, steps_taken(facts.run.config)
    before = steps[: steps.index(facts.step)]
    lines = [f"**{number_of(s, steps)}** → {LINES[s](facts, cell)}" for s in before]
    title, line = _(STEP_TITLES[facts.step]), LINES[facts.step](facts, cell)
    return "  \n".join((*lines, f":orange[▸ **{title}** →] {line}"))


def in_short(facts: HeadFacts, between: str) -> str:
    """The current step of the cell in full, after what came of each before it."""
    cell, steps = facts.cell, steps_taken(facts.run.config)
    before = steps[: steps.index(facts.step)]
    came = [f"{_(STEP_TITLES[s])} → **{RESULTS[s](cell)}**" for s in before if s in RESULTS]
    title, line = _(STEP_TITLES[facts.step]), LINES[facts.step](facts, cell)
    return "  \n".join(
        (*filter(None, [between.join(came[-MOST_RESULTS:])]), f":orange[▸ **{title}** →] {line}")
    )


def _by_weight(facts: HeadFacts, _cell: Cell) -> str:
    """One feature of the query, as W_Q makes it; a bias is added where there is one."""
    feature, around = facts.column("project"), facts.steps.around
    if around.q_weight is None or around.projected is None:
        return ""
    found = products(around.x[facts.query], around.q_weight[:, feature])
    line = f"(x · W_Q)[{feature}] = {sum_text(found)}"
    whole = float(around.projected[facts.query, feature])
    bias = whole - found.total
    if abs(bias) <= ROUNDING * max(1.0, abs(whole)):
        return line
    text = _("{line}; plus the bias {bias}: **{whole}**")
    return text.format(line=line, bias=number(bias), whole=number(whole))


def _of_all_heads(facts: HeadFacts, _cell: Cell) -> str:
    """What each head adds to one feature, and their sum."""
    feature = facts.column("heads")
    shares = facts.steps.shares(facts.query, feature)
    shown = " + ".join(number(share) for share in shares[:MOST_HEADS])
    n_more = len(shares) - MOST_HEADS
    more = _(" + {n} more").format(n=n_more) if n_more > 0 else ""
    whole = number(float(facts.steps.around.together[facts.query, feature]))
    text = _("(Concat · W_O)[{feature}] = Σ over the heads = {shares} = **{whole}**")
    return text.format(feature=feature, shares=f"{shown}{more}", whole=whole)


def _projected(facts: HeadFacts, _cell: Cell) -> str:
    query = facts.steps.q[facts.query]
    first, rest = query[:4], query[4:]
    text = _("q({token}) = ({first}{more}); k and v likewise have d_head = {d_head} numbers each.")
    said = text.format(
        token=shared.token(facts.run, facts.query),
        first=", ".join(map(number, first)),
        more=_(", and {n} more").format(n=len(rest)) if len(rest) else "",
        d_head=facts.steps.d_head,
    )
    return sentences(said, *_of_this_model(facts))


def _of_this_model(facts: HeadFacts) -> list[str]:
    """What this model does to queries and keys before they meet."""
    config, said = facts.run.config, []
    if config.n_kv_heads < config.n_heads:
        text = _("{kind}: this head uses key/value head {kv_head} of {n}.")
        kind, kv_head = terms.attention_kind(config), from_one(facts.kv_head)
        said.append(text.format(kind=kind, kv_head=kv_head, n=config.n_kv_heads))
    if config.attention.qk_norm:
        whole = config.attention.qk_norm_whole
        over_all = _("q is scaled to RMS 1 over all heads together, and so is k.")
        said.append(over_all if whole else _("q and k are normalized by their RMS."))
    if config.position.position_kind is PositionKind.ROPE:
        said.append(_("RoPE has rotated q and k by their positions."))
    return said


def _scores(facts: HeadFacts, cell: Cell) -> str:
    query, key = (shared.token(facts.run, i) for i in (facts.query, facts.key))
    return _("q({query}) · k({key}) = {sum}").format(query=query, key=key, sum=sum_text(cell.score))


def _scaled(facts: HeadFacts, cell: Cell) -> str:
    raw, root = number(cell.raw), number(facts.steps.d_head**0.5)
    return f"{raw} / √{facts.steps.d_head} = {raw} / {root} = **{number(cell.scaled)}**"


def _capped(facts: HeadFacts, cell: Cell) -> str:
    cap, scaled = number(facts.run.config.attention.score_softcap), number(cell.scaled)
    return f"{cap} · tanh({scaled} / {cap}) = **{number(cell.capped)}**"


def _biased(facts: HeadFacts, cell: Cell) -> str:
    text = _("{scaled} − slope {slope} × distance {distance} = **{biased}**")
    numbers = {name: number(getattr(cell, name)) for name in ("slope", "biased")}
    before = cell.scaled if facts.steps.capped is None else cell.capped
    return text.format(**numbers, scaled=number(before), distance=cell.distance)


def _masked(_facts: HeadFacts, cell: Cell) -> str:
    if cell.softmax is None:
        return _("This query may not attend to this key: the score becomes −∞.")
    text = _("The mask lets this score through unchanged: {score}.")
    return text.format(score=number(cell.softmax.score))


def _softmax(facts: HeadFacts, cell: Cell) -> str:
    if facts.is_blind:
        return _("This query cannot attend to any key: its row is all zeros.")
    if cell.softmax is None:
        return _("exp(−∞) = 0: a masked key gets no weight at all.")
    text = _(
        "exp({score} − {largest}) / Σ = {exp} / {total} = **{weight:.3f}** (the largest "
        "score of the row is subtracted first)"
    )
    numbers = {n: number(getattr(cell.softmax, n)) for n in ("score", "largest", "exp", "total")}
    said = text.format(**numbers, weight=cell.softmax.weight)
    if facts.steps.sink is None:
        return said
    text = _("{softmax}; Σ also includes the learned sink, with score {sink}")
    return text.format(softmax=said, sink=number(facts.steps.sink))


def _mixed(facts: HeadFacts, cell: Cell) -> str:
    text = _("head_out[{feature}] = Σ weight × v[{feature}] = {sum}")
    return text.format(feature=facts.column("mix"), sum=sum_text(cell.mixed))


def _gated(facts: HeadFacts, cell: Cell) -> str:
    text = _("head_out[{feature}] after the gate = **{gated}**")
    return text.format(feature=facts.column("gate"), gated=number(cell.gated))


def _written(facts: HeadFacts, cell: Cell) -> str:
    text = _("write[{feature}] = head_out · W_O[:, {feature}] = {sum}")
    return text.format(feature=facts.column("write"), sum=sum_text(cell.written))


LINES = {
    "project": _by_weight,
    "qkv": _projected,
    "scores": _scores,
    "scaled": _scaled,
    "cap": _capped,
    "bias": _biased,
    "mask": _masked,
    "softmax": _softmax,
    "mix": _mixed,
    "gate": _gated,
    "write": _written,
    "heads": _of_all_heads,
}

RESULTS: dict[str, Callable[[Cell], str]] = {
    "scores": lambda cell: number(cell.raw),
    "scaled": lambda cell: number(cell.scaled),
    "cap": lambda cell: number(cell.capped),
    "bias": lambda cell: number(cell.biased),
    "mask": lambda cell: number(cell.softmax.score) if cell.softmax else "−∞",
    "softmax": lambda cell: number(cell.softmax.weight) if cell.softmax else "0",
    "mix": lambda cell: number(cell.mixed.total),
    "gate": lambda cell: number(cell.gated),
    "write": lambda cell: number(cell.written.total),
}


def result(facts: HeadFacts) -> str:
    """What the current step gives in the chosen cell; nothing where it gives vectors."""
    around, query = facts.steps.around, facts.query
    of_all = {"project": around.projected, "heads": around.together}.get(facts.step)
    if of_all is not None:
        return number(float(of_all[query, facts.column(facts.step)]))
    return RESULTS[facts.step](facts.cell) if facts.step in RESULTS else ""


def number(x: float) -> str:
    """Three figures after the point, fewer for large numbers, with a real minus sign."""
    text = f"{x:.3f}" if abs(x) < 100 else f"{x:.4g}"
    return text.translate(MINUS) if float(text) else "0"


def sum_text(found: Products, number: Callable[[float], str] = number) -> str:
    """A sum of products, its first terms written out."""
    terms_shown = " + ".join(f"{number(a)} × {number(b)}" for a, b in found.terms) or "0"
    more = _(" + {n} more").format(n=found.n_more) if found.n_more else ""
    return f"{terms_shown}{more} = **{number(found.total)}**"
