"""The layers of a whole model as they are, on their own loss, forward and back."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from blocks.inspection.depth import DepthPass, measure_depth
from blocks.model.models import Encoder
from blocks.observe.recording import record
from blocks.observe.run import Run
from blocks.training.loss import cross_entropy


def measure_own(
    run: Run, model: Encoder, targets: Sequence[int], without: Collection[int] = ()
) -> DepthPass:
    """Measure the layers of `model` on this run; nothing is left in it.

    `targets`: the right token at each position, IGNORED where none is asked for. The loss is
    their cross entropy, in nats, in evaluation mode. `without`: tokens that count in no measure of
    the stream, the writes and the attention; they run along, and loss and gradients are the same.
    """
    mask, wanted = run.build_mask(), torch.tensor([list(targets)], device=run.device)
    read = "layers.0.resid_pre"
    x = record(model, run.values(), mask=mask, keep={read}).tensor(read)

    def loss(stream: Tensor) -> Tensor:
        return cross_entropy(model.unembed_logits(model.final_norm(stream)), wanted)

    is_token = run.input.is_token()
    is_token[:, list(without)] = False
    return measure_depth(list(model.layers), x, mask, is_token=is_token, loss_of=loss)
