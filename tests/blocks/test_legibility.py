"""What of a text a tokenizer has tokens for, beside what its pieces show."""

import pytest

from blocks.text.legibility import legibility
from blocks.weights.pocket import pocket

STORIES = pocket("stories-en-zh").tokenizer
CLASS = "今天下午老师在教室里讲注意力机制，学生们听得很认真"


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        ("Once there was a shy owl called Nora. She had a", True),
        ("Once there was a cat called Zed.", True),
        ("从前有一只小猫", True),
        ("", True),
        (CLASS, False),
        ("Привет, как дела", False),
        (" Xylophones", False),
        ("The mitochondria is the powerhouse of the cell", False),
        ("The capital of France is", False),
    ],
)
def test_what_the_stories_have_words_for(text: str, is_good: bool):
    assert legibility(text, STORIES).is_good == is_good


def test_characters_that_share_tokens_are_counted():
    found = legibility(CLASS, STORIES)
    cut = {label.partition(" ")[0] for label in map(STORIES.label, STORIES.encode(CLASS))}
    assert found.characters == len(CLASS)
    assert found.as_bytes == sum(
        len(STORIES.encode(sign)) > 1 for sign in CLASS
    )  # each character of Chinese is encoded alone here
    assert found.is_in_bytes and len(cut) > 1
