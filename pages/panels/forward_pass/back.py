"""What the moving picture is told of the way back of a training step."""

from collections.abc import Iterator
from typing import Any

from blocks.inspection.scene_backward_facts import LossFacts, back_facts, loss_facts
from blocks.inspection.scene_moves import Move, MoveKind
from pages.figures.counting import read_apart
from pages.figures.numbers import readable
from pages.panels.forward_pass import said, said_backward
from pages.panels.forward_pass.moves import N_ENDS, named, plain
from pages.panels.forward_pass.shown import Asked, back_of, keys_of, labels_of, moved_by
from pages.stage import tokens
from pages.words.language import sentences
from pages.words.numbers import percent


def told(asked: Asked, head: int) -> dict[str, Any]:
    """The moves of the way back, and the words that the loss depends on."""
    seen, run = back_of(asked), asked.run
    token = asked.looked_at["decoder" if run.has_target else ""]
    loss = loss_facts(seen, token, N_ENDS)
    names = read_apart([tokens.label(run, each) for each in loss.ids])
    moves = [
        {
            **plain(move),
            **named(run, move, seen.matrices.get(move.path)),
            **_said(asked, move, head, loss, names[0]),
        }
        for move in seen.moves
    ]
    ends = [*_ends(loss, names)]
    return {"moves": moves, "keeps": False, "ends": ends, "moved": moved_by(run, token)}


def _said(asked: Asked, move: Move, head: int, loss: LossFacts, target: str) -> dict[str, str]:
    labels, token = labels_of(asked.run), asked.looked_at[move.stack]
    row = labels[move.stack][token]
    if move.kind is MoveKind.CHOOSE:
        exactly = said_backward.says_loss_exactly(loss)
        return {"says": said_backward.says_loss(loss, row, target), "sizes": exactly}
    if move.kind is MoveKind.LOGITS:
        return {"says": said_backward.says_logits(loss, target)}
    facts = back_facts(back_of(asked), move, head, token)
    name, key = said.short_name(asked.run, move), labels[keys_of(move)][facts.key]
    about = said_backward.Telling(facts, name, row, key, head)
    says = said_backward.says_back(about)
    if move == back_of(asked).moves[-1]:
        says = sentences(says, said_backward.says_learning(back_of(asked).weight))
    return {"says": says, "sizes": said_backward.says_size(about)}


def _ends(loss: LossFacts, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for label, share, gradient in zip(names, loss.shares, loss.gradients, strict=True):
        yield {
            "label": label,
            "logit": float(gradient),
            "score": readable(float(gradient)).replace("-", "−"),
            "probability": float(share),
            "percent": percent(float(share)),
        }
