"""What the encoder hands over to the decoder: its vectors, and how they came about."""

from functools import lru_cache

import pandas as pd

from blocks.inspection import encoder_output
from blocks.inspection.encoder_output import Across, SourceFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.page.declared import Panel
from pages.panels.seq2seq import inputs, memory_picture, shared
from pages.panels.seq2seq.memory_picture import step_name
from pages.server import cached
from pages.show.parts import Beside, Matrix, Note, OffScreen, Say, Table, Text
from pages.state import labelled
from pages.words.language import _, fill, literal, sentences

NO_CHANGE, NO_GAIN = 0.02, 0.05
ROOM = 390  # pixels of a picture before a class, where a sentence stands below


@lru_cache(maxsize=16)
def source_facts(run: Run, pinned: int) -> SourceFacts:
    """What is handed over, and what it was before the first layer."""
    return encoder_output.source_facts(run, cached.recording(run), pinned)


@lru_cache(maxsize=16)
def across_languages(run: Run) -> Across | None:
    """Whether words that stand for each other meet in the encoder of this model."""
    if not shared.knows_grammar(run):
        return None
    alone = shared.model_alone(run)
    reader = shared.sentence_tokenizer(alone.input.vocabulary)
    model, pairs = cached.model(alone), shared.validation_pairs()[: shared.N_ACROSS]
    with cached.turn(alone.device):
        return encoder_output.across_languages(
            model, alone.config.n_layers, pairs, reader, alone.device
        )


def says_source(facts: SourceFacts) -> str:
    """How alike tokens are before and after, and which layer changes them most."""
    if facts.is_alone:
        said = _("There is only one source token, so there is nothing to compare it with.")
    else:
        text = _(
            "Pairs of source tokens have a mean cosine of {before:.2f} before the first "
            "layer and of {after:.2f} at the encoder's output: {how}."
        )
        said = text.format(before=facts.mean_before, after=facts.mean_after, how=_how(facts.drift))
    step, change = facts.most_changed
    text = _("{step} changes the vectors most: by {change:.2f} times their length on average.")
    name = step_name(facts, step, _)
    said = sentences(said, text.format(step=name[:1].upper() + name[1:], change=change))
    if facts.seed is None:
        return said
    text = _("The weights are random (seed {seed}), so this is what the layers do before training.")
    return sentences(said, text.format(seed=facts.seed))


def _how(drift: float) -> str:
    if abs(drift) < NO_CHANGE:
        return _("they are about as similar as before")
    return _("they have become more similar") if drift > 0 else _("they have moved apart")


def says_lengths(facts: SourceFacts) -> str:
    """The longest and the shortest vector, and the one that has kept most of itself."""
    found, (kept, cosine) = facts.lengths, facts.steadiest
    if found.are_alike:
        said = _("All vectors have a length of about {length:.2f}.").format(length=found.most)
    else:
        text = _(
            "The longest vector is {longest} ({long:.2f}), the shortest {shortest} ({short:.2f})."
        )
        said = text.format(
            longest=literal(found.longest),
            long=found.most,
            shortest=literal(found.shortest),
            short=found.least,
        )
    text = _(
        "{kept} has changed direction least: the cosine with its vector before the first "
        "layer is {cosine:.2f}."
    )
    return sentences(said, text.format(kept=literal(kept), cosine=cosine))


def says_across(facts: Across | None) -> str | None:
    """Whether the two languages meet."""
    if facts is None:
        return None
    text = _(
        "Do the two languages share a representation of meaning? Before the first layer, the "
        "nearest vector in the Chinese translation belongs to a word with the same meaning for "
        "{before:.0%} of {n_words} English validation words; at the encoder's output, for "
        "{after:.0%}; by chance, for {chance:.0%}. {verdict}"
    )
    return fill(text, facts, verdict=_verdict(facts.gain))


def _verdict(gain: float) -> str:
    """What reading the sentence did for it."""
    if abs(gain) < NO_GAIN:
        return _(
            "The layers bring the languages no closer: words with the same meaning are "
            "matched no better than before."
        )
    if gain > 0:
        return _("The layers bring the languages closer.")
    return _("The layers move the languages apart.")


def tokens_table(facts: SourceFacts) -> pd.DataFrame:
    """Every source token with its numbers."""
    found = facts.tokens
    shown = pd.DataFrame(
        {
            _("source token"): facts.labels,
            _("mean"): found["mean"],
            _("std"): found["std"],
            _("length"): found["norm"],
            _("initial length"): found["norm_before"],
            _("cosine with the initial vector"): found["cosine"],
        }
    )
    return shown.round(3)


PANEL = Panel(
    "encoder-output",
    N_("What does the encoder output?"),
    choices=inputs.two_tokens,
    fields=("n_layers", "d_model", "n_heads"),
    concepts=("encoder_output",),
    code=(
        encoder_output.tokens,
        encoder_output.cosines,
        encoder_output.changes,
        encoder_output.across_languages,
    ),
    at=lambda run, state: (run, labelled.pinned_token(run, state)),
    facts=source_facts,
    shows=(
        Say(says_source),
        Beside(
            Matrix(memory_picture.before, "cosines_before", room=ROOM),
            Matrix(memory_picture.after, "cosines_after", room=ROOM),
        ),
        OffScreen(
            Beside(
                (
                    Matrix(memory_picture.changes, "source_changes"),
                    Note(N_("‖after − before‖ / ‖before‖ for each token: 0 means no change.")),
                ),
                (Text(says_lengths), Table(tokens_table, "memory_table", height=250)),
            )
        ),
        Text(says_across, across_languages),
    ),
)
