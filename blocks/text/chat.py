"""A question to a chat model: the model's own template writes the prompt around it.

What the reader types stays text: a special token in it is cut into ordinary tokens, and only those
that the template itself writes are special.
"""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from blocks.model.faults import N_, ConfigError, Fault
from blocks.text import render_template
from blocks.text.published import CLOSE, OPEN, PublishedTokenizer
from blocks.text.sampling import SamplingConfig
from blocks.text.tokenizer import Piece

MOST_TEMPLATE, WAIT = 2**17, 30  # characters, seconds
CALM = SamplingConfig(temperature=0.7, top_p=0.9)
TOO_LONG = N_(
    "The chat template of this model never ends, or produces too much text: use the text as it is"
)
REFUSED = N_("The chat template of this model cannot be used ({why}): use the text as it is")


@dataclass(frozen=True)
class Chat:
    """How a model is asked and where it ends, as its files say.

    `template`: in Jinja; empty where the model has none. `names`: its special tokens as templates
    know them (bos_token, eos_token). `stop`: token ids that end an answer. `sampling`: how its
    tokens are drawn unless told otherwise, and `is_told` whether its files say so.
    """

    template: str = ""
    names: tuple[tuple[str, str], ...] = ()
    stop: frozenset[int] = frozenset()
    sampling: SamplingConfig = CALM
    is_told: bool = False

    def prompt(self, question: str, tokenizer: PublishedTokenizer) -> tuple[Piece, ...]:
        """The tokens of a prompt with their places in the question.

        What the template puts around it takes no room there. Raises `ConfigError` where there is no
        template, or it does not write a prompt.
        """
        control = tokenizer.control(self.template)
        told = re.sub(f"[{OPEN}{CLOSE}]", "", question)
        marked = control.sub(rf"{OPEN}\g<0>{CLOSE}", told)
        found = _rendered(self.template, self.names, marked)
        if isinstance(found, Fault):
            raise ConfigError([found])
        text, first = found
        own = marked if text.startswith(marked, first) else marked.strip()
        start = first if text.startswith(own, first) else len(text)
        skipped = len(told) - len(told.lstrip()) if own != marked else 0
        places = _Places(text, start, len(own), skipped)
        return tuple(
            Piece(piece.token_id, *places.of(piece.start, piece.end), piece.label)
            for piece in tokenizer.prompt_pieces(text, control)
        )


@dataclass(frozen=True)
class _Places:
    """Where in a question a part of the prompt around it lies.

    In the prompt the question begins at `start` and has `length` characters, marks included;
    `skipped` of its own before them are not there.
    """

    text: str
    start: int
    length: int
    skipped: int

    def of(self, first: int, last: int) -> tuple[int, int]:
        """The characters of the question, none for what the template wrote."""
        return self._place(first), self._place(last)

    def _place(self, at: int) -> int:
        within = self.text[self.start : min(max(at, self.start), self.start + self.length)]
        n = len(within) - within.count(OPEN) - within.count(CLOSE)
        return n + self.skipped if n else 0


@lru_cache(maxsize=64)
def _rendered(
    template: str, names: tuple[tuple[str, str], ...], content: str
) -> tuple[str, int] | Fault:
    """A prompt and where the question begins in it, or why there is none."""
    if not template:
        return Fault(N_("This model has no chat template: use the text as it is"))
    if len(template) > MOST_TEMPLATE:
        return Fault(REFUSED, {"why": f"more than {MOST_TEMPLATE:,} characters"})
    asked = [_values(names, each) for each in (content, OPEN + CLOSE)]
    try:
        done = subprocess.run(
            [sys.executable, "-I", render_template.__file__],
            input=json.dumps({"template": template, "all_values": asked}),
            capture_output=True,
            encoding="utf-8",
            timeout=WAIT,
            check=True,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError):  # it took more time or memory than it may
        return Fault(TOO_LONG)
    if why := answer.get("fault"):
        return Fault(TOO_LONG) if why == "memory" else Fault(REFUSED, {"why": why})
    text, other = answer["texts"]
    first = other.find(OPEN + CLOSE)
    return text, first if first >= 0 else len(text)


def _values(names: tuple[tuple[str, str], ...], content: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": content}]
    more = {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": True}
    return {**dict(names), **more}
