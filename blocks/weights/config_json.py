"""A config.json of a known family of models, read as a configuration: to be counted exactly.

Nothing is guessed. A family that is not known, a size that is missing and an option that no
configuration can say are refused by name; an option that may be left out has the family's default,
which is said too.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault, nearest_names
from blocks.model.kinds import Architecture, PositionKind, RopeScaling
from blocks.text.json_text import check_characters
from blocks.weights.config_families import FAMILIES
from blocks.weights.config_keys import Keys, brief, cut
from blocks.weights.config_parts import read_all
from blocks.weights.multimodal import AROUND, text_part

NO_DECODER = N_("The text part of a {around} model must be a decoder here, but it is {name}")
MOST_CHARACTERS = 200_000
Values = dict[str, Any]


class ConfigFile(NamedTuple):
    """What a config.json says.

    `name`: what the model is called; where the file does not say, its family. `counted_as`: the
    class of `transformers` that has as many parameters; `named`: the classes that the file itself
    names; `assumed`: options that it leaves out, with the family's default; `around`: the family
    of the larger model whose text part this is; `values`: what the file says of that part.
    """

    config: ModelConfig
    name: str
    family: str
    counted_as: str
    named: tuple[str, ...]
    assumed: tuple[tuple[str, str], ...]
    around: str = ""
    values: Mapping[str, Any] = MappingProxyType({})

    @property
    def n_fixed(self) -> int:
        """Numbers of position tables that are computed and never learned, one for each stack.

        They are no parameters here; `transformers` keeps them frozen among its own, and
        `num_parameters` counts them.
        """
        if self.config.position.position_kind is not PositionKind.SINUSOIDAL:
            return 0
        n_stacks = 2 if self.config.architecture is Architecture.ENCODER_DECODER else 1
        return n_stacks * self.config.max_seq_len * self.config.d_model


DROPOUT = {  # what a family calls that of the stream, where it is not that of attention
    "gpt2": ("resid_pdrop", 0.1),
    "gptj": ("resid_pdrop", 0.0),
    "phi": ("resid_pdrop", 0.0),
    "phi3": ("resid_pdrop", 0.0),
    "bert": ("hidden_dropout_prob", 0.1),
    "roberta": ("hidden_dropout_prob", 0.1),
    "distilbert": ("dropout", 0.1),
    "modernbert": ("mlp_dropout", 0.0),
    "t5": ("dropout_rate", 0.1),
    "mt5": ("dropout_rate", 0.1),
    "bart": ("dropout", 0.1),
    "marian": ("dropout", 0.1),
    "gpt_neox": ("hidden_dropout", 0.0),
    "falcon": ("hidden_dropout", 0.0),
    "bloom": ("hidden_dropout", 0.0),
    "opt": ("dropout", 0.1),
    "starcoder2": ("residual_dropout", 0.0),
    "seed_oss": ("residual_dropout", 0.1),
}


def read_config_json(text: str) -> ModelConfig:
    """The configuration that a config.json describes. Raises `ConfigError`."""
    return read_config_file(text).config


def read_config_file(text: str) -> ConfigFile:
    """Read a configuration, with what is counted and what was ignored. Raises `ConfigError`."""
    whole = parsed(text)
    values, around = text_part(whole)
    name = values.get("model_type")
    if type(name) is not str or name not in FAMILIES:
        raise ConfigError([_unknown_family(name)])
    keys = Keys(values, FAMILIES[name].usual)
    found = read_all(FAMILIES[name].parts, keys)
    if around and found["architecture"] != Architecture.GPT:
        raise _refusal(NO_DECODER, around=around, name=name)
    word, usual = DROPOUT.get(name, ("attention_dropout", 0.0))
    found["dropout"] = keys.number(word, usual)
    if keys.faults:
        raise ConfigError(keys.faults.values())
    config = ModelConfig.from_flat(_asbrief(found))
    _check_factors(config)
    return ConfigFile(
        config=config,
        name=_called(whole) or name,
        family=name,
        counted_as=FAMILIES[name].counted_as,
        named=_named(whole.get("architectures")),
        assumed=tuple(keys.assumed.items()),
        around=around,
        values=values,
    )


def _check_factors(config: ModelConfig) -> None:
    """LongRoPE has a factor for each pair that it turns."""
    if config.position.rope_scaling is RopeScaling.LONGROPE and not all(config.rope_factors):
        text = N_("short_factor and long_factor need {n} numbers each, one per rotated pair")
        raise _refusal(text, n=config.rotary_width // 2)


def _asbrief(values: Values) -> Values:
    """Sizes that follow from others are left to follow."""
    d_model, n_heads = values["d_model"], values["n_heads"]
    follows = {
        "d_ff": 4 * d_model,
        "n_kv_heads": n_heads,
        "d_head": None if d_model % n_heads else d_model // n_heads,
        "n_decoder_layers": values["n_layers"],
    }
    return {
        name: None if value == follows.get(name, _NOTHING) else value
        for name, value in values.items()
    }


_NOTHING = object()


def _named(found: object) -> tuple[str, ...]:
    """The classes that a file names."""
    names = found if isinstance(found, list) else []
    return tuple(name for name in names if isinstance(name, str))


def parsed(text: str) -> Values:
    """The object that a config.json is. Raises `ConfigError`."""
    if len(text) > MOST_CHARACTERS:
        text_ = N_("The text has {n} characters, but a config.json may have at most {most}")
        raise _refusal(text_, n=f"{len(text):,}", most=f"{MOST_CHARACTERS:,}")
    try:
        values = json.loads(
            text.removeprefix("\ufeff"),
            object_pairs_hook=object_of,
            parse_constant=_NoNumber,
            parse_float=_finite,
        )
        check_characters(values)
    except ConfigError:
        raise
    except UnicodeEncodeError:
        raise _refusal(
            N_("The text contains an unpaired surrogate, which is not a character")
        ) from None
    except RecursionError:
        raise _refusal(N_("The text is nested too deeply for a config.json")) from None
    except json.JSONDecodeError as error:
        text_ = N_("This is not JSON: parsing fails at line {line}, column {column}")
        raise _refusal(text_, line=error.lineno, column=error.colno) from None
    except ValueError:
        raise _refusal(N_("A number in the text has too many digits to be a size")) from None
    if type(values) is not dict:
        text_ = N_("A config.json is a single JSON object in braces, but this is {value}")
        raise _refusal(text_, value=brief(values))
    return values


def _called(values: Values) -> str:
    """The last part of the name or path that `transformers` writes into the file."""
    found = values.get("_name_or_path")
    return found.rstrip("/").rpartition("/")[2] if type(found) is str else ""


def object_of(pairs: list[tuple[str, Any]]) -> Values:
    """A JSON object of these pairs. Raises `ConfigError` where a name comes twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = Counter(name for name, _value in pairs).most_common(1)[0][0]
        raise _refusal(
            N_("{name} appears twice in one object: which one is meant?"), name=cut(twice)
        )
    for name, value in pairs:
        if wrong := _no_number_in(value):
            text = N_("{name} is {value}, which is not a valid number")
            raise _refusal(text, name=cut(name), value=cut(wrong))
    return values


class _NoNumber(str):
    """NaN, Infinity or 1e999, as the file writes it, until it is known what it stands for."""


def _finite(text: str) -> float | _NoNumber:
    number = float(text)
    return number if math.isfinite(number) else _NoNumber(text)


def _no_number_in(value: Any) -> _NoNumber | None:
    """What is no number in a value or in a list of them."""
    if type(value) is list:
        return next(filter(None, map(_no_number_in, value)), None)
    return value if type(value) is _NoNumber else None


def _unknown_family(name: object) -> Fault:
    names = [*FAMILIES, *AROUND]
    known = ", ".join(names)
    if isinstance(name, str):
        known = nearest_names(name, names, len(names))
    if name is None:
        text = N_("The file does not name its model family (model_type); known families: {known}")
        return Fault(text, {"known": known})
    text = N_("Unknown model family {name} (model_type); known families: {known}")
    return Fault(text, {"name": brief(name), "known": known})


def _refusal(text: str, **values: object) -> ConfigError:
    return ConfigError([Fault(text, values)])
