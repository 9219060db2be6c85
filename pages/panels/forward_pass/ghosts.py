"""Drafts in the moving picture: tokens that modules guessed, which a pass reads and checks."""

from functools import lru_cache, reduce
from typing import cast

from blocks.inspection.scene import most_drawn
from blocks.model.models import GPT
from blocks.observe.run import Run
from blocks.text.next_word import UNFINISHED
from blocks.text.speculation import Pass, draft_after
from pages.panels.gpt import growing
from pages.server import cached
from pages.show import beside
from pages.stage import tokens
from pages.state.values import State
from pages.words.language import _, ngettext, sentences


def can_draft(run: Run) -> bool:
    """Whether modules can guess what follows this text, and a pass has room to check it."""
    n, n_read = run.config.n_mtp_modules, len(run.input.token_ids)
    is_drawn = 1 < n_read <= most_drawn(run.config) - n and beside.found() is None
    return n > 0 and is_drawn and growing.is_read_off(run, n + 1)


def drafted(run: Run, state: State) -> tuple[int, ...]:
    """The tokens that its modules guess, where the reader wants to see drafts."""
    return draft_of(run) if state.drafts and can_draft(run) else ()


@lru_cache(maxsize=64)
def draft_of(run: Run) -> tuple[int, ...]:
    """What its modules guess after its text."""
    with cached.turn(run.device):
        model = cast(GPT, cached.model(run))
        return draft_after(model, run.input.token_ids, growing.window_size(run))


def with_draft(run: Run, draft: tuple[int, ...]) -> Run:
    return reduce(growing.longer, draft, run)


def checked(run: Run, n_drafted: int) -> Pass:
    """What a pass says of the last tokens that it read; without drafts of none."""
    if not n_drafted:
        return Pass((), ())
    own = cached.recording(run).output[0, -n_drafted - 1 :].argmax(-1)
    return Pass(run.input.token_ids[-n_drafted:], tuple(own.tolist()))


def text_written(run: Run, state: State) -> str:
    """What the text gains by a pass with drafts; empty without any."""
    if not (draft := drafted(run, state)):
        return ""
    written = checked(with_draft(run, draft), len(draft)).written
    read, reader = run.input.token_ids, tokens.tokenizer_of(run.input.vocabulary)
    return UNFINISHED.sub("", reader.decode([*read, *written])[len(reader.decode(read)) :])


def says(run: Run, found: Pass, kind: str, told: str) -> str:
    """What is told of a move of this kind, and of the drafts there."""
    match kind if found.drafted else "":
        case "embed":
            return sentences(told, _says_guessed(run, found))
        case "choose":
            return sentences(told, _says_checked(run, found))
        case "next":
            return _says_joining(found, _name(run, found.written[-1]))
        case _:
            return told


def _says_guessed(run: Run, found: Pass) -> str:
    n = len(found.drafted)
    text = _(
        "The pale tokens are drafts: {modules} guessed {guessed} after the previous pass. "
        "This pass reads them along with the text, and so checks all of them at once."
    )
    return text.format(
        modules=ngettext("{n} MTP module", "{n} MTP modules", n).format(n=n),
        guessed=_name(run, *found.drafted),
    )


def _says_checked(run: Run, found: Pass) -> str:
    n, accepted = len(found.drafted), found.n_accepted
    if accepted == n:
        text = _("Drafts accepted: {n} of {n}. The model itself would have written the same.")
        return text.format(n=n)
    text = _(
        "Drafts accepted: {accepted} of {n}. Instead of {draft}, the model itself would have "
        "written {own}, so all later drafts are discarded."
    )
    draft, own = _name(run, found.drafted[accepted]), _name(run, found.own[accepted])
    return text.format(n=n, accepted=accepted, draft=draft, own=own)


def _says_joining(found: Pass, own: str) -> str:
    text = _("{own} joins the sentence after the drafts: this one pass wrote {n} tokens.")
    if not found.n_accepted:
        text = _("{own} alone joins the sentence: this pass wrote one token, as without drafts.")
    return text.format(own=own, n=len(found.written))


def _name(run: Run, *token_ids: int) -> str:
    text = tokens.tokenizer_of(run.input.vocabulary).decode(token_ids).strip()
    labels = " ".join(tokens.label(run, each) for each in token_ids)
    return _("“{kind}”").format(kind=text or labels)
