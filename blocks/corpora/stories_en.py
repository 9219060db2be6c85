"""The English stories: words and plots."""

from blocks.corpora.grammar import Grammar, Step, Word


def _person(name: str, they: str, them: str, their: str) -> Word:
    capitals = {"They": they.capitalize(), "Their": their.capitalize()}
    return {"": name, "they": they, "them": them, "their": their, **capitals}


def _girl(name: str) -> Word:
    return _person(name, "she", "her", "her")


def _boy(name: str) -> Word:
    return _person(name, "he", "him", "his")


def _words(text: str) -> tuple[Word, ...]:
    """Words with the article that fits their sound, divided by commas."""
    found = [word.strip() for word in text.split(",")]
    return tuple({"": word, "a": f"{'an' if word[0] in 'aeiou' else 'a'} {word}"} for word in found)


WORDS = {
    "person": (
        *map(_girl, ("Mia", "Ada", "Ivy", "Nora", "Lily", "Rose")),
        *map(_boy, ("Tom", "Leo", "Max", "Ben", "Sam", "Finn")),
    ),
    "kind": _words("fox, bear, cat, owl, frog, duck, mouse, rabbit, otter, hen"),
    "nature": _words("little, brave, kind, shy, clever, old, eager, quiet"),
    "place": _words(
        "in the forest, by the river, on the hill, near the sea, in the garden, by the lake"
    ),
    "thing": _words("ball, kite, hat, drum, boat, bell, book, cup, lamp, ring, coat, star"),
    "colour": _words("red, blue, green, white, black, orange, golden, pink"),
    "time": _words("One morning, One day, One evening, One night"),
    "sad": _words("sad, upset, worried"),
    "spot": _words(
        "under the bridge, behind a tree, in the tall grass, under a stone, in the snow, "
        "near the well"
    ),
    "happy": _words("happy, glad, proud"),
    "food": _words("soup, cake, honey, apples, bread, nuts"),
    "span": _words("day, night, week, winter"),
    "far": _words("into a tree, over the hill, across the river, onto the roof"),
    "sky": _words("moon, sun, wind, sea"),
}
CATEGORIES = {
    **{category: category for category in WORDS if category != "person"},
    **{"hero": "person", "friend": "person", "friend_kind": "kind"},
}

INTRO: Step = (
    "{hero} was {nature:a} {kind} who lived {place}.",
    "Once there was {nature:a} {kind} called {hero}.",
)
OWN: Step = (
    "{hero:They} had {colour:a} {thing}.",
    "{hero:They} loved {hero:their} {colour} {thing}.",
)
THANKS: Step = (
    "{hero} thanked {friend} and they ate {food} together.",
    "{hero} was {happy} and gave {friend} a big hug.",
    "From that day on, {hero} and {friend} were best friends.",
)

LOST = (
    INTRO,
    OWN,
    ("{time}, {hero:their} {thing} was gone.", "{time}, {hero:they} lost the {thing}."),
    ("", "{hero:They} was {sad} and looked for the {thing} everywhere."),
    ("{friend} the {friend_kind} came to help {hero:them}.",),
    (
        "{friend:They} found the {colour} {thing} {spot}.",
        "Together they found the {colour} {thing} {spot}.",
    ),
    ("", *THANKS),
)
GIFT = (
    INTRO,
    ("{hero:Their} friend {friend} the {friend_kind} had a birthday.",),
    ("{hero:They} wanted to give {friend:them} {colour:a} {thing}.",),
    ("", "{hero:They} made the {thing} and worked all {span}."),
    ("{time}, {hero:they} took the {thing} to {friend}.",),
    (
        "{friend} opened the box and saw the {colour} {thing}.",
        "{friend} loved the {colour} {thing}.",
    ),
    ("", "{friend} thanked {hero} and they ate {food} together."),
)
WIND = (
    INTRO,
    OWN,
    ("{time}, the wind blew the {thing} {far}.",),
    ("", "{hero:They} could not reach the {thing} and was {sad}."),
    ("{friend} the {friend_kind} saw {hero:them} and came to help.",),
    (
        "{friend:They} went {far} and found the {colour} {thing}.",
        "{friend:They} brought the {colour} {thing} back.",
    ),
    ("", *THANKS),
)
WISH = (
    INTRO,
    ("{hero:They} wanted {colour:a} {thing} more than anything.",),
    ("{time}, {hero:they} told the {sky} about it.",),
    ("", "The {sky} said nothing."),
    ("But {friend} the {friend_kind} heard {hero:them}.",),
    ("{friend} gave {hero:them} {friend:their} own {colour} {thing}.",),
    ("", *THANKS),
)

ENGLISH = Grammar(words=WORDS, categories=CATEGORIES, plots=(LOST, GIFT, WIND, WISH), separator=" ")
