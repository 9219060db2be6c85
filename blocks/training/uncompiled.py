"""Optimizers of torch, without its compiler, which none of them needs here."""

from collections.abc import Callable
from inspect import unwrap
from typing import Any

import torch
from torch import optim


class Uncompiled(optim.Optimizer):
    """The methods of an optimizer below their wrappers, which load the compiler of torch to tell it
    what to leave alone: that takes over a second in each process that trains."""

    add_param_group: Any = unwrap(optim.Optimizer.add_param_group)
    zero_grad: Any = unwrap(optim.Optimizer.zero_grad)
    state_dict: Any = unwrap(optim.Optimizer.state_dict)
    load_state_dict: Any = unwrap(optim.Optimizer.load_state_dict)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient."""
        unwrap(super().step)(self, closure)


class Adam(Uncompiled, optim.Adam):
    """Adam (Kingma and Ba 2015)."""


class AdamW(Uncompiled, optim.AdamW):
    """Adam whose weight decay is no part of the gradient (Loshchilov and Hutter 2019)."""


class SGD(Uncompiled, optim.SGD):
    """Gradient descent, with momentum where it is asked for."""
