"""Greedy and beam search: against trying everything, without a cache, and `transformers`."""

from functools import cache
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from seq2seq_references import hugging_face_bart, hugging_face_t5
from test_encoder_decoder import BART, T5, small

from blocks import ConfigError, build
from blocks.model.kinds import PositionKind
from blocks.observe.interventions import replacements, without_cross_attention
from blocks.text.beam import BeamConfig, BeamSearch, Fate, greedy

START, STOP = 1, 2
SOURCE = [5, 3, 4, 6]


def model_and_config(seed: int = 0, **changes: Any):
    """Random weights; larger ones at the end make for surer choices, so that targets differ."""
    sizes = {"n_layers": 1, "n_decoder_layers": 2, "max_seq_len": 16, "tie_embeddings": False}
    config = small(**{**sizes, **changes})
    model = build(config, seed=seed)
    with torch.no_grad():
        (model.embed if model.unembed is None else model.unembed).weight.mul_(4)
    return model, config


def search_config(**changes: Any) -> BeamConfig:
    return BeamConfig(**{"start_id": START, "stop_id": STOP, "max_new_tokens": 8, **changes})


def found(model, config, **changes: Any) -> list[tuple[list[int], float]]:
    use_cache = changes.pop("use_cache", True)
    source = [token_id % config.vocab_size for token_id in SOURCE]
    search = BeamSearch(model, config, source, search_config(**changes), use_cache=use_cache).run()
    return [(search.token_ids(place), search.tree[place].score) for place in search.results()]


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.6]))
def test_a_beam_of_one_is_greedy(seed: int, length_penalty: float):
    model, config = model_and_config(seed)
    ((token_ids, _),) = found(model, config, beam_width=1)
    assert [token_ids] == greedy(model, config, torch.tensor([SOURCE]), search_config())
    search = search_config(beam_width=1, length_penalty=length_penalty)
    first = BeamSearch(model, config, SOURCE, search)
    first.advance()
    assert first.tree[0].token_id == token_ids[0]


def every_target(model, config, n: int) -> dict[tuple[int, ...], float]:
    """Log-probability of all that can be written in up to `n` tokens, one pass for each."""
    memory, scores = model.encode(torch.tensor([SOURCE]) % config.vocab_size), {}
    for length in range(1, n + 1):
        for target in product(range(config.vocab_size), repeat=length):
            is_whole = target[-1] == STOP or length == n
            if STOP in target[:-1] or not is_whole:
                continue
            logits = model.decode(torch.tensor([[START, *target[:-1]]]), memory)
            log_probs = logits.log_softmax(-1)[0]
            scores[target] = float(log_probs[range(length), target].sum())
    return scores


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.thinned
def test_a_beam_that_is_wide_enough_finds_what_trying_everything_finds(seed, length_penalty):
    model, config = model_and_config(seed, vocab_size=4)
    with torch.no_grad():
        scores = every_target(model, config, 4)
    total = torch.tensor(list(scores.values())).exp().sum()
    assert total.item() == pytest.approx(1, abs=1e-5)
    width = len(scores)
    ours = found(model, config, beam_width=width, max_new_tokens=4, length_penalty=length_penalty)
    penalised = {t: s / ((5 + len(t)) / 6) ** length_penalty for t, s in scores.items()}
    theirs = sorted(penalised.items(), key=lambda item: -item[1])
    assert {tuple(target) for target, _ in ours} == set(scores)
    assert tuple(ours[0][0]) == theirs[0][0]
    for target, score in ours:
        assert score == pytest.approx(penalised[tuple(target)], abs=1e-5)


@settings(max_examples=10)
@given(
    st.integers(0, 10**6), st.sampled_from(PositionKind), st.booleans(), st.sampled_from([1, 3, 5])
)
def test_the_cache_changes_no_token(seed: int, position_kind: str, relative_bias: bool, width: int):
    changes = {"position_kind": position_kind, "relative_bias": relative_bias, "n_kv_heads": 2}
    model, config = model_and_config(seed, **changes)
    cached, anew = (found(model, config, beam_width=width, use_cache=use) for use in (True, False))
    assert [target for target, _ in cached] == [target for target, _ in anew]
    for (_, ours), (_, theirs) in zip(cached, anew, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
    sources = torch.tensor([SOURCE, SOURCE[::-1]])
    assert greedy(model, config, sources, search_config()) == greedy(
        model, config, sources, search_config(), use_cache=False
    )


def test_a_target_that_outgrows_longrope_is_read_again():
    changes = {"rope_scaling": "longrope", "rope_factor": 8.0, "rope_trained_len": 3}
    model, config = model_and_config(2, position_kind=PositionKind.ROPE, **changes)
    cached, anew = (found(model, config, beam_width=3, use_cache=use) for use in (True, False))
    assert max(len(target) for target, _score in cached) > 3
    assert [target for target, _score in cached] == [target for target, _score in anew]
    assert [score for _target, score in cached] == pytest.approx([score for _t, score in anew])


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_padding_a_batch_changes_no_token(seed: int, n_padding: int):
    model, config = model_and_config(seed)
    long = [7, 8, 9, 3, *range(3, 3 + n_padding)]
    rows = [SOURCE + [0] * n_padding, long]
    is_source = torch.ones(2, len(long), dtype=torch.bool)
    is_source[0, len(SOURCE) :] = False
    alone = [
        greedy(model, config, torch.tensor([row]), search_config())[0] for row in (SOURCE, long)
    ]
    assert greedy(model, config, torch.tensor(rows), search_config(), is_source=is_source) == alone


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("num_beams", [1, 2, 5])
@pytest.mark.parametrize("theirs", ["bart", "t5"])
@pytest.mark.thinned
def test_it_finds_what_transformers_finds(theirs: str, num_beams: int, seed: int):
    is_bart = theirs == "bart"
    changes = {**(BART if is_bart else T5), "n_layers": 2, "tie_embeddings": is_bart}
    model, config = model_and_config(seed, **changes)
    hugging_face = hugging_face_bart if is_bart else hugging_face_t5
    of_beams = {"length_penalty": 0.0, "early_stopping": False} if num_beams > 1 else {}
    expected = hugging_face(config, model).generate(
        torch.tensor([SOURCE]),
        num_beams=num_beams,
        num_return_sequences=num_beams,
        do_sample=False,
        max_new_tokens=8,
        **of_beams,
        eos_token_id=STOP,
        pad_token_id=0,
        decoder_start_token_id=START,
        return_dict_in_generate=True,
        output_scores=True,
    )
    ours = found(model, config, beam_width=num_beams)
    for (target, score), sequence, rank in zip(
        ours, expected.sequences.tolist(), range(num_beams), strict=True
    ):
        n = len(target) + 1
        assert sequence[:n] == [START, *target] and set(sequence[n:]) <= {0, STOP}
        if num_beams > 1:
            assert score == pytest.approx(expected.sequences_scores[rank].item(), abs=1e-4)


def test_the_tree_holds_what_was_looked_at():
    model, config = model_and_config(3)
    search = BeamSearch(model, config, SOURCE, search_config(beam_width=3)).run()
    table = search.frame()
    assert len(table) == len(search.tree) and table["step"].is_monotonic_increasing
    kept = table[table["fate"] == Fate.KEPT]
    assert (kept.groupby("step").size() <= 3).all()
    assert (table.groupby("step").size() <= 6).all()
    for row in table.itertuples():
        parent = None if row.step == 1 else search.tree[row.parent]
        before = parent.log_prob if parent else 0.0
        assert row.log_prob == pytest.approx(before + row.token_log_prob)
        assert parent is None or (parent.fate is Fate.KEPT and parent.step == row.step - 1)
    for place in search.results():
        whole = search.token_ids(place)
        memory = model.encode(torch.tensor([SOURCE]))
        log_probs = model.decode(torch.tensor([[START, *whole[:-1]]]), memory).log_softmax(-1)[0]
        total = log_probs[range(len(whole)), whole].sum().item()
        assert search.tree[place].log_prob == pytest.approx(total, abs=1e-4)
    assert table["rank"].dropna().tolist() and len(search.results()) <= 3


def test_step_by_step_is_at_once_and_the_end_is_the_end():
    model, config = model_and_config(4)
    at_once, stepwise = (BeamSearch(model, config, SOURCE, search_config()) for _ in range(2))
    at_once.run()
    while not stepwise.is_done:
        n = len(stepwise.tree)
        stepwise.advance()
        assert len(stepwise.tree) > n
    assert stepwise.tree == at_once.tree
    stepwise.advance()
    assert stepwise.tree == at_once.tree


def test_no_target_is_longer_than_the_positions_reach():
    model, config = model_and_config(max_seq_len=3, position_kind="learned")
    search = BeamSearch(model, config, SOURCE[:3], search_config(max_new_tokens=50)).run()
    assert max(each.step for each in search.tree) <= 3
    (target,) = greedy(model, config, torch.tensor([SOURCE[:3]]), search_config(max_new_tokens=50))
    assert len(target) <= 3


class Endless(BeamSearch):
    """A search that goes on for as long as there is room."""

    @property
    def is_done(self) -> bool:
        return self.step >= self.n_steps or not self.alive


@cache
def any_model():
    """One that is asked for nothing but its source."""
    return model_and_config()


def search_of(table: torch.Tensor, kind: type[BeamSearch] = BeamSearch, **changes: Any):
    """A search with log-probabilities by step and last token: (step, last, next)."""
    search = kind(*any_model(), SOURCE, search_config(**changes), use_cache=False)
    search.reader.log_probs = lambda target_ids: table[target_ids.shape[1] - 1, target_ids[:, -1]]
    return search


@pytest.mark.parametrize("length_penalty", [0.0, 0.5, 1.0])
def test_a_search_that_stops_early_finds_what_one_finds_that_never_does(length_penalty: float):
    n_stopped = 0
    for seed in range(50):
        logits = 2 * torch.randn(8, 7, 7, generator=torch.Generator().manual_seed(seed))
        wanted = {"length_penalty": length_penalty, "beam_width": 3}
        early, endless = (
            search_of(logits.log_softmax(-1), kind, **wanted).run()
            for kind in (BeamSearch, Endless)
        )
        targets = [[search.token_ids(i) for i in search.results()] for search in (early, endless)]
        assert targets[0] == targets[1]
        n_stopped += early.step < endless.step
    assert n_stopped > 0


def test_a_beam_stays_full_where_every_hypothesis_would_rather_end():
    row = torch.tensor([0.01, 0.02, 0.9, 0.03, 0.04]).log()
    search = search_of(row.expand(8, 5, 5), beam_width=2)
    search.advance()
    search.advance()
    fates = search.frame().groupby("step")["fate"].value_counts()
    assert fates[1, Fate.KEPT] == fates[2, Fate.KEPT] == 2 == fates[2, Fate.FINISHED]


def test_a_longer_target_is_favoured_where_asked_for():
    search = search_config(length_penalty=1.0)
    assert search.score(-6.0, 1) == -6.0 and search.score(-6.0, 7) == -3.0
    assert search_config().score(-6.0, 7) == -6.0


@pytest.mark.parametrize(
    ("changes", "mend"),
    [
        ({"beam_width": 0}, {"beam_width": 1}),
        ({"beam_width": 10**6}, {"beam_width": 4096}),
        ({"max_new_tokens": -3}, {"max_new_tokens": 1}),
        ({"length_penalty": -1.0}, {"length_penalty": 0.0}),
        ({"length_penalty": 99.0}, {"length_penalty": 10.0}),
        ({"length_penalty": float("nan")}, {"length_penalty": 0.0}),
    ],
)
def test_what_cannot_be_is_refused_with_its_mend(changes: dict[str, Any], mend: dict[str, Any]):
    with pytest.raises(ConfigError) as refusal:
        search_config(**changes)
    (fault,) = refusal.value.faults
    assert fault.mend == mend and "{" not in str(fault)
    search_config(**changes | mend)


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(1, 3), st.lists(st.integers(0, 6), max_size=4))
def test_what_is_forced_comes_first_and_the_rest_is_searched(seed, width, forced):
    model, config = model_and_config(seed, vocab_size=7)
    forced = forced[: forced.index(STOP) + 1] if STOP in forced else forced
    config_of = search_config(beam_width=width)
    search = BeamSearch(model, config, SOURCE, config_of, forced=forced).run()
    for place in search.results():
        assert search.token_ids(place)[: len(forced)] == forced
    kept = [each for each in search.tree if each.step <= len(forced) and each.fate != Fate.DROPPED]
    assert [each.token_id for each in kept] == forced
    if kept:
        with torch.no_grad():
            memory = model.encode(torch.tensor([SOURCE]))
            logits = model.decode(torch.tensor([[START, *forced[:-1]]]), memory)
        log_probs = logits.log_softmax(-1)[0]
        for each, row in zip(kept, log_probs, strict=False):
            assert each.step_rank == 1 + int((row > row[each.token_id] + 1e-5).sum())
        chances = log_probs[range(len(forced)), forced]
        assert kept[-1].log_prob == pytest.approx(float(chances.sum()), abs=1e-4)


def test_forcing_what_is_chosen_anyway_changes_nothing():
    model, config = model_and_config(3)
    whole = BeamSearch(model, config, SOURCE, search_config(beam_width=1)).run()
    token_ids = whole.token_ids(whole.results()[0])
    again = BeamSearch(model, config, SOURCE, search_config(beam_width=1), forced=token_ids).run()
    assert again.token_ids(again.results()[0]) == token_ids


def test_a_search_without_cross_attention_does_not_read_its_source():
    model, config = model_and_config(1)
    off = replacements(without_cross_attention(config))
    found = [
        BeamSearch(model, config, source, search_config(), replace=off).run().frame()
        for source in (SOURCE, [3, 3])
    ]
    assert found[0].equals(found[1])
    untouched = BeamSearch(model, config, SOURCE, search_config()).run().frame()
    assert not untouched.equals(found[0])


def test_padding_of_the_source_changes_no_hypothesis():
    model, config = model_and_config(2)
    bare = BeamSearch(model, config, SOURCE, search_config()).run().frame()
    is_source = [True] * len(SOURCE) + [False] * 2
    padded = BeamSearch(model, config, [*SOURCE, 0, 0], search_config(), is_source=is_source)
    assert padded.run().frame()["token_id"].tolist() == bare["token_id"].tolist()
