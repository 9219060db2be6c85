"""Of a long text nothing makes the weights of all heads at once: memory grows with its length."""

from typing import Any

import pytest
from drawn_configs import small
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from toy import assert_near, scramble

from blocks import PRESETS, ModelConfig
from blocks.inspection.digest import digest, small_codes
from blocks.model import attention
from blocks.model.kinds import Architecture
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.run import Input, Run

N = 100


class NoneOfThatSize(TorchDispatchMode):
    """Refuses a tensor that has a number for each pair of tokens in each head."""

    def __init__(self, n_heads: int):
        super().__init__()
        self.n_heads = n_heads

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        for each in tree_leaves(out):
            pairs = isinstance(each, Tensor) and each.shape[-2:] in {(N, N), (N, N + 1)}
            if pairs and each.numel() >= N * N * self.n_heads:
                pytest.fail(f"{func} makes a tensor of {tuple(each.shape)}")
        return out


def long_run(config: ModelConfig, kind: MaskKind) -> Run:
    text = Input(tokens=tuple("ab" * (N // 2)), token_ids=(1, 2) * (N // 2))
    target = text if config.architecture is Architecture.ENCODER_DECODER else None
    return Run(config=config, input=text, target=target, mask=MaskConfig(mask_kind=kind))


def long_configs() -> list[ModelConfig]:
    """All presets in few numbers, told apart by how they attend."""
    few = [small(config).nearest(max_seq_len=N, n_layers=1)[0] for config in PRESETS.values()]
    each = {(c.attention, c.position, c.encoder_decoder, c.architecture): c for c in few}
    return [c.replace(dropout=0.0) for c in each.values()]


def test_no_pass_over_a_long_text_holds_the_weights_of_all_heads(monkeypatch: pytest.MonkeyPatch):
    for config in long_configs():
        run = long_run(
            config,
            MaskKind.NONE if config.architecture is Architecture.ENCODER else MaskKind.CAUSAL,
        )
        model = scramble(run.build())
        whole = run.record(model)
        with monkeypatch.context() as few:
            few.setattr(attention, "AT_ONCE", 3 * N * config.n_heads)  # three queries at a time
            with NoneOfThatSize(config.n_heads):
                seen = run.record(model)
                maps = {path: each.rows(slice(1)) for path, each in seen.patterns.items()}
        for path, one in maps.items():
            assert_near(one, whole.patterns[path].rows()[:, :1])
        assert_near(seen.output, whole.output)
        assert_near(seen.moments, whole.moments)


def test_what_is_shown_of_all_heads_is_taken_in_blocks(monkeypatch: pytest.MonkeyPatch):
    config = small(PRESETS["gpt2-small"]).nearest(max_seq_len=N)[0]
    run = long_run(config, MaskKind.CAUSAL)
    seen, mask = run.record(scramble(run.build())), run.build_mask()
    monkeypatch.setattr(attention, "AT_ONCE", 3 * N * config.n_heads)
    with NoneOfThatSize(config.n_heads):
        assert len(seen.heads(mask)) == len(digest(seen, 0, mask).measures) == config.n_heads
        assert len(small_codes(seen, 0, mask)) == config.n_heads
