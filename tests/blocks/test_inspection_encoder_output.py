"""What the encoder hands over: known vectors, and a real run."""

import pytest
import torch
from toy import assert_near, toy

from blocks import build, record
from blocks.corpora.translation import held_out_pairs, tokenizer
from blocks.inspection import encoder_output
from blocks.model.source_target import SourceTarget
from blocks.weights.model_file import trained
from blocks.weights.pocket import pocket

IDS = SourceTarget(torch.tensor([[1, 5, 3, 1]]), torch.tensor([[0, 2]]))


def recorded(**changes):
    config = toy(architecture="encoder-decoder", n_layers=2, vocab_size=11, **changes)
    return config, record(build(config), IDS)


def test_known_vectors():
    before = torch.tensor([[3.0, 4.0], [1.0, 0.0]])
    after = torch.tensor([[6.0, 8.0], [0.0, 1.0]])
    table = encoder_output.tokens(torch.stack([before, after]))
    assert table["norm"].tolist() == [10, 1] and table["norm_before"].tolist() == [5, 1]
    assert table["mean"].tolist() == [7, 0.5] and table["std"].tolist() == [1, 0.5]
    assert table["cosine"].tolist() == pytest.approx([1, 0])
    steps = encoder_output.changes(torch.stack([before, after]))
    assert steps[0].tolist() == pytest.approx([1, 2**0.5])


def test_equal_vectors_are_alike_and_square_ones_are_not():
    found = encoder_output.cosines(torch.tensor([[2.0, 0.0], [0.0, 3.0], [5.0, 0.0], [-1.0, 0.0]]))
    assert found[0].tolist() == [1, 0, 1, -1]
    assert encoder_output.mean_cosine(found) == pytest.approx((2 * (1 - 1 - 1)) / 12)
    assert encoder_output.mean_cosine(found[:1, :1]) == 1


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_the_output_is_what_the_decoder_reads(placement: str):
    config, seen = recorded(norm_placement=placement)
    model = build(config)
    stages = encoder_output.stream(seen, config.n_layers)
    assert stages.shape == (4, 4, config.d_model)
    with torch.no_grad():
        assert_near(stages[-1], model.encode(IDS.source)[0])
    is_final = encoder_output.changes(stages)[-1].abs().max() > 0
    assert is_final == (placement == "pre")


def test_the_same_word_is_told_apart_by_its_place_only():
    _config, seen = recorded(position_kind="none")
    output = encoder_output.stream(seen, 2)[-1]
    assert encoder_output.cosines(output)[0, 3] == pytest.approx(1, abs=1e-5)
    _config, seen = recorded(position_kind="sinusoidal")
    output = encoder_output.stream(seen, 2)[-1]
    assert encoder_output.cosines(output)[0, 3] < 0.999


def test_random_words_of_two_languages_meet_by_chance():
    words, pairs = tokenizer(), held_out_pairs(24)
    sizes = {"n_layers": 1, "max_seq_len": 32, "vocab_size": words.vocab_size}
    config = toy(architecture="encoder-decoder", position_kind="none", **sizes)
    found = encoder_output.across_languages(build(config), 1, pairs, words)
    assert found.n_words == sum(len({a for a, _b in pair.links}) for pair in pairs)
    assert found.before == pytest.approx(found.chance, abs=0.12)


def test_words_that_stand_for_each_other_meet_in_the_trained_encoder():
    shipped, pairs = pocket("translator"), held_out_pairs(16)
    model = trained(shipped.config, shipped.tensors, device="cpu", dtype=torch.float32)
    found = encoder_output.across_languages(
        model, shipped.config.n_layers, pairs, shipped.tokenizer
    )
    again = encoder_output.across_languages(
        model, shipped.config.n_layers, pairs, shipped.tokenizer
    )
    assert found == again and 0 < found.chance < found.after <= 1
