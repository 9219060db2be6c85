"""Models that readers bring, on the pages: their own tokens, whose they are, what is missing."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl

import pytest
import tokenizers
from brought_folders import save_folder
from opened import assert_works, control, opened, press, said
from tokenizers import decoders, models, pre_tokenizers, processors

from blocks.cost.parameters import total_parameters
from blocks.weights.pocket import pocket
from pages.server import brought, starts

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
    """A server's folder: an encoder, an encoder–decoder, and GPTs with a tokenizer and without."""
    root = tmp_path_factory.mktemp("served")
    around = {"bert": ("[CLS]", "[SEP]"), "bart": ("[CLS]", "[SEP]"), "llama": ("[CLS]", "")}
    for name in (*around, "gpt2"):
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
    table = next(each.value for each in at.dataframe if "input token" in each.value)
    assert [*table["input token"]] == ["[CLS]", "the", "small", "[MASK]", "saw", "[SEP]"]
    assert_works(at)
    assert any(each.value.startswith("Opened: `bert` · SHA-256 ") for each in at.sidebar.caption)


def test_a_translator_writes_after_its_own_first_token():
    at = opened("pages/seq2seq.py", preset="folder:bart", panel=None, text="the red ball")
    assert_works(at)
    assert at.query_params["preset"] == "folder:bart"


def test_without_a_tokenizer_one_writes_numbers():
    at = opened("pages/gpt.py", preset="folder:gpt2", panel="next", text="3 1 4 hello")
    assert_works(at)
    for words in ("After `4`", "3 tokens ×"):
        assert words in said(at)
    assert "came without a tokenizer" in " ".join(each.value for each in at.sidebar.caption)


def test_a_page_of_another_architecture_shows_the_way():
    at = opened("pages/gpt.py", preset="folder:bert", panel="next")
    assert_works(at)
    assert any("is not the one shown on this page" in each.value for each in at.sidebar.caption)
    labels = [each.proto.label for each in at.sidebar.get("page_link")]
    assert "Open this model on its own page" in labels


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("folder:gone", "'gone' is not among the folders on this server"),
        ("upload:gpt2-0123456789", "was uploaded by a user and is not on this server"),
        ("hub:owner/model", "has not been downloaded from the Hub"),
    ],
)
def test_a_link_to_what_is_not_here_says_what_is_missing_and_shows_no_other(
    preset: str, words: str
):
    at = opened("pages/gpt.py", preset=preset, panel="next")
    (error,) = at.error
    assert words in error.value
    assert not at.exception and not at.warning and not at.get("plotly_chart")
    assert at.query_params["preset"] == preset
    press(at, "to_shipped")
    assert_works(at)
    assert at.get("plotly_chart")


def test_a_model_over_the_limit_says_the_limit_and_how_to_raise_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save_folder("llama", tmp_path / "large")
    monkeypatch.setenv("BLOCKSCOPE_FOLDERS", str(tmp_path))
    monkeypatch.setattr(brought, "_most_bytes", lambda: 20_000)
    at = opened(preset="folder:large")
    (error,) = at.error
    for words in (
        "take 36.6 kB as float32, more than the 20 kB",
        "half of BLOCKSCOPE_MEMORY_GIB, which is 2",
        "Set BLOCKSCOPE_MEMORY_GIB to 1 or more on the server",
    ):
        assert words in error.value
    assert not at.warning and not at.get("plotly_chart")
    assert "d_model" not in error.value and "Stories" not in said(at)
    ways = [
        each.proto
        for each in at.get("page_link")
        if each.proto.label.endswith((" its parameters", " its cost"))
    ]
    config = brought.find("folder:large").counted
    for way, page in zip(ways, ("parameters", "cost"), strict=True):
        at = opened(f"pages/{page}.py", **{**dict(parse_qsl(way.query_string)), "panel": ""})
        assert_works(at)
        assert f"{total_parameters(config):,}" in said(at) and "large" in said(at)


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Brings a file that was saved here, its card perhaps changed; returns its name."""
    monkeypatch.setenv("BLOCKSCOPE_UPLOADS", str(tmp_path))

    def bring(**changes: object) -> str:
        file = pocket("sort")
        recipe = {**file.card.recipe, **changes}
        raw = replace(file, card=replace(file.card, recipe=recipe)).to_bytes()
        upload = SimpleNamespace(name="sort.safetensors", getbuffer=lambda: memoryview(raw))
        return brought.take_in([upload])

    return bring


def test_a_file_that_was_saved_here_is_made_smaller_and_shown_everywhere(saved):
    preset = saved()
    at = opened("pages/efficiency.py", preset=preset, panel="rounding", n_bits="3")
    assert_works(at)
    at.button(key="use_rounded").click().run()
    assert_works(at)
    assert at.query_params["preset"] == f"{preset}~int3"
    assert preset.partition(":")[2] in at.query_params["kept"]
    at = opened("pages/encoder.py", preset=f"{preset}~int3", panel="")
    assert_works(at)
    assert at.query_params["preset"] == f"{preset}~int3"


@pytest.mark.parametrize(
    "changes",
    [
        {"task": {"kind": "sort", "seq_len": 1000, "architecture": "encoder"}},
        {"task": {"kind": "translation", "seq_len": 15}},
        {"task": None},
    ],
)
def test_a_card_that_names_no_task_that_fits_is_said_so(saved, changes):
    at = opened("pages/efficiency.py", preset=saved(**changes), panel="")
    assert_works(at)
    assert "names no task that can be measured here" in at.info[0].value
    assert at.button(key="shrink_sort")


@pytest.mark.parametrize("changes", [{"task": None}, {"recipe": 3}, {"config": None}])
@pytest.mark.thinned
def test_a_card_that_says_anything_stops_no_page(saved, changes):
    assert_works(opened("pages/positions.py", preset=saved(**changes)))


@pytest.mark.parametrize(
    ("name", "said"), [("bart", "reads a source and predicts a target"), ("gpt2", "tokenizer.json")]
)
def test_what_no_text_can_be_asked_of_says_why_and_leads_to_a_model(name: str, said: str):
    at = opened("pages/efficiency.py", preset=f"folder:{name}", panel="")
    assert_works(at)
    assert said in at.info[0].value
    assert at.button(key="shrink_sort")


def test_a_chat_model_is_asked_and_answers_to_its_end(served: Path):
    folder = save_folder("llama", served / "chat")
    made = tokenizer_of("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", around=("", ""))
    made.save(str(folder / "tokenizer.json"))
    template = "{{ bos_token }} and {{ messages[0].content }} [SEP]"
    told = {"bos_token": "[CLS]", "chat_template": template}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    drawn = {"eos_token_id": [*range(37)], "temperature": 0.5}  # so that every token ends it
    (folder / "generation_config.json").write_text(json.dumps(drawn))
    at = opened("pages/gpt.py", preset="folder:chat", panel="writing", text="the [SEP] robot")
    press(at, "put_as_chat")
    assert_works(at)
    assert (at.query_params["prompt"], at.query_params["n_new_tokens"]) == ("chat", "128")
    assert "an end token of the model, so nothing follows it" in said(at)
    labels = " ".join(each.label for each in at.expander)
    assert "temperature 0.5" in labels and "as the model's files specify" in labels
    chips = next(each.value for each in at.markdown if "CLS" in each.value)
    assert chips.count("SEP") == 1 and chips.count("UNK") == 3  # what was typed is text
    assert chips.startswith(":gray[:small[") and chips.count("CLS") == 1
    press(at, "put_as_text")
    assert "prompt" not in at.query_params
    beside = opened("pages/gpt.py", preset="folder:chat", panel="next")
    assert control(beside, "temperature").value == 1  # one looks at the model's own probabilities
    (folder / "chat_template.jinja").write_text("{{ raise_exception('not today') }}")
    at = opened("pages/gpt.py", preset="folder:chat", panel="writing", prompt="chat")
    assert_works(at, warnings=1)
    assert "not today" in at.warning[0].value


def test_a_text_may_begin_with_the_start_token_of_its_model():
    at = opened("pages/gpt.py", preset=None, panel="surprise", text="The robot")
    press(at, "start_token")
    assert_works(at)
    assert at.query_params["prompt"] == "start"
    n_tokens = len(at.dataframe[0].value)
    press(at, "start_token")
    assert len(at.dataframe[0].value) == n_tokens - 1


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_every_question_of_efficiency_is_asked_of_a_brought_model(name: str):
    """On what ships; what trains says so, and offers the models that can be trained on."""
    at = opened("pages/efficiency.py", preset=f"folder:{name}", panel="all")
    assert_works(at)
    assert "share no token" in said(at)
    assert at.button(key="retrained_sort") and at.button(key="taught_sort")


def test_a_text_of_the_readers_own_calibrates_and_scores_and_its_recipe_names_it():
    query = {"score_text": "own", "rounding": "gptq", "n_bits": "3", "measure_rounded": "true"}
    at = opened(
        "pages/efficiency.py",
        preset="folder:llama",
        panel="rounding",
        pressed=["measure_rounded"],
        **query,
    )
    assert at.info[0].value.startswith("Paste a text of your own")
    at.text_area(key="pasted_score_text").set_value(" ".join(WORDS * 16)).run()
    assert_works(at)
    assert "The first 64 of its 128 tokens are used for calibration" in said(at)
    table = next(each.value for each in at.table if "perplexity" in each.value)
    assert [*table["variant"]] == ["original", "int3-gptq"]
    assert all(" ± " in each for each in table["next-token accuracy"])
    press(at, "use_rounded")
    name, recipe = at.query_params["preset"].split("~")
    assert name == "folder:llama" and recipe.startswith("int3-gptq.text-")
    assert_works(at)
    known = f"{name}~{recipe}"
    assert_works(opened("pages/gpt.py", preset=known, panel=""))
    assert not starts.is_known(known.replace(recipe[-3:], "000"))  # a text that is not here


def test_the_loss_by_position_is_that_of_a_text_where_no_task_is_known():
    for text, where in (
        (" ".join(WORDS * 10), "starting later in the text"),
        ("the red ball", "fewer than 64"),
    ):
        at = opened("pages/positions.py", preset="folder:llama", panel="loss", text=text)
        assert_works(at)
        assert "a token costs" in at.info[0].value and where in said(at)


def test_a_recipe_of_the_readers_own_is_measured_beside_the_original():
    at = opened("pages/efficiency.py", preset="folder:llama", panel="frontier")
    assert at.session_state["own_recipe_fold"] is False
    at.session_state["own_recipe_fold"] = True
    at.run()
    at.text_input(key="own_recipe").set_value("layers7").run()
    assert "There is no layer 7" in at.error[0].value
    at.text_input(key="own_recipe").set_value("heads1.int4-awq").run()
    assert_works(at)
    assert "bits per token over the same" in at.info[0].value
