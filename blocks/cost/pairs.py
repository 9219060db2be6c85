"""Pairs of tokens that a causal mask allows."""


def n_seen(n_new: int, n_keys: int, window: int = 0) -> int:
    """Pairs that a causal mask allows, of the last `n_new` of `n_keys` tokens: a closed sum.

    Token i meets i tokens, itself among them, in a window (0: none) that many at most.
    """

    def up_to(n: int) -> int:
        inside = min(n, window or n)
        return inside * (inside + 1) // 2 + (n - inside) * window

    return up_to(n_keys) - up_to(n_keys - n_new)
