"""Read a lesson: Markdown that says how it goes on, one fenced block of TOML a step.

+++
title = "Why divide by √d?"
summary = "Longer vectors have larger dot products, and softmax takes them seriously."
minutes = 6
page = "attention"
+++

## What a longer vector does
What is read before the guess.

```step
set = "preset=course&d_head=64"
show = "scaling"
withhold = true
ask = "How much larger do dot products get?"
kind = "choice"
options = [["As large", 0.5, 1.5], ["4 times", 3, 5]]
truth = "score_std(d_head=64) / score_std(d_head=4)"
```

What is read after it.
"""

import re
import tomllib
from collections.abc import Mapping
from math import inf
from typing import Any
from urllib.parse import parse_qsl

from blocks.lessons import formula
from blocks.lessons.formula import Formula
from blocks.lessons.lesson import LARGEST, ROUNDED, Ask, AskKind, Lesson, Option, Step
from blocks.model.faults import N_, ConfigError, Fault

ENDS, MOST_MINUTES, MOST_OWN_WORDS = (-inf, inf), 600, 64
LONGEST, MOST_STEPS, MOST_OPTIONS, MOST_XS, MOST_CHARACTERS = 60_000, 12, 6, 8, 2_000
TOLERANCES = (0.001, 0.5)
MOST_FAULTS = 200  # that are noted: each is looked for in the file
HEAD = re.compile(r"\A\s*\+\+\+\n(?P<head>.*?)\n\+\+\+\n(?P<rest>.*)\Z", re.DOTALL)
STEP = re.compile(r"^## (?P<title>[^\n]+)\n(?P<body>.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(  # the first fence: without its end, none after it has one either
    r"(?>(?P<before>.*?)^```step\n)(?P<block>.*?)^```[ \t]*$(?P<after>.*)", re.DOTALL | re.MULTILINE
)
DEEP_KEY = re.compile(r"(?<![\w\"'-])(?:[\w\"'-]++\s*+\.\s*+){100}")  # slow for `tomllib`
NO_TEXT = re.compile(r"!\[|<\s*[a-zA-Z/!]|\]\(|\]:|https?://|\bwww\.", re.IGNORECASE)
HEAD_KEYS = {
    "title": str,
    "summary": str,
    "learned": str,
    "minutes": int,
    "page": str,
    "needs": list,
}
STEP_KEYS = {
    "set": str,
    "own_words": int,
    "own_text": bool,
    "page": str,
    "show": str,
    "withhold": bool,
    "ask": str,
    "kind": str,
    "truth": str,
    "given": list,
    "options": list,
    "x": str,
    "xs": list,
    "unit": str,
    "range": list,
    "tolerance": float,
    "task": str,
    "done": str,
    "solution": str,
    "so_far": list,
}
PLACE = re.compile(r"\(at line (\d+), column \d+\)")
NOT_UTF_8 = N_("This is not a text file: a lesson is Markdown in UTF-8")
NO_HEAD = N_("Line 1: a lesson begins with its title, minutes and page between two lines of +++")
NO_STEPS = N_(
    "A lesson has 1 to {most} steps, each under a line that begins with ##: this lesson has {n}"
)
TOO_LONG = N_("A lesson may be at most {most:,} characters long; this one has {n:,}")
NOT_TOML = N_("Line {line}, {where}: {why}")
UNKNOWN = N_("Line {line}, {where}: {name} is unknown; use one of {known}")
WRONG_TYPE = N_("Line {line}, {where}: {name} must be of type {kind}")
MISSING = N_("Line {line}, {where}: {name} is missing")
NO_MARKUP = N_(
    "Line {line}, {where}: a lesson is text only, without pictures, links or HTML: {found}"
)
TOO_MANY_CHARACTERS = N_("Line {line}, {where}: at most {most:,} characters allowed, found {n:,}")
WRONG_OPTION = N_("Line {line}, {where}: option {n} must be [{kind}]")
WRONG_NUMBER = N_("Line {line}, {where}: {name} must have {least} to {most} entries, not {n}")
NOT_ASKED = N_("Line {line}, {where}: {name} is set, but no question is asked")
OUT_OF_BOUNDS = N_("Line {line}, {where}: {name} must be from {least} to {most}")
NO_RANGE = N_("Line {line}, {where}: range must be [least, most], with least below most")
OPTION_KINDS = {AskKind.CHOICE: "label, least, most, least < most", AskKind.ORDER: "label, formula"}


def read(text: str, *, id: str, language: str) -> Lesson:
    """Read a lesson out of the text of its file. Raises `ConfigError` with every fault."""
    if len(text) > LONGEST:
        raise ConfigError([Fault(TOO_LONG, {"most": LONGEST, "n": len(text)})])
    found = HEAD.match(text.replace("\r\n", "\n"))
    if not found:
        raise ConfigError([Fault(NO_HEAD)])
    return _Reader(found).lesson(id, language)


class _Reader:
    """Reads as far as it can, and notes what cannot be.

    `part` is what is being read, the head or a step, and `line` the line on which it begins.
    """

    def __init__(self, found: re.Match[str]) -> None:
        self.faults: list[Fault] = []
        self.whole = found
        self.part, self.line = "", 1

    def lesson(self, id: str, language: str) -> Lesson:
        self.begin("head", self.whole)
        values = self.table(self.part, HEAD_KEYS, "+++", needed=("title", "minutes", "page"))
        title, summary, learned = (
            self.text(values.get(name, ""), "+++") for name in ("title", "summary", "learned")
        )
        self.bound(values, "minutes", "+++", 1, MOST_MINUTES)
        parts = [*STEP.finditer(self.whole["rest"])]
        if not 1 <= len(parts) <= MOST_STEPS:
            self.faults.append(Fault(NO_STEPS, {"most": MOST_STEPS, "n": len(parts)}))
        steps = [self.step(each, values.get("page", "")) for each in parts[:MOST_STEPS]]
        if self.faults:
            raise ConfigError(self.faults)
        return Lesson(
            id=id,
            language=language,
            title=title,
            minutes=values["minutes"],
            summary=summary,
            learned=learned,
            needs=tuple(map(str, values.get("needs", ()))),
            steps=tuple(steps),
        )

    def begin(self, group: str | int, found: re.Match[str], offset: int = 0) -> None:
        """From now on read what a group of a match holds, which begins `offset` later."""
        start = found.start(group) + offset
        self.part, self.line = found[group], self.whole.string.count("\n", 0, start) + 1

    def step(self, part: re.Match[str], page: str) -> Step:
        title, body = part["title"].strip(), part["body"]
        self.begin(0, part, self.whole.start("rest"))
        found = BLOCK.match(body)
        before, block, after = found.group("before", "block", "after") if found else (body, "", "")
        values = self.table(block, STEP_KEYS, title)
        self.need_a_question(values, title)
        self.bound(values, "own_words", title, 1, MOST_OWN_WORDS)
        return Step(
            title=self.text(title, title),
            page=values.get("page", page),
            before=self.text(before.strip(), title),
            after=self.text(after.strip(), title),
            set=_link(values.get("set", "")),
            own_words=values.get("own_words", 0),
            own_text=values.get("own_text", False),
            show=values.get("show", ""),
            withhold=values.get("withhold", False),
            ask=self.ask(values, title) if "ask" in values else None,
            task=self.text(values.get("task", ""), title),
            done=self.formula(values["done"], title) if "done" in values else None,
            solution=_link(values.get("solution", "")),
            so_far=self.told(values, "so_far", title),
            line=self.line,
        )

    def bound(
        self, values: Mapping[str, Any], name: str, where: str, least: float, most: float
    ) -> None:
        if not least <= values.get(name, least) <= most:
            self.fault(OUT_OF_BOUNDS, name, where=where, name=name, least=least, most=most)

    def need_a_question(self, values: Mapping[str, Any], where: str) -> None:
        """What belongs to a question, to a task or to either, says nothing without it."""
        asked = (
            "kind",
            "truth",
            "given",
            "options",
            "x",
            "xs",
            "unit",
            "range",
            "tolerance",
            "withhold",
        )
        for name in asked:
            if name in values and "ask" not in values:
                self.fault(NOT_ASKED, name, where=where, name=name)
        of_a_task = ("task", "done", "solution")
        is_told_alone = "so_far" in values and "ask" not in values
        if is_told_alone or any(name in values for name in of_a_task):
            for name in of_a_task:
                if name not in values:
                    self.fault(MISSING, where=where, name=name)

    def ask(self, values: Mapping[str, Any], where: str) -> Ask | None:
        kind = values.get("kind", AskKind.CHOICE)
        if kind not in [*AskKind]:
            self.fault(UNKNOWN, "kind", where=where, name=kind, known=", ".join(AskKind))
            return None
        labels, options, truths = self.answers(AskKind(kind), values, where)
        xs = tuple(self.numbers(values, "xs", where, 2, MOST_XS)) if kind == AskKind.CURVE else ()
        bounds = self.numbers(values, "range", where, 2, 2) if "range" in values else [0.0, 1.0]
        if len(bounds) != 2:
            return None
        if bounds[0] >= bounds[1]:
            self.fault(NO_RANGE, "range", where=where)
        return Ask(
            question=self.text(values["ask"], where),
            kind=AskKind(kind),
            truths=truths,
            options=options,
            labels=labels,
            xs=xs,
            x_label=self.text(values.get("x", ""), where),
            unit=self.text(values.get("unit", ""), where),
            given=self.told(values, "given", where),
            least=bounds[0],
            most=bounds[1],
            tolerance=self.tolerance(values, where),
        )

    def tolerance(self, values: Mapping[str, Any], where: str) -> float:
        self.bound(values, "tolerance", where, *TOLERANCES)
        return float(values.get("tolerance", ROUNDED))

    def answers(
        self, kind: AskKind, values: Mapping[str, Any], where: str
    ) -> tuple[tuple[str, ...], tuple[Option, ...], tuple[Formula, ...]]:
        """Labels and options, and what is measured."""
        truths: tuple[Formula, ...] = ()
        if kind is AskKind.ORDER:
            labels, truths = self.things(values.get("options", []), where)
            return labels, (), truths
        if "truth" not in values:
            self.fault(MISSING, where=where, name="truth")
        elif found := self.formula(values["truth"], where):
            truths = (found,)
        if kind is AskKind.CHOICE:
            return (), self.options(values.get("options", []), where), truths
        return (), (), truths

    def told(
        self, values: Mapping[str, Any], name: str, where: str
    ) -> tuple[tuple[str, Formula], ...]:
        """What is told with a question or a task."""
        if name not in values:
            return ()
        return tuple(zip(*self.things(values[name], where, name=name, least=1), strict=False))

    def options(self, found: list[Any], where: str) -> tuple[Option, ...]:
        options = []
        self.count(found, "options", where, 2, MOST_OPTIONS)
        for i, each in enumerate(found):
            match each:
                case [str(label), int() | float() as least, int() | float() as most] if (
                    least < most and _is_bound(least) and _is_bound(most)
                ):
                    label = self.text(label, where)
                    options.append(Option(label, float(least), float(most)))
                case _:
                    self.wrong_option(AskKind.CHOICE, where, i)
        return tuple(options)

    def things(
        self, found: list[Any], where: str, *, name: str = "options", least: int = 2
    ) -> tuple[tuple[str, ...], tuple[Formula, ...]]:
        """What is put in order, or told, and the formula of each."""
        labels, formulas = [], []
        self.count(found, name, where, least, MOST_OPTIONS)
        for i, each in enumerate(found):
            match each:
                case [str(label), str(text)]:
                    labels.append(self.text(label, where))
                    if read := self.formula(text, where):
                        formulas.append(read)
                case _:
                    self.wrong_option(AskKind.ORDER, where, i, name)
        return tuple(labels), tuple(formulas)

    def wrong_option(self, kind: AskKind, where: str, i: int, name: str = "options") -> None:
        self.fault(WRONG_OPTION, name, where=where, n=i + 1, kind=OPTION_KINDS[kind])

    def numbers(
        self, values: Mapping[str, Any], name: str, where: str, least: int, most: int
    ) -> list[float]:
        found = values.get(name, [])
        if not all(isinstance(each, int | float) and abs(each) <= LARGEST for each in found):
            self.fault(WRONG_TYPE, name, where=where, name=name, kind="[float, …]")
            return []
        self.count(found, name, where, least, most)
        return [float(each) for each in found]

    def count(self, found: list[Any], name: str, where: str, least: int, most: int) -> None:
        if not least <= len(found) <= most:
            bounds = {"least": least, "most": most, "n": len(found)}
            self.fault(WRONG_NUMBER, name, where=where, name=name, **bounds)

    def formula(self, text: str, where: str) -> Formula | None:
        try:
            return formula.read(text)
        except ConfigError as error:
            self.fault(NOT_TOML, text, where=where, why=str(error))
            return None

    def table(
        self, text: str, keys: Mapping[str, type], where: str, needed: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """The values of a block that are of the right type."""
        if found := DEEP_KEY.search(text):
            self.fault(NOT_TOML, found[0], where=where, why="A name has too many dots")
            return {}
        try:
            values = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # also of a number of 5,000 digits
            self.wrong_toml(text, str(error), where)
            return {}
        for name in sorted(values.keys() - keys.keys()):
            self.fault(UNKNOWN, name, where=where, name=name, known=", ".join(keys))
        wrong = {n for n, value in values.items() if n in keys and type(value) is not keys[n]}
        for name in sorted(wrong):
            self.fault(WRONG_TYPE, name, where=where, name=name, kind=keys[name].__name__)
        for name in needed:
            if name not in values:
                self.fault(MISSING, where=where, name=name)
        return {name: value for name, value in values.items() if name in keys and name not in wrong}

    def text(self, text: str, where: str) -> str:
        """What is read on the screen."""
        if found := NO_TEXT.search(text):
            self.fault(NO_MARKUP, found[0], where=where, found=text[found.start() :][:40])
        if len(text) > MOST_CHARACTERS:
            self.fault(TOO_MANY_CHARACTERS, text, where=where, most=MOST_CHARACTERS, n=len(text))
        return text

    def wrong_toml(self, block: str, why: str, where: str) -> None:
        """What the parser says, with the line of the file for that of the block."""
        found = PLACE.search(why)
        below = int(found[1]) - 1 if found else block.count("\n")
        said = why[: found.start()].strip() if found else why
        values = {"line": self.line_of(block) + below, "where": where, "why": said}
        self.faults.append(Fault(NOT_TOML, values))

    def fault(self, text: str, sought: str = "", **values: Any) -> None:
        """Note a fault on the line where a name is given its value, or else where text stands."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(Fault(text, {"line": self.line_of(sought), **values}))

    def line_of(self, sought: str) -> int:
        """Where it stands in the part that is read; where it does not, the part's first line."""
        given = re.search(rf"^{re.escape(sought)}[ \t]*=", self.part, re.MULTILINE)
        place = given.start() if given else self.part.find(sought)
        return self.line + self.part.count("\n", 0, max(0, place))


def _is_bound(end: float) -> bool:
    return abs(end) <= LARGEST or end in ENDS


def _link(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(parse_qsl(text, keep_blank_values=True))
