"""Every page shows models with latent attention, and with fine, shared and first dense experts."""

import pytest
from opened import assert_works, opened, said

LATENT = {"preset": "course", "d_model": 32, "n_heads": 4, "d_kv_latent": 16}
FINE = {
    **{"preset": "course", "d_model": 32, "n_heads": 4, "n_layers": 2, "n_experts": 8},
    **{"n_shared_experts": 1, "n_dense_layers": 1, "d_expert": 8, "router_kind": "sigmoid"},
}
NAMES = "attention block feed_forward masks positions normalization gpt cost parameters"


@pytest.mark.parametrize("name", NAMES.split())
def test_a_page_shows_latent_attention(name: str):
    at = opened(f"pages/{name}.py", **LATENT, position_kind="rope")
    assert_works(at, warnings=None)
    if name == "attention":
        assert "one vector of 16 numbers" in said(at) and "MLA" in said(at)
    if name == "gpt":
        assert "d_kv_latent + d_rotary" in said(at)


@pytest.mark.parametrize("name", ["feed_forward", "gpt", "cost", "parameters"])
def test_a_page_shows_fine_experts(name: str):
    assert_works(opened(f"pages/{name}.py", **FINE, lang="zh"), warnings=None)
