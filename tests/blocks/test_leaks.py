"""Clean models pass the leak test, every planted fault is found, and the gradient is the slope."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import assert_near, scramble, toy

from blocks import ModelConfig, build
from blocks.inspection.leaks import (
    AttentionPath,
    LeakTest,
    Verdict,
    beside,
    forbidden,
    gradients,
    known_leaks,
    moved,
    projections,
    reachable,
    rows_at_once,
    verdict,
)
from blocks.inspection.mask_faults import MaskFault, open_mask
from blocks.model.kinds import NormPlacement, PositionKind
from blocks.model.masks import MaskConfig, MaskKind, causal, everyone, painted_text, sliding_window
from blocks.observe.interventions import Intervention, InterventionKind, Part
from blocks.observe.run import Input, PaddingSide, Run

N = 6
ARCHITECTURES = ("block", "encoder", "gpt")
HOLE = painted_text(torch.rand(N, N, generator=torch.Generator().manual_seed(3)) < 0.4)


def toy_run(architecture: str = "block", mask_kind: str = "causal", **more) -> Run:
    """Six tokens, two of them padding where `n_padding` says so."""
    given_input = {
        "n_padding": more.pop("n_padding", 0),
        "padding_side": PaddingSide(more.pop("side", "right")),
    }
    n_tokens = N - given_input["n_padding"]
    if architecture == "block":
        what = Input(batch=more.pop("batch", 1), seq_len=n_tokens, **given_input)
    else:
        ids = tuple(range(1, n_tokens + 1))
        what = Input(tokens=tuple(map(str, ids)), token_ids=ids, **given_input)
    mask = MaskConfig(mask_kind=mask_kind, window_size=2, prefix_len=2, painted=HOLE)
    run_fields = {name: more.pop(name) for name in ("training", "dtype") if name in more}
    sizes = {"architecture": architecture, "vocab_size": 13, "n_layers": 2, "dropout": 0.0}
    return Run(config=toy(**sizes | more), input=what, mask=mask, **run_fields)


def model_of(run: Run) -> torch.nn.Module:
    return scramble(run.build())


def verdicts(
    test: LeakTest, model: torch.nn.Module, together: bool = True
) -> tuple[Verdict, Verdict]:
    """By the change and by the gradient."""
    n = range(test.run.input.shape[1])
    cells = forbidden(test.run)
    by_change = moved(test, model, n, together=together).T
    by_gradient = gradients(test, model, n, together=together)
    return verdict(by_change, cells, n, n), verdict(by_gradient, cells, n, n)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("residual", [True, False])
def test_what_can_be_reached_is_found_by_walking(n_layers: int, residual: bool):
    mask = torch.rand(5, 5, generator=torch.Generator().manual_seed(7)) < 0.3
    config = toy(n_layers=n_layers, residual=residual)
    found = reachable(mask, config)
    for start in range(5):
        held = {start}
        for _layer in range(n_layers):
            seen = {key for query in held for key in range(5) if mask[query, key]}
            asking = {query for query in held if residual or mask[query].sum() > 1}
            held = seen | asking
        assert {int(key) for key in found[start].nonzero()} == held


def test_a_window_reaches_further_with_every_layer():
    for n_layers in (1, 2, 3):
        found = reachable(sliding_window(9, 3), toy(n_layers=n_layers))
        assert torch.equal(found, sliding_window(9, 1 + 2 * n_layers))


def test_beside_attention_a_token_keeps_its_own():
    blind = ~everyone(3)
    config = toy(residual=False, norm_placement="parallel")
    assert torch.equal(reachable(blind, config), torch.eye(3, dtype=torch.bool))
    assert not reachable(blind, toy(residual=False)).any()


@pytest.mark.parametrize("path", AttentionPath)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("mask_kind", MaskKind)
@pytest.mark.thinned
def test_a_clean_model_passes(mask_kind: str, architecture: str, path: AttentionPath):
    for side in ("left", "right"):
        run = toy_run(architecture, mask_kind, n_padding=2, side=side)
        model = model_of(run)
        for found in verdicts(LeakTest(run=run, path=path), model):
            assert found.n_leaking == found.n_unknown == 0
            assert found.is_clean == forbidden(run).any()
        assert beside(LeakTest(run=run, path=path), model) == 0


@pytest.mark.parametrize("path", AttentionPath)
def test_what_is_allowed_does_move(path: AttentionPath):
    run = toy_run("gpt")
    test, model = LeakTest(run=run, path=path), model_of(run)
    allowed = ~forbidden(run)
    assert np.array_equal(allowed, causal(N).numpy())
    assert (moved(test, model, range(N), together=True).T[allowed] > 0).all()
    assert (gradients(test, model, range(N), together=True)[allowed] > 0).all()


WHERE_IT_MATTERS = {
    MaskFault.WRONG_AXIS: [{"mask_kind": kind} for kind in ("causal", "sliding_window", "painted")],
    MaskFault.AFTER_SOFTMAX: [{"mask_kind": kind} for kind in ("causal", "prefix", "painted")],
    MaskFault.OFF_BY_ONE: [{"mask_kind": kind} for kind in ("causal", "sliding_window", "prefix")],
    MaskFault.PADDING_ATTENDED: [
        {"mask_kind": "padding", "n_padding": 2},
        {"mask_kind": "causal_padding", "n_padding": 2, "side": "left"},
    ],
    MaskFault.ADDITIVE: [{"mask_kind": "causal_padding", "n_padding": 2, "side": "left"}],
}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("fault", WHERE_IT_MATTERS)
def test_every_planted_fault_is_found(fault: MaskFault, architecture: str):
    for setting in WHERE_IT_MATTERS[fault]:
        run = toy_run(architecture, **setting)
        for found in verdicts(LeakTest(run=run, fault=fault), model_of(run)):
            assert found.n_leaking > 0 and found.worst > 0
            assert forbidden(run)[found.output, found.token]


def test_off_by_one_names_the_next_token():
    run = toy_run("gpt", n_layers=1)
    by_change, _by_gradient = verdicts(LeakTest(run=run, fault=MaskFault.OFF_BY_ONE), model_of(run))
    assert by_change.n_leaking == N - 1
    assert by_change.token == by_change.output + 1


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_minus_1e4_leaks_where_scores_are_large(architecture: str):
    run = toy_run(architecture)
    model = run.build()
    leaks = {}
    for scale, fault in product((1, 10**7), (MaskFault.NONE, MaskFault.ADDITIVE)):
        found, _slope = verdicts(LeakTest(run=run, fault=fault, score_scale=scale), model)
        leaks[scale, fault] = found.n_leaking > 0
    assert leaks == {key: key == (10**7, MaskFault.ADDITIVE) for key in leaks}


def test_batch_norm_in_training_is_a_leak_and_named():
    run = toy_run(norm_kind="batchnorm", training=True, batch=2)
    test, model = LeakTest(run=run), model_of(run)
    assert beside(test, model) > 0
    assert all(found.n_leaking > 0 for found in verdicts(test, model, together=False))
    assert known_leaks(run) == ("batchnorm",)
    still = toy_run(norm_kind="batchnorm", batch=2)
    assert beside(LeakTest(run=still), model) == 0 and known_leaks(still) == ()
    assert all(found.is_clean for found in verdicts(LeakTest(run=still), model))


def test_writing_the_mean_of_all_tokens_is_a_leak_and_named():
    change = Intervention(part=Part.ATTENTION, layer=0, kind=InterventionKind.MEAN)
    clean = toy_run()
    run = Run(config=clean.config, input=clean.input, mask=clean.mask, interventions=(change,))
    assert all(found.n_leaking > 0 for found in verdicts(LeakTest(run=run), model_of(run)))
    assert known_leaks(run) == ("mean",)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("path", AttentionPath)
def test_half_precision_holds_too(path: AttentionPath, dtype: str):
    run = toy_run("gpt", dtype=dtype)
    found = verdicts(LeakTest(run=run, path=path), run.build())
    assert all(each.is_clean for each in found)


def test_alone_or_together_is_the_same():
    run = toy_run("gpt")
    test, model = LeakTest(run=run), model_of(run)
    for measure in (moved, gradients):
        together = measure(test, model, range(N), together=True)
        alone = measure(test, model, range(N), together=False)
        assert_near(together, alone, tolerance=1e-3)


NORMS_BY_TOKEN = ("layernorm", "rmsnorm", "none")


@st.composite
def runs(draw, norm_kinds: Sequence[str] = (*NORMS_BY_TOKEN, "batchnorm")) -> Run:
    """Small configurations of every kind, batch norm in training left out."""
    n_heads = draw(st.sampled_from([1, 2, 4]))
    return toy_run(
        draw(st.sampled_from(ARCHITECTURES)),
        draw(st.sampled_from(list(MaskKind))),
        n_padding=draw(st.sampled_from([0, 2])),
        side=draw(st.sampled_from(["left", "right"])),
        n_layers=draw(st.integers(1, 3)),
        n_heads=n_heads,
        n_kv_heads=draw(st.sampled_from([1, n_heads])),
        norm_placement=draw(st.sampled_from(list(NormPlacement))),
        norm_kind=draw(st.sampled_from(norm_kinds)),
        position_kind=draw(st.sampled_from(list(PositionKind))),
        residual=draw(st.booleans()),
    )


@settings(max_examples=30)
@given(runs(), st.sampled_from(list(AttentionPath)))
def test_what_is_forbidden_is_exactly_zero(run: Run, path: AttentionPath):
    for found in verdicts(LeakTest(run=run, path=path), run.build()):
        assert found.n_leaking == found.n_unknown == 0


@settings(max_examples=20)
@given(runs(NORMS_BY_TOKEN), st.sampled_from([0.1, 0.5]))
def test_dropout_is_no_leak(run: Run, dropout: float):
    changed = Run(
        config=run.config.replace(dropout=dropout), input=run.input, mask=run.mask, training=True
    )
    for found in verdicts(LeakTest(run=changed), changed.build()):
        assert found.n_leaking == found.n_unknown == 0


@pytest.mark.parametrize("path", AttentionPath)
@pytest.mark.parametrize("norm_placement", ["pre", "post"])
def test_the_gradient_is_the_slope(norm_placement: str, path: AttentionPath):
    run = toy_run(norm_placement=norm_placement, dtype="float64")
    test, model = LeakTest(run=run, path=path), run.build()
    mask, x, step = open_mask(run), run.values(), 1e-5
    nudges = step * torch.eye(x[0].numel(), dtype=x.dtype).view(-1, *x[0].shape)
    with torch.no_grad():
        changes = (model(x + nudges, mask) - model(x - nudges, mask)) / (2 * step)
    slopes = changes.view(*x[0].shape, *x[0].shape).permute(2, 0, 3, 1)
    directions = projections(test, x.shape[-1]).double()
    projected = torch.einsum("rf,ijfd->rijd", directions, slopes)
    expected = projected.square().sum(dim=-1).mean(dim=0).sqrt()
    found = gradients(test, model, range(N), together=True)
    assert_near(found, expected)


def test_parameters_keep_no_gradient():
    run = toy_run("gpt")
    model = model_of(run)
    gradients(LeakTest(run=run), model, range(N), together=True)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_only_some_tokens_are_asked_for():
    run = toy_run("gpt")
    test, model = LeakTest(run=run, fault=MaskFault.OFF_BY_ONE), model_of(run)
    tokens, cells = (1, 4), forbidden(run)
    found = verdict(moved(test, model, tokens, together=True).T, cells[:, tokens], range(N), tokens)
    assert found.n_forbidden == cells[:, tokens].sum() == 1 + 4
    assert found.token in tokens


def test_what_is_no_number_is_counted_and_never_the_worst():
    values = np.array([[0.0, np.nan], [3.0, 0.0]])
    found = verdict(values, np.array([[False, True], [True, False]]), (0, 1), (0, 1))
    assert (found.n_unknown, found.worst, found.output, found.token) == (1, 3.0, 1, 0)
    assert not found.is_clean


def test_the_least_number_above_zero_is_a_leak():
    values = np.array([[0.0, 1e-9], [0.0, 0.0]])
    found = verdict(values, np.array([[False, True], [False, False]]), (0, 1), (0, 1))
    assert (found.n_leaking, found.worst, found.is_clean) == (1, 1e-9, False)


def test_a_step_takes_as_many_sequences_as_a_small_machine_can():
    small = rows_at_once(toy_run("gpt"))
    config = ModelConfig.from_flat({"architecture": "gpt", "d_model": 768, "n_layers": 12})
    ids = tuple(range(200))
    large = Run(config=config, input=Input(tokens=("x",) * 200, token_ids=ids), mask=MaskConfig())
    assert small == 64 and rows_at_once(large) == 1


def test_the_model_is_given_back_as_it_was(process_state_kept: None):
    run = toy_run()
    model = build(run.config)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    verdicts(LeakTest(run=run, fault=MaskFault.WRONG_AXIS), model)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
