"""One row of a task, as a learner sees it: what is read, and what has to be said where."""

from dataclasses import dataclass

from blocks.randomness import generator
from blocks.training.task import IGNORED, Task


@dataclass(frozen=True)
class Place:
    """A token that is read; `asked`: whether something has to be said there, `answer` what.

    In a next-token task the token itself is the answer, to all that stands before it.
    """

    label: str
    asked: bool = False
    answer: str = ""


def example(task: Task) -> tuple[Place, ...]:
    """The places of one held-out row, always the same one."""
    batch = task.held_out(1, generator(0, task.name, "example"))
    read, targets = batch.token_ids[0].tolist(), batch.targets[0].tolist()
    return _written_on(task, read, targets) if task.causal else _filled_in(task, read, targets)


def fixed_input(task: Task) -> tuple[int, ...]:
    """The token ids that the example reads: what to look at a model with while it learns."""
    batch = task.held_out(1, generator(0, task.name, "example"))
    return tuple(batch.token_ids[0].tolist())


def opening(task: Task) -> str:
    """A text to try the trained model with: a question, or the beginning of a row."""
    decode = task.tokenizer.decode
    row = fixed_input(task)
    begun = row[: len(row) // 2] if task.causal else row
    return decode(task.prompt() or []) or decode(begun)


def _written_on(task: Task, read: list[int], targets: list[int]) -> tuple[Place, ...]:
    """A next-token task asks for tokens of the row itself."""
    label = task.tokenizer.label
    after = [*read[1:], targets[-1]]
    asked = [target != IGNORED for target in targets]
    later = [Place(label(token), is_asked) for token, is_asked in zip(after, asked, strict=True)]
    return (Place(label(read[0])), *later)


def _filled_in(task: Task, read: list[int], targets: list[int]) -> tuple[Place, ...]:
    """An encoder says its answers in the places where they are asked for."""
    label = task.tokenizer.label
    return tuple(
        Place(label(token), target != IGNORED, "" if target == IGNORED else label(target))
        for token, target in zip(read, targets, strict=True)
    )
