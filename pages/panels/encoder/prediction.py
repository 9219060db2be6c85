"""What an encoder expects at each token, and its candidates for the pinned one."""

import pandas as pd

from blocks.inspection import predictions
from blocks.inspection.flow_facts import PredictionFacts
from blocks.observe.run import Run
from blocks.text.bpe import MASK
from pages.figures.counting import from_one
from pages.panels.encoder import prediction_picture
from pages.ui import labelled, layers, starts, terms, tokens
from pages.ui.chart import columns, show
from pages.ui.explain import explained
from pages.ui.frame import section
from pages.ui.language import _, literal, sentences
from pages.ui.said import say
from pages.ui.tables import show_table


def prediction_facts(run: Run, token: int, hidden: str = "") -> PredictionFacts:
    """The candidates at a token."""
    found, written = layers.candidates(run, token), layers.written(run)
    card = starts.model(run.weights).card if run.weights else None
    return PredictionFacts(run, token, found, written, hidden, card)


def hidden_word(run: Run, token: int) -> str:
    """What stands in the text where the model reads [MASK]."""
    is_hidden = run.input.labels[token] == MASK
    return tokens.reading().pieces[token].label if is_hidden else ""


def says_prediction(facts: PredictionFacts) -> str:
    """What the model expects at the pinned token, and what really stands there."""
    first = facts.candidates.iloc[0]
    text = _("At position {position} the model predicts {guess} ({probability:.0%}).")
    said = text.format(
        position=from_one(facts.token),
        guess=literal(first["label"]),
        probability=first["probability"],
    )
    return sentences(said, *_hidden(facts), *_trained(facts))


def _hidden(facts: PredictionFacts) -> tuple[str, ...]:
    text = _("The input there is [MASK]; the masked word is {word}.")
    return (text.format(word=literal(facts.hidden)),) if facts.hidden else ()


def _trained(facts: PredictionFacts) -> tuple[str, ...]:
    card = facts.card
    if card is None and not facts.run.weights:
        text = _("The weights are random (seed {seed}): these predictions mean nothing yet.")
        return (text.format(seed=facts.run.seed),)
    text = _("Taken together, the model's predictions read {text}.")
    written = text.format(text=literal(facts.written))
    if card is None or card.score is None:
        return (written,)
    text = _("Trained on {task} (seed {seed}); {score_name} on unseen data: {score:.1%}.")
    task, name = terms.option(card.task), terms.option(card.score_name)
    return written, text.format(task=task, seed=card.seed, score_name=name, score=card.score)


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


@section
def what_it_expects(run: Run) -> None:
    """The sentence, the candidates, and the table."""
    token = labelled.pinned_token(run)
    values = run, token, hidden_word(run, token)
    with explained(("masked_words",), (predictions.candidates,), key="top"):
        say(says_prediction, *values, facts=prediction_facts)
    left, right = columns([5, 6])
    with left:
        show(prediction_picture.bars, run, token, facts=prediction_facts, key="candidates")
    with right:
        show_table(table(run), key="guess_table", n_names=2, height=380)
