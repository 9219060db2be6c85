"""Names of hooks as TransformerLens writes them, read as our probes."""

import re

from blocks.model.faults import N_, ConfigError, Fault

HOOK = re.compile(r"blocks\.(\d+)\.(?:\w+\.)?hook_(\w+)")
SAME = {
    "resid_pre": "resid_pre",
    "resid_mid": "resid_mid",
    "resid_post": "resid_post",
    "attn_out": "attention_out",
    "mlp_out": "feed_forward_out",
    "pattern": "pattern",
    "post": "hidden",
}
OTHER_AXES = {"q": "q", "k": "k", "v": "v", "z": "head_out"}


def own_name(name: str) -> str:
    """What a probe is called here: `blocks.3.hook_mlp_out` is `layers.3.feed_forward_out`.

    Any other name stays what it is. Raises `ConfigError` where the tensor has its axes in another
    order, so that the same code would do something else.
    """
    match = HOOK.fullmatch(name)
    layer, hook = match.groups() if match else ("", "")
    if hook in OTHER_AXES:
        own = f"layers.{layer}.{OTHER_AXES[hook]}"
        text = N_("{name} is {own} here, of shape (batch, n_heads, seq, d_head): use that name")
        raise ConfigError([Fault(text, {"name": name, "own": own})])
    return f"layers.{layer}.{SAME[hook]}" if hook in SAME else name
