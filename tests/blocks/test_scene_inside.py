"""Inside of experts and of layers that carry a state: what is drawn makes what was written."""

import pytest
import torch
from test_scene import run_of
from toy import scramble

from blocks import ModelConfig, build, record
from blocks.inspection.scene import opened_layers, scene
from blocks.inspection.scene_inside import delta_states
from blocks.model.attention import join_heads, split_heads

GPT = ModelConfig(architecture="gpt", n_layers=2, d_model=16, n_heads=2, vocab_size=8)


def seen_of(config: ModelConfig):
    run = run_of(config)
    model = scramble(build(config))
    return model, scene(run, model, opened_layers(run, 0), 5), run


def test_the_state_of_a_gru_makes_what_is_written():
    model, found, _run = seen_of(GPT.replace(token_mixer="gru"))
    tensors = found.seen.tensors
    written = model.layers[0].attention.out_proj(tensors["layers.0.state"])
    torch.testing.assert_close(written, tensors["layers.0.attention_out"])
    reference = torch.nn.GRU(16, 16, batch_first=True)
    mixer = model.layers[0].attention
    with torch.no_grad():
        reference.weight_ih_l0.copy_(mixer.input_proj.weight)
        reference.weight_hh_l0.copy_(mixer.state_proj.weight)
        reference.bias_ih_l0.copy_(mixer.input_proj.bias)
        reference.bias_hh_l0.copy_(mixer.state_proj.bias)
        states, _last = reference(tensors["layers.0.attention_norm"])
    torch.testing.assert_close(states, tensors["layers.0.state"], rtol=1e-4, atol=1e-5)


def test_what_is_read_from_a_delta_rule_step_by_step_makes_what_is_written():
    model, found, _run = seen_of(GPT.replace(token_mixer="gated_delta"))
    mixer, tensors = model.layers[0].attention, found.seen.tensors
    x = tensors["layers.0.attention_norm"]
    with torch.no_grad():
        stays, writes, _size, read = delta_states(mixer, x)
        gate = split_heads(torch.nn.functional.silu(mixer.out_gate_proj(x)), mixer.n_heads)
        again = join_heads(gate * mixer.head_norm(read))
    torch.testing.assert_close(again, tensors["layers.0.read"], rtol=1e-3, atol=1e-5)
    assert ((stays > 0) & (stays < 1) & (writes > 0) & (writes < 1)).all()


@pytest.mark.parametrize("gated", ["gelu", "swiglu"])
def test_the_experts_of_a_token_make_what_is_written(gated: str):
    config = GPT.replace(n_experts=4, n_active_experts=2, activation=gated)
    model, found, run = seen_of(config)
    tensors, mixture = found.seen.tensors, model.layers[1].feed_forward
    whole = record(model, run.values(), mask=run.build_mask())
    index = whole.tensor("expert_index", 1)[0]
    hidden = tensors["layers.1.expert_hidden"][0].unflatten(-1, (2, -1))
    sent = tensors["layers.1.experts"][0]
    assert hidden.shape[-1] == config.d_expert
    with torch.no_grad():
        for token, chosen in enumerate(index.tolist()):
            said = [
                sent[token, e] * mixture.experts[e].down_proj(hidden[token, c])
                for c, e in enumerate(chosen)
            ]
            exact = whole.tensor("feed_forward_out", 1)[0, token]
            torch.testing.assert_close(sum(said), exact, rtol=1e-4, atol=1e-5)
