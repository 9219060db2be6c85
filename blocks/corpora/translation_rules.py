"""The sentences of the translator: what is said, denied and asked, in the time it belongs to.

English turns a sentence into a question with an auxiliary in front, Chinese with 吗 behind; its
time and place go to the end in English, before the verb in Chinese. So a sentence is written here
once, `{time}` and `{place}` in their seats in both, and the shorter ones leave them out.
"""

from collections.abc import Iterator
from itertools import product

from blocks.corpora.synchronous import Rule, rule
from blocks.corpora.translation_phrases import SUBJECTS, Subject, phrases, same
from blocks.corpora.translation_words import lexicon

SENTENCE = "sentence"
KINDS = (
    "past",
    "past_denied",
    "past_asked",
    "progress",
    "habit",
    "habit_denied",
    "habit_asked",
    "future",
    "wish",
    "skill_said",
    "state",
    "state_denied",
    "state_asked",
    "possession",
    "home",
    "mood",
    "looks",
    "profession",
    "identity",
    "existence",
    "location",
    "what",
    "whom",
    "which",
    "who",
    "where",
    "why",
)
"""What a sentence may be about; in a draw each is as likely as the others."""


def rules() -> Iterator[Rule]:
    """Every rule of the translator, words and phrases included."""
    yield from lexicon()
    yield from phrases()
    yield from same(SENTENCE, *KINDS)
    for subject in SUBJECTS:
        yield from _events(subject)
        yield from _moves(subject)
        yield from _state(subject)
        yield from _location(subject)
        if not subject.is_animal:
            yield from _can(subject)
            yield from _dress(subject)
            yield from _owns_and_lives(subject)
            yield from _mood(subject)
            yield from _profession(subject)
            yield from _questions(subject)
    yield from _onlookers()
    yield from _looks()
    yield from _identity()
    yield from _existence()
    yield from _items()
    yield from _who()


def _said(
    category: str,
    left: str,
    right: str,
    *,
    must: str = "",
    may: str = "",
    core: str = "subject deed",
    **slots: str,
) -> Iterator[Rule]:
    """A sentence with and without each slot of `may`, and with `must`, if need be in front.

    `must` and `may` are names of slots, one letter for time and place: "t", "p".
    """
    is_asked = left.endswith("?")
    end = ("?/e", "？/e") if is_asked else ("./e", "。/e")
    left = left.removesuffix("?").strip()
    choices = [(False, True) if letter in may else (letter in must,) for letter in "tp"]
    for time, place in product(*choices):
        filled = {name: kind for name, kind in slots.items() if name not in ("time", "place")}
        absent = [name for name, is_in in (("time", time), ("place", place)) if not is_in]
        filled |= {name: slots[name] for name, is_in in (("time", time), ("place", place)) if is_in}
        texts = [left, right]
        for name in absent:
            texts = [text.replace(f"{{{name}}}", "") for text in texts]
        yield rule(
            category, f"{texts[0]} {end[0]}", f"{texts[1]} {end[1]}", core=core.split(), **filled
        )
        if time and not is_asked:
            fronted = [f"{{time}} {text.replace('{time}', '')}" for text in texts]
            yield rule(
                category,
                f"{fronted[0]} {end[0]}",
                f"{fronted[1]} {end[1]}",
                core=core.split(),
                **filled,
            )


def _events(subject: Subject) -> Iterator[Rule]:
    """What somebody did, and what he is doing."""
    name, be = subject.name, subject.be
    past = {"subject": f"subject_{name}", "place": "site_place", "time": "past_time", "may": "tp"}
    yield from _said(
        "past",
        "{subject} {deed:past} {place} {time}",
        "{subject} {time} {place} {deed:le}",
        deed=f"done_{name}",
        **past,
    )
    yield from _said(
        "past_denied",
        "{subject} did/n not/n {deed:} {place} {time}",
        "{subject} {time} 没/n {place} {deed:}",
        deed=f"undone_{name}",
        **past,
    )
    yield from _said(
        "past_asked",
        "did/q {subject} {deed:} {place} {time} ?",
        "{subject} {time} {place} {deed:le} 吗/q",
        deed=f"done_{name}",
        **past,
    )
    for seats, here in (({"may": "t"}, "在/b"), ({"may": "t", "must": "p"}, "{place}")):
        now = {**past, **seats, "time": "now", "deed": f"doing_{name}"}
        yield from _said(
            "progress",
            f"{{subject}} {be}/b {{deed:ing}} {{place}} {{time}}",
            f"{{subject}} {{time}} 正/b {here} {{deed:}}",
            **now,
        )
        yield from _said(
            "progress",
            f"{be}/q {{subject}} {{deed:ing}} {{place}} {{time}} ?",
            f"{{subject}} {{time}} 正/q {here.replace('/b', '/q')} {{deed:}} 吗/q",
            **now,
        )
    yield from _habits(subject)
    yield from _plans(subject)


def _habits(subject: Subject) -> Iterator[Rule]:
    """What somebody does every day, often or never."""
    name, do, present = subject.name, subject.do, subject.present
    habit = {
        "subject": f"subject_{name}",
        "place": "site_place",
        "time": "habit_time",
        "deed": f"habit_{name}",
    }
    every_day = (
        "habit",
        f"{{subject}} {{deed:{present}}} {{place}} {{time}}",
        "{subject} {time} {place} {deed:}",
    )
    often = (
        "habit",
        f"{{subject}} {{how}} {{deed:{present}}} {{place}}",
        "{subject} {how} {place} {deed:}",
    )
    asked = (
        "habit_asked",
        f"{do}/q {{subject}} {{deed:}} {{place}} {{time}} ?",
        "{subject} {time} {place} {deed:} 吗/q",
    )
    yield from _said(*every_day, must="t", may="p", **habit)
    yield from _said(*often, may="p", how="frequency", **habit)
    yield from _said(*asked, must="t", may="p", **habit)
    if not subject.is_animal:
        habit |= {"deed": "going"}
        yield from _said(*every_day, must="t", **habit)
        yield from _said(*often, how="frequency", **habit)
        yield from _said(*asked, must="t", **habit)
    habit |= {"deed": "animal_bare" if subject.is_animal else "bare_deed"}
    yield from _said(
        "habit_denied",
        f"{{subject}} {do}/n not/n {{deed:}} {{place}}",
        "{subject} 不/n {place} {deed:}",
        may="p",
        **habit,
    )


def _plans(subject: Subject) -> Iterator[Rule]:
    """What somebody will do, wants to do and can do."""
    name, do, s = subject.name, subject.do, "s" if subject.third else ""
    deeds = [({"place": "site_place", "may": "p"}, f"wish_{name}", f"undone_{name}")]
    if not subject.is_animal:
        deeds.append(({}, f"errand_{name}", "going"))
    for seats, deed, denied in deeds:
        one = {"subject": f"subject_{name}", **seats}
        then = {**one, "time": "future_time", "must": "t"}
        for category, left, right, done in (
            ("future", "{subject} will/f {deed:}", "{subject} {time} 会/f {place} {deed:}", deed),
            (
                "future",
                "{subject} will/f not/n {deed:}",
                "{subject} {time} 不/n 会/f {place} {deed:}",
                denied,
            ),
            (
                "future",
                "will/f {subject} {deed:}",
                "{subject} {time} 会/f {place} {deed:} 吗/q",
                deed,
            ),
        ):
            end = "?" if left.startswith("will") else ""
            yield from _said(category, f"{left} {{place}} {{time}} {end}", right, deed=done, **then)
        for left, right, done in (
            (f"{{subject}} want{s}/d to {{deed:}}", "{subject} 想/d {place} {deed:}", deed),
            (
                f"{{subject}} {do}/n not/n want/d to {{deed:}}",
                "{subject} 不/n 想/d {place} {deed:}",
                denied,
            ),
            (
                f"{do}/q {{subject}} want/d to {{deed:}}",
                "{subject} 想/d {place} {deed:} 吗/q",
                deed,
            ),
        ):
            end = "?" if right.endswith("q") else ""
            yield from _said("wish", f"{left} {{place}} {end}", right, deed=done, **one)


def _can(subject: Subject) -> Iterator[Rule]:
    """What somebody is able to do; 会 again, but without a time that is to come."""
    one = {"subject": f"subject_{subject.name}", "deed": "skill_deed"}
    yield from _said("skill_said", "{subject} can/c {deed:}", "{subject} 会/c {deed:}", **one)
    yield from _said(
        "skill_said", "{subject} cannot/c {deed:}", "{subject} 不/c 会/c {deed:}", **one
    )
    yield from _said(
        "skill_said", "can/c {subject} {deed:} ?", "{subject} 会/c {deed:} 吗/q", **one
    )


def _state(subject: Subject) -> Iterator[Rule]:
    """What somebody likes, knows or needs."""
    name, do, present = subject.name, subject.do, subject.present
    who = {"subject": f"subject_{name}"}
    any_state, firm = {**who, "deed": f"state_{name}"}, {**who, "deed": f"firm_state_{name}"}
    yield from _said("state", f"{{subject}} {{deed:{present}}}", "{subject} {deed:}", **any_state)
    yield from _said(
        "state",
        f"{{subject}} {{stress}} {{deed:{present}}}",
        "{subject} {stress} {deed:}",
        stress="stress",
        **firm,
    )
    denied = f"{{subject}} {do}/n not/n {{deed:}}", "{subject} 不/n {deed:}"
    asked = f"{do}/q {{subject}} {{deed:}} ?", "{subject} {deed:} 吗/q"
    yield from _said("state_denied", *denied, **firm)
    yield from _said("state_asked", *asked, **firm)
    why = f"why/w {do} {{subject}} {{deed:}} ?", "{subject} 为什么/w {deed:}"
    why_not = f"why/w {do}/n {{subject}} not/n {{deed:}} ?", "{subject} 为什么/w 不/n {deed:}"
    yield from _said("why", *why, **firm)
    yield from _said("why", *why_not, **firm)


def _owns_and_lives(subject: Subject) -> Iterator[Rule]:
    """What somebody has, and where his home is."""
    do, present = subject.do, subject.present
    one = {"subject": f"subject_{subject.name}", "core": "subject verb thing"}
    for kind in ("thing", "animal", "friend", "sibling"):
        owner = {**one, "verb": "have"}
        has = f"{{subject}} {{verb:{present}}} {{thing:}}", "{subject} {verb} {thing:}"
        lacks = f"{{subject}} {do}/n not/n have/n {{thing:}}", "{subject} 没有/n {thing:}"
        asked = f"{do}/q {{subject}} {{verb:}} {{thing:}} ?", "{subject} {verb} {thing:} 吗/q"
        how_many = (
            f"how/w many/w {{thing:pl}} {do} {{subject}} {{verb:}} ?",
            "{subject} {verb} 几/w {thing:m}/w {thing:}",
        )
        yield from _said("possession", *has, thing=f"{kind}_indef", **owner)
        lacking = {**one, "core": "subject thing"}
        yield from _said("possession", *lacks, thing=f"{kind}_plural", **lacking)
        yield from _said("possession", *asked, thing=f"{kind}_one", **owner)
        yield from _said("which", *how_many, thing=kind, **owner)
    home = {**one, "verb": "live", "thing": "city"}
    for left, right in (
        (f"{{subject}} {{verb:{present}}} in/p {{thing}}", "{subject} {verb} 在/p {thing}"),
        (
            f"{{subject}} {do}/n not/n {{verb:}} in/p {{thing}}",
            "{subject} 不/n {verb} 在/p {thing}",
        ),
        (f"{do}/q {{subject}} {{verb:}} in/p {{thing}} ?", "{subject} {verb} 在/p {thing} 吗/q"),
    ):
        yield from _said("home", left, right, **home)
    where = {"subject": one["subject"], "core": "subject verb", "verb": "live"}
    yield from _said(
        "where", f"where/w {do} {{subject}} {{verb:}} ?", "{subject} {verb} 在/w 哪里/w", **where
    )


def _described(category: str, subject: str, adjective: str, be: str, **when: str) -> Iterator[Rule]:
    """X is happy: 很 stands where English has "is", 不 and 非常 take its place."""
    one = {"subject": subject, "deed": adjective, **when}
    for left, right in (
        (f"{{subject}} {be}/b {{deed}} {{time}}", "{subject} {time} 很/b {deed}"),
        (f"{{subject}} {be} very/v {{deed}} {{time}}", "{subject} {time} 非常/v {deed}"),
        (f"{{subject}} {be} not/n {{deed}} {{time}}", "{subject} {time} 不/n {deed}"),
        (f"{be}/q {{subject}} {{deed}} {{time}} ?", "{subject} {time} {deed} 吗/q"),
    ):
        yield from _said(category, left, right, **one)


def _mood(subject: Subject) -> Iterator[Rule]:
    """How somebody feels or felt, and what he is like."""
    who, be = f"subject_{subject.name}", subject.be
    yield from _described("mood", who, "feeling", be, time="today", may="t")
    yield from _described("mood", who, "feeling", subject.was, time="past_time", must="t")
    yield from _described("looks", f"described_{subject.name}", "trait", be)
    one = {"subject": who, "deed": "feeling"}
    yield from _said(
        "why", f"why/w {be} {{subject}} {{deed}} ?", "{subject} 为什么/w {deed}", **one
    )


def _looks() -> Iterator[Rule]:
    """What things and animals are like."""
    for number, be in (("", "is"), ("s", "are")):
        things, animals = f"described_thing{number}", f"described_creature{number}"
        yield from _described("looks", things, "quality", be)
        yield from _described("looks", animals, "nature", be)
        one = {"subject": things, "deed": "excess"}
        yield from _said(
            "looks", f"{{subject}} {be} too/t {{deed}}", "{subject} 太/t {deed} 了/t", **one
        )
        for who, colour in ((things, "colour"), (animals, "fur")):
            one = {"subject": who, "deed": colour}
            for left, right in (
                (f"{{subject}} {be}/b {{deed}}/c", "{subject} 是/b {deed} 的/c"),
                (f"{{subject}} {be}/b not/n {{deed}}/c", "{subject} 不/n 是/b {deed} 的/c"),
                (f"{be}/b {{subject}} {{deed}}/c ?", "{subject} 是/b {deed} 的/c 吗/q"),
            ):
                yield from _said("looks", left, right, **one)


def _profession(subject: Subject) -> Iterator[Rule]:
    """He is a teacher, they are teachers; and whose friend he is."""
    plural, be = subject.name in ("we", "many"), subject.be
    who = {"one": "somebody", "many": "couple"}.get(subject.name, f"subject_{subject.name}")
    job = "{deed:pl}" if plural else "a {deed:}"
    forms = [(job, "{deed:}", {"deed": "job"})]
    if subject.name in ("boy", "girl", "one"):
        forms.append(("{whose} {deed:}", "{whose} {deed:}", {"deed": "friend", "whose": "host"}))
    for left, right, slots in forms:
        one = {"subject": "someone" if "whose" in slots and who == "somebody" else who, **slots}
        yield from _said(
            "profession", f"{{subject}} {be}/b {left}", f"{{subject}} 是/b {right}", **one
        )
        yield from _said(
            "profession",
            f"{{subject}} {be}/b also/a {left}",
            f"{{subject}} 也/a 是/b {right}",
            **one,
        )
        yield from _said(
            "profession",
            f"{{subject}} {be}/b not/n {left}",
            f"{{subject}} 不/n 是/b {right}",
            **one,
        )
        yield from _said(
            "profession", f"{be}/b {{subject}} {left} ?", f"{{subject}} 是/b {right} 吗/q", **one
        )


def _identity() -> Iterator[Rule]:
    """This is my book: 这是我的书; whose it is, what it is, who somebody is."""
    for near, right_near, be, form in (
        ("this", "这", "is", ""),
        ("that", "那", "is", ""),
        ("these", "这些", "are", "pl"),
        ("those", "那些", "are", "pl"),
    ):
        slots = {"whose": "owner", "thing": "thing", "core": "whose thing"}
        owned = f"{{whose}} {{thing:{form}}}"
        here, there = f"{near}/h", f"{right_near}/h"
        for left, right in (
            (f"{here} {be}/b {owned}", f"{there} 是/b {{whose}} {{thing:}}"),
            (f"{here} {be}/b not/n {owned}", f"{there} 不/n 是/b {{whose}} {{thing:}}"),
            (f"{be}/b {here} {owned} ?", f"{there} 是/b {{whose}} {{thing:}} 吗/q"),
        ):
            yield from _said("identity", left, right, **slots)
        of_whom = {"thing": "thing", "core": "thing"}
        yield from _said(
            "identity",
            f"whose/w {{thing:{form}}} {be}/b {here} ?",
            f"{there} 是/b 谁/w 的/w {{thing:}}",
            **of_whom,
        )
        if not form:
            for kind in ("thing", "animal", "food"):
                of_whom["thing"] = f"{kind}_one"
                left, right = f"{here} {be}/b {{thing:}}", f"{there} 是/b {{thing:}}"
                yield from _said("identity", left, right, **of_whom)
    for who, be in (("someone", "is"), ("human_this", "is"), ("relative", "is"), ("couple", "are")):
        one = {"subject": who, "core": "subject"}
        yield from _said("identity", f"who/w {be}/b {{subject}} ?", "{subject} 是/b 谁/w", **one)


def _existence() -> Iterator[Rule]:
    """There is a cat under the table: 桌子下面有一只猫, the place first."""
    for kind, where in (("small", "any_place"), ("animal", "any_place"), ("human", "site_place")):
        slots = {"deed": where, "core": "deed thing"}
        for number, be in (("one", "is"), ("some", "are")):
            thing = {**slots, "thing": f"{kind}_{number}"}
            yield from _said(
                "existence",
                f"there/h {be}/h {{thing}} {{deed}}",
                "{deed:bare} 有/h {thing:}",
                **thing,
            )
        asked = {**slots, "thing": f"{kind}_one"}
        yield from _said(
            "existence", "is/q there/h {thing} {deed} ?", "{deed:bare} 有/h {thing:} 吗/q", **asked
        )
        bare = {**slots, "thing": kind}
        yield from _said(
            "existence",
            "there/h are/h no/h {thing:pl} {deed}",
            "{deed:bare} 没有/h {thing:}",
            **bare,
        )
        yield from _said(
            "existence",
            "how/w many/w {thing:pl} are/h there/h {deed} ?",
            "{deed:bare} 有/h 几/w {thing:m}/w {thing:}",
            **bare,
        )


def _located(category: str, subject: str, place: str, be: str, **when: str) -> Iterator[Rule]:
    one = {"subject": subject, "deed": place, **when}
    for left, right in (
        (f"{{subject}} {be} {{deed}} {{time}}", "{subject} {time} {deed:}"),
        (f"{{subject}} {be} not/n {{deed}} {{time}}", "{subject} {time} 不/n {deed:}"),
        (f"{be}/q {{subject}} {{deed}} {{time}} ?", "{subject} {time} {deed:} 吗/q"),
    ):
        yield from _said(category, left, right, **one)
    where = {"subject": subject, "core": "subject", **when}
    yield from _said(
        "where", f"where/w {be} {{subject}} {{time}} ?", "{subject} {time} 在/w 哪里/w", **where
    )


def _location(subject: Subject) -> Iterator[Rule]:
    """Where somebody is, or was."""
    who, place = f"subject_{subject.name}", "any_place" if subject.is_animal else "site_place"
    yield from _located("location", who, place, subject.be, time="now", may="t")
    yield from _located("location", who, place, subject.was, time="past_time", must="t")


def _items() -> Iterator[Rule]:
    """Where things are."""
    yield from _located("location", "subject_item", "any_place", "is")
    yield from _located("location", "subject_items", "any_place", "are")


def _moves(subject: Subject) -> Iterator[Rule]:
    """What somebody did that changed his place, or the state of a thing."""
    who = {"subject": f"subject_{subject.name}", "time": "past_time", "may": "t"}
    moved = {**who, "deed": f"moved_{subject.name}"}
    said = "{subject} {deed:past} {time}", "{subject} {time} {deed:le}"
    denied = "{subject} did/n not/n {deed:} {time}", "{subject} {time} 没/n {deed:}"
    asked = "did/q {subject} {deed:} {time} ?", "{subject} {time} {deed:le} 吗/q"
    yield from _said("past", *said, **moved)
    yield from _said("past_asked", *asked, **moved)
    if not subject.is_animal:
        yield from _said("past_denied", *denied, deed="going", **who)


def _dress(subject: Subject) -> Iterator[Rule]:
    """What somebody is wearing; 着 says that it lasts."""
    one = {"subject": f"subject_{subject.name}", "deed": "dress_deed"}
    said = f"{{subject}} {subject.be} {{deed:ing}}", "{subject} {deed:}"
    yield from _said("progress", *said, **one)


def _onlookers() -> Iterator[Rule]:
    """A student is reading in the park: somebody not yet known does something."""
    for kind, deed in (("human", "many"), ("animal", "creatures")):
        for number, be in (("one", "is"), ("some", "are")):
            one = {"subject": f"{kind}_{number}", "deed": f"doing_{deed}"}
            yield from _said(
                "progress", f"{{subject}} {be}/b {{deed:ing}}", "{subject} 正/b 在/b {deed:}", **one
            )
            yield from _said(
                "progress",
                f"{{subject}} {be}/b {{deed:ing}} {{place}}",
                "{subject} 正/b {place} {deed:}",
                must="p",
                place="site_place",
                **one,
            )


def _questions(subject: Subject) -> Iterator[Rule]:
    """What, whom, which, how many, where to and why; Chinese leaves the word in its place."""
    one = {"subject": f"subject_{subject.name}"}
    past = {**one, "time": "past_time", "may": "t", "core": "subject deed"}
    yield from _of_the_past(past)
    yield from _of_now_and_later(subject, one)
    yield from _which(past)
    yield from _where_and_why(subject)


def _of_the_past(past: dict[str, str]) -> Iterator[Rule]:
    for category, left, right, verb in (
        ("what", "what", "什么", "make"),
        ("whom", "who", "谁", "greet"),
    ):
        yield from _said(
            category,
            f"{left}/w did/l {{subject}} {{deed:}} {{time}} ?",
            f"{{subject}} {{time}} {{deed}} 了/l {right}/w",
            deed=verb,
            **past,
        )


def _of_now_and_later(subject: Subject, one: dict[str, str]) -> Iterator[Rule]:
    do, be = subject.do, subject.be
    yield from _said(
        "what",
        f"what/w {be}/b {{subject}} {{deed:ing}} ?",
        "{subject} 正/b 在/b {deed} 什么/w",
        deed="make",
        **one,
    )
    yield from _said(
        "what",
        f"what/w {do} {{subject}} want/d to {{deed:}} ?",
        "{subject} 想/d {deed} 什么/w",
        deed="make",
        **one,
    )
    for category, left, right, verb in (
        ("what", "what", "什么", "want"),
        ("whom", "who", "谁", "know"),
    ):
        yield from _said(
            category,
            f"{left}/w {do} {{subject}} {{deed:}} ?",
            f"{{subject}} {{deed}} {right}/w",
            deed=verb,
            **one,
        )
    then = {**one, "time": "future_time", "must": "t"}
    yield from _said(
        "what",
        "what/w will/f {subject} {deed:} {time} ?",
        "{subject} {time} 会/f {deed} 什么/w",
        deed="make",
        **then,
    )


def _which(past: dict[str, str]) -> Iterator[Rule]:
    asked = {**past, "core": "subject deed thing", "deed": "get"}
    for left, form, right in (("which/w", "", "哪/w"), ("how/w many/w", "pl", "几/w")):
        for kind in ("thing", "animal"):
            yield from _said(
                "which",
                f"{left} {{thing:{form}}} did/l {{subject}} {{deed:}} {{time}} ?",
                f"{{subject}} {{time}} {{deed}} 了/l {right} {{thing:m}}/w {{thing:}}",
                thing=kind,
                **asked,
            )


def _where_and_why(subject: Subject) -> Iterator[Rule]:
    name, do = subject.name, subject.do
    one = {"subject": f"subject_{name}", "deed": "go"}
    past, then = {"time": "past_time", "may": "t"}, {"time": "future_time", "must": "t"}
    yield from _said(
        "where",
        "where/w did/l {subject} {deed:} {time} ?",
        "{subject} {time} {deed} 了/l 哪里/w",
        **one,
        **past,
    )
    yield from _said(
        "where",
        "where/w will/f {subject} {deed:} {time} ?",
        "{subject} {time} 会/f {deed} 哪里/w",
        **one,
        **then,
    )
    yield from _said(
        "where",
        f"where/w {do} {{subject}} want/d to {{deed:}} ?",
        "{subject} 想/d {deed} 哪里/w",
        **one,
    )
    one["deed"] = "work_deed"
    yield from _said(
        "where",
        f"where/w {do} {{subject}} {{deed:}} {{time}} ?",
        "{subject} {time} 在/w 哪里/w {deed:}",
        time="habit_time",
        may="t",
        **one,
    )
    one["deed"] = f"undone_{name}"
    yield from _said(
        "why",
        "why/w did/n {subject} not/n {deed:} {time} ?",
        "{subject} {time} 为什么/w 没/n {deed:}",
        **one,
        **past,
    )


def _who() -> Iterator[Rule]:
    """Who did it: the question word is the subject."""
    core = {"core": "deed"}
    past = {"time": "past_time", "place": "site_place", "may": "tp", **core}
    yield from _said(
        "who",
        "who/w {deed:past} {place} {time} ?",
        "谁/w {time} {place} {deed:le}",
        deed="done_one",
        **past,
    )
    then = {"time": "future_time", "must": "t", **core}
    yield from _said(
        "who",
        "who/w will/f {deed:} {time} ?",
        "谁/w {time} 会/f {deed:}",
        deed="errand_one",
        **then,
    )
    for left, right, deed in (
        ("who/w {deed:s} ?", "谁/w {deed:}", "firm_state_one"),
        ("who/w wants/d to {deed:} ?", "谁/w 想/d {deed:}", "errand_one"),
        ("who/w can/c {deed:} ?", "谁/w 会/c {deed:}", "skill_deed"),
        ("who/w is {deed:} ?", "谁/w {deed:}", "site_place"),
        ("who/w is/b {deed:ing} ?", "谁/w 正/b 在/b {deed:}", "doing_one"),
    ):
        yield from _said("who", left, right, deed=deed, **core)
