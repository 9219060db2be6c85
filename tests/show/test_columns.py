"""Columns on a projector: none is kept for what a class does not see."""

from pages.show import parts
from pages.show.parts import Aside, Beside, Controls, Details, Note, OffScreen, Say, Table, Text


def test_only_what_a_class_sees_has_a_column():
    table, words = Table(dict, "t"), Say(str)
    unseen = (table, Note("x"), Controls(print), Details("x", words), OffScreen(words))
    seen = (words, Text("x"), Table(dict, "t", is_whole=True), Controls(print, is_aside=False))
    assert not any(map(parts.is_for_class, (*unseen, Aside(words), Beside(table, *unseen))))
    assert all(map(parts.is_for_class, (*seen, Beside(table, words))))
