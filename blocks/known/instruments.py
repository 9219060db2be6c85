"""What each instrument says of a model and a text, as the panels have it: a number for each place.

A larger number means that the instrument holds the place for more important. What it names, or
which layer it tells, it says outright.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from blocks.inspection import head_probe, leave_one_out, lens, logit_difference
from blocks.inspection.ablation import ablate
from blocks.inspection.backward import attributions
from blocks.inspection.contribution_graph import contribution_graph
from blocks.inspection.leaks import LeakFacts, LeakTest, forbidden, gradients, moved
from blocks.inspection.mask_faults import MaskFault, open_mask
from blocks.known.subjects import Asked, Subject
from blocks.model.kinds import Architecture
from blocks.observe.interventions import heads_of, patched_paths
from blocks.observe.recording import Recording, record
from blocks.observe.run import Run
from blocks.observe.sweep import outputs_of_each

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Seen:
    """A text that a model has read."""

    subject: Subject
    asked: Asked
    run: Run
    recording: Recording

    @classmethod
    def of(cls, subject: Subject, asked: Asked) -> "Seen":
        """Read the text."""
        run = subject.run(asked.text)
        return cls(subject, asked, run, run.record(subject.model))

    @property
    def answer(self) -> int:
        """What the model puts first at the position."""
        return int(self.recording.output[0, self.asked.position].argmax())

    @property
    def places(self) -> list[int]:
        """The other tokens that the position can see."""
        at, n = self.asked.position, self.run.input.shape[1]
        last = at if self.run.config.architecture.generates else n
        return [i for i in range(last) if i != at]

    @property
    def other_answer(self) -> int:
        """What the model puts first there in the other text."""
        run = self.subject.run(self.asked.other)
        output = record(self.subject.model, run.values(), mask=run.pass_mask(), keep=()).output
        return int(output[0, self.asked.position].argmax())

    @property
    def is_gpt(self) -> bool:
        """Whether it reads from left to right."""
        return self.run.config.architecture is Architecture.GPT


Scores = Callable[[Seen], Array | None]


def attention(seen: Seen) -> Array:
    """The weight of the query on each token, the mean of all heads of all layers."""
    config = seen.run.config
    at = seen.asked.position
    patterns = [seen.recording.pattern(i)[0, :, at] for i in range(config.n_layers)]
    return _numbers(torch.stack(patterns).mean((0, 1))[seen.places])


def contributions(seen: Seen) -> Array:
    """How much of the last stream of the position comes from each token."""
    graph = contribution_graph(seen.recording, seen.subject.model, seen.run.config)
    return graph.routes(seen.asked.position)[0][seen.places]


def left_out(seen: Seen) -> Array | None:
    """By how many bits the prediction is less likely where each token is hidden."""
    if not seen.is_gpt:
        return None
    at, token = seen.asked.position, seen.answer
    bits = float(leave_one_out.log2_probabilities(seen.recording.output[0, at])[token])
    without = leave_one_out.without_each(
        seen.run, seen.places, at, token, seen.subject.model, seen.recording
    )
    return np.array([bits - each.bits for each in without])


def ablation(seen: Seen) -> Array:
    """How far the prediction moves without each head, in bits."""
    parts = [part for part in heads_of(seen.run.config) if part.head is not None]
    table = ablate(
        seen.subject.model,
        seen.run.values(),
        parts,
        mask=seen.run.pass_mask(),
        position=seen.asked.position,
    )
    found: Array = table["kl_bits"].to_numpy()
    return found


def patching(seen: Seen) -> Array:
    """How far each head, as it was for the other text, moves the difference of the answers."""
    changes = [
        part
        for part in logit_difference.changes_of(seen.run.config, "patching")
        if part.head is not None
    ]
    model, at = seen.subject.model, seen.asked.position
    run = seen.subject.run(seen.asked.other)
    kept = patched_paths(changes)
    other = record(model, run.values(), mask=run.pass_mask(), keep=kept)
    pair = [seen.answer, int(other.output[0, at].argmax())]
    after = outputs_of_each(seen.run, model, seen.recording, changes, at, other=other)[:, pair]
    before = seen.recording.output[0, at, pair]
    return _numbers(((before - after)[:, 0] - (before - after)[:, 1]).abs())


def direct(seen: Seen) -> Array | None:
    """What each head adds to the logit difference of the answers by itself."""
    if not logit_difference.is_a_sum(seen.run.config):
        return None
    found = logit_difference.direct(
        seen.run, seen.subject.model, seen.asked.position, seen.answer, seen.other_answer
    )
    return np.abs(found.parts[_of_heads(seen.run)])


def gradient(seen: Seen) -> Array:
    """Gradient × value of each head, for the logit of the answer."""
    table = attributions(
        seen.subject.model,
        seen.run.values(),
        answer=seen.answer,
        position=seen.asked.position,
        mask=seen.run.pass_mask(),
    )
    return np.abs(table["attribution"].to_numpy()[_of_heads(seen.run)])


def _of_heads(run: Run) -> list[int]:
    return [i for i, part in enumerate(heads_of(run.config)) if part.head is not None]


def lens_layer(seen: Seen) -> int | None:
    """The number of layers after which the answer stands first and stays there."""
    if not seen.is_gpt:
        return None
    at = seen.asked.position
    drawn = lens.LensFacts.drawn_of(seen.run, at)
    found = lens.logit_lens(seen.subject.model, seen.recording, drawn.rows)
    return lens.LensFacts(seen.run, found, at, str).decided


def names(subject: Subject) -> list[str] | None:
    """What the probe calls each head."""
    if not head_probe.can_probe(subject.file.config):
        return None
    found: list[str] = (
        head_probe.head_probe(subject.model, subject.file.config).heads["name"].tolist()
    )
    return found


LEAKING = (MaskFault.OFF_BY_ONE, MaskFault.WRONG_AXIS, MaskFault.AFTER_SOFTMAX)
SOUND = (MaskFault.NONE, MaskFault.ADDITIVE, MaskFault.PADDING_ATTENDED)


def leaks(subject: Subject, text: str) -> list[bool]:
    """Whether the leak test raises alarm for each fault, those that leak first."""
    run = subject.run(text)
    return [_leaks(LeakTest(run=run, fault=fault), subject) for fault in (*LEAKING, *SOUND)]


def _leaks(test: LeakTest, subject: Subject) -> bool:
    every = tuple(range(test.run.input.shape[1]))
    facts = LeakFacts(
        test,
        forbidden(test.run),
        int((~open_mask(test.run)).sum()),
        every,
        every,
        moved(test, subject.model, every, together=True).T,
        gradients(test, subject.model, every, together=True),
        0.0,
    )
    return facts.is_clean is False


def _numbers(x: torch.Tensor) -> Array:
    found: Array = x.detach().double().cpu().numpy()
    return found
