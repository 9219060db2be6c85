"""A text that grows in tensors that stay, token for token as in a cache that grows.

Where there is no CUDA the steps run uncaptured, by the same code.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
import torch
from drawn_configs import N_SEEDS, drawn, small
from there import DEVICE
from toy import assert_near, scramble, toy

from blocks import PRESETS, ModelConfig, build
from blocks.model.kinds import Architecture
from blocks.model.randomness import generator
from blocks.observe.captured import can_capture
from blocks.observe.interventions import Intervention, Part, heads_of
from blocks.text import decoding, generation
from blocks.text.decoding import AHEAD, Decoding
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig, choose_each

GREEDY, WARM = SamplingConfig(temperature=0), SamplingConfig(temperature=0.8, top_k=7, top_p=0.9)
PROMPT, N_NEW = [1, 5, 0], 7
CONFIG = toy(architecture="gpt", n_layers=2, vocab_size=11, max_seq_len=16, position_kind="rope")
pytestmark = pytest.mark.gpu
on_cuda = pytest.mark.skipif(DEVICE != "cuda", reason="a graph needs CUDA")


@pytest.fixture(autouse=True)
def _rooms_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that they are full in the middle of a short text, and then of the context."""
    monkeypatch.setattr(generation, "LEAST_HELD", 4)
    monkeypatch.setattr(generation, "LEAST_LEFT", 1)


def written(config: ModelConfig, *, held: bool, n: int = N_NEW, sampling=GREEDY, **more):
    """A text that was written in tensors that stay, or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "can_capture", lambda config, _: held and config.n_experts == 1)
        text = Generation(on_device(config), config, PROMPT, sampling, seed=3, **more)
    text.advance(n)
    return text


def on_device(config: ModelConfig):
    return scramble(build(config)).to(DEVICE)


def assert_same(found: Generation, wanted: Generation) -> None:
    assert found.token_ids == wanted.token_ids
    for ours, theirs in zip(found.new_tokens, wanted.new_tokens, strict=True):
        assert_near(ours.logits, theirs.logits, tolerance=1e-4)
        assert (ours.context_start, ours.cache_bytes) == (theirs.context_start, theirs.cache_bytes)
        if theirs.pattern is not None:  # which may lack what no layer sees any more
            n_more = ours.pattern.shape[-1] - theirs.pattern.shape[-1]
            assert not ours.pattern[..., :n_more].any()
            assert_near(ours.pattern[..., n_more:], theirs.pattern, tolerance=1e-4)


def test_every_gpt_writes_the_same_in_tensors_that_stay():
    presets = dict.fromkeys(small(config) for config in PRESETS.values())
    configs = [*presets, *(drawn(seed).replace(dropout=0.0) for seed in range(N_SEEDS))]
    for i, config in enumerate(each for each in configs if each.architecture is Architecture.GPT):
        how = {"sampling": WARM, "is_observed": True, "window_size": 3} if i % 2 else {}
        assert_same(written(config, held=True, **how), written(config, held=False, **how))


def test_parts_stay_off_in_tensors_that_stay():
    for config in (CONFIG.replace(n_kv_heads=1), CONFIG.replace(token_mixer="gated_delta")):
        off = heads_of(config)[:2]
        found = written(config, held=True, n=5, interventions=off)
        assert_same(found, written(config, held=False, n=5, interventions=off))
        assert found._decoding is not None
        untouched = written(config, held=True, n=5).new_tokens[-1].logits
        assert not torch.allclose(found.new_tokens[-1].logits, untouched)


def test_a_part_that_is_off_writes_nothing_in_a_grown_text():
    off = Intervention(part=Part.FEED_FORWARD, layer=1)
    model = on_device(CONFIG)
    for each in model.layers[1].feed_forward.parameters():
        torch.nn.init.zeros_(each)
    without = Generation(model, CONFIG, PROMPT, GREEDY, seed=3)
    without.advance(N_NEW)
    assert_same(written(CONFIG, held=True, interventions=[off]), without)


def test_rooms_are_outgrown_and_the_context_moves_on():
    long = {"n": 20, "sampling": WARM, "is_observed": True}
    assert_same(written(CONFIG, held=True, **long), written(CONFIG, held=False, **long))


def test_what_no_graph_can_hold_is_written_as_before():
    config = CONFIG.replace(n_experts=4)
    assert not can_capture(config, "cuda") and can_capture(CONFIG, "cuda")
    text = Generation(on_device(config), config, PROMPT, GREEDY)
    text.advance(3)
    assert text._decoding is None


def test_the_numbers_that_choose_are_those_of_multinomial():
    logits = torch.randn(3, 50, generator=generator(0, "test"))
    ours = choose_each(logits, SamplingConfig(), generator(1, "sampling"))
    theirs = torch.multinomial(logits.softmax(-1), 1, generator=generator(1, "sampling"))
    assert torch.equal(ours, theirs[:, 0])


def test_a_token_is_read_while_the_next_is_made(monkeypatch: pytest.MonkeyPatch):
    happened, numbers = [], count()

    class Noted(decoding.Reading):
        def __init__(self, *scalars):
            super().__init__(*scalars)
            self.number = next(numbers)
            happened.append(("made", self.number))

        def read(self):
            happened.append(("read", self.number))
            return super().read()

    monkeypatch.setattr(decoding, "Reading", Noted)
    monkeypatch.setattr(generation, "LEAST_HELD", 16)
    written(CONFIG, held=True, n=7)
    order = {what: i for i, what in enumerate(happened)}
    first = AHEAD if DEVICE == "cpu" else 4  # until it is a graph each is waited for
    for number in range(first, 6):
        assert order["made", number] < order["read", number - 1]
        assert order["read", number - AHEAD] < order["made", number]


@pytest.mark.parametrize("n_before", [0, 2])
def test_a_device_without_memory_changes_no_text(n_before: int, monkeypatch: pytest.MonkeyPatch):
    steps, whole_step = count(), Decoding.step

    def step(self: Decoding) -> None:
        if next(steps) == n_before:
            raise torch.OutOfMemoryError("CUDA out of memory")
        whole_step(self)

    monkeypatch.setattr(Decoding, "step", step)
    lost, wanted = (written(CONFIG, held=held, sampling=WARM) for held in (True, False))
    assert_same(lost, wanted)
    assert next(steps) == n_before + 1


@on_cuda
def test_on_cuda_a_token_is_a_replay():
    monkey = written(CONFIG, held=True, n=11)
    assert monkey._decoding is not None and monkey._decoding._again.is_graph


@on_cuda
def test_texts_that_grow_at_once_do_not_mix():
    configs = [CONFIG.replace(position_kind=kind) for kind in ("rope", "alibi", "learned")] * 2
    with ThreadPoolExecutor(len(configs)) as pool:
        texts = pool.map(lambda each: written(each, held=True, n=12, sampling=WARM), configs)
        for text, config in zip(texts, configs, strict=True):
            assert_same(text, written(config, held=False, n=12, sampling=WARM))
