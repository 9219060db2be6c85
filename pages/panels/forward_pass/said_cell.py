"""One number as arithmetic: how it came about."""

from blocks.inspection.scene_cell import CellFacts
from blocks.inspection.scene_moves import CROSS, MoveKind
from blocks.inspection.scene_products import Projected
from blocks.model.config import ModelConfig
from blocks.model.faults import N_
from pages.panels.attention.arithmetic import number, sum_text
from pages.words import terms
from pages.words.language import _, sentences

LETTERS = {
    "q": "x · W_Q",
    "k": "x · W_K",
    "v": "x · W_V",
    "hidden": "x · W_up",
    "feed_forward_out": "h · W_down",
}
AFTER = {
    "q": N_(
        "After the norm, scaling and RoPE (where the model has them), this becomes **{exact}**."
    ),
    "k": N_("After the norm and RoPE (where the model has them), this becomes **{exact}**."),
}


def says_cell(facts: CellFacts, place: str, config: ModelConfig) -> str:
    """One number, exactly, and how it came about; `place`: whose it is."""
    text = N_("{place}: {how}")
    if facts.is_masked and facts.move.kind is MoveKind.SCORES:
        text = N_(
            "{place}: the mask rules this pair out, so that its score is **−∞**. "
            "Before the mask it was {how}."
        )
    return _(text).format(place=place, how=_how(facts, config))


def _how(facts: CellFacts, config: ModelConfig) -> str:
    exact = number(facts.exact)
    if facts.projected is not None:
        return _projected(facts.projected, facts, config)
    if facts.is_masked and facts.move.kind is MoveKind.SOFTMAX:
        return _("exp(−∞) = 0: a masked key gets no weight at all.")
    if facts.softmax is not None:
        text = _(
            "exp({score} − {largest}) / Σ = {exp} / {total} = **{exact}**. The score of this "
            "pair is {score}; the largest in its row is {largest}. The function exp turns "
            "every score into a positive number, and Σ is the sum of these numbers, so that "
            "the weights of a row add up to 1."
        )
        names = ("score", "largest", "exp", "total")
        return text.format(**{n: number(getattr(facts.softmax, n)) for n in names}, exact=exact)
    if facts.summed is not None and facts.move.kind is MoveKind.SCORES:
        return f"q · k = {sum_text(facts.summed)}, × {number(facts.scaled_by)} = **{exact}**"
    if facts.summed is not None:
        return sum_text(facts.summed)
    if facts.added:
        return f"{' + '.join(map(number, facts.added))} = **{exact}**"
    return f"**{exact}**" if facts.before is None else f"{number(facts.before)} → **{exact}**"


def _projected(made: Projected, facts: CellFacts, config: ModelConfig) -> str:
    """x · W + b, and what is made of it."""
    stage, exact = facts.move.stage.removeprefix(CROSS), number(facts.exact)
    line = _line(made, LETTERS.get(stage, "Concat · W_O"))
    if facts.move.kind is MoveKind.WIDEN:
        activation = terms.option(config.feed_forward.activation)
        if made.gate is None:
            return sentences(line, _bent(activation, number(made.total), "", exact))
        gate, up = number(made.gate.total), f" · {number(made.total)}"
        both = sentences(_line(made.gate, "x · W_gate"), line)
        return sentences(both, _bent(activation, gate, up, exact))
    if number(made.total) == exact:
        return line
    text = AFTER.get(stage, N_("The remaining steps turn this into **{exact}**."))
    return sentences(line, _(text).format(exact=exact))


def _line(made: Projected, letters: str) -> str:
    line = f"{letters} = {sum_text(made.products)}"
    if made.bias:
        text = _("{line}; plus the bias {bias}: **{whole}**")
        line = text.format(line=line, bias=number(made.bias), whole=number(made.total))
    return _("{said}.").format(said=line)


def _bent(activation: str, x: str, times: str, exact: str) -> str:
    text = _("The activation {activation} turns this into {activation}({x}){times} = **{exact}**.")
    return text.format(activation=activation, x=x, times=times, exact=exact)
