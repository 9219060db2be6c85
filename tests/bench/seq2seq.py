"""How fast a target is written, against the same without a cache and against `transformers` T5."""

import statistics
import time

import torch
from transformers import T5Config, T5ForConditionalGeneration

from blocks import build
from blocks.model.layout import pack_weights_for_decoding
from blocks.model.models import EncoderDecoder
from blocks.model.presets import ENCODER_DECODER_PRESETS
from blocks.text.beam import BeamConfig, greedy
from tests.bench.report import report

SOURCE, NEW, ROUNDS = 64, 64, 3
CONFIG = ENCODER_DECODER_PRESETS["t5-small"].replace(dropout=0.0)
IDS = torch.arange(100, 100 + SOURCE)[None]
SEARCH = BeamConfig(start_id=0, stop_id=CONFIG.vocab_size - 1, max_new_tokens=NEW)


def measure() -> None:
    """Print (o): tokens a second at the shape of T5-small, batch 1, greedy, random weights."""
    ours = pack_weights_for_decoding(build(CONFIG))
    theirs = T5ForConditionalGeneration(T5Config(d_ff=2048)).eval()
    _our_speed(ours, use_cache=True)
    _their_speed(theirs)
    rounds = [
        (_our_speed(ours, use_cache=True), _our_speed(ours, use_cache=False), _their_speed(theirs))
        for _ in range(ROUNDS)
    ]
    for i, (name, aim) in enumerate((("without", "> 1"), ("transformers T5", "≥ 1.3")), start=1):
        ratio = statistics.median(row[0] / row[i] for row in rounds)
        speeds = [statistics.median(row[j] for row in rounds) for j in (0, i)]
        found = f"{ratio:.2f}  ({speeds[0]:.1f} / {speeds[1]:.1f} tokens/s)"
        report(f"(o) writing a target with cache / {name}, fp32", found, aim)


def _our_speed(model: EncoderDecoder, *, use_cache: bool) -> float:
    start = time.perf_counter()
    ((*written,),) = greedy(model, CONFIG, IDS, SEARCH, use_cache=use_cache)
    return len(written) / (time.perf_counter() - start)


def _their_speed(model: T5ForConditionalGeneration) -> float:
    start = time.perf_counter()
    with torch.inference_mode():
        model.generate(
            IDS,
            attention_mask=torch.ones_like(IDS),
            do_sample=False,
            max_new_tokens=NEW,
            min_new_tokens=NEW,
            decoder_start_token_id=0,
            use_cache=True,
        )
    return NEW / (time.perf_counter() - start)
