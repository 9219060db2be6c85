"""Write a lesson that shows and asks nothing: a lecture, as a file that `reading` reads."""

import json
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from blocks.lessons.lesson import Step


def written(title: str, steps: Sequence[Step]) -> str:
    """The text of a lesson with these steps; of each its title, page, panel, state and notes."""
    named = {"title": title, "summary": title, "minutes": len(steps), "page": steps[0].page}
    return "\n".join(["+++", *_table(named), "+++", "", *map(_step, steps)])


def _step(step: Step) -> str:
    told = {"page": step.page, "set": urlencode(step.set), "show": step.show}
    block = ["```step", *_table(told), "```"]
    return "\n".join([f"## {' '.join(step.title.split())}", "", step.before, "", *block, ""])


def _table(values: Mapping[str, object]) -> list[str]:
    """Lines of TOML, whose strings are written as those of JSON."""
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
