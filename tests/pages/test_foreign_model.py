"""Every panel of every page, opened with a model that a reader brings, speaks of that model."""

import re
from pathlib import Path

import pytest
import tokenizers
from brought_folders import save_folder
from daily import some_daily
from opened import OF_THE_READER, assert_works, opened, said, words_in_pictures
from streamlit.testing.v1 import AppTest
from tokenizers import decoders, models, pre_tokenizers

from blocks.weights.pocket import pocket, pocket_names
from pages.server.starts import POCKET_TITLES
from pages.show import everything

pytestmark = pytest.mark.usefixtures("shallow")

TEXT = "the small robot sees the red ball"
# They train, or measure against, models of their own, and name them.
OF_OTHERS = {"ideas", "trade-off", "peeking", "race"}
# Training trains on a task of ours.
OWN_PAGES = [page for page in OF_THE_READER if "training" not in page]
# What Home tells of the story model says that it is that one's.
SHE_OR_HE = re.compile("the small story model|in the stories")
# Each page with a model of its own kind.
MODELS = {"pages/encoder.py": "bert", "pages/seq2seq.py": "bart"}
OF_ONE_TEXT = ("attention", "block", "encoder", "feed_forward", "gpt", "masks", "normalization")
SHIPPED = {
    *(rf"\b{POCKET_TITLES[name]} \(" for name in pocket_names()),  # with its size, as in labels
    *(pocket(name).card.task for name in pocket_names()),
}
OURS = re.compile(
    "|".join((*sorted(SHIPPED), r"\bstor(y|ies)\b", "trained by us", "this task", r"· seed \d")),
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of each kind, whose tokens are letters or parts of words."""
    root = tmp_path_factory.mktemp("served")
    for name in ("llama", "bert", "bart"):
        save_folder(name, root / name)
        letters = {sign: i for i, sign in enumerate("?abcdefghijklmnopqrstuvwxyzĠ")}
        merges = [("Ġ", "t"), ("h", "e"), ("r", "e"), ("a", "l")]
        parts = {a + b: len(letters) + i for i, (a, b) in enumerate(merges)}
        made = tokenizers.Tokenizer(models.BPE(letters | parts, merges, unk_token="?"))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        made.save(str(root / name / "tokenizer.json"))
    return root


@pytest.fixture(autouse=True)
def its_own_panels(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_FOLDERS", str(served))
    in_turn = everything.in_turn
    monkeypatch.setattr(
        everything, "in_turn", lambda all_: in_turn([p for p in all_ if p[1] not in OF_OTHERS])
    )


def written(at: AppTest) -> list[str]:
    """All that is said of the model: not what is offered instead of it, on a button or a link."""
    tables = [table.value.to_csv(index=False) for table in (*at.dataframe, *at.table)]
    lines = "\n".join((said(at), words_in_pictures(at), *tables)).splitlines()
    return [line for line in lines if not SHE_OR_HE.search(line)]


@pytest.mark.parametrize(
    "page", some_daily(OWN_PAGES, daily=["pages/attention.py", "pages/seq2seq.py"])
)
def test_no_panel_speaks_of_the_models_that_ship_with_us(page: str):
    preset = f"folder:{MODELS.get(page, 'llama')}"
    at = opened(page, preset=preset, text=TEXT)
    assert_works(at)
    assert at.query_params["preset"] == preset
    assert [line for line in written(at) if OURS.search(line)] == []


@pytest.mark.parametrize("page", OF_ONE_TEXT)
@pytest.mark.thinned
def test_a_page_of_one_text_says_first_that_an_encoder_decoder_learned_nothing_for_it(page: str):
    at = opened(f"pages/{page}.py", preset="folder:bart", panel=None, text=TEXT)
    assert_works(at)
    shown = [str(each.value) if each.type == "markdown" else each.type for each in at.main]
    warning = "**Random weights**: `bart` has no weights trained for this page"
    at_warning = [i for i, text in enumerate(shown) if text.startswith(warning)]
    assert at_warning and at_warning[0] < shown.index("plotly_chart")
    assert at.button(key="to_trained")
