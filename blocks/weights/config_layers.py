"""How a config.json says which layers see a window, keep a state, turn nothing or have experts."""

from collections.abc import Sequence

from blocks.model.config import ModelConfig
from blocks.model.faults import N_
from blocks.model.kinds import NormPlacement
from blocks.weights.config_keys import Keys
from blocks.weights.config_parts import (
    Part,
    Values,
    either,
    flag,
    key,
    must_be,
    part,
    read_all,
    sizes,
    write_all,
    write_only,
)
from blocks.weights.config_rope import FULL, LINEAR, LOCAL, TURNED

WINDOW, EVERY = "sliding_window", "sliding_window_pattern"
NO_RHYTHM = N_(
    "{name} is {value}, but here {full} must be all, none or every n-th of the {n} layers"
)


def _rhythm(marked: Sequence[bool], *, first: bool = False) -> int | None:
    """Return n where every n-th is marked, counted from the first or from 1; 0 where none is.

    None where no n says it.
    """
    places = range(len(marked)) if first else range(1, len(marked) + 1)
    if True not in marked:
        return 0
    found = (place for place, each in zip(places, marked, strict=True) if each and place > 0)
    every = next(found, len(marked))
    return every if [place % every == 0 for place in places] == [*marked] else None


def _every_full(keys: Keys, other: str, *, first: bool = False) -> int | None:
    """Return n where every n-th of the `layer_types` is full attention, 0 where none is.

    All else is of the `other` kind. None where the file has no such list.
    """
    n_layers, kinds = keys.size("num_hidden_layers"), keys.values.get("layer_types")
    if not isinstance(kinds, list):
        return None
    found = _rhythm([kind == FULL for kind in kinds], first=first)
    if len(kinds) != n_layers or found is None or not {*map(str, kinds)} <= {FULL, other}:
        keys.refuse("layer_types", NO_RHYTHM, full=FULL, n=n_layers)
    return found or 0


def _local_layers(keys: Keys, window: int, every: int, *, first: bool = False) -> Values:
    """Layers with this window, and every n-th, or the `first` and every n-th after it, without."""
    said = _every_full(keys, LOCAL, first=first)
    if said == 1:
        return {}
    every = every if said is None else said
    return {"local_window": window, "global_every": every, "global_first": first}


def _window(config: ModelConfig) -> Values:
    return {WINDOW: config.attention.local_window or None}


def _kinds(config: ModelConfig) -> Values:
    kinds = [LOCAL if config.window_of(layer) else FULL for layer in range(config.n_layers)]
    return {"layer_types": kinds}


def windows(every: int, *, asked: str = "") -> Part:
    """Which layers see a window: all but every n-th; `asked`: the key that says n in its place."""

    @part("local_window", lambda config: {**_window(config), **_kinds(config)})
    def read(keys: Keys, _found: Values) -> Values:
        n = keys.size(asked, every) if asked else every
        return _local_layers(keys, keys.optional(WINDOW) or 0, n)

    return read


# all layers see it: their `transformers` knows no list of kinds
WINDOWED = windows(0)._replace(write=_window)
ONE_WINDOW = key(lambda keys, name: keys.optional(name) or 0, WINDOW, "local_window")._replace(
    write=_window
)


@part("local_window", windows(0).write)
def beside_windows(keys: Keys, found: Values) -> Values:
    """Beside layers with a window, those that see all turn nothing."""
    if keys.optional(WINDOW) is None:
        return {}
    is_told = isinstance(keys.values.get("layer_types"), list)
    local = windows(0 if is_told else 4, asked="" if is_told else EVERY).read(keys, found)
    return {**local, "nope_every": local.get("global_every", 1)}


def _halves(config: ModelConfig) -> Values:
    window = config.local_window
    return {"local_attention": 2 * (window - 1) if window else 0, **_kinds(config)}


@part("local_window", _halves)
def window_both_ways(keys: Keys, _found: Values) -> Values:
    """A window of ModernBERT is told as a whole, half of it to each side."""
    to_each_side = keys.size("local_attention", 128, least=0) // 2
    every = keys.size("global_attn_every_n_layers", 3)
    return _local_layers(keys, to_each_side + 1, every, first=True)


def _layers_of_states(config: ModelConfig) -> Values:
    layers = range(config.n_layers)
    return {"layer_types": [FULL if config.attends_in(layer) else LINEAR for layer in layers]}


@part("attention_every", _layers_of_states)
def layers_of_states(keys: Keys, _found: Values) -> Values:
    """Layers that keep a state, and every n-th that attends."""
    every, said = keys.size("full_attention_interval", 4), _every_full(keys, LINEAR)
    return {"attention_every": every if said is None else said}


@part("linear_value_head_dim", lambda config: {"linear_value_head_dim": config.d_state})
def width_of_values(keys: Keys, found: Values) -> Values:
    """Values of a state are as wide as its keys."""
    if keys.size("linear_value_head_dim", 128) != found["d_state"]:
        keys.equal("linear_value_head_dim", "linear_key_head_dim")
    return {}


ALL_FULL = write_only("layer_types", lambda config: [FULL] * config.n_layers)


def _unturned(config: ModelConfig) -> Values:
    return {"no_rope_layers": [int(config.turns(layer)) for layer in range(config.n_layers)]}


@part("nope_every", _unturned)
def unturned(keys: Keys, found: Values) -> Values:
    """Every fourth layer turns nothing, or those that a list names with 0."""
    n_layers, every = found["n_layers"], keys.size("no_rope_layer_interval", 4)
    turned = keys.values.get("no_rope_layers")
    if turned is None:
        return {"nope_every": every}
    is_list = isinstance(turned, list) and len(turned) == n_layers
    listed = _rhythm([each == 0 for each in turned]) if is_list else None
    if listed is None:
        keys.refuse("no_rope_layers", NO_RHYTHM, full=0, n=n_layers)
    return {"nope_every": listed or 0}


@part("n_dense_layers", lambda config: {"first_k_dense_replace": config.n_dense_layers})
def first_dense(keys: Keys, found: Values) -> Values:
    """How many layers at the beginning have no experts."""
    n_dense = keys.size("first_k_dense_replace", 0, least=0)
    if n_dense >= found["n_layers"]:
        keys.must_be("first_k_dense_replace", 0)
    return {"n_dense_layers": n_dense}


@part("n_dense_layers", lambda config: {"mlp_only_layers": [*range(config.n_dense_layers)]})
def listed_dense(keys: Keys, _found: Values) -> Values:
    """Those that have none, one by one."""
    dense = keys.values.get("mlp_only_layers") or []
    n_dense = len(dense) if isinstance(dense, list) else 0
    if dense != [*range(n_dense)]:  # layers elsewhere than at the beginning
        keys.must_be("mlp_only_layers", [])
    return {"n_dense_layers": n_dense}


EXPERTS_OF_QWEN = (
    must_be("decoder_sparse_step", 1),
    listed_dense,
    either("num_experts", "num_local_experts", "n_experts", least=2),
    *sizes(num_experts_per_tok="n_active_experts", moe_intermediate_size="d_expert"),
    flag("norm_topk_prob", "normalize_top_k", False),
)
SHARED_WIDTH = "shared_expert_intermediate_size"


@part("n_shared_experts", lambda each: {SHARED_WIDTH: each.n_shared_experts * each.d_expert})
def gated_shared(keys: Keys, found: Values) -> Values:
    """A shared expert that is as wide as several of the others, whose output a gate multiplies."""
    width, each = keys.size(SHARED_WIDTH), found["d_expert"]
    if width % each:
        text = N_(
            "{name} is {value}, but here it must be a multiple of moe_intermediate_size ({each})"
        )
        keys.refuse(SHARED_WIDTH, text, each=each)
    return {"n_shared_experts": max(1, width // each), "shared_expert_gate": True}


GROUPS = sizes(n_group="n_expert_groups", topk_group="n_active_groups")
GROUPED = "group_limited_greedy"


def _groups(config: ModelConfig) -> Values:
    method = GROUPED if config.experts.n_expert_groups > 1 else "greedy"
    return {**write_all(GROUPS, config), "topk_method": method}


@part("n_expert_groups", _groups)
def groups_of_v2(keys: Keys, _found: Values) -> Values:
    """DeepSeek-V2 names the way of choosing experts; the two sizes may mean nothing."""
    return read_all(GROUPS, keys) if keys.values.get("topk_method") == GROUPED else {}


def parallel(name: str) -> Part:
    """Whether both sub-layers read the same stream, or one after the other."""

    @part("norm_placement", lambda c: {name: c.norm.norm_placement is NormPlacement.PARALLEL})
    def read(keys: Keys, _found: Values) -> Values:
        return {"norm_placement": "parallel" if keys.flag(name, True) else "pre"}

    return read


def _form_of_falcon(config: ModelConfig) -> Values:
    n_norms = config.norm.parallel_norms
    is_new = n_norms > 1 or 1 < config.n_kv_heads < config.n_heads
    return {
        "new_decoder_architecture": is_new,
        "num_kv_heads": config.n_kv_heads,
        "multi_query": config.n_kv_heads == 1,
        "num_ln_in_parallel_attn": n_norms if is_new else None,
    }


@part("n_kv_heads", _form_of_falcon)
def form_of_falcon(keys: Keys, found: Values) -> Values:
    """Its newer form has any number of key and value heads, and norms for both sub-layers."""
    if not keys.flag("new_decoder_architecture", False):
        return {"n_kv_heads": 1 if keys.flag("multi_query", True) else found["n_heads"]}
    keys.must_be("num_ln_in_parallel_attn", None, 1, 2)
    n_norms = 1 if keys.values.get("num_ln_in_parallel_attn") == 1 else 2
    form = {"norm_placement": "parallel", "parallel_norms": n_norms}
    return {**form, "n_kv_heads": keys.size("num_kv_heads")}


@part("position_kind", lambda config: {"alibi": False, **write_all(TURNED, config)})
def alibi_or_turned(keys: Keys, _found: Values) -> Values:
    """Falcon may have ALiBi, which is counted and not run: it is never written."""
    return {"position_kind": "alibi"} if keys.flag("alibi", False) else read_all(TURNED, keys)
