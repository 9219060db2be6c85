"""What an encoder hands over: how alike its tokens are, and how much each layer changed them."""

import numpy as np

from blocks.inspection.encoder_output import SourceFacts
from blocks.inspection.three_attentions import N_DRAWN, around
from pages.figures.counting import from_one
from pages.figures.signed import largest, signed_bar, signed_map
from pages.figures.theme import Picture, Translate, line_label
from pages.figures.token_matrix import Names, cell_marks, token_matrix
from pages.figures.weights import TICKS, codes, weight_map
from pages.panels.seq2seq.cell_numbers_picture import cell_numbers


def step_name(facts: SourceFacts, step: int, _: Translate) -> str:
    """What changes the stream at this step: a layer, or after all of them the final norm."""
    if step == facts.n_layers:
        return _("final norm")
    return _("layer {layer}").format(layer=from_one(step))


def before(facts: SourceFacts, *, _: Translate) -> Picture:
    """How alike source tokens are before the first layer."""
    return _similarity(facts, facts.before, _("Similarity before the first layer"), _)


def after(facts: SourceFacts, *, _: Translate) -> Picture:
    return _similarity(facts, facts.after, _("Similarity at the encoder's output"), _)


def _similarity(facts: SourceFacts, cosines: np.ndarray, title: str, _: Translate) -> Picture:
    """Source tokens against each other, −1 to 1; of a long source the part around the pinned."""
    shown = around(facts.pinned, len(facts.labels), N_DRAWN)
    pinned, cosines, labels = facts.pinned - shown.start, cosines[shown, shown], facts.labels[shown]
    bar = signed_bar(np.ones((1, 1)), _("cosine"))
    said = _("cosine {cosine}").format(cosine="%{customdata[2]:.3f}")
    everywhere = np.ones(cosines.shape, dtype=bool)
    return token_matrix(
        signed_map(cosines, showscale=True, colorbar=bar),
        [cell_marks(everywhere, cosines, said), *cell_numbers(cosines, np.abs(cosines))],
        Names(title, _("source token"), _("source token"), labels, labels),
        is_clicked=False,
        pinned=pinned,
        pinned_column=pinned,
    )


def changes(facts: SourceFacts, *, _: Translate) -> Picture:
    """How much each step changes each token, ‖after − before‖ / ‖before‖: (step, source)."""
    shown = around(facts.pinned, len(facts.labels), N_DRAWN)
    relative = facts.changes[:, shown]
    steps = [step_name(facts, step, _) for step in range(len(relative))]
    title = _("How much each step changes a token")
    names = Names(
        title, _("encoder step"), _("source token"), steps, facts.labels[shown], line_label
    )
    said = _("changed by {change} times its length").format(change="%{customdata[2]:.2f}")
    everywhere = np.ones(relative.shape, dtype=bool)
    most = largest(relative)
    heat = weight_map(codes(relative / most), _)
    bar = {**heat["colorbar"], "title": {"text": _("relative change"), "side": "right"}}
    bar["ticktext"] = [f"{tick * most:.2g}" for tick in TICKS]
    return token_matrix(
        {**heat, "colorbar": bar},
        [cell_marks(everywhere, relative, said), *cell_numbers(relative, relative / most)],
        names,
        is_clicked=False,
        pinned_column=facts.pinned - shown.start,
    )
