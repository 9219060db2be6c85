"""How fast text grows, against `transformers` with its own cache."""

import statistics
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from blocks import PRESETS, build
from blocks.cost.packed_rows import is_faster_packed
from blocks.model.layout import pack_weights_for_decoding
from blocks.model.packed_rows import packed_bytes, with_packed_rows
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig
from tests.bench.report import report

PROMPT, NEW, ROUNDS = 64, 64, 3
GREEDY = SamplingConfig(temperature=0)
CONFIG = PRESETS["gpt2-small"].replace(dropout=0.0)
IDS = list(range(100, 100 + PROMPT))


def measure() -> None:
    """Print (g): tokens a second at GPT-2-small shape, batch 1, random weights."""
    theirs = GPT2LMHeadModel(GPT2Config()).eval()
    ours = {dtype: _ours(dtype) for dtype in (torch.float32, torch.bfloat16)}
    rounds = [(_their_speed(theirs), *map(_our_speed, ours.values())) for _ in range(ROUNDS)]
    for i, (dtype, aim) in enumerate(zip(ours, ("≥ 1.3", "≥ 2 with AMX"), strict=True), start=1):
        ratio = statistics.median(row[i] / row[0] for row in rounds)
        speeds = [statistics.median(row[j] for row in rounds) for j in (i, 0)]
        name = f"(g) generating with cache / transformers fp32, {str(dtype).removeprefix('torch.')}"
        report(name, f"{ratio:.2f}  ({speeds[0]:.1f} / {speeds[1]:.1f} tokens/s)", aim)


def _ours(dtype: torch.dtype):
    """As the app writes with it."""
    model = pack_weights_for_decoding(build(CONFIG, dtype=dtype))
    return with_packed_rows(model) if packed_bytes(model) and is_faster_packed() else model


def _our_speed(model) -> float:
    generation = Generation(model, CONFIG, IDS, GREEDY)
    start = time.perf_counter()
    generation.advance(NEW)
    return NEW / (time.perf_counter() - start)


def _their_speed(model: GPT2LMHeadModel) -> float:
    ids = torch.tensor([IDS])
    start = time.perf_counter()
    with torch.inference_mode():
        model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=NEW,
            min_new_tokens=NEW,
            use_cache=True,
            pad_token_id=0,
        )
    return NEW / (time.perf_counter() - start)
