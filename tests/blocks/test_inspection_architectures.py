"""Three architectures side by side."""

import numpy as np
import torch
from toy import toy

from blocks.inspection.architectures import (
    N_DRAWN,
    architecture_facts,
    compared,
    configs,
    task_facts,
    who_sees_whom,
)
from blocks.inspection.tiles import MOST
from blocks.model.kinds import Architecture
from blocks.model.masks import MaskConfig
from blocks.model.models import count_built
from blocks.observe.run import Input, Run

S, T = 3, 2


def reaches(config, source: int, target: int) -> np.ndarray:
    """What a change of one token moves in a model that runs: rows outputs of the target."""
    texts = [torch.arange(3, 3 + n) for n in (source, target)]

    def output(ids):
        first, second = (Input(tokens=("x",) * len(t), token_ids=tuple(t.tolist())) for t in ids)
        mask = MaskConfig(mask_kind="causal")
        run = Run(config=config, input=first, target=second, mask=mask)
        return run.record(run.build()).output[0]

    before, moved = output(texts), []
    for text, place in [(0, i) for i in range(source)] + [(1, i) for i in range(target)]:
        changed = [t.clone() for t in texts]
        changed[text][place] = 1
        moved.append((output(changed) != before).any(-1).numpy())
    return np.array(moved).T


def test_who_sees_whom_is_what_the_model_does():
    config = toy(architecture="encoder-decoder", vocab_size=9)
    codes = who_sees_whom(Architecture.ENCODER_DECODER, S, T) == MOST
    assert (codes[S:] == reaches(config, S, T)).all()
    assert not codes[:S, S:].any()
    assert (who_sees_whom(Architecture.ENCODER, S, T) == MOST).all()
    assert (who_sees_whom(Architecture.GPT, S, T) == MOST).sum() == 15


def test_parameters_and_flops_are_those_of_the_models():
    config = toy(architecture="encoder-decoder", vocab_size=9, n_layers=2)
    table = compared(config, S, T).set_index("architecture")
    for kind, each in configs(config).items():
        assert table["parameters"][kind] == count_built(each)
    total = table["reading"] + table["writing"]
    assert (table["per_token"] == total / T).all()
    both = table.loc[Architecture.ENCODER_DECODER]
    assert both["parameters"] > table["parameters"][Architecture.GPT]


def test_a_placement_that_a_decoder_cannot_have_is_mended():
    found = configs(toy(norm_placement="parallel"))
    assert str(found[Architecture.ENCODER_DECODER].norm.norm_placement) == "pre"


def test_a_task_is_compared_and_each_architecture_has_its_numbers():
    source, target = (Input(tokens=("x",) * n, token_ids=(3,) * n) for n in (S, 40))
    config = toy(architecture="encoder-decoder", vocab_size=9, max_seq_len=64)
    run = Run(config=config, input=source, target=target, mask=MaskConfig())
    task = task_facts(run)
    table = task.table.set_index("architecture")
    two, gpt = table.loc["encoder-decoder"], table.loc["gpt"]
    assert task.parameters == two["parameters"] / gpt["parameters"] > 1
    assert task.flops == sum(two[["reading", "writing"]]) / sum(gpt[["reading", "writing"]])
    facts = architecture_facts(run, task, Architecture.GPT)
    assert facts.parameters == gpt["parameters"] and facts.flops_per_token == gpt["per_token"]
    assert len(facts.labels) == len(facts.codes) == S + N_DRAWN
    assert len(architecture_facts(run, task, Architecture.ENCODER).labels) == S
