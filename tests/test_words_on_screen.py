"""No word comes to the screen past `_`, and none that was translated is kept for all languages."""

import ast
import re
from collections.abc import Iterator

import pytest
from source_walk import (
    Function,
    calls,
    functions,
    is_kept,
    modules,
    name_called,
    named,
    parameters,
    reaching,
    resolved,
    sources,
    uses,
)

pytestmark = pytest.mark.xdist_group("sources")

PROSE = re.compile(r"[A-Za-z][a-z]+ [A-Za-z]*[a-z]{2}|^[A-Z][a-z]{2,}$")
MARKUP = re.compile(r":material/\w+:|:[a-z]+(-badge)?\[|<[^>]*>|%?\{[^{}]*\}|\$[^$]*\$")
SHOWING = (
    *("title", "header", "subheader", "heading", "markdown", "caption", "write", "text", "info"),
    *("warning", "error", "success", "toast", "button", "link_button", "popover", "expander"),
    *("toggle", "checkbox", "radio", "selectbox", "multiselect", "pills", "segmented_control"),
    *("number_input", "text_input", "text_area", "metric", "tabs", "spinner", "status", "badge"),
    *("file_uploader", "progress", "html", "press"),
)
SHOWN = (
    *("label", "help", "placeholder", "caption", "title", "title_text", "text", "name", "alt"),
    *("hovertemplate", "hovertext", "ticktext", "ticksuffix", "format_func"),
)
# Names, letters and units, the same in every language, and what Plotly and HTML call things.
NO_WORDS = re.compile(
    r"(middle|top|bottom) (left|center|right)|</?\w+.*|<!doctype.*|; border-.*|#* ?Blockscope"
    r"|English|中文|Adam|Muon|Tensor|Matrix|Picture|Forwarded"
    r"|\{\"model_type\".*|d_head %.*|%.* ms<extra>.*"
)
# A text that is read, what a file calls its task and score, and what a command says.
NO_SCREEN = (
    "pages/lessons/__main__.py: ",
    "pages/lessons/check.py: ",
    "pages/state/fields.py: the small robot",
    "pages/panels/normalization/layers.py: sorting",
    "pages/panels/training/sweep_said.py: from pathlib import Path",
    "pages/words/terms.py: masked words of stories",
    "pages/words/terms.py: words found",
)


def is_no_screen(node: ast.AST) -> bool:
    """What was translated, a docstring, an error for programmers, names of streams and types."""
    match node:
        case (
            ast.Call(func=ast.Name("_" | "N_" | "ngettext" | "pgettext"))
            | ast.Call(func=ast.Name("generator" | "namedtuple"))
            | ast.Call(func=ast.Name("TypeVar" | "ParamSpec"))
            | ast.Raise()
        ):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
    return False


def literals(node: ast.AST) -> Iterator[str]:
    """Every text below a node that does not pass `_`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        if not is_no_screen(child):
            yield from literals(child)


def answers(node: ast.AST) -> Iterator[str]:
    """The texts that an expression may be; those that it only asks for or looks up are none."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.Call(func=ast.Attribute(value=template, attr=name), args=given):
            yield from answers(template)
            for each in given if name == "join" else ():
                yield from answers(each)
        case ast.IfExp(body=first, orelse=other) | ast.BinOp(left=first, right=other):
            yield from (*answers(first), *answers(other))
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.JoinedStr(values=parts):
            for each in parts:
                yield from answers(each)
        case ast.Lambda(body=body) | ast.GeneratorExp(elt=body) | ast.ListComp(elt=body):
            yield from answers(body)


def shown(tree: ast.AST) -> Iterator[str]:
    """What is handed to be shown: the first argument of such a function, or by such a name."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = name_called(call)
        given = [*(call.args[:1] if name in SHOWING else ())]
        given += [keyword.value for keyword in call.keywords if keyword.arg in SHOWN]
        for node in given:
            yield from answers(node)


def bare(tree: ast.AST) -> list[str]:
    """Words of a source that come to the screen untranslated."""
    prose = [text for text in literals(tree) if PROSE.search(text)]
    labels = [text for text in shown(tree) if re.search(r"[^\W\d_]{2}", MARKUP.sub("", text))]
    return [text for text in {*prose, *labels} if not NO_WORDS.fullmatch(text)]


def test_no_word_is_shown_in_english_alone():
    found = [f"{path}: {text}" for path, tree in sources().items() for text in bare(tree)]
    assert [each for each in found if not each.startswith(NO_SCREEN)] == []


@pytest.mark.parametrize(
    "source",
    [
        'st.subheader("Heads")',
        'heading("heads", (), key="heads")',
        'box.caption(f"seed {seed}")',
        'st.toggle(_("a") if on else "off")',
        'pick(format_func=lambda name: "none" if not name else _(name))',
        'layout.update(xaxis_title=dict(text="tokens"))',
        'slider("n", "How many of them", 1, 2)',
        'LABELS = {"mean": "the mean"}',
    ],
)
def test_such_a_word_is_found(source: str):
    assert bare(ast.parse(source))


SPEAKING = ("_", "ngettext", "pgettext", "say_fault", "current_language")


def calls_what_it_is_given(function: ast.FunctionDef) -> bool:
    """And returns what that returns, unless these are numbers alone."""
    if "NDArray" in ast.unparse(function.returns or ast.Constant(None)):
        return False
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(
        isinstance(called, ast.Name) and called.id in parameters(function) for called in calls
    )


def speaking(trees: dict[str, ast.Module]) -> set[Function]:
    """The functions that say something in the reader's language, or use one that does."""
    return reaching(uses(trees), {("pages.words.language", name) for name in SPEAKING})


def kept_without_language(trees: dict[str, ast.Module]) -> list[Function]:
    """Functions whose answers are kept, are words or may be, and the same for all languages."""
    speak = speaking(trees)
    return [
        key
        for key, node in functions(trees).items()
        if is_kept(node) and (key in speak or calls_what_it_is_given(node))
        if "language" not in parameters(node)
    ]


def made_for_a_shelf(trees: dict[str, ast.Module]) -> Iterator[Function]:
    """What a shelf makes and keeps, by a key that names no language."""
    names = {module: named(tree) for module, tree in modules(trees).items()}
    for module, call in calls(trees):
        if name_called(call) == "Shelf":
            yield from filter(None, (resolved(each, module, names[module]) for each in call.args))


def test_what_is_kept_of_words_is_kept_by_language():
    assert kept_without_language(sources()) == []
    assert {*made_for_a_shelf(sources())} & speaking(sources()) == set()


def kept_inside(trees: dict[str, ast.Module]) -> Iterator[str]:
    """What is kept of methods and of functions in functions, which is not looked into above."""
    at_the_top = {id(node) for node in functions(trees).values()}
    for tree in trees.values():
        inside = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        yield from (node.name for node in inside if is_kept(node) and id(node) not in at_the_top)


def test_nothing_is_kept_inside_but_what_a_picture_is_made_of():
    """And what `blocks` make of a layer: they speak no language."""
    assert {*kept_inside(sources())} == {"_plotly", "sent", "facts_of"}


READ_BY = {"language": "current_language", "look": "_look"}
"""What of its reader a picture, or a table with words, is kept by, and what reads it."""


def reads(function: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """What a function binds to a name."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = (
                    zip(target.elts, node.value.elts, strict=True)
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                    else [(target, node.value)]
                )
                yield from (v for t, v in pairs if isinstance(t, ast.Name) and t.id == name)


def is_of_the_reader(given: ast.expr | None, name: str, function: ast.FunctionDef) -> bool:
    """Whether an argument is what the reader has now, or what the caller is kept by itself."""
    if isinstance(given, ast.Name):
        if given.id == name and is_kept(function) and name in parameters(function):
            return True
        found = [*reads(function, given.id)]
        return bool(found) and all(is_of_the_reader(each, name, function) for each in found)
    return isinstance(given, ast.Call) and ast.unparse(given) == f"{READ_BY[name]}()"


def argument(call: ast.Call, name: str, function: ast.FunctionDef) -> ast.expr | None:
    """What a call gives for a parameter; None where it cannot be seen."""
    by_name = {keyword.arg: keyword.value for keyword in call.keywords}
    place = [each.arg for each in function.args.args].index(name)
    before = call.args[: place + 1]
    is_seen = len(before) > place and not any(isinstance(each, ast.Starred) for each in before)
    return by_name.get(name, before[place] if is_seen else None)


def given_another(trees: dict[str, ast.Module]) -> list[str]:
    """Calls of what is kept by language or look with anything but the reader's."""
    known = functions(trees)
    names = {module: named(tree) for module, tree in modules(trees).items()}
    return [
        f"{module}.{caller}: {ast.unparse(call)}"
        for (module, caller), function in known.items()
        if module != "pages.words.language"  # which is asked for any
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        if (called := known.get(resolved(call.func, module, names[module]))) and is_kept(called)
        for name in READ_BY.keys() & parameters(called)
        if not is_of_the_reader(argument(call, name, called), name, function)
    ]


def test_what_is_kept_by_language_or_look_is_given_the_readers():
    assert given_another(sources()) == []
    by_language = [node for node in functions(sources()).values() if "language" in parameters(node)]
    assert len([*filter(is_kept, by_language)]) > 5


@pytest.mark.parametrize(
    "source",
    [
        'def flow(run): return _flow(run, "")',
        'def flow(run): return _flow(run, language="en")',
        "def flow(run, language): return _flow(run, language)",
        "def flow(run): return _flow(*run)",
        "def flow(run):\n    language = browser_language()\n    return _flow(run, language)",
        "@lru_cache\ndef flow(run, look): return _flow(run, look)",
    ],
)
def test_what_is_given_another_is_found(source: str):
    kept = "@lru_cache\ndef _flow(run, language): return run\n"
    assert len(given_another({"pages/x.py": ast.parse(kept + source)})) == 1


@pytest.mark.parametrize(
    "source",
    [
        "def flow(run): return _flow(run, current_language())",
        "def flow(run):\n    n, language = 1, current_language()\n    return _flow(run, language)",
        "@lru_cache\ndef flow(run, language): return _flow(run, language=language)",
    ],
)
def test_what_is_given_the_readers_is_not(source: str):
    kept = "@lru_cache\ndef _flow(run, language): return run\n"
    assert given_another({"pages/x.py": ast.parse(kept + source)}) == []


@pytest.mark.parametrize(
    "source",
    [
        "@lru_cache\ndef table(run): return _title(run)\ndef _title(run): return _('heads')",
        "@lru_cache(maxsize=8)\ndef described(alt, values): return alt(*values)",
        "@st.cache_data\ndef labels(run): return terms.stage(run)",
    ],
)
def test_words_kept_for_all_languages_are_found(source: str):
    head = "from pages.words.language import _\nfrom pages.words import terms\n"
    terms = "from pages.words.language import _\ndef stage(name): return _(name)"
    trees = {"pages/show/x.py": ast.parse(head + source), "pages/words/terms.py": ast.parse(terms)}
    assert len(kept_without_language(trees)) == 1
