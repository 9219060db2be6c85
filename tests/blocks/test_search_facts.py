"""Facts of a search: where it stands, what it chose, what it would have chosen."""

import math
from dataclasses import replace

import pytest
from toy import scramble, toy

from blocks.inspection import search as facts_of
from blocks.inspection.search import SearchFacts
from blocks.model.masks import MaskConfig
from blocks.model.models import build
from blocks.observe.run import Input, Run
from blocks.text.beam import BeamConfig, BeamSearch, Fate
from blocks.text.tokenizers import shipped_tokenizer

CONFIG = toy(
    architecture="encoder-decoder", n_layers=1, n_decoder_layers=1, vocab_size=11, max_seq_len=9
)
HOW = BeamConfig(start_id=1, stop_id=10, beam_width=2, max_new_tokens=5)
MODEL = scramble(build(CONFIG))


def facts(how: BeamConfig = HOW, forced: tuple[int, ...] = (), place: int | None = None):
    done = BeamSearch(MODEL, CONFIG, [3, 4, 5], how, forced=forced).run()
    nodes = facts_of.tree(done, done.step)
    nodes = nodes.assign(label=[f"t{each}" for each in nodes["token_id"]])
    n = done.step
    return SearchFacts(
        how=how,
        nodes=nodes,
        n=n,
        step=n,
        place=facts_of.best_at(nodes, n, n) if place is None else place,
        n_steps=5,
        n_forced=len(forced),
        start="s",
        text="",
        results=facts_of.best_written(nodes, shipped_tokenizer(), how.stop_id),
    ), done


def test_where_all_have_overflowed_one_is_still_the_best():
    nodes = facts()[0].nodes.assign(log_prob=float("nan"), rank=float("nan"))
    nodes["fate"] = "kept"
    n = int(nodes["step"].max())
    assert nodes["step"][facts_of.best_at(nodes, n, n)] == n


def test_the_result_is_that_of_the_search():
    found, done = facts()
    best = done.results()[0]
    assert found.path == found.path_to_result and found.is_on_path
    assert [*found.token_ids] == done.token_ids(best)
    assert found.log_prob == pytest.approx(sum(each.log_prob for each in found.choices))
    assert found.least_sure.log_prob == min(each.log_prob for each in found.choices)
    assert found.limit == ("" if found.is_ended else "max_new_tokens") and found.is_own
    assert len(found.results) == len(done.results())
    assert found.results[0].log_prob == pytest.approx(found.log_prob)
    assert sum(found.count(fate) for fate in Fate) == len(found.nodes)


def test_on_the_way_the_rest_of_the_result_is_to_come():
    found, _done = facts()
    first = replace(found, place=found.path[0], step=1)
    assert first.to_come == tuple(each.label for each in found.choices[1:])
    assert first.written_next == found.token_ids[1]
    nothing = replace(found, place=None, step=0)
    assert nothing.path == () and nothing.probability == 1 and nothing.fate is None
    assert len(nothing.to_come) == len(found.path)


def test_what_the_reader_forces_is_no_choice_of_the_model():
    free, _done = facts(replace(HOW, beam_width=1))
    likeliest = free.token_ids[0]
    unlikely = next(i for i in range(10) if i != likeliest)
    found, _done = facts(replace(HOW, beam_width=1), forced=(unlikely,))
    assert found.choices[0].is_overruled and not found.is_own
    assert found.least_sure in found.choices[1:]
    own, _done = facts(replace(HOW, beam_width=1), forced=(likeliest,))
    assert own.is_own


def test_a_beam_is_compared_with_greedy_search():
    beam, greedy = facts()[0], facts(replace(HOW, beam_width=1))[0]
    compared = facts_of.against_greedy(beam, greedy)
    assert compared.ours == pytest.approx(beam.log_prob) and math.isfinite(compared.greedy)
    assert compared.is_same == (beam.token_ids == greedy.token_ids)


def test_long_trees_are_drawn_around_the_chosen_step():
    found, _done = facts()
    assert found.steps_drawn == (1, found.n)
    assert replace(found, n=60, step=30).steps_drawn == (18, 41)
    assert replace(found, n=60, step=60).steps_drawn == (37, 60)


def test_a_target_is_cut_at_the_last_position():
    run = Run(
        config=CONFIG,
        input=Input(tokens=("a",), token_ids=(3,)),
        target=Input(tokens=("s",), token_ids=(1,)),
        mask=MaskConfig(mask_kind="causal"),
    )
    target = facts_of.with_target(run, tuple(range(20)), ("x",) * 20).target
    assert len(target.tokens) == len(target.token_ids) == CONFIG.max_seq_len
    assert target.token_ids[:2] == (1, 0) and target.tokens[0] == "s"
