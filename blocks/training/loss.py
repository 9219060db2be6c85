"""How wrong the model is."""

from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from blocks.training.tasks import IGNORED


def cross_entropy(
    logits: Tensor, targets: Tensor, *, label_smoothing: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """−log of the probability given to the right token, in nats, over all tokens asked for.

    `logits` (batch, seq, vocab_size), `targets` (batch, seq), IGNORED where nothing is asked.
    Computed in float32 at least. Label smoothing: Szegedy et al. 2015, section 7.
    """
    return F.cross_entropy(
        logits.flatten(0, 1).float(),
        targets.flatten(),
        ignore_index=IGNORED,
        label_smoothing=label_smoothing,
        reduction=reduction,
    )
