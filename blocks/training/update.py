"""One update of the weights: forward, loss, backward, clip, a step of each optimizer.

The same work every time, on other batches: what changes is in tensors, so on CUDA it is one graph.
"""

from collections.abc import Sequence
from contextlib import nullcontext

import torch
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_
from torch.optim import Optimizer

from blocks.model import devices
from blocks.model.dropout import training_mode
from blocks.model.kinds import Architecture
from blocks.model.randomness import seed_of
from blocks.observe.captured import Again, UncapturedError, can_capture, fill
from blocks.observe.reading import Reading
from blocks.training.ahead import ahead_loss, all_logits
from blocks.training.distillation import Guidance
from blocks.training.loss import cross_entropy
from blocks.training.masters import Masters
from blocks.training.optimizers import set_rate_factor
from blocks.training.schedule import rate_factor
from blocks.training.spec import TrainingSpec
from blocks.training.task import Batch


class Update:
    """The updates of one training.

    No graph can hold what values decide the shapes of: experts, a teacher, texts of unequal lengths
    in pairs. In a graph what is dropped is drawn on the device, from the seed of each step.
    """

    def __init__(
        self,
        spec: TrainingSpec,
        masters: Masters,
        optimizers: Sequence[Optimizer],
        guidance: Guidance | None,
    ):
        self.spec, self.recipe = spec, spec.recipe
        self.masters, self.model = masters, masters.model
        self.optimizers, self.guidance = optimizers, guidance
        self._norms: dict[Tensor, Tensor] = {}
        is_pair = spec.config.architecture is Architecture.ENCODER_DECODER
        is_same = guidance is None and not is_pair
        self.holds = is_same and can_capture(spec.config, spec.device)
        self._random = torch.Generator(spec.device if self.holds else "cpu")
        self._again = Again(torch.device(spec.device), holds=self.holds, draws=self._random)
        self._batch: Batch | None = None

    def __call__(self, step: int, batch: Batch) -> Reading:
        """Make the `step`-th update; its loss and the norm of the gradient are on their way."""
        set_rate_factor(self.optimizers, rate_factor(self.recipe, step, self.spec.config.d_model))
        self._random.manual_seed(seed_of(self.spec.seed, "dropout", str(step)))
        if self.holds and self._batch is not None:
            fill(self._batch.tensors, batch.tensors)
        else:
            self._batch = batch.to(self.spec.device)
        try:
            self._again(self.work)
        except UncapturedError:
            self._forget_gradients()  # what a capture leaves of them was never computed
            devices.free_memory()
            self._again(self.work)
        return Reading(self._loss, self._norm)

    @property
    def layer_norms(self) -> tuple[float, ...]:
        """The norm of each layer's gradient, in the latest update and before clipping."""
        of_layers = (
            map(self._norms.get, layer.parameters()) for layer in self.masters.exact.layers
        )
        found = [[each for each in norms if each is not None] for norms in of_layers]
        return tuple(float(torch.stack(norms).norm()) for norms in found if norms)

    def work(self) -> None:
        """Forward, backward, and one step of the optimizers."""
        batch = self._batch
        assert batch is not None
        listens = nullcontext() if self.guidance is None else self.guidance.listens()
        with training_mode(self._random, updates_statistics=True), listens:
            logits, *ahead = all_logits(self.model, batch)
        loss = self.loss(logits, batch)
        (loss + self.loss_ahead(ahead, batch) if ahead else loss).backward()
        self._loss = loss.detach()
        self.masters.take_gradients()
        self._clip()
        for optimizer in self.optimizers:
            optimizer.step()
        self.masters.round()
        self._forget_gradients()

    def _forget_gradients(self) -> None:
        self.model.zero_grad()
        for optimizer in self.optimizers:
            optimizer.zero_grad()

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """What the next tokens cost, in nats: labels alone, or a teacher's guidance too."""
        smoothing = self.recipe.label_smoothing
        if self.guidance is not None:
            return self.guidance.loss(logits, batch, label_smoothing=smoothing)
        return cross_entropy(logits, batch.targets, label_smoothing=smoothing)

    def loss_ahead(self, ahead: Sequence[Tensor], batch: Batch) -> Tensor:
        """What is made smaller too: the loss of modules that predict further ahead."""
        weight, smoothing = self.recipe.mtp_weight, self.recipe.label_smoothing
        return ahead_loss(ahead, batch.targets, weight, label_smoothing=smoothing)

    @torch.no_grad()
    def _clip(self) -> None:
        """Take the norm of the gradient, of which those of its parts are kept, and clip it."""
        exact = self.masters.exact
        gradients = {each: each.grad for each in exact.parameters() if each.grad is not None}
        norms = torch._foreach_norm([*gradients.values()])
        self._norms = dict(zip(gradients, norms, strict=True))
        self._norm = torch.stack(norms).norm()
        if self.recipe.clip_norm:
            clip_grads_with_norm_(exact.parameters(), self.recipe.clip_norm, self._norm)
