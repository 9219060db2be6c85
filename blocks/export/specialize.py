"""The source of a model's methods with only what one configuration uses.

A partial evaluation (Jones, Gomard and Sestoft 1993, chapter 4): what is known of a built model,
its attributes and what is None, is put in its place in the source; conditions that are decided by
it fall, and with them branches, parameters and methods that nothing reaches.
"""

import ast
import functools
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch import nn

from blocks.export.calls import Calling
from blocks.export.named import CONSTANT
from blocks.export.sources import (
    COMMENT,
    annotated,
    copied,
    drop_sentences,
    is_stored,
    names_in,
    put_numbers_for_captured,
    resolve_annotation,
    source_of,
    tidied,
    without_parameters,
)
from blocks.export.values import (
    NOTHING,
    SOME,
    Found,
    Known,
    Method,
    Modules,
    Target,
    Value,
    either,
    element_of,
    joined,
    literal,
    same,
    truth_of,
)
from blocks.model.faults import ConfigError
from blocks.model.probe import Probe


class Specializer:
    """The facts about every function that a model reaches, and their specialized sources."""

    def __init__(
        self,
        model: nn.Module,
        entries: Mapping[str, Mapping[str, Value]],
        numbers: Mapping[str, float],
        identities: Sequence[Any] = (),
    ):
        self.identities, self.numbers = identities, numbers
        self.instances: dict[type[nn.Module], tuple[nn.Module, ...]] = {}
        for module in model.modules():
            kind = type(module)
            self.instances[kind] = (*self.instances.get(kind, ()), module)
        self.arguments: dict[Target, dict[str, Found]] = {}
        self.kept: dict[Target, set[str]] = {}
        self.varying: dict[type[nn.Module], set[str]] = {}
        self.seen: dict[Any, tuple[Value, list[ast.stmt]]] = {}
        self.needs: dict[Any, set[Target]] = {}  # what each of them was told of
        self.asking: list[set[Target]] = [set()]  # what those that run now were told of
        self.changed: set[Target] = set()
        for name, values in entries.items():
            target = Target(type(model), getattr(type(model), name))
            given = {each: Found(value, ast.Name(each)) for each, value in values.items()}
            self.note(target, given)
            self.kept[target] = {name for name, each in values.items() if each is not NOTHING}
        self.entries = [*self.arguments]
        self._settle()

    def _settle(self) -> None:
        """Until nothing more is learned: what arguments may be, and which of them are read.

        Who is called comes before who calls, and what was told nothing new stays as it was.
        """
        while self.changed:
            for key in [key for key, told in self.needs.items() if told & self.changed]:
                del self.seen[key], self.needs[key]
            self.changed = set()
            for target in reversed([*self.arguments]):
                mentioned = self.written(target)[1]
                self.keep(target, mentioned & self.arguments[target].keys())

    def run(self, target: Target, given: Mapping[str, Found]) -> tuple[Value, list[ast.stmt]]:
        """What a function returns with these arguments, and what is left of it."""
        key = (target, *((name, each.value, ast.dump(each.node)) for name, each in given.items()))
        if key not in self.seen:
            self.asking.append(set())
            self.seen[key] = Body(self, target, given).run()
            self.needs[key] = self.asking.pop()
        self.asking[-1] |= self.needs[key]
        value, body = self.seen[key]
        return value, copied(body)

    def read_by(self, target: Target) -> set[str]:
        """The parameters of a function that are known to be read."""
        self.asking[-1].add(target)
        return self.kept.get(target, set())

    def keep(self, target: Target, names: Iterable[str]) -> None:
        """Note that these parameters are read."""
        kept = self.kept.setdefault(target, set())
        if not kept.issuperset(names):
            kept.update(names)
            self.changed.add(target)

    def note(self, target: Target, given: Mapping[str, Found]) -> None:
        """Note the arguments of a call."""
        known = self.arguments.get(target)
        if known is None:
            self.arguments[target] = dict(given)
            self.changed.add(target)
            return
        for name, found in given.items():
            before = known[name].value
            joined = either(before, found.value)
            if not same(joined, before):
                known[name] = Found(joined, ast.Name(name))
                self.changed.add(target)

    def written(self, target: Target) -> tuple[list[ast.stmt], set[str]]:
        """The body of a function, and the names that it reads."""
        body = self.run(target, self.arguments[target])[1]
        body = tidied(body)
        named = (node for each in body for node in names_in(each))
        names = {node.id for node in named if not getattr(node, CONSTANT, False)}
        return body, names

    def definition(self, target: Target) -> ast.FunctionDef:
        """The whole definition of a function."""
        tree = copied(source_of(target.function))
        assert isinstance(tree, ast.FunctionDef)
        tree.body = self.written(target)[0]
        dropped = self.arguments[target].keys() - self.kept[target]
        tree.args = without_parameters(tree.args, dropped)
        drop_sentences(tree, dropped)
        globals_ = target.function.__globals__
        for annotation in annotated(tree):
            resolve_annotation(annotation, globals_)
        put_numbers_for_captured(tree, self.numbers)
        return tree


class Body(Calling):
    """One function with what is known of its arguments: what it returns, and its statements."""

    def run(self) -> tuple[Value, list[ast.stmt]]:
        """What the function returns, and what is left of it."""
        tree = copied(source_of(self.target.function))
        assert isinstance(tree, ast.FunctionDef)
        for node in names_in(tree):
            if is_stored(node):
                self.stores[node.id] = self.stores.get(node.id, 0) + 1
        body, ends = self.block(tree.body)
        values = self.returned if ends or self.returned else [NOTHING]
        values = values if ends else [*values, NOTHING]
        return functools.reduce(either, values), body

    def block(self, statements: Sequence[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """What is left of some statements, and whether nothing after them is reached."""
        out: list[ast.stmt] = []
        for statement in statements:
            kind = type(statement).__name__
            does = getattr(self, f"do_{kind}", self.do_other)
            done, ends = does(statement)
            said = getattr(statement, COMMENT, "")
            if done and said and not hasattr(statement, "body"):
                setattr(done[-1], COMMENT, said)
            out += done
            if ends:
                return out, True
        return out, False

    def do_other(self, node: ast.stmt) -> tuple[list[ast.stmt], bool]:
        """A statement with its expressions made plain, and its blocks."""
        ends = False
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, name, self.visit(value).node)
            elif isinstance(value, list) and value and isinstance(value[0], ast.withitem):
                for item in value:
                    item.context_expr = self.visit(item.context_expr).node
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                done, ends = self.block(value)
                setattr(node, name, done)
        return [node], ends

    def do_Expr(self, node: ast.Expr) -> tuple[list[ast.stmt], bool]:  # noqa: N802
        """What is done for its effect stays, but for what a probe is told."""
        if isinstance(node.value, ast.Call):
            if self.is_of_probe(node.value.func):
                return [], False
            node.value = self.call(node.value, for_effect=True).node
        return [node], False

    def is_of_probe(self, method: ast.expr) -> bool:
        """Whether this is a method that a probe has."""
        if not isinstance(method, ast.Attribute):
            return False
        owner = self.visit(copied(method.value)).value
        return isinstance(owner, Modules) and all(isinstance(each, Probe) for each in owner.of)

    def do_Return(self, node: ast.Return) -> tuple[list[ast.stmt], bool]:  # noqa: N802
        """Note what is returned."""
        found = Found(NOTHING, ast.Constant(None)) if node.value is None else self.visit(node.value)
        self.returned.append(found.value)
        node.value = found.node
        return [node], True

    def do_Raise(self, node: ast.Raise) -> tuple[list[ast.stmt], bool]:  # noqa: N802
        """Our own error is a ValueError with the same words."""
        call = node.exc
        if isinstance(call, ast.Call) and self.visit_name(call.func) is ConfigError:
            fault = call.args[0].elts[0]  # type: ignore[attr-defined]
            text, values = fault.args[:2]
            node.exc = ast.Call(ast.Name("ValueError"), [self.filled(text, values)], [])
            return [node], True
        return self.do_other(node)[0], True

    def filled(self, text: ast.expr, values: ast.expr) -> ast.expr:
        """A template with what fills it, as one string."""
        template, known = self.visit(text), self.visit(values).node
        if isinstance(values, ast.Name):
            known = self.tables.get(values.id, known)
        if not isinstance(template.value, Known) or not isinstance(known, ast.Dict):
            return ast.Call(ast.Attribute(template.node, "format"), [], [ast.keyword(None, known)])
        by_name = {
            key.value: value
            for key, value in zip(known.keys, known.values, strict=True)
            if isinstance(key, ast.Constant)
        }
        parts: list[ast.expr] = []
        for said, name, _spec, _how in string.Formatter().parse(template.value.value):
            parts.append(ast.Constant(said))
            if name is not None:
                parts.append(ast.FormattedValue(by_name[name], -1))
        return ast.JoinedStr(parts)

    def visit_name(self, node: ast.expr) -> Any:
        """The thing that a global name stands for."""
        return self.globals.get(node.id) if isinstance(node, ast.Name) else None

    def do_Assign(self, node: ast.Assign) -> tuple[list[ast.stmt], bool]:  # noqa: N802
        """A name learns what it stands for."""
        target = node.targets[0]
        if (
            isinstance(target, ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and all(isinstance(each, ast.Name) for each in target.elts)
        ):
            pairs = list(zip(target.elts, node.value.elts, strict=True))
            found = [self.visit(value) for _, value in pairs]
            node.value = ast.Tuple([each.node for each in found])
            for (name, _), each in zip(pairs, found, strict=True):
                self.bind(name, each)
            return [node], False
        whole = self.visit(node.value)
        node.value = whole.node
        for name in node.targets:
            self.bind(name, whole)
        return [node], False

    def do_AnnAssign(self, node: ast.AnnAssign) -> tuple[list[ast.stmt], bool]:  # noqa: N802
        """As without the type."""
        if node.value is None:
            return [], False
        return self.do_Assign(ast.Assign([node.target], node.value))

    def do_AugAssign(self, node: ast.AugAssign) -> tuple[list[ast.stmt], bool]:  # noqa: N802
        """x += y: what x is, the input decides."""
        node.value = self.visit(node.value).node
        if isinstance(node.target, ast.Name):
            self.bind(node.target, Found(SOME, node.target))
        return [node], False

    def bind(self, target: ast.expr, found: Found) -> None:
        """Let a name stand for a value; several names stand for parts of it."""
        if isinstance(target, ast.Name):
            short = literal(found.value)
            if short is None and isinstance(found.value, Known | Modules | Method):
                is_path = isinstance(found.node, ast.Attribute | ast.Name)
                short = found.node if is_path else None
            if short is None and self.is_copy(target, found.node):
                short = found.node
            if isinstance(found.node, ast.Dict):
                self.tables[target.id] = found.node
            self.env[target.id] = Found(found.value, short or ast.Name(target.id))
        elif isinstance(target, ast.Tuple | ast.List):
            for each in target.elts:
                place = ast.Name(each.id) if isinstance(each, ast.Name) else each
                self.bind(each, Found(SOME, place))
        elif not isinstance(target, ast.Starred):
            for name, value in ast.iter_fields(target):
                if isinstance(value, ast.expr):
                    setattr(target, name, self.visit(value).node)

    def is_copy(self, target: ast.Name, node: ast.expr) -> bool:
        """Whether a name stands for another one, and both keep their values."""
        return (
            isinstance(node, ast.Name)
            and self.stores.get(target.id) == 1
            and self.stores.get(node.id, 0) <= (node.id not in self.given)
        )

    def do_If(self, node: ast.If) -> tuple[list[ast.stmt], bool]:  # noqa: N802
        """Only the branch that is taken, where that is known."""
        test = self.visit(node.test)
        truth = truth_of(test.value)
        if truth is not None:
            return self.block(node.body if truth else node.orelse)
        before = dict(self.env)
        self.refine(node.test, True)
        then, then_ends = self.block(node.body)
        after_then, self.env = self.env, dict(before)
        self.refine(node.test, False)
        otherwise, otherwise_ends = self.block(node.orelse)
        if then_ends and not otherwise_ends:
            pass
        elif otherwise_ends and not then_ends:
            self.env = after_then
        else:
            self.env = joined(after_then, self.env)
        node.test, node.body, node.orelse = test.node, then or [ast.Pass()], otherwise
        return [node], then_ends and otherwise_ends

    def do_For(self, node: ast.For) -> tuple[list[ast.stmt], bool]:  # noqa: N802
        """What a turn leaves is what the next one begins with."""
        over = self.visit(node.iter)
        element = element_of(over.value)
        before = dict(self.env)
        for _ in range(3):
            self.bind_element(node.target, element)
            trial = copied(node.body)
            self.block(trial)
            self.env = joined(before, self.env)
        self.bind_element(node.target, element)
        body, _ = self.block(node.body)
        self.env = joined(before, self.env)
        node.iter, node.body = over.node, body
        return [node], False
