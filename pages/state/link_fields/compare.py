"""What a link says of comparisons: configurations that are kept, and which of them is A."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from pages.server.readers import Field, UnreadableError, choice, flag, whole

MOST_KEPT, LONGEST_NAME, LONGEST_TEXT = 12, 40, 12_000
COMPARED_STAGES = ("resid_post", "attention_out", "feed_forward_out")
COMPARED_MOMENTS = ("rms", "std", "mean", "min", "max", "outlier_share")
COUNTED = (
    "parameters",
    "active_parameters",
    "read_flops",
    "decode_flops",
    "weight_bytes",
    "cache_bytes",
    "memory",
    "training_flops",
)
SIZES = ("d_model", "n_layers")  # what a model has; the others are what it costs
MEASURES = (*COUNTED, *SIZES)
DIRECTIONS = ("less", "more")
# Another number has a better end of its own.
FOLLOWERS = {"tradeoff_x": ("tradeoff_x_better",), "tradeoff_y": ("tradeoff_y_better",)}


class Kept(NamedTuple):
    """A configuration under a name: what a link would say of it, and nothing of the input."""

    name: str
    query: tuple[tuple[str, str], ...]


def kept_of(text: str) -> tuple[Kept, ...]:
    """The configurations that a text names; the inverse of `text_of`."""
    entries = parse_qsl(text, keep_blank_values=True)
    return tuple(Kept(name, tuple(parse_qsl(inner))) for name, inner in entries)


def text_of(kept: tuple[Kept, ...]) -> str:
    """A query of queries, so that any name can stand in a link."""
    return urlencode([(each.name, urlencode(each.query)) for each in kept], errors="replace")


def kept_text(text: str) -> str:
    """Read the configurations that are kept: a few, each with a short name of its own."""
    if len(text) > LONGEST_TEXT:
        raise UnreadableError("")
    try:
        found = {each.name[:LONGEST_NAME]: each.query for each in kept_of(text)}
    except ValueError:
        raise UnreadableError("") from None
    return text_of(tuple(Kept(name, query) for name, query in [*found.items()][:MOST_KEPT]))


def place(text: str) -> int:
    """Read a place in the list; beyond its ends, the first or the last."""
    try:
        return min(max(int(text[:32]), 0), MOST_KEPT - 1)
    except ValueError:
        raise UnreadableError from None


def better(axis: str, measure: str) -> Field:
    """Where on an axis is better: what a model has may be more, what it costs should be less."""

    def usual(values: Mapping[str, Any]) -> str:
        return "more" if values.get(axis, measure) in SIZES else "less"

    return Field(choice(DIRECTIONS), usual)


AXES = {"tradeoff_x": "cache_bytes", "tradeoff_y": "d_model"}
KEPT = {"kept": Field(kept_text, ""), "compared_with": Field(place, 0), "beside": Field(flag, True)}
FIELDS = {
    "compared_stage": Field(choice(COMPARED_STAGES), "resid_post"),
    "compared_moment": Field(choice(COMPARED_MOMENTS), "rms"),
    "measure_pair": Field(whole(0, 10**6), 0),
    **{axis: Field(choice(MEASURES), measure) for axis, measure in AXES.items()},
    **{f"{axis}_better": better(axis, measure) for axis, measure in AXES.items()},
    "with_presets": Field(flag, True),
}
