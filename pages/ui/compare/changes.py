"""What was changed from A to B, and what moved along with it."""

from typing import Any

from blocks import ModelConfig
from blocks.inspection.settings import differing, moved_along
from blocks.run import Run
from pages.ui.language import _
from pages.ui.terms import value

MOST_NAMED = 8


def between(a: Run, b: Run) -> str:
    """All that differs between the models of two runs, in one line."""
    return _said(a, b, (a.config, b.config))


def between_blocks(a: Run, b: Run) -> str:
    """The same of one block of each."""
    return _said(a, b, (a.config.one_block(), b.config.one_block()))


def _said(a: Run, b: Run, configs: tuple[ModelConfig, ModelConfig]) -> str:
    led = moved_along(*configs)
    parts = [_part(name, *values, is_led=name in led) for name, values in _ordered(configs, led)]
    more = [" …"] if len(parts) > MOST_NAMED else []
    named = [*parts[:MOST_NAMED], *more]
    if bool(a.weights) != bool(b.weights):
        named.append(f"{_weights(a)} → {_weights(b)}")
    return _("From A to B: {changes}").format(changes=" · ".join(named)) if named else ""


def _ordered(configs: tuple[ModelConfig, ModelConfig], led: dict) -> list[tuple[str, tuple]]:
    """What was changed, then what followed."""
    return sorted(differing(*configs).items(), key=lambda item: item[0] in led)


def _part(name: str, a: Any, b: Any, *, is_led: bool) -> str:
    text = _("{name} follows: {a} → {b}") if is_led else "{name} {a} → {b}"
    return text.format(name=name, a=value(a), b=value(b))


def _weights(run: Run) -> str:
    if run.weights:
        return _("trained weights")
    return _("random weights (seed {seed})").format(seed=run.seed)
