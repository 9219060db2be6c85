"""Looking into somebody's own module: what it shows is what the module computes."""

import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from toy import assert_near, draw, scramble, toy, toy_input
from transformers import LlamaConfig, LlamaForCausalLM

from blocks import ConfigError, as_code, attach, build, record
from blocks.observe import Intervention, replacements


class Own(nn.Module):
    """Two layers of somebody else's, with the fused kernel."""

    def __init__(self, n_heads: int = 2):
        super().__init__()
        self.n_heads = n_heads
        self.h = nn.ModuleList(nn.ModuleDict({"qkv": nn.Linear(8, 24)}) for _ in range(2))

    def forward(self, x):
        for layer in self.h:
            q, k, v = (
                each.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
                for each in layer["qkv"](x).chunk(3, dim=-1)
            )
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + out.transpose(1, 2).flatten(2)
        return x


def hooks_of(module: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules())


def test_stages_are_what_the_parts_give_and_nothing_stays_behind():
    own, x = scramble(Own()), draw(1, 5, 8)
    with attach(own) as seen:
        out = own(x)
    found = seen.recording
    assert torch.equal(found.output, out) and hooks_of(own) == 0
    assert torch.equal(found.tensor("qkv", 0), own.h[0]["qkv"](x))
    assert found.flow()["stage"].tolist() == ["qkv", "qkv"]
    assert found.flow()["layer"].tolist() == [0, 1]
    assert_near(out, own(x))  # step by step as the kernel at once


def test_heads_of_torch_are_those_that_it_says():
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False
    ).eval()
    x = draw(2, 5, 8)
    layer = encoder.layers[0]
    with torch.no_grad(), attach(encoder) as seen:
        encoder(x)
    with torch.no_grad():
        wanted = layer.self_attn(x, x, x, average_attn_weights=False)[1]
    assert_near(seen.recording.pattern(0), wanted)
    assert len(seen.recording.heads(layer=1)) == 2


def test_a_file_of_ours_shows_the_patterns_of_its_model():
    model = scramble(build(toy(n_layers=2, dropout=0.0)))
    written = {"__name__": "written"}
    exec(as_code(toy(n_layers=2, dropout=0.0)), written)
    own = written["Block"]()
    own.load_state_dict(model.state_dict())
    with torch.no_grad(), attach(own) as seen:
        own(toy_input())
    ours = record(model, toy_input())
    for layer in range(2):
        assert_near(seen.recording.pattern(layer), ours.pattern(layer))
        there = seen.recording.tensor("attention_residual", layer)
        assert_near(there, ours.tensor("resid_mid", layer))


def test_a_part_is_switched_off_by_the_name_of_the_module():
    own, x = scramble(Own()), draw(1, 5, 8)
    with attach(own, replace={"h.1.qkv": torch.zeros_like}) as seen:
        changed = own(x)
    with attach(own, replace={"layers.1.pattern": torch.zeros_like}):
        without = own(x)
    assert_near(changed, without)
    assert not torch.equal(own(x), changed)
    assert not seen.recording.tensor("layers.1.qkv").any()


def test_another_thread_sees_its_own_pass_and_no_other():
    own, x, other = scramble(Own()), draw(1, 5, 8), draw(1, 3, 8)
    there = threading.Thread(target=own, args=(other,))
    with attach(own) as seen:
        there.start()
        there.join()
        with pytest.raises(RuntimeError, match="nothing has passed"):
            _ = seen.recording
        own(x)
    assert seen.recording.tensor("qkv", 0).shape[1] == 5
    assert len(seen.recording.stages) == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("h.2.qkv", "Nothing here is called h.2.qkv: the nearest names are h.[01].qkv"),
        ("layers.3.pattern", "called layers.3.pattern: the nearest names are layers.[01].pattern"),
        ("h.0", "This pass did not go through h.0"),
    ],
)
def test_a_name_that_is_not_met_gets_a_sentence(name: str, said: str):
    own = scramble(Own())
    with pytest.raises(ConfigError, match=said), attach(own, replace={name: torch.zeros_like}):
        own(draw(1, 5, 8))
    assert hooks_of(own) == 0


def test_an_error_in_the_block_is_the_one_that_is_seen():
    own = scramble(Own())
    with pytest.raises(ZeroDivisionError), attach(own, replace={"h.2": torch.zeros_like}):
        own(draw(1, 5, 8))
        _ = 1 / 0


@pytest.mark.parametrize(
    ("kernel", "dtype"), [("eager", torch.float32), ("sdpa", torch.float32), ("eager", torch.half)]
)
def test_a_head_of_a_model_of_transformers_is_switched_off(kernel: str, dtype: torch.dtype):
    sizes = {"num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 8, "vocab_size": 11}
    config = LlamaConfig(**sizes, num_attention_heads=2, num_key_value_heads=1)
    model = LlamaForCausalLM._from_config(config, attn_implementation=kernel, dtype=dtype).eval()
    ids = torch.tensor([[1, 5, 2, 7]])
    off = replacements(Intervention(part="head_out", layer=1, head=1))
    with torch.no_grad(), attach(model, replace=off) as seen:
        changed = model(ids).logits
    assert not seen.recording.tensor("head_out", 1)[:, 1].any()
    model.model.layers[1].self_attn.o_proj.weight.data[:, 4:] = 0  # the columns of that head
    with torch.no_grad():
        assert_near(changed.float(), model(ids).logits.float())
