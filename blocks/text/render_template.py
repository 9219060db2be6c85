"""Writes prompts by the chat template of a model: python -I render_template.py < JSON > JSON.

A template is a program that somebody else wrote. It runs in the sandbox of Jinja, with the options
that `transformers` gives it, in a process that can open no file and has little memory and time: one
that runs for ever ends with its process, and takes nobody along.
"""

import json
import sys
from contextlib import suppress
from datetime import datetime
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

SECONDS, MOST_MEMORY, MOST_CHARACTERS = 1, 2**29, 200_000  # seconds of the processor, bytes
REHEARSAL = "{{ '\\n' | tojson }}{{ strftime_now('%d %b') }}{{ none.is.no.thing }}"
"""Makes Python and Jinja read what they read late: errors, escapes, dates."""


class Generation(Extension):
    """Marks what an assistant has written, for those who train on it: here just what is in it."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        """Only the body."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


def environment() -> ImmutableSandboxedEnvironment:
    """The sandbox, with the few functions that templates know."""
    found = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    found.filters["tojson"] = as_json
    found.globals |= {"raise_exception": raise_exception, "strftime_now": strftime_now}
    return found


def as_json(x: Any, *, ensure_ascii: bool = False, **more: Any) -> str:
    """JSON as it is; Jinja's own would write signs of HTML in another way."""
    return json.dumps(x, ensure_ascii=ensure_ascii, **more)


def raise_exception(message: str) -> None:
    """A template refuses what it was given."""
    raise TemplateError(message)


def strftime_now(form: str) -> str:
    """The date, which some models are told."""
    return datetime.now().strftime(form)


def confine() -> None:
    """No file can be opened from here on, and there is little memory and time."""
    import resource

    for kind, most in (
        (resource.RLIMIT_AS, MOST_MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # the system may allow less already
            resource.setrlimit(kind, (most, most))


def rendered(template: str, all_values: list[dict[str, Any]]) -> dict[str, Any]:
    """`texts`: what the template writes for each of these values; or `fault`: why it does not."""
    try:
        written = environment().from_string(template)
        texts = [written.render(**values) for values in all_values]
    except MemoryError:
        return {"fault": "memory"}
    except Exception as error:  # whatever the code of a template runs into
        return {"fault": f"{type(error).__name__}: {error}"[:300]}
    return {"texts": texts} if max(map(len, texts)) <= MOST_CHARACTERS else {"fault": "memory"}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    rendered(REHEARSAL, [{}])
    with suppress(ImportError):  # Windows has no such limits: there the caller's time holds
        confine()
    answer = json.dumps(rendered(**asked))
    sys.stdout.write(answer)
