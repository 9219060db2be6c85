"""A text of one's own as calibration and as score, against torch and `transformers`."""

import math
from dataclasses import replace

import pytest
import tokenizers
import torch
from efficiency_toy import config_of, weights_of
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from torch.nn.functional import cross_entropy
from toy import assert_near

from blocks import ConfigError
from blocks.efficiency import on_text
from blocks.efficiency.cache_facts import measure_cache
from blocks.efficiency.cache_rounding import CacheRounding
from blocks.efficiency.compression import Compression, compress
from blocks.efficiency.frontier import measure_variant
from blocks.efficiency.own_text import windows
from blocks.efficiency.quantization import Quantization, quantize
from blocks.efficiency.rounding import Rounding, gptq
from blocks.text.characters import CharacterTokenizer
from blocks.text.published import PublishedTokenizer
from blocks.training.task import IGNORED
from blocks.weights.model_file import ModelFile, read_model_file, trained

TEXT = "".join("abcdefghijk"[(i * i + i // 7) % 11] for i in range(150))


def file_of(**changes) -> ModelFile:
    config = config_of(architecture="gpt", max_seq_len=64).replace(**changes)
    return ModelFile(config, CharacterTokenizer.of("abcdefghijk"), None, weights_of(config))


@pytest.fixture(scope="module")
def model():
    return on_text(file_of(), TEXT)


def test_one_half_calibrates_and_the_other_is_scored(model):
    """Rows as the model has positions for, each token of a half in one of them."""
    ids = model.tokenizer.encode(TEXT)
    halves = [
        [row for b in part for row in b.token_ids.tolist()]
        for part in (model.batches, model.examiner.batches)
    ]
    assert [len(half) for half in halves] == [2, 2]
    for half, expected in zip(halves, (ids[:75], ids[75:]), strict=True):
        whole = [each for row in half for each in row]
        assert whole == expected[:36] + expected[37:73]  # the last of a row is asked for alone
    assert model.examiner.n_asked == 72 and model.examiner.n_left == 0


def test_the_loss_is_that_of_torch_and_the_accuracy_has_its_error(model):
    """Against a loop over the second half, two rows of 37 tokens."""
    ids, built = model.tokenizer.encode(TEXT)[75:], model.file.build()
    bits, right = [], []
    for row in (ids[:37], ids[37:74]):
        logits = built(torch.tensor([row]))[0, :-1]
        nats = cross_entropy(logits, torch.tensor(row[1:]), reduction="none")
        bits += (nats / math.log(2)).tolist()
        right += (logits.argmax(-1) == torch.tensor(row[1:])).tolist()
    found = measure_variant(model, "")
    assert_near(torch.tensor(found.scores), torch.tensor(bits))
    assert found.held_out_loss == pytest.approx(sum(bits) / 72 * math.log(2), rel=1e-5)
    assert found.accuracy == pytest.approx(sum(right) / 72)
    assert found.spread == pytest.approx(torch.tensor(bits).std().item() / math.sqrt(72), rel=1e-4)


def test_every_recipe_makes_a_file_that_opens_again_without_a_card(model):
    """Its weights are those of the naive formula, written out."""
    made = compress(model, Compression(quantization=Quantization(n_bits=4)))
    name = "layers.1.feed_forward.up_proj.weight"
    weight = model.file.tensors[name]
    scale = (weight.abs().amax(1, keepdim=True) / 7.5).half().float()
    assert_near(made.tensors[name], (weight / scale).round().clamp(-8, 7) * scale)
    again = read_model_file(made.to_bytes(torch.float32))
    assert again.card is None
    assert_near(again.tensors[name], made.tensors[name])
    smaller = measure_variant(model, "heads1-wanda.int8-gptq")
    assert smaller.n_parameters < sum(each.numel() for each in model.file.tensors.values())


def test_gptq_and_awq_round_with_less_error_on_the_calibration_half(model):
    for name, inputs in model.own_inputs.items():
        weight, how = model.file.tensors[name], Quantization(n_bits=3)
        nearest = inputs.output_error(weight, quantize(weight, how).values())
        assert inputs.output_error(weight, gptq(weight, how, inputs).values()) < nearest
        tensors = compress(model, Compression(quantization=how, rounding=Rounding.AWQ)).tensors
        assert inputs.output_error(weight, tensors[name]) <= nearest * (1 + 1e-6)


def test_a_cache_of_many_bits_scores_what_the_model_scores(model):
    """The first row, token by token through it."""
    exact, coarse = (measure_cache(model, how) for how in (None, CacheRounding(n_bits=2)))
    assert_near(torch.tensor(exact.scores), torch.tensor(measure_variant(model, "").scores[:36]))
    assert exact.largest_difference < 1e-4 < coarse.largest_difference


def test_an_encoder_is_asked_for_the_tokens_that_are_hidden():
    """What its tokenizer puts around a text stands around each row, and is not asked for."""
    config = config_of(architecture="encoder", max_seq_len=24)
    model = on_text(
        ModelFile(config, bert_tokenizer(), None, weights_of(config)),
        " ".join("abcdefgh"[i * i % 8] for i in range(80)),
    )
    for batch in (*model.batches, *model.examiner.batches):
        is_hidden = batch.token_ids == 2
        assert batch.token_ids[0, 0] == 0 and batch.token_ids[0, -1] == 1
        assert 0.1 < is_hidden.float().mean() < 0.2
        assert torch.equal(is_hidden, batch.targets != IGNORED)
        assert (batch.targets[is_hidden] > 2).all()
    assert measure_variant(model, "int8").held_out_loss > 0


def bert_tokenizer() -> PublishedTokenizer:
    """Words, with [CLS] before a text and [SEP] behind it."""
    words = ("[CLS]", "[SEP]", "[MASK]", *"abcdefgh")
    found = tokenizers.Tokenizer(WordLevel({w: i for i, w in enumerate(words)}, unk_token="a"))
    found.pre_tokenizer = Whitespace()
    found.add_special_tokens([*words[:3]])
    found.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    return PublishedTokenizer(found.to_str())


def test_windows_go_through_a_text_from_its_beginning_to_its_end():
    """Behind what a tokenizer puts before a text, here [CLS] and, behind it, [SEP]."""
    ids = bert_tokenizer().encode(" ".join("abcdefgh"[i * i % 8] for i in range(50)))
    text = " ".join("abcdefgh"[i * i % 8] for i in range(50))
    first, middle, last = windows(bert_tokenizer(), text, 20, 3)
    assert first.token_ids[0].tolist() == ids[:20] and first.targets[0].tolist() == ids[1:21]
    assert middle.token_ids[0].tolist() == [0, *ids[16:35]]
    assert last.targets[0].tolist() == ids[31:51]
    (half,) = windows(bert_tokenizer(), text, 40, 1)
    assert half.targets.shape == (1, 25)


def test_what_no_text_can_ask_is_refused_with_the_mend():
    for file, text, said in (
        (file_of(), "abc" * 9, "27 tokens, too few"),
        (file_of(architecture="encoder"), TEXT, "no mask token"),
        (file_of(architecture="encoder-decoder", n_decoder_layers=1), TEXT, "reads a source"),
    ):
        with pytest.raises(ConfigError, match=said):
            on_text(file, text)


def test_a_task_of_its_own_is_left_out_where_a_text_is_given(model):
    """Nothing of the training is asked for, and a variant says what it was measured on."""
    assert model.score_name == "bits per token" and not model.is_share
    with pytest.raises(KeyError):
        _ = replace(model, text=None).spec
    assert trained(model.file.config, model.file.tensors) is not None
