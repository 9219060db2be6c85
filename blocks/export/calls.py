"""A call with the arguments that are still asked for, or what stands in its place."""

import ast
import functools
import inspect
import textwrap
import types
from collections.abc import Mapping
from typing import Any

from blocks.export.expressions import Expressions
from blocks.export.sources import Put, copied, is_identity, is_ours, only_line, parse, tidied
from blocks.export.targets import (
    Calls,
    bound,
    by_name,
    is_of_self,
    is_own,
    name_in_torch,
    parameters_of,
    placed,
    resolved,
)
from blocks.export.values import (
    SOME,
    Counted,
    Found,
    Known,
    Method,
    Modules,
    Target,
    Value,
    either,
    literal,
)
from blocks.model.dropout import in_training_mode, updates_statistics
from blocks.model.faults import N_
from blocks.model.fused import fuses, fuses_heads
from blocks.model.masks import causal, is_shared_causal, shared_causal
from blocks.model.start import OnDevice


class Calling(Expressions):
    """Calls of one function."""

    def see_Call(self, node: ast.Call) -> Found:  # noqa: N802
        """Resolve a call; see `call`."""
        return self.call(node)

    def call(self, node: ast.Call, *, for_effect: bool = False) -> Found:
        """A call, of which what is known of its arguments falls away."""
        function = self.visit(node.func)
        args = [self.visit(each) for each in node.args]
        keywords = {each.arg: self.visit(each.value) for each in node.keywords if each.arg}
        loose = [each for each in node.keywords if not each.arg]
        for each in loose:
            each.value = self.visit(each.value).node
        if isinstance(function.value, Known):
            special = self.special(function, args, keywords)
            if special is not None:
                return special
        if isinstance(function.value, Known) and function.value.value in self.whole.identities:
            return args[0]
        if isinstance(function.value, Modules) and all(map(is_identity, function.value.of)):
            return args[0]
        calls = resolved(function.value)
        if calls is None:
            words = [ast.keyword(name, each.node) for name, each in keywords.items()]
            written = ast.Call(function.node, [each.node for each in args], [*words, *loose])
            return Found(SOME, written)
        return self.of_targets(function, calls, args, keywords, for_effect=for_effect)

    def special(
        self, function: Found, args: list[Found], keywords: dict[str, Found]
    ) -> Found | None:
        """Functions that stand for something else in a file of its own."""
        assert isinstance(function.value, Known)
        value = function.value.value
        if value is N_:
            return args[0]
        if value in (is_shared_causal, fuses, fuses_heads):
            return Found(Known(False), ast.Constant(False))
        if value is shared_causal:
            plain = Found(Known(causal), ast.Name(causal.__name__))
            return self.of_targets(plain, [Target(None, causal)], args, keywords)
        if value in (in_training_mode, updates_statistics):
            return Found(SOME, ast.Attribute(ast.Name("self"), "training"))
        if value is isinstance and args[1].value == Known(OnDevice):  # where a graph writes
            return Found(Known(False), ast.Constant(False))
        return self.of_torch(function, args, keywords)

    def of_torch(
        self, function: Found, args: list[Found], keywords: dict[str, Found]
    ) -> Found | None:
        """Functions that a part holds, by their names in torch; loops over several things."""
        assert isinstance(function.value, Known)
        value = function.value.value
        if isinstance(value, functools.partial):
            words = [ast.keyword(n, ast.Constant(each)) for n, each in value.keywords.items()]
            inner = Found(Known(value.func), name_in_torch(value.func))
            return Found(SOME, ast.Call(inner.node, [each.node for each in args], words))
        if isinstance(value, types.LambdaType) and value.__name__ == "<lambda>":
            return self.reduced(value, args)
        is_held = not isinstance(function.node, ast.Name) and not is_ours(value)
        if is_held and callable(value) and is_of_self(function.node):
            words = [ast.keyword(name, each.node) for name, each in keywords.items()]
            name = name_in_torch(value)
            return Found(SOME, ast.Call(name, [each.node for each in args], words))
        if value is enumerate:
            words = [ast.keyword(name, each.node) for name, each in keywords.items()]
            over = Counted(args[0].value)
            return Found(over, ast.Call(function.node, [each.node for each in args], words))
        return None

    def reduced(self, value: Any, args: list[Found]) -> Found:
        """A function of one line, with its argument in its place."""
        tree = parse(textwrap.dedent(inspect.getsource(inspect.getmodule(value))))  # type: ignore[arg-type]
        line = value.__code__.co_firstlineno
        found = [e for e in ast.walk(tree) if isinstance(e, ast.Lambda) and e.lineno == line]
        inner = type(self)(self.whole, Target(None, value), {})
        inner.env = {a.arg: each for a, each in zip(found[0].args.args, args, strict=True)}
        return inner.visit(found[0].body)

    def of_targets(
        self,
        function: Found,
        calls: "Calls",
        args: list[Found],
        keywords: dict[str, Found],
        *,
        for_effect: bool = False,
    ) -> Found:
        """Call one of several functions of ours, with the arguments that any of them reads."""
        values, places = self._run_each(calls, args, keywords)
        value = functools.reduce(either, values)
        short = literal(value)
        if short is not None and not for_effect:
            return Found(value, copied(short))
        read = {
            place
            for target, where in places
            for name, place in where.items()
            if name in self.whole.read_by(target)
        }
        if len(calls) == 1 and (line := self.inlined(function, calls[0], args, keywords)):
            return Found(value, line)
        if len(places) < len(calls):  # a layer of torch, or an identity, reads the first
            read |= {0}
        for target, where in places:
            self.whole.keep(target, [name for name, place in where.items() if place in read])
        written = ast.Call(
            function.node,
            [each.node for i, each in enumerate(args) if i in read],
            [ast.keyword(name, each.node) for name, each in keywords.items() if name in read],
        )
        return Found(value, written)

    def _run_each(
        self, calls: "Calls", args: list[Found], keywords: dict[str, Found]
    ) -> tuple[list[Value], list[tuple[Target, dict[str, int | str]]]]:
        """What each function gives back; and, of those of ours, where its arguments stand."""
        values: list[Value] = []
        places: list[tuple[Target, dict[str, int | str]]] = []
        for target in calls:
            if target is None:  # a part that torch has
                values.append(SOME)
                continue
            given = by_name(bound(target, args, keywords))
            self.whole.note(target, given)
            self.hand_on(given)
            values.append(self.whole.run(target, given)[0])
            places.append((target, placed(target, args, keywords)))
        return values, places

    def hand_on(self, given: Mapping[str, Found]) -> None:
        """Note that a part which is an argument is called there, with one thing."""
        parts = [each.value for each in given.values() if isinstance(each.value, Modules)]
        for target in (each for part in parts for each in resolved(part) or () if each):
            self.whole.note(target, by_name(bound(target, [Found(SOME, ast.Name("_"))], {})))
            self.whole.keep(target, [parameters_of(target)[0].arg])

    def inlined(
        self, function: Found, target: Target | None, args: list[Found], keywords: dict[str, Found]
    ) -> ast.expr | None:
        """A method of this part that is one line, in place; None where it is more.

        Any function that only gives back an argument is that argument.
        """
        if target is None:
            return None
        given = bound(target, args, keywords)
        line = only_line(tidied(self.whole.run(target, by_name(given))[1]))
        is_method = isinstance(function.value, Method) and is_own(function.node)
        is_short = isinstance(line, ast.Call | ast.BinOp | ast.Attribute | ast.Name)
        is_argument = isinstance(line, ast.Name) and line.id in given
        if line is None or not (is_argument or (is_method and is_short)):
            return None
        used = [node.id for node in ast.walk(line) if isinstance(node, ast.Name)]
        if any(isinstance(node, ast.Lambda | ast.comprehension) for node in ast.walk(line)):
            return None
        simple = ast.Name | ast.Constant
        if any(used.count(n) > 1 and not isinstance(e.node, simple) for n, e in given.items()):
            return None
        return Put({name: each.node for name, each in given.items()}).visit(line)
