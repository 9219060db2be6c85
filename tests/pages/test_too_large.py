"""Whatever size a link says: it is refused or counted by formula, and nothing large is built."""

import pytest
import torch
from daily import some_daily
from opened import assert_works, opened, visit

HUGE, FEW = 10**6, 1000  # modules: what the page builds in any case
EVERYTHING = dict.fromkeys(("d_model", "d_ff", "n_layers", "n_decoder_layers", "vocab_size"), HUGE)
NARROW = {"d_model": 8, "n_heads": 1, "d_ff": 1}
LINKS = [
    EVERYTHING | {"n_experts": 64, "max_seq_len": HUGE, "position_kind": "learned"},
    NARROW | {"n_layers": HUGE},
    NARROW | {"n_layers": 20_000, "spread_of_weights": True},
]
COUNTED = ("parameters", "cost", "compare")


@pytest.fixture
def n_modules(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many modules were made, in its only entry."""
    made, init = [0], torch.nn.Module.__init__

    def counted(*values: object, **more: object) -> None:
        made[0] += 1
        init(*values, **more)

    monkeypatch.setattr(torch.nn.Module, "__init__", counted)
    return made


@pytest.mark.parametrize(
    "page",
    some_daily(["training", "gpt", "encoder", "seq2seq", *COUNTED], daily=["gpt", "parameters"]),
)
def test_a_link_to_a_huge_model_builds_nothing(page: str, n_modules: list[int]):
    at = opened(f"pages/{page}.py", preset=None, **LINKS[0])
    for link in LINKS:
        visit(at, preset=None, **link)
        assert n_modules[0] <= FEW
        if page in COUNTED:
            assert_works(at, warnings=None)
        else:
            refusals = at.info if page == "training" else at.error
            assert any(
                "allowed here" in each.value or "run here" in each.value for each in refusals
            )
            assert at.button(key="mend_0").label.startswith("Use ")


def test_layers_that_would_fit_but_take_long_are_refused_and_mended():
    at = opened("pages/encoder.py", preset=None, **NARROW, n_layers=97)
    assert "97 layers exceed the 96 that can run here: use n_layers 48" in at.error[0].value
