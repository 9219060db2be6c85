"""Changing something inside: what passes, what comes out, and nothing else."""

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from toy import N_HEADS, SEQ_LEN, assert_near, scramble, toy, toy_input, toys

from blocks import build, record
from blocks.inspection import output_change as of_outputs
from blocks.inspection.output_change import kl_bits, moved_most, output_change
from blocks.model.kinds import NormPlacement
from blocks.model.masks import MaskConfig
from blocks.observe.interventions import (
    Intervention,
    InterventionKind,
    Part,
    heads_of,
    part_choices,
    read_interventions,
    replacements,
    without_cross_attention,
    written,
)
from blocks.observe.run import Input, Run

ZERO, MEAN, PATCH = InterventionKind
WORDS = Input(tokens=("the", "small", "robot", "saw", "it"))
OTHERS = Input(tokens=("the", "large", "robot", "saw", "us"))


def run(*interventions: Intervention, other: Input | None = None, **changes) -> Run:
    config = toy(n_layers=2, **changes)
    changed = {"interventions": interventions, "other": other}
    return Run(config=config, input=WORDS, mask=MaskConfig(), **changed)


def output(a_run: Run) -> torch.Tensor:
    model = scramble(a_run.build())
    return a_run.record(model).output


places = st.tuples(st.sampled_from(Part), st.integers(0, 9999), st.integers(0, 99999))


@given(
    st.lists(
        st.tuples(
            places,
            st.sampled_from(InterventionKind),
            st.none() | st.integers(0, 9),
            st.sampled_from(("", "encoder", "decoder")),
        )
    )
)
def test_what_a_link_carries_is_read_back(drawn):
    made = tuple(
        Intervention(
            part=part,
            layer=layer,
            kind=kind,
            head=head if part.is_head else None,
            token=token,
            stack="decoder" if part.is_cross else stack,
        )
        for (part, layer, head), kind, token, stack in drawn
    )
    assert read_interventions(written(made)) == tuple(dict.fromkeys(made))


@pytest.mark.parametrize(
    "text",
    ["x", "head_out.0:zero", "attention_out.0.1:zero", "head_out.0.1:one", "q.0:zero", "a" * 999],
)
def test_what_is_no_change_is_refused(text: str):
    with pytest.raises(ValueError):
        read_interventions(text)


def test_the_parts_of_a_model_are_listed_once():
    """A picture asks for them in each of its cells, of which large models have thousands."""
    assert heads_of(toy()) is heads_of(toy())


@pytest.mark.parametrize("placement", NormPlacement)
def test_a_layer_that_writes_nothing_lets_the_stream_pass(placement: NormPlacement):
    off = [Intervention(part=part, layer=1) for part in (Part.ATTENTION, Part.FEED_FORWARD)]
    a_run = run(*off, norm_placement=placement, norm_kind="none")
    model = scramble(a_run.build())
    seen = a_run.record(model)
    assert_near(seen.tensor("resid_post", 1), seen.tensor("resid_post", 0), tolerance=0)


def test_all_heads_off_leave_the_bias_of_the_output_projection():
    a_run = run(*(Intervention(part=Part.HEAD, layer=0, head=head) for head in range(N_HEADS)))
    model = scramble(a_run.build())
    written_now = a_run.record(model).tensor("attention_out", 0)
    assert_near(written_now, model.layers[0].attention.out_proj.bias.expand_as(written_now))


def test_one_head_off_touches_no_other():
    model, x = scramble(build(toy())), toy_input()
    change = Intervention(part=Part.HEAD, layer=0, head=2, token=1)
    before = record(model, x).tensor("head_out")
    after = record(model, x, replace=replacements([change])).tensor("head_out")
    assert (after[:, 2, 1] == 0).all()
    moved = (before != after).nonzero()
    assert {(int(head), int(token)) for _b, head, token, _d in moved} == {(2, 1)}


def test_all_heads_at_one_token_are_changed_there():
    model, x = scramble(build(toy())), toy_input()
    before = record(model, x).tensor("head_out")
    for kind, wanted in ((ZERO, 0 * before), (MEAN, before.mean(2, keepdim=True))):
        change = Intervention(part=Part.HEAD, layer=0, token=1, kind=kind)
        after = record(model, x, replace=replacements([change])).tensor("head_out")
        assert_near(after[:, :, 1], wanted.expand_as(before)[:, :, 1])
        assert {int(token) for _b, _h, token, _d in (before != after).nonzero()} == {1}


def test_the_mean_is_the_mean_over_the_tokens():
    model, x = scramble(build(toy())), toy_input()
    change = Intervention(part=Part.ATTENTION, layer=0, kind=MEAN)
    before = record(model, x).tensor("attention_out")
    after = record(model, x, replace=replacements([change])).tensor("attention_out")
    assert_near(after, before.mean(dim=1, keepdim=True).expand_as(after))


def test_with_the_whole_stream_patched_the_other_output_comes_out():
    patch = Intervention(part=Part.STREAM, layer=1, kind=PATCH)
    other = Run(config=toy(n_layers=2), input=OTHERS, mask=MaskConfig())
    assert torch.equal(output(run(patch, other=OTHERS)), output(other))


def test_a_patch_at_one_token_changes_only_later_layers_there():
    patch = Intervention(part=Part.STREAM, layer=1, kind=PATCH, token=1)
    before, after = output(run()), output(run(patch, other=OTHERS))
    moved = (before != after).any(dim=-1)[0]
    assert moved.tolist() == [False, True, False, False, False]


def test_a_shorter_text_patches_the_tokens_it_has():
    patch = Intervention(part=Part.STREAM, layer=1, kind=PATCH)
    short = Input(tokens=OTHERS.tokens[:2])
    moved = (output(run()) != output(run(patch, other=short))).any(dim=-1)[0]
    assert moved.tolist() == [True, True, False, False, False]


def test_the_same_text_patches_nothing():
    patches = [Intervention(part=part, layer=0, kind=PATCH) for part in part_choices(toy())[1:]]
    assert torch.equal(output(run()), output(run(*patches, other=WORDS)))


def test_untouched_is_the_run_without_changes():
    touched = run(Intervention(part=Part.ATTENTION, layer=0), other=OTHERS)
    assert touched.untouched == run()
    assert not torch.equal(output(touched), output(run()))


@pytest.mark.parametrize("config", toys(attention_only=[True, False], n_layers=[1, 3]))
def test_every_part_that_can_be_switched_off_is_one_that_runs(config):
    every = heads_of(config)
    assert all(each.fits(config, SEQ_LEN) for each in every)
    model = build(config)
    seen = record(model, toy_input(), replace=replacements(every))
    assert {each.path for each in every} <= seen.tensors.keys()
    assert len(every) == config.n_layers * (N_HEADS + (1 if config.attention_only else 2))


def test_what_a_model_has_not_does_not_fit():
    config = toy(attention_only=True)
    assert not Intervention(part=Part.FEED_FORWARD, layer=0).fits(config, 5)
    assert not Intervention(part=Part.ATTENTION, layer=1).fits(config, 5)
    assert not Intervention(part=Part.HEAD, layer=0, head=N_HEADS).fits(config, 5)
    assert not Intervention(part=Part.ATTENTION, layer=0, token=5).fits(config, 5)


def test_the_change_of_an_output_against_torch():
    before, after = toy_input(1)[0], toy_input(2)[0]
    table = output_change(before, after, is_logits=True)
    p, log_q = before.softmax(-1), after.log_softmax(-1)
    theirs = (
        torch.nn.functional.kl_div(log_q, p, reduction="none").sum(-1) / torch.tensor(2.0).log()
    )
    assert_near(torch.tensor(table["kl_bits"].to_numpy()).float(), theirs)
    assert_near(kl_bits(before, after), theirs)
    assert table["top_before"].tolist() == before.argmax(-1).tolist()


def test_an_output_that_did_not_move_has_not_changed():
    x = toy_input()[0]
    table = output_change(x, x, is_logits=True)
    moved = output_change(x, -x, is_logits=True)
    assert table["kl_bits"].max() < 1e-5 * moved["kl_bits"].min() and table["relative"].max() == 0
    assert table["cosine"].min() == pytest.approx(1)


def test_the_tokens_that_moved_most_hold_the_likeliest_of_both():
    before = torch.tensor([9.0, 0.0, 0.0, 0.0])
    after = torch.tensor([0.0, 0.0, 0.0, 9.0])
    table = moved_most(before, after, 2)
    assert set(table["token_id"]) == {0, 3}
    assert sorted(table["delta_logit"]) == [-9, 9]


TWO = {"architecture": "encoder-decoder", "n_layers": 2, "n_decoder_layers": 3, "vocab_size": 9}


@pytest.mark.parametrize("attention_only", [False, True])
def test_every_part_of_both_halves_can_be_switched_off(attention_only):
    config = toy(**TWO, attention_only=attention_only)
    source, target = (Input(tokens=("x",) * n, token_ids=(3, 4, 5)[:n]) for n in (3, 2))
    whole = Run(config=config, input=source, target=target, mask=MaskConfig(mask_kind="causal"))
    model = scramble(whole.build())
    before = whole.record(model).output
    for stack, n_layers in (("encoder", 2), ("decoder", 3)):
        every = heads_of(config, stack)
        assert len(every) % n_layers == 0
        for part in every:
            assert part.fits(config, 2)
            changed = dataclasses.replace(whole, interventions=(part,)).record(model).output
            assert not torch.equal(before, changed), part


def test_without_cross_attention_the_source_is_never_read():
    config = toy(**TWO)
    off = without_cross_attention(config)
    target = Input(tokens=("x",) * 2, token_ids=(1, 2))
    outputs = []
    for ids in ((3, 4, 5), (6,)):
        source = Input(tokens=("x",) * len(ids), token_ids=ids)
        mask = MaskConfig(mask_kind="causal")
        made = Run(config=config, input=source, target=target, mask=mask, interventions=off)
        outputs.append(output_of(made))
    assert torch.equal(*outputs)


def output_of(a_run: Run) -> torch.Tensor:
    return a_run.record(scramble(a_run.build())).output


def test_a_stack_that_is_not_there_does_not_fit():
    there = without_cross_attention(toy(**TWO), [0])[0]
    assert str(there) == "decoder.cross_attention_out.0:zero"
    assert not there.fits(toy(n_layers=2), 5)
    assert not Intervention(part=Part.HEAD, layer=0, head=0).fits(toy(**TWO), 5)
    with pytest.raises(ValueError, match="cross"):
        read_interventions("encoder.cross_attention_out.0:zero")


def test_long_outputs_are_compared_some_tokens_at_a_time(monkeypatch):
    random = torch.Generator().manual_seed(0)
    before, after = torch.randn(2, 7, 5, generator=random)
    at_once = output_change(before, after, is_logits=True)
    monkeypatch.setattr(of_outputs, "AT_ONCE", 15)  # three tokens
    assert output_change(before, after, is_logits=True).equals(at_once)
