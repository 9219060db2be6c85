"""Write a lesson that shows and asks nothing: a lecture, as a file that `reading` reads, or short.

Short, it goes into a link: JSON, deflated, in the letters that an address may have.
"""

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from blocks.lessons.lesson import Step

LONGEST_IN_LINK = 3000  # signs; with all else in it an address stays below 8,000
MOST_UNPACKED = 100_000  # bytes
FENCE = re.compile("^(##|```)", re.MULTILINE)  # what ends a text: notes say it as text


def packed(steps: Sequence[Step]) -> str:
    """The steps as signs for a link; empty where they are too many for one."""
    rows = [[s.title, s.page, s.show, s.before, dict(s.set)] for s in steps]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    found = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return found if len(found) <= LONGEST_IN_LINK else ""


def unpacked(text: str) -> tuple[Step, ...]:
    """The steps that `packed` wrote. Raises `ValueError` where the text is anything else."""
    if len(text) > LONGEST_IN_LINK:
        raise ValueError(len(text))
    try:
        inflated = zlib.decompressobj()
        raw = inflated.decompress(
            base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), MOST_UNPACKED
        )
        rows = json.loads(raw)
        return tuple(_step_of(*row) for row in rows)
    except (zlib.error, TypeError, AttributeError) as error:
        raise ValueError(text) from error


def _step_of(title: str, page: str, show: str, before: str, state: Mapping[str, str]) -> Step:
    """One of them; a page or panel that is none is refused where it is opened."""
    texts = (title, page, show, before, *state, *state.values())
    if not all(isinstance(text, str) for text in texts) or not page.isidentifier():
        raise ValueError(page)
    return Step(title=title, page=page, show=show, before=before, set=tuple(state.items()))


def written(title: str, steps: Sequence[Step]) -> str:
    """The text of a lesson with these steps; of each its title, page, panel, state and notes."""
    named = {"title": title, "summary": title, "minutes": len(steps), "page": steps[0].page}
    return "\n".join(["+++", *_table(named), "+++", "", *map(_step, steps)])


def _step(step: Step) -> str:
    told = {"page": step.page, "set": urlencode(step.set), "show": step.show}
    block = ["```step", *_table(told), "```"]
    title, said = " ".join(step.title.split()), FENCE.sub(r"\\\g<0>", step.before)
    return "\n".join([f"## {title}", "", said, "", *block, ""])


def _table(values: Mapping[str, object]) -> list[str]:
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
