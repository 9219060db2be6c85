"""What is drawn of every layer, opened or not: who reads from whom, what is kept, who is asked.

Each is named by how the paths of its layer begin:

    reading            the attention weights, the mean of the heads: (1, query, key)
    cross_reading      the same of what a decoder reads of the source
    cache_k, cache_v   what the KV cache holds, the length of each vector: (1, token, key head)
    cache_c            the same of a latent, which alone is cached: (1, token, 1)
    experts            what each expert's output is multiplied by, 0 where it is not asked:
                       (1, token, expert)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor

from blocks.inspection.scene_matrix import Matrix, quantized
from blocks.inspection.scene_moves import CROSS
from blocks.model import devices
from blocks.model.kinds import Architecture
from blocks.model.kv_cache import kv_cache_bytes_per_token
from blocks.model.normalization import at_least_float32
from blocks.observe.recording import Recording
from blocks.observe.run import PATTERNS, Run

READING = "reading"
CACHED = {"k": "cache_k", "v": "cache_v", "kv_latent": "cache_c"}
ROUTED = ("expert_index", "expert_kept", "expert_weight", "router_probs")
EXPERTS = "experts"


def of_layers(seen: Recording, windows: Mapping[str, slice]) -> Iterator[tuple[str, Matrix]]:
    """All of them, by name."""
    for path in sorted({*seen.patterns, *seen.tensors}):
        start, dot, name = path.rpartition(".")
        stack = start.rpartition("layers.")[0].rstrip(".")
        if name in PATTERNS:
            cross = CROSS if name.startswith(CROSS) else ""
            yield f"{start}.{cross}{READING}", _reading(seen, path, stack, windows)
        elif name in CACHED and not (name != "kv_latent" and f"{start}.kv_latent" in seen.tensors):
            lengths = at_least_float32(seen.tensors[path][0]).norm(dim=-1).mT
            yield start + dot + CACHED[name], _drawn(lengths, stack, windows)
        elif name == "expert_weight":
            yield start + dot + EXPERTS, _drawn(sent_to(seen, start + dot), stack, windows)


def sent_to(seen: Recording, start: str) -> Tensor:
    """What the output of each expert is multiplied by, at every token: (token, expert)."""
    index, weight, all_of = (
        seen.tensors[start + name][0] for name in ("expert_index", "expert_weight", "router_probs")
    )
    weight = at_least_float32(weight)
    return weight.new_zeros(all_of.shape).scatter_add(-1, index, weight)


def _drawn(found: Tensor, stack: str, windows: Mapping[str, slice]) -> Matrix:
    return quantized(found[None, windows[stack]], of=found.shape[-1], rows=stack)


def _reading(seen: Recording, path: str, stack: str, windows: Mapping[str, slice]) -> Matrix:
    """The mean of the weights of all heads."""
    queries, keys = stack, "encoder" if CROSS in path else stack
    found = seen.pattern(name=path)[0].mean(0, keepdim=True)
    drawn = found[:, windows[queries], windows[keys]]
    return quantized(drawn, of=found.shape[-1], rows=queries, columns=keys, strong=1.0)


@dataclass(frozen=True)
class CacheFacts:
    """What a pass with a cache finds there, and what it leaves.

    `n_kept` tokens of `n` are there before it; the last one makes `n` scores in each head where all
    would make `n_pairs`. `bytes_each`: of a token that is kept, `bytes_all` of all of them.
    """

    n: int
    n_kept: int
    n_pairs: int
    bytes_each: int
    bytes_all: int


def cache_facts(run: Run) -> CacheFacts:
    """Those of a run whose last token alone is computed."""
    n, itemsize = run.input.shape[1], devices.DTYPES[run.dtype].itemsize
    each = kv_cache_bytes_per_token(run.config, itemsize)
    return CacheFacts(n, n - 1, n * n, each, n * each)


def keeps_a_cache(run: Run) -> bool:
    """Whether the last token of this run can be computed from what a cache keeps of the others.

    So it is where no token sees a later one and none decides what becomes of another.
    """
    is_written = run.config.architecture is Architecture.GPT and run.input.shape[1] > 1
    is_plain = not (run.interventions or run.training or run.input.n_padding)
    if not is_written or not is_plain or run.config.experts.expert_capacity:
        return False
    return not bool(run.build_mask().triu(1).any())
