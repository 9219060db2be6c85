"""How the cache of keys and values grows with the text: measured, and by formula."""

from collections.abc import Sequence

import pandas as pd

from blocks.model.config import ModelConfig
from blocks.model.kv_cache import kv_cache_bytes_per_token
from blocks.text.written import Written


def cache_growth(
    config: ModelConfig,
    n_prompt: int,
    tokens: Sequence[Written],
    *,
    itemsize: int,
    window_size: int | None = None,
) -> pd.DataFrame:
    """One row a step of the model, as it wrote `tokens` after a prompt of `n_prompt`.

    Columns: n_read (tokens of the text by then), n_kept (those whose keys and values are kept),
    measured, formula (bytes), every_head (bytes, had each query head keys and values of its own).
    """
    n_read = [n_prompt + i for i in range(len(tokens))]
    table = pd.DataFrame({"n_read": n_read})
    starts = [token.context_start for token in tokens]
    table["n_kept"] = table["n_read"] - starts
    if window_size is not None:
        table["n_kept"] = table["n_kept"].clip(upper=window_size - 1)
    table["measured"] = [token.cache_bytes for token in tokens]
    table["formula"] = table["n_kept"] * kv_cache_bytes_per_token(config, itemsize)
    table["every_head"] = table["formula"] * (config.n_heads // config.n_kv_heads)
    return table
