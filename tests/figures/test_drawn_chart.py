"""The grammar of charts: what each word of it becomes, and the numbers behind a picture."""

import numpy as np
import pandas as pd
import pytest
from drawn import checked

from pages.figures.chart import (
    Axis,
    Chart,
    Ground,
    Legend,
    Level,
    Look,
    Words,
    band,
    bars,
    dots,
    line,
)
from pages.figures.described import described
from pages.figures.drawn_chart import drawn

ROWS = pd.DataFrame(
    {"n": [1, 2, 4], "loss": [3.0, 2.5, np.nan], "low": 2.0, "high": 4.0, "unit": [7, 8, 9]}
)
LOSS = Look("loss", "#0072B2", "circle", dash="dot")


LOSS_AXIS = Axis("loss, nats")


def chart(*series, y=LOSS_AXIS, **more):
    return Chart("Loss", ROWS, Axis("steps", of="n"), y, series or [line("loss", LOSS)], **more)


def parts(shown: Chart):
    """Traces and layout, after Plotly's own check of every property."""
    checked(drawn(shown))
    return drawn(shown).parts["data"], drawn(shown).parts["layout"]


def test_a_series_is_its_columns_and_its_look():
    (trace,), layout = parts(chart(hover="step {n}: {loss:.3g}", click=("unit",)))
    assert (trace["x"], trace["y"]) == ([1, 2, 4], [3.0, 2.5, None])
    assert (trace["mode"], trace["line"]["dash"]) == ("lines+markers", "dot")
    assert trace["hovertemplate"] == "step %{x}: %{y:.3~g}<extra></extra>"
    assert trace["customdata"] == [[7], [8], [9]] and layout["showlegend"]
    assert layout["xaxis"]["title"] == {"text": "steps"}


def test_a_hover_is_a_template_only_where_all_that_it_names_is_sent():
    given, _layout = parts(chart(bars("loss"), bars("low", LOSS), hover="{unit}: {name} {y:.1f}"))
    assert given[0]["hovertext"][1] == "8:  2.5" and given[1]["hovertext"][1] == "8: loss 2.0"
    sent, _layout = parts(chart(bars("loss"), hover="{unit}: {y}", click=("unit",)))
    assert sent[0]["hovertemplate"].startswith("%{customdata[0]}: %{y}") and sent[0]["selected"]
    silent, _layout = parts(chart(line("loss")))
    assert silent[0]["hoverinfo"] == "skip"


def test_many_numbers_are_packed():
    rows = {"x": range(99), "y": np.linspace(0, 1, 99)}
    many = Chart("", rows, Axis(of="x"), Axis(), [line("y")])
    assert parts(many)[0][0]["y"].dtype == np.float32


def test_bars_lie_where_their_rows_stand_along_the_y_axis():
    rows = Axis(names=["a", "b", "c"])
    lying = Chart("", ROWS, Axis("loss"), rows, [bars("loss", text="{loss:.1f}")], outlined=[1])
    (trace,), layout = parts(lying)
    assert (trace["orientation"], trace["y"], trace["text"][0]) == ("h", [0, 1, 2], "3.0")
    assert layout["yaxis"]["ticktext"] == ["a", "b", "c"] and layout["shapes"][0]["y0"] == 0.5
    assert lying.table().columns.tolist() == ["row", "loss"] and lying.table()["row"][1] == "b"


def test_over_tokens_a_whole_column_is_hovered_and_clicked():
    over = Axis(tokens=("an", "owl", "sat"))
    shown = Chart("", ROWS, over, Axis(), [bars("low", column=5)], hover="{unit}", click=("unit",))
    (seen, unseen), layout = parts(shown)
    assert layout["barmode"] == "overlay"  # beside each other each would have half the room
    assert seen["hoverinfo"] == "skip" and unseen["y"] == [5] * 3
    assert unseen["hovertext"] == ["7", "8", "9"] and unseen["customdata"] == [[7], [8], [9]]


def test_plots_share_the_height_or_the_width():
    both = chart(line("loss", LOSS), bars("low", plot=1), y=(Axis("a", share=3), Axis("b")))
    (_first, second), layout = parts(both)
    assert (second["yaxis"], layout["xaxis"]["anchor"]) == ("y2", "y2")
    assert layout["yaxis"]["domain"] == [0.31, 1] and layout["yaxis2"]["domain"] == [0, 0.23]
    two = [bars("loss"), bars("low", plot=1)]
    lying = Chart("", ROWS, (Axis("a"), Axis("b")), Axis(names="xyz"), two)
    traces, layout = parts(lying)
    assert traces[1]["xaxis"] == "x2" and layout["xaxis2"]["domain"] == [0.54, 1]


def test_what_stands_around_the_series():
    shown = chart(
        band("low", "high", "#0072B2"),
        dots("loss", LOSS, error="low"),
        y=Axis("loss", (2.0, 4.0), is_log=True),
        legend=Legend.FOOT,
        levels=[Level(3.0, name="<guess>"), Level(x=2)],
        grounds=[Ground(1, 2, "#0072B2")],
        words=[Words("here", 2), Words("corner")],
    )
    (ground, marks), layout = parts(shown)
    assert ground["fill"] == "toself" and marks["error_y"]["array"] == [2.0] * 3
    assert [each["type"] for each in layout["shapes"]] == ["rect", "line", "line"]
    here, corner, guess = layout["annotations"]
    assert (here["x"], corner["xref"], guess["text"]) == (2, "paper", "&lt;guess&gt;")
    assert guess["y"] == pytest.approx(np.log10(3)) and layout["legend"]["yanchor"] == "bottom"


def test_it_is_described_and_its_numbers_are_a_table():
    shown = chart(line("loss", LOSS), dots("low", Look("low")))
    said = described(drawn(shown), _=str)
    assert said.startswith("Loss. Horizontal axis: steps; vertical axis: loss, nats. loss: 1 3")
    table = shown.table()
    assert table.columns.tolist() == ["steps", "loss, nats", "series"] and len(table) == 6
