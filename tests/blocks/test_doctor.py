"""The doctor names a planted fault, of every kind, and nothing where nothing is wrong."""

from functools import partial
from pathlib import Path

import pytest
import torch
from daily import some_daily
from published_folders import saved

from blocks import ModelConfig
from blocks.inspection.conversion import decoded_target, fault_facts
from blocks.weights import doctor
from blocks.weights.conversion_faults import ConversionFault, Loaded, mends, plant, possible_faults
from blocks.weights.doctor import (
    Diagnosis,
    Text,
    diagnosis,
    distance,
    logits,
    suspicion,
    text_loss,
    tried,
)
from blocks.weights.pocket import pocket
from blocks.weights.published import open_published

TEXT = Text((5, 9, 3, 22, 17, 30, 8), (2, 14, 6, 31))
FAMILIES = ("gpt2", "gemma", "gpt_neox", "t5", "bart")  # between them they can have every fault


def diagnosed(loaded: Loaded, right: torch.Tensor) -> Diagnosis:
    return diagnosis(*tried(loaded, TEXT, partial(distance, right=right)))


def suspected(loaded: Loaded, text: Text) -> Diagnosis:
    loss = partial(text_loss, text=text)
    return suspicion(*tried(loaded, text, loss, dtype=torch.float32), loaded.config.vocab_size)


def loaded(family: str, folder: Path) -> Loaded:
    found = open_published(saved(family, folder).path)
    return Loaded(found.config, found.tensors, prefix=(1,), special=(0, 1, 2))


@pytest.fixture(scope="module", params=some_daily(FAMILIES, daily=["gpt2", "gemma"]))
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return loaded(request.param, tmp_path_factory.mktemp("sound"))


def test_every_planted_fault_is_named_first_and_none_where_all_is_well(sound: Loaded):
    right = logits(sound, TEXT)
    assert diagnosed(sound, right).names is None
    for fault in possible_faults(sound):
        found = diagnosed(plant(fault, sound), right)
        assert found.names is fault is found.ranked[0], found


def test_each_model_is_run_once_for_all_that_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    gpt2, asked = loaded("gpt2", tmp_path), []
    monkeypatch.setattr(doctor, "logits", lambda *each: asked.append(each) or logits(*each))
    loss = partial(text_loss, text=TEXT)
    distances, losses = tried(gpt2, TEXT, partial(distance, right=logits(gpt2, TEXT)), loss)
    assert len(asked) == 1 + sum(len(mends(fault, gpt2)) for fault in ConversionFault)
    assert distances.as_it_is == 0 < losses.as_it_is == loss(logits(gpt2, TEXT))
    assert distances.undone.keys() == losses.undone.keys()


def test_sines_and_cosines_in_another_order_are_named(tmp_path: Path):
    marian, fault = loaded("marian", tmp_path), ConversionFault.POSITION_TABLE
    assert diagnosed(plant(fault, marian), logits(marian, TEXT)).names is fault


def test_rotary_pairs_of_latent_attention_in_another_order_are_named(tmp_path: Path):
    deepseek, fault = loaded("deepseek_v3", tmp_path), ConversionFault.ROTARY_LAYOUT
    right = logits(deepseek, TEXT)
    assert diagnosed(deepseek, right).names is None
    assert diagnosed(plant(fault, deepseek), right).names is fault
    assert not {ConversionFault.QKV_ORDER, ConversionFault.GROUP_ORDER} & {
        *possible_faults(deepseek)
    }


def test_between_them_the_families_can_have_every_fault(tmp_path: Path):
    faults = (possible_faults(loaded(family, tmp_path / family)) for family in FAMILIES)
    assert {fault for each in faults for fault in each} == set(ConversionFault)


@pytest.mark.parametrize(
    ("family", "one", "other"),
    [
        ("gpt2", ConversionFault.NOT_TRANSPOSED, ConversionFault.EMBEDDING_SCALE),
        ("gpt_neox", ConversionFault.NOT_TRANSPOSED, ConversionFault.EMBEDDING_SCALE),
        ("gemma", ConversionFault.ROTARY_LAYOUT, ConversionFault.NORM_OFFSET),
        ("t5", ConversionFault.QKV_ORDER, ConversionFault.SCORE_SCALE),
        ("bart", ConversionFault.NOT_TRANSPOSED, ConversionFault.POSITION_OFFSET),
    ],
)
@pytest.mark.thinned
def test_two_faults_at_once_are_not_taken_for_one(
    family: str, one: ConversionFault, other: ConversionFault, tmp_path: Path
):
    sound = loaded(family, tmp_path)
    assert {one, other} <= {*possible_faults(sound)}
    both = plant(one, plant(other, sound))
    assert diagnosed(both, logits(sound, TEXT)).names is None


def test_what_undoes_a_fault_gives_back_every_bit(sound: Loaded):
    for fault in possible_faults(sound):
        if fault is ConversionFault.MISSING_TIE:
            continue
        assert any(
            said(each) == said(sound)
            and each.prefix == sound.prefix
            and all(torch.equal(t, each.tensors[name]) for name, t in sound.tensors.items())
            for each in mends(fault, plant(fault, sound))
        ), fault


def said(loaded: Loaded) -> ModelConfig:
    """The configuration with what it leaves to its architecture."""
    return loaded.config.replace(scale_embeddings=loaded.config.scale_embeddings)


@pytest.fixture(scope="module")
def stories() -> Loaded:
    file = pocket("stories-en-zh")
    return Loaded(file.config, file.tensors)


@pytest.fixture(scope="module")
def story() -> Text:
    file = pocket("stories-en-zh")
    return Text(tuple(file.tokenizer.encode(file.card.samples["en"])))


def test_a_text_alone_gives_large_faults_away(stories: Loaded, story: Text):
    loud = (ConversionFault.QKV_ORDER, ConversionFault.MISSING_TIE, ConversionFault.NOT_TRANSPOSED)
    for fault in loud:
        assert suspected(plant(fault, stories), story).names is fault
    assert suspected(stories, story).names is None


def test_a_text_that_is_strange_to_a_model_raises_no_alarm(stories: Loaded):
    strange = Text(tuple(range(0, 1000, 90)))
    assert suspected(stories, strange).names is None


def test_what_a_fault_writes_is_another_text(stories: Loaded, story: Text):
    facts = fault_facts(stories, ConversionFault.QKV_ORDER, story)
    sound, faulty = facts.written
    assert len(sound) == len(faulty) == 16 and sound != faulty
    assert facts.bits > 1 and facts.found.names is ConversionFault.QKV_ORDER
    assert facts.candidates["sound"].iloc[0] == facts.candidates["sound"].max()
    assert facts.candidates["faulty"].max() > 0
    as_it_is = fault_facts(stories, None, story)
    assert as_it_is.bits == 0 and as_it_is.found.names is None
    assert as_it_is.written[0] == as_it_is.written[1] == sound


def test_an_encoder_decoder_is_held_against_the_target_that_it_writes(
    tmp_path_factory: pytest.TempPathFactory,
):
    found = open_published(saved("t5", tmp_path_factory.mktemp("t5")).path)
    loaded = Loaded(found.config, found.tensors)
    text = decoded_target(loaded, Text((5, 9, 3), (found.marks.start,)), found.marks.stop)
    assert text.target_ids[0] == 0 and len(text.target_ids) > 1
    facts = fault_facts(loaded, ConversionFault.SCORE_SCALE, text, stop=found.marks.stop)
    assert facts.suspected is None and facts.found.names is ConversionFault.SCORE_SCALE
