"""Names beside dots: on the best side that is free, and none over another."""

from pages.figures.names_apart import Name, names_apart

SIDES = ("top right", "top left", "bottom right")


def test_each_stands_on_its_best_side_where_there_is_room():
    names = [Name("one", 50, 50, SIDES), Name("two", 50, 150, SIDES)]
    assert names_apart(names, 200) == ["top right", "top right"]


def test_near_the_edge_a_name_stands_on_the_other_side():
    assert names_apart([Name("a long name", 190, 50, SIDES)], 200) == ["top left"]
    assert names_apart([Name("很长的名字", 160, 50, SIDES)], 200) == ["top left"]


def test_names_of_near_dots_do_not_touch_and_ours_come_first():
    names = [Name("first", 50, 50, SIDES[:1]), Name("ours", 52, 52, SIDES, must_stand=True)]
    assert names_apart(names, 200) == [None, "top right"]
    names[0] = names[0]._replace(sides=SIDES)
    assert names_apart(names, 200) == ["top left", "top right"]


def test_who_must_stand_does_so_where_there_is_no_room():
    crowd = [Name("wide name", 5, 5, ("top left",), must_stand=True)] * 2
    assert names_apart(crowd, 20) == ["top left"] * 2
