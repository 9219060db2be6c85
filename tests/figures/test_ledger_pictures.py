"""The ledger of a file as lines, and what is left where a fault is undone."""

import pandas as pd
from drawn import checked, same

from blocks.inspection.conversion import FaultFacts
from blocks.inspection.file_ledger import ledger_facts
from blocks.weights import operations
from blocks.weights.conversion_faults import ConversionFault
from blocks.weights.doctor import Diagnosis
from blocks.weights.ledger import Entry, Ledger, State
from blocks.weights.mxfp4 import EXPONENTS
from blocks.weights.operations import SIDE_BY_SIDE, Operation
from pages.figures.described import described
from pages.figures.drawn_chart import drawn
from pages.panels.parameters.conversion import NAMES
from pages.panels.parameters.conversion_picture import Labelled, candidates, undone
from pages.panels.parameters.file_ledger_picture import COLORS, draw_ledger

OURS = tuple(f"layers.0.attention.{letter}_proj.weight" for letter in "qkv")
LEDGER = Ledger(
    "gpt2",
    (
        Entry("h.0.c_attn.weight", State.USED, OURS, SIDE_BY_SIDE.name, (4, 12), (4, 12)),
        Entry("wpe.weight", State.WRONG_SHAPE, ("position.weight",), "unchanged", (3, 4), (5, 4)),
        Entry("extra", State.LEFT_OVER, (), "", (1,)),
        Entry("ln_f.bias", State.MISSING, ("final_norm.bias",)),
    ),
)
EPS, OFFSET = ConversionFault.NORM_EPS, ConversionFault.POSITION_OFFSET


def test_every_operation_has_its_colour():
    """Those of GGUF files too."""
    names = {each.name for each in vars(operations).values() if isinstance(each, Operation)}
    assert names | {EXPONENTS} == COLORS.keys()


def test_a_split_is_three_lines_and_what_is_wrong_is_dotted():
    picture = checked(draw_ledger(ledger_facts(LEDGER, "toy"), _=same))
    by_name = {trace.name: trace for trace in picture.data}
    assert len(by_name[SIDE_BY_SIDE.name].x) == 9
    wrong = by_name["missing or unusable"]
    assert wrong.line.dash == "dot" and len(wrong.x) == 6
    assert len(by_name["not used here"].x) == 1
    names = [text for trace in picture.data if trace.mode == "text" for text in trace.text]
    assert {"*.c_attn", "wpe", "extra", "ln_f", "*.attention.q_proj", "final_norm"} <= {*names}
    assert "h.*.c_attn" in described(picture, _=same)


def test_the_fault_that_explains_it_stands_out():
    found = Diagnosis(0.3, {OFFSET: 0.2, EPS: 0.0}, EPS)
    table = pd.DataFrame({"token_id": [1, 2], "sound": [0.7, 0.1], "faulty": [0.2, 0.6]})
    facts = FaultFacts(EPS, ((1,), (2,)), table, 1.0, found, None)
    picture = checked(drawn(undone(facts, NAMES, _=same)))
    (dots,) = picture.data
    assert [*dots.x] == [1e-12, 0.2] and dots.marker.color[0] != dots.marker.color[1]
    assert picture.layout.shapes[0].x0 == 0.3
    assert [*picture.layout.xaxis.ticktext] == ["≤ 1e-12", "1e-09", "1e-06", "0.001", "1"]
    chances = checked(drawn(candidates(Labelled(facts, ("a", "<b>")), _=same)))
    sound, faulty = chances.data
    assert chances.layout.xaxis.tickformat == ".0%"
    assert [*sound.x] == [0.7, 0.1] and [*faulty.x] == [0.2, 0.6]
    assert list(sound.customdata[1]) == ["&lt;b&gt;"]
