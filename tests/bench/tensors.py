"""What the blocks themselves cost: observing them, and counting them."""

import statistics
import time
import tracemalloc
from collections.abc import Callable

import torch

from blocks import PRESETS, ModelConfig, build, count_parameters, record
from blocks.model import devices
from blocks.model.draws import ByPlace, Draws, InTurn
from blocks.model.masks import shared_causal
from blocks.observe.run import PATTERNS
from blocks.observe.wiring import kept_stages
from blocks.weights.pocket import pocket
from tests.bench.report import report

ROUNDS, LONG, SHORT = 15, 512, 24
LENGTHS = (256, 1024, 2048)


def measure() -> None:
    """Print (a) and (d)."""
    for device in devices.available_devices():
        recorded_against_plain(device)
        drawn(device)
    counting()


def milliseconds(work: Callable[[], object], device: str) -> float:
    """What one call takes: by the wall, on a CPU of its time, to which neighbours add little."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    devices.synchronize(torch.device(device))
    start = clock()
    work()
    devices.synchronize(torch.device(device))
    return 1000 * (clock() - start)


def drawn(device: str) -> None:
    """A weight of GPT-2 XL, drawn by the hash of each place there, and in turn and sent there."""
    shape = torch.Size((6400, 1600))

    def draw(source: Draws) -> object:
        return source.normal_(source.empty(shape), 0.02).to(device)

    pairs = []
    for _ in range(ROUNDS):
        place = milliseconds(lambda: draw(ByPlace(0, "up_proj", device)), device)
        turn = milliseconds(lambda: draw(InTurn(0, "up_proj")), device)
        pairs.append((place, turn))
    report(
        f"drawn by place / in turn, a matrix of GPT-2 XL, {device}", in_pairs(pairs[2:]), "≤ 1.0"
    )


def recorded_against_plain(device: str) -> None:
    """What a reader's run costs, against the same model unobserved, which attends by one kernel."""
    block = PRESETS["gpt2-small"].one_block()
    x = torch.randn(1, LONG, block.d_model, device=device)
    recorded(f"one block of GPT-2 small, {LONG} tokens", block, x, device, aim="≤ 1.15")
    whole = PRESETS["gpt2-small"]
    ids = torch.arange(LONG, device=device)[None]
    keep = {"statistics": set(), "statistics and patterns": {"pattern"}}
    for what, kept in keep.items():
        name = f"GPT-2 small, {LONG} tokens, {what}"
        recorded(name, whole, ids, device, keep=kept, aim="≤ 1.10", rounds=ROUNDS // 2)
    small = {"architecture": "gpt", "n_layers": 4, "d_model": 256, "n_heads": 8, "vocab_size": 1000}
    for n in LENGTHS:
        config = ModelConfig.from_flat({**small, "max_seq_len": n})
        name = f"4 layers, d_model 256, {n} tokens, all that a page records"
        text = torch.arange(n, device=device)[None] % 1000
        recorded(name, config, text, device, aim="≤ 1.25", rounds=ROUNDS // 2)
    story = pocket("stories-en-zh")
    name = f"stories-en-zh, {SHORT} tokens"
    recorded(name, story.config, ids[:, :SHORT], device, aim="≤ 1.5", rounds=10 * ROUNDS)


def recorded(
    name: str,
    config: ModelConfig,
    x: torch.Tensor,
    device: str,
    *,
    aim: str,
    keep: set[str] | None = None,
    rounds: int = ROUNDS,
) -> None:
    """As a page records it, unless `keep` says otherwise; in turn, pair by pair."""
    model, mask = build(config, device=device), shared_causal(x.shape[1], x.device)
    kept = kept_stages(config) if keep is None else keep
    pairs = []
    with torch.no_grad():
        for _ in range(rounds):
            plain = milliseconds(lambda: model(x, mask), device)
            seen = milliseconds(lambda: observed(model, x, mask, kept), device)
            pairs.append((seen, plain))
    report(f"(a) recorded / plain, {name}, {device}", in_pairs(pairs[2:]), aim)


def observed(model: torch.nn.Module, x: torch.Tensor, mask: torch.Tensor, kept: set[str]) -> object:
    """A pass that keeps these stages, and of weights that it does not keep what makes them."""
    return record(model, x, mask=mask, keep=kept, later=PATTERNS)


def in_pairs(pairs: list[tuple[float, float]]) -> str:
    """The median of the pairs' ratios, and the ratio of the fastest of each side.

    Whatever else the machine does only adds time: where the two differ much, it was busy.
    """
    ratio = statistics.median(a / b for a, b in pairs)
    one, other = (min(column) for column in zip(*pairs, strict=True))
    return f"{ratio:.2f}, fastest {one / other:.2f}  ({one:.1f} / {other:.1f} ms)"


def counting() -> None:
    """Parameters of a configuration that no machine holds."""
    config = ModelConfig.from_flat({"d_model": 184_320, "n_heads": 1440})
    count_parameters(config)
    times = [milliseconds(lambda: count_parameters(config), "cpu") for _ in range(50)]
    tracemalloc.start()
    total = count_parameters(config)["count"].sum()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    found = f"{statistics.median(times):.2f} ms, {peak / 1024:.0f} KiB"
    report(f"(d) counting {total / 1e9:.0f} billion parameters", found, "< 5 ms, nothing allocated")
