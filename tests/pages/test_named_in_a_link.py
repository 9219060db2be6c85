"""What a link names and no page has is told, and something is shown in its place."""

from opened import assert_works, opened


def test_a_panel_that_the_page_has_not_is_named_and_the_first_is_shown():
    at = opened("pages/masks.py", panel="nonsense")
    assert_works(at)
    assert at.info[0].value == (
        "This page has no panel `nonsense`. It shows *Does the mask hold?* instead."
    )


def test_a_lesson_that_is_not_there_is_named():
    at = opened("pages/masks.py", panel="no-key", lesson="nonsense")
    assert_works(at)
    assert at.info[0].value == (
        "There is no lesson `nonsense` here. Home lists all lessons under *Take a lesson*."
    )
