"""Frames of the page of parameters with the reader's words in them, ready to be drawn."""

import pandas as pd

from blocks import ModelConfig
from blocks.cost.growth import Share
from blocks.model.kinds import Architecture
from pages.ui import terms
from pages.ui.language import _
from pages.ui.parameters import amounts, counted, names


def changes(config: ModelConfig) -> pd.DataFrame:
    """One row a change: name, label, delta, said."""
    whole = counted.total(config)
    found = counted.changes(config)
    return pd.DataFrame(
        {
            "name": [change.name for change in found],
            "label": [names.change(change.name) for change in found],
            "delta": pd.Series([change.total - whole for change in found], dtype=object),
            "said": [_said(change.total - whole) for change in found],
        }
    )


def _said(delta: int) -> str:
    """Every digit where there is room, else three with a unit."""
    exact = amounts.signed(delta)
    short = ("+" if delta > 0 else "−") + amounts.short(abs(delta))
    return exact if len(exact) <= len("+999,999,999") else short


def growth(config: ModelConfig, size: str) -> tuple[pd.DataFrame, int]:
    """Shares over a size, and the reader's own size."""
    return counted.over(config, size), getattr(config, size)


def share_names() -> dict[str, str]:
    """What each share is called."""
    return {str(share): names.share(share) for share in Share}


def published() -> pd.DataFrame:
    """One row a model: name_, title, architecture, total, active."""
    found = counted.published()
    return pd.DataFrame(
        {
            "name_": [each.name for each in found],
            "title": [_(each.title) for each in found],
            "architecture": [str(each.config.architecture) for each in found],
            "total": [each.total for each in found],
            "active": [each.active for each in found],
        }
    )


def architectures() -> dict[str, str]:
    """What each architecture is called."""
    kinds = (Architecture.GPT, Architecture.ENCODER, Architecture.ENCODER_DECODER)
    return {str(kind): terms.option(kind) for kind in kinds}


def moments(found: pd.DataFrame) -> pd.DataFrame:
    """Moments of each kind with what it is called."""
    return found.assign(label=[names.kind(kind) for kind in found["kind"]])
