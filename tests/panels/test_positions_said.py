"""What the panels of positions say: facts filled in by hand, each case read."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import checked
from said_in import in_both

from blocks import ModelConfig
from blocks.inspection.beyond_length import HEAD_MEASURES, BeyondFacts, LossFacts, Refused
from blocks.inspection.position_claims import Claim, ClaimsFacts, ShiftFacts, Verdict
from blocks.inspection.position_facts import KindFacts, LikenessFacts, PairFacts, TableFacts
from blocks.model.faults import Fault
from blocks.model.kinds import PositionKind
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.figures.chart import Chart
from pages.figures.drawn_chart import drawn
from pages.panels.positions import beyond, claims, curves, loss, matrix, trained

NONE, SINUSOIDAL, LEARNED, ROPE, ALIBI = (
    PositionKind(name) for name in ("none", "sinusoidal", "learned", "rope", "alibi")
)
CONFIG = ModelConfig(d_model=32, n_heads=4, max_seq_len=64)
NOTHING = pd.DataFrame()
LENGTHS = pd.DataFrame({"number": [0, 1, 2], "length": [6.3, 60.0, 600.0]})
WAVES = pd.DataFrame({"wavelength": [16.0, 4.0, 2.0], "share": [0.9, 0.1, 0.0]})
KIND = KindFacts(CONFIG, SINUSOIDAL, 16, 3, False, LENGTHS, NOTHING, 0.0)
TABLE = replace(KIND, kind=LEARNED, lengths=NOTHING, waves=WAVES, rms=0.02)
OWN = replace(TABLE, config=CONFIG.replace(position_kind="learned"))


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (replace(KIND, kind=NONE), "no rotation and no bias"),
        (KIND, "Row p is added"),
        (KIND, "in 6.3 positions, and the slowest in 600. Within the"),
        (replace(KIND, kind=ROPE), "Nothing is added; each feature pair"),
        (
            replace(KIND, kind=ALIBI),
            "The weights of head 1 halve every 6.3 tokens, and those of head 3 every 600.",
        ),
        (replace(KIND, kind=ALIBI, lengths=LENGTHS[:1]), "Its weights halve every 6.3"),
        (
            TABLE,
            "the one shown is drawn from N(0, 0.02²), seed 3. "
            "It has 64 rows (one per position) of 32",
        ),
        (OWN, "table before training: drawn at random from N(0, 0.02²), seed 3."),
        (replace(OWN, is_trained=True), "the learned table. It has 64 rows"),
    ],
)
def test_what_a_kind_does(monkeypatch, facts, english: str):
    said = in_both(monkeypatch, matrix.says_kind, facts)
    assert said["en"].startswith("q · k compares content alone")
    assert english in said["en"] and said["zh"].isascii() is False


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (KIND, "pairs above it (2) turn slowly"),
        (replace(KIND, kind=ALIBI), "In 1 of 3 heads, a weight halves within the 16"),
        (TABLE, "Waves of 4 positions or more account for 100% of the table's variance; noise"),
        (TABLE, "the table is smooth"),
        (replace(TABLE, waves=WAVES.assign(share=1 / 3)), "The table looks like noise"),
        (replace(TABLE, waves=WAVES[:0]), "too few positions"),
    ],
)
def test_what_the_scale_means(monkeypatch, facts, english: str):
    assert english in in_both(monkeypatch, matrix.says_scale, facts)["en"]


SHOWN = TableFacts(SINUSOIDAL, np.zeros((8, 4)), (0, 2, 1, 3), 4, 3, (2, 3), 8.0, ("a",))


@pytest.mark.parametrize(
    ("facts", "n_asked", "english"),
    [
        (SHOWN, 8, "Click a cell to pin its position and pair (or head)."),
        (replace(SHOWN, kind=LEARNED), 16, "The table ends after 8 rows (max_seq_len)"),
        (
            replace(SHOWN, kind=ALIBI),
            8,
            "The darkest color stands for a bias of -8 or lower, i.e., a weight divided by 2,981",
        ),
        (replace(SHOWN, width=512), 8, "4 of 512 columns are shown."),
    ],
)
def test_how_to_read_the_table(monkeypatch, facts, n_asked: int, english: str):
    said = in_both(monkeypatch, matrix.says_table, facts, n_asked)["en"]
    assert said.endswith(english) or english in said


CURVES = pd.DataFrame({"position": range(8), "first": np.arange(8) / 8, "second": 0.5})
PAIR = PairFacts(SINUSOIDAL, 1, 4, CURVES, length=8.0, slope=float("nan"))


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (PAIR, "in 8.0 positions; at position 4, it has made 0.50 turns (sine and cosine 0.500"),
        (
            replace(PAIR, kind=LEARNED),
            "At position 4, the table holds 0.500 / 0.500 for this pair.",
        ),
        (
            replace(PAIR, kind=ALIBI, slope=0.5),
            "Head 2: slope 0.5. For a query at position 4, the score",
        ),
        (
            replace(PAIR, kind=ALIBI, slope=0.5),
            "key 4 tokens away is lowered by 2.00, which divides",
        ),
    ],
)
def test_what_a_pair_says(monkeypatch, facts, english: str):
    assert english in in_both(monkeypatch, matrix.says_pair, facts)["en"]


LIKE = LikenessFacts(
    SINUSOIDAL,
    8,
    0,
    pd.DataFrame({"mean": [1, 0.9, 0.4], "least": [1, 0.9, 0.4], "most": [1, 0.9, 0.4]}),
)
WIDE = replace(LIKE, table=LIKE.table.assign(most=[1, 1, 0.6]))


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (
            LIKE,
            "mean cosine is 0.90 for neighboring positions and 0.40 for positions 7 apart. "
            "Similarity depends on distance alone",
        ),
        (WIDE, "differ by up to 0.20"),
        (replace(LIKE, kind=ROPE), "90% of its size at distance 1 and 40% at distance 7"),
        (replace(LIKE, kind=ROPE), "it falls below half at distance 2."),
        (replace(LIKE, kind=ROPE, table=LIKE.table[:2]), "it stays above half."),
    ],
)
def test_how_alike_positions_are(monkeypatch, facts, english: str):
    assert english in in_both(monkeypatch, matrix.says_likeness, facts)["en"]


def test_what_a_head_takes_from_the_farthest(monkeypatch):
    said = in_both(monkeypatch, matrix.says_biases, replace(LIKE, slopes=(0.5, 0.25)), 1)["en"]
    assert said.startswith("At distance 7, head 2 lowers scores by 1.75.")


SPREADS = pd.DataFrame(
    {"kind": [ROPE, ROPE, ALIBI], "factor": [1, 2, 2], "seq_len": [8, 16, 16]}
).assign(**{name: [0.9, 0.8, 0.2] for name in HEAD_MEASURES})
BEYOND = BeyondFacts(ROPE, 1, 8, False, SPREADS, (), (), n_kinds=5)


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (BEYOND, "RoPE, head 2: in a text of 8 tokens, the last query looks back 0.9 tokens on"),
        (BEYOND, "in a text of 16 tokens, 0.8, with 80% of its weight 8 or more tokens back"),
        (replace(BEYOND, spreads=SPREADS[:1]), "the model cannot read longer texts."),
        (
            replace(BEYOND, kind=NONE),
            "There is nothing to show here for positional encoding “none”.",
        ),
    ],
)
def test_how_far_the_last_query_looks(monkeypatch, facts, english: str):
    assert english in in_both(monkeypatch, beyond.says_spread, facts)["en"]


def test_which_kind_stays_sharp(monkeypatch):
    said = in_both(monkeypatch, beyond.says_sharpest, BEYOND)["en"]
    assert (
        "At 16 tokens, attention is sharpest with positional encoding “ALiBi” "
        "(normalized entropy 20%) and most spread out with “RoPE”"
    ) in said
    trained = in_both(monkeypatch, beyond.says_sharpest, replace(BEYOND, is_trained=True))["en"]
    assert trained.endswith("trained with one encoding only.")
    half = in_both(monkeypatch, beyond.says_sharpest, replace(BEYOND, n_kinds=2))["en"]
    assert half.startswith("Encodings measured so far: 2 of 5. At 16 tokens,")
    alone = replace(BEYOND, spreads=SPREADS[:1])
    assert in_both(monkeypatch, beyond.says_sharpest, alone)["en"] == ""
    refused = Refused(LEARNED, (16, 32), Fault("no room"))
    said = in_both(monkeypatch, beyond.says_refused, refused)["en"]
    assert said == "Positional encoding “learned” does not work at 16, 32 tokens: no room."


LOSS = LossFacts(ROPE, 0, 8, 16, 48, NOTHING, 2.0, 3.0)


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (LOSS, "16, it is 3.00 (RoPE). Beyond the trained length, the model runs but does worse"),
        (replace(LOSS, last=1.0), "Beyond the trained length, the model does better"),
        (replace(LOSS, last=2.1), "the model does about as well as within it"),
        (replace(LOSS, last=None), "the loss is 2.00 bits per token (RoPE)."),
        (replace(LOSS, inside=None), "No target position"),
    ],
)
def test_what_a_token_costs(monkeypatch, facts, english: str):
    assert english in in_both(monkeypatch, loss.says_loss, facts)["en"]


def test_where_the_loss_ends(monkeypatch):
    def said(facts: LossFacts, rows: int) -> str:
        return in_both(monkeypatch, loss.says_examples, facts, rows)["en"]

    assert said(replace(LOSS, n=32), 64).endswith("from random positions (seed 0).")
    assert "at most 16 tokens, so the measurement ends before position 32." in said(LOSS, 64)
    assert "The learned table has 16 rows" in said(replace(LOSS, kind=LEARNED), 16)


def verdict(claim: Claim, measured: float | None, *, extra: float = 0.5, up=False) -> Verdict:
    return Verdict(claim, measured, 1e-4, must_exceed=up, extra=extra)


CLAIMS = ClaimsFacts(
    8,
    2,
    "a`b",
    {
        NONE: (verdict(Claim.PERMUTATION, 1e-7),),
        ROPE: (verdict(Claim.DISTANCE, 0.0), verdict(Claim.PERMUTATION, 0.5)),
    },
)


def test_what_brings_order_as_distance_alone(monkeypatch):
    said = in_both(monkeypatch, claims.says_relative, CLAIMS)["en"]
    assert said.startswith("Encodings measured so far: 2 of 5. With RoPE, order matters")
    assert "distance alone. Measured with these weights: 8 positions, k = 2" in said
    none = replace(CLAIMS, verdicts={NONE: CLAIMS.verdicts[NONE]})
    assert "None of the" in in_both(monkeypatch, claims.says_relative, none)["en"]


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (CLAIMS, "differ from the permuted ones by 0.5: with “none”, the mask alone"),
        (
            replace(CLAIMS, verdicts={NONE: (verdict(Claim.PERMUTATION, 0.5),)}),
            "differ from the permuted ones by 0.5.",
        ),
        (replace(CLAIMS, verdicts={ROPE: CLAIMS.verdicts[ROPE]}), "Click “Continue” above"),
        (replace(CLAIMS, verdicts={}), "only one token"),
    ],
)
def test_what_permuting_does(monkeypatch, facts, english: str):
    assert english in in_both(monkeypatch, claims.says_permuted, facts)["en"]


@pytest.mark.parametrize(
    ("kind", "found", "english"),
    [
        (ROPE, verdict(Claim.UNIQUE, 0.5, up=True), "differ by 0.5, so every position is distinct"),
        (NONE, verdict(Claim.UNIQUE, 0.0, up=True), "differ by 0, so they cannot be"),
        (ROPE, verdict(Claim.UNIQUE, None), "With only one position"),
        (NONE, verdict(Claim.BOUNDED, None), "There are no values."),
        (ALIBI, verdict(Claim.BOUNDED, 4.0), "The strongest bias is −4"),
        (LEARNED, verdict(Claim.BOUNDED, 0.1), "no formula bounds it"),
        (ROPE, verdict(Claim.BOUNDED, 1.0), "sines and cosines are bounded"),
        (ALIBI, verdict(Claim.SHIFT, None), "nothing to shift"),
        (LEARNED, verdict(Claim.SHIFT, None), "Show more"),
        (LEARNED, verdict(Claim.SHIFT, 0.1), "its RMS error is 50.00% of"),
        (ROPE, verdict(Claim.SHIFT, 0.0), "for k = 2 shifts every position, with an error of 0."),
        (ROPE, verdict(Claim.SHIFT, 0.2), "an odd width"),
        (NONE, verdict(Claim.DISTANCE, 0.0), "do not even depend on distance"),
        (ROPE, verdict(Claim.DISTANCE, 0.0), "differ by 0 in float32 and 0.5 in float64"),
        (LEARNED, verdict(Claim.DISTANCE, 0.1), "mixes with the token vector"),
        (NONE, verdict(Claim.PERMUTATION, None), "permutation cannot be tested"),
        (NONE, verdict(Claim.PERMUTATION, 0.0), "the mask alone conveys order"),
        (
            ROPE,
            verdict(Claim.PERMUTATION, 0.5),
            "without a mask, permuting tokens changes the outputs by 0.5 beyond the permutation.",
        ),
    ],
)
def test_each_verdict_is_explained(monkeypatch, kind, found: Verdict, english: str):
    said = in_both(monkeypatch, claims.says_verdict, CLAIMS, kind, found)
    assert english in said["en"] and said["zh"] != said["en"]


def test_what_the_matrix_looks_like(monkeypatch):
    turned = ShiftFacts(2, np.eye(4), 8, is_fitted=False)
    said = in_both(monkeypatch, claims.says_shift, turned, ROPE)["en"]
    assert "rotates its pair by k = 2" in said and "The first 4 of 8 features are shown." in said
    fitted = in_both(monkeypatch, claims.says_shift, replace(turned, is_fitted=True), LEARNED)["en"]
    assert fitted.startswith("The matrix was fitted by least squares")
    assert (
        "the encoding (ALiBi) has no" in in_both(monkeypatch, claims.says_shift, None, ALIBI)["en"]
    )


def test_of_a_file_the_length_that_it_names_is_the_trained_one(monkeypatch):
    config = ModelConfig.from_flat({"architecture": "gpt", "n_heads": 2, "max_seq_len": 8192})
    run = Run(config=config, input=Input(), mask=MaskConfig(mask_kind="causal"))
    brought = replace(run, weights="folder:x")
    monkeypatch.setattr(trained, "spec", lambda _run: None)
    assert trained.length_of_file(run) is None
    assert trained.length_of_file(brought) == 8192
    said = in_both(monkeypatch, beyond.says_texts, brought, ROPE, 0, 32)
    assert (
        "The file gives 8,192 tokens as the maximum text length, so L = 32 is only the"
        in said["en"]
    )
    assert (
        "8,192" in said["zh"]
        and "8,192" not in in_both(monkeypatch, beyond.says_texts, run, ROPE, 0, 32)["en"]
    )


MOVED = {NONE: (verdict(Claim.PERMUTATION, 0.0),), ROPE: (verdict(Claim.PERMUTATION, 0.4),)}
BANDS = pd.DataFrame({"least": [0, 1], "most": [0, 3], "weight": [0.5, 0.0], "distance": [0, 2.0]})
LOSS_BANDS = pd.DataFrame(
    {"position": [4.5, 12.5], "first": [1, 9], "last": [8, 16], "bits": [1.0, 2.0]}
).assign(error=0.1, count=80)
LENGTH_TABLE = LIKE.table.assign(distance=range(3))
CHARTS = {
    "permuted": claims.permuted(replace(CLAIMS, verdicts=MOVED)),
    "distance": beyond.by_distance(replace(BEYOND, bands=((1, 8, BANDS),))),
    "length": beyond.by_length(BEYOND),
    "loss": loss.by_position(replace(LOSS, bands=LOSS_BANDS)),
    "pair": curves.curves(PAIR),
    "learned": curves.curves(replace(PAIR, kind=LEARNED)),
    "alibi": curves.curves(replace(PAIR, kind=ALIBI, curves=CURVES[["position", "first"]])),
    "spectrum": curves.spectrum(TABLE),
    "likeness": curves.likeness(replace(LIKE, table=LENGTH_TABLE)),
    "rope": curves.likeness(replace(LIKE, kind=ROPE, table=LENGTH_TABLE.assign(expected=1.0))),
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_each_chart_can_be_drawn(chart: Chart):
    checked(drawn(chart))


def columns(name: str, column: str) -> list[list[float]]:
    """A column of each series of a chart."""
    return [CHARTS[name].table_of(each)[column].tolist() for each in CHARTS[name].series]


def test_what_is_drawn():
    assert columns("permuted", "shown") == [[claims.LEAST_SHOWN, 0.4], [0.5, 0.5]]
    assert columns("distance", "weight") == [[0.5]]  # 0 has no logarithm
    assert columns("length", "seq_len") == [[8, 16], [16]]
    assert [CHARTS["length"].x.said(n) for n in (8, 16)] == ["8 · 1×", "16 · 2×"]
    assert columns("loss", "high")[0] == pytest.approx([1.2, 2.2])
    assert columns("pair", "position")[2] == [4, 4]
    assert [each.look.name for each in CHARTS["alibi"].series] == ["head 2", ""]


def test_a_mark_of_the_scale_returns_its_number(monkeypatch):
    monkeypatch.setattr(curves, "kind_facts", lambda _run, kind, _n: replace(KIND, kind=kind))
    for kind, first in ((SINUSOIDAL, 0), (ALIBI, 1)):
        chart = curves.scale(None, kind, 16, 0, 1)
        checked(drawn(chart))
        assert chart.click == ("number",) and chart.rows["place"].tolist() == [
            *range(first, first + 3)
        ]


def test_alibi_has_a_line_for_each_head(monkeypatch):
    facts = replace(LIKE, kind=ALIBI, slopes=(0.5, 0.25, 0.1))
    monkeypatch.setattr(curves, "likeness_facts", lambda *_at: facts)
    chart = curves.biases(None, ALIBI, 8, 0, 1)
    checked(drawn(chart))
    others, one = (chart.table_of(each)["bias"] for each in chart.series)
    assert (
        others.dropna().tolist() == pytest.approx([0, -3.5, 0, -0.7]) and others.isna().sum() == 2
    )
    assert one.tolist() == [-0.25 * i for i in range(8)]
