"""What is computed once and kept: bounded, keyed on frozen values, shared by all sessions.

Models and recordings are large and few, and two sessions that want the same one wait for it
(Streamlit's cache); what is read off them is small (Python's cache, which is faster).
"""

import threading
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks import ModelConfig, Recording, count_parameters
from blocks.inspection import tiles, values
from blocks.model import devices, masks
from blocks.model.layout import pack_weights_for_decoding
from blocks.model.models import Model, count_built
from blocks.observe import wiring
from blocks.observe.run import Run, guarded_record, warm_up
from blocks.weights.model_file import trained
from pages.ui import starts

if TYPE_CHECKING:
    from torch import nn


@st.cache_resource(show_spinner=False)
def prepare_process() -> None:
    """Once per process: threads, and one run that pays for first times.

    Tables of a dozen rows, as ours are, take two thirds of the time where Arrow is left out.
    """
    pd.set_option("mode.string_storage", "python")
    devices.prepare_process()
    for device in devices.available_devices():
        warm_up(device)


@st.cache_resource(max_entries=32, show_spinner=False)
def settle_process(title: str) -> None:
    """Once per page, when it is drawn for the first time and all it needs is imported."""
    devices.settle_process()


@lru_cache(maxsize=256)
def written_out(key: Hashable) -> str:
    """A frozen value as the name of what is kept for it; Streamlit takes it apart each time."""
    return repr(key)


WRITTEN_OUT: dict[str | type[Any], Callable[[Any], Any]] = {
    Run: written_out,
    ModelConfig: written_out,
}


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=WRITTEN_OUT)
def recording(run: Run) -> Recording:
    """What this run showed. Raises `ConfigError` where the device cannot do it."""
    with turn(run.device):
        return guarded_record(run, model(run))


def model(run: Run) -> Model:
    """The model of a run; runs that differ in their input share it."""
    return _model(run.config, run.weights, run.seed, run.device, run.dtype, run)


def feed_forward(run: Run, layer: int) -> "nn.Module":
    """The feed-forward layer of a run's model, dense or with experts."""
    return cast("nn.Module", model(run).layers[layer].feed_forward)


@st.cache_resource(max_entries=3, show_spinner=False, hash_funcs=WRITTEN_OUT)
def _model(
    config: ModelConfig, weights: str, seed: int, device: str, dtype: str, _run: Run
) -> Model:
    """Laid out while it is nobody's yet: text is written with it, too."""
    if not weights:
        return pack_weights_for_decoding(_run.build())
    tensors, dtype_here = starts.model(weights).tensors, devices.DTYPES[dtype]
    return pack_weights_for_decoding(trained(config, tensors, device=device, dtype=dtype_here))


@st.cache_resource(max_entries=8, show_spinner=False)
def turn(device: str) -> threading.Lock:
    """One run at a time on a device: two at once are slower than one after the other."""
    return threading.Lock()


@lru_cache(maxsize=64)
def flow(run: Run, layer: int) -> pd.DataFrame:
    """One row a stage of a layer: what does its work, what it reads, what its values look like."""
    table = whole_flow(run)
    table = table[(table["layer"] == layer) | (table["stage"] == "input")]
    return wiring.frame(run.config, layer).merge(table, on="stage", validate="1:1")


@lru_cache(maxsize=32)
def whole_flow(run: Run) -> pd.DataFrame:
    """One row a stage of the whole model: what its values look like."""
    return recording(run).flow()


@lru_cache(maxsize=64)
def heads(run: Run, layer: int) -> pd.DataFrame:
    """One row a head of a layer: its measures."""
    return recording(run).heads(run.build_mask(), layer, run.input.tokens or ())


@lru_cache(maxsize=32)
def head_tiles(run: Run, layer: int) -> NDArray[np.uint8]:
    """All heads of a layer, for the first sequence, side by side, one byte a cell."""
    codes = tiles.encode(recording(run).pattern(layer), run.build_mask())[0]
    return tiles.tile(tiles.shrink(codes), tiles.columns(len(codes)))


@lru_cache(maxsize=32)
def head_map(run: Run, layer: int, head: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """One head of the first sequence: codes to colour, and weights, NaN where masked."""
    pattern, mask = recording(run).pattern(layer)[:1, head : head + 1], run.build_mask()
    return tiles.encode(pattern, mask)[0, 0].cpu().numpy(), tiles.weights(pattern, mask)


@lru_cache(maxsize=64)
def mask_codes(run: Run) -> NDArray[np.uint8]:
    """Who may see whom in the first sequence: (query, key), one byte a cell."""
    return tiles.mask_codes(run.build_mask(), run.input.shape[1])


@lru_cache(maxsize=64)
def sees_ahead(run: Run) -> bool:
    """Whether any token may see one that comes after it."""
    return masks.sees_ahead(run.build_mask())


@lru_cache(maxsize=64)
def blind_queries(run: Run) -> int:
    """How many queries of the first sequence may see no key."""
    return int((mask_codes(run) == tiles.MASKED).all(axis=1).sum())


@lru_cache(maxsize=64)
def histogram(run: Run, layer: int, stage: str) -> pd.DataFrame:
    """How the values of a stage are spread."""
    return values.histogram(recording(run).tensor(stage, layer))


@lru_cache(maxsize=64)
def token_values(run: Run, layer: int, stage: str, token: int, n_dims: int) -> pd.DataFrame:
    """One token's features at what the stage reads, and at the stage."""
    seen, steps = recording(run), wiring.frame(run.config, layer).set_index("stage")
    reads = steps["reads"][stage]
    before = seen.tensor(reads[0] if reads else stage, layer)
    return values.token_values(before, seen.tensor(stage, layer), token, n_dims)


@lru_cache(maxsize=64)
def parameters(config: ModelConfig) -> pd.DataFrame:
    """One row a part: formula and count."""
    return count_parameters(config)


@lru_cache(maxsize=64)
def counted_parameters(config: ModelConfig) -> int:
    """The parameters of the model as it is built, counted one by one."""
    return count_built(config)
