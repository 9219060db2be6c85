"""What was changed from A to B, and what moved along with it."""

from collections.abc import Container, Iterator
from typing import Any

from blocks import ModelConfig
from blocks.inspection.settings import differing, moved_along
from blocks.model.masks import MaskKind
from blocks.observe.run import Run
from pages.words.language import _, listing, sentences
from pages.words.terms import value

MOST_NAMED, MANY = 8, 4


def between(a: Run, b: Run) -> str:
    return _said(a, b, (a.config, b.config))


def between_blocks(a: Run, b: Run) -> str:
    return _said(a, b, (a.config.one_block(), b.config.one_block()))


def _said(a: Run, b: Run, configs: tuple[ModelConfig, ModelConfig]) -> str:
    led = moved_along(*configs)
    parts = [_part(name, *values, is_led=name in led) for name, values in _ordered(configs, led)]
    parts += [_part(name, *values) for name, values in _used_otherwise(a, b)]
    parts += [text for text, differs in _not_set(a, b) if differs]
    if not parts:
        return ""
    shown = parts[:MOST_NAMED]
    text = _("B has {changes}; all else is equal.")
    if len(parts) > len(shown):
        text = _("B has {changes}, among other differences ({n} more).")
    said = text.format(changes=listing(shown), n=len(parts) - len(shown))
    is_many = len(parts) - len(led) >= MANY
    return sentences(said, _one_at_a_time(len(parts), len(led))) if is_many else said


def _one_at_a_time(n: int, n_led: int) -> str:
    """All differences, as many as are named and counted before; some are none of one's own."""
    text = _(
        "B differs in {n} ways at once: change one setting at a time to see what each does alone."
    )
    if n_led:
        text = _(
            "B differs in {n} ways at once, and {led} of these differences follow from the "
            "others. Change one setting at a time to see what each does alone."
        )
    return text.format(n=n, led=n_led)


def _ordered(
    configs: tuple[ModelConfig, ModelConfig], led: Container[str]
) -> list[tuple[str, tuple[Any, Any]]]:
    return sorted(differing(*configs).items(), key=lambda item: item[0] in led)


def _used_otherwise(a: Run, b: Run) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """How two models are used: the mask, and the number format."""
    kinds = str(a.mask.mask_kind), str(b.mask.mask_kind)
    pairs: dict[str, tuple[Any, Any]] = {"mask_kind": kinds, "dtype": (a.dtype, b.dtype)}
    if set(kinds) == {MaskKind.SLIDING_WINDOW}:
        pairs["window_size"] = a.mask.window_size, b.mask.window_size
    if set(kinds) == {MaskKind.PREFIX}:
        pairs["prefix_len"] = a.mask.prefix_len, b.mask.prefix_len
    yield from ((name, both) for name, both in pairs.items() if both[0] != both[1])


def _not_set(a: Run, b: Run) -> Iterator[tuple[str, bool]]:
    """What differs beside the settings, and whether it does."""
    text = _("{b} instead of {a}")
    yield text.format(a=_weights(a), b=_weights(b)), bool(a.weights) != bool(b.weights)
    is_painted = a.mask.mask_kind is b.mask.mask_kind is MaskKind.PAINTED
    yield _("a different painted mask"), is_painted and a.mask.painted != b.mask.painted
    yield _("a different tokenization of the text"), a.input.labels != b.input.labels
    yield _("interventions inside the model"), bool(b.interventions)


def _part(name: str, a: Any, b: Any, *, is_led: bool = False) -> str:
    text = _("{name} {b} instead of {a} as a result") if is_led else _("{name} {b} instead of {a}")
    return text.format(name=name, a=value(a), b=value(b))


def _weights(run: Run) -> str:
    if run.weights:
        return _("trained weights")
    return _("random weights (seed {seed})").format(seed=run.seed)
