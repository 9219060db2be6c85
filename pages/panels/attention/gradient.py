"""The backward pass of one head: from the loss to the scores of a row, written out."""

from functools import lru_cache

import streamlit as st

from blocks.inspection import score_gradient
from blocks.inspection.score_gradient import MOST_TOKENS, ScoreGradient
from blocks.observe.run import Run
from pages.figures.numbers import readable
from pages.panels.attention import gradient_picture, shared
from pages.panels.attention.arithmetic import MINUS, sum_text
from pages.ui import cached, labelled, link, tokens
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, literal, sentences
from pages.ui.said import say
from pages.ui.ways import click_sets, way

N_ENTRIES = 4  # of a long vector


@lru_cache(maxsize=16)
def gradient_facts(
    run: Run, layer: int, head: int, query: int, key: int | None = None
) -> ScoreGradient:
    """The row of one query; without a `key` the one whose score the loss would change most."""
    steps, model = shared.one_head(run, layer, head), cached.model(run)
    with cached.turn(run.device):
        return score_gradient.score_gradient(run, model, steps, layer, head, query, key)


def says_gradient(facts: ScoreGradient) -> str:
    """How large the loss is, and the two scores that it would change most."""
    text = _("After {after}, the loss −ln P({token}) is {loss}.")
    said = text.format(
        after=shared.token(facts.run, facts.query),
        token=literal(tokens.label(facts.run, facts.target)),
        loss=_number(facts.loss),
    )
    if not facts.of_scores.any():
        none = _("No score in this row affects the loss: softmax has nothing to choose from here.")
        return sentences(said, none)
    text = _(
        "It would fall fastest if {raised} had a higher score (∂L/∂S = {low}) and {lowered} a "
        "lower one ({high})."
    )
    changed = text.format(
        raised=shared.token(facts.run, facts.raised),
        low=_number(facts.of_scores[facts.raised]),
        lowered=shared.token(facts.run, facts.lowered),
        high=_number(facts.of_scores[facts.lowered]),
    )
    if facts.has_sink:
        return sentences(said, changed)
    total = _(
        "The gradients in this row sum to 0: the weight that one key gains is lost by the others."
    )
    return sentences(said, changed, total)


def written_out(facts: ScoreGradient) -> str:
    """Every step back from the loss to the score of one key, and what autograd says."""
    key, mean = shared.token(facts.run, facts.key), _number(facts.mean.total)
    weight, of_weight, of_score = (
        _number(row[facts.key]) for row in (facts.weights, facts.of_weights, facts.of_scores)
    )
    first = ", ".join(map(_number, facts.of_out[:N_ENTRIES]))
    n_more = len(facts.of_out) - N_ENTRIES
    more = _(", and {n} more").format(n=n_more) if n_more > 0 else ""
    lines = (
        f"L = −ln P = **{_number(facts.loss)}**",
        f"∂L/∂out = ({first}{more})",
        f"∂L/∂A({key}) = ∂L/∂out · v({key}) = {sum_text(facts.product, _number)}",
        f"Σ A · ∂L/∂A = {sum_text(facts.mean, _number)}",
        f"∂L/∂S({key}) = A · (∂L/∂A − Σ) = {weight} × ({of_weight} − ({mean})) = **{of_score}**",
    )
    numbered = [f"**{i}** → {line}" for i, line in enumerate(lines, 1)]
    text = _("PyTorch's autograd finds {gradient} for the same score.")
    return "  \n".join((*numbered, text.format(gradient=_number(facts.autograd[facts.key]))))


def _number(x: float) -> str:
    return readable(float(x)).translate(MINUS)


@section
def back_to_the_scores(run: Run) -> None:
    """The sentence, the gradient of every score of the row, and one of them written out."""
    place = explained(
        ("score_gradient",),
        (score_gradient.of_softmax, score_gradient.score_gradient),
        key="score_gradient",
    )
    if not score_gradient.can_go_back(run):
        text = _(
            "Backpropagation starts from a loss, so this panel needs an unmodified GPT in "
            "inference mode that reads at most {n} tokens."
        )
        place.info(text.format(n=MOST_TOKENS), icon=":material/info:")
        label, icon = _("Open the trained story model"), ":material/model_training:"
        way(label, "open_trained", icon=icon, preset="stories-en-zh")
        return
    shown = run, *labelled.selection(run), _key(run)
    with place:
        say(says_gradient, *shown, facts=gradient_facts)
    draw, on_click = gradient_picture.bars, click_sets("key")
    show(draw, *shown, facts=gradient_facts, key="gradient_bars", on_click=on_click, room=235)
    facts = gradient_facts(*shown)
    with st.container(border=True, key="backwards"):
        st.markdown(written_out(facts))
    if not facts.is_in_text:
        note(_("The text ends here, so the loss is that of the likeliest next token."))


def _key(run: Run) -> int | None:
    """The key that the reader chose, where the text has it."""
    key = link.value("key")
    return key if key is not None and key < len(run.input.labels) else None
