"""What training on gives back to a pruned model: lines over the share that is masked."""

from dataclasses import dataclass

from blocks.efficiency.retraining import Repair, Repaired


@dataclass(frozen=True)
class RetrainingFacts:
    """All that was measured, the two without a mask first: as it was, and trained on as long.

    `is_share`: whether the score is a share of what was asked; elsewhere the loss, in nats, says
    how good a model is.
    """

    found: tuple[Repaired, ...]
    n_updates: int
    score_name: str
    is_share: bool

    @property
    def original(self) -> Repaired:
        """The model with nothing masked and nothing retrained."""
        return self.found[0]

    @property
    def control(self) -> Repaired:
        """The model without a mask, trained for as long as the others."""
        return self.found[1]

    def quality(self, found: Repaired) -> float:
        """Score, or held-out loss in nats."""
        return found.score if self.is_share else found.loss

    def line(self, repair: Repair) -> tuple[Repaired, ...]:
        """From no mask on, as far as it was measured."""
        first = self.original if repair is Repair.NONE else self.control
        masked = (each for each in self.found if each.repair is repair and each.share)
        return (first, *masked)

    def kept_up_to(self, repair: Repair, share_of_quality: float) -> float:
        """The largest share masked with so much of the control's score left, 0 where none.

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
