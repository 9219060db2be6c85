"""Models that readers bring, on the pages: their own tokens, whose they are, what is missing."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import tokenizers
from brought_folders import save_folder
from opened import assert_works, opened, said
from tokenizers import decoders, models, pre_tokenizers, processors

from blocks.weights.pocket import pocket
from pages.ui import brought

WORDS = ["the", "small", "robot", "saw", "red", "ball", "and", "smiled"]


def tokenizer_of(*special: str, around: tuple[str, str]) -> tokenizers.Tokenizer:
    """Whole words, with a token before and after every text."""
    vocabulary = {word: i for i, word in enumerate([*special, *WORDS])}
    made = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.decoder = decoders.WordPiece()
    made.add_special_tokens(list(special))
    first, last = around
    template = [(name, vocabulary[name]) for name in around if name]
    made.post_processor = processors.TemplateProcessing(
        f"{first} $A {last}".strip(), None, template
    )
    return made


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server's folder: an encoder, an encoder–decoder, and a GPT without a tokenizer."""
    root = tmp_path_factory.mktemp("served")
    around = {"bert": ("[CLS]", "[SEP]"), "bart": ("[CLS]", "[SEP]")}
    for name in ("bert", "bart", "gpt2"):
        save_folder(name, root / name)
    for name, marks in around.items():
        made = tokenizer_of("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", around=marks)
        made.save(str(root / name / "tokenizer.json"))
    return root


@pytest.fixture(autouse=True)
def allowed(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_FOLDERS", str(served))


def test_an_encoder_fills_its_own_mask_with_its_own_words():
    text = "the small [MASK] saw"
    at = opened("pages/encoder.py", preset="folder:bert", panel="all", text=text)
    table = next(each.value for each in at.dataframe if "token it read" in each.value)
    assert [*table["token it read"]] == ["[CLS]", "the", "small", "[MASK]", "saw", "[SEP]"]
    assert_works(at)
    assert any(each.value.startswith("Brought: `bert` · SHA-256 ") for each in at.sidebar.caption)


def test_a_translator_writes_after_its_own_first_token():
    at = opened("pages/seq2seq.py", preset="folder:bart", panel=None, text="the red ball")
    assert_works(at)
    assert at.query_params["preset"] == "folder:bart"


def test_without_a_tokenizer_one_writes_numbers():
    at = opened("pages/gpt.py", preset="folder:gpt2", panel="next", text="3 1 4 hello")
    assert_works(at)
    for words in ("After `4`", "3 tokens ×"):
        assert words in said(at)


def test_a_page_of_another_architecture_shows_the_way():
    at = opened("pages/gpt.py", preset="folder:bert", panel="next")
    assert_works(at)
    assert any("shows another architecture" in each.value for each in at.sidebar.caption)
    labels = [each.proto.label for each in at.sidebar.get("page_link")]
    assert "Open it on its own page" in labels


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("folder:gone", "'gone' is not in the folders of this server"),
        ("upload:gpt2-0123456789", "was uploaded by a reader and is not on this server"),
        ("hub:owner/model", "has not been fetched from the hub"),
    ],
)
def test_a_link_to_what_is_not_here_says_what_is_missing(preset: str, words: str):
    at = opened("pages/gpt.py", preset=preset, panel="next")
    assert any(words in each.value for each in at.warning)
    assert not at.exception


def test_what_a_brought_model_was_trained_on_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BLOCKSCOPE_UPLOADS", str(tmp_path))
    raw = pocket("sort").to_bytes()  # a file that was saved here says it, in its card
    file = SimpleNamespace(name="sort.safetensors", getbuffer=lambda: memoryview(raw))
    at = opened("pages/efficiency.py", preset=brought.take_in([file]), panel="")
    assert_works(at)
    assert at.button(key="shrink_sort")
