"""A recipe as a short name of standard terms, for links and files, and back.

    int4-group32-gptq    int3-keep3    sparse50-wanda    heads1.units50-wanda.int8    layers1+2
    int8.act8-static-smooth    int4.exempt-embed-layers:0    int4-gptq.text-zh

Parts stand between dots in the order in which they are done; what is usual is left out.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from blocks.efficiency.activations import ActivationRounding
from blocks.efficiency.compression import Compression
from blocks.efficiency.pruning import Criterion, MaskPattern, Scope
from blocks.efficiency.quantization import Granularity, Quantization, RangeRule
from blocks.efficiency.rounding import Rounding
from blocks.model.faults import N_, ConfigError, Fault
from blocks.weights.rounded_inputs import ActivationGrid

SAID = re.compile(r"(heads|units|layers|sparse|int|act|seed)(\d+(?:\+\d+)*)")
SIZES = GROUP, KEEP = r"group(\d{1,4})", r"keep(\d{1,2})"
Values = dict[str, Any]
CRITERIA: dict[str, Values] = {each.value: {"criterion": each} for each in Criterion}
OF_MASKS: dict[str, Values] = {
    "2:4": {"pattern": MaskPattern.TWO_FOUR},
    "global": {"scope": Scope.GLOBAL},
}
OF_GRIDS: dict[str, Values] = {
    "tensor": {"granularity": Granularity.TENSOR},
    "asymmetric": {"symmetric": False},
    **{each.value: {"range_rule": each} for each in RangeRule},
}
OF_ACTIVATIONS: dict[str, Values] = {
    "tensor": {"grid": ActivationGrid.TENSOR},
    "static": {"grid": ActivationGrid.STATIC},
    "smooth": {"is_smooth": True},
}
EXEMPT, MOST_EXEMPT, TEXT = "exempt", 64, "text"
TEXT_NAME = re.compile("[a-z0-9]{2,16}")
MODULE = re.compile(r"[a-z]\w{0,40}(?::\w{1,40}){0,6}")
ROUNDINGS: dict[str, Values] = {each.value: {"rounding": each} for each in Rounding}


def name_of(how: Compression) -> str:
    """The name of a recipe; empty for one that changes nothing."""
    return ".".join("-".join(part) for part in _parts(how))


def _parts(how: Compression) -> Iterator[list[str]]:
    by = [] if how.criterion is Criterion.MAGNITUDE else [how.criterion.value]
    if how.removed_layers:
        yield [f"layers{'+'.join(map(str, how.removed_layers))}"]
    if how.removed_heads:
        yield [f"heads{how.removed_heads}", *by]
    if how.removed_units:
        yield [f"units{round(100 * how.removed_units)}", *by]
    if how.sparsity:
        rest = [key for key, values in OF_MASKS.items() if _has(how, values)]
        yield [f"sparse{round(100 * how.sparsity)}", *by, *rest]
    if how.quantization is not None:
        kept = [f"keep{round(100 * how.kept_share)}"] if how.kept_share else []
        yield [*_grid_part(how.quantization, how.rounding), *kept]
    if how.exempt:
        yield [EXEMPT, *sorted(each.replace(".", ":") for each in how.exempt)]
    if (reads := how.activations) is not None:
        rest = [key for key, values in OF_ACTIVATIONS.items() if _has(reads, values)]
        yield [f"act{reads.n_bits}", *rest]
    if how.seed:
        yield [f"seed{how.seed}"]
    if how.text and how.needs_calibration:
        yield [TEXT, how.text]


def _grid_part(how: Quantization, rounding: Rounding) -> list[str]:
    is_grouped = how.granularity is Granularity.GROUP
    return [
        f"int{how.n_bits}",
        *([f"group{how.group_size}"] if is_grouped else []),
        *(key for key, values in OF_GRIDS.items() if key != "absmax" and _has(how, values)),
        *([] if rounding is Rounding.NEAREST else [rounding.value]),
    ]


def _has(how: object, values: Values) -> bool:
    return all(getattr(how, name) == value for name, value in values.items())


def compression_of(name: str) -> Compression:
    """The recipe of a name. Raises `ConfigError` where it is none, or one that cannot be."""
    try:
        values = _together(_read(*part.split("-")) for part in name.split(".") if part)
    except (KeyError, TypeError, ValueError):
        text = N_("{name} is not a recipe for a smaller model: write one like {mend}")
        raise ConfigError([Fault(text, {"name": name[:80], "mend": "int4-group32"})]) from None
    return Compression(**values)


def _read(head: str, *rest: str) -> Values:
    if head in (EXEMPT, TEXT):
        return {"exempt": _modules(rest)} if head == EXEMPT else {"text": _text_name(*rest)}
    found = SAID.fullmatch(head)
    if found is None or len(found[2]) > 40:
        raise ValueError(head)
    kind, numbers = found[1], tuple(int(each) for each in found[2].split("+"))
    if kind == "layers":
        return {"removed_layers": tuple(sorted({*numbers}))}
    (number,) = numbers
    match kind:
        case "heads":
            return {"removed_heads": number, **_merged(CRITERIA, rest)}
        case "units":
            return {"removed_units": number / 100, **_merged(CRITERIA, rest)}
        case "sparse":
            return {"sparsity": number / 100, **_merged(CRITERIA | OF_MASKS, rest)}
        case "int":
            return _read_grid(number, rest)
        case "act":
            reads = ActivationRounding(n_bits=number, **_merged(OF_ACTIVATIONS, rest))
            return {"activations": reads}
        case _:
            return {"seed": number}


def _text_name(name: str) -> str:
    if not TEXT_NAME.fullmatch(name):
        raise ValueError(name)
    return name


def _modules(names: tuple[str, ...]) -> frozenset[str]:
    if not 0 < len(names) <= MOST_EXEMPT or not all(map(MODULE.fullmatch, names)):
        raise ValueError(names)
    return frozenset(each.replace(":", ".") for each in names)


def _read_grid(n_bits: int, rest: tuple[str, ...]) -> Values:
    sized = _together(
        {word: int(found[1])}
        for word in SIZES
        for each in rest
        if (found := re.fullmatch(word, each))
    )
    plain = tuple(each for each in rest if not any(re.fullmatch(word, each) for word in SIZES))
    grid = _merged(OF_GRIDS, tuple(each for each in plain if each not in ROUNDINGS))
    if GROUP in sized:
        grid |= {"granularity": Granularity.GROUP, "group_size": sized[GROUP]}
    return {
        "quantization": Quantization(n_bits=n_bits, **grid),
        "kept_share": sized.get(KEEP, 0) / 100,
        **_merged(ROUNDINGS, tuple(each for each in plain if each in ROUNDINGS)),
    }


def _merged(table: dict[str, Values], keys: tuple[str, ...]) -> Values:
    return _together(table[key] for key in keys)


def _together(parts: Iterable[Values]) -> Values:
    """All of them. Raises `ValueError` where two say something else of one setting."""
    found: Values = {}
    for part in parts:
        if any(found.get(name, value) != value for name, value in part.items()):
            raise ValueError(part)
        found |= part
    return found
