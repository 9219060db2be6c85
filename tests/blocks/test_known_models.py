"""Compiled models give the answers of plain Python, and hold only what their program says."""

from itertools import islice, permutations, product

import torch

from blocks.known.compiler import LOGIT
from blocks.known.models import compiled_model, programs
from blocks.known.program import Program
from blocks.known.words import MODELS
from blocks.observe.recording import record
from blocks.weights.model_file import ModelFile


def texts(program: Program) -> list[str]:
    """All short texts of a few letters; those of an encoder that needs eight of them, drawn."""
    if program.is_distinct:
        return [program.first + "".join(each) for each in permutations(program.letters[:5])]
    n, letters = program.seq_len or 6, program.letters[:3]
    every = product(letters, repeat=n)
    return [program.first + "".join(each) for each in islice(every, 0, None, 3 ** max(0, n - 6))]


def test_it_says_what_its_algorithm_says() -> None:
    for name, program in programs().items():
        says_the_same(program, compiled_model(name))


def says_the_same(program: Program, file: ModelFile) -> None:
    asked = texts(program)
    ids = torch.tensor([file.tokenizer.encode(text) for text in asked])
    with torch.no_grad():
        logits = file.build()(ids)
    said = [file.tokenizer.decode(row) for row in logits.argmax(-1).tolist()]
    wrong = [
        (text, at)
        for text, found in zip(asked, said, strict=True)
        for at, answer in enumerate(program.answer(text))
        if answer not in (found[at], "?")
    ]
    assert not wrong, program.name
    known = torch.tensor([[each != "?" for each in program.answer(text)] for text in asked])
    best = logits.amax(-1)[known]
    assert float(best.min()) > 0.99 * LOGIT


def test_each_head_attends_where_it_is_said_to() -> None:
    """Previous, first and same token, by the definition of the names, in every program."""
    places = {"previous_token": -1, "same_token": 0}
    for name, program in programs().items():
        file = compiled_model(name)
        text = (program.first + program.letters * 8)[: program.seq_len or 10]
        seen = record(file.build(), torch.tensor([file.tokenizer.encode(text)]), keep={"pattern"})
        for (layer, head), kind in program.kinds.items():
            weights = seen.pattern(layer)[0, head, -1]
            if kind in places:
                assert float(weights[len(text) - 1 + places[kind]]) == 1, (name, layer, head)
            elif kind == "first_token":
                assert float(weights[0]) == 1, (name, layer, head)


def test_each_head_is_told_of_once_and_some_are_decoys() -> None:
    assert [name for name in MODELS if "-" not in name or name in programs()] == [*programs()]
    for program in programs().values():
        everywhere = {(i, j) for i in range(program.n_layers) for j in range(program.n_heads)}
        assert set(program.kinds) <= everywhere
        assert len(program.kinds) == len(program.heads)
        assert 0 < len(program.needed) < len(everywhere)
        assert 1 <= program.decides <= program.n_layers
