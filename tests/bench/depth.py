"""What measuring every layer costs, against going forward and back without looking."""

import torch
from torch import nn

from blocks import ModelConfig, build
from blocks.inspection.depth import measure_depth
from blocks.inspection.stack import random_probe, stack_config
from blocks.model import devices
from blocks.model.masks import causal
from blocks.model.probe import Probe, listening
from blocks.observe.recording import Recorder
from tests.bench.report import report
from tests.bench.tensors import in_pairs, milliseconds

DEPTH, WIDTH, N_HEADS, ROUNDS = 64, 128, 8, 9


def measure() -> None:
    """Print the ratio on every device here."""
    for device in devices.available_devices():
        for n_tokens in (64, 128):
            measured_against_plain(device, n_tokens)


class InSteps(Recorder):
    """Looks at no value, but has attention take the same path as when its pattern is seen."""

    def see(self, probe: Probe, x: torch.Tensor) -> torch.Tensor:
        """Hand on what passes."""
        return x


def measured_against_plain(device: str, n_tokens: int) -> None:
    """All measures of all layers, against the same pass forward and back; in turn."""
    base = ModelConfig.from_flat({"d_model": WIDTH, "n_heads": N_HEADS, "position_kind": "none"})
    config = stack_config(base, n_layers=DEPTH, width=WIDTH)
    layers = list(build(config, device=device).layers)
    x, mask = torch.randn(1, n_tokens, WIDTH, device=device), causal(n_tokens, device)
    is_token = torch.ones(1, n_tokens, dtype=torch.bool, device=device)
    loss_of = random_probe(config, is_token, seed=0)

    def plain() -> None:
        forward_and_back(layers, x, mask, loss_of)

    def measured() -> None:
        measure_depth(layers, x, mask, is_token=is_token, loss_of=loss_of)

    pairs = [(milliseconds(measured, device), milliseconds(plain, device)) for _ in range(ROUNDS)]
    sizes = f"{DEPTH} layers, {WIDTH}/{N_HEADS}, {n_tokens} tokens"
    report(f"(n) depth measured / plain, {sizes}, {device}", in_pairs(pairs[2:]), "≤ 1.15")


def forward_and_back(layers: list[nn.Module], x: torch.Tensor, mask: torch.Tensor, loss_of) -> None:
    """The gradients of all weights, and nothing else."""
    with listening(InSteps({"pattern"}, {})):
        stream = x
        for layer in layers:
            stream = layer(stream, mask)
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    torch.autograd.grad(loss_of(stream), parameters)
