"""What is said of smaller models, from facts filled in by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from said_in import in_both

from blocks import ModelConfig
from blocks.cost.parameters import total_parameters
from blocks.efficiency.activation_facts import ActivationFacts, ActivationMeasure, Channels, ways
from blocks.efficiency.answer_facts import AnswerFacts, Lost
from blocks.efficiency.blame_facts import BlameFacts
from blocks.efficiency.cache_facts import CacheFacts, CacheMeasure
from blocks.efficiency.cache_rounding import CacheAxis, CacheRounding
from blocks.efficiency.column_facts import ColumnFacts
from blocks.efficiency.compression import Compression
from blocks.efficiency.deletion import Change, Changed
from blocks.efficiency.deletion_facts import DeletionFacts
from blocks.efficiency.distillation import Student, Way
from blocks.efficiency.distillation_facts import DistillationFacts
from blocks.efficiency.frontier import INT8, FrontColors, FrontierFacts, Method, Variant
from blocks.efficiency.int8_times import Int8Facts, Int8Times, MatrixBytes, PassTimes, ProductTimes
from blocks.efficiency.matrix_places import place_of
from blocks.efficiency.names import compression_of
from blocks.efficiency.own_text import OwnText
from blocks.efficiency.pruning import Criterion
from blocks.efficiency.pruning_facts import Pruned, PruningFacts
from blocks.efficiency.quantization import Quantization
from blocks.efficiency.recorded_deletions import N_LAYERS, Sibling, SiblingFacts, recorded_deletions
from blocks.efficiency.removal import Removed
from blocks.efficiency.retraining import Repair, Repaired
from blocks.efficiency.retraining_facts import RetrainingFacts
from blocks.efficiency.rounding_facts import OneGrid, RoundingFacts
from blocks.inspection.paths import PathFacts
from blocks.model.kinds import NormPlacement
from blocks.training.teaching import Distillation
from pages.figures import palette
from pages.figures.drawn_chart import drawn
from pages.panels.efficiency import (
    activations,
    activations_picture,
    blame,
    cache,
    columns,
    columns_picture,
    deletion,
    distillation,
    frontier,
    frontier_picture,
    int8,
    lost_answers,
    paths,
    pruning,
    retraining,
    rounded_score,
    rounding_picture,
    score_text,
)
from pages.panels.efficiency import rounding as rounding_panel
from pages.panels.efficiency.recipe_words import in_words


def variant(name: str, n_bytes: int, score: float, kind=Method.QUANTIZED) -> Variant:
    return Variant(name, kind, n_bytes, 10, 2 - score, (score, score), 0.25, 64)


WHOLE = variant("", 1000, 1.0, Method.ORIGINAL)
FRONTIER = FrontierFacts(
    (WHOLE, variant("int4", 250, 0.99), variant("sparse50", 600, 0.5, Method.MASKED)),
    "exact answers",
    is_share=True,
)


def test_the_smallest_file_that_is_good_enough_is_named():
    said = frontier.says_frontier(FRONTIER)
    assert (
        "**4 bits per weight, one grid per row** (`int4`)" in said
        and "smaller by a factor of 4.0" in said
        and "99%" in said
    )


def test_where_the_score_is_no_share_the_loss_decides():
    of_a_text = FrontierFacts(FRONTIER.variants, "bits per character", is_share=False)
    said = frontier.says_frontier(of_a_text)
    assert (
        "is 1.010 nats; the original's is 1.000" in said
        and "Every smaller file loses some quality" in said
    )
    as_good = FrontierFacts((WHOLE, variant("int8", 500, 1.0)), "exact answers", is_share=True)
    assert "smaller by a factor of 2.0" in frontier.says_frontier(as_good)
    assert "keeps the original score" not in frontier.says_frontier(as_good)
    both = replace(as_good, variants=(*as_good.variants, variant("sparse50.int8", 400, 0.99)))
    assert "is **50% of the weights set to 0 (the smallest)" in frontier.says_frontier(both)
    still = "score is **8 bits per weight, one grid per row** (`int8`): smaller by a factor of 2.0"
    assert still in frontier.says_frontier(both)
    assert frontier_picture.front(of_a_text, _=str).layout.yaxis.title.text == "held-out loss, nats"


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ("", "original"),
        ("layers0+2.int3-tensor-awq", "layers removed: 1 + 3, 3 bits per weight, one grid per"),
        (
            "heads1-wanda.units25-wanda",
            "1 key/value head removed per layer (those contributing least), 25% of",
        ),
        ("sparse50-random", "50% of the weights set to 0 (at random)"),
        ("sparse50-wanda-2:4", "2 of every 4 weights set to 0 (those contributing least)"),
        (
            "int3-group32-gptq-keep3",
            "one grid per 32 weights, rounded with GPTQ, the worst rows (3.0%)",
        ),
        ("int8.act8", "activations at 8 bits"),
        ("int4-asymmetric-hqq", "one grid per row, asymmetric, grid range: hqq"),
        (
            "int4.exempt-embed-decoder:layers:0-mtp:1",
            "one grid per row, layer decoder 1, embed, layer mtp 2 at full precision",
        ),
        ("int4.exempt-a-b-c-d-e", "5 layers or matrices at full precision"),
        ("sparse50-global", "(the smallest), chosen across all layers"),
    ],
)
def test_a_recipe_is_said_in_words(recipe: str, words: str):
    assert words in in_words(compression_of(recipe))


def test_what_is_lost_and_gained_is_counted_apart():
    facts = AnswerFacts(512, 509, 509, 1, (Lost("a b", "a", "b"),))
    said = lost_answers.says_answers(facts)
    assert "of 512 held-out questions, the original gets 509 exactly right" in said
    assert "509 exactly right and this model 509" in said
    assert "**1 answer is lost**, 1 gained." in said
    none = lost_answers.says_answers(AnswerFacts(512, 509, 510, 0, ()))
    assert none.endswith("**No answer is lost.**")


def test_the_picture_of_the_front_has_every_variant_and_returns_recipes():
    picture = frontier_picture.front(FRONTIER, _=str)
    dots = [trace for trace in picture.data if trace.customdata is not None]
    assert sorted(each[0] for trace in dots for each in trace.customdata) == sorted(
        ["", "int4", "sparse50"]
    )
    front = picture.data[0]
    assert [*front.x] == [250, 1000] and [*front.y] == [0.99, 1.0]
    names = {note.text: (10**note.x, note.y) for note in picture.layout.annotations}
    assert names == {"int4": (pytest.approx(250), 0.99), "original": (pytest.approx(1000), 1.0)}


def test_a_loss_that_rose_is_said_though_the_score_stayed():
    before, after = replace(WHOLE, held_out_loss=0.113), variant("int3-keep3", 225, 1.0)
    facts = replace(FRONTIER, variants=(before, replace(after, held_out_loss=0.19)))
    said = frontier.says_frontier(facts)
    assert (
        "(exact answers) is 100% at a held-out loss of 0.190 nats; the original's is 100% at 0.113"
        in said
    )


def test_the_table_has_the_digits_of_the_sentence_and_no_column_that_nothing_fills():
    scores = replace(FRONTIER.variants[1], scores=(0.992, 0.9962))
    facts = replace(FRONTIER, variants=(WHOLE, scores))
    table = frontier.shown_table(facts)
    assert [*table["score"]] == ["100% ± 0%", "99.4% ± 0.2%"]
    assert "(exact answers) is 99.4%" in frontier.says_frontier(
        replace(FRONTIER, variants=(WHOLE, scores))
    )
    assert "time per token" not in table
    timed = replace(FRONTIER, variants=(replace(WHOLE, token_seconds=0.5), scores))
    assert [*frontier.shown_table(timed)["time per token"]] == ["500 ms", "not recorded"]


def test_the_variant_that_is_shown_has_a_ring():
    *_others, ring = frontier_picture.front(replace(FRONTIER, shown="int4"), _=str).data
    assert (ring.name, [*ring.x], [*ring.y]) == ("shown on all pages", [250], [0.99])
    assert len(frontier_picture.front(FRONTIER, _=str).data) == len(_others)


def test_the_front_is_coloured_by_measured_time_where_it_is_asked_for():
    slow = replace(FRONTIER.variants[1], seconds=0.375)
    facts = replace(FRONTIER, variants=(WHOLE, slow), colors=FrontColors.TIME)
    _line, original, dots = frontier_picture.front(facts, _=str).data
    reach = np.log2(1.5)
    assert [*original.marker.color] == [0.0] and [*dots.marker.color] == pytest.approx([reach])
    assert (dots.marker.cmin, dots.marker.cmax) == pytest.approx((-reach, reach))
    assert original.marker.colorbar.ticktext[::2] == ("0.67", "1", "1.5")
    assert dots.error_y.color == original.error_y.color  # not of the method
    assert original.marker.showscale and not dots.marker.showscale


ROWS = pd.DataFrame(
    {
        "matrix": ["layers.0.attention.q_proj.weight", "layers.1.attention.q_proj.weight"],
        "stack": ["", ""],
        "layer": [0, 1],
        "part": ["attention.q_proj"] * 2,
        "sqnr": [20.0, 10.0],
        "bits": [4.1, 4.1],
        "outlier_channels": [0, 1],
    }
)
GRID = OneGrid(
    ROWS["matrix"][1],
    2,
    np.array([0.1, 0.9], np.float32),
    np.array([0, 1], np.float32),
    np.arange(-2, 2, dtype=np.float32),
)
ROUNDING = RoundingFacts(Compression(quantization=Quantization()), ROWS, 260, 1000, GRID)


def test_the_matrix_that_loses_most_is_named():
    said = rounding_panel.says_rounding(ROUNDING)
    assert (
        "attention.q_proj in layer 2: 10.0 dB" in said and "15.0 dB" in said and "4.16 bits" in said
    )
    assert "In row 3 of" in rounding_panel.says_grid(ROUNDING)
    assert "2 of 4 grid points" in rounding_panel.says_grid(ROUNDING)


def test_the_pictures_of_rounding_show_the_numbers():
    line = rounding_picture.number_line(ROUNDING, _=str)
    exact, rounded = line.data[2], line.data[3]
    assert [*exact.x] == pytest.approx([0.1, 0.9]) and [*rounded.x] == [0, 1]
    noise = rounding_picture.noise(ROUNDING, _=str)
    assert noise.data[0].z.tolist() == [[20.0], [10.0]]
    assert [each[0] for each in noise.data[1].customdata] == [*ROWS["matrix"]]
    assert noise.layout.shapes[0].y0 == 0.5
    assert [*noise.data[2].y] == [pytest.approx(0.72)]  # the one of two that has outliers
    assert "outliers: 1" in noise.data[1].hovertext[1]
    assert "attention.q_proj in layer 2: " in noise.data[1].hovertext[1]


def test_what_stands_in_no_layer_has_a_place_below_them():
    names = [
        "embed.weight",
        "layers.0.attention.q_proj.weight",
        "mtp.0.layer.attention.q_proj.weight",
    ]
    rows = pd.DataFrame(
        [{**place_of(name), "sqnr": i, "outlier_channels": 0} for i, name in enumerate(names)]
    )
    assert rows["layer"].tolist() == [-1, 0, 0] and rows["stack"].tolist() == ["", "", "mtp"]
    facts = replace(ROUNDING, rows=rows, grid=replace(GRID, matrix="embed.weight"))
    cells, targets = rounding_picture.noise(facts, _=str).data
    assert np.array_equal(cells.z, [[1, np.nan], [2, np.nan], [np.nan, 0]], equal_nan=True)
    assert [each[0] for each in targets.customdata] == [*names[1:], names[0]]
    layout = rounding_picture.noise(facts, _=str).layout
    assert [*layout.yaxis.ticktext] == ["1", "mtp 1", "outside the layers"]
    assert (layout.shapes[0].x0, layout.shapes[0].y0) == (0.5, 1.5)


COLUMNS = ColumnFacts(
    how=Quantization(n_bits=3),
    matrix="layers.1.attention.q_proj.weight",
    matrices=("layers.1.attention.q_proj.weight",),
    columns=(0, 2, 4),
    nearest=(0.0, 0.1, 0.2),
    gptq=(0.0, 0.06, 0.1),
    exponents=(0.0, 0.5, 1.0),
    awq=(0.2, 0.15, 0.3),
    n_rounded=2,
    change=np.array([[0.1, -0.1, 0.2, 0.0]], np.float32),
)


def test_what_gptq_and_awq_do_is_said_and_drawn():
    said = columns.says_columns(COLUMNS)
    assert "output of attention.q_proj in layer 2 has an error of **20%**" in said
    assert "to compensate: **10%**" in said and "(α = 0.5): **15%**" in said
    none = replace(COLUMNS, awq=(0.1, 0.2, 0.3))
    assert "AWQ finds no scale here" in columns.says_columns(none)
    nearest, gptq = drawn(columns.errors(COLUMNS)).data
    assert [*nearest.y] == [0, 0.1, 0.2] and [*gptq.y] == [0, 0.06, 0.1]
    awq, level = drawn(columns.exponents(COLUMNS)).data
    assert [*awq.marker.size] == [6, 12, 6] and {*level.y} == {0.1}
    change = columns_picture.change(COLUMNS, _=str)
    assert change.data[0].z.shape == (1, 4) and change.layout.shapes[0].x0 == 2.5
    assert len(columns.column_table(COLUMNS)) == 3


def pruned(kind: Pruned) -> PruningFacts:
    rows = [
        {
            "criterion": criterion,
            "removed": share,
            "score": score,
            "standard_error": 0.0,
            "loss": 1.0,
            "bytes": 500,
            "seconds": 0.5 if criterion is Criterion.WANDA else 9 * share,
            "variant": f"sparse{share:.0%}",
        }
        for share, scores in ((0.2, (1.0, 1.0, 0.9)), (0.5, (0.9, 0.96, 0.1)))
        for criterion, score in zip(Criterion, scores, strict=True)
    ]
    return PruningFacts(kind, pd.DataFrame(rows), WHOLE, "exact answers", is_share=True)


@pytest.mark.parametrize(
    ("kind", "word", "ratio"),
    [(Pruned.WEIGHTS, "no time", "7.20"), (Pruned.HEADS, "whole", "18.00")],
)
def test_what_can_go_is_said_for_each_criterion(kind, word, ratio):
    said = pruning.says_pruning(pruned(kind))
    assert "20% if parts are chosen by magnitude, 50% if by their contribution" in said
    assert "0% if at random" in said
    assert word in said and f"{ratio} times" in said
    assert said.startswith("While keeping 95% of its score (exact answers),")


def test_of_a_text_the_loss_says_how_much_can_go():
    facts = replace(pruned(Pruned.WEIGHTS), is_share=False)  # bits per character: less is better
    rows = facts.rows.assign(score=2.0, loss=[1.0, 1.04, 1.2, 1.06, 1.05, 1.3])
    said = pruning.says_pruning(replace(facts, rows=rows))
    assert (
        "While keeping its held-out loss within 5.0% of the original's, the model can lose 20% if "
        "parts are chosen by magnitude" in said
    )
    assert "50% if by their contribution" in said and "0% if at random" in said


def test_every_line_begins_at_the_original():
    picture = drawn(pruning.lines(pruned(Pruned.WEIGHTS)))
    assert [trace.x[0] for trace in picture.data] == [0.0] * 3
    assert [trace.y[0] for trace in picture.data] == [1.0] * 3
    assert [*picture.data[1].y] == [1.0, 1.0, 0.96]


PATHS = PathFacts(
    n_paths=(1, 2, 1),
    gradients=(0.1, 0.3, 0.6),
    gradient=0.9,
    losses=(4.0, 1.05, 1.0),
    kept_losses=((4.0,), (2.0, 3.0), (1.0,)),
    seed=0,
)


def test_the_length_that_carries_most_is_named():
    said = paths.says_paths(PATHS)
    assert (
        "The 2 sub-layers form 4 paths" in said and "60%, comes through paths of length 2" in said
    )
    assert "25% of all" in said and "length 1 or less" in said
    rows = paths.path_table(PATHS)
    assert rows["paths"].tolist() == [1, 2, 1] and rows["gradient_norm"].sum() == 1.0


def test_the_pictures_of_paths_show_shares_and_losses():
    bars, counted = drawn(paths.gradients(PATHS)).data
    assert [*bars.y] == pytest.approx([0.1, 0.3, 0.6]) and [*counted.y] == [0.25, 0.5, 0.25]
    _band, kept, up_to = drawn(paths.losses(PATHS)).data
    assert [*kept.y] == [4.0, 2.5, 1.0] and [*up_to.y] == [4.0, 1.05, 1.0]


def taught(way: Way, seed: int, loss: float) -> Student:
    if way is Way.ALONE_AS_LONG:
        return Student(way, seed, (0, 20, 30), (3.0, 2.0, loss), 0.5, "a processor")
    return Student(way, seed, (0, 20), (3.0, loss), 0.5)


def distilled(*losses: tuple[float, ...]) -> DistillationFacts:
    """A row a seed: with the teacher, alone, alone for longer; for as long, where it is known."""
    students = tuple(
        taught(w, i, x) for i, row in enumerate(losses) for w, x in zip(Way, row, strict=False)
    )
    return DistillationFacts(
        how=Distillation(),
        students=students,
        teacher_loss=0.5,
        teacher_score=0.9,
        n_parameters=60,
        n_teacher_parameters=100,
        score_name="accuracy",
        is_share=True,
    )


@pytest.mark.parametrize(
    ("losses", "verdict"),
    [
        ([(1.0, 1.5, 1.2), (1.1, 1.4, 1.2)], "worth more than it costs"),
        (
            [(1.0, 1.5, 0.9), (1.1, 1.4, 0.9)],
            "but spending the same compute on more updates helps about as much.",
        ),
        ([(1.6, 1.5, 0.9), (1.6, 1.4, 0.9)], "does not help"),
        ([(1.4, 1.5, 1.4), (1.6, 1.4, 1.6)], "does not help"),
        (
            [(1.4, 1.5, 1.6)] * 3 + [(1.6, 1.5, 1.4)] * 2,
            "must lower the loss for at least 80% of the seeds",
        ),
    ],
)
def test_a_teacher_is_said_to_help_where_it_does(losses, verdict: str):
    said = distillation.says_distillation(facts := distilled(*losses))
    assert verdict in said and "60% of the teacher's parameters" in said
    assert f"for {facts.n_better(Way.ALONE)} of {len(losses)} seeds" in said
    assert "(accuracy) is 50% with the teacher, 50% without it and 90% for the teacher" in said
    of_a_text = replace(facts, is_share=False)
    assert "Accuracy" not in distillation.says_distillation(of_a_text)


def test_what_is_learned_from_inside_the_teacher_is_named():
    facts, how = distilled((1.0, 1.5, 1.2)), Distillation(hidden_weight=10.0, attention_weight=0.1)
    said = distillation.says_how(replace(facts, how=how), is_recorded=False)
    assert "hidden states (weight 10) and attention (weight 0.1)" in said
    said = distillation.says_how(facts, is_recorded=False)
    assert "hidden" not in said and "Equal FLOPs are used here instead" in said


def test_a_teacher_that_is_worth_its_flops_may_not_be_worth_its_time():
    timed = distilled((1.0, 1.5, 1.2, 0.9), (1.1, 1.4, 1.2, 1.0))
    said = distillation.says_distillation(timed)
    assert "(30 updates, since each update with the teacher takes 1.50 times as long)" in said
    assert (
        "the student reaches a loss of 0.950; the loss with the teacher is lower for 0 "
        "of the seeds. The teacher's own loss" in said
    )
    assert "spending the same compute on more updates helps about as much." in said
    said = distillation.says_how(timed, is_recorded=True)
    assert "Time measured on a processor." in said and "Equal FLOPs" not in said
    lines = drawn(distillation.losses(timed)).data[4:]
    assert {line.name: line.x[-1] for line in lines}["alone, for the same time"] == 30
    worth = distilled((1.0, 1.5, 1.2, 1.3), (1.1, 1.4, 1.2, 1.3))
    assert "worth more than it costs" in distillation.says_distillation(worth)


def test_each_way_to_learn_is_a_line_in_its_band_and_the_teacher_the_level():
    picture = drawn(distillation.losses(distilled((1.0, 1.5, 1.2), (1.2, 1.3, 1.4))))
    bands, lines = picture.data[:3], picture.data[3:]
    assert {line.name: line.y[-1] for line in lines} == pytest.approx(
        {"with the teacher": 1.1, "alone, same tokens": 1.4, "alone, same FLOPs": 1.3}
    )
    assert {tuple(sorted({band.y[1], band.y[2]})) for band in bands} == {
        (1.0, 1.2),
        (1.3, 1.5),
        (1.2, 1.4),
    }
    assert picture.layout.shapes[0].y0 == 0.5
    assert 10 ** picture.layout.yaxis.range[1] < 3.0  # the loss before the first update
    assert len(picture.layout.yaxis.tickvals) > 1
    assert [*distillation.student_table(distilled((1.0, 1.5, 1.2))).held_out_loss] == [
        1.0,
        1.5,
        1.2,
    ]


WHOLE_CONFIG = ModelConfig(
    architecture="gpt", vocab_size=11, d_model=16, n_heads=4, d_ff=100, n_layers=2
)
REPAIRED = RetrainingFacts(
    Removed.WEIGHTS,
    WHOLE_CONFIG,
    (
        Repaired(Repair.NONE, 0.0, 0.98, 0.5),
        Repaired(Repair.AFTER, 0.0, 1.0, 0.4),
        *(
            Repaired(repair, share, score, 1.4 - score)
            for share, scores in ((0.5, (0.96, 0.99, 0.9)), (0.8, (0.1, 0.97, 0.95)))
            for repair, score in zip(Repair, scores, strict=True)
        ),
    ),
    100,
    "exact answers",
    is_share=True,
)


def test_what_training_on_gives_back_is_said_against_the_model_that_was_trained_on_as_long():
    said = retraining.says_retraining(REPAIRED)
    assert "keeps 95% of its score (exact answers) with up to 50% of its weights removed." in said
    assert "retrained for 100 updates afterwards, 80% can be removed, or" in said
    assert "or 80% if they are removed gradually during these updates." in said
    assert "from 98% to 100%" in said
    of_a_text = replace(REPAIRED, is_share=False)
    said = retraining.says_retraining(of_a_text)
    assert "within 5.0% of the original's with up to 0% of its weights removed." in said
    assert "afterwards, 50% can be removed, or" in said
    assert "from 0.500 to 0.400" in retraining.says_retraining(of_a_text)
    assert [*retraining.retraining_table(REPAIRED).score][:3] == [0.98, 1.0, 0.96]


def test_parts_that_go_leave_a_smaller_model_which_is_said():
    units = replace(REPAIRED, removed=Removed.HIDDEN_UNITS)
    assert "80% of its hidden units without" not in retraining.says_retraining(units)
    assert "with up to 50% of its hidden units removed." in retraining.says_retraining(units)
    n, of = (total_parameters(WHOLE_CONFIG.replace(d_ff=each)) for each in (20, 100))
    said = retraining.says_how(units, is_recorded=True)
    assert f"with 80% removed, {n:,} of {of:,} parameters are left" in said
    assert "smallest output weights are removed first (magnitude)" in said
    assert "every 10 updates" in said
    table = retraining.retraining_table(units)
    assert [*table.parameters][-1] == n and table.parameters[0] == of
    said = retraining.says_how(REPAIRED, is_recorded=True)
    assert "parameters" not in said and {*retraining.retraining_table(REPAIRED).parameters} == {of}
    layers = replace(REPAIRED, removed=Removed.LAYERS, found=REPAIRED.found[:5])
    said = retraining.says_how(layers, is_recorded=True)
    assert "layer whose removal raises the loss least" in said


def test_lines_of_retraining_begin_with_nothing_removed():
    picture = drawn(retraining.lines(REPAIRED))
    assert [[*trace.x] for trace in picture.data] == [[0.0, 0.5, 0.8]] * 3
    assert [trace.y[0] for trace in picture.data] == [0.98, 1.0, 1.0]
    assert [*picture.data[1].y] == [1.0, 0.99, 0.97] and picture.layout.shapes[0].y0 == 1.0
    first = drawn(retraining.lines(replace(REPAIRED, found=REPAIRED.found[:3])))
    assert [trace.name for trace in first.data] == ["removed all at once, not retrained"]


def cached(n_bytes: int, score: float, how=None, *rows) -> CacheMeasure:
    return CacheMeasure(how, n_bytes, 64, 0.5, (score,), rows or ((1, 2), (3, 4)))


EXACT = cached(4096, 1.0)
CACHES = tuple(
    cached(1024, 0.5, CacheRounding(n_bits=2, axis=axis), (1, 2), (3, 5)) for axis in CacheAxis
)


def test_what_a_rounded_cache_costs_is_said():
    facts = CacheFacts((EXACT, *CACHES), CACHES[2], ("a b", "a c"), "exact answers", True)
    said = cache.says_cache(facts)
    assert "**1.02 kB**, compared with 4.1 kB" in said
    assert "50%, against 100% with an exact cache" in said
    assert "unchanged to the end: 1 of 2. The earliest difference comes after 1" in said
    same = CacheFacts((EXACT,), EXACT, ("", ""), "exact answers", True)
    assert "All 2 continuations" in cache.says_cache(same)
    assert cache.cache_table(facts).tokens_until_first_difference.tolist() == [2, 1, 1, 1]


def test_a_cache_has_a_line_for_each_axis():
    facts = CacheFacts((EXACT, *CACHES), CACHES[2], ("", ""), "exact answers", True)
    for picture in (drawn(cache.scores(facts)), drawn(cache.differences(facts))):
        assert [[*trace.x] for trace in picture.data] == [[1024]] * 3
        assert [trace.text[0] for trace in picture.data] == ["2"] * 3
        assert [trace.marker.size[0] for trace in picture.data] == [9, 9, 15]


CHANNELS = Channels("a.weight", *map(np.array, ([1, 9, 1], [1, 1, 1], [3, 1, 1], [1, 3, 1])))
LOSSES = (1.0, 1.1, 1.9, 1.5, 1.8, 1.4, 1.3, 1.2)
ACTIVATIONS = ActivationFacts(
    tuple(ActivationMeasure(how, loss, (0.5,)) for how, loss in zip(ways(4), LOSSES, strict=True)),
    CHANNELS,
    ROWS.assign(outlier=[2.0, 9.0]),
    "exact answers",
    is_share=True,
)


def test_the_channel_that_stretches_the_grid_is_measured():
    said = activations.says_channels(ACTIVATIONS)
    assert "channel of a is 9.0 times the median" in said and "lowers this ratio to 3.0;" in said
    plain, smooth, *_weights = drawn(activations.channels(ACTIVATIONS)).data
    assert [*plain.y] == [9, 1, 1] and [*smooth.y] == [3, 1, 1]


def test_where_channels_stand_out_is_seen_over_all_matrices():
    picture = activations_picture.outliers(ACTIVATIONS, _=str)
    assert picture.data[0].z.tolist() == [[2.0], [9.0]] and picture.data[0].zmax == 9
    assert [each[0] for each in picture.data[1].customdata] == [*ROWS["matrix"]]


def test_what_fewer_bytes_promise_is_said_before_anything_is_timed():
    facts = MatrixBytes(((8, 8, 4), (16, 8, 1)))
    said = int8.says_bytes(facts)
    assert (
        "In float32 the 5 matrices take 1.54 kB, **2.67 times as many bytes** to read as in int8 "
        "(576 B)" in said
    )
    exact, packed = drawn(int8.bytes_read(facts)).data
    names = int8.bytes_read(facts).x.names
    assert [*names] == ["4 of size<br>8 × 8", "1 of size<br>16 × 8"]
    assert [*exact.y] == [1024, 512] and [*packed.y] == [384, 192]


def test_the_best_and_the_worst_grid_for_activations_are_named():
    said = activations.says_measured(ACTIVATIONS)
    assert "**one grid per token, smoothed** (loss 1.200," in said
    assert "The worst scheme is one static grid per tensor (loss 1.900)" in said
    plain, smooth = drawn(activations.losses(ACTIVATIONS)).data
    assert [*plain.y] == [1.1, 1.9, 1.8, 1.3] and [*smooth.y] == [1.5, 1.4, 1.2]
    assert activations.activation_table(ACTIVATIONS).held_out_loss.tolist() == [*LOSSES]


def blamed(rounded: float, kept: float, whole: float) -> BlameFacts:
    return BlameFacts(
        ROWS.assign(blame=[0.1, 0.5]),
        WHOLE,
        variant("int4", 250, rounded),
        variant("int4-keep3", 260, kept),
        variant("int4", 300, whole),
        Compression(quantization=Quantization()),
        "exact answers",
        is_share=True,
    )


def test_what_is_to_blame_and_what_gives_it_back_is_said():
    said = blame.says_blame(blamed(0.5, 0.9, 0.75))
    assert (
        "attention.q_proj in layer 2 is most to blame: rounding it alone" in said
        and "0.5000 nats" in said
    )
    assert "(exact answers) is 100% for the original, 50%" in said and "**90%** when" in said
    assert "250 B to 260 B" in said
    assert "80% of what was lost; leaving layer 2 unrounded recovers 50%" in said
    assert "try fewer bits" in blame.says_blame(blamed(0.995, 1.0, 1.0))
    picture = rounding_picture.blame(blamed(0.5, 0.9, 0.75), _=str)
    assert picture.data[0].z.tolist() == [[100.0], [500.0]] and picture.layout.shapes[0].y0 == 0.5


def changed(score: float, *deleted: str, swapped=None) -> Changed:
    return Changed(Change(deleted, swapped), score, 2 - score)


PARTS = [f"decoder.layers.0.{each}_residual" for each in ("attention", "cross_attention")]
DELETIONS = DeletionFacts(
    original=changed(1.0),
    alone=(
        changed(0.9, PARTS[0]),
        changed(0.2, PARTS[1]),
        changed(0.5, swapped=("encoder.layers.0", "encoder.layers.1")),
    ),
    least_first=(changed(1.0), changed(0.9, PARTS[0]), changed(0.1, *PARTS)),
    random=((changed(1.0), changed(0.2, PARTS[1]), changed(0.1, *PARTS)),) * 3,
    score_name="exact answers",
    is_share=True,
)


def test_what_a_deletion_costs_is_said_and_drawn():
    said = deletion.says_deletion(DELETIONS)
    assert "90% without decoder attention 1, 20% without decoder cross-attention 1" in said
    assert "90% if the least needed parts are deleted first and 20% if parts are chosen" in said
    (bars,) = drawn(deletion.alone(DELETIONS)).data
    assert [*bars.x] == [0.9, 0.2, 0.5] and bars.hovertext[2].startswith("encoder 1 ↔ 2:")
    _band, random, first = drawn(deletion.lines(DELETIONS)).data
    assert [*first.y] == [1.0, 0.9, 0.1] and [*random.y] == pytest.approx([1.0, 0.2, 0.1])
    assert len(deletion.deletion_table(DELETIONS)) == 3 + 4 * 3


def test_siblings_with_and_without_a_residual_are_compared():
    facts = SiblingFacts(
        tuple(
            Sibling(placement, connected, 0, ((1.0, 0.8 if connected else 0.1),))
            for placement in (NormPlacement.PRE, NormPlacement.POST)
            for connected in (True, False)
        )
    )
    said = deletion.says_siblings(facts)
    assert "80% of the answers exact with residual connections and 10% without them" in said
    lines = [t for t in drawn(deletion.siblings(facts)).data if t.name]
    assert {line.name: line.y[1] for line in lines} == {
        "pre-norm": 0.8,
        "post-norm": 0.8,
        "pre-norm, no residual": 0.1,
        "post-norm, no residual": 0.1,
    }


def test_the_recorded_siblings_are_of_every_kind():
    facts = recorded_deletions()
    assert len(facts.means) == 4 and facts.n_sublayers == 2 * N_LAYERS
    for line in facts.means.values():
        assert line[0] > 0.9 and line[-1] < 0.1  # all have learned to sort


def test_where_int8_is_faster_and_where_it_is_not_is_said():
    facts = Int8Facts(
        (
            ProductTimes(8, 8, 4, 1, 1e-6, 2e-6, 1e-6, load=0.5),
            ProductTimes(8, 8, 4, 16, 3e-6, 3e-6, 1e-6, load=3.0),
            ProductTimes(8, 8, 4, 256, 9e-6, 3e-6, 1e-6, load=1.0),
        )
    )
    said = int8.says_int8(facts)
    lead = "From bytes alone, int8 should be 2.67 times"
    assert lead in said and "n = 1: int8 takes 2 times as long" in said
    assert "n = 16: int8 is as fast as float32 (12 µs)." in said
    assert "n = 256: int8 is **3 times as fast** (12 µs against 36 µs)." in said
    exact, packed, rounding, promised = drawn(int8.times(facts)).data
    assert [*exact.y] == pytest.approx([4e-6, 12e-6, 36e-6])
    assert [*promised.y] == pytest.approx([1.5e-6, 4.5e-6, 13.5e-6])
    assert [*packed.x] == [0, 1, 2] and [*rounding.y] == pytest.approx([4e-6] * 3)
    how = int8.says_how(facts, Int8Times(shapes=((8, 8, 4),)))
    assert "39% of the int8 time" in how and "The machine was busy: 3.0" in how
    assert len(int8.int8_table(facts)) == 3
    passes = (
        PassTimes(1, 1e-3, 3e-3, 1e-3, 13, 0, recipe="", load=4.0),
        PassTimes(768, 6e-3, 4e-3, 3e-3, 13, 12, recipe="int8.exempt-unembed.act8", load=1.0),
    )
    whole = replace(facts, passes=passes)
    said = int8.says_passes(whole)
    assert "1 token at a time: int8 takes 3 times as long (3 ms against 1 ms)." in said
    assert "768 tokens at once: int8 is **1.5 times as fast** (4 ms against 6 ms)." in said
    assert (
        "speeds up: 1 token at a time: 1 ms (0 of 13 matrices in int8), 768 tokens at once: "
        "3 ms (12 of 13 matrices in int8)." in said
    )
    assert [*int8.pass_table(whole)["kept at full precision"]] == ["all", "unembed"]
    assert "The machine was busy: 4.0" in int8.says_how(whole, Int8Times(shapes=((8, 8, 4),)))


def with_int8(n_packed: int, seconds: float, token_seconds: float, **changes) -> FrontierFacts:
    original = replace(WHOLE, token_seconds=0.001)
    ran = replace(variant(INT8, 500, 1.0), n_packed=n_packed)
    ran = replace(ran, seconds=seconds, token_seconds=token_seconds, **changes)
    return replace(FRONTIER, variants=(original, ran), read_ratio=0.26)


def test_what_really_runs_in_int8_is_said_with_its_times_and_what_bytes_promise():
    said = frontier.says_frontier(with_int8(13, 0.125, 0.003))
    assert (
        "In int8 (13 matrices), **int8.act8** needs 50% of its float32 time per batch and 300%"
        in said
    )
    assert "300% per token; the bytes alone would suggest 26%" in said
    beside = with_int8(13, 0.25, 0.001, beside=(0.5, 0.002))  # timed at another moment
    assert "50% of its float32 time per batch and 50% per token" in frontier.says_frontier(beside)
    assert "All other quantized models" in frontier.says_how(beside, "")
    simulated = with_int8(0, 0.25, 0.001)
    assert "In int8 (" not in frontier.says_frontier(simulated)
    assert "no packed int8 kernel to run int8 models" in frontier.says_how(simulated, "")
    assert "no packed" not in frontier.says_how(FRONTIER, "")


OWN = replace(
    FRONTIER,
    variants=(*FRONTIER.variants, replace(variant("int5", 300, 0.95), token_seconds=0.002)),
    colors=FrontColors.TOKEN_TIME,
    own=frozenset({"int5"}),
    apart=frozenset({"int5"}),
)


def test_variants_of_the_reader_have_a_ring_and_no_time_of_another_moment():
    said = frontier.says_how(OWN, "A processor")
    assert (
        "use its model. A ring marks the 1 variant that you made in this session. Measured" in said
    )
    assert not OWN.is_of_time and OWN.time_ratio(OWN.variants[-1]) is None
    timed = [
        replace(each, token_seconds=t) for each, t in zip(OWN.variants, (2, 1, 3, 4), strict=True)
    ]
    facts = replace(OWN, variants=tuple(timed))
    assert [*map(facts.time_ratio, facts.variants)] == [1.0, 0.5, 1.5, None]
    assert "session. Models timed separately" in frontier.says_how(facts, "A processor")
    _line, original, quantized, _masked, ring = frontier_picture.front(facts, _=str).data
    assert [*quantized.marker.color] == [-1.0, palette.BEFORE]
    assert original.marker.colorbar.title.text == "time per token, × original"
    assert (ring.name, [*ring.x]) == ("made by you", [300])
    plain = frontier_picture.front(OWN, _=str).data[1]
    assert plain.marker.color == frontier_picture.LOOKS[Method.ORIGINAL][0]
    assert frontier.variant_table(facts)["seconds_a_token"].tolist() == [2, 1, 3, 4]


def test_what_full_precision_costs_and_gives_back_is_said():
    plain, some = variant("int2", 100, 0.5), variant("int2.exempt-layers:0", 300, 0.9)
    facts = replace(FRONTIER, variants=(WHOLE, some, plain))
    said = rounded_score.says_rounded_score(facts, frozenset({"layers.0"}))
    assert said.startswith(
        "The file size goes from 1 kB to 300 B, and exact answers from 100% to **90%**."
    )
    assert said.endswith("If layer 1 were rounded too, the size would be 100 B and the result 50%.")
    alone = rounded_score.says_rounded_score(replace(facts, variants=(WHOLE, plain)), frozenset())
    assert "to 100 B" in alone and "rounded too" not in alone


def test_of_a_text_that_is_longer_no_count_is_claimed_beyond_what_is_read(monkeypatch):
    """Of a file, only its first characters were kept: how many tokens follow is not known."""
    said = in_both(monkeypatch, score_text.says_halves, OwnText([], [], 2048, n_left=5))
    assert said["en"].endswith("independent. The rest of the text is not read.")
    assert said["zh"].endswith("标准误。文本的其余部分没有读取。")
    whole = in_both(monkeypatch, score_text.says_halves, OwnText([], [], 2048, n_left=0))
    assert whole["en"].endswith("independent.") and whole["zh"].endswith("标准误。")
