"""A published folder computes here what it computes in `transformers`, and goes back as it came."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from daily import some_daily
from published_folders import FOLDERS, Folder, saved
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from toy import assert_near

from blocks import as_code
from blocks.model.masks import causal, padding
from blocks.model.models import GPT, Encoder, EncoderDecoder, Model
from blocks.model.source_target import SourceTarget, source_target_mask
from blocks.observe import record
from blocks.text.beam import BeamConfig, BeamSearch, greedy
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig
from blocks.weights.config_families import FAMILIES
from blocks.weights.families import plan_of
from blocks.weights.ledger import State
from blocks.weights.published import Published, open_published, save_published

N = 7
ATTENTIONS = {
    "attentions": "layers.{}.pattern",
    "encoder_attentions": "encoder.layers.{}.pattern",
    "decoder_attentions": "decoder.layers.{}.pattern",
    "cross_attentions": "decoder.layers.{}.cross_pattern",
}
"""What `transformers` calls the patterns, and their names here."""
IS_TOKEN = torch.tensor([[True] * N, [True] * 4 + [False] * 3])
SOURCE_IS_TOKEN = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])


def by_turns() -> list[Any]:
    """All folders; daily one of each kind, the first or the last of them."""
    of_kind: dict[str, list[str]] = {}
    for name, (kind, _sizes) in FOLDERS.items():
        of_kind.setdefault(kind, []).append(name)
    daily = [names[-(i % 2)] for i, names in enumerate(of_kind.values())]
    return some_daily(FOLDERS, daily=daily)


@pytest.fixture(scope="module", params=by_turns())
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return saved(request.param, tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def found(folder: Folder) -> Published:
    """The folder as it is opened here."""
    return open_published(folder.path)


@pytest.fixture(scope="module")
def model(found: Published) -> Model:
    """Our model of it; no test changes it."""
    return found.build()


def ids(n: int = N, seed: int = 0) -> Tensor:
    """Two rows of token ids; 0 to 2 stand for padding and the like."""
    return torch.randint(3, 37, (2, n), generator=torch.Generator().manual_seed(seed))


def texts_of(model: nn.Module) -> Tensor | SourceTarget:
    """Two texts, and what they are written from where there is a source."""
    return SourceTarget(ids(5, seed=1), ids()) if isinstance(model, EncoderDecoder) else ids()


def ours_of(model: Model, is_token: Tensor | None) -> Tensor:
    """What our model makes of two texts; without a head, the stream that leaves it."""
    if isinstance(model, EncoderDecoder):
        mask = None if is_token is None else source_target_mask(SOURCE_IS_TOKEN, is_token)
        return model(texts_of(model), mask)
    if type(model) is not Encoder:
        return model(ids(), None if is_token is None else padding(is_token) & causal(N))
    run = model.encode if model.pooler is not None else model
    return run(ids(), None if is_token is None else padding(is_token))


def theirs_of(model: nn.Module, is_token: Tensor | None) -> Tensor:
    """What `transformers` makes of the same texts."""
    if not model.config.is_encoder_decoder:
        return model(ids(), attention_mask=None if is_token is None else is_token.long())[0]
    masks = {"attention_mask": SOURCE_IS_TOKEN, "decoder_attention_mask": is_token}
    texts = {"input_ids": ids(5, seed=1), "decoder_input_ids": ids()}
    return model(**texts, **({} if is_token is None else masks)).logits


def test_every_family_has_two_folders():
    kinds = [kind for kind, _sizes in FOLDERS.values()]
    assert {kind for kind in kinds if kinds.count(kind) > 1} == set(kinds) - {"BertModel"}
    assert len({*kinds}) == len(FAMILIES) + 1


@pytest.mark.parametrize("is_padded", [False, True])
@torch.no_grad()
def test_the_output_is_that_of_transformers(folder: Folder, model: Model, is_padded: bool):
    is_token = IS_TOKEN if is_padded else torch.ones_like(IS_TOKEN)
    ours = ours_of(model, IS_TOKEN if is_padded else None)
    theirs = theirs_of(folder.theirs, IS_TOKEN if is_padded else None)
    assert_near(ours[is_token], theirs[is_token])
    assert theirs.std(dim=1).mean() > 0.1 * theirs.std()  # each token matters


@torch.no_grad()
def test_every_pattern_is_that_of_transformers(folder: Folder, model: Model):
    mask = causal(N) if isinstance(model, GPT) else None
    kept = {"pattern", "cross_pattern"} if isinstance(model, EncoderDecoder) else {"pattern"}
    ours = record(model, texts_of(model), mask=mask, keep=kept).tensors
    names = {"input_ids": ids()}
    if isinstance(model, EncoderDecoder):
        names = {"input_ids": ids(5, seed=1), "decoder_input_ids": ids()}
    theirs = folder.theirs(**names, output_attentions=True)
    found = {name: theirs[name] for name in ATTENTIONS if theirs.get(name) is not None}
    assert sum(map(len, found.values())) == len(ours)
    for name, patterns in found.items():
        paths = (ATTENTIONS[name].format(i) for i in range(9))
        there = [ours[path] for path in paths if path in ours]  # other layers keep a state
        for own, pattern in zip(there, patterns, strict=True):
            assert_near(own, pattern)


def bits(path: Path) -> dict[str, bytes]:
    """Every tensor of a folder, to the last bit."""
    tensors = load_file(path / "model.safetensors")
    return {key: tensor.numpy().tobytes() for key, tensor in tensors.items()}


def test_what_is_saved_again_is_the_same_bit_for_bit(
    folder: Folder, found: Published, model: Model, tmp_path: Path
):
    family = save_published(tmp_path, found.config, model, came=found.ledger)
    assert family == found.family == folder.theirs.config.model_type
    assert bits(tmp_path) == bits(folder.path)  # names too
    assert open_published(tmp_path).config == found.config


@torch.no_grad()
def test_transformers_reads_what_is_saved_here(
    folder: Folder, found: Published, model: Model, tmp_path: Path
):
    save_published(tmp_path, found.config, model, family=found.family)
    again = type(folder.theirs).from_pretrained(tmp_path, attn_implementation="eager")
    assert_near(theirs_of(again, None), theirs_of(folder.theirs, None))
    weights = again.state_dict()
    for key, tensor in folder.theirs.state_dict().items():
        assert torch.equal(weights[key], tensor), key


CODE = ("smollm3", "olmo3", "exaone4", "glm4", "starcoder2", "qwen3_5", "qwen3_next")


@pytest.mark.parametrize("name", some_daily(FOLDERS, daily=CODE))
@torch.no_grad()
def test_its_code_says_what_it_says(name: str, tmp_path: Path):
    found = open_published(saved(name, tmp_path).path)
    model = found.build()
    written: dict[str, Any] = {"__name__": "written"}
    exec(compile(as_code(found.config), found.family, "exec"), written)
    own = written[type(model).__name__]().eval()
    own.load_state_dict(model.state_dict())
    texts = texts_of(model)
    if isinstance(texts, SourceTarget):
        texts = written["SourceTarget"](texts.source, texts.target)
    assert_near(own(texts), model(texts_of(model)))


@pytest.mark.parametrize("name", ["smollm3", "olmo3", "glm4-odd", "qwen3_5", "qwen3_next"])
@pytest.mark.thinned
def test_64_greedy_tokens_are_those_of_transformers(name: str, tmp_path: Path):
    check_greedy(name, tmp_path, 64, {"max_position_embeddings": 128})


@pytest.mark.parametrize(
    "name",
    [
        *("gpt2", "llama", "mixtral", "deepseek_v3", "gpt_neox", "bloom", "opt", "gemma3-odd"),
        *("phi3-odd", "phi3-long", "gpt_oss", "exaone4"),
    ],
)
def test_greedy_with_a_cache_is_that_of_transformers_token_for_token(name: str, tmp_path: Path):
    check_greedy(name, tmp_path, 10)


def check_greedy(name: str, path: Path, n_tokens: int, sizes: dict[str, Any] | None = None) -> None:
    folder = saved(name, path, sizes)
    found = open_published(folder.path)
    prompt = ids(4)[0].tolist()
    text = Generation(found.build(), found.config, prompt, SamplingConfig(temperature=0))
    text.advance(n_tokens)
    theirs = folder.theirs.generate(
        torch.tensor([prompt]),
        do_sample=False,
        max_new_tokens=n_tokens,
        pad_token_id=0,
        eos_token_id=None,
    )
    assert text.token_ids == theirs[0].tolist()


@pytest.mark.parametrize("name", ["marian", "marian-odd", "mt5-odd"])
def test_greedy_targets_are_those_of_transformers_token_for_token(name: str, tmp_path: Path):
    folder = saved(name, tmp_path)
    found = open_published(folder.path)
    model, source = found.build(), ids(5)
    assert isinstance(model, EncoderDecoder)
    search = BeamConfig(start_id=found.marks.start, stop_id=-1, max_new_tokens=8)
    theirs = folder.theirs.generate(
        source,
        do_sample=False,
        num_beams=1,
        max_new_tokens=8,
        eos_token_id=None,
        forced_eos_token_id=None,
    )
    assert greedy(model, found.config, source, search) == theirs[:, 1:].tolist()


def test_what_a_file_bars_is_never_written(tmp_path: Path):
    folder = saved("marian", tmp_path)
    text = json.loads((tmp_path / "config.json").read_text())
    free = open_published(tmp_path)
    model, source = free.build(), ids(5)[:1]
    assert isinstance(model, EncoderDecoder) and free.marks.never == ()
    search = BeamConfig(start_id=free.marks.start, stop_id=-1, max_new_tokens=4)
    (written,) = greedy(model, free.config, source, search)
    text["bad_words_ids"] = [[written[0]], [1, 2], "x", [10**6]]
    (tmp_path / "config.json").write_text(json.dumps(text))
    never = open_published(tmp_path).marks.never
    assert never == (written[0],)
    theirs = folder.theirs.generate(
        source,
        do_sample=False,
        num_beams=1,
        max_new_tokens=4,
        eos_token_id=None,
        forced_eos_token_id=None,
        bad_words_ids=[[written[0]]],
    )
    barred = replace(search, never=never)
    assert greedy(model, free.config, source, barred) == theirs[:, 1:].tolist()
    beams = BeamSearch(model, free.config, source[0].tolist(), replace(barred, beam_width=2)).run()
    assert all(each.token_id != written[0] for each in beams.tree)


def older_gpt2(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Without a prefix, with the causal mask of each layer."""
    masks = {f"h.{i}.attn.bias": torch.ones(1, 1, 17, 17) for i in range(2)}
    return {key.removeprefix("transformer."): each for key, each in tensors.items()} | masks


def older_bert(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """gamma and beta, the twins of tied weights, a head for pairs of sentences."""
    table, bias = "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"
    return {
        **{
            key.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): each
            for key, each in tensors.items()
        },
        "cls.predictions.decoder.weight": tensors[table].clone(),
        "cls.predictions.decoder.bias": tensors[bias].clone(),
        "cls.seq_relationship.weight": torch.ones(2, 24),
        "bert.embeddings.position_ids": torch.arange(17)[None],
    }


@pytest.mark.parametrize(("name", "older"), [("gpt2", older_gpt2), ("bert", older_bert)])
def test_files_of_older_versions_are_the_same(
    name: str, older: Callable[[dict[str, Tensor]], dict[str, Tensor]], tmp_path: Path
):
    path = saved(name, tmp_path).path
    new = {key: tensor.clone() for key, tensor in open_published(path).tensors.items()}
    tensors = {key: t.clone() for key, t in load_file(path / "model.safetensors").items()}
    save_file(older(tensors), path / "model.safetensors")
    found = open_published(path)
    assert found.tensors.keys() == new.keys()
    assert all(torch.equal(found.tensors[key], tensor) for key, tensor in new.items())
    save_published(tmp_path / "again", found.config, found.build(), came=found.ledger)
    again = load_file(tmp_path / "again" / "model.safetensors")
    used = {row.key for row in found.ledger.rows if row.state is State.USED}
    assert again.keys() == used != plan_of(found.family, found.config).places.keys()


def test_a_model_is_saved_in_several_files_which_transformers_reads(tmp_path: Path):
    found = open_published(saved("llama", tmp_path / "whole").path)
    save_published(tmp_path / "shards", found.config, found.build(), most_bytes=8_000)
    names = [path.name for path in (tmp_path / "shards").glob("*.safetensors")]
    assert len(names) > 2 and f"model-00001-of-{len(names):05}.safetensors" in names
    assert all(len(load_file(tmp_path / "shards" / name)) for name in names)
    again = open_published(tmp_path / "shards")
    assert all(again.tensors[name].equal(tensor) for name, tensor in found.tensors.items())
    theirs = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "shards")
    whole = load_file(tmp_path / "whole" / "model.safetensors")
    assert all(theirs.state_dict()[key].equal(tensor) for key, tensor in whole.items())


@pytest.mark.parametrize("name", ["t5-gated", "mt5"])
@pytest.mark.parametrize("says_tied", [True, False])
@torch.no_grad()
def test_a_t5_with_a_head_of_its_own_is_untied_whatever_its_config_says(
    name: str, says_tied: bool, tmp_path: Path
):
    folder, file = saved(name, tmp_path), tmp_path / "model.safetensors"
    tensors = {key: tensor.clone() for key, tensor in load_file(file).items()}
    tensors["lm_head.weight"] = tensors["shared.weight"].roll(1, dims=0)
    save_file(tensors, file, metadata={"format": "pt"})
    values = json.loads((tmp_path / "config.json").read_text())
    values |= {"tie_word_embeddings": says_tied}
    (tmp_path / "config.json").write_text(json.dumps(values))
    found = open_published(tmp_path)
    theirs = type(folder.theirs).from_pretrained(tmp_path, attn_implementation="eager")
    assert not found.config.vocabulary.tie_embeddings
    assert_near(ours_of(found.build(), None), theirs_of(theirs, None))
