"""Pages show latent attention, fine, shared and first dense experts, and norms left out."""

import pytest
from opened import as_text, assert_works, opened, said, settings
from streamlit.testing.v1 import AppTest

pytestmark = pytest.mark.usefixtures("shallow")

LATENT = {"preset": "course", "d_model": 32, "n_heads": 4, "d_kv_latent": 16}
FINE = {
    **{"preset": "course", "d_model": 32, "n_heads": 4, "n_layers": 2, "n_experts": 8},
    **{"n_shared_experts": 1, "n_dense_layers": 1, "d_expert": 8, "router_kind": "sigmoid"},
}
MODERN = {
    **{"preset": "course", "d_model": 32, "n_heads": 4, "n_layers": 2, "first_norm": False},
    **{"norm_bias": False, "local_window": 3, "global_every": 2, "global_first": True},
}
NAMES = "attention block feed_forward masks positions normalization gpt cost parameters"


def shown(name: str, **link: object) -> AppTest:
    """The page with a model of which nothing is mended: it is the one that was asked for."""
    at = opened(f"pages/{name}.py", **link)
    assert_works(at, warnings=None)
    wanted = {field: as_text(value) for field, value in link.items() if field != "preset"}
    assert settings(at).items() >= wanted.items()
    return at


@pytest.mark.parametrize("name", NAMES.split())
@pytest.mark.thinned
def test_a_page_shows_latent_attention(name: str):
    at = shown(name, **LATENT, position_kind="rope")
    if name == "attention":
        assert "one latent vector of 16 numbers" in said(at) and "MLA" in said(at)
    if name == "gpt":
        assert "d_kv_latent + d_rotary" in said(at)


@pytest.mark.parametrize("name", ["feed_forward", "gpt", "cost", "parameters"])
@pytest.mark.thinned
def test_a_page_shows_fine_experts(name: str):
    shown(name, **FINE, lang="zh")


@pytest.mark.parametrize("name", ["encoder", "positions"])
def test_a_page_shows_a_first_layer_that_is_global_and_reads_without_a_norm(name: str):
    shown(name, **MODERN, position_kind="rope")
