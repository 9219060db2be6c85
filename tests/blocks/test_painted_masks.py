"""A mask painted by hand: as text in a link and back, and in every run."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from toy import IS_TOKEN, toy

from blocks import build
from blocks.model.masks import (
    MOST_PAINTED,
    MaskConfig,
    build_mask,
    causal,
    painted,
    painted_text,
    read_painted,
)
from blocks.observe.run import Input, Run


@st.composite
def masks(draw) -> torch.Tensor:
    side = draw(st.integers(1, MOST_PAINTED))
    seed = draw(st.integers(0, 999))
    return torch.rand(side, side, generator=torch.Generator().manual_seed(seed)) < 0.5


@given(masks())
def test_what_was_written_is_read(mask: torch.Tensor):
    text = painted_text(mask)
    assert torch.equal(read_painted(text), mask)
    assert len(text) <= 690
    assert text.replace(".", "").replace("-", "").replace("_", "").isalnum()


@given(st.text() | st.from_regex(r"[0-9]{1,3}\.[A-Za-z0-9_=-]{0,12}", fullmatch=True))
def test_any_other_text_is_refused_or_is_what_it_says(text: str):
    try:
        mask = read_painted(text)
    except ValueError:
        return
    assert painted_text(mask) == text


@pytest.mark.parametrize(
    "text",
    ["", ".", "1", "1.", "0.A", "1.gAA", "1.g=", "2.4", "2.8Q", "02.8A", "65.AAAA", "1.wA", "²․gA"],
)
def test_malformed_texts_are_refused(text: str):
    with pytest.raises(ValueError):
        read_painted(text)


@pytest.mark.parametrize("shape", [(0, 0), (2, 3), (MOST_PAINTED + 1, MOST_PAINTED + 1)])
def test_what_a_link_cannot_carry_is_refused(shape: tuple[int, int]):
    with pytest.raises(ValueError):
        painted_text(torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize("seq_len", [1, 3, 5, 9])
def test_another_length_is_cut_or_goes_on_causally(seq_len: int):
    drawn = torch.rand(5, 5, generator=torch.Generator().manual_seed(0)) < 0.5
    mask, both = painted(seq_len, painted_text(drawn)), min(seq_len, 5)
    assert torch.equal(mask[:both, :both], drawn[:both, :both])
    rest = torch.ones_like(mask)
    rest[:both, :both] = False
    assert torch.equal(mask[rest], causal(seq_len)[rest])


def test_it_is_one_mask_for_all_sequences():
    text = painted_text(~causal(5))
    mask = build_mask(MaskConfig(mask_kind="painted", painted=text), IS_TOKEN)
    assert torch.equal(mask, ~causal(5))


def test_a_run_attends_as_it_was_painted():
    drawn = torch.rand(4, 4, generator=torch.Generator().manual_seed(1)) < 0.5
    mask = MaskConfig(mask_kind="painted", painted=painted_text(drawn))
    run = Run(config=toy(), input=Input(seq_len=4), mask=mask)
    seen = run.record(build(run.config)).pattern()
    assert torch.equal((seen > 0)[0, 0], drawn)
    assert hash(run) == hash(Run(config=toy(), input=Input(seq_len=4), mask=mask))
