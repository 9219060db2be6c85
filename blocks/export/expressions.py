"""What an expression is known to be, and how it is written then."""

import ast
import builtins
import functools
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from blocks.export.named import plain
from blocks.export.sources import copied, elements, is_held, only_line
from blocks.export.targets import plain_operands
from blocks.export.values import (
    ANY,
    SOME,
    Found,
    Held,
    Known,
    Method,
    Modules,
    Something,
    Target,
    Value,
    are_numbers,
    compared,
    either,
    element_of,
    is_number,
    literal,
    truth_of,
)
from blocks.model.probe import Probe

if TYPE_CHECKING:
    from blocks.export.specialize import Specializer


class Expressions:
    """The names of one function with what is known of them, and expressions made of these."""

    def __init__(self, whole: "Specializer", target: Target, given: Mapping[str, Found]):
        self.whole, self.target, self.given = whole, target, given
        self.globals = target.function.__globals__
        self.env: dict[str, Found] = {}
        self.returned: list[Value] = []
        self.stores: dict[str, int] = {}  # how often a name is given a value
        self.tables: dict[str, ast.Dict] = {}
        for name, found in given.items():
            short = literal(found.value)
            is_inline = not isinstance(found.node, ast.Name) or found.node.id != name
            node = short if short is not None else found.node if is_inline else ast.Name(name)
            self.env[name] = Found(found.value, node)
        if target.owner is not None and "self" not in self.env:
            owner = Modules(whole.instances[target.owner])
            self.env["self"] = Found(owner, ast.Name("self"))

    def bind_element(self, target: ast.expr, element: Value | tuple[Value, ...]) -> None:
        """Let the names of a loop stand for what it goes through."""
        names = elements(target)
        values = element if isinstance(element, tuple) else (element,)
        if len(names) != len(values):
            values = (SOME,) * len(names)
        for name, value in zip(names, values, strict=True):
            if isinstance(name, ast.Name):
                self.env[name.id] = Found(value, ast.Name(name.id))
            else:
                self.bind_element(name, SOME)

    def visit(self, node: ast.expr) -> Found:
        """What an expression is known to be, and how it is written."""
        does = getattr(self, f"see_{type(node).__name__}", self.see_other)
        return does(node)

    def see_other(self, node: ast.expr) -> Found:
        """An expression of which only the parts are looked at."""
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, name, self.visit(value).node)
            elif isinstance(value, list):
                parts = [self.visit(e).node if isinstance(e, ast.expr) else e for e in value]
                setattr(node, name, parts)
        return Found(SOME, node)

    def see_Constant(self, node: ast.Constant) -> Found:  # noqa: N802
        """Return the constant itself."""
        return Found(Known(node.value), node)

    def see_Name(self, node: ast.Name) -> Found:  # noqa: N802
        """What the name stands for here, in its module, or in Python."""
        if node.id in self.env:
            found = self.env[node.id]
            return Found(found.value, copied(found.node))
        if node.id in self.globals:
            return Found(Known(self.globals[node.id]), node)
        if hasattr(builtins, node.id):
            return Found(Known(getattr(builtins, node.id)), node)
        return Found(ANY, node)

    def see_Attribute(self, node: ast.Attribute) -> Found:  # noqa: N802
        """Of a part of the model, what it has; of a module or class, what stands there."""
        owner = self.visit(node.value)
        node = ast.Attribute(owner.node, node.attr)
        if isinstance(owner.value, Modules):
            return self.attribute(owner.value, node)
        if isinstance(owner.value, Known) and owner.value.value is not None:
            value = getattr(owner.value.value, node.attr, SOME)
            return Found(value if value is SOME else Known(value), node)
        return Found(SOME if hasattr(Tensor, node.attr) else ANY, node)

    def attribute(self, owner: Modules, node: ast.Attribute) -> Found:
        """What one of several parts has by this name."""
        name, kinds = node.attr, {type(each) for each in owner.of}
        if kinds <= {Probe} or all(issubclass(kind, Probe) for kind in kinds):
            return Found(Known(True), node)  # as where every step is looked at
        static = [inspect.getattr_static(kind, name, None) for kind in kinds]
        if all(isinstance(each, property) for each in static):
            return self.property_of(owner, node)
        if all(callable(each) or isinstance(each, classmethod) for each in static):
            return Found(Method(owner, name), node)
        values = [getattr(each, name) for each in owner.of]
        if any(map(is_held, values)):
            held = Modules(tuple(dict.fromkeys(part for each in values for part in each)))
            return Found(Held(held, all(values)), node)
        if all(isinstance(each, nn.Module) for each in values):
            return Found(Modules(tuple(dict.fromkeys(values))), node)
        if any(isinstance(each, nn.Module | Tensor) for each in values):
            is_sometimes = any(each is None for each in values)
            if is_sometimes:
                self.vary(owner, name)
            return Found(ANY if is_sometimes else SOME, node)
        every: list[Value] = [Known(each) for each in values]
        value = functools.reduce(either, every)
        if not isinstance(value, Known):
            self.vary(owner, name)
            return Found(value, node)
        if are_numbers(value.value):  # too long to stand in place: an attribute of the part
            self.vary(owner, name)
        short = literal(value)
        return Found(value, node if short is None else copied(short))

    def vary(self, owner: Modules, name: str) -> None:
        """Note that the parts differ in this."""
        for each in owner.of:
            self.whole.varying.setdefault(type(each), set()).add(name)

    def property_of(self, owner: Modules, node: ast.Attribute) -> Found:
        """A property of one line stands where it is asked for."""
        found: list[Found] = []
        for kind in dict.fromkeys(map(type, owner.of)):
            function = inspect.getattr_static(kind, node.attr).fget
            mine = Modules(tuple(each for each in owner.of if type(each) is kind))
            target = Target(kind, function)
            value, body = self.whole.run(target, {"self": Found(mine, node.value)})
            line = only_line(body)
            found.append(Found(value, node if line is None else line))
            if line is None and literal(value) is None:
                self.whole.note(target, {})
        value = functools.reduce(either, (each.value for each in found))
        texts = {ast.dump(each.node) for each in found}
        short = literal(value)
        return Found(value, short or (found[0].node if len(texts) == 1 else node))

    def see_Subscript(self, node: ast.Subscript) -> Found:  # noqa: N802
        """The part that another one holds."""
        owner, place = self.visit(node.value), self.visit(node.slice)
        node = ast.Subscript(owner.node, place.node)
        return Found(owner.value.of if isinstance(owner.value, Held) else SOME, node)

    def see_Slice(self, node: ast.Slice) -> Found:  # noqa: N802
        """From 0 on is from the start."""
        found = self.see_other(node)
        if isinstance(node.lower, ast.Constant) and node.lower.value == 0:
            node.lower = None
        return found

    def see_IfExp(self, node: ast.IfExp) -> Found:  # noqa: N802
        """Only the value that is taken, where that is known."""
        test = self.visit(node.test)
        truth = truth_of(test.value)
        if truth is not None:
            return self.visit(node.body if truth else node.orelse)
        before = dict(self.env)
        self.refine(node.test, True)
        then, self.env = self.visit(node.body), dict(before)
        self.refine(node.test, False)
        otherwise, self.env = self.visit(node.orelse), before
        value = either(then.value, otherwise.value)
        return Found(value, ast.IfExp(test.node, then.node, otherwise.node))

    def refine(self, test: ast.expr, outcome: bool) -> None:
        """What a test for None tells about a name."""
        if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name):
            return
        against = test.comparators[0]
        if isinstance(against, ast.Constant) and against.value is None:
            is_none = isinstance(test.ops[0], ast.Is) is outcome
            found = self.env.get(test.left.id)
            if found is not None and isinstance(found.value, Something):
                self.env[test.left.id] = Found(ANY if is_none else SOME, found.node)

    def see_BoolOp(self, node: ast.BoolOp) -> Found:  # noqa: N802
        """Only what decides."""
        decides = isinstance(node.op, ast.Or)
        left: list[Found] = []
        for each in node.values:
            found = self.visit(each)
            truth = truth_of(found.value)
            if truth is decides and not left:
                return found
            if truth is None or truth is decides:
                left.append(found)
            if truth is decides:
                break
        if not left:
            return Found(Known(not decides), ast.Constant(not decides))
        if len(left) == 1:
            return left[0]
        return Found(SOME, ast.BoolOp(node.op, [each.node for each in left]))

    def see_UnaryOp(self, node: ast.UnaryOp) -> Found:  # noqa: N802
        """`not` and minus, of what is known."""
        found = self.visit(node.operand)
        node = ast.UnaryOp(node.op, found.node)
        truth = truth_of(found.value)
        if isinstance(node.op, ast.Not) and truth is not None:
            return Found(Known(not truth), ast.Constant(not truth))
        if isinstance(node.op, ast.USub) and isinstance(found.value, Known):
            return Found(Known(-plain(found.value.value)), node)
        return Found(SOME, node)

    def see_Compare(self, node: ast.Compare) -> Found:  # noqa: N802
        """True or False where both sides are known."""
        left = self.visit(node.left)
        right = [self.visit(each) for each in node.comparators]
        if len(right) == 1:
            truth = compared(left.value, node.ops[0], right[0].value)
            if truth is not None:
                return Found(Known(truth), ast.Constant(truth))
        return Found(SOME, ast.Compare(left.node, node.ops, [each.node for each in right]))

    def see_BinOp(self, node: ast.BinOp) -> Found:  # noqa: N802
        """Arithmetic: + 0 and · 1 fall."""
        left, right = self.visit(node.left), self.visit(node.right)
        neutral = {ast.Mult: (1, 1), ast.Add: (0, 0), ast.Sub: (None, 0), ast.Div: (None, 1)}
        for_left, for_right = neutral.get(type(node.op), (None, None))
        if for_left is not None and is_number(left.value, for_left):
            return right
        if for_right is not None and is_number(right.value, for_right):
            return left
        written = ast.BinOp(left.node, node.op, right.node)
        values = [left.value, right.value]
        if all(isinstance(e, Known) and isinstance(e.value, int | float) for e in values):
            of = ast.Expression(ast.BinOp(*plain_operands(left, node.op, right)))
            computed = eval(compile(ast.fix_missing_locations(of), "", "eval"))
            return Found(Known(computed), written)
        return Found(SOME, written)

    def see_Tuple(self, node: ast.Tuple) -> Found:  # noqa: N802
        """Known where all of it is."""
        found = [self.visit(each) for each in node.elts]
        written = ast.Tuple([each.node for each in found])
        if all(isinstance(each.value, Known) for each in found):
            return Found(Known(tuple(each.value.value for each in found)), written)  # type: ignore[union-attr]
        return Found(SOME, written)

    def see_Lambda(self, node: ast.Lambda) -> Found:  # noqa: N802
        """A function within, with its own names; one that only hands them on is what it calls."""
        names, before = [each.arg for each in node.args.args], dict(self.env)
        self.env |= {name: Found(ANY, ast.Name(name)) for name in names}
        node.body = body = self.visit(node.body).node
        self.env = before
        if isinstance(body, ast.Call) and not body.keywords:
            given = [each.id if isinstance(each, ast.Name) else "" for each in body.args]
            return Found(SOME, body.func if given == names else node)
        return Found(SOME, node)

    def comprehension(self, node: Any) -> Found:
        """A list, set or generator: its names are its own."""
        before = dict(self.env)
        for each in node.generators:
            over = self.visit(each.iter)
            each.iter = over.node
            self.bind_element(each.target, element_of(over.value))
            each.ifs = [self.visit(test).node for test in each.ifs]
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)).node)
        self.env = before
        return Found(SOME, node)

    see_GeneratorExp = see_ListComp = see_SetComp = see_DictComp = comprehension  # noqa: N815
