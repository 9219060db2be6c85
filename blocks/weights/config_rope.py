"""How a config.json says RoPE: base, share of a head, stretch; older files have other names."""

from blocks.model.config import ModelConfig
from blocks.model.faults import N_
from blocks.model.kinds import RopeScaling
from blocks.model.options import LARGEST_SIZE, factors
from blocks.model.positions import LLAMA3_FAST, LLAMA3_SLOW, yarn_size
from blocks.weights.config_keys import Keys
from blocks.weights.config_parts import (
    Part,
    Values,
    flag,
    key,
    nullable,
    number,
    part,
    read_all,
    size,
    write_all,
    write_only,
)

CONTEXT, TRAINED = "max_position_embeddings", "original_max_position_embeddings"
ROPE, SHARE = "rope_parameters", "partial_rotary_factor"
FULL, LOCAL, LINEAR = "full_attention", "sliding_attention", "linear_attention"
USUAL_CONTEXT = 2048
ONCE_LONGROPE = "su"  # what the first files of Phi-3 call it


def _context(keys: Keys, name: str) -> int:
    """Rotary positions have no parameters: a context may be left out, or longer than any here."""
    longest = keys.values.get(name)
    is_longer = type(longest) is int and longest > LARGEST_SIZE
    return LARGEST_SIZE if is_longer else keys.size(name, USUAL_CONTEXT)


def _stretching(keys: Keys) -> Keys:
    """What the file says of positions; older ones have another name for it."""
    rope = keys.part(ROPE)
    return rope if rope.values else keys.part("rope_scaling")


def _read_turns(keys: Keys, _found: Values) -> Values:
    older = keys.number("rope_theta", keys.number("rotary_emb_base", 10_000.0))
    base = keys.part(ROPE).number("rope_theta", older)
    return {**_stretched(_stretching(keys), keys), "rope_base": base}


def _stretched(rope: Keys, keys: Keys) -> Values:
    """How RoPE is stretched, as far as a configuration can say it; the rest is no matter of size.

    `blocks.weights.maths` refuses to run what is left out here.
    """
    kind = rope.values.get("rope_type", rope.values.get("type"))
    if kind in ("longrope", ONCE_LONGROPE):
        return _long_rope(rope, keys)
    if not isinstance(kind, str) or kind not in STRETCHED:
        return {}
    if rope.values.get("factor") is None:
        rope.refuse("factor", N_("RoPE scaling needs {name} to be a number, but it is {value}"))
    return {"rope_scaling": kind, **read_all(STRETCHED[kind], rope)}


def _long_rope(rope: Keys, keys: Keys) -> Values:
    """Two lists of factors; the trained length may stand beside them or one level up."""
    trained = (keys if rope.values.get(TRAINED) is None else rope).size(TRAINED)
    longest = keys.number(CONTEXT, trained)
    for each in ("short_factor", "long_factor"):
        if not rope.values.get(each):
            rope.refuse(each, N_("LongRoPE needs {name} to be a list, but it is {value}"))
    found = {"rope_scaling": "longrope", "rope_trained_len": trained, **read_all(FACTORS, rope)}
    return {**found, "rope_factor": max(1.0, rope.number("factor", longest / trained))}


def _turns(config: ModelConfig) -> Values:
    """How queries and keys are turned, and how that is stretched; what is usual is not said."""
    position = config.position
    found: Values = {"rope_type": "default", "rope_theta": position.rope_base}
    if position.rope_scaling is RopeScaling.NONE:
        return found
    kind = str(position.rope_scaling)
    stretch = write_all(STRETCHED.get(kind, ()), config)
    said = {name: value for name, value in stretch.items() if not (value is None or value is True)}
    return {**found, "rope_type": kind, **said}


def _factors(name: str, field: str) -> Part:
    asked = key(Keys.factors, name, field)
    return asked._replace(write=lambda config: {name: factors(config.counted(field))})


FACTOR = number("factor", "rope_factor", 1.0)
TRAINED_LENGTH = size(TRAINED, "rope_trained_len")
OF_SIZE = nullable(Keys.number, "attention_factor", "rope_attention_factor", 0.0)
FACTORS = (
    _factors("short_factor", "rope_short_factors"),
    _factors("long_factor", "rope_long_factors"),
    OF_SIZE,
)
STRETCHED = {  # what each way of stretching is told by
    "linear": (FACTOR,),
    "yarn": (FACTOR, TRAINED_LENGTH, flag("truncate", "yarn_whole_pairs", True), OF_SIZE),
    "llama3": (
        FACTOR,
        TRAINED_LENGTH,
        write_only("low_freq_factor", lambda _config: float(LLAMA3_SLOW)),
        write_only("high_freq_factor", lambda _config: float(LLAMA3_FAST)),
    ),
    "longrope": (FACTOR, TRAINED_LENGTH, *FACTORS),
}
TURNS = Part("rope_base", _read_turns, lambda config: {ROPE: _turns(config)})
TURNED = (key(_context, CONTEXT, "max_seq_len"), TURNS)


def turns_of_each_kind(base: tuple[str, float], local: tuple[str, float]) -> Part:
    """Global layers may be stretched; local ones are not, and have a base of their own.

    `base`, `local`: the older key of each, and what it is where the file has none.
    """

    def write(config: ModelConfig) -> Values:
        turned = {"rope_type": "default", "rope_theta": config.position.local_rope_base}
        return {ROPE: {FULL: _turns(config), LOCAL: turned}}

    @part("rope_base", write)
    def read(keys: Keys, _found: Values) -> Values:
        rope = keys.part(ROPE)
        full = rope.part(FULL)
        return {
            **_stretched(full if full.values else _stretching(keys), keys),
            "rope_base": full.number("rope_theta", keys.number(*base)),
            "local_rope_base": rope.part(LOCAL).number("rope_theta", keys.number(*local)),
        }

    return read


def share(usual: float, older: str = SHARE) -> Part:
    """The share of a head that RoPE turns."""

    def write(config: ModelConfig) -> Values:
        turned = config.position.rotary_share
        return {ROPE: {SHARE: turned}, older: turned}

    @part("rotary_share", write)
    def read(keys: Keys, _found: Values) -> Values:
        return {"rotary_share": keys.part(ROPE).number(SHARE, keys.number(older, usual))}

    return read


@part("rotary_share", lambda config: {"rotary_dim": config.rotary_width})
def turned_width(keys: Keys, found: Values) -> Values:
    """The same, as a width, of GPT-J."""
    width = keys.size("rotary_dim", 64)
    return {"rotary_share": width * found["n_heads"] / found["d_model"]}


def _sizes_of_yarn(config: ModelConfig) -> Values:
    """By how much all scores grow in YaRN, as a share of what its formula says."""
    multiplier, factor = config.scales.attention_multiplier, config.position.rope_factor
    if not multiplier or factor <= 1:
        return {}
    size = (multiplier * config.d_qk**0.5) ** 0.5
    return {ROPE: {"mscale_all_dim": round((size - 1) / (yarn_size(factor) - 1), 6)}}


@part("attention_multiplier", _sizes_of_yarn)
def sizes_of_yarn(keys: Keys, found: Values) -> Values:
    """Stretched, all scores grow, and with them those that RoPE does not turn."""
    stretch = _stretching(keys)
    factor = max(1.0, stretch.number("factor", 1.0))
    of_turned, of_all = stretch.number("mscale", 0.0), stretch.number("mscale_all_dim", 0.0)
    grown: Values = {}
    if of_all:
        d_qk = found["d_head"] + found["d_rotary"]
        grown["attention_multiplier"] = yarn_size(factor, of_all) ** 2 / d_qk**0.5
    if of_all and of_turned and stretch.values.get("attention_factor") is None:
        size = yarn_size(factor, of_turned) / yarn_size(factor, of_all)
        grown["rope_attention_factor"] = size
    return grown


@part("rope_scaling")
def usually_stretched(keys: Keys, _found: Values) -> Values:
    """Where the file does not say, gpt-oss is stretched."""
    if keys.values.get(ROPE) or keys.values.get("rope_scaling"):
        return {}
    usual = {"rope_scaling": "yarn", "rope_factor": 32.0, "rope_trained_len": 4096}
    return {**usual, "yarn_whole_pairs": False}


def _trained_len(config: ModelConfig) -> int:
    """After so many tokens `transformers` reads a Phi-3's text anew."""
    position = config.position
    is_stretched = position.rope_scaling is not RopeScaling.NONE
    return position.rope_trained_len if is_stretched else config.max_seq_len


TRAINED_LEN = write_only(TRAINED, _trained_len)
