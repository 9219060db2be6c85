"""What a link carries for what is measured on the page of costs."""

from pages.ui.readers import Field, choice, whole

MOST_ATTEMPTS = 99
PHASES = ("prefill", "decode")
SWEPT = ("tokens", "d_model", "n_heads", "batch")
DIRECTIONS = ("forward", "forward_backward")
SWEEP_LENGTHS = (16, 32, 64, 128, 256, 512)

# How often something was measured: 0, not yet; another number, measured anew.
FIELDS: dict[str, Field] = {
    "measure_device": Field(whole(0, MOST_ATTEMPTS), 0),
    "phase": Field(choice(PHASES), "prefill"),
    "measure_sweep": Field(whole(0, MOST_ATTEMPTS), 0),
    "swept": Field(choice(SWEPT), "tokens"),
    "sweep_direction": Field(choice(DIRECTIONS), "forward"),
    "sweep_len": Field(whole(1, SWEEP_LENGTHS[-1]), 64),
    "measure_dtypes": Field(whole(0, MOST_ATTEMPTS), 0),
}
