"""A recipe in words, for those who do not know its short name."""

import re
from collections.abc import Iterable, Iterator

from blocks.efficiency.compression import Compression
from blocks.efficiency.pruning import Criterion, MaskPattern, Scope
from blocks.efficiency.quantization import Granularity, Quantization, RangeRule
from blocks.efficiency.rounding import Rounding
from blocks.model.faults import N_
from pages.figures.counting import from_one
from pages.words.language import _, enumeration, ngettext
from pages.words.numbers import percent

LAYER = re.compile(r"(?:(\w+)\.)?(layers|mtp)\.(\d+)")
MOST_NAMED = 4
TEXT_NAMES = {"en": N_("an English text"), "zh": N_("a Chinese text")}
BY = {
    Criterion.MAGNITUDE: N_("the smallest"),
    Criterion.WANDA: N_("those contributing least"),
    Criterion.RANDOM: N_("at random"),
}


def in_words(how: Compression) -> str:
    """What is taken out, masked and rounded; that nothing is where nothing is."""
    return enumeration(_parts(how)) or _("original")


def _parts(how: Compression) -> Iterator[str]:
    by = _(BY[how.criterion])
    if how.removed_layers:
        layers = " + ".join(str(from_one(layer)) for layer in how.removed_layers)
        yield _("layers removed: {layers}").format(layers=layers)
    if how.removed_heads:
        text = ngettext(
            "{n} key/value head removed per layer ({by})",
            "{n} key/value heads removed per layer ({by})",
            how.removed_heads,
        )
        yield text.format(n=how.removed_heads, by=by)
    if how.removed_units:
        text = _("{share} of the hidden units removed ({by})")
        yield text.format(share=percent(how.removed_units), by=by)
    if how.sparsity:
        text = _("{share} of the weights set to 0 ({by})")
        if how.pattern is MaskPattern.TWO_FOUR:
            text = _("2 of every 4 weights set to 0 ({by})")
        yield text.format(share=percent(how.sparsity), by=by)
    if how.scope is Scope.GLOBAL:
        yield _("chosen across all layers")
    if how.quantization is not None:
        yield from _rounding(how, how.quantization)
    if how.text:
        text = _(TEXT_NAMES.get(how.text, N_("a text of your own")))
        yield _("calibrated on {text}").format(text=text)


def _rounding(how: Compression, grid: Quantization) -> Iterator[str]:
    shared = {
        Granularity.TENSOR: _("{bits} bits per weight, one grid per matrix"),
        Granularity.CHANNEL: _("{bits} bits per weight, one grid per row"),
        Granularity.GROUP: _("{bits} bits per weight, one grid per {n} weights"),
    }
    yield shared[grid.granularity].format(bits=grid.n_bits, n=grid.group_size)
    if not grid.symmetric:
        yield _("asymmetric")
    if grid.range_rule is not RangeRule.ABSMAX:
        yield _("grid range: {rule}").format(rule=grid.range_rule)
    if how.rounding is not Rounding.NEAREST:
        yield _("rounded with {method}").format(method=how.rounding.upper())
    if how.kept_share:
        yield _("the worst rows ({share}) at 8 bits").format(share=percent(how.kept_share))
    if how.exempt:
        yield _("{modules} at full precision").format(modules=exempt_in_words(how.exempt))
    if how.activations is not None:
        yield _("activations at {bits} bits").format(bits=how.activations.n_bits)


def exempt_in_words(modules: Iterable[str]) -> str:
    """What stays as it is; only how many they are where they are many."""
    names = sorted(modules)
    if len(names) > MOST_NAMED:
        return _("{n} layers or matrices").format(n=len(names))
    return enumeration(map(module_in_words, names))


def module_in_words(module: str) -> str:
    """A whole layer as the screen counts it; a matrix by its name."""
    found = LAYER.fullmatch(module)
    if found is None:
        return module
    stack = found[1] or ("mtp" if found[2] == "mtp" else "")
    return _("layer {layer}").format(layer=f"{_(stack)} {from_one(int(found[3]))}".strip())
