"""Lessons as data: formulas, files, answers, and measurements against references."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blocks import record
from blocks.inspection.predictions import surprise
from blocks.lessons import answers, formula, maps, reading, shelf
from blocks.lessons.answers import Answer, Closeness
from blocks.lessons.formula import Formula
from blocks.lessons.lesson import Ask, AskKind, Lesson, Option, Step
from blocks.lessons.measures import MEASURES, measure
from blocks.lessons.place import Place
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError
from blocks.model.masks import MaskConfig, MaskKind
from blocks.model.presets import PRESETS
from blocks.observe import Intervention, replacements
from blocks.observe.interventions import Part
from blocks.observe.run import Input, Run
from blocks.weights import trained
from blocks.weights.pocket import pocket

HEAD = '+++\ntitle = "A"\nminutes = 3\npage = "attention"\n+++\n'
ASKED = """
## One
Before.

```step
set = "preset=course&n_heads=4"
show = "scaling"
withhold = true
ask = "How much?"
options = [["little", 0, 1], ["much", 1, inf]]
truth = "score_std(d=64) / score_std(d=4)"
```

After.
"""
CAUSAL = MaskConfig(mask_kind=MaskKind.CAUSAL)
ONE_BLOCK = Run(
    config=PRESETS["course"].replace(d_model=32, n_heads=4, d_ff=64, dropout=0.0),
    input=Input(tokens=("the", "cat", "saw", "the", "mat")),
    mask=CAUSAL,
)
SMALL_GPT = ModelConfig(architecture="gpt", n_layers=2, d_model=32, n_heads=4, vocab_size=11)
GPT = Run(
    config=SMALL_GPT, input=Input(tokens=tuple("abcde"), token_ids=(3, 1, 4, 1, 5)), mask=CAUSAL
)


def read(body: str, head: str = HEAD) -> Lesson:
    return reading.read(head + body, id="a", language="en")


# Formulas


def value(text: str, **names: object) -> object:
    found = formula.read(text)
    return found.value(names.__getitem__, lambda name, given: (name, given))


@given(
    st.recursive(
        st.integers(-9, 9).map(str),
        lambda part: st.builds("({} {} {})".format, part, st.sampled_from("+-*"), part),
        max_leaves=6,
    )
)
def test_arithmetic_is_that_of_python(text: str):
    assert value(text) == eval(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 < 2 <= 2", True),
        ("not true or n == 3", True),
        ("a == 'pre' and n != 2", True),
        ("-n / 2", -1.5),
        ("f(x=1, y='b')", ("f", {"x": 1, "y": "b"})),
    ],
)
def test_what_a_formula_says(text: str, expected: object):
    assert value(text, n=3, a="pre") == expected


@pytest.mark.parametrize("text", ["'a' * 999999999", "'a' + 1", "n < 'a'", "missing", "-'a'"])
def test_text_is_no_number_and_an_unknown_name_nothing(text: str):
    with pytest.raises(ConfigError):
        value(text, n=3)


def test_a_division_by_0_is_no_number():
    assert math.isnan(value("1 / (n - 3)", n=3))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "1 +", "a.b", "a[0]", "lambda: 1", "[1]", "f(1)", "f(**a)", "f()()", "a := 1"),
        *("__import__('os').system('x')", "2 ** 9999999", "1 if a else b", "a @ b", "f'{a}'"),
        *("'a' in b", "x is y", "(" * 200, "-" * 200 + "1", "1" * 400, "import os", "a; b", "\0"),
        "b'1'",
    ],
)
def test_nothing_else_is_a_formula(text: str):
    with pytest.raises(ConfigError):
        formula.read(text)


@given(st.text(max_size=40))
def test_any_text_is_a_formula_or_refused(text: str):
    try:
        formula.read(text)
    except ConfigError as error:
        assert str(error)


def test_names_and_calls_are_told_apart():
    found = formula.read("n_heads * parameters(part='q_proj') > rms(stage='a') or true")
    assert found.names == ("n_heads",)
    assert sorted(found.calls) == [("parameters", ("part",)), ("rms", ("stage",))]


# Files


def test_a_step_is_read_whole():
    lesson = read(ASKED + "\n## Two\nOnly read.\n")
    first, second = lesson.steps
    assert (first.title, first.before, first.after) == ("One", "Before.", "After.")
    assert first.set == (("preset", "course"), ("n_heads", "4")) and first.withhold
    assert first.ask == Ask(
        question="How much?",
        kind=AskKind.CHOICE,
        truths=(formula.read("score_std(d=64) / score_std(d=4)"),),
        options=(Option("little", 0, 1), Option("much", 1, math.inf)),
    )
    given = ASKED.replace("truth =", """given = [["$s$", "score(key=1)"]]\ntruth =""")
    (step, *_rest) = read(given).steps
    assert step.ask.given == (("$s$", formula.read("score(key=1)")),)
    assert second.before == "Only read." and second.ask is None and second.page == "attention"


def test_what_a_task_measures_is_told_beside_it():
    block = 'task = "Do it."\ndone = "n_tokens() > 3"\nsolution = "text=a"\nown_text = true\n'
    (step,) = read(HEAD + f"## A\n```step\n{block}so_far = [['n', 'n_tokens()']]\n```").steps
    assert step.own_text and step.so_far == (("n", formula.read("n_tokens()")),)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "1 to 12 steps"),
        ("## A\n" * 13, "this lesson has 13"),
        ("## A\n```step\nask = 3\n```", "must be of type str"),
        ("## A\n```step\nnonsense = 3\n```", "nonsense is unknown"),
        ("## A\n```step\n=\n```", "Invalid"),
        ('## A\n```step\nask = "?"\n```', "truth is missing"),
        ('## A\n```step\nask = "?"\ntruth = "1"\noptions = [["a", 1]]\n```', "option 1 must be"),
        ('## A\n```step\nask = "?"\ntruth = "1"\n```', "2 to 6 entries, not 0"),
        ('## A\n```step\nask = "?"\nkind = "guess"\ntruth = "1"\n```', "choice, number, order"),
        ('## A\n```step\nask = "?"\nkind = "number"\ntruth = "a.b"\n```', "cannot be read"),
        ('## A\n```step\nask = "?"\nkind = "curve"\ntruth = "x"\nxs = ["a"]\n```', "xs must be"),
        ('## A\n```step\nwithhold = true\n```', "no question is asked"),
        ('## A\n```step\nso_far = [["a", "1"]]\n```', "task is missing"),
        ('## A\n```step\ngiven = [["a", "1"]]\n```', "no question is asked"),
        ('## A\n```step\nask = "?"\ntruth = "1"\ngiven = ["a"]\n```', "option 1 must be"),
        ('## A\n```step\nask = "?"\ntruth = "1"\ngiven = []\n```', "given must have 1 to 6"),
        ('## A\n```step\ntask = "Do."\n```', "done is missing"),
        ("## A\n```step\nown_words = 0\n```", "own_words must be from 1 to 64"),
        ("## A\n![x](http://a.b/c.png)", "text only"),
        ("## A\n<script>alert(1)</script>", "text only"),
        ("## A\n[click](javascript:alert(1))", "text only"),
        ("## A\n" + "a" * 2001, "at most 2,000 characters"),
        ("## A\n" + "a" * 60_001, "at most 60,000 characters"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_with_its_place(body: str, said: str):
    with pytest.raises(ConfigError, match=said):
        read(body)


def test_a_file_without_head_and_one_with_half_of_it_are_refused():
    with pytest.raises(ConfigError, match="begins with its title"):
        read(ASKED, head="")
    with pytest.raises(ConfigError, match="minutes is missing"):
        read(ASKED, head='+++\ntitle = "A"\npage = "gpt"\n+++\n')


@given(st.text(max_size=200))
def test_any_file_is_read_or_refused(text: str):
    for body in (text, ASKED + text, f"## A\n```step\n{text}\n```"):
        try:
            read(body)
        except ConfigError as error:
            assert error.faults


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("\n## A\nText.\n\n```step\nask = 3\n```", 11),
        ('## A\n```step\nset = "a=1"\nask = \n```', 9),
        ('## A\n## B\n```step\nask = "?"\nkind = "guess"\n```', 10),
        ('## A\n```step\nask = "?"\nkind = "number"\ntruth = "a.b"\n```', 10),
        ("## A\nText.\n\nSee www.example.org", 9),
    ],
)
def test_a_fault_is_said_with_its_line(body: str, line: int):
    with pytest.raises(ConfigError, match=f"Line {line}, "):
        read(body)
    for text, said in ((HEAD.replace("3", "0"), "Line 3, +++"), ("Hello", "Line 1")):
        with pytest.raises(ConfigError, match=re.escape(said)):
            read(ASKED, head=text)


KINDS = (
    'kind = "choice"\noptions = [["a", 0, 1], ["b", 1, inf]]\ntruth = "1"',
    'kind = "order"\noptions = [["a", "1"], ["b", "2"]]',
    'kind = "curve"\nxs = [1, 2]\nrange = [0, 1]\ntruth = "x"',
)
ODD = (
    *("nan", "-inf", "1e400", "9" * 5000, "-1", "true", "''", "[]", "{a = 1}", "[nan, 1]"),
    *("[2, 1]", "[['a', 1, 0], ['b', nan, 2]]", "'" + "(" * 200 + "'", "2020-01-01", "[[[[1]]]]"),
)


@given(st.sampled_from(KINDS), st.integers(0, 9), st.sampled_from(ODD))
def test_a_lesson_with_any_value_is_read_or_refused(kind: str, place: int, odd: str):
    whole = HEAD + f'## A\n```step\nask = "?"\n{kind}\n```\n'
    lines = whole.split("\n")
    given = [i for i, line in enumerate(lines) if " = " in line]
    i = given[place % len(given)]
    lines[i] = f"{lines[i].partition(' = ')[0]} = {odd}"
    try:
        found = reading.read("\n".join(lines), id="a", language="en")
    except ConfigError as error:
        assert all("Line " in str(fault) for fault in error.faults)
        return
    (step,) = found.steps
    assert 1 <= found.minutes <= 600
    if ask := step.ask:
        assert -math.inf < ask.least < ask.most < math.inf and all(map(math.isfinite, ask.xs))
        assert all(option.least < option.most for option in ask.options)


# Answers

numbers = st.floats(-1e6, 1e6).map(lambda x: float(f"{x:.4g}"))
some_guesses = st.dictionaries(
    st.integers(0, 11), st.lists(numbers, max_size=5).map(tuple), max_size=4
)


@given(some_guesses)
def test_guesses_come_back_from_a_link(found: dict[int, answers.Values]):
    assert answers.read(answers.written(found)) == found


def test_a_guess_of_an_older_link_is_read_and_its_measurement_passed_over():
    assert answers.read("0:1=4.07;1:=0.2_0.3;2:2_1=0_0_3_3") == {0: (1.0,), 1: (), 2: (2.0, 1.0)}


def test_a_guess_at_a_step_that_no_lesson_has_is_left_out():
    assert answers.read("11:1;12:1;99:1") == {11: (1.0,)}


def of_older_links(found: dict[int, answers.Values], truth: str) -> str:
    return ";".join(f"{entry}{truth}" for entry in answers.written(found).split(";"))


noise = st.text(alphabet="0123456789:;=_.-+e", max_size=60)


@given(some_guesses.filter(len), st.sampled_from(["", "=", "=1", "=1e999_2"]), noise)
def test_any_text_holds_guesses_or_none(found: dict[int, answers.Values], truth: str, other: str):
    read_back = answers.read(f"{other};{of_older_links(found, truth)}")
    assert found.items() <= read_back.items() and {*read_back} <= {*range(answers.MOST_STEPS)}
    for guess in read_back.values():
        assert len(guess) <= answers.MOST_VALUES and all(abs(each) <= 1e12 for each in guess)


@pytest.mark.parametrize("huge", ["1e308", "-1e308", "1.1e12", "inf", "nan", "1e999"])
def test_a_guess_that_is_no_number_of_a_lesson_is_none(huge: str):
    assert answers.numbers_of(huge) is None and answers.read(f"0:1_{huge};1:-1e12") == {1: (-1e12,)}


CHOICE = Ask(
    question="?",
    kind=AskKind.CHOICE,
    truths=(),
    options=(Option("a", 0, 1), Option("b", 2, math.inf)),
)
ORDER = Ask(question="?", kind=AskKind.ORDER, truths=(), labels=("a", "b", "c"))
TOKEN = Ask(question="?", kind=AskKind.TOKEN, truths=())
CELL = Ask(question="?", kind=AskKind.CELL, truths=(formula.read("weight_map(head=1)"),))


def test_a_guess_is_right_where_the_measurement_says_so():
    assert answers.is_right(CHOICE, Answer((1,), (2.0,)))
    assert not answers.is_right(CHOICE, Answer((0,), (1.0,)))
    assert answers.true_option(CHOICE, (1.5,)) is None
    assert answers.is_right(ORDER, Answer((2, 0, 1), (0.5, 0.1, 0.9)))
    assert not answers.is_right(ORDER, Answer((0, 2, 1), (0.5, 0.1, 0.9)))
    assert answers.is_right(TOKEN, Answer((1,), (0.2, 0.8)))
    assert answers.is_right(TOKEN, Answer((), (0.2, 0.8))) is None
    assert answers.is_right(CELL, Answer((1, 0), (1, 0, 2, 3)))
    assert not answers.is_right(CELL, Answer((0, 1), (1, 0, 2, 3)))


def test_a_number_is_right_within_five_percent_of_the_truth():
    ask = Ask(question="?", kind=AskKind.NUMBER, truths=())
    for truth in (1.0, -1.0, 2.0, 1e-6):
        for share, is_right in ((0.951, True), (1.049, True), (0.949, False), (1.051, False)):
            assert answers.is_right(ask, Answer((share * truth,), (truth,))) is is_right
    assert answers.is_right(ask, Answer((0.0,), (0.0,)))


def test_a_curve_is_exact_close_or_far_by_the_height_of_its_chart():
    ask = Ask(question="?", kind=AskKind.CURVE, truths=(), xs=(1, 2), most=4.0)

    def closeness(*guess: float) -> Closeness:
        return answers.closeness(ask, Answer(guess, (1.0, 8.0)))

    assert closeness(1.0, 8.0) is Closeness.EXACT  # a chart from 0 to 8
    assert closeness(1.0, 7.21) is closeness(0.21, 8.0) is Closeness.CLOSE
    assert closeness(1.0, 7.19) is closeness(1.81, 8.0) is Closeness.FAR


@pytest.mark.parametrize(
    ("ask", "guess"),
    [
        (CHOICE, (2,)),
        (CHOICE, (0.5,)),
        (CHOICE, (0, 1)),
        (CHOICE, (-1,)),
        (ORDER, (0, 0, 1)),
        (ORDER, (0, 1)),
        (TOKEN, (3,)),
        (CELL, (0,)),
        (CELL, (0, 3)),
        (CELL, (2, 0)),
        (CELL, (0, 0.5)),
        (Ask(question="?", kind=AskKind.NUMBER, truths=()), (1.0, 2.0)),
        (Ask(question="?", kind=AskKind.CURVE, truths=(), xs=(1, 2)), (1.0,)),
    ],
)
def test_a_guess_that_is_none_at_the_question_does_not_fit(ask: Ask, guess: answers.Values):
    assert not answers.fits(ask, guess, (2, 3))
    assert answers.fits(ask, ())


def test_a_guess_that_names_what_is_not_there_is_judged_as_none():
    assert answers.judged(TOKEN, (2,), (0.1, 0.2)) == Answer((), (0.1, 0.2))
    assert answers.judged(CELL, (1, 2), (0, 0, 2, 3)) == Answer((1, 2), (0, 0, 2, 3))
    assert answers.judged(CELL, (2, 1), (0, 0, 2, 3)) == Answer((), (0, 0, 2, 3))


# Measurements


def test_a_change_that_keeps_all_parts_keeps_the_trained_weights():
    trained = Place(Run(config=SMALL_GPT, input=GPT.input, mask=CAUSAL, weights="shipped"))
    assert trained.changed(residual=False).run.weights == "shipped"
    assert trained.changed(n_layers=1).run.weights == ""
    other = trained.changed(seed=3, mask_kind="none")
    assert other.run.seed == 3 and other.run.mask.mask_kind is MaskKind.NONE


def test_a_measurement_takes_its_own_arguments_and_fields_of_a_model():
    place = Place(ONE_BLOCK)
    one, four = (measure(place, "parameters", {"n_heads": n}) for n in (1, 4))
    assert one == four == sum(p.numel() for p in ONE_BLOCK.build().parameters())
    half = measure(place, "cache_bytes", {"n_kv_heads": 2, "n_tokens": 8})
    assert half == measure(place, "cache_bytes", {"n_tokens": 8}) / 2


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("nothing", {}),
        ("weight", {"colour": 1}),
        ("weight", {"layer": 7}),
        ("weight", {"query": 99}),
        ("weight", {"layer": "first"}),
        ("parameters", {"part": "wheels"}),
        ("parameters", {"n_heads": 5}),
        ("parameters", {"n_heads": "many"}),
        ("parameters", {"architecture": "gpt"}),
        ("race_loss", {"placement": "pre", "depth": 3}),
        ("probability", {"temperature": -1}),
        ("text_bits_without", {"part": "wheel"}),
        ("rms", {"stage": "nowhere"}),
    ],
)
def test_what_cannot_be_measured_is_a_sentence(name: str, given: dict[str, object]):
    with pytest.raises(ConfigError):
        measure(Place(ONE_BLOCK), name, given)


def test_every_measurement_says_what_it_is():
    assert [name for name, found in MEASURES.items() if not found.__doc__] == []


def test_scores_of_random_vectors_spread_by_the_root_of_their_width():
    place = Place(ONE_BLOCK)
    for d in (4, 64):
        assert measure(place, "score_std", {"d": d}) == pytest.approx(d**0.5, rel=0.1)
        assert measure(place, "score_std", {"d": d, "is_scaled": True}) == pytest.approx(1, rel=0.1)


def test_a_dot_product_is_that_of_the_vectors_that_are_told():
    place, head = Place(ONE_BLOCK), {"layer": 0, "head": 2}
    q = measure(place, "head_vector", {**head, "of": "q", "token": 3})
    k = measure(place, "head_vector", {**head, "of": "k", "token": 1})
    expected = measure(place, "dot_product", {**head, "query": 3, "key": 1})
    assert torch.tensor(q) @ torch.tensor(k) == pytest.approx(expected, rel=1e-4)
    other = measure(place, "dot_product", {**head, "query": 1, "key": 3})
    apart = measure(place, "asymmetry", {**head, "query": 3, "key": 1})
    assert apart == pytest.approx(abs(expected - other))
    with pytest.raises(ConfigError, match="nothing to measure here"):
        measure(place, "head_vector", {"of": "x"})


def test_weights_are_the_softmax_of_the_scores():
    place, at = Place(ONE_BLOCK), {"layer": 0, "head": 2, "query": 3}
    scores = [measure(place, "score", {**at, "key": key}) for key in range(4)]
    expected = torch.tensor(scores).softmax(0).tolist()
    weights = measure(place, "weights", at)
    assert weights == pytest.approx([*expected, 0.0], abs=1e-5)
    assert measure(place, "weight", {**at, "key": 1}) == pytest.approx(weights[1])
    assert measure(place, "dot_product", {**at, "key": 1}) == pytest.approx(scores[1] * 8**0.5)
    bits = -sum(p * math.log2(p) for p in expected)
    assert measure(place, "entropy_bits", at) == pytest.approx(bits, rel=1e-4)
    assert measure(place, "hidden_cells", {}) == pytest.approx(10 / 25)


def test_the_cell_of_a_map_is_where_most_lies():
    pattern = ONE_BLOCK.record(ONE_BLOCK.build()).pattern(0)[0, 1]
    row, column = divmod(int(pattern.argmax()), pattern.shape[1])
    assert answers.measured(CELL, Place(ONE_BLOCK)) == (row, column, *pattern.shape)
    first, second = pattern.flatten().topk(2).values.tolist()
    found = answers.measured_map(CELL, Place(ONE_BLOCK))
    assert maps.lead(found) == pytest.approx((first - second) / first)
    assert maps.top(((0.5, 0.2), (0.5, 0.9))) == (1, 1)


@pytest.mark.parametrize("text", ["weights()", "weight()", "1"])
def test_what_is_no_map_has_no_cell(text: str):
    with pytest.raises(ConfigError, match="is not a map"):
        answers.measured(replace(CELL, truths=(formula.read(text),)), Place(ONE_BLOCK))


def test_a_map_that_no_card_can_show_is_refused_with_the_mend():
    long = replace(ONE_BLOCK, input=replace(ONE_BLOCK.input, tokens=("a",) * 33))
    with pytest.raises(ConfigError, match="Shorten the text"):
        answers.measured(CELL, Place(long))


def test_the_surprise_of_a_text_is_its_cross_entropy():
    place, ids = Place(GPT), torch.tensor([GPT.input.token_ids])
    with torch.no_grad():
        logits = GPT.build()(ids, GPT.build_mask())
    loss = torch.nn.functional.cross_entropy(logits[0, :-1], ids[0, 1:])
    assert measure(place, "text_bits", {}) == pytest.approx(float(loss) / math.log(2), rel=1e-4)
    without = measure(place, "text_bits_without", {"part": "feed_forward_out"})
    assert without != measure(place, "text_bits", {})
    changed = Place(replace(GPT, interventions=(Intervention(part=Part.FEED_FORWARD, layer=0),)))
    assert measure(changed, "text_bits_untouched", {}) == measure(place, "text_bits", {})
    first = torch.softmax(logits[0, -1] / 0.5, -1).max()
    found = measure(place, "probability", {"temperature": 0.5})
    assert found == pytest.approx(float(first), rel=1e-4)
    assert measure(place, "n_kept", {"top_k": 3}) == 3


def test_order_matters_to_a_mask_and_to_no_position_alone():
    place = Place(ONE_BLOCK)
    assert measure(place, "order_matters", {"part": "feed_forward"}) < 1e-3
    assert measure(place, "order_matters", {"part": "attention"}) < 1e-3
    assert measure(place, "order_matters", {"part": "masked"}) > 0.1
    assert measure(Place(GPT), "moved_by_order", {}) > 0


def test_the_gradient_of_one_layer_is_that_of_the_last_and_of_many_it_is_not():
    place = Place(ONE_BLOCK)
    assert measure(place, "gradient_ratio", {"depth": 1}) == 1
    kept = measure(place, "gradient_ratio", {"depth": 12})
    lost = measure(place, "gradient_ratio", {"depth": 12, "residual": False})
    assert 0 < lost < kept


def test_the_last_gradient_falls_with_depth_in_pre_norm_alone():
    def fall(placement: str) -> float:
        one, many = (
            measure(Place(ONE_BLOCK), "last_gradient", {"placement": placement, "depth": depth})
            for depth in (1, 12)
        )
        return many / one

    assert fall("pre") < 0.6 < 0.8 < fall("post")


def test_recorded_races_are_those_of_the_course():
    course = Place(Run(config=PRESETS["course"], input=ONE_BLOCK.input, mask=CAUSAL))
    deep = {"depth": 12}
    pre = measure(course, "race_loss", {"placement": "pre", **deep})
    post = measure(course, "race_loss", {"placement": "post", **deep})
    assert pre < 1 < 2 < post < 3.3


# The files that ship


def test_every_lesson_is_there_in_both_languages_with_the_same_steps():
    for name in (*shelf.names(), *shelf.assignments()):
        english, chinese = (shelf.lesson(name, language) for language in ("en", "zh"))
        assert english and chinese, name
        assert (english.language, chinese.language) == ("en", "zh"), name
        for one, other in zip(english.steps, chinese.steps, strict=True):
            assert _without_words(one) == _without_words(other), (name, one.title)


def test_the_numbers_of_assignments_are_those_that_are_worked_out_on_paper():
    d, n_layers, width, n_tokens = 1600, 48, 4288, 1024
    weights = n_layers * (4 * d * d + 3 * d * width)
    embedded = (50257 + 1024) * d
    pairs = n_layers * 2 * 2 * n_tokens**2 * d
    passed = 2 * n_tokens * weights + pairs
    small = 12 * 2 * (12 * 768**2), 12 * 2 * 2 * 768  # a token; a pair
    longer, shorter = (n * small[0] + n * n * small[1] for n in (2048, 1024))
    on_paper = {
        "parameters": (weights + embedded) / 1e6,
        "flops": passed / 1e12,
        "kv-cache": 2 * 32 * (32 - 8) * 128 * 2 * 8192 / 2**30,
        "length": longer / shorter,
        "scaling": 12.0,
    }
    for name, number in on_paper.items():
        lesson = shelf.lesson(f"{shelf.HOMEWORK}{name}", "en")
        assert lesson
        ask, preset = lesson.steps[0].ask, dict(lesson.steps[0].set)["preset"]
        assert ask
        at = Place(Run(config=PRESETS[preset], input=ONE_BLOCK.input, mask=CAUSAL))
        assert answers.is_right(ask, Answer((number,), answers.measured(ask, at))), name


def _without_words(step: Step) -> object:
    """All of a step that no reader reads; texts in it are of the language."""
    ask = step.ask
    asked = ask and (
        ask.kind,
        [*map(_without_texts, (*ask.truths, *(told for _label, told in ask.given)))],
        [(option.least, option.most) for option in ask.options],
        len(ask.labels),
        ask.xs,
        (ask.least, ask.most, ask.tolerance),
    )
    names = [[name for name, _text in link] for link in (step.set, step.solution)]
    return asked, names, step.page, step.show, step.withhold, _without_texts(step.done)


def _without_texts(found: Formula | None) -> str:
    return re.sub("'[^']*'", "''", found.text if found else "")


def test_lessons_need_those_that_come_before():
    names = shelf.names()
    for i, name in enumerate(names):
        lesson = shelf.lesson(name, "en")
        assert lesson and set(lesson.needs) <= set(names[:i]), name


def test_a_lesson_that_cannot_be_read_is_left_out_and_said(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(shelf.logger, "warning", lambda text, *values: said.append(text % values))
    (tmp_path / "good.en.md").write_text(HEAD + ASKED, "utf-8")
    (tmp_path / "bad.en.md").write_text("no head", "utf-8")
    (tmp_path / "odd.zh.md").write_bytes(b"\xff\xfe")
    assert shelf.lesson("good", "en", tmp_path) is not None
    assert shelf.lesson("bad", "en", tmp_path) is None
    refused = shelf.refused(tmp_path)
    assert {name: str(faults[0]) for name, faults in refused.items()} == {
        "bad.en.md": reading.NO_HEAD,
        "odd.zh.md": reading.NOT_UTF_8,
    }
    assert said[0] == f"lesson {tmp_path / 'bad.en.md'} is left out: {reading.NO_HEAD}"
    assert len(said) == 2  # once a file, however often it is asked for


# A sentence of the reader's own


@pytest.mark.parametrize("text", ["My grandmother repairs old", "no no no no", "ça 我 7 ?"])
@pytest.mark.parametrize("seed", range(2))
def test_what_is_asked_of_four_words_has_the_same_answer_for_any_four(text: str, seed: int):
    lesson = shelf.lesson("attention-by-hand", "en")
    assert lesson
    config = PRESETS["course"].replace(d_model=16, n_heads=4)
    both = ("cats", "chase", "small", "dogs"), tuple(text.split())
    runs = [replace(ONE_BLOCK, config=config, input=Input(tokens=t), seed=seed) for t in both]
    for ask in (step.ask for step in lesson.steps if step.ask):
        theirs, ours = (answers.measured(ask, Place(run)) for run in runs)
        if ask.kind is AskKind.CHOICE:
            assert answers.true_option(ask, theirs) == answers.true_option(ask, ours) is not None
        if ask.kind is AskKind.CELL:
            assert theirs == ours


def test_what_the_lesson_on_induction_says_of_its_heads():
    file = pocket("induction")
    (text,) = {dict(step.set)["text"] for step in shelf.lesson("induction", "en").steps[3:6]}
    ids = torch.tensor([file.tokenizer.encode(text)])
    model = trained(file.config, file.tensors)

    def costs(*heads: int) -> torch.Tensor:
        off = [Intervention(part=Part.HEAD, layer=0, head=head) for head in heads]
        seen = record(model, ids, replace=replacements(off))
        return torch.tensor(surprise(seen.output[0], ids[0])["bits"].tolist())

    untouched, bits = costs(), [costs(*two).mean() for two in combinations(range(4), 2)]
    assert untouched[:7].mean() > 10 > 1 > untouched[7:].mean()  # no copy is there at first
    assert costs(0).mean() < untouched.mean() and costs(0)[:7].mean() < untouched[:7].mean()
    assert max(bits) < 6 and costs(0, 1, 2).mean() < 6  # two never do, and not every three
    assert costs(1, 2, 3).mean() > 6


LONG_TO_SEARCH = """
from blocks.lessons.reading import BLOCK, DEEP_KEY, STEP
assert not BLOCK.match("```step\\n" * 60_000)
assert not [*STEP.finditer("## " + " " * 1_000_000)]
assert not DEEP_KEY.search("a" * 1_000_000)
"""


@pytest.mark.exhaustive
def test_no_search_takes_longer_than_the_text_is_long():
    """What takes the square of it takes minutes, and is stopped."""
    subprocess.run([sys.executable, "-c", LONG_TO_SEARCH], check=True, timeout=120)


def test_of_many_faults_some_hundred_are_noted():
    options = "1," * 20_000
    block = f'ask = "a"\nkind = "choice"\ntruth = "1"\noptions = [{options}]'
    with pytest.raises(ConfigError) as found:
        reading.read(f"{HEAD}## a\n```step\n{block}\n```\n", id="x", language="en")
    assert len(found.value.faults) == reading.MOST_FAULTS


def test_a_name_of_very_many_parts_is_not_parsed():
    deep = "a." * 25_000 + "a = 1"
    with pytest.raises(ConfigError, match="Line 10, a: A name has too many dots"):
        reading.read(f"{HEAD}\n\n## a\n```step\n{deep}\n```\n", id="x", language="en")
