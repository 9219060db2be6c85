"""The matrices of one head as they are drawn: which step makes them, what they are called."""

import numpy as np

from blocks.inspection.head_facts import HeadFacts
from blocks.model.faults import N_
from pages.figures.counting import told_apart
from pages.figures.matrix import Matrix
from pages.figures.theme import Translate

MOST_TOKENS, MOST_FEATURES, MOST_OF_ALL_HEADS = 32, 64, 256
SQUARES = ("raw", "scaled", "capped", "biased", "masked", "pattern")

WEIGHTS = ("q_weight", "out_weight")  # whose rows are no tokens

STEP_TITLES = {
    "project": N_("Multiply by W_Q"),
    "qkv": N_("Queries, keys, values"),
    "scores": N_("Scores q · k"),
    "scaled": N_("Divide by √d_head"),
    "cap": N_("Soft-cap the scores"),
    "bias": N_("Add the ALiBi bias"),
    "mask": N_("Apply the mask"),
    "softmax": N_("Softmax over each row"),
    "mix": N_("Weights times values"),
    "gate": N_("Gate the output"),
    "write": N_("Output projection"),
    "heads": N_("All heads side by side"),
}
MADE_BY = {
    "project": ("x",),
    "qkv": ("q", "k", "v"),
    "scores": ("raw",),
    "scaled": ("scaled",),
    "cap": ("capped",),
    "bias": ("biased",),
    "mask": ("masked",),
    "softmax": ("pattern",),
    "mix": ("mixed",),
    "gate": ("gated",),
    "write": ("written",),
    "heads": ("together",),
}
NAMES = {
    "x": ("X", N_("What attention reads: a vector for each token")),
    "q_weight": ("W_Q", N_("Query projection: this head's part")),
    "projected": ("X · W_Q", N_("Queries straight from W_Q")),
    "concat": (N_("Concat"), N_("The outputs of all heads side by side")),
    "together": ("Concat · W_O", N_("What all heads together add to the stream")),
    "q": ("Q", N_("Queries: what each token looks for")),
    "k": ("K", N_("Keys: what each token can be found by")),
    "v": ("V", N_("Values: what each token passes on")),
    "raw": ("QKᵀ", N_("Scores: the dot product of each query with each key")),
    "scaled": ("÷ √d", N_("Scaled dot products: scores ÷ √d_head")),
    "capped": ("tanh", N_("Scores compressed to stay within ±cap")),
    "biased": ("ALiBi", N_("Scores lowered in proportion to distance (ALiBi)")),
    "masked": (N_("mask"), N_("Scores that the mask lets through")),
    "pattern": ("softmax", N_("Weights: softmax over each row")),
    "mixed": ("· V", N_("Weighted sum of the values")),
    "gated": ("σ ⊙", N_("Head output after the gate")),
    "written": ("· W_O", N_("Output projection: what the head adds to the stream")),
    "out_weight": ("W_O", N_("Output projection: this head's part")),
}


def matrix_of(facts: HeadFacts, name: str, _: Translate) -> Matrix:
    """One matrix of the head, cut to the tokens and features that are drawn."""
    rows, values = facts.drawn(MOST_TOKENS).rows, facts.matrix(name)
    most = MOST_OF_ALL_HEADS if name == "concat" else MOST_FEATURES
    tokens, (symbol, title) = told_apart(facts.labels)[rows], NAMES[name]
    values = values[:MOST_FEATURES] if name in WEIGHTS else values[rows]
    values = values[:, rows] if name in SQUARES else values[:, :most]
    is_weights = name == "pattern"
    down, across = (tuple(f"[{i}]" for i in range(n)) for n in values.shape)
    return Matrix(
        name,
        _(symbol),
        _(title),
        values,
        down if name in WEIGHTS else tokens,
        tokens if name in SQUARES else across,
        is_weights=is_weights,
        end=quantile(values) if facts.apart and not is_weights else None,
    )


def number_of(step: str, steps: tuple[str, ...]) -> int:
    """What a step counts as: the first is that which takes queries, keys and values."""
    return steps.index(step) - steps.index("qkv") + 1


def quantile(values: np.ndarray) -> float | None:
    """The size that 1 in 100 of the values exceed; None where it is 0, or all are masked."""
    sizes = np.abs(values[np.isfinite(values)])
    return (float(np.quantile(sizes, 0.99)) if sizes.size else 0.0) or None
