"""What the panels of Parameters say, in both languages, from facts filled in by hand."""

import dataclasses
from dataclasses import replace

import pandas as pd
import pytest
from said_in import in_both

from blocks import ModelConfig, count_parameters
from blocks.cost.breakdown import CountFacts, Kind, Node, OpenedFacts, PartCount, Piece
from blocks.cost.growth import GrowthFacts
from blocks.cost.published import Published, PublishedFacts
from blocks.cost.variations import ChangesFacts, Variation
from blocks.inspection.conversion import FaultFacts
from blocks.inspection.file_ledger import ledger_facts
from blocks.inspection.weight_values import ValueFacts, WeightValues
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.weights.config_json import ConfigFile
from blocks.weights.conversion_faults import ConversionFault
from blocks.weights.doctor import Diagnosis
from blocks.weights.ledger import Entry, Ledger, State
from blocks.weights.multimodal import VISION
from pages.panels import parameter_table
from pages.panels.parameters import (
    breakdown,
    changes,
    config_file,
    conversion,
    file_ledger,
    published_models,
    weight_values,
)

CHANGED = ChangesFacts(
    total=1000,
    changes=tuple(
        Variation(name, {}, total, total)
        for name, total in {"untied": 1300, "twice_the_heads": 1000, "no_biases": 980}.items()
    ),
)
OVER = {
    size: pd.DataFrame(
        {
            size: [8, 64],
            "embeddings": [0.5, 0.02],
            "attention": [0.2, 0.3],
            "mixer": [0.0, 0.0],
            "feed_forward": [0.3, 0.68],
            "rest": [0.0, 0.0],
        }
    )
    for size in ("d_model", "n_layers")
}


def test_the_changes(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, changes.says_changes, CHANGED)
    assert said["en"] == (
        "The number of heads does not change the parameter count: heads split the same matrices. "
        "Biases and norms together make up 2.0% of the model. Weight tying saves 300 parameters: "
        "vocab_size · d_model."
    )
    assert "2.0%" in said["zh"] and "300" in said["zh"]
    norms = replace(CHANGED, changes=(Variation("no_norms", {}, 900, 900),))
    said = in_both(monkeypatch, changes.says_changes, norms)["en"]
    assert said == "All norms together make up 10% of the model."


def test_the_growth(monkeypatch: pytest.MonkeyPatch):
    facts = GrowthFacts(OVER, {"d_model": 8, "n_layers": 8})
    said = in_both(monkeypatch, changes.says_growth, facts)
    assert said["en"].startswith(
        "Here embeddings hold 50% of the parameters, attention 20% and feed-forward layers 30%."
    )
    assert "embeddings hold 2.0% at d_model 64" in said["en"]
    assert "50%" in said["zh"]
    bare = {size: table.assign(embeddings=0.0) for size, table in OVER.items()}
    said = in_both(monkeypatch, changes.says_growth, replace(facts, over=bare))["en"]
    assert said.endswith("feed-forward layers 30%.")
    mixed = {size: table.assign(mixer=0.2, attention=0.0) for size, table in OVER.items()}
    said = in_both(monkeypatch, changes.says_growth, replace(facts, over=mixed))["en"]
    assert "the token mixer 20% and feed-forward layers 30%." in said


COUNTED = CountFacts(
    parts=(
        PartCount("embed", Kind.EMBEDDING, 600, "", ""),
        PartCount("q_proj", Kind.ATTENTION, 300, "", ""),
        PartCount("attention_bias", Kind.ATTENTION, 60, "", ""),
        PartCount("norms", Kind.NORM, 40, "", ""),
    ),
    active=1000,
    built=1000,
    is_tied=True,
    tied_otherwise=1600,
)


def test_the_breakdown(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, breakdown.says_breakdown, COUNTED)
    assert said["en"] == (
        "The largest part is embedding: 60% of the total. Norms hold 40 parameters (4.0%), and "
        "biases 60 (6.0%). The token embedding holds 60% of the total; it is tied to the output "
        "matrix, so it counts once."
    )
    assert "60%" in said["zh"] and "4.0%" in said["zh"]
    untied = replace(COUNTED, is_tied=False)
    said = in_both(monkeypatch, breakdown.says_breakdown, untied)["en"]
    assert said.endswith("The token embedding and the output matrix hold 60% of the total.")
    bare = replace(COUNTED, parts=(), tied_otherwise=None)
    said = in_both(monkeypatch, breakdown.says_breakdown, bare)["en"]
    assert said == "This model has no parameters at all."


def test_the_total_in_brief(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, breakdown.says_in_brief, replace(COUNTED, active=250))["en"]
    assert said == (
        "parameters · each token uses **250** of them (25%) · embeddings tied; if not, **1,600** · "
        "in bfloat16 **2 kB**"
    )


def test_what_is_opened(monkeypatch: pytest.MonkeyPatch):
    whole, inside = Node("", 1000), Node("attention", 360, Kind.ATTENTION, (Node("q_proj", 300),))
    facts = OpenedFacts((whole,), ((Piece(whole, 0, ""),),))
    said = in_both(monkeypatch, breakdown.says_opened, facts)["en"]
    assert said.startswith("Click a part to open it")
    facts = OpenedFacts((whole, inside), ((Piece(inside, 0, "attention"),),))
    said = in_both(monkeypatch, breakdown.says_opened, facts)
    assert said["en"] == "Opened: attention, 360 parameters, 36% of the model."
    assert "360" in said["zh"]


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        (100, "The model set here has 100 parameters, exactly as many as Small."),
        (300, "Your model, with 300 parameters, lies between Small and Large."),
        (
            2000,
            "Your model, with 2,000 parameters, is 2 times as large as Large, the largest here.",
        ),
        (50, "Your model, with 50 parameters, is 0.5 times as large as Small, the smallest here."),
    ],
)
def test_the_published(monkeypatch: pytest.MonkeyPatch, own: int, wanted: str):
    models = tuple(
        Published(name.lower(), name, "", ModelConfig(), size, size)
        for name, size in (("Small", 100), ("Large", 1000))
    )
    said = in_both(monkeypatch, published_models.says_published, PublishedFacts(models, own))
    assert said["en"] == wanted and "Small" in said["zh"].replace("Large", "Small")
    assert (f"{own:,}" in said["zh"]) == (f"{own:,}" in wanted)


@pytest.mark.parametrize(
    ("d_head", "wanted"), [(None, "n_heads changes neither"), (16, "grow with n_heads")]
)
def test_what_more_heads_cost_is_said_as_it_is_counted(
    d_head: int | None, wanted: str, monkeypatch: pytest.MonkeyPatch
):
    config = ModelConfig(d_model=64, n_heads=4, d_head=d_head)
    few, many = (count_parameters(config.replace(n_heads=n))["count"].sum() for n in (4, 8))
    assert (many > few) == (d_head is not None)
    run = Run(config=config, input=Input(seq_len=4), mask=MaskConfig())
    assert wanted in in_both(monkeypatch, parameter_table.says_heads, run)["en"]


def test_the_values(monkeypatch: pytest.MonkeyPatch):
    moments = pd.DataFrame(
        {
            "kind": ["embedding", "attention", "norm"],
            "count": [1000, 3000, 10],
            "std": [1.0, 0.02, 9.0],
            "outside": [4, 0, 2],
        }
    )
    facts = ValueFacts(WeightValues(moments, pd.DataFrame()), 3, "normal", "cpu")
    said = in_both(monkeypatch, weight_values.says_values, facts)
    assert said["en"] == (
        "The weights are random: normal, std 0.02 (GPT-2), seed 3. The widest distribution is "
        "that of embedding (σ = 1), the narrowest that of attention (0.02). Values beyond 5 σ: "
        "4 (0.1%); the table shows the minimum and maximum."
    )
    said = in_both(monkeypatch, weight_values.says_values, replace(facts, seed=None))
    assert said["en"].startswith("The weights are trained.") and "0.1%" in said["zh"]
    opened = replace(facts, seed=None, weights="folder:x.gguf@0")
    said = in_both(monkeypatch, weight_values.says_values, opened)
    assert said["en"].startswith("The weights come from an opened file.")


LEDGER = Ledger(
    "gpt2",
    (
        Entry("a.weight", State.USED, ("b.weight",), "transpose"),
        Entry("c.weight", State.USED, ("d.weight",), "transpose"),
        Entry("e.weight", State.ASIDE, note="a buffer"),
    ),
)


def test_a_ledger_counts_what_went_where():
    said = file_ledger.says_ledger(ledger_facts(LEDGER, "`toy`"))
    assert said == (
        "`toy` (gpt2 family): 3 tensors, 2 of them used. Operations: transpose (2). "
        "Not used: not needed (1). Nothing is missing."
    )
    whole = Ledger("gpt2", LEDGER.rows[:2])
    said = file_ledger.says_ledger(ledger_facts(whole, "`toy`"))
    assert said.endswith("Nothing is missing or left over.")
    assert file_ledger.says_ledger(ledger_facts(whole)) == (
        "Saved in the format of the gpt2 family, this model has 2 tensors. "
        "Operations: transpose (2)."
    )
    tower = Entry("v.a", State.ASIDE, shape=(5, 10), dtype="BF16", note=VISION)
    part = file_ledger.says_ledger(ledger_facts(Ledger("gpt2", (*LEDGER.rows, tower)), "`toy`"))
    assert part.endswith("Left out: vision tower (1 tensor, 100 B).")
    assert [*file_ledger.frame(Ledger("gpt2", (tower,)))["parameter here"]] == ["vision tower"]
    wrong = Ledger("gpt2", (*LEDGER.rows, Entry("x", State.MISSING)))
    said = file_ledger.says_ledger(ledger_facts(wrong, "`toy`"))
    assert "missing (1). No model is built, because Blockscope does not guess." in said
    table = file_ledger.frame(wrong)
    assert [*table["status"]] == ["used", "used", "not needed", "missing"]
    assert "expected shape" not in table


ORDER, EPS = ConversionFault.QKV_ORDER, ConversionFault.NORM_EPS


def fault_facts(fault: ConversionFault | None, **changes: object) -> FaultFacts:
    table = pd.DataFrame({"token_id": [1], "sound": [0.5], "faulty": [0.25]})
    found = Diagnosis(0.5, {ORDER: 0.0, EPS: 0.4}, ORDER)
    facts = FaultFacts(fault, ((1,), (2,)), table, 1.25, found, None)
    return dataclasses.replace(facts, **changes)


def test_a_planted_fault_is_said_with_what_gives_it_away():
    said = conversion.says_fault(fault_facts(ORDER))
    assert said == (
        "Planted: order of q, k, v. The model still loads and runs, but its logits have a "
        "relative error of 0.5, and the distribution it predicts is off by 1.2 bits (KL). The"
        " comparison with the correct logits points to this fault: order of q, k, v. Once it "
        "is undone, a relative error of 0 remains."
    )
    hidden = fault_facts(EPS, found=Diagnosis(1e-9, {EPS: 0.0}, None))
    assert (
        "The logits differ from the correct ones only by rounding, so no fault is diagnosed."
        in conversion.says_fault(hidden)
    )
    loud = fault_facts(ORDER, suspected=Diagnosis(3.0, {ORDER: 1.0, EPS: 3.0}, ORDER))
    assert conversion.says_fault(loud).endswith(
        "the suspected fault is: order of q, k, v. Once it is undone, the loss falls from 3.00 to "
        "1.00 nats."
    )
    assert [*conversion.table(loud)["loss on this text, nats"]] == ["1.0000", "3.0000"]


def test_without_a_fault_the_text_alone_speaks():
    assert "No fault is planted" in conversion.says_fault(fault_facts(None))
    calm = fault_facts(None, suspected=Diagnosis(3.0, {ORDER: 3.1}, None))
    assert "(loss 3.00 nats), no fault is suspected" in conversion.says_fault(calm)


def test_every_fault_and_every_state_has_its_words():
    assert conversion.FAULTS.keys() == conversion.NAMES.keys() == set(ConversionFault)
    assert file_ledger.STATES.keys() == set(State)


def test_what_is_learned_and_what_is_fixed_is_told_apart(monkeypatch: pytest.MonkeyPatch):
    config = ModelConfig.from_flat({"architecture": "encoder-decoder", "d_model": 8, "n_heads": 2})
    config = config.replace(position_kind="sinusoidal", max_seq_len=10)
    file = ConfigFile(config, "marian", "marian", "MarianModel", (), ())
    said = in_both(monkeypatch, config_file.says_file, file, 1000)
    assert said["en"] == (
        "The model has 1,000 learned parameters, counted as in transformers' `MarianModel`. "
        "Including the 160 fixed numbers of the position tables, which are computed and never "
        "trained, num_parameters() gives 1,160."
    )
    assert "160" in said["zh"] and "1,160" in said["zh"]
    assumed = in_both(monkeypatch, config_file.says_assumed, file)["en"]
    assert assumed.endswith("counts the cache and the scores as if there were no window.")
    local = config.replace(n_layers=4, local_window=512, global_every=2)
    assumed = in_both(monkeypatch, config_file.says_assumed, file._replace(config=local))
    assert "scores of 2 of 4 layers with a window of 512 tokens" in assumed["en"]
    assert "512" in assumed["zh"]
    learned = file._replace(config=config.replace(position_kind="learned"))
    assert in_both(monkeypatch, config_file.says_file, learned, 1000)["en"].endswith(
        "`MarianModel`."
    )
