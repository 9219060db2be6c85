"""The exact numbers of a whole model, under its pictures."""

import pandas as pd
import streamlit as st

from blocks.observe.run import Run
from pages.ui import layers as of_layers
from pages.ui.language import _


def layers(run: Run) -> None:
    """The stream after every layer, with the length of a token's vector."""
    stream = of_layers.flow(run)
    shown = pd.DataFrame(
        {
            _("after"): stream["label"],
            _("mean"): stream["mean"],
            _("std"): stream["std"],
            _("min"): stream["min"],
            _("max"): stream["max"],
            _("token norm (RMS · √d_model)"): stream["token_norm"],
        }
    )
    st.dataframe(shown.round(4), hide_index=True, key="layer_table", height="content")


def guesses(run: Run) -> None:
    """What the model would write at each position."""
    table = of_layers.guesses(run)
    shown = pd.DataFrame(
        {
            _("position"): range(1, len(table) + 1),
            _("token it read"): table["token"],
            _("most probable token"): table["guess"],
            _("probability"): table["probability"].map("{:.1%}".format),
        }
    )
    st.dataframe(shown, hide_index=True, key="guess_table", height=380)
