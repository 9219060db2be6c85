"""Five small models, each with one encoding, trained on short texts and reading longer ones."""

from typing import cast

from blocks.inspection import trained_lengths
from blocks.inspection.trained_lengths import LengthsFacts, ReadOn
from blocks.observe.run import Run
from blocks.training import lengths
from pages.figures.theme import Picture, Translate
from pages.panels.positions import trained_lengths_picture
from pages.panels.positions.shared import KINDS
from pages.ui import terms, words
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration, sentences
from pages.ui.said import say


def lengths_facts() -> LengthsFacts:
    """As trained; only where all runs ship."""
    return cast(LengthsFacts, trained_lengths.lengths_facts())


def says_lengths(facts: LengthsFacts) -> str:
    """What the best and the worst encoding make of longer texts."""
    text = _(
        "Five models were trained on texts of {length} characters and then read texts of "
        "{longest}. Beyond the trained length, the loss of {best} goes from {a:.2f} to "
        "{b:.2f} bits per character on average, that of {worst} from {c:.2f} to {d:.2f}."
    )
    best, worst = facts.kinds[0], facts.kinds[-1]
    return text.format(
        length=facts.trained_len,
        longest=facts.longest,
        best=_called(best),
        a=best.inside,
        b=best.beyond,
        worst=_called(worst),
        c=worst.inside,
        d=worst.beyond,
    )


def _called(found: ReadOn) -> str:
    return _("“{kind}”").format(kind=terms.option(found.kind))


def says_how(facts: LengthsFacts) -> str:
    """What was trained, and how."""
    text = _(
        "Models with {n_layers} layers and d_model {d_model}, trained on Python documentation"
        " in characters with {n_steps:,} updates on {batch} texts each, seeds {seeds}. Lines "
        "show means over the seeds, bands the range from the lowest to the highest."
    )
    said = text.format(
        n_layers=facts.model.n_layers,
        d_model=facts.model.d_model,
        n_steps=facts.recipe.n_steps,
        batch=facts.recipe.batch_size,
        seeds=enumeration(map(str, facts.seeds)),
    )
    table = _(
        "The learned table has rows for all {longest} positions; those beyond the trained "
        "length keep their random initial values."
    )
    return sentences(said, table.format(longest=facts.longest))


def draw_lengths(facts: LengthsFacts, *, _: Translate) -> Picture:
    """All five in one picture."""
    names = {kind: terms.option(kind) for kind in KINDS}
    return trained_lengths_picture.losses(facts, names, _=_)


@section
def which_extrapolates(run: Run) -> None:
    """The recorded runs, whatever model the page shows."""
    code = (lengths.models, lengths.bits_by_band)
    place = explained(("beyond_length", "positions"), code, key="trained_lengths")
    if trained_lengths.lengths_facts() is None:
        place.caption(words.without_runs())
        return
    with place:
        say(says_lengths, facts=lengths_facts)
    show(draw_lengths, facts=lengths_facts, key="trained_lengths")
    note(says_how(lengths_facts()))
