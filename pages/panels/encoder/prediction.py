"""What an encoder expects at each token, and its candidates for the pinned one."""

import pandas as pd

from blocks.inspection import predictions
from blocks.inspection.flow_facts import PredictionFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.text.bpe import MASK
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Look, bars
from pages.figures.counting import told_apart
from pages.figures.theme import token_label
from pages.page.declared import Panel
from pages.server import starts
from pages.show import layers
from pages.show.parts import Beside, File, Say, Shown, Table, the_values
from pages.stage import tokens
from pages.state import labelled
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, fill, sentences


def prediction_facts(run: Run, token: int, hidden: str = "") -> PredictionFacts:
    """The candidates at a token."""
    found, written = layers.candidates(run, token), layers.written(run)
    card = starts.model(run.weights).card if run.weights else None
    return PredictionFacts(run, token, found, written, hidden, card)


def hidden_word(run: Run, token: int) -> str:
    is_hidden = run.input.labels[token] == MASK
    return tokens.reading().pieces[token].label if is_hidden else ""


def says_prediction(facts: PredictionFacts) -> str:
    """What the model expects at the pinned token, and what really stands there."""
    text = _(
        "At position {position:from_one} the model predicts {label:token} ({probability:.0%})."
    )
    hidden = _("The input there is [MASK]; the masked word is {hidden:token}.")
    said = fill(text, facts.candidates.iloc[0], position=facts.token)
    return sentences(said, fill(hidden, facts) if facts.hidden else "", *_trained(facts))


def _trained(facts: PredictionFacts) -> tuple[str, ...]:
    card = facts.card
    if card is None and not facts.run.weights:
        text = _("The weights are random (seed {run.seed}): these predictions mean nothing yet.")
        return (fill(text, facts),)
    written = fill(_("Taken together, the model's predictions read {written:token}."), facts)
    if card is None or card.score is None:
        return (written,)
    text = _("Trained on {task} (seed {seed}); {score_name} on unseen data: {score:.1%}.")
    names = {"task": terms.option(card.task), "score_name": terms.option(card.score_name)}
    return written, fill(text, card, **names)


def table(run: Run) -> pd.DataFrame:
    """What the model would write at each position."""
    found = layers.guesses(run)
    return pd.DataFrame(
        {
            _("position"): range(1, len(found) + 1),
            _("input token"): found["token"],
            _("most probable token"): found["guess"],
            _("probability"): found["probability"].map("{:.1%}".format),
        }
    )


def candidates(facts: PredictionFacts) -> Chart:
    """Probability of each candidate, the likeliest on top."""
    found, token = facts.candidates, told_apart(facts.run.input.labels)[facts.token]
    return Chart(
        _("Predictions at {token}").format(token=token_label(token)),
        found,
        Axis(_("probability"), (0, 1.15 * max(0.05, found["probability"].max())), is_share=True),
        Axis(names=[*map(token_label, found["label"])]),
        [bars("probability", Look(color=palette.EMBEDDING), text="{probability:.1%}")],
        hover="{x:.3%}",
        tall=26 * len(found) + 20,
    )


def at_pinned(run: Run, state: State) -> tuple[Run, int, str]:
    token = labelled.pinned_token(run, state)
    return run, token, hidden_word(run, token)


PANEL = Panel(
    "prediction",
    N_("What does it predict?"),
    of_predictions=True,
    fields=("n_layers", "d_model", "n_heads"),
    concepts=("masked_words",),
    code=(predictions.candidates,),
    at=at_pinned,
    facts=prediction_facts,
    shows=(
        Say(says_prediction),
        Beside(
            Shown(candidates, "candidates"),
            Table(table, "guess_table", n_names=2, height=380, facts=the_values),
            widths=(5, 6),
        ),
        File(layers.guesses, "guesses", facts=the_values),
    ),
)
