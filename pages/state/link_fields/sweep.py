"""What a link says of a sweep: which fields, which values, how many seeds."""

import re
from collections.abc import Mapping
from typing import Any

from blocks.sweep.point import SETTABLE
from blocks.sweep.sweep import Search
from pages.server.readers import Field, UnreadableError, choice, whole, within

MOST_TYPED, MOST_SEEDS, MOST_DRAWN, NO_FIELD = 200, 10, 100, "none"
OF_THE_TASK = ("architecture", "vocab_size", "max_seq_len", "seq_len", "eval_every", "dtype")
SWEPT = tuple(name for name in SETTABLE if name not in OF_THE_TASK)
USUAL = {
    "learning_rate": "0.001, 0.003, 0.01, 0.03",
    "muon_learning_rate": "0.003, 0.01, 0.03, 0.1",
    "n_steps": "50, 100, 200",
    "batch_size": "4, 12, 32",
    "weight_decay": "0, 0.03, 0.1",
    "warmup_steps": "0, 10, 40",
    "optimizer": "sgd, adamw, muon",
    "schedule": "constant, cosine, trapezoid",
    "n_layers": "1, 2, 4",
    "d_model": "32, 64, 128",
    "n_heads": "1, 2, 4",
    "norm_kind": "layernorm, rmsnorm",
    "norm_placement": "pre, post",
    "activation": "gelu, relu_squared, swiglu",
    "position_kind": "none, learned, rope",
    "dropout": "0, 0.1",
}


def _values(text: str) -> str:
    if len(text) > MOST_TYPED or not re.fullmatch(r"[\w .,+=-]*", text):
        raise UnreadableError
    return text


def _usual(field: str) -> Any:
    def usual(values: Mapping[str, Any]) -> str:
        return USUAL.get(values.get(field, FIELDS[field].default), "")

    return usual


FIELDS: dict[str, Field] = {
    "sweep_field": Field(choice(SWEPT), "learning_rate"),
    "sweep_values": Field(_values, _usual("sweep_field")),
    "sweep_by": Field(choice((NO_FIELD, *SWEPT)), NO_FIELD),
    "sweep_by_values": Field(_values, _usual("sweep_by")),
    "sweep_seeds": Field(whole(1, MOST_SEEDS), 3),
    "sweep_search": Field(choice(Search), str(Search.GRID)),
    "sweep_drawn": Field(whole(1, MOST_DRAWN), 10),
    "sweep_price": Field(within(0.0, 1e6), 0.0),
}
VERDICT = {"verdict_changes": Field(_values, "activation=swiglu, d_ff=256")}
FOLLOWERS = {"sweep_field": ("sweep_values",), "sweep_by": ("sweep_by_values",)}
