"""What is computed once and kept: bounded, keyed on frozen values, shared by all sessions.

Models and recordings are large, so they stand on a shelf, and each reader holds those that are
looked at; what is read off them is small (Python's cache).
"""

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from streamlit.runtime.scriptrunner import get_script_run_ctx

from blocks import ModelConfig, Recording, count_parameters
from blocks.cost import breakdown
from blocks.cost.packed_rows import can_pack
from blocks.inspection import digest, sinks, tiles, values
from blocks.model import devices, masks
from blocks.model.layout import pack_weights_for_decoding
from blocks.model.models import Encoder, EncoderDecoder, Model, assemble, build
from blocks.model.packed_rows import packed_bytes, with_packed_rows
from blocks.observe import wiring
from blocks.observe.flow import MOMENTS
from blocks.observe.replay import Passes
from blocks.observe.run import Run, guarded_record, warm_up
from blocks.weights.model_file import trained
from blocks.weights.rounded_inputs import round_inputs
from pages.server import brought, machine, starts
from pages.server.once import once
from pages.server.settings import counted, memory_budget
from pages.server.shelf import Recent, Shelf, shelves, weighed
from pages.server.turns import turns

if TYPE_CHECKING:
    from torch import Tensor, nn

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Writing = Encoder | EncoderDecoder
MOST_MODELS, MOST_RECORDINGS = 32, 64  # kept for all; small ones too have a thousand parts
HELD_BYTES = 8 * 2**20  # two models of the size that tells stories, and what their passes showed


@once
def prepare_process() -> None:
    """Once per process: threads, and one run that pays for first times.

    Tables of a dozen rows, as ours are, take two thirds of the time where Arrow is left out.
    """
    pd.set_option("mode.string_storage", "python")
    devices.prepare_process()
    for device in devices.available_devices():
        warm_up(device)


@lru_cache(maxsize=32)
def settle_process(title: str) -> None:
    """Once per page, when it is drawn for the first time and all it needs is imported."""
    devices.settle_process()


def recording(run: Run) -> Recording:
    """What this run showed. Raises `ConfigError` where the device cannot do it."""
    return _held(recordings(), run)


def model(run: Run) -> Model:
    """The model of a run; runs that differ in their input share it."""
    return _held(models(), built_of(run))


def writing_model(run: Run) -> Model:
    """The model of a run as it writes text fastest."""
    built = cast(Writing, model(run))
    key = built_of(run)
    if packed_models().find(key) is None:
        fits = can_pack(run, built, memory_budget(run.device))
        if not fits or not turns().take_more(counted(packed_bytes(built), run.device)):
            return built
    return _held(packed_models(), key)


def own_runs() -> tuple[Run, ...]:
    return tuple(key for key in _own().keys if isinstance(key, Run))


def is_recorded(run: Run) -> bool:
    return recordings().find(run) is not None


def is_at_hand(run: Run) -> bool:
    """Whether both its model and what it showed are there; then they stay until they are drawn."""
    built = built_of(run)
    is_there = is_recorded(run) and models().find(built) is not None
    if is_there:
        model(run), recording(run)
    return is_there


def feed_forward(run: Run, layer: int) -> "nn.Module":
    """The feed-forward layer of a run's model, dense or with experts."""
    return cast("nn.Module", model(run).layers[layer].feed_forward)


class Built(NamedTuple):
    """All of a run that decides its model."""

    config: ModelConfig
    weights: str
    seed: int
    device: str
    dtype: str


def built_of(run: Run) -> Built:
    return Built(run.config, run.weights, run.seed, run.device, run.dtype)


@once
def recordings() -> Shelf[Run, Recording]:
    return weighed(_record, _weight_of_recording, 2, MOST_RECORDINGS)


@once
def models() -> Shelf[Built, Model]:
    return weighed(_build, weight_of_model, 2, MOST_MODELS)


@once
def packed_models() -> Shelf[Built, Writing]:
    """Models that write, around the weights of those that are read, with packed copies."""
    return weighed(_pack, _bytes_packed, 4, MOST_MODELS)


def _pack(built: Built) -> Writing:
    return with_packed_rows(cast(Writing, models().get(built)))


def _bytes_packed(writing: Writing) -> int:
    return weight_of_model(writing) + counted(packed_bytes(writing), _device_of(writing))


def _held(shelf: Shelf[K, V], key: K) -> V:
    """From the shelf; what is small is held for this reader too, so that no other pushes it out."""
    value = shelf.get(key)
    turns().look_at(shelf, key, value)
    if get_script_run_ctx() is not None:
        _own().use(key, value, partial(shelf.weight, key))
    return value


@st.cache_resource(scope="session", show_spinner=False)
def _own() -> Recent[Hashable, Any]:
    """What this reader looks at; let go of where the session ends."""
    return shelves().weigh(Recent(HELD_BYTES))


def _record(run: Run) -> Recording:
    built = model(run)
    with turn(run.device):
        return guarded_record(run, built, passes().record)


@once
def passes() -> Passes:
    """Passes that come again on an accelerator that can hold them; elsewhere it holds none."""
    return Passes(memory_budget() // 4)


def _build(built: Built) -> Model:
    """Laid out while it is nobody's yet: text is written with it, too.

    What was brought stays in the file that is mapped, where format and device are the same.
    """
    dtype = devices.DTYPES[built.dtype]
    if built.weights:
        found = starts.model(built.weights).first_layers(built.config.n_layers)
        if brought.is_name(built.weights):
            moved = {name: each.to(built.device, dtype) for name, each in found.tensors.items()}
            return round_inputs(assemble(built.config, moved), found.inputs)
        new = trained(built.config, found.tensors, device=built.device, dtype=dtype)
        new = round_inputs(new, found.inputs)
    else:
        new = build(built.config, seed=built.seed, device=built.device, dtype=dtype)
    return pack_weights_for_decoding(new)


def weight_bytes(built: Model) -> int:
    return sum(weight.nbytes for weight in built.parameters())


def weight_of_model(built: Model) -> int:
    """What a model that is kept weighs on its shelf."""
    return counted(weight_bytes(built), _device_of(built))


def _weight_of_recording(seen: Recording) -> int:
    return counted(seen.kept_bytes, seen.output.device.type)


def _device_of(built: Model) -> str:
    return next(built.parameters()).device.type


@contextmanager
def turn(device: str) -> Iterator[None]:
    """As many passes at once as the device has threads for, none while time is measured there."""
    with _passes(device), machine.turns().beside_others(device):
        yield


@once
def _passes(device: str) -> threading.Semaphore:
    return threading.Semaphore(devices.passes_at_once(device))


@lru_cache(maxsize=64)
def flow(run: Run, layer: int, without: tuple[int, ...] = ()) -> pd.DataFrame:
    """One row per stage of a layer: what computes it, what it reads, what its values look like.

    `without`: tokens that are left out of the values.
    """
    table, steps = whole_flow(run), wiring.wiring(run.config, layer)
    every = enumerate(zip(table["layer"].fillna(-1), table["stage"], strict=True))
    place = {stage: i for i, (at, stage) in every if at == layer or stage == "input"}
    here = table.take([place[step.stage] for step in steps])  # a tenth of the time of a merge
    here.index = pd.RangeIndex(len(here))
    here.insert(0, "stage", here.pop("stage"))
    here.insert(1, "part", [str(step.part) for step in steps])
    here.insert(2, "reads", [step.reads for step in steps])
    if without:
        seen = recording(run)
        passed = [seen.tensor(step.stage, layer) for step in steps]
        here[[*MOMENTS]] = sinks.moments_without(passed, without)
    return here


@lru_cache(maxsize=32)
def whole_flow(run: Run) -> pd.DataFrame:
    """One row per stage of the whole model: what its values look like."""
    return recording(run).flow()


@lru_cache(maxsize=256)
def heads_digest(run: Run, layer: int) -> digest.Digest:
    """What is kept of all heads of a layer."""
    seen, tokens = recording(run), run.input.tokens or ()
    with turn(run.device):
        return digest.digest(seen, layer, run.build_mask(layer), tokens)


def heads(run: Run, layer: int) -> pd.DataFrame:
    """One row per head of a layer: its measures."""
    return heads_digest(run, layer).measures


@lru_cache(maxsize=256)
def small_codes(run: Run, layer: int, blank: tuple[int, ...] = ()) -> "Tensor":
    """Maps of all heads of a layer that are small enough for tiles; `blank`: keys left blank."""
    seen = recording(run)  # takes a turn of its own
    with turn(run.device):
        return digest.small_codes(seen, layer, run.build_mask(layer), blank)


def head_tiles(
    run: Run, layer: int, blank: tuple[int, ...] = (), columns: int = 0
) -> NDArray[np.uint8]:
    """All heads of a layer, for the first sequence, side by side, one byte per cell.

    `blank`: keys whose columns are left blank; `columns`: in so many, or as many as look well.
    """
    codes = small_codes(run, layer, blank)
    return digest.tiled([codes], columns or tiles.columns(run.config.n_heads))


@lru_cache(maxsize=32)
def head_map(run: Run, layer: int, head: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """One head of the first sequence: codes to colour, and weights, NaN where masked."""
    pattern = recording(run).pattern(layer, heads=slice(head, head + 1))[:1]
    mask = run.build_mask(layer)
    return tiles.encode(pattern, mask)[0, 0].cpu().numpy(), tiles.weights(pattern, mask)


@lru_cache(maxsize=64)
def mask_codes(run: Run) -> NDArray[np.uint8]:
    """Who may see whom in the first sequence: (query, key), one byte per cell."""
    return tiles.mask_codes(run.build_mask(), run.input.shape[1])


@lru_cache(maxsize=64)
def sees_ahead(run: Run) -> bool:
    return masks.sees_ahead(run.build_mask())


@lru_cache(maxsize=64)
def blind_queries(run: Run) -> int:
    return int((mask_codes(run) == tiles.MASKED).all(axis=1).sum())


@lru_cache(maxsize=64)
def histogram(run: Run, layer: int, stage: str, without: tuple[int, ...] = ()) -> pd.DataFrame:
    """How the values of a stage are spread, those of some tokens left out."""
    return values.histogram(sinks.without(recording(run).tensor(stage, layer), without))


@lru_cache(maxsize=64)
def token_values(run: Run, layer: int, stage: str, token: int, n_dims: int) -> pd.DataFrame:
    """One token's features at what the stage reads, and at the stage."""
    seen, steps = recording(run), wiring.frame(run.config, layer).set_index("stage")
    reads = steps["reads"][stage]
    before = seen.tensor(reads[0] if reads else stage, layer)
    return values.token_values(before, seen.tensor(stage, layer), token, n_dims)


@lru_cache(maxsize=64)
def parameters(config: ModelConfig) -> pd.DataFrame:
    """One row per part: formula and count."""
    return count_parameters(config)


count_facts = lru_cache(maxsize=256)(breakdown.count_facts)
