"""Looking into a module that is not of Blockscope: somebody's own, in a notebook.

While the block of `with` lasts, hooks note what the parts of this one module give, and attention
weights are taken where a softmax over four axes makes them or the fused kernel hides them. All of
it is seen in the thread that attached, and nothing stays behind.
"""

import re
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.overrides import TorchFunctionMode

from blocks.model.attention import attention_pattern, repeat_kv
from blocks.model.probe import Probe, Replacement, Stage
from blocks.observe.recording import Recorder, Recording

IN_A_LIST = re.compile(r"(?:.*?\.)?(\d+)(?:\.(.+))?")
SOFTMAX = {torch.softmax, Tensor.softmax, F.softmax}
MATMUL = {torch.matmul, Tensor.matmul, Tensor.__matmul__}
HEAD_AXES = 4  # batch, n_heads, query, key


class Attached:
    """What was seen so far; `recording` is what `blocks.record` gives of a model of ours."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self.output: Tensor | None = None
        self.began, self.seconds = 0.0, 0.0

    @property
    def recording(self) -> Recording:
        """The pass that was made within the block; RuntimeError where there was none."""
        if self.output is None:
            raise RuntimeError("nothing has passed yet: call the module within the `with` block")
        return Recording(
            stages=tuple(self.recorder.stages),
            moments=self.recorder.moments.rows(),
            tensors=self.recorder.tensors,
            output=self.output,
            milliseconds=1000 * self.seconds,
        )


@contextmanager
def attach(
    module: nn.Module,
    *,
    keep: Collection[str] | None = None,
    replace: Mapping[str, Replacement] | None = None,
) -> Iterator[Attached]:
    """Record the values of a module of the caller's own while it is called within the block.

    A probe is named after its part of the module, and what stands in a list after its layer:
    `transformer.h.3.mlp` is `layers.3.mlp`. Where two lists would have the same names, they keep
    their own. What attention weighs is `layers.3.pattern`, (batch, n_heads, query, key), and what
    its heads give `layers.3.head_out`, (batch, n_heads, query, d_head); of the fused kernel
    `q`, `k` and `v`, too. `keep` and `replace` as `record` takes them, by either name. For one
    pass, or the last of several. Raises `ConfigError` at the end of the block where a name of
    `replace` was not met.
    """
    paths = probe_paths(module)
    by_path = {paths.get(name, name): each for name, each in (replace or {}).items()}
    kept = None if keep is None else {*keep, *(paths[name] for name in keep if name in paths)}
    seen = Attached(Recorder(kept, by_path))
    with ExitStack() as stack:
        hooks = _Hooks(seen, threading.get_ident())
        for name, part in module.named_modules():
            path = paths[name]
            stack.callback(part.register_forward_pre_hook(hooks.before(path)).remove)
            stack.callback(part.register_forward_hook(hooks.after(path)).remove)
        stack.enter_context(_Weights(hooks))
        yield seen
    if replace and seen.output is not None:
        seen.recorder.check_passed(replace, {path: path for path in paths.values()} | paths)


def probe_paths(module: nn.Module) -> dict[str, str]:
    """The path of the probe at each part, by the part's name; the module itself is ""."""
    names = [name for name, _ in module.named_modules()]
    paths = {name: _in_layer(name) for name in names}
    return paths if len({*paths.values()}) == len(paths) else {name: name for name in names}


def _in_layer(name: str) -> str:
    match = IN_A_LIST.fullmatch(name)
    return name if match is None else f"layers.{match[1]}.{match[2] or 'out'}"


class _Hooks:
    """Hears the parts of one module in one thread; `inside` are those at work, outermost first."""

    def __init__(self, seen: Attached, thread: int):
        self.seen, self.thread = seen, thread
        self.inside: list[str] = []
        self.n_loose = 0  # attention outside of all parts, counted as layers
        self.weighed: Tensor | None = None  # the last pattern, until values are averaged by it
        self.place = ""  # of that pattern

    def before(self, path: str) -> Any:
        def hook(_part: nn.Module, _args: Any) -> None:
            if threading.get_ident() == self.thread:
                self.inside.append(path)
                if not path:
                    self.n_loose, self.seen.began = 0, time.perf_counter()

        return hook

    def after(self, path: str) -> Any:
        def hook(_part: nn.Module, _args: Any, out: Any) -> Any:
            if threading.get_ident() != self.thread:
                return None
            self.inside.pop()
            if not path:
                self.seen.seconds = time.perf_counter() - self.seen.began
                self.seen.output = _first_tensor(out)
                return None
            return self.passed(Stage(path), out)

        return hook

    def passed(self, probe: Probe, out: Any) -> Any:
        """What goes on instead of `out`; None where that is `out` itself."""
        x = _first_tensor(out)
        if x is None or not x.is_floating_point():
            return None
        instead = self.seen.recorder.see(probe, x)
        if instead is x:
            return None
        return instead if out is x else (instead, *out[1:])

    def of_heads(self, name: str, x: Tensor) -> Tensor:
        """What attention of the part at work reads, (batch, n_heads, seq, d_head), or its stead."""
        return self.seen.recorder.see(Probe(self._place() + name), x)

    def weighs(self, pattern: Tensor) -> Tensor:
        """Attention weights of the part at work, or what stands in their place."""
        self.place = self._place()
        self.n_loose += not self.inside[-1]
        self.weighed = self.seen.recorder.see(Probe(f"{self.place}pattern"), pattern)
        return self.weighed

    def averages(self, out: Tensor) -> Tensor:
        """What the heads of the last pattern give, or what stands in its place."""
        self.weighed = None
        return self.seen.recorder.see(Probe(f"{self.place}head_out"), out)

    def _place(self) -> str:
        """Where a path begins: the layer of the part at work, the part, or attention so far."""
        part = self.inside[-1] or f"layers.{self.n_loose}"
        layer = re.match(r"layers\.\d+\.", f"{part}.")
        return layer[0] if layer else f"{part}."


def _first_tensor(out: Any) -> Any:
    if isinstance(out, Tensor):
        return out
    if isinstance(out, tuple | list) and out and isinstance(out[0], Tensor):
        return out[0]
    return getattr(out, "logits", getattr(out, "last_hidden_state", None))


class _Weights(TorchFunctionMode):
    """Sees softmax and fused attention of this thread."""

    def __init__(self, hooks: _Hooks):
        super().__init__()
        self.hooks = hooks

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        words = kwargs or {}
        if not self.hooks.inside:
            return func(*args, **words)
        if func is F.multi_head_attention_forward:
            return self.of_torch(*args, **words)
        if func is F.scaled_dot_product_attention:
            return self.fused(*args, **words)
        out = func(*args, **words)
        if func in SOFTMAX and out.dim() == HEAD_AXES and _is_last(out, args, words):
            return self.hooks.weighs(out)
        if self.hooks.weighed is None or args[0] is not self.hooks.weighed:
            return out
        if func is Tensor.to:  # softmax in float32, the average in less
            self.hooks.weighed = out
        return self.hooks.averages(out) if func in MATMUL else out

    def fused(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """softmax(QKᵀ · scale + mask)·V step by step, which the kernel does at once."""
        if query.dim() != HEAD_AXES or dropout_p > 0:
            return F.scaled_dot_product_attention(
                query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                enable_gqa=enable_gqa,
            )  # fmt: skip
        query, key, value = (
            self.hooks.of_heads(name, x) for name, x in zip("qkv", (query, key, value), strict=True)
        )
        mask = attn_mask
        if is_causal:
            n_queries, n_keys = query.shape[-2], key.shape[-2]
            mask = query.new_ones(n_queries, n_keys, dtype=torch.bool).tril()
        n_heads, factor = query.shape[1], query.shape[-1] ** -0.5 if scale is None else scale
        scores = (query * factor) @ repeat_kv(key, n_heads).mT
        is_boolean = mask is not None and mask.dtype is torch.bool
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf) if is_boolean else scores + mask
        pattern = attention_pattern(scores, mask if is_boolean else None)
        return self.hooks.averages(self.hooks.weighs(pattern) @ repeat_kv(value, n_heads))

    def of_torch(self, *args: Any, **words: Any) -> Any:
        """`nn.MultiheadAttention` with the weights of each head, whatever it was asked for."""
        asked, mean = words.get("need_weights", True), words.get("average_attn_weights", True)
        words |= {"need_weights": True, "average_attn_weights": False}
        found: tuple[Any, Any] = F.multi_head_attention_forward(*args, **words)
        out, pattern = found
        heads = pattern if pattern.dim() == HEAD_AXES else pattern[None]
        self.hooks.weighs(heads)
        if not asked:
            return out, None
        return out, pattern.mean(dim=-3) if mean else pattern


def _is_last(out: Tensor, args: tuple[Any, ...], words: Mapping[str, Any]) -> bool:
    dim = words.get("dim", args[1] if len(args) > 1 else None)
    return dim in (-1, out.dim() - 1)
