"""Every mask against a double loop over queries and keys."""

from collections.abc import Callable

import pytest
import torch
from toy import IS_TOKEN

from blocks.model.masks import (
    MaskConfig,
    MaskKind,
    build_mask,
    cross_padding,
    painted_text,
    sees_ahead,
)

RULES: dict[MaskKind, Callable[[MaskConfig, list[bool], int, int], bool]] = {
    MaskKind.NONE: lambda config, is_token, query, key: True,
    MaskKind.CAUSAL: lambda config, is_token, query, key: key <= query,
    MaskKind.PADDING: lambda config, is_token, query, key: is_token[key],
    MaskKind.CAUSAL_PADDING: lambda config, is_token, query, key: key <= query and is_token[key],
    MaskKind.SLIDING_WINDOW: lambda config, is_token, query, key: (
        key <= query < key + config.window_size
    ),
    MaskKind.PREFIX: lambda config, is_token, query, key: key <= query or key < config.prefix_len,
    MaskKind.PAINTED: lambda config, is_token, query, key: key <= query,  # nothing painted yet
}


def by_double_loop(config: MaskConfig, is_token: torch.Tensor) -> torch.Tensor:
    """(batch, 1, query, key)."""
    seq = range(is_token.shape[1])
    rule = RULES[config.mask_kind]
    sentences = is_token.tolist()
    return torch.tensor(
        [[[[rule(config, s, query, key) for key in seq] for query in seq]] for s in sentences]
    )


@pytest.mark.parametrize("length", [1, 2, 5, 99])
@pytest.mark.parametrize("kind", MaskKind)
def test_a_mask_says_who_may_attend(kind: MaskKind, length: int):
    config = MaskConfig(mask_kind=kind, window_size=length, prefix_len=length)
    mask = build_mask(config, IS_TOKEN)
    expected = by_double_loop(config, IS_TOKEN)
    if kind is MaskKind.NONE:
        assert mask is None
        assert expected.all()
    else:
        assert mask.dtype is torch.bool
        assert torch.equal(mask.expand_as(expected), expected)


@pytest.mark.parametrize("side", [0, 1], ids=["left", "right"])
def test_padding_is_hidden_on_either_side(side: int):
    mask = build_mask(MaskConfig(mask_kind="padding"), IS_TOKEN)
    for row in mask[side, 0]:
        assert torch.equal(row, IS_TOKEN[side])


@pytest.mark.parametrize("kind", MaskKind)
def test_only_padding_masks_hide_padding(kind: MaskKind):
    mask = build_mask(MaskConfig(mask_kind=kind), IS_TOKEN)
    hides = mask is not None and not mask.expand(2, 1, 5, 5).transpose(1, 3)[~IS_TOKEN].any()
    assert hides is kind.hides_padding


def test_cross_padding_has_the_queries_of_one_sequence_and_the_keys_of_another():
    query_len = 3
    mask = cross_padding(query_len, IS_TOKEN)
    assert mask.shape == (len(IS_TOKEN), 1, query_len, IS_TOKEN.shape[1])
    assert all(torch.equal(mask[:, 0, query], IS_TOKEN) for query in range(query_len))


AHEAD = torch.zeros(5, 5).bool()
AHEAD[1, 3] = True


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (MaskConfig(mask_kind=MaskKind.NONE), True),
        (MaskConfig(mask_kind=MaskKind.PADDING), True),
        (MaskConfig(mask_kind=MaskKind.CAUSAL), False),
        (MaskConfig(mask_kind=MaskKind.SLIDING_WINDOW), False),
        (MaskConfig(mask_kind=MaskKind.PREFIX, prefix_len=1), False),
        (MaskConfig(mask_kind=MaskKind.PREFIX, prefix_len=2), True),
        (MaskConfig(mask_kind=MaskKind.PAINTED), False),
        (MaskConfig(mask_kind=MaskKind.PAINTED, painted=painted_text(AHEAD)), True),
    ],
)
def test_whether_a_token_sees_ahead_is_read_off_the_mask(config: MaskConfig, expected: bool):
    assert sees_ahead(build_mask(config, IS_TOKEN)) is expected
