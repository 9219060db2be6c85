"""What all readers share is made once, bounded in bytes, and not taken from who looks at it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pages.server.shelf import Recent, Shelf


class Thing:
    """Something that can be held, of a known size."""

    def __init__(self, n_bytes: int):
        self.n_bytes = n_bytes


def size(thing: Thing) -> int:
    return thing.n_bytes


def shelf_of(most_bytes: int = 100) -> Shelf[int, Thing]:
    """Its things are as large as their key says."""
    return Shelf(Thing, size, most_bytes)


def test_forty_readers_of_one_link_make_it_once():
    n_readers, made = 40, []
    all_there = threading.Barrier(n_readers)

    def make(key: int) -> Thing:
        made.append(key)
        return Thing(key)

    shelf = Shelf(make, size, 100)

    def ask(_reader: int) -> Thing:
        all_there.wait()
        return shelf.get(7)

    with ThreadPoolExecutor(n_readers) as readers:
        found = set(readers.map(ask, range(n_readers)))
    assert made == [7] and len(found) == 1
    assert shelf.use == (1, 7, n_readers, 1) and shelf.use.hit_rate == 1 - 1 / n_readers


def test_of_small_things_too_only_so_many_are_kept():
    shelf = Shelf(Thing, size, 100, n_at_most=3)
    for key in range(1, 6):
        shelf.get(key)
    assert [key for key in range(1, 6) if shelf.find(key)] == [3, 4, 5]
    assert shelf.use.n_kept == 3 and shelf.use.n_bytes == 3 + 4 + 5


def test_other_keys_do_not_wait_for_one_that_is_made():
    begun, may_end = threading.Event(), threading.Event()

    def make(key: int) -> Thing:
        if key == 1:
            begun.set()
            assert may_end.wait(30)
        return Thing(key)

    shelf = Shelf(make, size, 100)
    with ThreadPoolExecutor(1) as other:
        slow = other.submit(shelf.get, 1)
        assert begun.wait(30)
        quick = shelf.get(2)
        may_end.set()
        assert quick.n_bytes == 2 and slow.result().n_bytes == 1


def test_bytes_bound_what_is_kept_and_the_oldest_goes_first():
    shelf = shelf_of(100)
    for key in (40, 50, 40, 30):
        shelf.get(key)
    assert shelf.use[:2] == (2, 70)
    assert shelf.find(50) is None and shelf.find(40) and shelf.find(30)


def test_the_newest_has_room_in_any_case():
    shelf = shelf_of(100)
    shelf.get(30), shelf.get(500)
    assert shelf.use[:2] == (1, 500) and shelf.get(500) is shelf.get(500)


def test_what_somebody_holds_is_not_made_again():
    shelf = shelf_of(100)
    held = shelf.get(90)
    for other in range(50, 60):
        shelf.get(other)
    assert shelf.use.n_bytes <= 100
    assert shelf.get(90) is held and shelf.use.n_made == 11


def test_what_nobody_holds_is_gone():
    shelf = shelf_of(100)
    shelf.get(90), shelf.get(91)
    assert shelf.find(90) is None and shelf.use[:2] == (1, 91)


def test_what_cannot_be_made_is_tried_again_and_nothing_is_kept():
    tried = []

    def make(key: int) -> Thing:
        tried.append(key)
        raise ValueError

    shelf = Shelf(make, size, 100)
    for _ in range(2):
        with pytest.raises(ValueError):
            shelf.get(1)
    assert tried == [1, 1] and shelf.use == (0, 0, 2, 0)


def test_a_reader_holds_the_newest_that_are_small():
    own = Recent[int, Thing](100)
    for n_bytes in (60, 30, 20):
        own.use(n_bytes, Thing(n_bytes), size)
    assert (len(own), own.n_bytes) == (2, 50)
    own.use(101, Thing(101), size)
    assert (len(own), own.n_bytes) == (0, 0)


def test_another_value_of_the_same_key_takes_its_place():
    own = Recent[int, Thing](100)
    own.use(1, Thing(60), size)
    own.use(1, Thing(50), size)
    assert (len(own), own.n_bytes) == (1, 50)
