"""One row of a task, as a learner sees it: what is read, and what has to be said where."""

from dataclasses import dataclass

from blocks.model.kinds import Architecture
from blocks.model.randomness import generator
from blocks.model.source_target import SourceTarget
from blocks.training.pairs import Links, PairTask
from blocks.training.task import IGNORED, Batch, Task


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
    row = _row(task)
    targets = row.targets[0].tolist()
    if isinstance(row.token_ids, SourceTarget):
        source, written = (ids[0].tolist() for ids in row.token_ids)
        read = tuple(Place(task.tokenizer.label(token)) for token in source)
        return (*read, *_written_on(task, written, targets))
    read_ids = row.token_ids[0].tolist()
    is_gpt = task.learner is Architecture.GPT
    return (_written_on if is_gpt else _filled_in)(task, read_ids, targets)


def fixed_input(task: Task) -> tuple[int, ...]:
    """The token ids that the example reads: what to look at a model with while it learns."""
    ids = _row(task).token_ids
    return tuple((ids.source if isinstance(ids, SourceTarget) else ids)[0].tolist())


def fixed_target(task: Task) -> tuple[int, ...]:
    """The token ids that an encoder–decoder has written beside that input; others have none."""
    ids = _row(task).token_ids
    return tuple(ids.target[0].tolist()) if isinstance(ids, SourceTarget) else ()


def fixed_links(task: Task) -> Links:
    """From where in that input each token of that target comes: (place in it, row that writes)."""
    if not isinstance(task, PairTask):
        return ()
    (row,) = task.draw(1, generator(0, task.name, "example"), True)
    return task.links(row)


def openings(task: Task) -> dict[str, str]:
    """A prompt for the trained model, by language of the interface."""
    decode = task.tokenizer.decode
    if isinstance(task, PairTask) and task.groups:
        texts = [decode(row.source) for row in task.shown()]
        return {"en": texts[0], "zh": texts[1]}
    row = fixed_input(task)
    begun = row[: len(row) // 2] if task.learner is Architecture.GPT else row
    return dict.fromkeys(("en", "zh"), decode(task.prompt() or []) or decode(begun))


def _row(task: Task) -> Batch:
    return task.held_out(1, generator(0, task.name, "example"))


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
