"""The backward pass of one head: from the loss to the scores of a row, written out."""

from collections.abc import Hashable
from functools import lru_cache

from blocks.inspection import score_gradient
from blocks.inspection.head_facts import window
from blocks.inspection.score_gradient import MOST_TOKENS, ScoreGradient
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Look, bars, chosen
from pages.figures.counting import from_one, told_apart
from pages.figures.numbers import readable
from pages.figures.theme import token_label
from pages.panels.attention import shared
from pages.panels.attention.arithmetic import MINUS, sum_text
from pages.server import cached
from pages.show.parts import Note, Say, Shown, Text
from pages.show.ways import click_sets, way
from pages.stage import tokens
from pages.state.values import State
from pages.words.language import _, fill, sentences

N_ENTRIES, MOST_KEYS = 4, 48  # of a long vector; of a long row


def chosen_row(run: Run, state: State) -> tuple[Hashable, ...]:
    """Layer, head and query, and the key that the reader chose, where the text has it."""
    key = state.key
    is_there = key is not None and key < len(run.input.labels)
    return (*shared.at(run, state), key if is_there else None)


@lru_cache(maxsize=16)
def gradient_facts(
    run: Run, layer: int, head: int, query: int, key: int | None = None
) -> ScoreGradient:
    """The row of one query; without a `key` the one whose score the loss would change most."""
    steps, model = shared.one_head(run, layer, head), cached.model(run)
    with cached.turn(run.device):
        return score_gradient.score_gradient(run, model, steps, layer, head, query, key)


def says_no_loss(run: Run) -> str | None:
    """What a backward pass needs, where this run lacks it."""
    text = _(
        "Backpropagation starts from a loss, so this panel needs an unmodified GPT in "
        "inference mode that reads at most {n} tokens."
    )
    return None if score_gradient.can_go_back(run) else text.format(n=MOST_TOKENS)


def way_to_a_loss() -> None:
    label, icon = _("Open the trained story model"), ":material/model_training:"
    way(label, "open_trained", icon=icon, preset="stories-en-zh")


def says_gradient(facts: ScoreGradient) -> str:
    """How large the loss is, and the two scores that it would change most."""
    text = _("After {after}, the loss −ln P({target:token}) is {loss}.")
    said = fill(
        text,
        after=shared.token(facts.run, facts.query),
        target=tokens.label(facts.run, facts.target),
        loss=_number(facts.loss),
    )
    if not facts.of_scores.any():
        none = _("No score in this row affects the loss: softmax has nothing to choose from here.")
        return sentences(said, none)
    text = _(
        "The loss would fall fastest if {raised} had a higher score (∂L/∂S = {low}) and "
        "{lowered} a lower one ({high})."
    )
    keys = {name: shared.token(facts.run, getattr(facts, name)) for name in ("raised", "lowered")}
    low, high = (_number(facts.of_scores[key]) for key in (facts.raised, facts.lowered))
    changed = text.format(low=low, high=high, **keys)
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


def says_end(facts: ScoreGradient) -> str | None:
    text = _("The text ends here, so the loss is that of the likeliest next token.")
    return None if facts.is_in_text else text


def gradients(facts: ScoreGradient) -> Chart:
    """∂L/∂S of each key, the one that is written out marked; a click returns a key."""
    shown = window(len(facts.weights), facts.key, MOST_KEYS)
    names = told_apart(facts.run.input.labels)[shown.rows]
    of_scores = facts.of_scores[shown.rows]
    largest = 1.15 * (abs(of_scores).max() or 1.0)
    columns = {"weight": facts.weights, "of_weight": facts.of_weights, "of_score": facts.of_scores}
    said = {name: [*map(readable, values[shown.rows])] for name, values in columns.items()}
    look = Look(color=[palette.FEED_FORWARD if x > 0 else palette.ATTENTION for x in of_scores])
    title = _("{head}: gradient of the loss with respect to each score")
    return Chart(
        title.format(head=shared.called(facts)),
        {
            "key": range(shown.first, shown.end),
            "position": [from_one(key) for key in range(shown.first, shown.end)],
            "token": [*map(token_label, names)],
            "gradient": of_scores,
            **said,
        },
        Axis(tokens=names),
        Axis("∂L/∂S", (-largest, largest), n_ticks=5),
        [bars("gradient", look, column=largest)],
        hover=_("{position} · {token}: A = {weight}, ∂L/∂A = {of_weight}, ∂L/∂S = {of_score}"),
        click=("key",),
        tall=200,
        grounds=[chosen(facts.key - shown.first)],
    )


PANEL = shared.of_a_head(
    "score-gradient",
    N_("How should each score change?"),
    fields=("n_layers", "n_heads", "position_kind"),
    concepts=("score_gradient",),
    code=(score_gradient.of_softmax, score_gradient.score_gradient),
    at=chosen_row,
    absent=says_no_loss,
    mend=way_to_a_loss,
    facts=gradient_facts,
    shows=(
        Say(says_gradient),
        Shown(gradients, "gradient_bars", click=click_sets("key"), room=235),
        Text(written_out),
        Note(says_end),
    ),
)
