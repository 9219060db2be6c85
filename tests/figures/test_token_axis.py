"""Names of tokens along an axis: upright, whole and apart where there is room."""

from pages.figures.token_axis import ACROSS, label_width, slanted


def test_names_that_two_lines_have_room_for_are_all_there_upright():
    short = slanted(["a", "b"], 16)
    assert (short["tickangle"], short["ticktext"]) == (0, ["a", "b"])
    names = ["robot"] * 12
    axis = slanted(names, 16, side="top")
    assert axis["tickangle"] == 0 and axis["tickvals"] == [*range(12)]
    lines = [text.split("<br>") for text in axis["ticktext"]]
    assert all((line[0] if i % 2 else line[-1]) == "robot" for i, line in enumerate(lines))
    assert [len(line) for line in lines] == [1, 2] * 6
    assert 12 / 2 * label_width("robot") <= ACROSS


def test_names_of_three_pictures_side_by_side_stand_apart_on_a_projector_too():
    sentence = [*"从前湖边住着一头善良的小牛名叫乐乐他最喜欢他的你我"]
    axis = slanted(sentence, 16, side="top", is_narrow=True)
    line = [text for text in axis["ticktext"] if "<br>" not in text]
    assert len(axis["ticktext"]) == len(sentence) and len(line) * 16 <= 230


def test_chinese_is_always_upright_and_long_words_are_slanted():
    many = slanted(["月"] * 60, 16)
    assert many["tickangle"] == 0 and len(many["tickvals"]) == 30
    words = slanted(["representation"] * 20, 16)
    assert words["tickangle"] == -55 and len(words["tickvals"]) == 10
