"""One Python file of exactly the model that a configuration sets; it needs torch alone."""

import ast
import builtins
import inspect
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

from blocks.export.named import CONSTANT, built_by_name, enough_parts, expression, numbers_of
from blocks.export.sources import (
    copied,
    drop_sentences,
    is_held,
    is_identity,
    is_leaf,
    is_ours,
    is_stored,
    names_in,
    parse,
    parse_expression,
    source_of,
)
from blocks.export.specialize import Specializer
from blocks.export.values import ANY, NOTHING, SOME, Target, Value, are_numbers
from blocks.export.written import text_of
from blocks.model.attention import repeat_kv
from blocks.model.config import ModelConfig, check_config
from blocks.model.draws import InTurn
from blocks.model.dropout import Dropout
from blocks.model.initialize import drawn_values
from blocks.model.kinds import TokenMixer
from blocks.model.masks import causal

HEAD = '''"""{title}: {sizes}.

Written by Blockscope for this one configuration; it needs torch alone. Names of weights are those
of Blockscope, so a state dict fits both. Without one, weights begin as torch draws them.{mode}
"""
'''
TRAINING_MODE = "\nA model begins in training mode, where dropout is on: call eval() to use it."
# What stands in the place of something that the source names.
ELSEWHERE = {"torch": torch, "F": nn.functional, "causal": causal}
ENTRIES = {  # what else a whole model answers, and the part that it takes
    "pooled": "pooler",
    "logits_ahead": "mtp",
}


def as_code(config: ModelConfig) -> str:
    """The source of one self-contained Python file: this model, and no branch that it never takes.

    It is made of the modules' own source (see `blocks.export.specialize`). Class and state dict
    have the same names; `forward` gives the same output. Raises `ConfigError` where there are too
    many layers to be written one by one.
    """
    check_config(config)
    return _File(config).text()


class _File:
    """What stands in the file, in the order in which it is needed."""

    def __init__(self, config: ModelConfig):
        self.config = config
        self.numbers = numbers_of(config)
        self.counts = enough_parts(config)
        self.model, self.shapes = built_by_name(config, self.counts)
        entries = {"forward": _given(self.model.forward)}
        for name, part in ENTRIES.items():
            if getattr(self.model, part, None) is not None:
                entries[name] = _given(getattr(self.model, name))
        is_full = config.n_kv_heads == config.n_heads
        if config.token_mixer is TokenMixer.GATED_DELTA:
            is_full = is_full and config.n_key_heads == config.n_state_heads
        same = [repeat_kv] if is_full else []  # no key serves several queries
        self.known = Specializer(self.model, entries, self.numbers, same)
        self.definitions: dict[str, ast.stmt] = {}
        self.imports: dict[str, str] = {"nn": "from torch import nn"}
        self.constants: dict[str, Any] = {}
        self.rows: dict[nn.Module, dict[str, ast.expr]] = {}
        self.differing: dict[type[nn.Module], list[str]] = {}
        self.held: dict[type[nn.Module], set[str]] = {}

    def text(self) -> str:
        """The whole file."""
        self.add_class(type(self.model))
        parts = [text_of(each) for each in self.definitions.values()]
        return "\n\n\n".join([self.head(), *parts, self.tail()]) + "\n"

    def head(self) -> str:
        """What it is, imports, and the numbers of the configuration."""
        used = {node.id for tree in self.definitions.values() for node in names_in(tree)}
        named = [name for name in self.numbers if name in used]
        sizes = ", ".join(f"{name} {self.numbers[name]}" for name in named)
        numbers = [f"{name} = {self.numbers[name]!r}" for name in named]
        numbers += [f"{name} = {value!r}" for name, value in self.constants.items()]
        title = type(self.model).__name__
        mode = TRAINING_MODE if self.numbers.get("dropout") else ""
        doc = HEAD.format(title=title, sizes=sizes, mode=mode)
        return "\n".join([_wrapped(doc), *sorted_imports(self.imports.values()), "", *numbers])

    def tail(self) -> str:
        """What the file does where it is run."""
        name = type(self.model).__name__
        count = "sum(weight.numel() for weight in model.parameters())"
        return (
            'if __name__ == "__main__":\n'
            f"    model = {name}()\n"
            f'    print(model, f"{{{count}:,}} parameters", sep="\\n")'
        )

    # Definitions

    def add_class(self, kind: type[nn.Module]) -> None:
        """A class of parts, after what it needs."""
        if kind.__name__ in self.definitions:
            return
        init = self.init(kind)
        methods: list[ast.FunctionDef] = []
        reached = {"forward", *ENTRIES}
        while True:
            more = [
                target
                for target in self.known.arguments
                if target.owner is kind
                and target.function.__name__ in reached
                and target.function.__name__ not in {each.name for each in methods}
            ]
            if not more:
                break
            for target in more:
                method = self.known.definition(target)
                methods.append(method)
                reached |= {e.attr for e in ast.walk(method) if isinstance(e, ast.Attribute)}
                self.add_needs(method, target.function.__globals__)
        self.add_needs(init, {"nn": nn, "torch": torch})
        for instance in self.known.instances[kind]:
            for child in instance.modules():
                if child is not instance and not is_leaf(child) and not is_identity(child):
                    self.add_class(type(child))
        tree = source_of(kind)
        assert isinstance(tree, ast.ClassDef)
        order = {name: i for i, name in enumerate(_in_source(kind))}
        methods.sort(key=lambda each: (each.name != "forward", order.get(each.name, 0)))
        tree = copied(tree)
        is_bare = len(init.body) == 1 and not self.parameters(kind)
        tree.body = [tree.body[0], *([] if is_bare else [init]), *methods]
        tree.bases = [ast.Attribute(ast.Name("nn"), "Module")]
        drop_sentences(tree, ())
        self.definitions[kind.__name__] = tree

    def add_needs(self, tree: ast.FunctionDef, globals_: Mapping[str, Any]) -> None:
        """Whatever the names in a definition stand for."""
        own = {each.arg for each in (*tree.args.args, *tree.args.kwonlyargs)}
        own |= {e.id for e in names_in(tree) if is_stored(e)}
        for node in names_in(tree):
            name = node.id
            is_number = getattr(node, CONSTANT, False)
            if name in own or is_number or hasattr(builtins, name) or name in self.definitions:
                continue
            if name in globals_:
                self.add(name, globals_[name])
            elif name in ELSEWHERE:
                self.add(name, ELSEWHERE[name])

    def add(self, name: str, thing: Any) -> None:
        """Import it, write its definition, or its number."""
        if isinstance(thing, types.ModuleType):
            self.imports[name] = _import_of(name, thing)
        elif isinstance(thing, int | float):
            self.constants[name] = thing
        elif not is_ours(thing):
            self.imports[name] = f"from {_home(thing)} import {name}"
        elif isinstance(thing, type) and issubclass(thing, nn.Module):
            self.add_class(thing)
        elif isinstance(thing, type):
            tree = copied(source_of(thing))
            for each in ast.walk(tree):
                if isinstance(each, ast.FunctionDef):
                    self.add_needs(each, vars(inspect.getmodule(thing)))
            self.imports["NamedTuple"] = "from typing import NamedTuple"
            self.imports["Tensor"] = "from torch import Tensor"
            self.definitions[name] = tree
        else:
            target = Target(None, inspect.unwrap(thing))
            tree = self.known.definition(target)
            self.add_needs(tree, target.function.__globals__)
            self.definitions[name] = tree

    # What parts are made of

    def init(self, kind: type[nn.Module]) -> ast.FunctionDef:
        """`__init__`: what all parts of this class have alike, and as parameters what not."""
        rows = [self.attributes(each) for each in self.known.instances[kind]]
        lines: list[ast.stmt] = [parse("super().__init__()").body[0]]
        parameters = self.parameters(kind)
        for name in dict.fromkeys(name for row in rows for name in row):
            value = ast.Name(name) if name in parameters else rows[0].get(name)
            if value is not None and not _is_nothing(value):
                is_buffer = name in self.known.instances[kind][0]._buffers
                lines.append(_buffer(name, value) if is_buffer else _set(name, value))
        lines += self.shared(self.known.instances[kind][0])
        arguments = ast.arguments(
            posonlyargs=[],
            args=[ast.arg("self"), *map(ast.arg, parameters)],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        )
        return ast.FunctionDef("__init__", arguments, lines, [])

    def parameters(self, kind: type[nn.Module]) -> list[str]:
        """In what the parts of a class differ."""
        if kind not in self.differing:
            rows = [self.attributes(each) for each in self.known.instances[kind]]
            names = dict.fromkeys(name for row in rows for name in row)
            self.differing[kind] = [
                name for name in names if len({_dumped(row.get(name)) for row in rows}) > 1
            ]
        return self.differing[kind]

    def attributes(self, module: nn.Module) -> dict[str, ast.expr]:
        """What a part is made of, each as it is written."""
        if module not in self.rows:
            self.rows[module] = self._attributes(module)
        return self.rows[module]

    def _attributes(self, module: nn.Module) -> dict[str, ast.expr]:
        found: dict[str, ast.expr] = {}
        for name in sorted(self.known.varying.get(type(module), ())):
            if name not in module._modules and name not in module._parameters:
                value = getattr(module, name)
                if isinstance(value, int | float | str | None):
                    found[name] = expression(value)
                elif are_numbers(value):
                    found[name] = ast.Tuple([expression(each) for each in value])
        unlike = self.unlike(type(module))
        found |= {name: ast.Tuple([]) for name in vars(module) if name in unlike}
        return found | self.weights(module) | self.children(module)

    def unlike(self, kind: type[nn.Module]) -> set[str]:
        """What some parts of a class hold, and others not."""
        if kind not in self.held:
            parts = self.known.instances[kind]
            names = {name for each in parts for name, value in vars(each).items() if is_held(value)}
            self.held[kind] = {
                name for name in names if not all(getattr(each, name, ()) for each in parts)
            }
        return self.held[kind]

    def weights(self, module: nn.Module) -> dict[str, ast.expr]:
        """Parameters and buffers of a part."""
        found: dict[str, ast.expr] = {}
        for name, parameter in module._parameters.items():
            found[name] = ast.Constant(None)
            if parameter is not None:
                drawn = self.drawn(module, name, self.shapes[id(parameter)])
                found[name] = _call("nn.Parameter", drawn)
        for name, buffer in module._buffers.items():
            if buffer is not None:
                begin = "torch.ones" if name == "running_var" else "torch.zeros"
                found[name] = _call(begin, *map(expression, self.shapes[id(buffer)]))
        return found

    def children(self, module: nn.Module) -> dict[str, ast.expr]:
        """Parts of a part."""
        return {
            name: ast.Constant(None) if child is None else self.construct(child, module, name)
            for name, child in module._modules.items()
        }

    def drawn(self, module: nn.Module, name: str, shape: tuple[Any, ...]) -> ast.expr:
        """Ones or zeros where weights begin as these; small random numbers where not."""
        sizes = [expression(each) for each in shape]
        tiny = torch.empty((2,) * len(shape))
        values = drawn_values(tiny, module, f"x.{name}", self.config, InTurn(0, "code"))
        if values.numel() and bool((values == values.flatten()[0]).all()):
            return _call(f"torch.{'ones' if values.flatten()[0] == 1 else 'zeros'}", *sizes)
        return ast.BinOp(ast.Constant(0.02), ast.Mult(), _call("torch.randn", *sizes))

    def construct(self, module: nn.Module, parent: nn.Module, name: str) -> ast.expr:
        """How a part is made."""
        if isinstance(module, Dropout) and module.p > 0:
            return _call("nn.Dropout", expression(module.p))
        if is_identity(module):
            return _call("nn.Identity")
        if isinstance(module, nn.ModuleList):
            return self.several(module, parent, name)
        if type(module) is nn.Linear:
            sizes = map(expression, (module.in_features, module.out_features))
            no_bias: list[ast.keyword] = (
                [ast.keyword("bias", ast.Constant(False))] if module.bias is None else []
            )
            return _call("nn.Linear", *sizes, keywords=no_bias)
        if type(module) is nn.Embedding:
            return _call("nn.Embedding", *map(expression, self.shapes[id(module.weight)]))
        if is_leaf(module):
            return parse_expression(f"nn.{module!r}")
        row = self.attributes(module)
        given = [row.get(each, ast.Constant(None)) for each in self.parameters(type(module))]
        return _call(type(module).__name__, *given)

    def several(self, modules: nn.ModuleList, parent: nn.Module, name: str) -> ast.expr:
        """A list of parts: one line where they are alike."""
        made = [self.construct(each, modules, str(i)) for i, each in enumerate(modules)]
        if len({*map(_dumped, made)}) == 1 and len(made) > 1:
            count = self.counted(len(made), parent, name)
            listed = parse_expression(f"[0 for _ in range({count})]")
            assert isinstance(listed, ast.ListComp)
            for each in ast.walk(listed):
                if isinstance(each, ast.Name) and each.id in self.numbers:
                    setattr(each, CONSTANT, True)
            return _call("nn.ModuleList", ast.ListComp(made[0], listed.generators))
        return _call("nn.ModuleList", ast.List(made))

    def counted(self, n: int, parent: nn.Module, name: str) -> str:
        """What a count is called in the configuration, where it has a name."""
        half = type(parent).__name__.removesuffix("Stack").lower()
        for each in (f"n_{half}_{name}", f"n_{name}", f"n_{name}_modules"):
            if self.counts.get(each, self.numbers.get(each)) == n:
                return each
        return str(n)

    def shared(self, owner: nn.Module) -> Iterator[ast.stmt]:
        """Parts that others of this one hold too: one table for all layers."""
        mine = {id(child): name for name, child in owner.named_children()}
        lines: dict[str, None] = {}
        for path, holder in owner.named_modules():
            for name, held in vars(holder).items():
                if is_held(held) and id(held[0]) in mine:
                    first, *others = path.split(".")
                    rest = ".".join(each for each in others if not each.isdigit())
                    loop = f"for layer in self.{first}:\n"
                    lines[f"{loop}    layer.{rest}.{name} = (self.{mine[id(held[0])]},)"] = None
        for line in lines:
            yield parse(line).body[0]


def _given(method: Any) -> dict[str, Value]:
    """What is known of the arguments of a whole model: a mask may be given, a cache is not."""
    parameters = inspect.signature(method).parameters
    return {
        name: SOME
        if each.default is inspect.Parameter.empty
        else ANY
        if name == "mask"
        else NOTHING
        for name, each in parameters.items()
    }


def _in_source(kind: type) -> Iterator[str]:
    for each in reversed(kind.__mro__):
        yield from vars(each)


def _dumped(node: ast.expr | None) -> str:
    return "" if node is None else ast.dump(node)


def _is_nothing(node: ast.expr) -> bool:
    return _dumped(node) in (_dumped(ast.Constant(None)), _dumped(_call("nn.Identity")))


def _call(name: str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.Call:
    function = parse_expression(name)
    return ast.Call(function, list(args), keywords or [])


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Attribute(ast.Name("self"), name)], value)


def _buffer(name: str, value: ast.expr) -> ast.stmt:
    return ast.Expr(_call("self.register_buffer", ast.Constant(name), value))


def _import_of(name: str, module: types.ModuleType) -> str:
    parent, _, own = module.__name__.rpartition(".")
    if not parent:
        return f"import {module.__name__}"
    return f"from {parent} import {own}" + ("" if own == name else f" as {name}")


def _home(thing: Any) -> str:
    home = str(getattr(thing, "__module__", ""))
    return "torch" if home.startswith("torch") else home


def sorted_imports(lines: Iterable[str]) -> list[str]:
    """Python's own first, then torch's; what comes from one place on one line."""
    names: dict[str, set[str]] = {}
    for line in lines:
        before, _, name = line.partition(" import ")
        names.setdefault(before if name else line, set()).update({name} - {""})
    written = [
        f"{home} import {', '.join(sorted(each))}" if each else home for home, each in names.items()
    ]
    written.sort(key=lambda line: (line.startswith("from"), line))
    own = [line for line in written if "torch" not in line]
    theirs = [line for line in written if "torch" in line]
    return [*own, "", *theirs] if own else theirs


def _wrapped(doc: str) -> str:
    first, _, rest = doc.partition("\n")
    return "\n".join([*textwrap.wrap(first, 100), rest])
