"""The sentences of the moving picture, and what is sent to it."""

import json
import struct
from dataclasses import replace

import numpy as np
import pytest
from said_in import in_both

from blocks import ModelConfig, build
from blocks.inspection.scene import opened_layers, scene
from blocks.inspection.scene_backward_facts import back_cell
from blocks.inspection.scene_cell import cell_facts
from blocks.inspection.scene_facts import MoveFacts, move_facts
from blocks.inspection.scene_layers import cache_facts
from blocks.inspection.scene_matrix import MASKED
from blocks.inspection.scene_moves import Move, MoveKind
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.run import Input, Run
from blocks.observe.wiring import PartKind
from pages.panels.forward_pass import back, head, kept, said, said_cell, shown, watch
from pages.panels.forward_pass.message import message, packed

CONFIG = ModelConfig(architecture="gpt", n_layers=1, d_model=16, n_heads=2, vocab_size=32)
RUN = Run(
    config=CONFIG,
    input=Input(tokens=("the", "owl", "naps"), token_ids=(1, 2, 3)),
    mask=MaskConfig(mask_kind=MaskKind.CAUSAL),
)
SCENE = scene(RUN, build(CONFIG), opened_layers(RUN, 0), 2)


def telling(facts: MoveFacts, run: Run = RUN) -> said.Telling:
    return said.Telling(run, facts, token="naps", key="{owl}", head=1)


def facts_of(kind: MoveKind, stage: str, **numbers: float) -> MoveFacts:
    move = Move(f"layers.0.{stage}", stage, kind, PartKind.ATTENTION, (), 0)
    return MoveFacts(move, **numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "has"),
    [
        (facts_of(MoveKind.PROJECT, "q", n=8, of=2), ["2", "8"]),
        (facts_of(MoveKind.SCORES, "scores", number=-1.5, n=8), ["−1.5", "naps", "{owl}"]),
        (facts_of(MoveKind.MASK, "mask", n=3, of=9), ["3", "9", "−∞"]),
        (facts_of(MoveKind.SOFTMAX, "pattern", number=0.61), ["61%", "2"]),
        (facts_of(MoveKind.MIX, "head_out", n=2, of=3), ["90%", "2", "3"]),
        (facts_of(MoveKind.ATTEND, "attention_out", number=0.34), ["34%", "naps", "{owl}"]),
        (facts_of(MoveKind.ROUTE, "router_probs", number=0.5, key=3, of=8), ["4", "50%"]),
    ],
)
def test_a_sentence_has_its_numbers_in_both_languages(monkeypatch, facts: MoveFacts, has: list):
    for text in in_both(monkeypatch, said.says_move, telling(facts)).values():
        assert all(each in text for each in has), text


def test_the_few_tokens_that_are_read_most_are_named_with_their_share(monkeypatch):
    mix = next(move for move in SCENE.moves if move.kind is MoveKind.MIX)
    weights = SCENE.seen.pattern(0, stack="", name="pattern")[0, 1, 2]
    told = head._telling(RUN, SCENE, mix, 1, 2)
    assert len(told.keys) > 1 and told.keys[0] == RUN.input.labels[int(weights.argmax())]
    share = float(weights.sort(descending=True).values[: len(told.keys)].sum())
    for text in in_both(monkeypatch, said.says_move, told).values():
        assert f"{share:.0%}" in text and all(f"“{key}”" in text for key in told.keys), text


def test_what_reads_the_sink_more_than_any_other_is_told_to_rest_there(monkeypatch):
    monkeypatch.setattr(head, "sinks_of", lambda run: (0,))
    join = replace(next(m for m in SCENE.moves if m.kind is MoveKind.JOIN), kind=MoveKind.ATTEND)
    alone, one_other = (head._telling(RUN, SCENE, join, 0, token) for token in (0, 1))
    rests, alone = (in_both(monkeypatch, said.says_move, t)["en"] for t in (one_other, alone))
    assert "“owl” reads most from “the”" in rests and "attention sink" in rests
    assert "“the” sees only itself" in alone and "attention sink" not in alone


def test_every_move_has_a_sentence_a_title_and_cells_written_out(monkeypatch):
    others = {MoveKind.PROJECT, MoveKind.LOGITS, MoveKind.CHOOSE, MoveKind.GATE}
    assert {*said.TEMPLATES, *others} == {*MoveKind}
    for move in SCENE.moves[:-2]:
        told = telling(move_facts(SCENE, RUN, move, 1, 2))
        english, chinese = in_both(monkeypatch, said.says_move, told).values()
        assert english != chinese and said.title(RUN, move)
        about = kept.says_kept(told, cache_facts(RUN), english)
        assert move.stage not in kept.TEMPLATES or ("naps" in about and about != english)
        if facts := cell_facts(SCENE, build(CONFIG), move.path, 1, 2, 1):
            assert "**" in said_cell.says_cell(facts, "here", CONFIG) or "0" in said_cell.says_cell(
                facts, "here", CONFIG
            )


def test_sizes_and_guesses_are_told_in_both_languages(monkeypatch):
    about = telling(facts_of(MoveKind.ADD, "resid_post", after=1.25))
    for text in in_both(monkeypatch, said.says_more, about).values():
        assert "1.25" in text and "naps" in text
    for text in in_both(monkeypatch, said.says_guess, RUN, 1, "red", "19%", "naps").values():
        assert "2" in text and "red" in text and "19%" in text


def test_a_number_is_written_out_for_its_square(monkeypatch):
    monkeypatch.setattr(watch.cached, "model", lambda run: build(CONFIG))
    monkeypatch.setattr(shown.cached, "model", lambda run: build(CONFIG))
    asked = shown.Asked(RUN, opened_layers(RUN, 0), 2)
    told = watch.written_out(asked, 1, ("layers.0.scores", 2, 1))
    assert told is not None and told["cell"] == "layers.0.scores:2,1"
    assert "head 2" in told["text"] and "q · k = " in told["text"]
    for path in ("layers.0.scores", "layers.0.pattern", "layers.0.q", "layers.0.resid_mid"):
        told = watch.written_out(asked, 1, (path, 2, 1))
        exact = cell_facts(SCENE, build(CONFIG), path, 1, 2, 1)
        assert told["numbers"][2][1] == pytest.approx(exact.exact, rel=1e-6), path  # not in steps


def test_what_is_not_so_is_not_said():
    nothing = said.says_move(telling(facts_of(MoveKind.MASK, "mask", n=0, of=9)))
    assert "no pair" in nothing
    alone = Run(config=CONFIG.replace(residual=False), input=RUN.input, mask=RUN.mask)
    assert "no residual" in said.says_move(telling(facts_of(MoveKind.ADD, "resid_mid"), alone))
    masked = cell_facts(SCENE, build(CONFIG), "layers.0.scores", 0, 0, 2)
    assert masked is not None and masked.is_masked
    told = said_cell.says_cell(masked, "here", CONFIG)
    assert told.startswith("here: the mask rules this pair out") and "−∞" in told.split("Before")[0]


def test_what_is_sent_can_be_read_back():
    sent = message(packed(SCENE), {"moves": ["␣ and more"]})
    (n_head,) = struct.unpack("<I", sent[:4])
    head, numbers = json.loads(sent[4 : 4 + n_head]), sent[4 + n_head :]
    assert n_head % 4 == 0 and head["moves"] == ["␣ and more"]
    steps = np.frombuffer(numbers[: 4 * head["n_steps"]], np.float32)
    codes = np.frombuffer(numbers[4 * head["n_steps"] :], np.uint8)
    for path, matrix in SCENE.matrices.items():
        told = head["matrices"][path]
        n_heads, n_rows, _n_columns = told["shape"]
        own = codes[told["codes_at"] :][: matrix.codes.size].reshape(told["shape"])
        step = steps[told["steps_at"] :][: n_heads * n_rows].reshape(n_heads, n_rows, 1)
        read = np.where(own == MASKED, np.nan, (own.astype(float) - 127) * step)
        np.testing.assert_array_equal(read, matrix.values)


def test_lines_from_a_sink_are_pale_and_it_is_said(monkeypatch):
    assert watch.says_sinks(RUN) == ""
    monkeypatch.setattr(shown.sinks, "set_apart", lambda run, is_apart: (1,))
    told = head.head_of.__wrapped__(shown.Asked(RUN, opened_layers(RUN, 0), 2), 0, "en")
    assert told["sinks"] == [1]
    for text in in_both(monkeypatch, watch.says_sinks, RUN).values():
        assert "owl" in text


def test_the_way_back_is_told_in_both_languages(monkeypatch):
    asked = shown.Asked(RUN, opened_layers(RUN, 0), 2, is_back=True)
    monkeypatch.setattr(shown.cached, "model", lambda run: build(CONFIG))
    assert asked.looked_at == {"": 1}  # after the last token no word is known
    english, chinese = in_both(monkeypatch, back.told, asked, 0).values()
    for one, other in zip(english["moves"], chinese["moves"], strict=True):
        assert one["says"] != other["says"] and "{" not in one["says"] + other["says"]
    assert english["moves"][-1]["kind"] == "embed"
    assert english["moves"][-1]["says"].endswith(("a little smaller.", "a little larger."))
    assert sum("These numbers went two ways" in move["says"] for move in english["moves"]) == 1
    (meets,) = (move for move in english["moves"] if move["path"] == "layers.0.resid_mid")
    assert "straight" in meets["says"]
    assert sum(end["logit"] for end in english["ends"][:1]) < 0
    gradient = back_cell(shown.back_of(asked), "layers.0.resid_mid", 0, 1, 1)
    assert gradient is not None and sum(gradient.added) == pytest.approx(gradient.exact)
