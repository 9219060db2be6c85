"""A grammar that writes two languages at once, and so knows which word stands for which.

Every rule has a template in each language with the same slots: `{number}/d {noun:pl}` beside
`{number}/d {noun:m}/d {noun}`. One choice of rules, a tree, is written on both sides. Two words
are linked where they come from the same word of the lexicon, or carry the same label (the letters
after the slash) in the same rule. Read one side back, and the tree gives the other.
Source: Aho and Ullman 1969, "Syntax directed translations and the pushdown assembler"; the name
is that of Chiang 2007, "Hierarchical phrase-based translation", section 2.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

MEASURE = "m"
"""The form of a Chinese noun that is its measure word: of 猫, 只."""

_ITEM = re.compile(r"(?:\{(?P<slot>\w+)(?P<form>:\w*)?\}|(?P<word>[^/\s]+))(?:/(?P<labels>\w+))?")

Lengths = Counter[tuple[int, int]]
"""How many trees there are of each length: (tokens on the left, tokens on the right)."""
Links = tuple[tuple[int, int], ...]
"""Places (left, right) of words that stand for each other, in order."""


@dataclass(frozen=True)
class Item:
    """A word of a template, or a slot and the form in which it is filled.

    A `form` of None is the one in which the whole template is wanted.
    """

    word: str = ""
    slot: str = ""
    form: str | None = None
    labels: str = ""


Template = tuple[Item, ...]
Side = Mapping[str, Template]
"""Templates by form, the plain one under the empty name."""


@dataclass(frozen=True, eq=False)
class Rule:
    """What a category may be: two sides, the category of each slot, the slots that matter.

    `core` names the slots whose words say what the whole is about. A rule without slots is a word
    of the lexicon.
    """

    category: str
    sides: tuple[Side, Side]
    slots: Mapping[str, str]
    core: tuple[str, ...]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Return the index of each slot among the slots."""
        return {slot: place for place, slot in enumerate(self.slots)}

    def template(self, side: int, form: str) -> Template:
        """The words and slots of a side in this form, or in the plain one."""
        return self.sides[side].get(form, self.sides[side][""])


@dataclass(frozen=True)
class Tree:
    """A rule and what fills its slots, in the order of `rule.slots`."""

    rule: Rule
    parts: "tuple[Tree, ...]" = ()

    def part(self, slot: str) -> "Tree":
        """What fills a slot."""
        return self.parts[self.rule.places[slot]]

    def core(self) -> tuple[str, ...]:
        """The words on the right that say what this is about; the same in every form."""
        if not self.parts:
            return ("".join(item.word for item in self.rule.template(1, "")),)
        return tuple(word for slot in self.rule.core for word in self.part(slot).core())

    def words(self, side: int, form: str = "") -> list[str]:
        """The words of one side."""
        found = []
        for item in self.rule.template(side, form):
            if item.slot:
                wanted = form if item.form is None else item.form
                found += self.part(item.slot).words(side, wanted)
            else:
                found.append(item.word)
        return found

    def links(self) -> Links:
        """Which words of the two sides stand for each other."""
        left, right = ([marks for _, marks in self._written(side, "", ())] for side in range(2))
        return tuple(
            (i, j)
            for i, marks in enumerate(left)
            for j, others in enumerate(right)
            if not marks.isdisjoint(others)
        )

    def _written(
        self, side: int, form: str, place: tuple[str, ...]
    ) -> list[tuple[str, frozenset[tuple[str, ...]]]]:
        """Each word with its marks: the places in the tree where a label was put on it."""
        found = []
        for item in self.rule.template(side, form):
            marks = frozenset((*place, label) for label in item.labels)
            if item.slot:
                wanted = form if item.form is None else item.form
                part = self.part(item.slot)._written(side, wanted, (*place, item.slot))
                found += [(word, inner | marks) for word, inner in part]
            else:
                found.append((item.word, marks))
        return found


def rule(
    category: str,
    left: str | Mapping[str, str],
    right: str | Mapping[str, str],
    *,
    core: Sequence[str] | None = None,
    **slots: str,
) -> Rule:
    """A rule from its templates; every slot matters unless `core` says which do."""
    sides = (_side(left), _side(right))
    return Rule(category, sides, slots, tuple(slots) if core is None else tuple(core))


def lexical(category: str, left: Mapping[str, str], right: Mapping[str, str]) -> Rule:
    """A word of the lexicon in its forms; all of it is linked where no label says otherwise."""
    sides = (_side(left, labels="w"), _side(right, labels="w"))
    unmarked = {
        form: tuple(Item(item.word) for item in items)
        for form, items in sides[1].items()
        if form == MEASURE
    }
    return Rule(category, (sides[0], {**sides[1], **unmarked}), {}, ())


def _side(templates: str | Mapping[str, str], labels: str = "") -> Side:
    given = {"": templates} if isinstance(templates, str) else templates
    return {form: tuple(_items(text, labels)) for form, text in given.items()}


def _items(template: str, labels: str) -> Iterator[Item]:
    for match in _ITEM.finditer(template):
        form = match["form"][1:] if match["form"] else None
        yield Item(match["word"] or "", match["slot"] or "", form, match["labels"] or labels)


class SynchronousGrammar:
    """Rules by category; `start` is the category of a whole sentence."""

    def __init__(self, rules: Iterable[Rule], *, start: str, lengths: range):
        """Sentences of `lengths` words on both sides belong to it, others do not."""
        self.start = start
        self.lengths = lengths
        by_category = defaultdict(list)
        for each in rules:
            by_category[each.category].append(each)
        self.rules: Mapping[str, Sequence[Rule]] = dict(by_category)

    def draw(self, source: random.Random) -> Tree:
        """A sentence: in every category each rule is as likely as the others."""
        while True:
            tree = self._drawn(self.start, source)
            if self._is_allowed(tree):
                return tree

    def read(self, words: Sequence[str], side: int) -> list[Tree]:
        """Every sentence that is written in these words on this side."""
        reading = _Reading(self.rules, tuple(words), side)
        trees = reading.trees(self.start, "", 0).get(len(words), [])
        return [tree for tree in trees if self._is_allowed(tree)]

    @cached_property
    def n_trees(self) -> int:
        """How many sentences there are, counted without writing them."""
        counted = _Counting(self.rules).lengths_of(self.start, "", "")
        return sum(
            n for lengths, n in counted.items() if all(each in self.lengths for each in lengths)
        )

    def vocabulary(self, side: int) -> list[str]:
        """Every word that a sentence of this side may have, sorted."""
        words: set[str] = set()
        waiting, seen = [(self.start, "")], {(self.start, "")}
        while waiting:
            category, form = waiting.pop()
            for item in (each for one in self.rules[category] for each in one.template(side, form)):
                words.add(item.word)
            wanted = {
                (one.slots[item.slot], form if item.form is None else item.form)
                for one in self.rules[category]
                for item in one.template(side, form)
                if item.slot
            }
            waiting += wanted - seen
            seen |= wanted
        return sorted(words - {""})

    def _is_allowed(self, tree: Tree) -> bool:
        return all(len(tree.words(side)) in self.lengths for side in range(2))

    def _drawn(self, category: str, source: random.Random) -> Tree:
        rules = self.rules[category]
        chosen = rules[int(source.random() * len(rules))]
        return Tree(chosen, tuple(self._drawn(slot, source) for slot in chosen.slots.values()))


class _Counting:
    """Adds up rules and multiplies slots, length by length."""

    def __init__(self, rules: Mapping[str, Sequence[Rule]]):
        self.rules = rules
        self.known: dict[tuple[str, str, str], Lengths] = {}

    def lengths_of(self, category: str, left: str, right: str) -> Lengths:
        """How many trees of a category, in these forms, have which lengths."""
        key = (category, left, right)
        if key not in self.known:
            total: Lengths = Counter()
            for each in self.rules[category]:
                total.update(self._of_rule(each, left, right))
            self.known[key] = total
        return self.known[key]

    def _of_rule(self, each: Rule, left: str, right: str) -> Lengths:
        templates = (each.template(0, left), each.template(1, right))
        alone = tuple(
            sum(not item.slot or item.form == MEASURE for item in items) for items in templates
        )
        total: Lengths = Counter({(alone[0], alone[1]): 1})
        forms = [_forms(items, form) for items, form in zip(templates, (left, right), strict=True)]
        for slot, category in each.slots.items():
            inner = self.lengths_of(category, forms[0][slot], forms[1].get(slot, right))
            total = _sums(total, inner)
        return total


def _forms(items: Template, form: str) -> Mapping[str, str]:
    """The form of each slot, measure words apart."""
    return {
        item.slot: form if item.form is None else item.form
        for item in items
        if item.slot and item.form != MEASURE
    }


def _sums(some: Lengths, others: Lengths) -> Lengths:
    total: Lengths = Counter()
    for (left, right), n in some.items():
        for (more_left, more_right), m in others.items():
            total[left + more_left, right + more_right] += n * m
    return total


class _Reading:
    """All trees over the words of one sentence, each part of it read once."""

    def __init__(self, rules: Mapping[str, Sequence[Rule]], words: tuple[str, ...], side: int):
        self.rules = rules
        self.words = words
        self.side = side
        self.known: dict[tuple[str, str, int], dict[int, list[Tree]]] = {}

    def trees(self, category: str, form: str, start: int) -> dict[int, list[Tree]]:
        """The trees of a category that begin at a word, by the word after their last."""
        key = (category, form, start)
        if key not in self.known:
            found = defaultdict(list)
            for each in self.rules[category]:
                for end, tree in self._of_rule(each, form, start):
                    found[end].append(tree)
            self.known[key] = dict(found)
        return self.known[key]

    def _of_rule(self, each: Rule, form: str, start: int) -> Iterator[tuple[int, Tree]]:
        template = each.template(self.side, form)
        for end, filled, measures in self._along(each, template, form, start):
            tree = Tree(each, tuple(filled[slot] for slot in each.slots))
            if all(tree.part(slot).words(self.side, MEASURE) == [m] for slot, m in measures):
                yield end, tree

    def _along(
        self, each: Rule, items: Template, form: str, start: int
    ) -> Iterator[tuple[int, dict[str, Tree], list[tuple[str, str]]]]:
        """Ways to go through the items; a measure word is checked once its noun is known."""
        if not items:
            yield start, {}, []
            return
        item, rest = items[0], items[1:]
        if not item.slot or item.form == MEASURE:
            if start < len(self.words) and item.word in ("", self.words[start]):
                for end, filled, measures in self._along(each, rest, form, start + 1):
                    seen = [(item.slot, self.words[start])] if item.slot else []
                    yield end, filled, measures + seen
            return
        wanted = form if item.form is None else item.form
        for middle, trees in self.trees(each.slots[item.slot], wanted, start).items():
            for end, filled, measures in self._along(each, rest, form, middle):
                for tree in trees:
                    yield end, {**filled, item.slot: tree}, measures
