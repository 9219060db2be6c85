"""A colour is a role and always the same one.

Okabe–Ito, safe for colour-blind eyes, chosen to be read on light and dark alike.
"""

from blocks.cost.breakdown import Kind

RESIDUAL = "#64748b"
ATTENTION = "#0072B2"
FEED_FORWARD = "#E69F00"
NORM = "#009E73"
EMBEDDING = "#CC79A7"
PINNED = "#D55E00"
CROSS_ATTENTION = "#56B4E9"
MTP = "#7b61c9"
MASKED = "rgba(128, 138, 150, 0.22)"
BEFORE = "#8b95a3"
LEARNED = "#3a9bd9"  # measured on what is learned from
HELD_OUT = "#b5488f"  # measured on what was never seen

PART_COLORS = {
    "embedding": EMBEDDING,
    "stream": RESIDUAL,
    "position": EMBEDDING,
    "norm": NORM,
    "attention": ATTENTION,
    "mixer": ATTENTION,
    "cross_attention": CROSS_ATTENTION,
    "feed_forward": FEED_FORWARD,
    "residual": RESIDUAL,
    "pooler": RESIDUAL,
    "mtp": MTP,
}
KIND_COLORS = {
    **{kind: PART_COLORS.get(kind, RESIDUAL) for kind in Kind},
    Kind.POSITION: "#e3a8c9",
    Kind.ROUTER: "#8a5a00",
    Kind.OUTPUT: "#9b4f7d",
}
# Seen on light and on dark alike; small weights rise fast, since most are small.
WEIGHTS = (
    (0.0, "rgba(20, 130, 210, 0.02)"),
    (0.1, "rgba(20, 130, 210, 0.24)"),
    (0.3, "rgba(20, 130, 210, 0.56)"),
    (1.0, "rgba(20, 130, 210, 1)"),
)
