"""Numbers are typed with units, and stand in the link as plain ones."""

from opened import control, opened

PAGE = "pages/cost.py"


def test_a_number_may_be_typed_and_what_is_none_is_said():
    at = opened(PAGE, panel="shape", budget_flops="1e13", shape_vocab=1000)
    assert "With 1e13 FLOPs, a GPT of" in at.info[0].value

    def write(name: str, text: str) -> None:
        box = next(each for each in at.text_input if each.key.partition("__")[0] == name)
        box.set_value(text).run()
        assert not at.exception

    write("budget_flops", "300 GFLOP")
    assert at.query_params["budget_flops"] == "300000000000.0"
    write("utilisation", "12.5%")
    assert at.query_params["utilisation"] == "0.125"
    for text, sentence in (("lots", "“lots” is not a number"), ("500%", "from 0.01 to 1")):
        write("utilisation", text)
        assert any(sentence in each.value for each in at.warning)
    assert at.query_params["utilisation"] == "0.125"
    write("shape_vocab", "2k")
    assert at.query_params["shape_vocab"] == "2000" and control(at, "utilisation").value == 0.125
