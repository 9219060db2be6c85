"""What all pictures share."""

import numpy as np
import pytest
from drawn import raw
from hypothesis import given
from hypothesis import strategies as st

from pages.figures import theme
from pages.figures.large import GROWTH, enlarged


@given(st.text())
def test_text_in_a_picture_is_never_markup(text: str):
    shown = theme.plain(text)
    assert "<" not in shown and ">" not in shown
    assert shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == text


@given(st.text(max_size=40))
def test_a_token_is_as_short_as_a_label(text: str):
    shown = theme.token_label(text)
    assert len(shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")) <= 14
    assert len(text) > 14 or shown == theme.plain(text)


def test_a_colour_has_one_role():
    roles = (
        theme.RESIDUAL,
        theme.ATTENTION,
        theme.FEED_FORWARD,
        theme.NORM,
        theme.EMBEDDING,
        theme.PINNED,
        theme.BEFORE,
        theme.LEARNED,
        theme.HELD_OUT,
    )
    assert len(set(roles)) == len(roles)


def test_larger_weights_are_stronger():
    at = [weight for weight, _ in theme.WEIGHTS]
    alpha = [float(color.split(",")[-1].rstrip(")")) for _, color in theme.WEIGHTS]
    assert (at[0], at[-1]) == (0, 1)
    assert at == sorted(at) and alpha == sorted(alpha)


def test_a_picture_leaves_background_and_text_to_the_page():
    layout = raw(theme.figure([{"type": "bar", "y": [1]}], title="a"))["layout"]
    assert not {"paper_bgcolor", "plot_bgcolor", "font"} & layout.keys()
    assert layout["dragmode"] is False


def test_a_picture_is_sent_as_it_was_first_sent():
    picture = theme.figure([{"type": "heatmap", "z": np.eye(3, dtype=np.uint8)}])
    assert picture.to_dict() is picture.to_dict()
    assert picture.to_dict()["data"][0]["z"]["dtype"] == "u1"


def test_faint_keeps_the_hue():
    assert theme.faint("#0072B2", 0.5) == "rgba(0, 114, 178, 0.5)"


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_small_is_four_bytes_a_number(kind: type):
    assert theme.small(np.ones(3, dtype=kind)).dtype == np.float32


@pytest.mark.parametrize("height", [150, 450, 900])
def test_a_legend_begins_below_the_title_and_grows_with_it(height: int):
    drawn = theme.figure([], title="Title", height=height, **theme.legend())
    for picture, title in ((drawn, theme.TITLE), (enlarged(drawn), theme.TITLE * GROWTH)):
        legend = picture.layout.legend
        assert (legend.yref, legend.yanchor) == ("container", "top")
        assert (1 - legend.y) * picture.layout.height == pytest.approx(title)


def test_a_legend_that_has_a_place_of_its_own_stays_there():
    own = {"x": 0.01, "y": 0.99, "yanchor": "top"}
    drawn = theme.figure([], showlegend=True, legend=own)
    assert drawn.layout.legend.to_plotly_json() == own
    assert enlarged(drawn).layout.legend.y == 0.99
