"""One head, large: of a long text the part around the pinned token."""

import numpy as np
import pytest

from blocks import ModelConfig
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.panels import heads
from pages.state.labelled import WINDOW

N = 256
CONFIG = ModelConfig.from_flat({"d_model": 8, "n_heads": 2})
LONG = Run(config=CONFIG, input=Input(seq_len=N), mask=MaskConfig(mask_kind="causal"))


@pytest.mark.parametrize(("pinned", "first"), [(0, 0), (150, 150 - WINDOW // 2), (255, N - WINDOW)])
def test_a_click_in_the_map_of_a_long_text_pins_the_token_that_is_named_there(pinned, first):
    picture = heads.draw_one_head(LONG, 0, 1, pinned).parts
    names = picture["layout"]["yaxis2"]["ticktext"]
    assert len(names) == WINDOW and names[0] == LONG.input.labels[first]
    cells, masked = picture["data"][1:]
    for trace in (cells, masked):
        np.testing.assert_array_equal(trace["customdata"][:, 0], trace["y"] + float(first))
    (outline,) = picture["layout"]["shapes"]
    assert (outline["y0"], outline["y1"]) == (pinned - first - 0.5, pinned - first + 0.5)
