"""Rooms: a class that guesses together, bounded, and gone after a day."""

import threading
from pathlib import Path

import pytest

from blocks.lessons import rooms
from blocks.lessons.rooms import ENDS_AFTER, N_SIGNS, PASS_HOLDS, SIGNS, Lead, Rooms
from blocks.model.faults import ConfigError


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_guesses_of_a_room_are_counted_and_rooms_do_not_see_each_other():
    kept = Rooms()
    one, other = kept.open("scaling"), kept.open("scaling")
    kept.guess(one, "a", 0, (2.0,))
    kept.guess(one, "b", 0, (0.0,))
    kept.guess(one, "a", 2, (1.0, 0.5))
    found = kept.room(one)
    assert (found.lesson, found.n_learners) == ("scaling", 2)
    assert sorted(found.of(0)) == [(0.0,), (2.0,)] and found.of(2) == ((1.0, 0.5),)
    assert kept.room(other).n_learners == 0 and found.of(7) == ()


def test_who_has_joined_counts_before_any_guess_and_once():
    kept = Rooms()
    code = kept.open("scaling")
    for learner in "aab":
        kept.join(code, learner)
    kept.guess(code, "b", 0, (1.0,))
    kept.guess(code, "c", 0, (1.0,))
    assert kept.room(code).n_learners == 3 and kept.has_seat(code, "a")


def test_the_first_guess_of_a_learner_counts():
    kept = Rooms()
    code = kept.open("scaling")
    kept.guess(code, "a", 0, (1.0,))
    kept.guess(code, "a", 0, (2.0,))
    assert kept.room(code).of(0) == ((1.0,),)


def test_a_room_ends_after_a_day_and_its_guesses_with_it():
    clock = Clock()
    kept = Rooms(clock=clock)
    code = kept.open("scaling")
    kept.guess(code, "a", 0, (1.0,))
    clock.now += ENDS_AFTER + 1
    assert kept.lesson_of(code) is None
    with pytest.raises(ConfigError, match="has ended"):
        kept.room(code)
    with pytest.raises(ConfigError, match="has ended"):
        kept.guess(code, "b", 0, (1.0,))
    kept.open("heads")
    assert kept._file.rows("SELECT * FROM guesses") == []


def test_a_room_and_the_rooms_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rooms, "MOST_LEARNERS", 2)
    monkeypatch.setattr(rooms, "MOST_ROOMS", 1)
    kept = Rooms()
    code = kept.open("scaling")
    for learner in "ab":
        kept.guess(code, learner, 0, (1.0,))
    with pytest.raises(ConfigError, match="full: 2 learners"):
        kept.guess(code, "c", 0, (1.0,))
    kept.guess(code, "a", 1, (1.0,))  # who is in may go on
    with pytest.raises(ConfigError, match="1 rooms are open"):
        kept.open("scaling")


def test_a_full_room_fills_no_other(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rooms, "MOST_LEARNERS", 2)
    kept = Rooms()
    full, other = kept.open("scaling"), kept.open("heads")
    for learner in "ab":
        kept.guess(full, learner, 0, (1.0,))
    for learner in "cd":
        kept.guess(other, learner, 0, (1.0,))
    for code in (full, other):
        with pytest.raises(ConfigError, match="full: 2 learners"):
            kept.guess(code, "e", 0, (1.0,))
        assert kept.room(code).n_learners == 2


def test_ten_thousand_tries_find_no_code():
    """1 in 107,374 classes at 10,000 tries each: by the number of codes, not by luck."""
    assert len({*SIGNS}) ** N_SIGNS > 10_000 * 100_000
    code = Rooms().open("scaling")
    assert len(code) == N_SIGNS and {*code} <= {*SIGNS}


def test_two_hundred_learners_of_two_processes_meet_in_one_file(tmp_path: Path):
    one, other = Rooms(tmp_path / "rooms.sqlite"), Rooms(tmp_path / "rooms.sqlite")
    code = one.open("scaling")

    def guess(kept: Rooms, first: int) -> None:
        for i in range(first, 200, 4):
            kept.guess(code, f"learner{i}", 0, (i % 3,))

    threads = [
        threading.Thread(target=guess, args=(kept, i)) for i, kept in enumerate((one, other) * 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for kept in (one, other):
        assert kept.room(code).n_learners == 200 and len(kept.room(code).of(0)) == 200


def test_one_session_opens_a_few_rooms(monkeypatch: pytest.MonkeyPatch):
    clock = Clock()
    kept, mine = Rooms(clock=clock), list[str]()
    for _ in range(rooms.MOST_OF_ONE):
        mine.append(kept.open("scaling", mine=mine))
    with pytest.raises(ConfigError, match="You have opened 5 rooms today"):
        kept.open("scaling", mine=mine)
    assert kept.open("scaling")
    clock.now += ENDS_AFTER + 1
    assert kept.open("scaling", mine=mine)


def test_where_there_are_too_many_a_room_nobody_has_joined_for_an_hour_gives_way(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(rooms, "MOST_ROOMS", 2)
    clock = Clock()
    kept = Rooms(clock=clock)
    joined, empty = kept.open("scaling"), kept.open("scaling")
    kept.guess(joined, "a", 0, (1.0,))
    with pytest.raises(ConfigError, match="2 rooms are open"):
        kept.open("heads")
    clock.now += rooms.EMPTY_FOR + 1
    assert kept.lesson_of(empty) == "scaling"
    new = kept.open("heads")
    assert [kept.lesson_of(code) for code in (joined, empty, new)] == ["scaling", None, "heads"]


def test_a_seat_is_known_by_its_guess():
    kept = Rooms()
    code, other = kept.open("scaling"), kept.open("scaling")
    kept.guess(code, "a", 0, (1.0,))
    assert kept.has_seat(code, "a") and not kept.has_seat(code, "b")
    assert not kept.has_seat(other, "a")


def test_who_leads_shows_answers_and_opens_steps_for_every_process(tmp_path: Path):
    one, other = Rooms(tmp_path / "rooms.sqlite"), Rooms(tmp_path / "rooms.sqlite")
    code = one.open("scaling", leader="secret")
    assert one.is_led_by(code, "secret") and not other.is_led_by(code, "guessed")
    assert other.lead(code) == Lead("scaling", 0, True, frozenset())
    for word, step in (("guessed", 2), ("", 2), ("secret", 0)):
        one.show(code, word, step)
    found = other.lead(code)
    assert found is not None and not found.holds(0) and found.holds(1)
    one.go_to(code, "secret", 2)
    one.go_to(code, "guessed", 3)
    found = other.lead(code)
    assert found is not None and found.step == 2
    assert [found.holds(i) for i in range(4)] == [False, False, True, True]  # it went over 1
    one.hold(code, "guessed", is_held=False)
    assert other.lead(code) == found
    one.hold(code, "secret", is_held=False)
    assert not other.lead(code).holds(3)  # type: ignore[union-attr]


def test_a_room_without_a_leader_holds_nobody_and_what_is_over_is_forgotten():
    clock = Clock()
    kept = Rooms(clock=clock)
    assert kept.lead(kept.open("scaling")) is None and kept.lead("ABCDEF") is None
    code = kept.open("scaling", leader="secret")
    kept.show(code, "secret", 0)
    clock.now += ENDS_AFTER + 1
    assert kept.lead(code) is None
    kept.open("heads")
    assert not any(kept._file.rows(f"SELECT * FROM {table}") for table in rooms.OF_A_ROOM)


def test_the_sheet_of_a_class_has_every_guess_and_no_name():
    kept = Rooms()
    code = kept.open("scaling")
    for learner, step, guess in (("zoe", 0, 2.0), ("abe", 0, 0.0), ("zoe", 1, 0.5)):
        kept.guess(code, learner, step, (guess,))
    assert kept.sheet(code) == [(0, 0, (2.0,)), (0, 1, (0.5,)), (1, 0, (0.0,))]


def test_a_pass_to_lead_works_once_and_soon_and_a_new_one_takes_its_place():
    clock = Clock()
    kept = Rooms(clock=clock)
    code = kept.open("scaling", leader="word")
    assert kept.pass_for(code, "guessed") == kept.taken(code, "") == ""
    old, new = (kept.pass_for(code, "word") for _i in range(2))
    assert [kept.taken(code, each) for each in (old, new, new)] == ["", "word", ""]
    late = kept.pass_for(code, "word")
    clock.now += PASS_HOLDS
    assert kept.taken(code, late) == ""
