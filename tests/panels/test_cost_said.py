"""What the panels of Cost say, in both languages, from facts filled in by hand."""

from dataclasses import replace

import pandas as pd
import pytest
from said_in import in_both

from blocks import PRESETS, ModelConfig
from blocks.cost.crossover import CrossoverFacts
from blocks.cost.device_fit import LARGEST_BATCH, FitFacts, Fits
from blocks.cost.device_peak import Bandwidth, DevicePeak, MatmulRate, Traffic
from blocks.cost.device_speed import DeviceSpeed
from blocks.cost.fit import Need
from blocks.cost.need import MemoryFacts, Variant
from blocks.cost.operations import Phase, Tokens
from blocks.cost.pass_time import PassTime
from blocks.cost.passes import Operation, PassKind
from blocks.cost.roofline_facts import (
    Case,
    LayerFacts,
    LeftOut,
    ModelFacts,
    RooflineFacts,
    WeightRead,
    counted_facts,
)
from blocks.cost.setup import Layout, Setup, WeightFormat
from blocks.cost.step import Decoding, PassTotal, Shape, StepFacts
from blocks.cost.sweep import Point, Sweep, Swept
from blocks.cost.sweep_facts import Formats, SweepFacts, format_facts, formula_facts
from blocks.cost.timing import Place, Times
from blocks.cost.training_cost import TrainingCost
from blocks.cost.training_plan import OnDevice, Plan, TrainingFacts
from pages.figures.drawn_chart import drawn
from pages.panels.attention import kinds
from pages.panels.attention.kinds import pairs, pairs_facts
from pages.panels.cost import (
    device,
    fits,
    flops,
    memory,
    roofline,
    shared,
    sweeps,
    sweeps_picture,
    training,
)

STEP = StepFacts(
    config=ModelConfig(),
    setup=Setup(),
    operations=(
        Operation("scores", "attention", "", "", 10**9, 2 * 10**9, 10**9),
        Operation("up_proj", "feed_forward", "", "", 10**9, 2 * 10**9),
    ),
    passes=(),
    chosen=PassTotal(PassKind.TRAINING, 6 * 10**9, 4),
    n_parameters=10**9,
    n_active=250 * 10**6,
    decoding=None,
)
GB = 10**9
MEMORY = MemoryFacts(
    is_training=True,
    here="cpu",
    shape=Shape(128, 2),
    variants=(Variant("chosen", Setup(), Need(weights=2 * GB, activations=6 * GB)),),
    state=16 * GB,
    n_parameters=GB,
    cache_per_token=0,
    activations=None,
    has_head_bias=False,
    has_dropout=False,
    devices=(),
)
FITS = FitFacts(
    is_training=True,
    here="cpu",
    shape=Shape(128, 2),
    n_devices=1,
    usable=0.9,
    devices=(Fits("here", 4 * GB, 8 * GB, 0, 64), Fits("t4", 14 * GB, 8 * GB, 3, 512)),
    lines=(),
    growth=pd.DataFrame(),
    twice=12 * GB,
    has_cache=False,
    most_positions=0,
)
GROWN = pd.DataFrame({"n": [128], "weights": 5.0 * GB, "activations": GB, "cache": 2.0 * GB})
COST = TrainingCost(
    rule=10**15, tables=0, vectors=0, idle=0, pairs=10**14, rest=0, exact=11 * 10**14, recomputed=0
)
PLANNED = TrainingFacts(
    plan=Plan(10**9, "t4", 4, 0.5, 0.9),
    setup=Setup(),
    n_parameters=10**6,
    optimal_tokens=20 * 10**6,
    tokens_per_parameter=1000.0,
    cost=COST,
    devices=(OnDevice("t4", 65e12, 14_400.0, 3600.0, 2, is_enough=True),),
    is_block=False,
)
LINE = Sweep(
    ModelConfig(), Tokens(Phase.PREFILL, 64), Swept.TOKENS, False, Place("cpu", "float32"), seed=3
)
SWEPT = SweepFacts(
    lines=(LINE,),
    rows=pd.DataFrame(),
    exponents={"seconds": {"float32": 1.2}, "flops": {"float32": 1.1}, "bytes": {"float32": 0.9}},
    skipped=(("float32", Point(512, n_bytes=3 * GB)), ("bfloat16", Point(1024, seconds=1.5))),
    load=0.0,
)
PEAK = DevicePeak(flops_per_s=1e12, bytes_per_s=1e11, start_seconds=1e-6)
READ = WeightRead("out_proj", 4 * 10**6, 2 * 10**6, 0.5, 40)
BELOW = RooflineFacts(
    Case(ModelConfig(), Tokens(Phase.DECODE, 16, 2), Place("cpu", "float32"), seed=3),
    PEAK,
    budget=GB,
    rows=pd.DataFrame(
        {
            "operation": ["q_proj", "scores", "softmax", "residual"],
            "bound": ["compute", "memory", "memory", "start"],
            "share": [0.5, 0.04, 1.5, 0.01],
        }
    ),
    left_out=(LeftOut("softmax", 2.0, 3 * GB),),
    weight_read=READ,
)


def test_the_step(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, flops.says_flops, STEP)
    assert said["en"].startswith(
        "6 GFLOP in total: 1.5 GFLOP for each of 4 tokens, 1.00 times the estimate of "
        "6 FLOPs per active parameter (250,000,000 per token). Attention between tokens "
        "(scores and weighted sum) accounts for 50%."
    )
    assert said["en"].endswith(
        "recomputation in the backward pass takes 1 GFLOP, because fused attention does not "
        "store the scores."
    )
    assert "6 GFLOP" in said["zh"] and "250,000,000" in said["zh"]
    one = replace(
        STEP,
        chosen=PassTotal(PassKind.DECODE, 10**9, 1),
        operations=(Operation("up_proj", "feed_forward", "", "", 10**9),),
        n_active=10**9,
    )
    said = in_both(monkeypatch, flops.says_flops, one)["en"]
    assert said.startswith("1 GFLOP per token, 0.50 times the estimate of 2 FLOPs per parameter.")
    assert said.endswith("accounts for 0%.")


def test_decoding(monkeypatch: pytest.MonkeyPatch):
    facts = Decoding(n=512, batch=4, read=10**12, written=2 * 10**9, device="H100", could=591.0)
    said = in_both(monkeypatch, flops.says_decoding, facts)
    assert "takes 1 TFLOP, 500 times as much as generating one more (2 GFLOP)." in said["en"]
    assert "serves at most 8 FLOPs, while in the same time H100 could do 591" in said["en"]
    assert "500" in said["zh"]


def test_the_crossover(monkeypatch: pytest.MonkeyPatch):
    facts = CrossoverFacts(100, 384.0, 64, 0.2, is_causal=True, formula="", growth=pd.DataFrame())
    said = in_both(monkeypatch, flops.says_crossover, facts)
    assert "cost the same at n = 384, which is 6.00 times d_model. At your n = 100" in said["en"]
    assert "is 20% of a layer's FLOPs" in said["en"] and said["en"].endswith("to n = 768.")
    assert "384" in said["zh"] and "20%" in said["zh"]
    seeing = replace(facts, is_causal=False)
    assert "Masked" not in in_both(monkeypatch, flops.says_crossover, seeing)["en"]
    local = replace(facts, n_local=22, n_layers=26, window=512)
    said = in_both(monkeypatch, flops.says_crossover, local)
    assert "In 22 of 26 layers a token attends to at most 512 tokens" in said["en"]
    assert "26" in said["zh"] and "512" in said["zh"]
    both = in_both(monkeypatch, flops.says_crossover, replace(local, is_causal=False))["en"]
    assert "at most 1,023 tokens" in both


def test_the_memory(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, memory.says_memory, MEMORY)
    assert said["en"].startswith("8 GB in total; the largest part is activations (6 GB, 75%).")
    assert said["en"].endswith("take 16 bytes per parameter, before any activations.")
    assert "Weights, their float32 copy, gradients" in said["en"]
    assert "8 GB" in said["zh"] and "75%" in said["zh"]
    chosen = Variant("chosen", Setup(n_devices=8), Need(weights=2 * GB))
    several = in_both(monkeypatch, memory.says_memory, replace(MEMORY, variants=(chosen,)))["en"]
    assert "2 GB on each device" in several
    assert several.endswith("This 16 GB is split among 8 devices.")
    writing = Variant("chosen", Setup(), Need(weights=GB, cache=GB // 2))
    use = replace(MEMORY, is_training=False, variants=(writing,), cache_per_token=2000)
    said = in_both(monkeypatch, memory.says_memory, use)["en"]
    assert said.endswith("The cache takes 2 kB per token (bfloat16): 500 MB for 2 × 128 tokens.")
    apart = writing._replace(setup=Setup(n_devices=4))
    said = in_both(monkeypatch, memory.says_memory, replace(use, variants=(apart,)))["en"]
    assert said.endswith("(bfloat16): 500 MB on each device for 2 × 128 tokens.")
    several = in_both(monkeypatch, memory.says_estimate, replace(use, variants=(apart,)))["en"]
    assert several.startswith("Tensor parallelism")
    rounded = writing._replace(setup=Setup(weight_format=WeightFormat.INT4))
    said = in_both(monkeypatch, memory.says_memory, replace(use, variants=(rounded,)))["en"]
    assert "per token (bfloat16)" in said
    fewer = Variant("grouped", Setup(), Need(weights=GB // 2, cache=GB // 4), n_kv_heads=8)
    facts = replace(use, variants=(writing, fewer))
    said = in_both(monkeypatch, memory.says_memory, facts)["en"]
    assert said.endswith(
        "would save 250 MB of KV cache and 500 MB of weights in k_proj and v_proj."
    )
    more = Variant("all_heads", Setup(), Need(weights=2 * GB, cache=GB), n_kv_heads=32)
    said = in_both(monkeypatch, memory.says_memory, replace(use, variants=(writing, more)))["en"]
    assert "MHA (n_kv_heads = 32) would take 500 MB more for the KV cache and 1 GB more for" in said
    assert memory.variant_name(fewer) == "GQA · n_kv_heads 8"


def test_a_text_longer_than_the_model_was_made_for(monkeypatch: pytest.MonkeyPatch):
    config = PRESETS["llama-7b"]
    assert in_both(monkeypatch, shared.says_length, config, 2048) == {"en": "", "zh": ""}
    assert "limit of 2,048 tokens" in in_both(monkeypatch, shared.says_length, config, 8192)["en"]


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({}, "is not counted."),
        ({"has_dropout": True}, "dropout itself."),
        ({"has_dropout": True, "has_head_bias": True}, "kept in memory."),
        ({"is_training": False}, "the allocator is not."),
    ],
)
def test_the_estimate(monkeypatch: pytest.MonkeyPatch, changes: dict, end: str):
    said = in_both(monkeypatch, memory.says_estimate, replace(MEMORY, **changes))
    assert said["en"].endswith(end)


def test_what_fits(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, fits.says_fits, FITS)
    assert said["en"] == (
        "For training: 8 GB fits on 1 of 2 devices; the smallest is NVIDIA T4. "
        "It does not fit on this device. Up to 90% of each device's memory is used."
    )
    assert "NVIDIA T4" in said["zh"] and "90%" in said["zh"]
    assert (
        "1.50 times the memory (8 GB → 12 GB)" in in_both(monkeypatch, fits.says_growth, FITS)["en"]
    )
    assert [FITS.memory(each) for each in FITS.devices] == [
        round(4 * GB / 0.9),
        round(14 * GB / 0.9),
    ]
    used = replace(FITS, is_training=False)
    said = in_both(monkeypatch, fits.says_fits, used)["en"]
    assert said.startswith("For inference: 8 GB fits")
    none = replace(FITS, devices=FITS.devices[:1])
    assert "fits on none of these" in in_both(monkeypatch, fits.says_fits, none)["en"]
    several = replace(
        used, devices=(*FITS.devices, Fits("h100-sxm", 72 * GB, 80 * GB, 0, 0)), fewest=(16, 8, 2)
    )
    said = in_both(monkeypatch, fits.says_fits, several)["en"]
    assert "With tensor parallelism it fits on 2 × NVIDIA H100 SXM." in said


def test_what_fits_shared(monkeypatch: pytest.MonkeyPatch):
    facts = replace(FITS, n_devices=8, devices=FITS.devices[1:])
    said = in_both(monkeypatch, fits.says_fits, facts)["en"]
    assert said.startswith(
        "For training with data parallelism: each of 8 devices needs 8 GB, which fits on 1 of 1 "
        "device types;"
    )
    assert "The largest batch on that type is 3 per device and 24 in total." in said
    most = replace(facts, devices=(Fits("t4", 14 * GB, 8 * GB, LARGEST_BATCH, 1),))
    assert "at least 65,536 per device" in in_both(monkeypatch, fits.says_fits, most)["en"]
    none = replace(facts, devices=FITS.devices[:1])
    said = in_both(monkeypatch, fits.says_fits, none)["en"]
    assert "more than any of these device types has" in said
    assert "ZeRO stage 3" in in_both(monkeypatch, fits.says_search, facts)["en"]
    used = replace(
        facts,
        is_training=False,
        chunk=8192,
        growth=GROWN,
        layout=Layout(tensor=8),
        copied=256 * 10**6,
        cache_copies=2.0,
    )
    said = in_both(monkeypatch, fits.says_fits, used)["en"]
    assert "For inference (tensor parallel 8): each of 8 devices needs 8 GB" in said
    assert "256 MB are copies that other devices also hold" in said and "2 times" in said
    assert "The largest batch on that type is 3." in said
    assert "on each of" not in in_both(monkeypatch, fits.says_growth, used)["en"]
    search = in_both(monkeypatch, fits.says_search, used)
    assert search["en"].startswith("Tensor parallelism") and "n_kv_heads" in search["zh"]
    parts = in_both(monkeypatch, fits.says_parts, replace(used, has_cache=True))
    assert parts["en"] == (
        "On each device: Weights take 5 GB, the cache 2 GB and activations 1 GB. Activations are "
        "those of one pass: prompts are read in chunks of at most 8,192 tokens, all texts "
        "taken together."
    )
    assert "8,192" in parts["zh"]
    whole = in_both(monkeypatch, fits.says_parts, replace(used, n_devices=1, chunk=0))["en"]
    assert whole.endswith("Activations are those of one pass over all prompts.")


def test_the_training(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, training.says_cost, PLANNED)
    assert said["en"] == (
        "6·N·D = 6 · 1,000,000 · 1 B = 1 PFLOP. The exact count is 1.1 PFLOP, 1.10 times that."
    )
    assert "1.1 PFLOP" in said["zh"]
    said = in_both(monkeypatch, training.says_optimal, PLANNED)["en"]
    assert said.startswith("D is 1,000 tokens per active parameter.")
    assert "FLOPs: 20 M tokens for this model" in said


def test_the_hours(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, training.says_hours, PLANNED)
    assert said["en"].startswith(
        "4 × NVIDIA T4 at 50% of 65 TFLOP/s take 1 hour; one device would take 4 hours. Weights"
    )
    assert said["en"].endswith("need 2 of these devices (using 90% of their memory).")
    assert "NVIDIA T4" in said["zh"]
    alone = replace(PLANNED, plan=PLANNED.plan._replace(n_devices=1))
    said = in_both(monkeypatch, training.says_hours, alone)
    assert said["en"].startswith("One NVIDIA T4 at 50% of 65 TFLOP/s takes 1 hour. Weights")
    few = replace(PLANNED, devices=(OnDevice("t4", 65e12, 1.0, 1.0, 8, is_enough=False),))
    twice = replace(PLANNED, cost=PLANNED.cost._replace(recomputed=10**14))
    said = in_both(monkeypatch, training.says_hours, twice)
    assert "the 8.3% that is computed twice" in said["en"] and "8.3%" in said["zh"]
    assert ". But weights" in in_both(monkeypatch, training.says_hours, few)["en"]
    n_flops = PLANNED.cost.exact + PLANNED.cost.recomputed
    here = in_both(monkeypatch, training.says_here, PLANNED, n_flops / 86400 / 250)["en"]
    assert "the same training would take 250 days without a break" in here
    none = in_both(monkeypatch, training.says_hours, replace(PLANNED, devices=()))["en"]
    assert none == "NVIDIA T4 cannot compute in bfloat16: choose another number format."


def test_the_growth(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, sweeps.says_growth, SWEPT)
    assert "time grows about as n^1.20, FLOPs as n^1.10 by formula" in said["en"]
    assert said["en"].endswith("peak memory as n^0.90. Time grows in step with FLOPs.")
    assert "时间约按 n^1.20 增长" in said["zh"]
    wide = replace(SWEPT, lines=(replace(LINE, what=Swept.D_MODEL),))
    assert "As d_model doubles" in in_both(monkeypatch, sweeps.says_growth, wide)["en"]
    one = replace(SWEPT, exponents={"seconds": {}})
    assert "One size gives no slope" in in_both(monkeypatch, sweeps.says_growth, one)["en"]


def test_the_growth_by_formula(monkeypatch: pytest.MonkeyPatch):
    facts = formula_facts(LINE)
    said = in_both(monkeypatch, sweeps.says_formula, facts)
    assert f"grow as n^{facts.exponent:.2f} over" in said["en"] and "n 的" in said["zh"]
    one = replace(facts, exponent=None)
    assert "no growth to see" in in_both(monkeypatch, sweeps.says_formula, one)["en"]


def test_what_was_skipped(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, sweeps.says_skipped, SWEPT)["en"]
    assert said == (
        "Not measured. float32: from size 512 up, a pass needs about 3 GB, more than a single "
        "run may use. bfloat16: from size 1,024 up, a pass would take about 1.5 s, more than "
        "the limit of 600 ms."
    )
    assert in_both(monkeypatch, sweeps.says_skipped, replace(SWEPT, skipped=()))["en"] == ""


def test_how_it_was_swept(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, sweeps.says_how, SWEPT)["en"]
    assert "(seed 3), batch size 1; medians" in said and "counted tensor by tensor" in said
    loaded = replace(SWEPT, load=3.0, lines=(replace(LINE, what=Swept.BATCH),))
    said = in_both(monkeypatch, sweeps.says_how, loaded)["en"]
    assert "(seed 3), n = 64;" in said and "busy: 3.0 runnable processes" in said


def test_the_formats(monkeypatch: pytest.MonkeyPatch):
    facts = Formats(512, 0.02, (("bfloat16", 2.0), ("float16", 0.5), ("other", 1.05)))
    said = in_both(monkeypatch, sweeps.says_formats, facts)
    assert said["en"] == (
        "At n = 512, float32 takes 20 ms. bfloat16 pays off here: it is 2 times as fast as "
        "float32. "
        "float16 is slower here: it takes 2 times as long as float32. other is about as fast "
        "as float32 here."
    )
    assert "20 ms" in said["zh"]


def test_the_device(monkeypatch: pytest.MonkeyPatch):
    facts = DeviceSpeed(
        Place("cpu", "float32"),
        products=(MatmulRate(128, Times((1.0, 2.0))),),
        moved=(Bandwidth(Traffic.COPY, 128 * 10**6, Times((1.0,))),),
        start=Times((1e-6,)),
        load=0.1,
    )
    said = in_both(monkeypatch, device.says_speed, facts, PEAK)
    assert "reach 1 TFLOP/s (size 128), and memory delivers 100 GB/s" in said["en"]
    assert "10 FLOPs per byte" in said["en"] and said["en"].endswith("takes 1 µs.")
    assert "1 TFLOP/s" in said["zh"]
    busy = in_both(monkeypatch, device.says_speed, replace(facts, load=2.0), PEAK)["en"]
    assert busy.startswith("The machine was busy: 2.0") and "may be too low" in busy
    said = in_both(monkeypatch, device.says_how, facts)["en"]
    assert "up to 2 repeats" in said and "Arrays of 128 MB exceed" in said
    assert said.endswith("Matrices larger than 128 would take too long in this number format.")


def test_the_bounds(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, roofline.says_bounds, BELOW)
    assert said["en"] == (
        "Decoding one token with 16 already in the cache, batch size 2: compute-bound: "
        "q_proj; memory-bound: scores, softmax; so small that launching takes longer than "
        "running: residual addition. Why: out_proj reads 4 MB of weights to do 2 MFLOP "
        "per token, 0.5 FLOPs per byte; the ridge point is at 10. A batch of 40 would reach "
        "the ridge point: each weight read then serves the whole batch."
    )
    assert "；" in said["zh"] and "4 MB" in said["zh"]
    narrow = replace(BELOW, weight_read=READ._replace(batch=None))
    said = in_both(monkeypatch, roofline.says_bounds, narrow)["en"]
    assert "no batch size reaches the ridge point" in said
    reading = replace(BELOW.case, tokens=Tokens(Phase.PREFILL, 16))
    said = in_both(
        monkeypatch, roofline.says_bounds, replace(BELOW, case=reading, weight_read=None)
    )
    assert said["en"].startswith("Prefill of 16 tokens") and "Why" not in said["en"]


def test_the_reach(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, roofline.says_reach, BELOW)["en"]
    assert (
        "q_proj comes nearest to the roofline (50% of it) and scores stays furthest below it "
        "(4.0%)." in said
    )
    assert "These are above the roofline: softmax. The operands came from a cache" in said
    said = in_both(monkeypatch, roofline.says_left_out, BELOW)["en"]
    assert "only estimated: softmax (at least 2 s, up to 3 GB). Choose fewer" in said


def test_the_whole(monkeypatch: pytest.MonkeyPatch):
    layer = LayerFacts(0.01, 0.02, PassTime(Times((0.05,)), 5 * 10**6), pd.DataFrame())
    said = in_both(monkeypatch, roofline.says_layer, layer)["en"]
    assert (
        "At best, one layer takes 10 ms; its operations, timed one by one, add up to 20 ms." in said
    )
    assert "takes 50 ms (5.0 times the estimate; peak memory beyond its weights: 5 MB)" in said
    model = ModelFacts(0.1, 0.2, Times((0.4,)), 80.0)
    said = in_both(monkeypatch, roofline.says_model, model)["en"]
    assert said.endswith("it takes 400 ms (one pass), or 80 tokens per second.")
    several = replace(model, times=Times((0.4, 0.4, 0.8)))
    assert "quartiles 400 ms to 600 ms" in in_both(monkeypatch, roofline.says_model, several)["en"]


def test_number_formats_before_a_measurement(monkeypatch: pytest.MonkeyPatch):
    facts = format_facts(10**9, ("float32", "bfloat16", "float16"))
    assert (
        "4 GB in float32 and 2 GB in 16-bit formats"
        in in_both(monkeypatch, sweeps.says_bytes, facts)["en"]
    )
    assert list(facts["largest"].map("{:.5g}".format)) == ["3.4028e+38", "3.3895e+38", "65504"]
    assert sweeps.formats_table(facts).iloc[0].tolist()[2:] == ["3.4 × 10³⁸", "1.19 × 10⁻⁷"]
    assert list(facts["step"]) == [2**-23, 2**-7, 2**-10]  # IEEE 754: 23, 7 and 10 bits
    lines = sweeps_picture.formats(facts, _=str).data
    assert [line.x[0] for line in lines] == [2**-126, 2**-126, 2**-14]  # least normal numbers
    assert [line.y[0] for line in lines] == facts["step"].tolist()
    assert [line.textposition.split()[0] for line in lines] == ["top", "top", "bottom"]
    assert "float16 ends at 65,504" in in_both(monkeypatch, sweeps.says_bytes, facts)["en"]


def test_what_moves_most_for_what_it_computes_is_named_before_a_measurement(monkeypatch):
    rows = pd.DataFrame(
        {
            "operation": ["q_proj", "softmax"],
            "intensity": [140.0, 0.625],
            "group": ["attention", "attention"],
        }
    )
    said = in_both(monkeypatch, roofline.says_intensity, counted_facts(rows))["en"]
    assert said.startswith(
        "According to the formulas, q_proj has the most FLOPs per byte moved (140) and softmax "
        "the fewest (0.625)"
    )
    bars = roofline.draw_intensity(rows.iloc[::-1], _=str).data[0]
    assert list(bars.x) == [140, 0.625]


def test_what_each_way_to_attend_scores_is_counted_at_every_length():
    table = pairs_facts(512)
    found = {kind: rows["pairs"].tolist() for kind, rows in table.groupby("kind")}
    assert found["full"] == found["fused"] == [n * (n + 1) // 2 for n in table["seq_len"].unique()]
    assert found["window"][-1] == 16 * 17 // 2 + (512 - 16) * 16
    lines = drawn(pairs(table)).data
    assert lines[0].name == "full attention: n²"


def test_pairs_before_a_measurement(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, kinds.says_theory, 64)
    assert "At n = 64, one head scores 2,080 pairs of tokens" in said["en"]
    assert "2,080" in said["zh"]
    assert "904 with a window of 16" in said["en"]  # 64 · 16 − 16 · 15 / 2


def test_one_thread_is_one(monkeypatch: pytest.MonkeyPatch):
    for n, said in (1, "1 thread, "), (2, "2 threads, "):
        monkeypatch.setattr(shared.peaks, "threads", lambda device, n=n: n)
        assert said in in_both(monkeypatch, shared.where, Place("cpu", "float32", 0))["en"]
