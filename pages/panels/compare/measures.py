"""The numbers by which models are chosen: what they are called, and how they are written."""

from functools import lru_cache

from blocks import ModelConfig
from blocks.cost.setup import StoredWeights
from blocks.cost.summary import Summary, summarise
from blocks.cost.units import bytes_text
from blocks.model.faults import N_
from pages.figures.units import flops
from pages.panels.cost.shared import cache_format, format_name
from pages.server import starts
from pages.state.link_fields.cost import AS_IN_FILE
from pages.words.language import _

MEASURES = {
    "parameters": N_("parameters"),
    "active_parameters": N_("active parameters"),
    "read_flops": N_("FLOPs per token read"),
    "decode_flops": N_("FLOPs per token generated"),
    "weight_bytes": N_("weight memory, bytes"),
    "cache_bytes": N_("KV cache, bytes per token"),
    "memory": N_("inference memory for one text, bytes"),
    "training_flops": N_("FLOPs to train on 20 tokens per parameter"),
    "d_model": "d_model",
    "n_layers": "n_layers",
}
OF_TEXT = ("read_flops", "decode_flops", "memory", "training_flops")
BYTES = ("weight_bytes", "cache_bytes", "memory")
FLOPS = ("read_flops", "decode_flops", "training_flops")


@lru_cache(maxsize=256)
def summary(config: ModelConfig, weights: str, n: int, weight_format: str) -> Summary:
    """The numbers by which one is chosen, bytes in this number format; `weights` may be rounded."""
    return summarise(config, n=n, dtype=weight_format, stored=stored(weights, weight_format))


def stored(weights: str, weight_format: str) -> StoredWeights | None:
    """What weights take in their file, where that is asked for and they are rounded."""
    return starts.stored(weights) if weight_format == AS_IN_FILE else None


def title(measure: str, n: int, weight_format: str) -> str:
    """What a number is; some depend on the text's length or the number format."""
    said = _(MEASURES[measure])
    if measure in BYTES:
        is_cache = measure == "cache_bytes"
        name = cache_format(weight_format) if is_cache else format_name(weight_format)
        said = _("{what}, {format}").format(what=said, format=name)
    return _("{what}, n = {n:,}").format(what=said, n=n) if measure in OF_TEXT else said


def written(measure: str, value: float) -> str:
    """A number with its unit."""
    if measure in BYTES:
        return bytes_text(value)
    return flops(value) if measure in FLOPS else f"{value:,.0f}"
