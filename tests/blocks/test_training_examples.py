"""One row of each task, as a reader sees it."""

import pytest
import torch
from training_toy import toy_spec

from blocks import build
from blocks.model.kinds import Architecture
from blocks.training.evaluation import Examiner
from blocks.training.examples import example, fixed_input, openings
from blocks.training.tasks import TaskConfig, TaskKind, build_task

SMALL = {kind: min(max(kind.seq_len_bounds[0], 16), kind.seq_len_bounds[1]) for kind in TaskKind}


def places(kind: TaskKind, architecture: Architecture | None = None):
    config = TaskConfig(kind=kind, seq_len=SMALL[kind], architecture=architecture)
    return example(build_task(config))


def said(kind: TaskKind, architecture: Architecture | None = None) -> str:
    found = places(kind, architecture)
    return "".join(place.answer or place.label for place in found if place.asked)


def read(kind: TaskKind, architecture: Architecture | None = None) -> str:
    return "".join(place.label for place in places(kind, architecture) if not place.asked)


def test_a_gpt_reads_the_question_and_has_to_say_the_answer():
    question, answer = read(TaskKind.SORT), said(TaskKind.SORT)
    assert question.endswith("=")
    assert answer == "".join(sorted(question[:-1]))


def test_an_encoder_says_the_answer_in_the_places_of_the_question():
    found = places(TaskKind.REVERSE, Architecture.ENCODER)
    assert all(place.asked for place in found)
    assert [place.answer for place in found] == [place.label for place in found][::-1]


def test_in_a_text_every_token_but_the_first_is_asked_for():
    assert [place.asked for place in places(TaskKind.STORIES)] == [False] + [True] * 16


def test_repeats_are_asked_for_and_the_first_run_is_not():
    found = places(TaskKind.INDUCTION)
    n = sum(not place.asked for place in found) - 1  # of the repeat, the first token is given
    assert 1 < n < len(found) - 1
    assert all(found[i].label == found[i - n].label for i in range(n, len(found)))


def test_hidden_words_are_asked_for():
    found = places(TaskKind.MASKED_WORDS)
    assert all(place.answer for place in found if place.asked)
    assert any(place.asked for place in found) and not all(place.asked for place in found)


@pytest.mark.parametrize("kind", TaskKind)
def test_the_fixed_input_is_what_the_example_reads(kind: TaskKind):
    task = build_task(TaskConfig(kind=kind, seq_len=SMALL[kind]))
    labels = [task.tokenizer.label(token) for token in fixed_input(task)]
    assert labels == [place.label for place in example(task)][: len(labels)]
    assert fixed_input(task) == fixed_input(task)


@pytest.mark.parametrize("kind", TaskKind)
def test_there_is_a_text_to_try_every_trained_model_with(kind: TaskKind):
    task = build_task(TaskConfig(kind=kind, seq_len=SMALL[kind]))
    for text in openings(task).values():
        assert text.strip()
        assert task.tokenizer.left_out(text) == ()
        assert len(task.tokenizer.encode(text)) <= task.seq_len


def test_what_a_model_answers_is_as_long_as_what_is_right():
    spec = toy_spec()
    task = build_task(spec.task)
    model = build(spec.config, seed=0, device="cpu", dtype=torch.float32)
    for answer in Examiner(spec, task).sample(model, 0).answers:
        assert len(answer.written) == len(answer.right) == len(answer.question)
