"""What an accelerator makes of it: recordings, pictures, ablations, texts and trainings.

`python -m tests.bench gpu`: minutes, ratios in one run, milliseconds too, the card named. Without
an accelerator the same at toy sizes, which shows that it runs and nothing else.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from blocks import PRESETS, ModelConfig, build, record
from blocks.inspection import tiles
from blocks.model import devices
from blocks.model.layout import pack_weights_for_decoding
from blocks.model.masks import MaskConfig, MaskKind
from blocks.model.models import Model
from blocks.observe import flow
from blocks.observe.captured import captured
from blocks.observe.filled import Filled
from blocks.observe.interventions import Intervention, InterventionKind, Part, heads_of
from blocks.observe.replay import Passes, Replay
from blocks.observe.run import PATTERNS, Input, Run
from blocks.observe.sweep import batches, outputs_of_each
from blocks.observe.wiring import kept_stages
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig
from blocks.training.events import Step
from blocks.training.fast_model import fast_config
from blocks.training.loop import Training
from blocks.training.recipe import RECIPES
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task
from blocks.training.update import Update
from tests.bench import gpu_served
from tests.bench.report import report
from tests.bench.usual import Usual, usual_step

MANY = 20  # replays, of which the fastest counts
MOST_SECONDS = 440  # after that no part is begun
TOY = {"n_layers": 2, "d_model": 32, "n_heads": 4, "d_ff": 64, "vocab_size": 256}
SIZES = {"gpt2-small": (24, 512), "gpt2-xl": (512,), "llama-3-8b": (512,)}
DTYPE = "bfloat16"
ZERO, PATCH = InterventionKind.ZERO, InterventionKind.PATCH


@dataclasses.dataclass(frozen=True)
class Place:
    """Where it is measured, and how much."""

    device: str
    is_toy: bool
    is_served: bool = True
    start: float = dataclasses.field(default_factory=time.perf_counter)

    def config(self, name: str) -> ModelConfig:
        """A preset, of toy size where that is asked for."""
        config = PRESETS[name].replace(dropout=0.0)
        return config.nearest(**TOY, n_kv_heads=None, d_head=None)[0] if self.is_toy else config

    def length(self, n: int) -> int:
        """Tokens of a text."""
        return min(n, 16) if self.is_toy else n

    def model(self, config: ModelConfig, dtype: str = DTYPE) -> Model:
        """With weights that nobody trained."""
        return build(config, device=self.device, dtype=devices.DTYPES[dtype])

    def run(self, config: ModelConfig, n: int, shift: int = 0) -> Run:
        """A text of `n` tokens, causal."""
        ids = tuple((i + shift) % config.vocab_size for i in range(self.length(n)))
        text = Input(tokens=tuple(map(str, ids)), token_ids=ids)
        mask = MaskConfig(mask_kind=MaskKind.CAUSAL)
        return Run(config=config, input=text, mask=mask, device=self.device, dtype=DTYPE)

    def peak(self) -> float:
        """GiB that were taken of an accelerator at the most so far; of a CPU 0."""
        return torch.cuda.max_memory_allocated() / 2**30 if self.device == "cuda" else 0.0

    def milliseconds(self, work: Callable[[], object], n: int = 5) -> float:
        """The fastest of some calls: whatever else the machine does only adds time."""
        return min(self._once(work) for _ in range(1 if self.is_toy else n))

    def _once(self, work: Callable[[], object]) -> float:
        devices.synchronize(torch.device(self.device))
        start = time.perf_counter()
        work()
        devices.synchronize(torch.device(self.device))
        return 1000 * (time.perf_counter() - start)


def measure(*, toy: bool | None = None, served: bool = True) -> None:
    """Print (a) to (d); what fails is said, and the next part goes on."""
    device = devices.available_devices()[0]
    place = Place(device, is_toy=device == "cpu" if toy is None else toy, is_served=served)
    print(f"card: {devices.device_name(device)}{', toy sizes' if place.is_toy else ''}")
    for part in parts(place):
        if time.perf_counter() - place.start > MOST_SECONDS:
            report("    no time left", "", "")
            return
        try:
            part()
        except Exception as error:  # an accelerator's minutes are short: the rest is measured
            if place.is_toy:
                raise
            report(f"    failed: {type(error).__name__}", str(error)[:120], "")
        devices.free_memory()


def parts(place: Place) -> Iterator[Callable[[], None]]:
    """The cheapest and most telling first."""
    yield lambda: of_a_model(place, "gpt2-small")
    yield lambda: generation(place, "gpt2-small", "≥ 800 tokens/s")
    yield lambda: training(place, "the page's model", 64, 12, {}, "≥ 350,000 tokens/s, ≥ 2.5")
    yield lambda: of_a_model(place, "gpt2-xl")
    wide = {"n_layers": 12, "d_model": 768, "n_heads": 12, "d_ff": 3072}
    yield lambda: training(place, "12 × 768", 512, 32, wide, "≥ 1.0")
    yield lambda: of_a_model(place, "llama-3-8b")
    yield lambda: generation(place, "llama-3-8b", "≥ 120 tokens/s")
    yield lambda: long_text(place, "llama-3-8b", 8_192)
    if place.is_served:
        yield gpu_served.budgets
        presets = ("gpt2-small",) if place.is_toy else ("gpt2-small", "gpt2-xl", "llama-3-8b")
        yield lambda: gpu_served.waited_for(presets, place.length(400))
        yield lambda: gpu_served.at_once(4 if place.is_toy else 20, 0.1 if place.is_toy else 1)


def of_a_model(place: Place, name: str) -> None:
    """(a) and (b) of one model, whose weights are drawn once."""
    config = place.config(name)
    start = time.perf_counter()
    model = place.model(config)
    devices.synchronize(torch.device(place.device))
    report(f"weights of {name}", f"{time.perf_counter() - start:.2f} s", "8 B: ≤ 2 s")
    for n in SIZES[name]:
        summed_up(place, place.length(n) * config.d_model)
        recorded_against_plain(place, f"{name}, {n} tokens, {DTYPE}", model, place.run(config, n))
    first_picture(place, name, model, config)
    ablations(place, name, model, config)
    patched(place, name, model, config)


def summed_up(place: Place, size: int) -> None:
    """Moments of twenty stages: our own kernels, where they run, and torch's."""
    x = torch.randn(20, size, device=place.device).to(devices.DTYPES[DTYPE])
    torchs = place.milliseconds(lambda: flow.of_rows(x))
    if x.is_cuda and (own := flow.own_kernels()):
        n = torch.tensor(1, device=place.device)
        ours = place.milliseconds(lambda: own(x.unbind(), 1, size, n))
        found = own(x.unbind(), 1, size, n)
        is_same = torch.allclose(found, flow.of_rows(x), atol=1e-5, rtol=1e-5)
        found = f"{ours / torchs:.2f}  ({ours:.2f} / {torchs:.2f} ms; equal {is_same})"
        report(f"(a) moments of 20 × {size}: own kernels / torch", found, "< 1")
    else:
        report(f"(a) moments of 20 × {size}: torch, no kernels of our own", f"{torchs:.2f} ms", "")


def recorded_against_plain(place: Place, name: str, model: Model, run: Run) -> None:
    """(a): both captured, and both from Python as they are now."""
    text, asked = Filled(run.values(), run.pass_mask()), kept_stages(run.config)

    def work() -> None:
        model(text.x, text.mask)

    with torch.no_grad():
        plain = captured(work, text.x.device)
        bare = place.milliseconds(lambda: plain(work), MANY)
        eager = place.milliseconds(work)
        report(f"(a) plain, {name}: graph", f"{bare:.2f} ms, eager {eager:.2f}", "8 B: ≤ 15 ms")
        for what, kept, later, aim in (
            ("statistics", (), (), "≤ 1.08, 24 tokens ≤ 1.03"),
            ("as a page: patterns on demand", asked, PATTERNS, "≤ 1.15"),
            ("and all patterns whole", ("pattern",), (), "≤ 1.15"),
        ):
            again = Replay(model, text, keep=kept, later=later)
            seen = place.milliseconds(partial(again.again, again._run), MANY)
            how = {"mask": text.mask, "keep": kept, "later": later}
            today = place.milliseconds(partial(record, model, text.x, **how))
            found = f"{seen / bare:.2f}  ({seen:.2f} / {bare:.2f} ms; eager {today:.2f})"
            report(f"(a) recorded / plain, {name}, {what}", found, aim)
            one, other = again(text), record(model, text.x, **how)
            is_same = torch.equal(one.output, other.output)
            far = float((one.moments - other.moments).abs().max())
            report("    the recorder's logits", f"{is_same}, moments within {far:.0e}", "True")


def long_text(place: Place, name: str, n: int) -> None:
    """What a page shows of a text as long as it may be: time, memory beside the weights."""
    config = place.config(name)
    model, run = place.model(config), place.run(config, n)
    before = place.peak()
    times = [place.milliseconds(lambda: run.record(model).flow(), 1) for _ in range(3)]
    found = f"{min(times):.0f} ms, {place.peak() - before:.1f} GiB"
    report(f"    recording of {name}, {place.length(n):,} tokens", found, "was 512 tokens at most")


def first_picture(place: Place, name: str, model: Model, config: ModelConfig) -> None:
    """(b): what a page waits for after another text of the same length: eager, then held."""
    passes = Passes(2**34)
    for what in ("first", "second, captured", "third, replayed"):
        run = place.run(config, 512, shift=len(what))
        start = time.perf_counter()
        seen = passes.record(run, model)
        seen.flow()
        flow = 1000 * (time.perf_counter() - start)
        start = time.perf_counter()
        tiles.encode(seen.pattern(0, heads=slice(1))[:1], run.build_mask()).cpu()
        head = 1000 * (time.perf_counter() - start)
        report(f"(b) {what} pass of {name}", f"flow {flow:.1f}, map {head:.1f} ms", "≤ 150, ≤ 30")
    for why in filter(None, passes.asked.values()):
        report("    not held", why[:120], "")


def ablations(place: Place, name: str, model: Model, config: ModelConfig) -> None:
    """(b): each head changed in turn; of a large model the first, and what all would take."""
    n = 64 if name.startswith("gpt2") else 128
    run, other = place.run(config, n), place.run(config, n, shift=9)
    seen, heads = run.record(model), [part for part in heads_of(config) if part.head is not None]
    source = record(model, other.values(), mask=other.pass_mask(), keep={Part.HEAD})
    for kind, aim in ((ZERO, "GPT-2 small ≤ 0.2 s, 8 B ≤ 20 s"), (PATCH, "")):
        parts = [dataclasses.replace(part, kind=kind) for part in heads[:256]]
        start = time.perf_counter()
        for batch in batches(run, parts):
            outputs_of_each(run, model, seen, batch, 3, other=source)
        devices.synchronize(torch.device(place.device))
        seconds = (time.perf_counter() - start) * len(heads) / len(parts)
        report(f"(b) all {len(heads)} heads of {name} in turn, {kind}", f"{seconds:.2f} s", aim)


def patched(place: Place, name: str, model: Model, config: ModelConfig) -> None:
    """(b): a head that writes what it wrote for another text: another head each time."""
    passes, run, times = Passes(2**34), place.run(config, 512), []
    for head in range(4):
        part = Intervention(part=Part.HEAD, layer=1, head=head, kind=PATCH)
        other = place.run(config, 512, shift=9).input
        changed = dataclasses.replace(run, interventions=(part,), other=other)
        times.append(place.milliseconds(partial(passes.record, changed, model), 1))
    eager = place.milliseconds(lambda: changed.record(model))
    is_same = torch.equal(passes.record(changed, model).output, changed.record(model).output)
    found = f"{', '.join(f'{each:.1f}' for each in times)} ms, eager {eager:.1f}; equal {is_same}"
    report(f"(b) a patched head of {name}, four in turn", found, "True")


def generation(place: Place, name: str, aim: str) -> None:
    """(c): tokens a second, the reading of 64 included; GPT-2 small beside `transformers`."""
    config = place.config(name)
    model = pack_weights_for_decoding(place.model(config))
    n = 8 if place.is_toy else 256
    ids = [i % config.vocab_size for i in range(n // 4)]
    warm = SamplingConfig(temperature=0.8, top_k=50, top_p=0.95)
    ways: dict[str, dict[str, Any]] = {
        "": {},
        ", sampled": {"sampling": warm},
        ", patterns seen": {"is_observed": True},
        ", a head off": {"interventions": heads_of(config)[:1]},
    }
    speeds = []
    for way, more in ways.items():
        texts: list[Generation] = []

        def ours(more: dict[str, Any] = more, texts: list[Generation] = texts) -> None:
            how = {"sampling": SamplingConfig(temperature=0)} | more
            texts[:] = [Generation(model, config, ids, **how)]
            texts[0].advance(n)

        place.milliseconds(ours, 1)
        speeds.append(1000 * n / place.milliseconds(ours, 3))
        token = min(each.milliseconds for each in texts[0].new_tokens)
        found = f"{speeds[-1]:.0f} tokens/s, a token {token:.2f} ms, {_how(texts[0])}"
        report(f"(c) {name} writes, {DTYPE}{way}", found, aim)
    if name == "gpt2-small":
        theirs = 1000 * n / _their_milliseconds(place, ids, n)
        report("(c) … / transformers", f"{speeds[0] / theirs:.2f}  ({theirs:.0f} tokens/s)", "≥ 4")


def _their_milliseconds(place: Place, ids: list[int], n: int) -> float:
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_layer": 2, "n_embd": 32, "n_head": 4} if place.is_toy else {}
    model = GPT2LMHeadModel(GPT2Config(**sizes)).eval().to(place.device, torch.bfloat16)
    x = torch.tensor([ids], device=place.device)
    how: dict[str, Any] = {"max_new_tokens": n, "min_new_tokens": n, "pad_token_id": 0}
    how |= {"attention_mask": torch.ones_like(x), "do_sample": False, "use_cache": True}

    def work() -> None:
        with torch.inference_mode():
            model.generate(x, **how)

    place.milliseconds(work, 1)
    return place.milliseconds(work, 3)


def training(
    place: Place, name: str, seq_len: int, n_texts: int, change: dict[str, int], aim: str
) -> None:
    """(d): tokens a second with events on, beside torch's own layers, compiled where it can."""
    n_steps = 12 if place.is_toy else 40 if change else 200
    seq_len, n_texts = (16, 2) if place.is_toy else (seq_len, n_texts)
    task = TaskConfig(kind=TaskKind.TEXT, seq_len=seq_len)
    config = fast_config(build_task(task), **({} if place.is_toy else change))
    recipe = RECIPES["fast"].replace(
        dtype=DTYPE, n_steps=n_steps, batch_size=n_texts, eval_every=n_steps
    )
    spec = TrainingSpec(config=config, task=task, recipe=recipe, device=place.device)
    ours_of = Training(spec)
    times = [each.seconds for each in ours_of.events() if isinstance(each, Step)]
    half = len(times) // 2
    ours = seq_len * n_texts * (len(times) - 1 - half) / (times[-1] - times[half])
    ended_as = _how(ours_of.to_update)
    usual = Usual(config, seq_len).to(place.device)
    steps = {"eager": usual} if place.is_toy else {"eager": usual, "compiled": torch.compile(usual)}
    for how, model in steps.items():
        step = usual_step(model, usual, config.vocab_size, n_texts, seq_len, place.device)
        for _ in range(3):
            step()
        theirs = 1000 * seq_len * n_texts / place.milliseconds(step, 10)
        found = f"{ours / theirs:.2f}  ({ours:,.0f} / {theirs:,.0f} tokens/s, {ended_as})"
        report(f"(d) {name}, {DTYPE} / torch's own layers, {how}", found, aim)


def _how(done: Generation | Update) -> str:
    """Whether it ended up as a graph."""
    held = done._decoding if isinstance(done, Generation) else done
    return "captured" if held is not None and held._again.is_graph else "uncaptured"
