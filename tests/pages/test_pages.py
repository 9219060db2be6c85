"""Every page runs: with each preset, in each language, at both ends of each control."""

from itertools import cycle, islice, product

import pytest
from daily import some_daily
from opened import (
    OF_THE_READER,
    PAGES,
    as_text,
    assert_counts_from_1,
    assert_works,
    control,
    opened,
    settings,
    visit,
)
from streamlit.testing.v1 import AppTest

from blocks.model.devices import available_devices, available_dtypes
from blocks.model.kinds import (
    Activation,
    Architecture,
    Initialization,
    NormKind,
    NormPlacement,
    PositionKind,
)
from blocks.model.masks import MaskKind
from blocks.observe.run import PaddingSide
from blocks.weights.pocket import pocket_names
from pages.server import starts
from pages.show import steps
from pages.words.language import LANGUAGES

pytestmark = pytest.mark.usefixtures("shallow")


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long asks after its first step before it goes on."""
    monkeypatch.setattr(steps, "A_WHILE", 0.0)


WIDE = 512


def small(preset: str) -> dict[str, int]:
    """Two layers of a published architecture at a quarter of its width show all parts of it."""
    config = starts.start(preset).config
    if preset in pocket_names() or config.n_layers < 3:
        return {}
    few = {"n_layers": 2, "vocab_size": 1024}
    if config.d_model > WIDE:
        few |= {"d_model": config.d_model // 4, "d_ff": config.d_ff // 4}
    return few | ({"n_decoder_layers": 2} if config.n_decoder_layers else {})


def assert_shows(at: AppTest, preset: str) -> None:
    assert_works(at)
    assert control(at, "preset").value == preset


def kinds() -> list[list[str]]:
    """The presets by what pages branch on: architecture, and whether weights were trained."""
    found: dict[tuple[Architecture, bool], list[str]] = {}
    for name in starts.names_of_two():
        start = starts.start(name)
        found.setdefault((start.config.architecture, bool(start.weights)), []).append(name)
    return [*found.values()]


def shown() -> list:
    """Every page with every preset; daily each page with every third kind by turns, and of a kind
    another preset on each, so that each has its page.

    Page after page of one preset in one process, so that they share its model.
    """
    turns = [(i, page, j, of) for i, page in enumerate(PAGES) for j, of in enumerate(kinds())]
    daily = {(page, of[i // 3 % len(of)]) for i, page, j, of in turns if (i + j) % 3 == 0}
    return [
        pytest.param(
            *case,
            marks=[
                pytest.mark.xdist_group(case[1]),
                *([] if case in daily else [pytest.mark.exhaustive]),
            ],
        )
        for case in product(OF_THE_READER, starts.names_of_two())
    ]


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(("page", "preset"), shown())
def test_every_page_shows_every_preset(page: str, preset: str):
    kind = next(i for i, of in enumerate(kinds()) if preset in of)
    lang = [*LANGUAGES][(PAGES.index(page) + kind) % len(LANGUAGES)]
    at = opened(page, preset=preset, lang=lang, **small(preset))
    assert_shows(at, preset)
    assert_counts_from_1(at)


PAGE_OF = {
    Architecture.BLOCK: "pages/block.py",
    Architecture.ENCODER: "pages/encoder.py",
    Architecture.GPT: "pages/gpt.py",
    Architecture.ENCODER_DECODER: "pages/seq2seq.py",
}


WHOLE = ("bert-base", "gpt2-small", "t5-small", "smollm2-135m")


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("preset", some_daily(WHOLE, daily=["t5-small"]))
def test_published_architectures_are_shown_whole(preset: str):
    page = PAGE_OF[starts.start(preset).config.architecture]
    assert_shows(opened(page, preset=preset), preset)


def every(**choices) -> list[dict[str, object]]:
    """All combinations of these values."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def in_turns(**choices) -> list[dict[str, object]]:
    """Every value of the longest of these, each with the others' by turns."""
    n = max(len(values) for values in choices.values())
    turns = (islice(cycle(values), n) for values in choices.values())
    return [dict(zip(choices, values, strict=True)) for values in zip(*turns, strict=True)]


CHOICES = {
    "parts": in_turns(activation=Activation, position_kind=PositionKind, norm_kind=NormKind),
    "norm": in_turns(norm_kind=NormKind, norm_placement=NormPlacement),
    "mask, start": in_turns(mask_kind=MaskKind, initialization=Initialization, n_padding=[2]),
    "device": [
        {"device": device, "dtype": dtype}
        for device in available_devices()
        for dtype in available_dtypes(device)
    ],
    "no residual": every(residual=[False], norm_placement=NormPlacement),
    "no bias": every(attention_bias=[False], feed_forward_bias=[False]),
    "as published": [
        {"d_head": 16, "qk_norm": True, "qk_norm_scale": True, "out_bias": False},
        {"d_head": 64, "position_kind": "rope", "rotary_share": 0.25, "n_kv_heads": 1},
        {"norm_placement": "parallel", "parallel_norms": 2},
        {"norm_placement": "parallel", "parallel_norms": 2, "norm_kind": "none"},
        {
            "local_window": 3,
            "score_softcap": 2.0,
            "norm_placement": "sandwich",
            "norm_offset": True,
            "norm_bias": False,
            "sines_first": True,
        },
        {"attention_sink": True, "attention_gate": "elementwise", "norm_placement": "res_post"},
        {"position_kind": "rope", "rope_scaling": "yarn", "rope_factor": 4.0, "nope_every": 2},
    ],
    "training": every(training=[True], norm_kind=NormKind, dropout=[0.9]),
    "language": every(lang=LANGUAGES),
}

RANDOM = {"input_kind": "random"}
NO_KEY = {"mask_kind": "causal_padding", "n_padding": 64, "padding_side": "left"}
EXTREMES = {
    "d_model 1": [{"d_model": 1, "n_heads": 1}],
    "d_model 8": [{"d_model": 8, "n_heads": 8}, {"d_model": 8, "n_heads": 1}],
    "d_model odd": [
        {"d_model": 257, "n_heads": 257, "position_kind": kind}
        for kind in PositionKind
        if kind is not PositionKind.ROPE
    ],
    "d_model 2048": [{"d_model": 2048}],
    "every head one wide": [{"d_model": 64, "n_heads": 64}],
    "one key and value head": [{"n_kv_heads": 1}],
    "d_ff 1": [{"d_ff": 1}],
    "seq_len": every(seq_len=[1, 256], d_model=[64], **{k: [v] for k, v in RANDOM.items()}),
    "batch 64": [{"batch": 64, "d_model": 32, **RANDOM}],
    "rows without a key": [NO_KEY, {**NO_KEY, "batch": 4, "d_model": 64, **RANDOM}],
    "one token and padding": every(
        text=["a"],
        n_padding=[64],
        mask_kind=["causal_padding", "padding"],
        padding_side=PaddingSide,
    ),
    "window 1": [{"mask_kind": "sliding_window", "window_size": 1}],
    "window longer than the text": [{"mask_kind": "sliding_window", "window_size": 256}],
    "prefix": every(mask_kind=["prefix"], prefix_len=[0, 64, 256]),
    "batch of one token": [{"text": "a", "norm_kind": "batchnorm", "training": True}],
    "dropout 0.99": [{"dropout": 0.99, "training": True}],
    "half precision without norm": every(dtype=["float16", "bfloat16"], norm_kind=["none"]),
    "all features": [{"n_dims": 128, "d_model": 64}],
}


@pytest.fixture(scope="module")
def at() -> AppTest:
    """One reader of the block, who opens link after link."""
    return opened()


ALL_NORMS = every(norm_kind=NormKind, norm_placement=NormPlacement)
LINKS = {**CHOICES, **EXTREMES}


@pytest.mark.parametrize(
    "links",
    [
        *(pytest.param(links, id=name) for name, links in LINKS.items()),
        pytest.param(ALL_NORMS, id="every norm in every place", marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.thinned
def test_the_block_runs_at_every_choice_and_both_ends(at: AppTest, links: list[dict[str, object]]):
    for link in links:
        visit(at, **link)
        assert_works(at)
        assert settings(at).items() <= {k: as_text(v) for k, v in link.items()}.items()
