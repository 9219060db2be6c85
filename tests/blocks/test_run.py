"""A run, said whole."""

import dataclasses

import pytest
import torch
from toy import D_MODEL, N_HEADS, assert_near, toy

from blocks import ConfigError, build, record
from blocks.cost.memory import run_fault
from blocks.model.devices import is_out_of_memory
from blocks.model.masks import MaskConfig
from blocks.model.model_input import PADDING
from blocks.observe.run import Input, PaddingSide, Run, guarded_record
from blocks.observe.wiring import wiring

TOKENS = ("the", "cat", "sat")
INPUTS = [
    Input(tokens=tokens, batch=2, seq_len=5, n_padding=n_padding, padding_side=side)
    for tokens in (TOKENS, None, ("one",))
    for n_padding in (0, 2)
    for side in PaddingSide
]
HUGE = 2**50  # bytes


def toy_run(**changes) -> Run:
    values = {"config": toy(), "input": Input(tokens=TOKENS), "mask": MaskConfig()}
    return Run(**values | changes)


@pytest.mark.parametrize("what", [*INPUTS, Input(tokens=())])
def test_an_input_has_a_label_and_a_mark_for_each_position(what: Input):
    batch, seq_len = what.shape
    assert len(what.labels) == seq_len
    assert what.is_token().shape == (batch, seq_len)


@pytest.mark.parametrize("what", INPUTS)
def test_padding_stands_on_its_side(what: Input):
    is_padding = (~what.is_token()).tolist()
    n_tokens = what.shape[1] - what.n_padding
    tokens, padding = [False] * n_tokens, [True] * what.n_padding
    is_left = what.padding_side == "left"
    assert is_padding == [padding + tokens if is_left else tokens + padding] * what.shape[0]
    if what.tokens:
        assert [label == PADDING for label in what.labels] == is_padding[0]


@pytest.mark.parametrize("what", INPUTS)
def test_an_input_becomes_vectors(what: Input):
    x = what.vectors(D_MODEL, seed=0)
    assert x.shape == (*what.shape, D_MODEL)
    assert torch.equal(x, what.vectors(D_MODEL, seed=0))
    assert not torch.equal(x, what.vectors(D_MODEL, seed=1))


@pytest.mark.parametrize("mask_kind", ["none", "causal_padding"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("what", INPUTS)
@pytest.mark.thinned
def test_a_run_is_what_it_says(what: Input, training: bool, mask_kind: str):
    run = toy_run(input=what, training=training, mask=MaskConfig(mask_kind=mask_kind), seed=3)
    seen = run.record(run.build())
    x, mask = what.vectors(D_MODEL, seed=3), run.build_mask()
    model, training_seed = build(toy(), seed=3), 3 if training else None
    expected = record(model, x, mask=mask, keep=(), training_seed=training_seed)
    assert torch.equal(seen.output, expected.output)
    assert seen.pattern().shape == (what.shape[0], N_HEADS, what.shape[1], what.shape[1])
    assert seen.tensors.keys() == {*seen.stages} and seen.patterns.keys() == {"layers.0.pattern"}


def test_equal_runs_are_one_key():
    assert toy_run() == toy_run()
    assert len({toy_run(), toy_run(), toy_run(seed=1)}) == 2


def test_a_run_that_does_not_fit_says_so():
    assert run_fault(toy_run(), 2**20) is None
    assert "use" in str(run_fault(toy_run(), 2**10))


def no_memory_left(*_: object) -> None:
    torch.empty(HUGE, dtype=torch.uint8)


def test_the_cpu_says_that_it_has_no_memory_left():
    with pytest.raises(RuntimeError) as error:
        no_memory_left()
    assert is_out_of_memory(error.value)
    assert not is_out_of_memory(RuntimeError("shapes do not match"))


def test_running_out_of_memory_is_a_fault_with_a_mend():
    with pytest.raises(ConfigError, match="ran out of memory"):
        guarded_record(toy_run(), no_memory_left)  # type: ignore[arg-type]


def test_any_other_error_passes():
    model = toy_run().build()
    model.layers = build(toy(d_model=8)).layers
    with pytest.raises(RuntimeError, match="shape"):
        guarded_record(toy_run(), model)


def test_a_guarded_recording_is_a_recording():
    run = toy_run()
    model = run.build()
    assert torch.equal(guarded_record(run, model).output, run.record(model).output)


def test_the_number_format_is_that_of_the_run():
    run = dataclasses.replace(toy_run(), dtype="bfloat16")
    assert run.record(run.build()).output.dtype is torch.bfloat16


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich"])
@pytest.mark.parametrize("attention_only", [False, True])
def test_a_run_of_two_texts_keeps_every_stage_and_sees_no_padding(placement, attention_only):
    config = toy(
        architecture="encoder-decoder",
        norm_placement=placement,
        attention_only=attention_only,
        n_decoder_layers=2,
        vocab_size=9,
    )
    source = Input(tokens=TOKENS, token_ids=(3, 4, 5), n_padding=2)
    target = Input(tokens=("[BEGIN]", "x"), token_ids=(0, 7))
    run = toy_run(config=config, input=source, target=target, mask=MaskConfig(mask_kind="causal"))
    model = run.build()
    seen = guarded_record(run, model)
    for stack in ("encoder", "decoder"):
        first = f"{stack}.layers.0."
        names = [path.removeprefix(first) for path in seen.stages if path.startswith(first)]
        assert names == [step.stage for step in wiring(config, stack=stack)]
        assert {*names} <= {path.removeprefix(first) for path in seen.tensors}
    assert seen.tensor("cross_pattern", 1, stack="decoder").shape == (1, N_HEADS, 2, 5)
    bare = dataclasses.replace(run, input=dataclasses.replace(source, n_padding=0))
    assert_near(seen.output, guarded_record(bare, model).output)


def test_a_target_outside_the_vocabulary_or_too_long_for_memory_is_a_fault():
    config = toy(architecture="encoder-decoder", vocab_size=9)
    source = Input(tokens=TOKENS, token_ids=(3, 4, 5))
    outside = Input(tokens=("x",), token_ids=(9,))
    fault = run_fault(toy_run(config=config, input=source, target=outside), HUGE)
    assert fault.mend == {"vocab_size": 10}
    long = Input(tokens=("x",) * 4096, token_ids=(0,) * 4096)
    assert run_fault(toy_run(config=config, input=source, target=long), 2**28) is not None
