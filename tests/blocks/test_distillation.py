"""Students and their teacher: the loss of the paper, sizes, cost, and what the series tells."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from daily import some_daily
from torch.nn import functional as F  # noqa: N812
from torch.utils.flop_counter import FlopCounterMode
from toy import assert_near

from blocks import ConfigError, build
from blocks.cost.timing import Times
from blocks.efficiency import teaching_time
from blocks.efficiency.distillation import (
    COUNTED,
    Shape,
    Student,
    Students,
    StudentSize,
    TimeRatio,
    Way,
    calibrated_teacher,
    longer,
    student_config,
    student_spec,
    teacher_faults,
)
from blocks.efficiency.distillation_facts import distillation_facts
from blocks.efficiency.recorded_students import FILE, HOWS, recorded_students
from blocks.efficiency.teaching_time import TeachingTime
from blocks.model.devices import device_name
from blocks.model.randomness import generator
from blocks.model.shipped import rows_in
from blocks.text.numbers import NumberTokenizer
from blocks.training.distillation import distillation_loss
from blocks.training.loop import Training
from blocks.training.loss import cross_entropy
from blocks.training.task import IGNORED
from blocks.training.teaching import Distillation, Teacher, Teaching, shipped_teacher
from blocks.weights.model_file import ModelFile, trained
from blocks.weights.pocket import pocket_names
from blocks.work.plain import from_line, to_line

SORT = calibrated_teacher(shipped_teacher("sort"))
HALF = StudentSize.HALF_LAYERS
TAUGHT_BY_SORT = Teaching(teacher=shipped_teacher("sort"), how=Distillation())


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=generator(seed, "test"))


def targets() -> torch.Tensor:
    found = torch.randint(0, 7, (3, 5), generator=generator(1, "test"))
    found[0, :2] = IGNORED
    return found


@pytest.mark.parametrize("temperature", [1.0, 2.0, 8.0])
def test_the_teachers_part_is_the_divergence_of_torch(temperature: float):
    student, teacher, asked = drawn(3, 5, 7), drawn(3, 5, 7, seed=2), targets() != IGNORED
    how = Distillation(temperature=temperature, teacher_share=0.25)
    q = F.softmax(teacher[asked] / temperature, -1)
    p = F.log_softmax(student[asked] / temperature, -1)
    soft = torch.nn.KLDivLoss(reduction="batchmean")(p, q) * temperature**2
    hard = F.cross_entropy(student.flatten(0, 1), targets().flatten(), ignore_index=IGNORED)
    assert_near(distillation_loss(student, teacher, targets(), how), 0.75 * hard + 0.25 * soft)


@pytest.mark.parametrize("smoothing", [0.1, 0.4])
def test_labels_are_smoothed_beside_a_teacher_and_the_teacher_is_not(smoothing: float):
    student, teacher, asked = drawn(3, 5, 7), drawn(3, 5, 7, seed=2), targets() != IGNORED
    how = Distillation(temperature=3.0, teacher_share=0.25)
    p, q = F.log_softmax(student[asked] / 3, -1), F.softmax(teacher[asked] / 3, -1)
    soft = 9 * F.kl_div(p, q, reduction="batchmean")
    hard = F.cross_entropy(student[asked], targets()[asked], label_smoothing=smoothing)
    ours = distillation_loss(student, teacher, targets(), how, label_smoothing=smoothing)
    assert_near(ours, 0.75 * hard + 0.25 * soft)


def test_a_training_smooths_its_labels_beside_a_teacher():
    spec = student_spec(SORT, HALF, n_updates=1, teaching=TAUGHT_BY_SORT)
    training = Training(replace(spec, recipe=spec.recipe.replace(label_smoothing=0.3)))
    batch = training.task.batch(4, generator(0, "test"))
    with training.guidance.listens():
        logits = training.model(*batch.read)
    said = training.guidance.held[0](*batch.read).detach()
    how = TAUGHT_BY_SORT.how
    expected = distillation_loss(logits, said, batch.targets, how, label_smoothing=0.3)
    assert_near(training.to_update.loss(logits, batch), expected)


def test_without_a_teachers_share_it_is_cross_entropy_and_a_copy_of_the_teacher_has_no_loss():
    logits, teacher = drawn(3, 5, 7).requires_grad_(), drawn(3, 5, 7, seed=2)
    alone = distillation_loss(logits, teacher, targets(), Distillation(teacher_share=0.0))
    assert_near(alone, cross_entropy(logits, targets()))
    whole = Distillation(teacher_share=1.0)
    assert abs(distillation_loss(teacher, teacher, targets(), whole)) <= 1e-6
    distillation_loss(logits, teacher, targets(), whole).backward()
    assert not logits.grad[targets() == IGNORED].any()


def test_at_a_high_temperature_the_logits_themselves_are_matched():
    """Hinton et al. 2015, equation 4: with logits of mean 0 the gradient tends to (z − v) / N."""
    z, v = (each - each.mean(-1, keepdim=True) for each in (drawn(1, 1, 7), drawn(1, 1, 7, seed=2)))
    z.requires_grad_()
    how = Distillation(temperature=64.0, teacher_share=1.0)
    distillation_loss(z, v, torch.zeros(1, 1, dtype=torch.long), how).backward()
    assert ((z.grad - (z - v) / 7).abs().max() / z.grad.abs().max()).item() < 0.1


def test_a_student_with_no_share_of_its_teacher_is_one_that_learns_alone():
    teaching = Teaching(teacher=shipped_teacher("sort"), how=Distillation(teacher_share=0.0))
    taught = Training(student_spec(SORT, HALF, n_updates=3, seed=3, teaching=teaching))
    alone = Training(student_spec(SORT, HALF, n_updates=3, seed=3))
    for _ in range(3):
        taught.update()
        alone.update()
    for ours, theirs in zip(taught.model.parameters(), alone.model.parameters(), strict=True):
        assert_near(ours, theirs)


EACH_SIZE_ONCE = [("sort", HALF), ("translator", StudentSize.HALF_BOTH)]
EACH_SIZE_ONCE += [("induction", StudentSize.HALF_WIDTH)]


@pytest.mark.parametrize(
    ("name", "size"), some_daily(product(pocket_names(), StudentSize), daily=EACH_SIZE_ONCE)
)
def test_every_shipped_model_has_a_smaller_student_that_reads_its_texts(
    name: str, size: StudentSize
):
    teacher = calibrated_teacher(shipped_teacher(name))
    config = student_config(teacher.spec.config, size)
    assert config.vocab_size == teacher.spec.config.vocab_size
    is_smaller = {
        StudentSize.HALF_LAYERS: config.n_layers < teacher.spec.config.n_layers,
        StudentSize.HALF_WIDTH: config.d_model < teacher.spec.config.d_model,
        StudentSize.HALF_BOTH: config.n_layers * config.d_model
        < teacher.spec.config.n_layers * teacher.spec.config.d_model / 2,
    }
    assert is_smaller[size]
    batch = teacher.examiner.batches[0]
    assert build(config)(*batch.read).shape == (*batch.targets.shape, config.vocab_size)


@pytest.mark.parametrize("name", ["sort", "translator", "stories-mtp"])
def test_a_student_may_have_any_shape(name: str):
    teacher = calibrated_teacher(shipped_teacher(name)).spec.config
    config = student_config(teacher, Shape(n_layers=3, d_model=48, n_heads=6, d_ff=40))
    assert (config.n_layers, config.d_model, config.n_heads, config.d_ff) == (3, 48, 6, 40)
    assert config.n_decoder_layers == (3 if name == "translator" else 0)
    assert (config.d_head, config.n_kv_heads) == (8, 6)
    assert config.vocab_size == teacher.vocab_size
    mended = student_config(teacher, Shape(n_layers=1, d_model=48, n_heads=7, d_ff=40))
    assert mended.d_model == 48 and mended.n_heads in (6, 8)


def test_the_longer_training_costs_what_the_teacher_costs():
    size = StudentSize.HALF_BOTH
    batch = SORT.examiner.batches[0]
    small = build(student_config(SORT.spec.config, size))
    with FlopCounterMode(display=False) as once:
        cross_entropy(small(*batch.read), batch.targets).backward()
    with FlopCounterMode(display=False) as teacher, torch.no_grad():
        trained(SORT.file.config, SORT.file.tensors)(*batch.read)
    ratio = 1 + teacher.get_total_flops() / once.get_total_flops()
    assert longer(SORT, size, TAUGHT_BY_SORT, 10_000) == pytest.approx(10_000 * ratio, rel=0.02)


def test_another_model_of_the_same_task_and_tokens_may_teach():
    sorter, other = shipped_teacher("sort"), student_config(SORT.spec.config, HALF)
    series = Students(teacher=sorter, pattern=sorter, seeds=(0,), n_updates=2)
    plain = Students(teacher=sorter, seeds=(0,), n_updates=2)
    assert [*series.results(())] == [*plain.results(())] and from_line(to_line(series)) == series
    teaching = Teaching(teacher=Teacher(name="small", config=other), how=Distillation())
    assert longer(SORT, HALF, teaching, 1000) < longer(SORT, HALF, TAUGHT_BY_SORT, 1000)
    assert [*teacher_faults(SORT, sorter)] == []
    (fault,) = teacher_faults(SORT, shipped_teacher("induction"))
    assert "task (induction) is not" in str(fault)


def test_a_teacher_of_other_tokens_is_refused(tmp_path):
    file = SORT.file
    place = tmp_path / "odd.safetensors"
    tokenizer = NumberTokenizer(file.config.vocab_size)
    place.write_bytes(ModelFile(file.config, tokenizer, file.card, file.tensors).to_bytes())
    (fault,) = teacher_faults(SORT, Teacher(name="odd", config=file.config, file=place))
    assert "a different vocabulary" in str(fault)


def test_a_series_goes_on_where_it_was_left_and_travels_as_lines():
    small = Shape(n_layers=1, d_model=16, n_heads=2, d_ff=16)
    series = Students(teacher=shipped_teacher("sort"), size=small, seeds=(0, 1), n_updates=2)
    assert from_line(to_line(series)) == series
    whole = [*series.results(())]
    assert [(each.seed, each.way) for each in whole] == [(s, w) for s in (0, 1) for w in COUNTED]
    rest = [*series.results(whole[:4])]
    assert [(each.seed, each.way) for each in rest] == [(1, Way.ALONE), (1, Way.ALONE_LONGER)]
    assert rest == whole[4:]
    assert from_line(to_line(whole[0])) == whole[0]


def test_alone_for_as_long_has_as_many_updates_as_fit_into_the_time():
    small = Shape(n_layers=1, d_model=16, n_heads=2, d_ff=16)
    plain = Students(teacher=shipped_teacher("sort"), size=small, seeds=(0,), n_updates=2)
    series = replace(plain, time=TimeRatio(1.5, "a processor"))
    assert from_line(to_line(series)) == series
    *counted, as_long = found = [*series.results(())]
    assert counted == [*plain.results(())]
    assert as_long.way is Way.ALONE_AS_LONG and as_long.updates[-1] == 3
    spec = student_spec(SORT, small, n_updates=3)
    training = Training(spec)
    for _ in range(3):
        training.update()
    assert as_long.losses[-1] == SORT.examiner.held_out_loss(training.model, 2)
    facts = distillation_facts(SORT, SORT, small, Distillation(), tuple(found))
    assert facts.ways == tuple(Way) and facts.time_ratio == 1.5
    assert (facts.is_timed, facts.processor) == (True, "a processor")


def test_the_time_of_an_update_is_measured_with_the_teacher_and_alone(monkeypatch):
    asked = []

    def measured(works, device, *, rounds):
        asked.extend(work() for work in works)
        return Times((9.0, 3.0, 4.0, 8.0)), Times((2.0, 3.0, 8.0, 8.0))

    monkeypatch.setattr(teaching_time, "measure_in_rounds", measured)
    of = Students(teacher=shipped_teacher("sort"), size=StudentSize.HALF_BOTH)
    series = TeachingTime(of)
    (found,) = series.results(())
    assert found == TimeRatio(round(4 / 3, 2), device_name("cpu")) and series.is_timed
    taught, alone = (
        Training(student_spec(SORT, of.size, n_updates=200, teaching=each)).update()
        for each in (TAUGHT_BY_SORT, None)
    )
    assert asked == [taught, alone] and taught != alone
    assert [*series.results([found])] == [] and from_line(to_line(series)) == series


def student(way: Way, seed: int, loss: float) -> Student:
    return Student(way, seed, (0, 20), (3.0, loss), 0.5)


def test_facts_count_whole_seeds_only():
    losses = [(1.0, 1.2, 1.1), (0.9, 0.8, 1.0)]
    found = [
        student(w, i, x) for i, row in enumerate(losses) for w, x in zip(COUNTED, row, strict=True)
    ]
    found.append(student(Way.TAUGHT, 2, 0.1))
    facts = distillation_facts(SORT, SORT, HALF, Distillation(), tuple(found))
    assert facts.seeds == (0, 1) and facts.loss(Way.TAUGHT) == pytest.approx(0.95)
    assert facts.n_better(Way.ALONE) == 1 and facts.n_better(Way.ALONE_LONGER) == 2
    curve = facts.curve(Way.ALONE)
    assert (curve.least[1], curve.mean[1], curve.most[1]) == pytest.approx((0.8, 1.0, 1.2))
    assert facts.n_parameters < facts.n_teacher_parameters and facts.teacher_score > 0.99


@pytest.mark.parametrize("name", some_daily(rows_in(FILE), daily=["sort"]))
def test_recorded_students_are_those_of_now(name: str):
    teacher, how = calibrated_teacher(shipped_teacher(name)), Distillation()
    taught = {each: recorded_students(name, HALF, each) for each in HOWS}
    assert taught[HOWS[0]] and taught[HOWS[1]]
    for each in filter(taught.get, HOWS):
        facts = distillation_facts(teacher, teacher, HALF, each, taught[each])
        assert facts.seeds == (0, 1, 2, 3, 4)
        assert all(facts.helps(way) is (facts.n_better(way) >= 4) for way in facts.ways)
        n_updates = facts.n_updates(Way.TAUGHT)
        teaching = Teaching(teacher=shipped_teacher(name), how=each)
        assert facts.n_updates(Way.ALONE_LONGER) == longer(teacher, HALF, teaching, n_updates)
    begin = Training(student_spec(teacher, HALF, n_updates=n_updates)).model
    loss = teacher.examiner.held_out_loss(begin, 2)
    facts = distillation_facts(teacher, teacher, HALF, how, recorded_students(name, HALF, how))
    assert facts.of(Way.ALONE)[0].losses[0] == pytest.approx(loss, rel=1e-3)
    assert recorded_students(name, HALF, Distillation(temperature=8.0)) == ()
    assert recorded_students(name, StudentSize.HALF_BOTH, how) == ()


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": 0.0},
        {"temperature": float("nan")},
        {"teacher_share": 1.5},
        {"hidden_weight": -1.0},
        {"attention_target": "sums"},
    ],
)
def test_a_teaching_that_cannot_be_names_its_mend(values: dict[str, float]):
    with pytest.raises(ConfigError, match=next(iter(values))):
        Distillation(**values)
