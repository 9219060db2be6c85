"""Tasks: answers are right, what is held out is never learned, scores tell the truth."""

import math
from collections.abc import Iterable
from functools import cache

import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from blocks.corpora.stories import Language, sentences, stories
from blocks.model.faults import ConfigError
from blocks.model.kinds import Architecture
from blocks.model.randomness import generator
from blocks.text.bpe import END, MASK
from blocks.training.algorithms import all_pairs
from blocks.training.questions import is_held_out
from blocks.training.tasks import IGNORED, Batch, Task, TaskConfig, TaskKind, TokenKind, build_task

SEQ_LEN = 16
CONFIGS = {
    f"{kind}, {architecture}": TaskConfig(
        kind=kind, seq_len=min(SEQ_LEN, kind.seq_len_bounds[1]), architecture=architecture
    )
    for kind in TaskKind
    for architecture in kind.architectures
    if architecture is not Architecture.ENCODER_DECODER  # see test_training_pairs
}
CONFIGS |= {
    "byte pairs (BPE)": TaskConfig(kind=TaskKind.TEXT, seq_len=64, token_kind=TokenKind.BYTE_PAIRS),
    "Chinese": TaskConfig(kind=TaskKind.STORIES, seq_len=64, language=Language.CHINESE),
    "long": TaskConfig(kind=TaskKind.INDUCTION, seq_len=64),
}
LEARNERS = {name: config.kind.architectures[0] for name, config in CONFIGS.items()} | {
    name: config.architecture for name, config in CONFIGS.items() if config.architecture
}
WRITING = [name for name, learner in LEARNERS.items() if learner is Architecture.GPT]
ANSWERED = (TaskKind.COPY, TaskKind.REVERSE, TaskKind.SORT, TaskKind.ADDITION)
QUESTIONS = [name for name, config in CONFIGS.items() if config.kind in ANSWERED]


@cache
def built(name: str) -> Task:
    """A story task reads thousands of stories: it is built where a test needs it."""
    return build_task(CONFIGS[name])


@pytest.fixture
def task(request: pytest.FixtureRequest) -> Task:
    return built(request.param)


def task_of(kind: TaskKind, **fields) -> Task:
    return build_task(TaskConfig(kind=kind, **fields))


def each_task(names: Iterable[str]):
    return pytest.mark.parametrize("task", names, indirect=True)


def knowing(*batches: Batch):
    """A model that has seen the answers: logits that choose the target where one is asked."""

    def logits_of(token_ids: Tensor) -> Tensor:
        (batch,) = (batch for batch in batches if torch.equal(batch.token_ids, token_ids))
        return 50.0 * one_hot(batch.targets.clamp(min=0), 2_000).float()

    return logits_of


@each_task(CONFIGS)
def test_a_batch_has_the_promised_shape_and_asks_something_in_every_row(task: Task):
    for draw in (task.batch, task.held_out):
        batch = draw(5, generator(0))
        for tensor in (batch.token_ids, batch.targets):
            assert tensor.shape == (5, task.seq_len)
            assert tensor.dtype == torch.long
        asked = batch.targets != IGNORED
        assert asked.any(1).all()
        assert batch.token_ids.min() >= 0 and batch.token_ids.max() < task.vocab_size
        assert batch.targets[asked].min() >= 0 and batch.targets.max() < task.vocab_size


@pytest.mark.usefixtures("process_state_kept")
@each_task(CONFIGS)
def test_the_generator_decides_the_batch(task: Task):
    first, same, other = (task.batch(6, generator(seed)).token_ids for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


@each_task(WRITING)
def test_a_causal_target_is_the_next_token(task: Task):
    batch = task.batch(8, generator(0))
    followed, next_ids = batch.targets[:, :-1], batch.token_ids[:, 1:]
    assert ((followed == next_ids) | (followed == IGNORED)).all()


@each_task(CONFIGS)
def test_a_prompt_is_written_in_the_tokens_of_the_task(task: Task):
    prompt = task.prompt()
    assert (prompt is None) == (task.learner is not Architecture.GPT)
    if prompt is not None:
        assert 1 <= len(prompt) < task.seq_len + 1
        assert max(prompt) < task.vocab_size
        assert prompt == task.prompt()


def written_answer(task: Task, batch: Batch, row: int) -> tuple[str, str]:
    """The question and the answer of a row, as text."""
    ids, targets = batch.token_ids[row].tolist(), batch.targets[row].tolist()
    answer = task.tokenizer.decode([target for target in targets if target != IGNORED])
    question, _, _ = task.tokenizer.decode(ids).partition("=")
    return question, answer


ANSWERS = {
    "copy": lambda question: question,
    "reverse": lambda question: question[::-1],
    "sort": lambda question: "".join(sorted(question)),
    "addition": lambda question: f"{sum(map(int, question.split('+'))):0{-(-len(question) // 2)}}"[
        ::-1
    ],
}


@each_task(QUESTIONS)
def test_every_answer_is_right(task: Task):
    for draw in (task.batch, task.held_out):
        batch = draw(50, generator(0))
        for row in range(50):
            question, answer = written_answer(task, batch, row)
            assert answer == ANSWERS[task.name](question)


@each_task(QUESTIONS)
def test_answers_of_the_model_stand_beside_those_that_are_right(task: Task):
    def knows_all(read: torch.Tensor) -> torch.Tensor:
        if task.learner is Architecture.ENCODER:
            return one_hot(task.answer(read), task.vocab_size).float()
        question, _, written = split(read)
        rest = task.answer(question)[:, written.shape[1] :]
        padded = torch.cat([read[:, 1:], rest[:, :1]], dim=1)
        return one_hot(padded, task.vocab_size).float()

    def split(read: torch.Tensor):
        n = (read[0] == 0).nonzero()[0].item()
        return read[:, :n], read[:, n], read[:, n + 1 :]

    found = task.answered(knows_all)
    assert len({each.question for each in found}) > 1
    for each in found:
        assert each.written == each.right == ANSWERS[task.name](each.question)
    silly = task.answered(lambda read: one_hot(0 * read + 2, task.vocab_size).float())
    assert not all(each.written == each.right for each in silly)


def test_the_longest_sums_are_exact():
    task = task_of(TaskKind.ADDITION, seq_len=56)
    batch = task.batch(200, generator(0))
    for row in range(200):
        question, answer = written_answer(task, batch, row)
        assert len(question) == 37
        assert answer == ANSWERS["addition"](question)


@each_task(QUESTIONS)
def test_no_question_is_on_both_sides(task: Task):
    learned, unseen = (
        {written_answer(task, batch, row)[0] for row in range(2_000)}
        for batch in (task.batch(2_000, generator(0)), task.held_out(2_000, generator(1)))
    )
    assert not learned & unseen
    assert min(len(learned), len(unseen)) > 1_000 or task.name == "addition"


def test_one_question_in_eight_is_held_out_whatever_the_length():
    for n in (2, 3, 8, 32):
        questions = torch.randint(1, 27, (20_000, n), generator=generator(n))
        assert is_held_out(questions).float().mean().item() == pytest.approx(1 / 8, abs=0.03)


def test_the_smallest_tasks_have_both_sides():
    for kind in (TaskKind.COPY, TaskKind.ADDITION):
        task = task_of(kind, seq_len=kind.seq_len_bounds[0])
        assert len(task.held_out(4, generator(0)).token_ids) == 4


@each_task(QUESTIONS)
def test_one_wrong_token_makes_an_answer_wrong(task: Task):
    batch = task.held_out(256, generator(3))
    assert task.score(knowing(batch), generator(3)) == 1
    spoilt = batch.targets.clone()
    spoilt[:64, -1] = (spoilt[:64, -1] + 1) % task.vocab_size
    logits_of = knowing(Batch(batch.token_ids, spoilt))
    assert task.score(logits_of, generator(3)) == 0.75


@pytest.mark.parametrize("seq_len", [16, 64, 128])
def test_induction_repeats_after_distances_that_are_not_shared_by_both_sides(seq_len: int):
    task = task_of(TaskKind.INDUCTION, seq_len=seq_len)
    seen = [distances(task, draw(300, generator(0))) for draw in (task.batch, task.held_out)]
    assert seen[0] and seen[1] and not seen[0] & seen[1]
    assert seen[0] | seen[1] == set(range(seq_len // 8, seq_len // 2 + 1))


def distances(task: Task, batch: Batch) -> set[int]:
    """The distance of each row, checked: different tokens first, then the same again and again."""
    found = set()
    for ids, targets in zip(batch.token_ids.tolist(), batch.targets.tolist(), strict=True):
        distance = ids.index(ids[0], 1)
        assert len(set(ids[:distance])) == distance
        assert all(ids[place] == ids[place - distance] for place in range(distance, len(ids)))
        assert targets[:distance] == [IGNORED] * distance
        assert all(
            targets[place] == ids[place - distance + 1] for place in range(distance, len(ids))
        )
        found.add(distance)
    return found


def test_searching_scores_one_in_induction_and_a_fixed_distance_does_not():
    task = built("long")

    def searching(ids: Tensor) -> Tensor:
        same = (ids[:, :, None] == ids[:, None, :]).tril(-1)
        after_last = same.long().mul(torch.arange(ids.shape[1])).argmax(-1) + 1
        return one_hot(ids.gather(1, after_last), task.vocab_size)

    assert task.score(searching, generator(0)) == 1
    for distance in (8, 16, 20, 32):
        fixed = lambda ids, d=distance: one_hot(ids.roll(d - 1, 1), task.vocab_size)  # noqa: E731
        assert task.score(fixed, generator(0)) < 0.3


def innermost(question: str) -> str:
    """The bracket that closes what is open, by a stack."""
    stack = []
    for each in question:
        if each in "([":
            stack.append(each)
        else:
            assert stack.pop() + each in ("()", "[]")
    return {"(": ")", "[": "]"}[stack[-1]]


ALGORITHMS = {
    TaskKind.MODULAR_ADDITION: lambda asked: str(sum(map(int, asked.split())) % 59),
    TaskKind.MODULAR_SUBTRACTION: lambda asked: str(
        (int(asked.split()[0]) - int(asked.split()[1])) % 59
    ),
    TaskKind.PARITY: lambda asked: "".join(
        str(asked[: i + 1].count("1") % 2) for i in range(len(asked))
    ),
    TaskKind.BRACKETS: innermost,
}


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_the_answer_is_that_of_the_algorithm(kind: TaskKind):
    task = task_of(kind, seq_len=kind.usual_seq_len)
    batch = task.batch(50, generator(0))
    for ids, targets in zip(batch.token_ids.tolist(), batch.targets.tolist(), strict=True):
        question, _, _ = task.tokenizer.decode(ids).partition("=")
        asked = [target for target in targets if target != IGNORED]
        assert task.tokenizer.decode(asked) == ALGORITHMS[kind](question)


def test_of_a_modular_sum_as_many_pairs_are_learned_as_is_said():
    for percent in (20, 40):
        task = task_of(TaskKind.MODULAR_ADDITION, seq_len=3, learned_percent=percent)
        learned = 1 - task.splits(all_pairs()).float().mean().item()
        assert learned == pytest.approx(percent / 100, abs=0.02)
        assert torch.equal(task.splits(all_pairs()), task.splits(all_pairs().flip(1)))
        assert not task.splits(task.batch(200, generator(0)).token_ids[:, :2]).any()
    with pytest.raises(ConfigError, match="use 5"):
        TaskConfig(kind=TaskKind.MODULAR_ADDITION, seq_len=3, learned_percent=0)


def test_masked_words_hides_as_many_as_bert_did():
    task = task_of(TaskKind.MASKED_WORDS, seq_len=64)
    batch = task.batch(2_000, generator(0))
    original = task.learned.draw(2_000, 64, generator(0))
    asked = batch.targets != IGNORED
    assert torch.equal(batch.targets[asked], original[asked])
    assert torch.equal(batch.token_ids[~asked], original[~asked])
    assert task.is_word[original[asked]].all()
    share = asked.sum() / task.is_word[original].sum()
    assert share.item() == pytest.approx(0.15, abs=0.01)
    read, said = batch.token_ids[asked], batch.targets[asked]
    masked = (read == task.tokenizer.special[MASK]).float().mean().item()
    kept = (read == said).float().mean().item()
    assert masked == pytest.approx(0.8, abs=0.02)
    assert kept == pytest.approx(0.1, abs=0.02)


def test_words_are_words():
    task = built("masked_words, encoder")
    labels = {task.tokenizer.label(int(word)) for word in task.is_word.nonzero()}
    assert {"␣fox", "␣Mia", "␣red"} <= labels
    assert not labels & {".", ",", END, MASK, "EF"}


def test_words_found_counts_words():
    task = built("masked_words, encoder")
    assert task.score(knowing(task.held_out(64, generator(0))), generator(0)) == 1


@pytest.mark.parametrize("name", ["text, gpt", "byte pairs (BPE)"])
def test_bits_per_character_of_knowing_nothing_and_everything(name: str):
    task = built(name)
    targets = task.held_out(16, generator(0)).targets
    n_characters = len(task.tokenizer.decode(targets.flatten().tolist()))
    nothing = task.score(lambda ids: torch.zeros(*ids.shape, task.vocab_size), generator(0))
    assert nothing == pytest.approx(
        math.log2(task.vocab_size) * targets.numel() / n_characters, rel=1e-4
    )
    assert task.score(knowing(task.held_out(16, generator(0))), generator(0)) < 1e-3


def test_the_last_tenth_of_a_text_is_never_learned():
    text = "a" * 1_800 + "b" * 200
    task = task_of(TaskKind.TEXT, text=text, seq_len=32)
    a, b = task.tokenizer.encode("ab")
    assert set(task.batch(100, generator(0)).targets.flatten().tolist()) == {a}
    assert set(task.held_out(100, generator(0)).token_ids.flatten().tolist()) == {b}


@pytest.mark.parametrize("language", Language)
def test_stories_come_whole_with_an_end_between_them(language: Language):
    task = task_of(TaskKind.STORIES, language=language, seq_len=4096)
    text = task.tokenizer.decode(task.unseen.token_ids.tolist())
    told = stories(language, 400, held_out=True)
    separators = [language.grammar_of(index).separator for index in range(len(told))]
    assert text == "".join(map("".join, zip(separators, told, strict=True)))
    assert (task.unseen.token_ids == task.tokenizer.special[END]).sum() == 400


@pytest.mark.parametrize("language", Language)
def test_grammatical_sentences_are_those_of_the_written_text(language: Language):
    task = task_of(TaskKind.STORIES, language=language)
    ids = task.learned.token_ids[:200]

    def reciting(written: Tensor) -> Tensor:
        """Writes the first stories again; the second half of the writers writes nonsense."""
        place = min(reciting.calls + 1, len(ids) - 1)
        reciting.calls += 1
        chosen = ids[place].expand(len(written)).clone()
        chosen[len(written) // 2 :] = task.tokenizer.encode(".。")[reciting.calls % 2]
        logits = 50.0 * one_hot(chosen, task.vocab_size).float()
        return logits[:, None].expand(-1, written.shape[1], -1)

    reciting.calls = 0
    right = 4 * len(sentences(task.tokenizer.decode(ids[:65].tolist())))
    assert right > 0
    score = task.score(reciting, generator(0))
    assert score == pytest.approx(right / (right + 4 * 64))


def test_stories_shorter_than_the_window_are_still_written():
    task = task_of(TaskKind.STORIES, seq_len=8)
    widths = []

    def watched(ids: Tensor) -> Tensor:
        widths.append(ids.shape[1])
        return torch.zeros(*ids.shape, task.vocab_size)

    assert task.score(watched, generator(0)) == 0
    assert widths[:3] == [1, 2, 3] and max(widths) == 8


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": TaskKind.INDUCTION, "seq_len": 8},
        {"kind": TaskKind.INDUCTION, "seq_len": 256},
        {"kind": TaskKind.ADDITION, "seq_len": 57},
        {"kind": TaskKind.SORT, "seq_len": -1},
        {"kind": TaskKind.MASKED_WORDS, "architecture": Architecture.GPT},
        {"kind": TaskKind.TEXT, "architecture": Architecture.ENCODER},
        {"kind": TaskKind.COPY, "architecture": Architecture.BLOCK, "seq_len": 1},
    ],
)
def test_what_cannot_be_comes_with_a_mend_that_can(fields: dict):
    with pytest.raises(ConfigError, match=": use") as error:
        TaskConfig(**fields)
    for fault in error.value.faults:
        fields |= fault.mend
    build_task(TaskConfig(**fields))


def test_a_text_too_short_for_its_window_names_the_largest_that_fits():
    text = "the fox saw the hen. " * 100
    with pytest.raises(ConfigError, match=r"held-out tokens \(\d+\): use 209") as error:
        task_of(TaskKind.TEXT, text=text, seq_len=500)
    (fault,) = error.value.faults
    task = task_of(TaskKind.TEXT, text=text, **fault.mend)
    assert task.held_out(2, generator(0)).targets.shape == (2, 209)


def test_a_text_too_short_to_learn_from_is_refused():
    with pytest.raises(ConfigError, match="provide at least"):
        task_of(TaskKind.TEXT, text="the fox")
