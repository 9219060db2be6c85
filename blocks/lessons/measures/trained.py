"""What came of trainings that were recorded: the same for every reader."""

from blocks.corpora.stories import Language
from blocks.lessons.place import Place
from blocks.model.faults import N_, ConfigError, Fault
from blocks.training.peeking import peeking_spec
from blocks.training.race import SMOOTH, race_spec
from blocks.training.recorded import Learned, recorded
from blocks.training.spec import TrainingSpec

NOT_RECORDED = N_("No training run with these settings was recorded")


def story_loss(at: Place, *, sees_ahead: bool, language: str = "en") -> float:
    """The training loss of a small GPT after its stories, with its mask or without, in nats."""
    return _end(_of_stories(language, sees_ahead))


def writing_loss(at: Place, *, sees_ahead: bool, language: str = "en") -> float:
    """The loss of the same model where the text ends and it must write on."""
    return _of_stories(language, sees_ahead).looks[-1].loss


def race_loss(
    at: Place, *, placement: str, depth: int, learning_rate: float = 0.001, warmup: int = 0
) -> float:
    """The loss of a stack that has learned to sort letters for 100 updates, in nats.

    26 letters alike would be 3.26. `placement`: pre or post; 4, 8 or 12 layers; recorded for the
    course's block, seeds 0 to 4 (12 also with `warmup` 60).
    """
    spec = race_spec(
        at.config,
        placement,
        n_layers=depth,
        learning_rate=learning_rate,
        warmup_steps=warmup,
        seed=at.run.seed,
    )
    return _end(_finished(spec))


def _of_stories(language: str, sees_ahead: bool) -> Learned:
    return _finished(peeking_spec(Language(language), sees_ahead=sees_ahead))


def _finished(spec: TrainingSpec) -> Learned:
    """What is recorded of it. Raises `ConfigError` where nothing is."""
    found = recorded(spec)
    if found is None:
        raise ConfigError([Fault(NOT_RECORDED)])
    return found


def _end(found: Learned) -> float:
    return sum(found.losses[-SMOOTH:]) / SMOOTH
