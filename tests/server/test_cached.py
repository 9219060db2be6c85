"""What is kept is shared by all sessions, and sessions are threads."""

import copy
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from blocks import ConfigError, ModelConfig
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.server import cached
from pages.server.shelf import Recent, Shelf


def run_of(seed: int, *, training: bool = False, **changes: object) -> Run:
    config = ModelConfig.from_flat({"d_model": 32, "n_heads": 4, "dropout": 0.5, **changes})
    text = Input(tokens=("a", "b", "c"))
    return Run(config=config, input=text, mask=MaskConfig(), seed=seed, training=training)


def seen(run: Run) -> tuple[dict, dict, list]:
    """All that a page shows of a run."""
    codes, weights = cached.head_map(run, 0, 1)
    return (
        cached.flow(run, 0).to_dict(),
        cached.heads(run, 0).to_dict(),
        [codes.tolist(), weights.tolist()],
    )


def forget() -> None:
    """Whatever was kept."""
    for kept in (cached.flow, cached.whole_flow, cached.heads_digest, cached.head_map):
        kept.cache_clear()
    cached.recordings().clear()
    cached.models().clear()


def seen_alone(run: Run) -> tuple[dict, dict, list]:
    """The same where no other run has left anything behind."""
    forget()
    return seen(run)


def test_sessions_at_once_see_each_their_own():
    runs = [
        run_of(seed, training=training, norm_kind=norm)
        for seed in range(5)
        for training in (False, True)
        for norm in ("layernorm", "batchnorm")
    ]
    alone = [seen_alone(run) for run in runs]
    forget()
    with ThreadPoolExecutor(8) as sessions:
        assert list(sessions.map(seen, [*runs, *reversed(runs)])) == [*alone, *reversed(alone)]


def test_what_a_benchmark_lays_out_for_reading_readers_get_too():
    run = run_of(0)
    model, plain = cached.model(run), run.build()
    weight = model.layers[0].attention.q_proj.weight
    assert weight.stride() == (1, run.config.d_model)
    assert weight.equal(plain.layers[0].attention.q_proj.weight)
    torch.testing.assert_close(run.record(model).output, run.record(plain).output)


def test_a_run_that_cannot_be_is_not_kept():
    run = run_of(0, position_kind="learned", max_seq_len=2)
    for _ in range(2):
        with pytest.raises(ConfigError, match="max_seq_len"):
            cached.recording(run)


def test_equal_runs_are_run_once():
    assert cached.recording(run_of(7)) is cached.recording(run_of(7))
    assert cached.flow(run_of(7), 0) is cached.flow(run_of(7), 0)


def test_what_a_reader_looks_at_is_not_thrown_out_by_others(monkeypatch: pytest.MonkeyPatch):
    no_room = Shelf(cached._record, lambda seen: seen.kept_bytes, 0)
    monkeypatch.setattr(cached, "recordings", lambda: no_room)
    monkeypatch.setattr(cached, "get_script_run_ctx", object)
    mine, theirs = Recent(cached.HELD_BYTES), Recent(cached.HELD_BYTES)
    monkeypatch.setattr(cached, "_own", lambda: mine)
    seen_first = cached.recording(run_of(1))
    monkeypatch.setattr(cached, "_own", lambda: theirs)
    for seed in range(2, 6):
        cached.recording(run_of(seed))
    assert no_room.use.n_kept == 1 and cached.recording(run_of(1)) is seen_first
    assert no_room.use.n_made == 5


def test_a_model_and_a_recording_are_gone_as_soon_as_nobody_holds_them():
    gone = weakref.ref(run_of(3).build()), weakref.ref(run_of(3).record(run_of(3).build()))
    assert [ref() for ref in gone] == [None, None]


def test_every_head_and_token_is_the_run_s_own():
    run = run_of(1)
    first, second = (cached.head_map(run, 0, head)[1] for head in (0, 1))
    assert not (first == second).all()
    table = cached.token_values(run, 0, "attention_out", 2, 5)
    tensor = cached.recording(run).tensor("attention_out")
    assert table["after"].tolist() == tensor[0, 2, :5].tolist()


@pytest.mark.parametrize("packs", [True, False])
def test_a_text_is_written_by_packed_copies_where_they_pay(packs: bool, monkeypatch):
    def twin(model):
        return copy.copy(model)

    monkeypatch.setattr(cached, "can_pack", lambda *_asked: packs)
    monkeypatch.setattr(cached, "with_packed_rows", twin)
    cached.packed_models().clear()
    run = run_of(0, architecture="gpt", vocab_size=3)
    writing = cached.writing_model(run)
    assert (writing is cached.model(run)) is not packs
    assert cached.writing_model(run) is writing
    cached.packed_models().clear()
