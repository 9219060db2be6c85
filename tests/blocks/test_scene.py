"""The picture of a pass shows what passed, whatever the model."""

from functools import lru_cache

import numpy as np
import pytest
import torch
from drawn_configs import drawn, said
from toy import scramble

from blocks import PRESETS, ModelConfig, build, record
from blocks.inspection import scene_moves
from blocks.inspection.scene import BUDGET, MOST_KEPT, MOST_SENT, most_drawn, opened_layers, scene
from blocks.inspection.scene import most_tokens as scene_most
from blocks.inspection.scene_cell import cell_facts
from blocks.inspection.scene_facts import move_facts
from blocks.inspection.scene_matrix import MASKED, ZERO, Matrix
from blocks.inspection.scene_moves import Move, MoveKind, layer_path, stacks
from blocks.model.kinds import Architecture
from blocks.model.masks import MaskConfig, MaskKind
from blocks.model.models import Model
from blocks.observe.recording import Recording
from blocks.observe.run import Input, Run
from blocks.observe.wiring import wiring

N_TOKENS = 6
INSIDE = {MoveKind.SCORES, MoveKind.SOFTMAX}


def run_of(config: ModelConfig, n: int = N_TOKENS) -> Run:
    text = Input(tokens=tuple(map(str, range(n))), token_ids=tuple(i % 7 for i in range(n)))
    target = Input(tokens=("a", "b", "c"), token_ids=(1, 2, 3))
    is_two = config.architecture is Architecture.ENCODER_DECODER
    mask = MaskKind.CAUSAL if config.architecture.generates else MaskKind.NONE
    mask_config = MaskConfig(mask_kind=mask)
    return Run(config=config, input=text, target=target if is_two else None, mask=mask_config)


@lru_cache(maxsize=4)
def case(seed: int) -> tuple[Run, Model, Recording]:
    """A model of any kind, and all that passes when nothing but its probes is asked."""
    run = run_of(drawn(seed))
    model = scramble(build(run.config))
    return run, model, record(model, run.values(), mask=run.build_mask())


def assert_shows(matrix: Matrix, exact: torch.Tensor, about: str) -> None:
    """Each number within half a step of the exact one, or masked."""
    exact = exact[0] if exact.ndim == 4 else exact[:1]
    true = exact[..., : matrix.codes.shape[-1]].double().numpy()
    seen = matrix.codes != MASKED
    # A step is float32, and so is what passed: rounding comes on top.
    room = matrix.steps[..., None].astype(float) * (0.5 + 1e-3)
    assert (np.abs(matrix.values - true) <= room)[seen].all(), about


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.thinned
def test_every_number_is_that_of_the_recording(seed: int):
    run, model, seen = case(seed)
    found = scene(run, model, opened_layers(run, 0), N_TOKENS - 1)
    for move in found.moves:
        if move.path not in found.matrices:
            continue
        matrix = found.matrices[move.path]
        exact = seen.tensors.get(move.path, found.seen.tensors.get(move.path))
        if move.kind is MoveKind.SCORES:  # of every pair, before the mask
            hidden = torch.isinf(exact[0]).numpy()
            exact = exact.masked_fill(exact.isinf(), 0)
            kept = Matrix(np.where(hidden, MASKED, matrix.codes), *list(vars(matrix).values())[1:])
            assert_shows(kept, exact, said(run.config))
        else:
            assert_shows(matrix, exact, f"{move.path} {said(run.config)}")
        if move.kind is MoveKind.SOFTMAX:
            assert not exact[0].numpy()[matrix.codes == MASKED].any(), said(run.config)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.thinned
def test_each_move_has_its_numbers_and_no_stage_is_left_out(seed: int):
    run, model, seen = case(seed)
    found = scene(run, model, opened_layers(run, 0), N_TOKENS - 1)
    stages = {path for path in seen.stages if not path.endswith(("resid_pre", "embedding_norm"))}
    drawn_paths = {move.path for move in found.moves}
    assert {path for path in stages if "mtp" not in path} <= drawn_paths, said(run.config)
    for move in found.moves:
        facts = move_facts(found, run, move, 0, 2)
        assert np.isfinite([facts.before, facts.after, facts.number]).all(), said(run.config)
        if move.kind is MoveKind.SOFTMAX:
            assert facts.number == pytest.approx(
                float(seen.tensors[move.path][0, 0, 2].max()), rel=1e-5
            )
        if move.kind is MoveKind.MIX:  # what it may not read is not counted
            row = seen.tensors[move.path.replace("head_out", "pattern")][0, 0, 2]
            assert facts.n <= facts.of == int((row > 0).sum()), said(run.config)


def test_every_preset_has_a_scene_in_which_each_move_reads_what_came_before():
    for name, config in PRESETS.items():
        every = [layer_path(i, stack) for stack, n in stacks(config).items() for i in range(n)]
        for opened in (every[:1], every):
            passed: set[str] = set()
            for move in scene_moves.moves(config, opened):
                assert {*move.reads} <= passed, (name, move)
                passed.add(move.path)
            for stack, n_layers in stacks(config).items():
                steps = wiring(config, n_layers - 1, stack=stack)
                assert {layer_path(n_layers - 1, stack) + s.stage for s in steps[1:]} <= passed


def small(config: ModelConfig, **sizes: int) -> ModelConfig:
    return config.replace(vocab_size=64, **sizes)


@pytest.mark.parametrize(
    ("config", "n_opened"),
    [
        (ModelConfig(architecture="gpt", n_layers=4, d_model=128, n_heads=4, vocab_size=64), 4),
        (small(PRESETS["smollm2-135m"], d_ff=64), 1),
    ],
)
def test_a_scene_is_small_enough_to_send(config: ModelConfig, n_opened: int):
    run = run_of(config, 24)
    opened = opened_layers(run, 3)
    assert len(opened) == n_opened and "layers.3." in opened
    found = scene(run, build(config), opened, 23)
    assert found.n_bytes < 300_000 - 40_000  # and the words, in JSON
    assert BUDGET < 300_000


def test_a_text_may_be_as_long_as_its_numbers_have_room():
    config = ModelConfig(architecture="gpt", n_layers=2, d_model=16, n_heads=2, vocab_size=8)
    assert scene_most(PRESETS["smollm2-135m"]) < 300 < scene_most(config)
    n = 40
    found = scene(run_of(config, n), build(config), opened_layers(run_of(config, n), 0), 0)
    assert found.seen.kept_bytes < 2 * MOST_KEPT * n / scene_most(config)


def test_of_a_long_text_the_tokens_before_the_pinned_one_are_drawn():
    run = run_of(ModelConfig(architecture="gpt", n_layers=1, d_model=16, n_heads=2), 200)
    found = scene(run, build(run.config), opened_layers(run, 0), 150)
    assert found.windows[""] == slice(23, 151)
    assert found.matrices["layers.0.pattern"].codes.shape == (2, 128, 128)
    exact = run.record(build(run.config)).pattern(0)[0, :, 23:151, 23:151]
    assert_shows(found.matrices["layers.0.pattern"], exact[None], "")


def test_of_wide_rows_any_feature_can_be_drawn():
    run = run_of(ModelConfig(architecture="gpt", n_layers=1, d_model=100, n_heads=2), 33)
    model = build(run.config)
    found = scene(run, model, opened_layers(run, 0), 32, first=50)
    drawn = found.matrices["layers.0.resid_mid"]
    assert (drawn.first, drawn.of) == (36, 100)  # the last 64
    exact = run.record(model).tensor("resid_mid", 0)
    assert_shows(drawn, exact[..., 36:], "")
    facts = cell_facts(found, model, "layers.0.resid_mid", 0, 2, 5)
    assert facts is not None and facts.column == 41
    assert facts.exact == pytest.approx(float(exact[0, 2, 41]), rel=1e-6)


def test_one_byte_holds_a_number_to_half_a_step_of_its_row():
    config = ModelConfig(architecture="gpt", n_layers=1, d_model=16, n_heads=2)
    run = run_of(config)
    found = scene(run, build(config), opened_layers(run, 0), 0)
    codes = found.matrices["embedding"].codes
    assert codes.dtype == np.uint8 and codes.max() <= 2 * ZERO
    assert isinstance(found.moves[0], Move) and found.moves[0].kind is MoveKind.EMBED


@pytest.mark.parametrize("seed", range(0, 20, 2))
def test_a_number_written_out_is_the_one_that_passed(seed: int):
    run, model, seen = case(seed)
    found = scene(run, model, opened_layers(run, 0), N_TOKENS - 1)
    for move in found.moves:
        if move.path not in found.matrices:
            continue
        facts = cell_facts(found, model, move.path, 1, 2, 0)
        exact = seen.tensors.get(move.path, found.seen.tensors.get(move.path))[0]
        exact = exact if exact.ndim == 2 else exact[len(exact) // run.config.n_heads]
        assert facts is not None
        if not (facts.is_masked and move.kind is MoveKind.SCORES):
            assert facts.exact == pytest.approx(float(exact[2, 0]), rel=1e-4, abs=1e-6), move
        if facts.softmax is not None:
            assert facts.softmax.weight == pytest.approx(facts.exact, rel=1e-3)
        if (made := facts.projected) and move.kind in (MoveKind.JOIN, MoveKind.NARROW):
            scale = run.config.scales.residual_multiplier
            assert scale * made.total == pytest.approx(facts.exact, rel=1e-3, abs=1e-5), move
        if made and move.stage == "v" and not run.config.is_latent:
            assert made.total == pytest.approx(facts.exact, rel=1e-3, abs=1e-5), move
        if facts.added:
            assert sum(facts.added) == pytest.approx(facts.exact, rel=1e-3, abs=1e-5)


def test_of_a_deep_model_fewer_tokens_are_drawn_and_a_scene_stays_small():
    config = small(PRESETS["smollm2-135m"], d_ff=64, n_layers=8)
    n = most_drawn(config)
    assert most_drawn(PRESETS["smollm2-135m"]) < n
    found = scene(run_of(config, n), build(config), opened_layers(run_of(config, n), 0), n - 1)
    assert found.n_bytes < 1.2 * MOST_SENT
