"""What an encoder hands over: how alike its tokens are, and how much each layer changed them."""

from collections.abc import Sequence

import numpy as np

from pages.figures.cell_numbers import cell_numbers
from pages.figures.signed import largest, signed_bar, signed_map
from pages.figures.theme import Picture, Translate
from pages.figures.token_matrix import Names, marks, token_matrix
from pages.figures.weights import TICKS, codes, weight_map


def similarity(
    cosines: np.ndarray, tokens: Sequence[str], *, title: str, pinned: int | None, _: Translate
) -> Picture:
    """Source tokens against each other, −1 to 1: (source, source); a click returns the row."""
    names = Names(title, _("source token"), _("source token"), tokens, tokens)
    bar = signed_bar(np.ones((1, 1)), _("cosine"))
    said = _("cosine {cosine}").format(cosine="%{customdata[2]:.3f}")
    everywhere = np.ones(cosines.shape, dtype=bool)
    return token_matrix(
        signed_map(cosines, showscale=True, colorbar=bar),
        [marks(everywhere, cosines, said), *cell_numbers(cosines, np.abs(cosines))],
        names,
        is_clicked=False,
        pinned=pinned,
        pinned_column=pinned,
    )


def changes(
    relative: np.ndarray,
    tokens: Sequence[str],
    steps: Sequence[str],
    *,
    pinned: int | None,
    _: Translate,
) -> Picture:
    """How much each step changes each token, ‖after − before‖ / ‖before‖: (step, source)."""
    title = _("How much each step changes a token")
    names = Names(title, _("step of the encoder"), _("source token"), steps, tokens)
    said = _("changed by {change} times its length").format(change="%{customdata[2]:.2f}")
    everywhere = np.ones(relative.shape, dtype=bool)
    most = largest(relative)
    heat = weight_map(codes(relative / most), _)
    bar = {**heat["colorbar"], "title": {"text": _("relative change"), "side": "right"}}
    bar["ticktext"] = [f"{tick * most:.2g}" for tick in TICKS]
    return token_matrix(
        {**heat, "colorbar": bar},
        [marks(everywhere, relative, said), *cell_numbers(relative, relative / most)],
        names,
        is_clicked=False,
        pinned_column=pinned,
    )
