"""Commands that look into models: heads ranked, the answer layer by layer, two compared."""

import argparse

import pandas as pd
import torch

from blocks.cost.two_models import pair_counts
from blocks.export.opened import Opened, ids_of, opened, print_answer, rows
from blocks.inspection.ablation import ablate
from blocks.inspection.lens import logit_lens
from blocks.inspection.settings import differing
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture
from blocks.model.masks import causal, within
from blocks.model.models import Encoder
from blocks.observe.recording import record

MEASURES = ["name", "entropy_bits", "distance_tokens"]


def heads(options: argparse.Namespace, model: Opened) -> None:
    """Each head: what it attends to, and how far the prediction moves without it; most first."""
    built, ids = _reads_text(options, model)
    seen = record(built, ids)
    without = ablate(built, ids).query("part == 'head_out'")
    tokens = ids[0].tolist()
    config, n = model.config, len(tokens)
    mask = causal(n) if config.architecture is Architecture.GPT else None
    found = [
        seen.heads(within(mask, n, config.window_of(i)), i, tokens)
        for i in sorted({*without["layer"]})
    ]
    each = pd.concat(found).set_index(["layer", "head"])[MEASURES]
    table = without.join(each, on=["layer", "head"])[["layer", "head", "kl_bits", *MEASURES]]
    table = table.sort_values("kl_bits", ascending=False, ignore_index=True)
    said = "\n\nLayers and heads count from 0. kl_bits: the next token, with the head off."
    print_answer(options, {"heads": rows(table)}, table.to_string(index=False) + said)


def lens(options: argparse.Namespace, model: Opened) -> None:
    """The likeliest next token after each layer, as if it were the last: the logit lens."""
    built, ids = _reads_text(options, model)
    found = logit_lens(built, record(built, ids), slice(ids.shape[1] - 1, None))
    read = model.tokenizer.label if model.tokenizer else str
    table = pd.DataFrame(
        {
            "after_layers": range(len(found.rank)),
            "token": [read(int(token)) for token in found.token_id[:, 0]],
            "probability": found.probability[:, 0].astype(float),
            "rank_of_answer": found.rank[:, 0],
        }
    )
    print_answer(options, {"lens": rows(table)}, table.to_string(index=False))


def _reads_text(options: argparse.Namespace, model: Opened) -> tuple[Encoder, torch.Tensor]:
    built = model.build(options)
    if not isinstance(built, Encoder):
        text = N_("Only an encoder or a GPT can be examined here: choose another model")
        raise ConfigError([Fault(text)])
    return built, torch.tensor([ids_of(options, model)], device=options.device)


def compare(options: argparse.Namespace, model: Opened) -> None:
    """What differs between two models, in settings and in what they cost; nothing is built."""
    a, b = model.config, opened(options.other, {}).config
    counts = pair_counts(a, b, n=options.n, weight_format=options.weights)
    changed = pd.DataFrame(
        [(name, *map(str, pair)) for name, pair in differing(a, b).items()],
        columns=["setting", "a", "b"],
    )
    costs = pd.DataFrame(
        [(name, value, getattr(counts.b, name)) for name, value in vars(counts.a).items()],
        columns=["cost", "a", "b"],
    )
    answer = {"n": options.n, "settings": rows(changed), "costs": rows(costs)}
    said = f"{changed.to_string(index=False)}\n\n{costs.to_string(index=False)}"
    print_answer(options, answer, said)
