"""What a model holds and costs, by formula."""

from blocks.cost.flops import Pass, count_flops
from blocks.cost.parameters import count_parameters
from blocks.lessons.place import Place
from blocks.model.kv_cache import kv_cache_bytes


def parameters(at: Place, *, part: str = "") -> int:
    """How many parameters the model has: all, or those of a part or a group of parts."""
    table = count_parameters(at.config)
    if part:
        table = table[(table["part"] == part) | (table["group"] == part)]
        if table.empty:
            raise KeyError(part)
    return int(table["count"].sum())


def flops(at: Place, *, n_tokens: int = 0, part: str = "") -> float:
    """Floating-point operations of one forward pass, of this text or of `n_tokens`."""
    seq_len = n_tokens or at.run.input.shape[1]
    table = count_flops(at.config, Pass(seq_len, seq_len))
    if part:
        table = table[(table["part"] == part) | (table["group"] == part)]
    return float(table["flops"].sum())


def cache_bytes(at: Place, *, n_tokens: int = 1024, n_bytes: int = 2) -> int:
    """Bytes of the keys and values that are kept while a text of `n_tokens` is written."""
    return kv_cache_bytes(at.config, n_bytes, n_tokens)
