"""The phrases of the translator: nouns with what belongs to them, places, and what one does.

Categories carry what must agree: `thing_def_i` is a thing that "I" may act on.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from blocks.corpora.synchronous import MEASURE, Rule, rule

HUMANS = ("human", "friend", "sibling")
OWNERS = {
    "my": "我 的",
    "your": "你 的",
    "his": "他 的",
    "her": "她 的",
    "our": "我们 的",
    "their": "他们 的",
}
OBJECTS = {"me": "我", "you": "你", "him": "他", "her": "她", "us": "我们", "them": "他们"}
MEASURED = ("readable", "watchable", "writable", "food", "thing", "washable", "animal")
UNADORNED = {"human": "folk", "thing": "object", "animal": "beast"}


@dataclass(frozen=True)
class Subject:
    """Subjects that agree in the same way, and the people whom they may act on.

    Nobody acts on himself here: "Tom" sees Mary, and "I" never see me. So the boys may act on
    `names` of girls, the girls on those of boys.
    """

    name: str
    be: str
    was: str
    third: bool
    people: tuple[str, ...]
    names: tuple[str, ...] = ("boy", "girl")
    is_animal: bool = False

    @property
    def do(self) -> str:
        """The auxiliary of the present."""
        return "does" if self.third else "do"

    @property
    def present(self) -> str:
        """Return the form of a verb in the present."""
        return "s" if self.third else ""


SUBJECTS = (
    Subject("i", "am", "was", False, ("you", "him", "her", "them")),
    Subject("you", "are", "were", False, ("me", "him", "her", "us", "them")),
    Subject("we", "are", "were", False, ("you", "him", "her", "them")),
    Subject("boy", "is", "was", True, tuple(OBJECTS), ("girl",)),
    Subject("girl", "is", "was", True, tuple(OBJECTS), ("boy",)),
    Subject("one", "is", "was", True, tuple(OBJECTS)),
    Subject("many", "are", "were", False, tuple(OBJECTS), ()),
    Subject("creature", "is", "was", True, tuple(OBJECTS), is_animal=True),
    Subject("creatures", "are", "were", False, tuple(OBJECTS), is_animal=True),
)


def phrases() -> Iterator[Rule]:
    """All rules between the words and the sentences."""
    yield from _described()
    yield from _counted()
    yield from _pointed()
    yield from _places()
    yield from _owners()
    yield from _subjects()
    for subject in SUBJECTS:
        yield from _definite(subject)
        yield from _deeds(subject)
    yield from _deeds_of_all()


def same(category: str, *others: str) -> Iterator[Rule]:
    """A category that may be any of others, in the form in which it is wanted."""
    for other in others:
        yield rule(category, "{phrase}", "{phrase}", phrase=other)


def _noun_phrase(
    category: str, left: str, right: str, *, noun: str, measure: str = "{noun:m}", **slots: str
) -> Rule:
    """Words before a noun, which is what counts; its measure word is that of the noun."""
    sides = {"": right, MEASURE: measure}
    return rule(category, left, sides, core=("noun",), **slots, noun=noun)


def _described() -> Iterator[Rule]:
    """Nouns with adjectives: 小猫, 红色的书, and where both come, 红色的小箱子."""
    yield from same("thing", "small", "large")
    for kind in (*MEASURED, *HUMANS):
        yield _noun_phrase(f"{kind}_any", "{noun}", "{noun}", noun=kind)
    for kind in ("human", "animal", "thing"):
        epithet = f"{kind}_epithet"
        yield _adjective(f"{kind}_any", epithet, kind, "{adjective} 的/a {noun}")
    for kind, colour in (("animal", "fur"), ("thing", "colour")):
        yield _adjective(f"{kind}_any", colour, kind, "{adjective} 的/a {noun}")
        yield _noun_phrase(
            f"{kind}_any",
            "{size} {colour}/a {noun}",
            "{colour} 的/a {size} {noun}",
            noun=kind,
            size="size",
            colour=colour,
        )
    yield _adjective("animal_any", "size", "animal", "{adjective} {noun}")
    yield _adjective("thing_any", "condition", "thing", "{adjective} {noun}")
    yield from same("thing_own", "thing")
    yield _adjective("thing_own", "condition", "thing", "{adjective} {noun}")
    for kind in MEASURED:
        if kind != "thing":
            yield from same(f"{kind}_own", kind)


def _adjective(category: str, adjective: str, noun: str, right: str) -> Rule:
    left = "{adjective}/a {noun}"
    return _noun_phrase(category, left, right, noun=noun, adjective=adjective)


def _counted() -> Iterator[Rule]:
    """A cat, two cats, many cats."""
    for kind in ("headwear", "clothing"):
        yield _one(kind, kind)
    for kind in (*MEASURED, *HUMANS, "small"):
        noun = f"{kind}_any" if kind in (*MEASURED, *HUMANS) else kind
        one, some = f"{kind}_one", f"{kind}_some"
        yield _one(kind, noun)
        yield _noun_phrase(
            some, "{number}/d {noun:pl}", "{number}/d {noun:m}/d {noun}", noun=noun, number="number"
        )
        for left, right in (("many/d", "很多/d"), ("some/d", "一些/d")):
            yield _noun_phrase(some, f"{left} {{noun:pl}}", f"{right} {{noun}}", noun=noun)
        yield from same(f"{kind}_indef", one, some)
    yield _noun_phrase("liquid_indef", "some/d {noun}", "一些/d {noun}", noun="liquid")
    yield _noun_phrase(
        "liquid_indef",
        "a/d {cup}/c of/c {noun}",
        "一/d {cup}/c {noun}",
        noun="liquid",
        cup="vessel",
    )
    yield _noun_phrase(
        "liquid_indef",
        "{number} {cup:pl}/c of/c {noun}",
        "{number} {cup}/c {noun}",
        noun="liquid",
        number="number",
        cup="vessel",
    )


def _pointed() -> Iterator[Rule]:
    """This cat and these two cats; the unadorned ones are those that a sentence describes."""
    described = {f"{kind}_any": kind for kind in (*MEASURED, "human")}
    for noun, kind in (described | UNADORNED | {"small": "small"}).items():
        for left, right in (("this/d", "这/d"), ("that/d", "那/d")):
            yield _noun_phrase(
                f"{kind}_this", f"{left} {{noun}}", f"{right} {{noun:m}}/d {{noun}}", noun=noun
            )
        for left, right in (("these", "这"), ("those", "那")):
            yield _noun_phrase(
                f"{kind}_these", f"{left}/d {{noun:pl}}", f"{right}些/d {{noun}}", noun=noun
            )
            yield _noun_phrase(
                f"{kind}_these",
                f"{left}/d {{number}}/n {{noun:pl}}",
                f"{right}/d {{number}}/n {{noun:m}}/n {{noun}}",
                noun=noun,
                number="number",
            )


def _one(kind: str, noun: str) -> Rule:
    return _noun_phrase(f"{kind}_one", "a/d {noun}", "一/d {noun:m}/d {noun}", noun=noun)


def _places() -> Iterator[Rule]:
    """在 and the word for the side go around the place; `bare` leaves 在 out."""
    sides = {
        "site": (("in/p", "里/p"),),
        "furniture": (("on/p", "上/p"), ("under/p", "下面/p"), ("behind/p", "后面/p")),
        "landmark": (("behind/p", "后面/p"), ("in/1 front/1 of/1", "前面/1")),
    }
    for kind, relations in sides.items():
        for left, right in relations:
            before = "在/1" if right.endswith("1") else "在/p"
            place = "site_place" if kind == "site" else "spot_place"
            yield rule(
                place,
                f"{left} the {{place}}",
                {"": f"{before} {{place:}} {right}", "bare": f"{{place:}} {right}"},
                place=kind,
            )
    yield from same("any_place", "site_place", "spot_place")


def _owners() -> Iterator[Rule]:
    """My and Tom's; one category for each subject, and one for all."""
    for left, right in OWNERS.items():
        category = "other_owner" if left in ("his", "her") else "host"
        yield rule(category, f"{left}/o", " ".join(f"{word}/o" for word in right.split()))
    yield from same("pronoun_owner", "host", "other_owner")
    for names in ("boy", "girl"):
        yield rule(f"{names}_owner", "{name} 's/o", "{name} 的/o", name=names)
    yield from same("owner", "pronoun_owner", "boy_owner", "girl_owner")
    for subject in SUBJECTS:
        owners = (f"{names}_owner" for names in subject.names)
        yield from same(f"owner_{subject.name}", "pronoun_owner", *owners)


def _owned(category: str, owner: str, noun: str) -> Rule:
    return _noun_phrase(category, "{owner} {noun}", "{owner} {noun}", noun=noun, owner=owner)


def _pronoun(category: str, left: str, right: str) -> Rule:
    return rule(category, f"{left}/w", f"{right}/w")


def _subjects() -> Iterator[Rule]:
    for left, right in (("I", "我"), ("you", "你"), ("we", "我们")):
        yield _pronoun(f"subject_{left.lower()}", left, right)
    for names in ("boy", "girl"):
        yield from same(f"subject_{names}", names)
    yield from (_pronoun("someone", *words) for words in (("he", "他"), ("she", "她")))
    yield from same("somebody", "someone", "relative")
    yield from same("relative", *(f"{kind}_owned" for kind in ("friend", "family")))
    yield from (_owned(f"{kind}_owned", "owner", kind) for kind in ("friend", "family"))
    yield from same("subject_one", "someone", "human_this", "human_the", "relative")
    yield _noun_phrase("human_the", "the {noun}", "{noun}", noun="human")
    yield _pronoun("couple", "they", "他们")
    yield rule("couple", "{boy} and/w {girl}", "{boy} 和/w {girl}", boy="boy", girl="girl")
    yield from same("subject_many", "couple", "human_these", "human_all")
    yield _noun_phrase("human_all", "the {noun:pl}/s", "{noun} 们/s", noun="human")
    yield _noun_phrase(
        "human_all", "{owner} {noun:pl}/s", "{owner} {noun} 们/s", noun="friend", owner="owner"
    )
    yield _pronoun("creature", "it", "它")
    yield _noun_phrase("creature", "the {noun}", "{noun}", noun="animal")
    yield _owned("creature", "owner", "animal")
    yield from same("subject_creature", "creature", "animal_this")
    yield from same("subject_creatures", "animal_these")
    yield _noun_phrase("subject_item", "the {noun}", "{noun}", noun="small")
    yield _owned("subject_item", "owner", "small")
    yield from same("subject_item", "small_this")
    yield from same("subject_items", "small_these")
    yield _owned("owned_thing", "owner", "thing")
    yield from same("described_thing", "owned_thing", "object_this", "thing_bought")
    yield from same("described_things", "object_these")
    yield from same("described_creature", "creature", "beast_this")
    yield from same("described_creatures", "beast_these")
    yield from same("described_one", "somebody", "human_the", "folk_this")
    yield from same("described_many", "couple", "human_all", "folk_these")
    for name in ("i", "you", "we", "boy", "girl"):
        yield from same(f"described_{name}", f"subject_{name}")
    yield from _relative_clause()


def _relative_clause() -> Iterator[Rule]:
    """The book that he bought yesterday: 他昨天买的那本书."""
    buyers = ("subject_i", "subject_you", "subject_we", "someone", "couple", "boy", "girl")
    yield from same("buyer", *buyers)
    for left, right, slots in (("", "", {}), ("{time}", "{time}", {"time": "past_time"})):
        yield _noun_phrase(
            "thing_bought",
            f"the/d {{noun:}} that/r {{who:}} {{verb:past}} {left}",
            f"{{who:}} {right} {{verb:}} 的/r 那/d {{noun:m}}/d {{noun:}}",
            noun="thing",
            who="buyer",
            verb="own",
            **slots,
        )


def _definite(subject: Subject) -> Iterator[Rule]:
    """What a subject may act on, where it is known which one is meant."""
    name = subject.name
    owner = f"owner_{name}"
    for pronoun in subject.people:
        yield _pronoun(f"person_{name}", pronoun, OBJECTS[pronoun])
    yield from same(f"person_{name}", *subject.names, "human_this", "human_these")
    yield from (_owned(f"person_{name}", owner, kind) for kind in ("friend", "family"))
    for kind in ("food", "animal") if subject.is_animal else MEASURED:
        known = f"{kind}_def_{name}"
        yield from same(known, f"{kind}_this", f"{kind}_these")
        yield _owned(known, owner, f"{kind}_own")
    yield _owned(f"liquid_def_{name}", owner, "liquid")


def _deed(category: str, verb: str, noun: str) -> Rule:
    """A verb and what it takes; 了 comes between them."""
    return rule(
        category,
        "{verb}/v {object:}",
        {"": "{verb} {object:}", "le": "{verb} 了/v {object:}"},
        verb=verb,
        object=noun,
    )


LASTING = (
    ("read", "readable"),
    ("watch", "watchable"),
    ("write", "writable"),
    ("eat", "food"),
    ("drink", "liquid"),
    ("buy", "thing"),
    ("buy", "food"),
    ("sell", "thing"),
    ("wash", "washable"),
    ("seek", "thing"),
)
"""Verbs that one can be in the middle of, and what they take."""
FOR_ANIMALS = (("eat", "food"), ("drink", "liquid"))


def _deeds(subject: Subject) -> Iterator[Rule]:
    """What this subject does to what is known."""
    name = subject.name
    known, found = f"known_deed_{name}", f"sudden_known_{name}"
    verbs = FOR_ANIMALS if subject.is_animal else LASTING
    yield from (_deed(known, verb, f"{kind}_def_{name}") for verb, kind in verbs)
    yield _deed(found, "perceive", f"animal_def_{name}")
    idle, new, bare = "rest", "animal_deed", "animal_bare"
    if subject.is_animal:
        yield from same(f"moved_{name}", "meal")
    else:
        yield from (_deed(known, verb, f"person_{name}") for verb in ("await", "help"))
        yield _deed(found, "meet", f"person_{name}")
        yield _deed(found, "perceive", f"thing_def_{name}")
        yield from _gift(name)
        idle, new, bare = "work_deed", "deed", "bare_deed"
    yield from same(f"done_{name}", idle, known, new, found, f"sudden_{new}")
    yield from same(f"undone_{name}", idle, known, bare, found)
    yield from same(f"doing_{name}", idle, known, new)
    yield from same(f"habit_{name}", idle, known, bare)
    yield from same(f"wish_{name}", idle, known, new, bare, found)
    yield from _states(subject)


def _gift(name: str) -> Iterator[Rule]:
    yield rule(
        f"gift_{name}",
        "{verb}/v {whom:} {what:}",
        {"": "{verb} {whom:} {what:}", "le": "{verb} 了/v {whom:} {what:}"},
        verb="give",
        whom=f"person_{name}",
        what="present",
    )
    yield from same(f"errand_{name}", "outing_deed", "trip", f"gift_{name}")
    yield from same(f"moved_{name}", f"errand_{name}", "disposal")


def _states(subject: Subject) -> Iterator[Rule]:
    """What lasts: liking, knowing, needing."""
    name = subject.name
    state, firm = f"state_{name}", f"firm_state_{name}"
    yield _deed(firm, "like", "food_plural")
    yield _deed(firm, "like", "animal_plural")
    yield _deed(firm, "like", f"animal_def_{name}")
    if subject.is_animal:
        yield _deed(firm, "like", f"person_{name}")
    else:
        yield _deed(firm, "know", f"person_{name}")
        yield _deed(firm, "like", "liquid_plural")
        yield _deed(firm, "want", f"thing_def_{name}")
        yield _deed(firm, "like", "thing_bought")
        yield rule(firm, "{verb} {skill:ing}", "{verb} {skill:}", verb="like", skill="skill_deed")
        yield _deed(state, "need", "thing_indef")
    yield from same(state, firm)


def _intransitive(category: str, verb: str) -> Rule:
    sides = {"": "{verb}", "le": "{verb} 了/v"}
    return rule(category, "{verb}/v", sides, verb=verb)


def _deeds_of_all() -> Iterator[Rule]:
    """What anybody does, whoever it is."""
    yield from (_intransitive("work_deed", verb) for verb in ("work", "sleep"))
    yield _intransitive("rest", "sleep")
    yield _intransitive("outing_deed", "outing")
    yield from same("skill_deed", "skill", "game")
    for left, right, verb in (
        ("football/g", "足球/g", "kick"),
        ("basketball/g", "篮球/g", "throw"),
        ("the piano/g", "钢琴/g", "strum"),
    ):
        sides = {"": f"{{verb}} {right}", "le": f"{{verb}} {right} 了/v"}
        yield rule("game", f"{{verb}}/v {left}", sides, verb=verb)
    yield from same("work_deed", "game")
    for verb, kind in LASTING:
        yield _deed("deed", verb, f"{kind}_indef")
        yield _deed("bare_deed", verb, f"{kind}_plural")
    for kind in (*MEASURED, "liquid", "friend", "sibling"):
        yield rule(f"{kind}_plural", "{noun:pl}", "{noun:}", noun=kind)
    yield _deed("animal_deed", "eat", "food_indef")
    yield _deed("animal_bare", "drink", "liquid")
    yield _deed("sudden_deed", "perceive", "thing_indef")
    yield _deed("sudden_deed", "perceive", "animal_indef")
    yield _deed("sudden_deed", "meet", "human_indef")
    yield _deed("sudden_animal_deed", "perceive", "animal_indef")
    yield from same("going", "outing_deed", "trip")
    yield from same("present", "small_indef", "food_indef")
    yield from same("disposal", "meal")
    yield from _trips()
    yield from _disposals()
    for verb, kind in (("wear_hat", "headwear"), ("wear_coat", "clothing")):
        yield rule(
            "dress_deed",
            "{verb}/v {object:}",
            "{verb} 着/v {object:}",
            verb=verb,
            object=f"{kind}_one",
        )


def _trips() -> Iterator[Rule]:
    sides = {"": "{verb} {goal:}", "le": "{verb} 了/v {goal:}"}
    yield rule("trip", "{verb}/v to the {goal:}", sides, verb="go", goal="site")
    yield rule("trip", "{verb}/v to {goal:}", sides, verb="go", goal="city")


def _disposals() -> Iterator[Rule]:
    """What is done to the thing: 把 brings it before the verb."""
    for verb, kind in (
        ("eat", "food"),
        ("drink", "liquid"),
        ("sell", "large"),
        ("wash", "washable"),
        ("lose", "losable"),
        ("break", "breakable"),
        ("open", "openable"),
    ):
        category = "meal" if (verb, kind) in FOR_ANIMALS else "disposal"
        yield rule(
            category, "{verb}/v the {object:}", "把 {object:} {verb} 了/v", verb=verb, object=kind
        )
