"""Many parts in one call, gradients and names from elsewhere: as one recording at a time says."""

import pandas as pd
import pytest
import torch
from torch import Tensor

from blocks import ConfigError, ModelConfig, ablate, attributions, build, gradients, record
from blocks.inspection.output_change import kl_bits
from blocks.model.models import Model
from blocks.model.source_target import SourceTarget
from blocks.observe import Intervention, replacements

SMALL = ModelConfig(
    architecture="gpt", n_layers=2, d_model=32, n_heads=4, vocab_size=40, max_seq_len=16, dropout=0
)
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
OTHER = IDS.flip(1)


@pytest.fixture(scope="module")
def model() -> Model:
    return build(SMALL, seed=1)


def one_by_one(model: Model, x: Tensor, part: Intervention, other: Tensor | None) -> Tensor:
    source = None if other is None else record(model, other)
    changed = record(model, x, replace=replacements(part, source)).output
    return kl_bits(record(model, x).output[:, -1], changed[:, -1])


@pytest.mark.parametrize("kind", ["zero", "mean", "patch"])
def test_all_heads_at_once_are_one_head_at_a_time(model: Model, kind: str):
    other = OTHER if kind == "patch" else None
    found = ablate(model, IDS, kind=kind, other=other)
    assert len(found) == 2 * (4 + 2) * len(IDS)  # layers × (heads, attention, feed-forward)
    for each in found.itertuples():
        head = None if pd.isna(each.head) else each.head
        part = Intervention(part=each.part, layer=each.layer, head=head, kind=kind)
        expected = one_by_one(model, IDS, part, other)[each.text]
        assert each.kl_bits == pytest.approx(float(expected), rel=1e-3, abs=1e-6)


def test_two_texts_and_a_block_are_swept_too():
    translator = build(SMALL.replace(architecture="encoder-decoder", n_decoder_layers=2), seed=1)
    found = ablate(translator, SourceTarget(IDS, OTHER))
    assert set(found["stack"]) == {"encoder", "decoder"} and (found["kl_bits"] > 0).any()
    block = build(ModelConfig(architecture="block", d_model=32, n_heads=4), seed=1)
    x = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))
    changed = record(block, x, replace=replacements(Intervention(part="head_out", layer=0, head=2)))
    table = ablate(block, x).query("head == 2")
    expected = torch.cosine_similarity(record(block, x).output[:, -1], changed.output[:, -1])
    torch.testing.assert_close(torch.tensor([*table["cosine"]]).float(), expected)


def test_a_gradient_is_what_autograd_and_a_small_step_say(model: Model):
    back = gradients(model, IDS, answer=7, against=3)
    seen, hooked = record(model, IDS), {}

    def hook(_module: object, _args: object, out: Tensor) -> Tensor:
        hooked["out"] = out.detach().requires_grad_()
        return hooked["out"]

    handle = model.layers[0].register_forward_hook(hook)
    logits = model(IDS)[:, -1]
    handle.remove()
    (expected,) = torch.autograd.grad((logits[:, 7] - logits[:, 3]).sum(), [hooked["out"]])
    torch.testing.assert_close(back.tensor("resid_post", 0), expected)
    torch.testing.assert_close(back.output, seen.output)
    assert not back.tensor("resid_post", 1)[:, :-1].any()  # earlier tokens of the last layer
    assert len(back.flow()) == len(seen.flow())


def test_an_attribution_is_the_slope_of_an_ablation():
    model = build(SMALL, seed=1).double()
    table = attributions(model, IDS, answer=7, against=3)
    step = 1e-5
    for row in (0, 9, len(table) - 1):  # of one head, of another text, of a whole sub-layer
        each = table.iloc[row]
        head = None if pd.isna(each["head"]) else each["head"]
        part = Intervention(part=each["part"], layer=each["layer"], head=head)
        nearly = {part.path: lambda x, part=part: torch.lerp(x, part.changed(x), step)}
        moved = record(model, IDS).output - record(model, IDS, replace=nearly).output
        slope = (moved[each["text"], -1, 7] - moved[each["text"], -1, 3]) / step
        assert each["attribution"] == pytest.approx(float(slope), rel=1e-3)


def test_a_text_is_no_token_to_attribute_to(model: Model):
    with pytest.raises(ConfigError, match=r"use tokenizer.encode\(' She'\)"):
        attributions(model, IDS, answer=" She")


def test_patching_with_itself_is_worth_nothing(model: Model):
    assert not attributions(model, IDS, other=IDS)["attribution"].any()
    assert ablate(model, IDS, kind="patch", other=IDS)["kl_bits"].max() < 1e-5  # rounding


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda m: ablate(m, IDS, kind="off"), "zero / mean / patch"),
        (lambda m: ablate(m, IDS, kind="patch"), "other=record"),
        (lambda m: ablate(m, IDS, [Intervention(part="head_out", layer=9)]), "layers.1.head_out"),
        (lambda m: record(m, IDS, keep=["resid_pst"]), "resid_post"),
        (lambda m: gradients(build(ModelConfig(architecture="block")), m), "GPT"),
    ],
)
def test_what_is_not_there_is_said_with_the_mend(model: Model, wrong, said: str):
    with pytest.raises(ConfigError, match=said):
        wrong(model)


def test_a_hook_is_known_by_the_name_that_transformerlens_gives_it(model: Model):
    hooks = {"resid_mid": "resid_mid", "mlp_out": "feed_forward_out", "attn_out": "attention_out"}
    whole = record(model, IDS)
    for hook, name in hooks.items():
        path = f"blocks.1.hook_{hook}"
        seen = record(model, IDS, keep=[path], replace={path: lambda x: 2 * x})
        torch.testing.assert_close(seen.tensor(path), 2 * whole.tensor(name, 1))
    assert whole.tensor("blocks.0.attn.hook_pattern") is whole.tensor("pattern")
    with pytest.raises(ConfigError, match=r"layers\.1\.head_out here"):
        record(model, IDS, replace={"blocks.1.attn.hook_z": lambda x: x})
