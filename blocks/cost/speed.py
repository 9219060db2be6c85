"""How fast a served model reads a prompt and writes, for one user and for all together."""

from typing import NamedTuple

from blocks.cost.fit import chunk_tokens
from blocks.cost.hardware import HARDWARE, Hardware
from blocks.cost.serving import Load, Pace, Served, Work, load, pace, served, together
from blocks.cost.setup import Setup
from blocks.cost.step import Shape
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture


class Speculation(NamedTuple):
    """A draft of `n_drafted` tokens, checked in one pass (Leviathan et al. 2023).

    `acceptance`: the chance that a drafted token is taken, after others that were; `cost`: of a
    pass of what drafts, as a share of a pass of the model.
    """

    n_drafted: int = 0
    acceptance: float = 0.0
    cost: float = 0.0

    @property
    def tokens_a_pass(self) -> float:
        """Expected tokens of one pass: (1 − αᵞ⁺¹)/(1 − α) (their equation 1)."""
        return sum(self.acceptance**k for k in range(self.n_drafted + 1))


class Writing(NamedTuple):
    """One step of all texts: what it waits for, and how many tokens it brings each."""

    n_texts: int
    pace: Pace
    seconds: float
    tokens_a_step: float

    @property
    def per_user(self) -> float:
        """New tokens of one text in a second."""
        return self.tokens_a_step / self.seconds

    @property
    def all(self) -> float:
        """New tokens of all texts in a second."""
        return self.n_texts * self.per_user


NO_DRAFT = Speculation()


def sheet_of(device: str | Hardware) -> Hardware:
    """Return a data sheet by its name; raises `UnknownNameError` with the nearest ones."""
    return HARDWARE[device] if isinstance(device, str) else device


def writing(
    config: ModelConfig,
    setup: Setup,
    shape: Shape,
    device: str | Hardware,
    draft: Speculation = NO_DRAFT,
) -> Writing | None:
    """One more token of each text of n, the new one among them, on devices of one kind.

    Stages of a pipeline work on a part of the texts each, and each takes as long as the longest; so
    a token passes all of them in the time of one pass of such a part. None for what does not write
    alone, and where the sheet has no peak of the number format.
    """
    if config.architecture is not Architecture.GPT:
        return None
    own, sheet = served(config, setup), sheet_of(device)
    texts = _texts_at_once(setup, shape.batch)
    n_new = 1 + draft.n_drafted
    meeting = min(shape.batch, texts * setup.serves_as.replicas_of_experts)
    n_keys = shape.n + draft.n_drafted
    work = load(config, setup, own, Work(texts, n_new, n_keys, meeting=meeting))
    one = load(config, setup, own, Work(texts, 1, shape.n, meeting=meeting))
    found, alone = pace(work, setup, sheet), pace(one, setup, sheet)
    if found is None or alone is None:
        return None
    drafting = draft.n_drafted * draft.cost * alone.seconds
    seconds = _unevenness(config, setup) * (found.seconds + drafting)
    return Writing(shape.batch, found, seconds, draft.tokens_a_pass)


def reading(
    config: ModelConfig, setup: Setup, n: int, device: str | Hardware, prompts: int = 1
) -> Pace | None:
    """A prompt of n tokens, chunk by chunk: until the first token comes. None as in `writing`.

    Several `prompts` go through together.
    """
    if config.architecture is not Architecture.GPT:
        return None
    own, sheet = served(config, setup), sheet_of(device)
    chunks = _chunks(config, setup, own, n, prompts)
    paces = [pace(each, setup, sheet) for each in chunks]
    found = [each for each in paces if each is not None]
    if not found:
        return None
    whole = together(found)
    n_stages = setup.serves_as.pipeline
    filled = (whole.seconds + (n_stages - 1) * found[-1].seconds) / n_stages
    return whole._replace(seconds=filled * _unevenness(config, setup))


def _chunks(config: ModelConfig, setup: Setup, own: Served, n: int, prompts: int) -> list[Load]:
    """Every pass over prompts of n tokens."""
    size = chunk_tokens(config, setup) or n
    ends = [*range(size, n, size), n]
    begins = [0, *ends[:-1]]
    return [
        load(config, setup, own, Work(prompts, end - begin, end, is_prompt=True))
        for begin, end in zip(begins, ends, strict=True)
    ]


def _texts_at_once(setup: Setup, batch: int) -> int:
    """Texts that go through a stage together, of the fullest replica."""
    texts = setup.serves_as.texts(batch)
    return -(-texts // min(setup.serves_as.pipeline, texts))


def _unevenness(config: ModelConfig, setup: Setup) -> float:
    """How much longer all stages take than even ones would."""
    n_stages = setup.serves_as.pipeline
    return -(-config.n_layers // n_stages) * n_stages / config.n_layers
