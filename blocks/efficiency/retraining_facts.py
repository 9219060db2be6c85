"""What training on gives back to a pruned model: lines over the share that is removed."""

from dataclasses import dataclass

from blocks.cost.parameters import total_parameters
from blocks.efficiency.removal import Removed, config_without
from blocks.efficiency.retraining import Repair, Repaired
from blocks.model.config import ModelConfig


@dataclass(frozen=True)
class RetrainingFacts:
    """All that was measured, the two without removal first: as it was, and trained on as long.

    `config`: that of the whole model. `is_share`: whether the score is a share of what was asked;
    elsewhere the loss, in nats, says how good a model is.
    """

    removed: Removed
    config: ModelConfig
    found: tuple[Repaired, ...]
    n_updates: int
    score_name: str
    is_share: bool

    @property
    def original(self) -> Repaired:
        """The model with nothing removed and nothing retrained."""
        return self.found[0]

    @property
    def control(self) -> Repaired:
        """The whole model, trained for as long as the others."""
        return self.found[1]

    def quality(self, found: Repaired) -> float:
        """Score, or held-out loss in nats."""
        return found.score if self.is_share else found.loss

    def line(self, repair: Repair) -> tuple[Repaired, ...]:
        """From nothing removed on, as far as it was measured."""
        first = self.original if repair is Repair.NONE else self.control
        pruned = (each for each in self.found if each.repair is repair and each.share)
        return (first, *pruned)

    @property
    def most(self) -> float:
        """The largest share that was removed."""
        return max(each.share for each in self.found)

    def n_parameters(self, share: float) -> int:
        """How many are left with this share removed; a mask leaves them all, some of them 0."""
        return total_parameters(config_without(self.config, self.removed, share))

    def kept_up_to(self, repair: Repair, share_of_quality: float) -> float:
        """The largest share removed with so much of the control's score left, 0 where none.

        Of a loss: at most as much higher as the score may be lower.
        """
        good = (
            each.share for each in self.line(repair)[1:] if self._is_kept(each, share_of_quality)
        )
        return max(good, default=0.0)

    def _is_kept(self, found: Repaired, share: float) -> bool:
        if self.is_share:
            return found.score >= share * self.control.score
        return found.loss <= (2 - share) * self.control.loss
