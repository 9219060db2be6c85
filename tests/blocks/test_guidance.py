"""What a student takes from inside its teacher, against torch written out."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F  # noqa: N812
from torch.utils.flop_counter import FlopCounterMode
from toy import assert_near
from training_toy import toy_spec

from blocks import ConfigError, ModelConfig, build
from blocks.model.kinds import Architecture
from blocks.model.randomness import generator
from blocks.observe import record
from blocks.text.numbers import NumberTokenizer
from blocks.training.checkpoint import load, save
from blocks.training.comparison import differences
from blocks.training.distillation import (
    Guidance,
    Pair,
    attention_loss,
    guidance_flops,
    hidden_loss,
    holds_token,
    layer_map,
    layer_pairs,
    n_relation_heads,
    relation,
)
from blocks.training.loop import Training
from blocks.training.memory import memory_fault, teacher_bytes
from blocks.training.recipe import Recipe
from blocks.training.spec import TrainingSpec
from blocks.training.task import Batch
from blocks.training.tasks import TaskConfig, TaskKind, build_task
from blocks.training.teaching import (
    AttentionTarget,
    Distillation,
    Teacher,
    Teaching,
    shipped_teacher,
    teaching_faults,
)
from blocks.weights.model_file import Card, ModelFile
from blocks.weights.tensors import read_weights

BOTH = Distillation(hidden_weight=1.0, attention_weight=1.0)
RELATED = replace(BOTH, attention_target=AttentionTarget.RELATIONS)
PAIRS = TaskConfig(kind=TaskKind.COPY, seq_len=8, architecture=Architecture.ENCODER_DECODER)


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=generator(seed, "guidance"))


def saved(config: ModelConfig, folder) -> Teacher:
    """A teacher of these sizes with weights of its own, in a file."""
    card = Card(
        task="copy",
        recipe={},
        seed=1,
        n_steps=0,
        seconds=0,
        held_out_loss=None,
        score=None,
        score_name="",
    )
    tensors = read_weights(build(config, seed=1))
    file = folder / f"{hash(config)}.safetensors"
    whole = ModelFile(config, NumberTokenizer(config.vocab_size), card, tensors)
    file.write_bytes(whole.to_bytes(torch.float32))
    return Teacher(name="own", config=config, file=file)


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A training of a student of such sizes by a teacher of others."""
    folder = tmp_path_factory.mktemp("teachers")

    def of(how: Distillation, teacher: dict | None = None, **student) -> Training:
        spec = toy_spec(dropout=0.0, **student)
        config = spec.config.replace(**(teacher or {}))
        return Training(replace(spec, teaching=Teaching(teacher=saved(config, folder), how=how)))

    return of


def of_pairs(folder, how: Distillation) -> Training:
    task = build_task(PAIRS)
    config = ModelConfig(
        architecture=Architecture.ENCODER_DECODER,
        vocab_size=task.vocab_size,
        max_seq_len=task.seq_len,
        **{"n_layers": 1, "n_decoder_layers": 1, "d_model": 16, "n_heads": 2},
    )
    teacher = saved(config.replace(n_layers=2, n_decoder_layers=3), folder)
    recipe = Recipe(n_steps=2, warmup_steps=0, batch_size=4, n_eval_batches=1)
    teaching = Teaching(teacher=teacher, how=how)
    return Training(TrainingSpec(config=config, task=PAIRS, recipe=recipe, teaching=teaching))


def read(training: Training) -> Batch:
    """A batch that student and teacher have both read."""
    batch = training.task.batch(4, generator(0, "guidance"))
    with training.guidance.listens():
        logits = training.model(*batch.read)
    return batch, logits


def test_every_layer_learns_from_one_of_the_teacher_evenly_and_the_last_from_the_last():
    assert layer_map(3, 6) == (1, 3, 5) and layer_map(4, 12) == (2, 5, 8, 11)
    assert layer_map(2, 5) == (1, 4) and layer_map(3, 3) == (0, 1, 2)
    assert layer_map(4, 2) == (0, 0, 0, 1)
    one, other = (
        ModelConfig(architecture="encoder-decoder", n_layers=n, n_decoder_layers=n + 1)
        for n in (1, 2)
    )
    assert layer_pairs(one, other) == (
        Pair("encoder.layers.0", "encoder.layers.1"),
        Pair("decoder.layers.0", "decoder.layers.0"),
        Pair("decoder.layers.1", "decoder.layers.2"),
    )
    assert [pair.stack for pair in layer_pairs(one, other)] == ["encoder", "decoder", "decoder"]


def test_streams_are_compared_by_their_squared_distance():
    ours, theirs, is_token = drawn(3, 5, 8), drawn(3, 5, 8, seed=1), torch.ones(3, 5, dtype=bool)
    assert_near(
        hidden_loss(ours, theirs, is_token), F.mse_loss(ours, theirs) / theirs.square().mean()
    )
    is_token[1, 2:] = False
    some = F.mse_loss(ours[is_token], theirs[is_token]) / theirs[is_token].square().mean()
    assert_near(hidden_loss(ours, theirs, is_token), some)


def test_attention_is_compared_by_the_divergence_of_torch():
    ours, theirs = (drawn(3, 2, 5, 5, seed=seed).softmax(-1) for seed in (0, 1))
    is_query = torch.ones(3, 5, dtype=bool)
    of_torch = F.kl_div(ours.log(), theirs, reduction="sum") / (3 * 2 * 5)
    assert_near(attention_loss(ours, theirs, is_query), of_torch)
    is_query[0] = False
    of_torch = F.kl_div(ours[1:].log(), theirs[1:], reduction="sum") / (2 * 2 * 5)
    assert_near(attention_loss(ours, theirs, is_query), of_torch)


def test_weights_that_are_hidden_by_a_mask_give_finite_gradients():
    mask = torch.ones(5, 5, dtype=bool).tril()
    scores = drawn(1, 2, 5, 5).masked_fill(~mask, -torch.inf).requires_grad_()
    theirs = drawn(1, 2, 5, 5, seed=1).masked_fill(~mask, -torch.inf).softmax(-1)
    attention_loss(scores.softmax(-1), theirs, torch.ones(1, 5, dtype=bool)).backward()
    visible = scores.grad[..., mask]
    expected = (scores.softmax(-1) - theirs)[..., mask] / 10
    assert_near(visible, expected.detach())


def test_relations_cut_the_heads_anew():
    mask = torch.ones(5, 5, dtype=bool).tril()
    keys = drawn(3, 2, 5, 8)
    rows = keys.transpose(1, 2).reshape(3, 5, 16)  # heads side by side
    by_hand = []
    for part in rows.split(4, -1):
        scores = torch.einsum("bqd,bkd->bqk", part, part) / 4**0.5
        by_hand.append(scores.masked_fill(~mask, -torch.inf).softmax(-1))
    assert_near(relation(keys, 4, mask), torch.stack(by_hand, 1))
    assert n_relation_heads(drawn(1, 2, 5, 8), drawn(1, 4, 5, 8)) == 4
    assert n_relation_heads(drawn(1, 3, 5, 4), drawn(1, 4, 5, 4)) == 4
    assert n_relation_heads(drawn(1, 1, 5, 7), drawn(1, 4, 5, 4)) == 1


@pytest.mark.parametrize("how", [BOTH, RELATED])
def test_a_student_that_equals_its_teacher_has_nothing_to_learn_from_inside(taught, how):
    training = taught(replace(how, teacher_share=1.0))
    training.model.load_state_dict(training.guidance.held[0].state_dict())
    batch, logits = read(training)
    assert abs(training.guidance.loss(logits, batch)) < 1e-6
    other = taught(how)
    assert other.guidance.loss(read(other)[1], batch) > 0.1


@pytest.mark.parametrize(
    ("how", "student"),
    [(BOTH, {"n_layers": 1}), (BOTH, {"d_model": 8}), (RELATED, {"d_model": 8, "n_heads": 1})],
)
def test_the_loss_is_the_sum_of_its_parts_and_teaches_the_student_alone(taught, how, student):
    sizes = {"d_model": 16, "n_heads": 2, "n_layers": 3, "d_ff": 32}
    training = taught(replace(how, hidden_weight=2.0, attention_weight=0.5), sizes, **student)
    guidance, teacher = training.guidance, training.guidance.held[0]
    batch, logits = read(training)
    own = {name: tensor.clone() for name, tensor in guidance.own.heard.items()}
    loss = guidance.loss(logits, batch)
    seen = record(teacher, *batch.read)
    everywhere, hidden = torch.ones(4, 12, dtype=bool), []
    for i, pair in enumerate(guidance.pairs):
        stream = own[f"{pair.student}.resid_post"]
        mapped = F.linear(stream, guidance.maps[i]) if len(guidance.maps) else stream
        hidden.append(hidden_loss(mapped, seen.tensors[f"{pair.teacher}.resid_post"], everywhere))
    attention = []
    if how.compares_heads:
        for pair in guidance.pairs:
            both = own[f"{pair.student}.pattern"], seen.tensors[f"{pair.teacher}.pattern"]
            attention.append(attention_loss(*both, everywhere))
    else:
        mask, last = torch.ones(12, 12, dtype=bool).tril(), guidance.pairs[-1]
        for name in "qkv":
            both = own[f"{last.student}.{name}"], seen.tensors[f"{last.teacher}.{name}"]
            attention.append(attention_loss(*(relation(x, 2, mask) for x in both), everywhere))
    plain = taught(Distillation(), sizes, **student)
    parts = 2 * torch.stack(hidden).mean() + 0.5 * torch.stack(attention).mean()
    assert_near(loss, plain.guidance.loss(logits, batch) + parts)
    loss.backward()
    assert all(each.grad is not None for each in (*training.model.parameters(), *guidance.maps))
    assert all(each.grad is None for each in teacher.parameters())
    assert len(guidance.maps) == (len(guidance.pairs) if "d_model" in student else 0)


@pytest.mark.parametrize("how", [BOTH, RELATED])
def test_both_halves_of_an_encoder_decoder_are_taught_and_fillers_do_not_count(tmp_path, how):
    training = of_pairs(tmp_path, how)
    before = read_weights(training.model)
    for _ in range(2):
        assert torch.isfinite(torch.tensor(training.update()))
    changed = {n for n, each in read_weights(training.model).items() if not each.equal(before[n])}
    assert any("cross_attention" in name for name in changed)
    assert any(name.startswith("encoder.") for name in changed)
    stream = drawn(2, 3, 4)
    mask = torch.tensor([[True, True, False], [True, True, True]])[:, None, None].expand(2, 1, 3, 3)
    assert holds_token(mask, stream).tolist() == [[True, True, False], [True, True, True]]


def test_a_taught_training_goes_on_to_the_last_bit_with_its_maps(taught, tmp_path):
    sizes = {"d_model": 16, "n_heads": 2}
    whole = taught(BOTH, sizes, d_model=8)
    first = [whole.update() for _ in range(2)]
    save(whole.checkpoint(), tmp_path / "checkpoint")
    rest = [whole.update() for _ in range(2)]
    found = load(tmp_path / "checkpoint")
    assert len(found.maps) == 2 and len({*first, *rest}) == 4
    assert found.spec.teaching.how == BOTH and found.spec.teaching.teacher.file is None
    again = Training(whole.spec, start=found)
    assert [again.update() for _ in range(2)] == rest
    assert not any("maps" in name for name in read_weights(again.model))


def test_what_cannot_be_compared_is_said_with_its_mend(taught):
    with pytest.raises(ConfigError, match=r"per layer .2 and 4.*relations"):
        taught(BOTH, {"n_heads": 4})
    with pytest.raises(ConfigError, match=r"has 99 tokens.*same vocabulary"):
        taught(BOTH, {"vocab_size": 99})
    config = toy_spec().config.replace(position_kind="learned", max_seq_len=8)
    short = Teaching(teacher=Teacher(name="", config=config), how=BOTH)
    (fault,) = teaching_faults(config, 12, short)
    assert "at most 8 tokens" in str(ConfigError([fault]))
    (fault,) = teaching_faults(
        shipped_teacher("translator").config,
        8,
        replace(
            short,
            teacher=Teacher(
                name="", config=shipped_teacher("translator").config.replace(architecture="encoder")
            ),
        ),
    )
    assert "a different architecture (encoder)" in str(ConfigError([fault]))


def test_trainings_that_differ_in_teacher_and_origin_are_told_apart():
    alone, teacher = toy_spec(), Teacher(name="sort", config=toy_spec().config)
    other = replace(alone, teaching=Teaching(teacher=teacher, how=BOTH), origin=teacher)
    found = differences(alone, other)
    assert found["teacher"] == (None, "sort") and found["hidden_weight"] == (None, 1.0)
    assert found["origin"] == (None, "sort") and differences(other, other) == {}


@pytest.mark.parametrize("file", [None, "gone.safetensors"])
def test_a_teacher_that_is_not_here_is_said_to_be_missing(tmp_path, file):
    spec = toy_spec()
    where = None if file is None else tmp_path / file
    teacher = Teacher(name="mine", config=spec.config, file=where)
    with pytest.raises(ConfigError, match="model mine are not available here"):
        Training(replace(spec, teaching=Teaching(teacher=teacher, how=BOTH)))


def test_a_teacher_takes_memory_too(taught):
    training = taught(BOTH)
    spec = training.spec
    need = teacher_bytes(spec.teaching.teacher.config, batch_size=4, seq_len=12)
    assert need > sum(each.nbytes for each in training.guidance.held[0].parameters())
    alone = replace(spec, teaching=None)
    budget = next(n for n in range(10_000, 10_000_000, 10_000) if memory_fault(alone, n) is None)
    assert memory_fault(spec, budget) is not None and memory_fault(spec, budget + need) is None


@pytest.mark.parametrize("how", [replace(BOTH, attention_weight=0.0), RELATED])
def test_what_guidance_costs_is_what_torch_counts(taught, how):
    sizes = {"d_model": 16, "n_heads": 2}
    training = taught(how, sizes, d_model=8)
    batch = training.task.batch(4, generator(0, "guidance"))

    def flops(guidance: Guidance) -> int:
        with FlopCounterMode(display=False) as counted:
            with guidance.listens():
                logits = training.model(*batch.read)
            guidance.loss(logits, batch).backward()
        return counted.get_total_flops()

    plain = taught(Distillation(), sizes, d_model=8).guidance
    expected = 4 * guidance_flops(training.spec.config, training.spec.teaching, 12)
    assert flops(training.guidance) - flops(plain) == expected
