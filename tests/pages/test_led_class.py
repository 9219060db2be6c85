"""A class that is led: it joins by a short address, waits for answers, and follows."""

import pytest
from opened import assert_works, figure, opened, press, run, said, visit
from streamlit.testing.v1 import AppTest

from pages.lessons import joining
from pages.server import machine

ATTENTION, LESSON = "pages/attention.py", "scaling"


def led(**query: object) -> tuple[AppTest, str]:
    """Who leads a class, and the code of its room."""
    leader = opened(ATTENTION, panel=None, lesson=LESSON, **query)
    press(leader, "open_room")
    assert_works(leader)
    return leader, leader.query_params["room"]


def joined(code: str, **query: object) -> AppTest:
    return opened(ATTENTION, panel=None, lesson=LESSON, room=code, **query)


def guess(at: AppTest, place: int) -> AppTest:
    next(each for each in at.radio if (each.key or "").startswith("guess_")).set_value(place)
    return press(run(at), "lesson_on")


def buttons(at: AppTest) -> set[str | None]:
    return {button.key for button in at.button}


def test_learners_wait_for_the_answer_that_the_leader_shows_and_follow_to_the_next_step():
    leader, code = led()
    one, other, alone = joined(code), joined(code), joined(code, follow=False)
    assert "without_guess" not in buttons(one)
    for at in (one, alone):
        guess(at, 0)
        assert_works(at)
        assert "You will see the answer when the teacher shows it." in said(at)
        assert "measured value" not in said(at) and "lesson_on" not in buttons(at)
    assert "2 guesses" in said(run(leader)) and "appear here together with the answer" in said(
        leader
    )
    press(leader, "without_guess")
    assert figure(run(leader), "wall_picture")["data"][0]["x"] == [2, 0, 0]
    for at in (one, other, alone):  # `other` has not guessed, and sees what all see
        assert_works(run(at), warnings=None)
    assert all("measured value is 4.07" in said(at) for at in (one, other))
    assert "measured value is 4.07" in said(alone)
    # A browser that missed a run would mount the switch as its default, off, and send that along.
    told = [at.toggle(key="follow").proto for at in (one, alone)]
    assert [(proto.set_value, proto.value) for proto in told] == [(True, True), (True, False)]
    run(press(leader, "lesson_on"))  # a blank page first
    for at in (one, other, alone):
        run(run(at))
        assert_works(at, warnings=None)
    steps = [at.query_params.get("lesson_step", "0") for at in (leader, one, other, alone)]
    assert steps == ["1", "1", "1", "0"]
    press(one, "lesson_back")
    assert "lesson_step" not in run(run(one)).query_params  # who looks back stays there


def test_answers_wait_for_nobody_where_the_leader_says_so_or_only_claims_to_lead():
    leader, code = led()
    claims = joined(code, wall=True, seat="mine")
    press(claims, "without_guess")
    learner = guess(joined(code), 0)
    assert "You will see the answer" in said(learner)
    leader.toggle(key="hold_answers").set_value(False)
    run(leader)
    assert "measured value is 4.07" in said(run(learner))
    assert "without_guess" in buttons(joined(code))


def test_a_guess_after_the_answer_was_shown_is_not_counted():
    leader, code = led()
    late = joined(code, follow=False)
    press(leader, "without_guess")
    guess(late, 0)
    assert not machine.rooms().room(code).guesses and "measured value" in said(late)


def test_the_wall_counts_who_has_joined_before_anybody_guesses():
    leader, code = led()
    one = joined(code)
    joined(code)
    visit(one, **one.query_params)  # a reload keeps its place
    assert "0 guesses · 2 learners" in said(run(leader))


def test_the_short_address_leads_to_the_lesson_of_the_room():
    _leader, code = led(text="four quiet words here", lang="en")
    with pytest.MonkeyPatch.context() as patch:
        went = list[tuple[str, dict[str, str]]]()
        patch.setattr(
            joining.st, "switch_page", lambda path, query_params: went.append((path, query_params))
        )
        opened("app.py", preset=None, panel=None, room=code.lower())
    path, query = went[0]
    assert (path, query["lesson"], query["room"]) == (ATTENTION, LESSON, code)
    assert query["text"] == "four quiet words here" and "lang" not in query
    at = opened(ATTENTION, **{"panel": None, "preset": None, **query})
    assert_works(at)
    (leave,) = [e.proto for e in at.main if e.type == "page_link" and e.proto.label == "Leave"]
    assert f"room={code}" not in leave.query_string.partition("left_lesson")[0]
    home = opened("app.py", preset=None, panel=None, room="ABCDEF")
    assert_works(home, warnings=1)
    assert "No open room has this code" in said(home)


def test_presented_the_wall_keeps_address_question_and_count():
    leader, code = led()
    guess(joined(code), 0)
    at = visit(leader, **leader.query_params, present=True)
    assert_works(at)
    assert f"room\\={code}" in at.title[0].value and "1 guess · 1 learner" in said(at)
    assert "How widely do the scores spread" in said(at)
    press(at, "without_guess")
    assert_works(at)
    press(press(at, "lesson_panel"), "wall_on")
    assert_works(run(at))
    assert at.query_params["present"] and at.query_params["lesson_step"] == "1"
    assert machine.rooms().lead(code).step == 1


def test_presented_the_wall_has_what_is_asked_with_then_why_then_the_panel():
    leader = press(opened(ATTENTION, panel=None, lesson="attention-by-hand"), "open_room")
    at = visit(leader, **leader.query_params, present=True)
    assert "$k_1$ = $(" in said(at) and not at.get("plotly_chart")
    assert len(at.get("image")) == 1  # the way in, for who comes late
    press(at, "without_guess")
    assert_works(at)
    assert "four products" in said(at) and "Measured: " in said(at)
    assert not at.get("plotly_chart")  # of guesses that there are not
    press(at, "lesson_panel")
    assert "step_on" not in {button.key for button in at.button}  # the wall has keys of its own
    assert "four products" not in said(at) and at.get("plotly_chart")
    run(press(at, "wall_on"))
    assert "- ### Yes" in said(at)
    press(at, "without_guess")
    assert_works(at)
    assert "so “No” is right" in said(at) and "$q_1\\cdot k_4$ = " in said(at)


def test_a_second_device_leads_by_a_link_that_the_leader_alone_sees_and_works_once():
    leader, code = led()
    assert "notes" not in leader.query_params
    with pytest.MonkeyPatch.context() as patch:
        went = list[tuple[str, dict[str, str]]]()
        patch.setattr(
            joining.st, "switch_page", lambda path, query_params: went.append((path, query_params))
        )
        press(leader, "second_device")
        (link,) = [each.value for each in leader.code if "seat=" in each.value]
        word = link.rpartition("seat=")[2]
        for each in (word, word, "guessed"):
            at = opened("app.py", preset=None, panel=None, room=code, seat=each)
        assert_works(at, warnings=1)
        assert "This link has already been used" in said(at)
    ((_path, query),) = went
    phone = opened(ATTENTION, **{"panel": None, "preset": None, **query})
    assert_works(phone)
    guess(joined(code), 0)
    assert "1 guess" in said(run(phone)) and "measured value is 4.07" in said(
        phone
    )  # not yet on the wall
    assert figure(phone, "wall_picture") and "appear here together with the answer" in said(
        run(leader)
    )
    press(phone, "without_guess")
    assert figure(run(leader), "wall_picture")
    run(press(phone, "wall_on"))
    run(run(leader))
    assert figure(phone, "notes_picture")["data"][0]["y"]  # a curve, measured
    assert (leader.query_params["lesson_step"], phone.query_params["lesson_step"]) == ("1", "1")
    run(press(leader, "lesson_back"))
    asleep = opened(ATTENTION, **{"panel": None, "preset": None, **phone.query_params})
    assert "lesson_step" not in run(run(asleep)).query_params  # it leads nobody back on
    assert machine.rooms().lead(code).step == 0


def test_a_second_device_turns_the_screen_to_the_panel_of_a_step_back_and_on():
    leader, _code = led()
    screen = visit(leader, **leader.query_params, present=True)
    phone = opened(ATTENTION, **{**leader.query_params, "notes": True})
    assert "lesson_panel" not in buttons(phone)  # the class has yet to guess
    press(phone, "without_guess")
    press(phone, "lesson_panel")
    assert "How widely do the scores spread" not in said(run(run(screen)))
    press(phone, "lesson_panel")
    assert "How widely do the scores spread" in said(run(run(screen)))
    press(screen, "lesson_panel")
    run(press(run(run(phone)), "wall_on"))
    assert run(run(screen)).query_params["lesson_step"] == "1"  # while its panel is presented
