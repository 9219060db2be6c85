"""What a link carries for the page of costs."""

from blocks.cost.budget_shape import BudgetKind
from blocks.cost.chosen_shape import AttentionShape
from blocks.cost.device_fit import LARGEST_BATCH, LONGEST
from blocks.cost.hardware import HARDWARE, HERE
from blocks.cost.scaling_laws import LAWS
from blocks.cost.served_facts import OWN
from blocks.cost.setup import PREFILL_CHUNK, CacheFormat
from blocks.model.options import LARGEST_SIZE
from pages.server.readers import Field, choice, flag, whole, within

MOST_ATTEMPTS = 99
PHASES = ("prefill", "decode")
SWEPT = ("tokens", "d_model", "n_heads", "batch")
DIRECTIONS = ("forward", "forward_backward")
SWEEP_LENGTHS = (16, 32, 64, 128, 256, 512)

# How often something was measured: 0, not yet; another number, measured anew.
MEASURED_FIELDS: dict[str, Field] = {
    "measure_device": Field(whole(0, MOST_ATTEMPTS), 0),
    "phase": Field(choice(PHASES), "prefill"),
    "measure_sweep": Field(whole(0, MOST_ATTEMPTS), 0),
    "swept": Field(choice(SWEPT), "tokens"),
    "sweep_direction": Field(choice(DIRECTIONS), "forward"),
    "sweep_len": Field(whole(1, SWEEP_LENGTHS[-1]), 64),
    "measure_dtypes": Field(whole(0, MOST_ATTEMPTS), 0),
}


PASSES = ("forward", "prefill", "decode", "training")
USES = ("training", "inference")
WEIGHT_FORMATS = ("float32", "bfloat16", "float16", "fp8", "int8", "int4", "mxfp4")
AS_COMPUTED = "auto"  # a cache in the format of what passes
GROUPS = ("128x16", "128x20", "64x16", "32x16", "32x32")  # of int4: weights, and bits they share
PARALLEL = ("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")
MOST_PARALLEL, MOST_DRAFTED = 1024, 16
AS_IN_FILE = "file"  # rounded weights
TRAINED_FORMATS = ("float32", "bfloat16", "float16")
OPTIMIZER_STATES = ("adam", "sgd", "momentum", "muon")
MOST_TOKENS, MOST_DEVICES = 10**15, 10**6

# What more than the section around its widget follows.
OF_SEVERAL_SECTIONS = {
    *("memory_use", "weight_format", "optimizer_states", "master_weights"),
    *("checkpointing", "fused_attention", "usable_memory", "n_training_devices"),
    *("prefill_chunk", "cache_format", "int4_group", *PARALLEL),
    *("serving_device", "own_memory", "own_bandwidth", "own_flops", "own_link"),
    *("training_device", "utilisation"),
}
# Of the shape that a budget buys; no tokens served: as many as usual.
SHAPE: dict[str, Field] = {
    "budget": Field(choice(BudgetKind), "flops"),
    "budget_flops": Field(within(1e9, 1e28), 1e19),
    "budget_hours": Field(within(1e-3, 1e7), 24.0),
    "budget_money": Field(within(1e-2, 1e12), 1000.0),
    "device_price": Field(within(1e-3, 1e6), 2.0),
    "scaling_law": Field(choice(LAWS), "besiroglu"),
    "shape_attention": Field(choice(AttentionShape), "gqa"),
    "shape_vocab": Field(whole(2, LARGEST_SIZE), 32_000),
    "served_tokens": Field(within(0.0, 1e18), 0.0),
}
CONTEXT: dict[str, Field] = {"context_len": Field(whole(1, LONGEST), 1024)}
FIELDS: dict[str, Field] = {
    **CONTEXT,
    "n_texts": Field(whole(1, LARGEST_BATCH), 1),
    "counted_pass": Field(choice(PASSES), "forward"),
    "exact_digits": Field(flag, False),
    "memory_use": Field(choice(USES), "training"),
    "optimizer_states": Field(choice(OPTIMIZER_STATES), "adam"),
    "master_weights": Field(flag, True),
    "checkpointing": Field(flag, False),
    "fused_attention": Field(flag, True),
    "prefill_chunk": Field(whole(0, LONGEST), PREFILL_CHUNK),
    "cache_format": Field(choice((AS_COMPUTED, *CacheFormat)), AS_COMPUTED),
    "int4_group": Field(choice(GROUPS), GROUPS[0]),
    "tensor_parallel": Field(whole(1, MOST_PARALLEL), None),
    **{name: Field(whole(1, MOST_PARALLEL), 1) for name in PARALLEL[1:]},
    "serving_device": Field(choice((*HARDWARE, HERE, OWN)), "h100-sxm"),
    "own_memory": Field(whole(1, 10**6), 24),
    "own_bandwidth": Field(whole(1, 10**6), 1000),
    "own_flops": Field(whole(1, 10**6), 100),
    "own_link": Field(whole(0, 10**6), 32),
    "n_output": Field(whole(1, LONGEST), 256),
    "n_drafted": Field(whole(0, MOST_DRAFTED), 0),
    "acceptance": Field(within(0.0, 1.0), 0.8),
    "draft_cost": Field(within(0.0, 1.0), 0.05),
    "usable_memory": Field(within(0.1, 1.0), 0.9),
    "n_training_tokens": Field(whole(1, MOST_TOKENS), None),
    "training_device": Field(choice(HARDWARE), "h100-sxm"),
    "n_training_devices": Field(whole(1, MOST_DEVICES), 1),
    "utilisation": Field(within(0.01, 1.0), 0.4),
    **SHAPE,
}
