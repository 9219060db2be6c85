"""Tables: a name is not cut off where a longer one stands below the first ten rows."""

import json

import pytest
from streamlit.testing.v1 import AppTest


def shown(names: list[str]) -> dict[str, object]:
    """What the browser is told of the first column."""

    def page(names: list[str]) -> None:
        import pandas as pd

        from pages.show.tables import show_table

        show_table(pd.DataFrame({"part": names, "n": range(len(names))}))

    at = AppTest.from_function(page, kwargs={"names": names}).run()
    return json.loads(at.dataframe[0].proto.columns)["part"]


@pytest.mark.parametrize("long", ["cross-attention weighted sum", "交叉注意力的加权和与输出"])
def test_a_long_name_further_down_is_not_cut_off(long: str):
    short = ["q_proj"] * 10
    assert "width" not in shown([*short, "k_proj"]) and "width" not in shown([long, *short])
    assert 150 < shown([*short, long])["width"] <= 240
    assert shown([*short, long * 9])["width"] == 240
