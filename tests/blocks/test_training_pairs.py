"""Encoder–decoders learn from pairs: batches, masks, held-out sides, scores, learning itself."""

import dataclasses
import random
from itertools import cycle, product

import pytest
import torch
from daily import some_daily
from torch import Tensor
from torch.nn import functional as F  # noqa: N812
from torch.nn.functional import one_hot
from toy import assert_near
from training_toy import ended, evaluations

from blocks import ConfigError, ModelConfig, build
from blocks.corpora.stories import Language
from blocks.corpora.translation import sentences, translations
from blocks.cost.peak_memory import TensorMemory
from blocks.model.kinds import Architecture
from blocks.model.randomness import generator
from blocks.text.bilingual import is_chinese
from blocks.training.evaluation import Examiner
from blocks.training.events import Reason, Sample
from blocks.training.fast_model import fast_config
from blocks.training.loop import train
from blocks.training.loss import cross_entropy
from blocks.training.memory import estimate_training_memory
from blocks.training.optimizers import build_optimizers
from blocks.training.pairs import PairTask, Row, padded_batch
from blocks.training.recipe import RECIPES, Recipe
from blocks.training.sample import greedy_targets
from blocks.training.shipped_models import POCKET
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import IGNORED, Batch, TaskConfig, TaskKind, build_task
from blocks.training.translating import DIRECTIONS
from blocks.weights.model_file import trained
from blocks.weights.pocket import pocket

BOTH = Architecture.ENCODER_DECODER
KINDS = [kind for kind in TaskKind if BOTH in kind.architectures]
LETTERS = (TaskKind.COPY, TaskKind.REVERSE, TaskKind.SORT)
LOOSENESS = 5


def task_of(kind: TaskKind, seq_len: int = 12) -> PairTask:
    task = build_task(TaskConfig(kind=kind, seq_len=seq_len, architecture=BOTH))
    assert isinstance(task, PairTask)
    return task


each_kind = pytest.mark.parametrize("kind", KINDS)


def toy_model(task: PairTask, **changes: object) -> tuple[ModelConfig, torch.nn.Module]:
    shape = {"d_model": 16, "n_heads": 2, "n_layers": 1, "n_decoder_layers": 1}
    config = fast_config(task, **shape | {"initialization": "normal"} | changes)
    return config, build(config)


def rows_of(batch: Batch) -> list[Row]:
    """Source and target of each row, read off the masks and the targets."""
    source, _ = batch.token_ids
    is_source = batch.mask.source[:, 0, 0]
    asked = batch.targets != IGNORED
    return [
        Row(source[i][is_source[i]].tolist(), batch.targets[i][asked[i]].tolist()[:-1])
        for i in range(len(source))
    ]


@each_kind
def test_a_target_is_asked_for_one_token_ahead_of_what_is_read(kind: TaskKind):
    task = task_of(kind)
    start, stop = task.marks.start, task.marks.stop
    batch = task.batch(20, generator(0))
    asked = batch.targets != IGNORED
    assert (batch.token_ids.target[:, 0] == start).all()
    followed, next_ids = batch.targets[:, :-1], batch.token_ids.target[:, 1:]
    assert ((followed == next_ids) | ~asked[:, 1:]).all()
    for row, is_asked in zip(batch.targets, asked, strict=True):
        n = int(is_asked.sum())
        assert is_asked[:n].all() and row[n - 1] == stop
    assert batch.token_ids.target.shape == batch.targets.shape
    assert max(batch.token_ids.source.shape[1], batch.targets.shape[1]) <= task.seq_len


@each_kind
def test_masks_hide_padding_and_what_comes_after(kind: TaskKind):
    task = task_of(kind)
    rows = task.draw(16, generator(0), False)
    batch = padded_batch(rows, task.marks)
    for i, row in enumerate(rows):
        n, m = len(row.source), len(row.target) + 1
        assert batch.mask.source[i, 0, 0].tolist()[:n] == [True] * n
        assert not batch.mask.source[i, 0, 0, n:].any()
        assert batch.mask.cross[i, 0, :, :n].all() and not batch.mask.cross[i, 0, :, n:].any()
        seen = batch.mask.target[i, 0, :m]
        places = torch.arange(seen.shape[-1])
        assert torch.equal(seen, (places <= torch.arange(m)[:, None]) & (places < m))


@each_kind
def test_padding_changes_no_loss_and_no_gradient(kind: TaskKind):
    task = task_of(kind)
    _, model = toy_model(task)
    rows = [*task.draw(6, generator(0), False)]

    def summed(batch: Batch) -> Tensor:
        return cross_entropy(model(*batch.read), batch.targets, reduction="sum")

    together = summed(padded_batch(rows, task.marks))
    alone = sum(summed(padded_batch([row], task.marks)) for row in rows)
    assert together.item() == pytest.approx(alone.item(), abs=1e-4, rel=1e-5)
    for one, other in zip(gradients(model, together), gradients(model, alone), strict=True):
        assert_near(one, other, tolerance=1e-4)


def gradients(model: torch.nn.Module, loss: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, [*model.parameters()])


def test_what_stands_in_the_padding_decides_nothing():
    task = task_of(TaskKind.TRANSLATION)
    _, model = toy_model(task)
    rows = [*task.draw(6, generator(0), False)]
    one, other = (padded_batch(rows, task.marks._replace(padding=filler)) for filler in (0, 100))
    logits = [model(*batch.read)[one.targets != IGNORED] for batch in (one, other)]
    assert_near(*logits)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_label_smoothing_gives_every_token_its_share(smoothing: float):
    """(1 − ε) of the right token and ε spread over all of them: Szegedy et al. 2015, section 7."""
    task = task_of(TaskKind.COPY)
    batch = task.batch(8, generator(0))
    logits = torch.randn(*batch.targets.shape, task.vocab_size, generator=generator(1))
    asked = batch.targets != IGNORED
    log_probs = logits[asked].log_softmax(-1)
    share = one_hot(batch.targets[asked], task.vocab_size) * (1 - smoothing)
    expected = -((share + smoothing / task.vocab_size) * log_probs).sum(-1).mean()
    found = cross_entropy(logits, batch.targets, label_smoothing=smoothing)
    assert_near(found, expected)


ANSWERS = {
    TaskKind.COPY: lambda asked: asked,
    TaskKind.REVERSE: lambda asked: asked[::-1],
    TaskKind.SORT: lambda asked: "".join(sorted(asked)),
    TaskKind.ADDITION: lambda asked: f"{sum(map(int, asked.split('+'))):0{len(asked) // 2 + 1}}"[
        ::-1
    ],
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_answer_is_right(kind: TaskKind):
    task = task_of(kind)
    for row in (*task.draw(100, generator(0), False), *task.draw(100, generator(0), True)):
        question, answer = (task.tokenizer.decode(ids) for ids in row)
        assert answer == ANSWERS[kind](question)


def test_the_longest_sums_are_exact():
    task = task_of(TaskKind.ADDITION, 56)
    for row in task.draw(50, generator(0), False):
        question, answer = (task.tokenizer.decode(ids) for ids in row)
        assert len(question) == 37
        assert answer == ANSWERS[TaskKind.ADDITION](question)


@pytest.mark.parametrize("kind", LETTERS)
def test_questions_have_every_length(kind: TaskKind):
    rows = task_of(kind, 8).draw(200, generator(0), False)
    assert {len(row.source) for row in rows} == {*range(2, 8)}


def test_every_translation_is_the_grammars_own_and_directions_alternate():
    task = task_of(TaskKind.TRANSLATION, 15)
    for place, row in enumerate(task.draw(60, generator(0), True)):
        source, target = (tuple(map(task.tokenizer.vocabulary.__getitem__, ids)) for ids in row)
        is_back = place % 2 == 1
        assert is_chinese("".join(source)) == is_back
        language = Language.CHINESE if is_back else Language.ENGLISH
        (pair,) = translations(source, language)
        assert target == (pair.english if is_back else pair.chinese)
        assert pair.is_held_out


@pytest.mark.parametrize("seq_len", [8, 11, 15])
def test_a_shorter_row_leaves_the_longer_sentences_out(seq_len: int):
    rows = task_of(TaskKind.TRANSLATION, seq_len).draw(100, generator(0), False)
    longest = max(len(ids) for row in rows for ids in row)
    assert longest < seq_len and longest >= seq_len - 2


@each_kind
def test_no_source_is_on_both_sides(kind: TaskKind):
    task = task_of(kind)
    learned, unseen = (
        {tuple(row.source) for row in task.draw(1_000, generator(side), held_out)}
        for side, held_out in enumerate((False, True))
    )
    assert not learned & unseen
    assert min(len(learned), len(unseen)) > 500


def test_no_sentence_of_one_side_has_a_core_of_the_other():
    drawn = random.Random(0)
    learned, unseen = (
        {sentences(drawn, held_out=side) for _ in range(100)} for side in (False, True)
    )
    for english, _ in learned:
        assert not translations(english, Language.ENGLISH)[0].is_held_out
    for english, _ in unseen:
        assert translations(english, Language.ENGLISH)[0].is_held_out


@each_kind
def test_the_generator_decides_the_batches(kind: TaskKind):
    task = task_of(kind)
    first, again, other = (task.batch(12, generator(seed)) for seed in (3, 3, 4))
    assert torch.equal(first.targets, again.targets)
    assert rows_of(first) != rows_of(other)
    assert rows_of(first) == [Row(*map(list, row)) for row in task.draw(12, generator(3), False)]


def knowing(batch: Batch, vocab_size: int):
    """A model that has seen the answers."""

    def logits_of(*read: object) -> Tensor:
        assert torch.equal(read[0].source, batch.token_ids.source)
        return one_hot(batch.targets.clamp(min=0), vocab_size).float()

    return logits_of


@each_kind
def test_one_wrong_token_makes_an_answer_wrong(kind: TaskKind):
    task = task_of(kind)
    batch = task.held_out(256, generator(3))
    spoilt = batch.targets.clone()
    spoilt[:64:2, 0] = (spoilt[:64:2, 0] + 1) % task.vocab_size
    score = task.score(knowing(batch, task.vocab_size), generator(3))
    assert score == 1
    wrong = knowing(Batch(batch.token_ids, spoilt, batch.mask), task.vocab_size)
    assert task.score(wrong, generator(3)) == 1 - 32 / 256
    if task.groups:
        found = task.group_scores(wrong, generator(3))
        assert found == {DIRECTIONS[0]: 0.75, DIRECTIONS[1]: 1.0}


def test_the_translator_writes_what_its_score_says():
    """Greedy writing and the likeliest tokens after the right ones are right for the same rows."""
    file = pocket("translator")
    task = build_task(POCKET["translator"].spec.task)
    model = trained(file.config, file.tensors)
    rows = task.draw(256, generator(5), True)
    written = greedy_targets(model, file.config, [row.source for row in rows], task)
    exact = [target == [*row.target] for target, row in zip(written, rows, strict=True)]

    def logits_of(*read: object) -> Tensor:
        with torch.no_grad():
            return model(*read)

    assert sum(exact) / len(exact) == task.score(logits_of, generator(5)) > 0.97
    assert min(file.card.group_scores.values()) >= 0.99
    assert set(file.card.group_scores) == {*DIRECTIONS}
    mean = sum(file.card.group_scores.values()) / 2
    assert file.card.score == pytest.approx(mean, abs=1e-9)


def toy_spec(kind: TaskKind, seq_len: int, recipe: Recipe, **changes: object) -> TrainingSpec:
    config = TaskConfig(kind=kind, seq_len=seq_len, architecture=BOTH)
    task = build_task(config)
    return TrainingSpec(config=fast_config(task, **changes), task=config, recipe=recipe)


SHORT = RECIPES["fast"].replace(
    n_steps=3, batch_size=4, warmup_steps=1, n_eval_batches=1, eval_every=3, dtype="float32"
)
TINY = {"d_model": 32, "n_heads": 2, "n_layers": 1, "n_decoder_layers": 1}


@pytest.mark.parametrize(
    ("kind", "recipe"),
    some_daily(product(KINDS, RECIPES), daily=[*zip(KINDS, cycle(RECIPES), strict=False)]),
)
def test_every_recipe_trains_every_task_and_tells_what_is_written(kind: TaskKind, recipe: str):
    values = {name: getattr(SHORT, name) for name in ("n_steps", "batch_size", "eval_every")}
    short = RECIPES[recipe].replace(**values, warmup_steps=1, n_eval_batches=1, dtype="float32")
    events = [*train(toy_spec(kind, 8, short, **TINY))]
    assert ended(events).reason is Reason.FINISHED
    assert len(evaluations(events)[-1].layer_gradient_norms) == 2
    answers = [event for event in events if isinstance(event, Sample)][-1].answers
    task = task_of(kind, 8)
    assert [answer.right for answer in answers] == [
        task.tokenizer.decode(row.target) for row in task.shown()
    ]


def test_matrices_of_both_halves_are_muons():
    task = task_of(TaskKind.COPY)
    _, model = toy_model(task)
    muon, adamw = build_optimizers(model, RECIPES["fast"])
    inside = {id(each) for group in muon.param_groups for each in group["params"]}
    named = dict(model.named_parameters())
    matrices = {path for path, each in named.items() if id(each) in inside}
    assert {path.split(".")[0] for path in matrices} == {"encoder", "decoder"}
    assert all(named[path].dim() == 2 for path in matrices)
    assert {path for path in named if path not in matrices} == {"embed.weight", "unembed.weight"}
    assert len(adamw.param_groups[0]["params"]) == 1


def test_a_small_model_learns_to_copy_in_seconds():
    """Learned positions tell the decoder where to read."""
    recipe = SHORT.replace(n_steps=130, batch_size=32, warmup_steps=10, eval_every=130)
    spec = toy_spec(TaskKind.COPY, 6, recipe, **TINY | {"position_kind": "learned"})
    events = [*train(spec)]
    first, last = (evaluations(events)[i] for i in (0, -1))
    assert first.score < 0.05
    assert last.score > 0.9
    assert last.held_out_loss < 0.1 * first.held_out_loss


def test_the_same_spec_gives_the_same_losses():
    spec = toy_spec(TaskKind.TRANSLATION, 8, SHORT, **TINY)
    losses = [[each.held_out_loss for each in evaluations([*train(spec)])] for _ in range(2)]
    assert losses[0] == losses[1]
    other = dataclasses.replace(spec, seed=1)
    assert evaluations([*train(other)])[0].held_out_loss != losses[0][0]


DROPPED = {"d_model": 32, "dropout": 0.1}
UNEVEN = {"d_model": 64, "n_layers": 1, "n_decoder_layers": 3, "activation": "swiglu"}
SANDWICH = {"d_model": 32, "norm_placement": "sandwich", "position_kind": "learned"}


@pytest.mark.parametrize(
    ("kind", "optimizer", "changes"),  # any two of them meet
    [
        (TaskKind.TRANSLATION, "adamw", DROPPED),
        (TaskKind.TRANSLATION, "muon", UNEVEN),
        (TaskKind.TRANSLATION, "adamw", SANDWICH),
        (TaskKind.COPY, "muon", DROPPED),
        (TaskKind.COPY, "adamw", UNEVEN),
        (TaskKind.COPY, "muon", SANDWICH),
    ],
    ids=str,
)
@pytest.mark.thinned
def test_a_training_takes_no_more_than_estimated_and_not_much_less(
    kind: TaskKind, optimizer: str, changes: dict[str, object]
):
    recipe = SHORT.replace(optimizer=optimizer, batch_size=32)
    spec = toy_spec(kind, 12, recipe, **{"n_layers": 2, "n_heads": 4} | changes)
    need = estimate_training_memory(
        spec.config, recipe=recipe, seq_len=spec.task.seq_len, dtype=torch.float32
    ).total
    with TensorMemory() as memory:
        assert ended([*train(spec)]).reason is Reason.FINISHED
    assert need / LOOSENESS <= memory.peak_bytes <= need


def test_a_model_of_one_text_cannot_learn_from_pairs_and_the_mend_can():
    spec = toy_spec(TaskKind.COPY, 8, SHORT, **TINY)
    wrong = dataclasses.replace(spec, config=spec.config.replace(architecture="gpt"))
    with pytest.raises(ConfigError) as error:
        train(wrong)
    (fault,) = error.value.faults
    mended = dataclasses.replace(wrong, config=wrong.config.replace(**fault.mend))
    assert mended == spec


def test_the_held_out_loss_counts_tokens_not_rows():
    spec = toy_spec(TaskKind.TRANSLATION, 12, SHORT, **TINY)
    task, model = build_task(spec.task), build(spec.config)
    examiner = Examiner(spec, task)
    (batch,) = examiner.batches
    asked = batch.targets != IGNORED
    expected = F.cross_entropy(model(*batch.read)[asked], batch.targets[asked])
    assert examiner.held_out_loss(model) == pytest.approx(expected.item(), rel=1e-5)
