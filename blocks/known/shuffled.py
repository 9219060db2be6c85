"""A control that was trained as long as others, on labels that say nothing."""

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from blocks.model.models import build
from blocks.model.randomness import generator
from blocks.training.induction import InductionTask
from blocks.training.task import IGNORED
from blocks.training.uncompiled import AdamW
from blocks.weights.model_file import ModelFile

N_STEPS, BATCH, RATE, SEQ_LEN = 150, 32, 3e-3, 64


def trained_on_shuffled(file: ModelFile, seed: int) -> dict[str, Tensor]:
    """Weights of a model of this shape that learned to find what came before, its answers shuffled.

    Each row keeps its tokens and its answers, but which answer belongs to which token is drawn.
    """
    random, task = generator(seed, "shuffled labels"), InductionTask(SEQ_LEN)
    model = build(file.config, seed=seed)
    optimizer = AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    for _step in range(N_STEPS):
        batch = task.batch(BATCH, random)
        order = torch.rand(batch.targets.shape, generator=random).argsort(1)
        answers = batch.targets.gather(1, order)
        logits = model(batch.token_ids)
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name: tensor.detach() for name, tensor in model.state_dict().items()}
