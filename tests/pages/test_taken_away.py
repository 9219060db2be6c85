"""What a reader takes away is what the run showed: every file of every page is read back."""

import io
import json
import math
import tomllib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import pytest
import streamlit as st
import torch
from opened import BLOCK, PAGES, assert_works, noted_runs, opened
from safetensors.torch import load
from streamlit.runtime import Runtime
from streamlit.testing.v1 import AppTest

from blocks import ModelConfig, Recording, record
from blocks.cost.parameters import total_parameters
from blocks.cost.passes import PassKind, operations, total_flops
from blocks.model.presets import ENCODER_DECODER_TABLE, PRESET_TABLE, PUBLISHED_TABLE
from blocks.observe.run import Run
from pages.panels.gpt import logit_lens
from pages.show import chart

SIZES = {"d_model": 32, "n_heads": 4, "n_layers": 2, "text": "one two three", "seed": 5}
# Those of a training, of a sweep and of the roofline come once something was measured.
WITHOUT_FILES = (
    "app.py",
    *(
        f"pages/{name}.py"
        for name in ("efficiency", "forward_pass", "instruments", "phases", "training")
    ),
)
COMPARED = "pages/compare.py"


class Taken(NamedTuple):
    """The files of a page by name, and a recording of its run that no page has touched."""

    at: AppTest
    files: dict[str, str]
    run: Run
    seen: Recording | None

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_csv(io.StringIO(self.files[name]), keep_default_na=False, na_values=[""])


def taken(page: str, monkeypatch: pytest.MonkeyPatch, **query: object) -> Taken:
    """Press every button that saves a file."""
    makers: dict[str, Callable[[], str | bytes]] = {}
    runs, show = noted_runs(monkeypatch), st.download_button

    def note(label: str, make: Callable, **how: Any) -> bool:
        makers[how["key"].removeprefix("save_")[::-1].replace("_", ".", 1)[::-1]] = make
        return show(label, make, **how)

    monkeypatch.setattr(st, "download_button", note)
    at = opened(page, **{**SIZES, **query})
    assert not at.exception and not at.error
    with monkeypatch.context() as still:
        still.setattr(Runtime, "_instance", MagicMock())  # a button is pressed while the app runs
        files = {name: make() for name, make in makers.items()}
    run = runs[-1]
    fits = run.has_target or run.config.architecture != "encoder-decoder"
    model = run.build()
    seen = record(model, run.values(), mask=run.build_mask()) if fits else None
    return Taken(at, files, run, seen)


def numbers(found: object) -> np.ndarray:
    """As an array on the CPU, whatever device tensors are on."""
    if isinstance(found, list | torch.Tensor):
        found = torch.as_tensor(found, dtype=torch.float64).cpu()
    return np.asarray(found, float)


def near(found: object, wanted: object) -> None:
    """Equal up to the rounding of sums, against the largest of what is compared."""
    found, wanted = numbers(found), numbers(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


def whole_numbers(product: str) -> int:
    """What a formula in numbers comes to."""
    return math.prod(int(each.replace(",", "")) for each in product.split(" · "))


def parameters(it: Taken, name: str) -> None:
    table = it.table(name)
    assert table["count"].sum() == sum(p.numel() for p in it.run.build().parameters())
    numbers = table.columns[table.columns.isin(["numbers", "in numbers"])][0]
    products = table[~table[numbers].str.contains(r"[^\d,· ]")]
    assert products[numbers].map(whole_numbers).tolist() == products["count"].tolist()
    assert len(products) > 4


def moments(it: Taken, name: str) -> None:
    for row in it.table(name).itertuples():
        stack = getattr(row, "stack", "")
        if stack == "decoder":
            continue
        layer = 0 if pd.isna(row.layer) else int(row.layer) - 1
        path = f"{stack}.{row.stage}" if stack and pd.isna(row.layer) else row.stage
        x = it.seen.tensor(path, layer, stack=stack)
        wanted = (x.mean(), x.std(correction=0), x.min(), x.max(), x.square().mean().sqrt())
        found = (row.mean, row.std, row.min, row.max, row.rms)
        near(found, [float(each) for each in wanted])


def heads(it: Taken, name: str) -> None:
    table = it.table(name)
    layers = sorted(set(table["layer"]))
    assert len(table) == len(layers) * it.run.config.n_heads and min(layers) == 1
    patterns = torch.cat([it.seen.pattern(layer - 1)[0] for layer in layers]).double()
    chooses = (patterns > 0).sum(-1) > 1  # who sees one key has no choice

    def mean(of_rows: torch.Tensor) -> torch.Tensor:
        return (of_rows * chooses).sum(-1) / chooses.sum(-1)

    near(table["entropy_bits"], mean(-(patterns * patterns.clamp_min(1e-30).log2()).sum(-1)))
    near(table["first_token"], mean(patterns[..., 0]))
    near(table["same_token"], mean(patterns.diagonal(dim1=-2, dim2=-1)))


def tokens(it: Taken, name: str) -> None:
    table, text = it.table(name), SIZES["text"]
    assert table["token_id"].tolist() == [*it.run.input.token_ids]
    spans = zip(table["first_character"], table["last_character"], strict=True)
    assert "".join(text[first - 1 : last] for first, last in spans) == text
    assert table["text"].tolist() == [token.replace("␣", " ") for token in table["token"]]


def next_tokens(it: Taken, name: str) -> None:
    table = it.table(name)
    wanted = it.seen.output[0, -1].softmax(-1)
    near(table["probability"], wanted[table["token_id"].tolist()])
    assert set(table["token_id"]) == set(range(it.run.config.vocab_size))
    assert table["probability"].is_monotonic_decreasing


def written(it: Taken, name: str) -> None:
    table, model = it.table(name), it.run.build()
    ids = [*it.run.input.token_ids, *table["token_id"]]
    with torch.no_grad(), torch.device(it.run.device):
        chances = model(torch.tensor([ids]), torch.ones(len(ids), len(ids)).tril().bool())[0]
    n = len(it.run.input.token_ids)
    after = chances.softmax(-1)[range(n - 1, len(ids) - 1), ids[n:]]
    near(table["model_probability"], after)
    assert len(table) == 12


def surprise(it: Taken, name: str) -> None:
    table, ids = it.table(name), it.run.input.token_ids
    assert table["token_id"].tolist() == [*ids[1:]]
    assert table["position"].tolist() == [*range(2, len(ids) + 1)]  # from 1, as in tokens.csv
    chances = it.seen.output[0, :-1].softmax(-1)[range(len(ids) - 1), ids[1:]]
    near(table["probability"], chances)
    near(table["bits"], -chances.log2())


def lens(it: Taken, name: str) -> None:
    table, n = it.table(name), len(it.run.input.labels)
    last = table[table["layer"] == it.run.config.n_layers]
    assert last["token_id"].tolist() == it.seen.output[0].argmax(-1).tolist()
    near(last["probability"], it.seen.output[0].softmax(-1).amax(-1))
    assert table["position"].tolist() == [*range(1, n + 1)] * (it.run.config.n_layers + 1)
    assert last["token"].tolist() == [*it.run.input.labels]


def guesses(it: Taken, name: str) -> None:
    table = it.table(name)
    assert table["token"].tolist() == [*it.run.input.labels]
    near(table["probability"], it.seen.output[0].softmax(-1).amax(-1))


def first_token(it: Taken, name: str) -> None:
    table = it.table(name)
    patterns = torch.cat([it.seen.pattern(layer)[0] for layer in range(2)])
    near(table["weight"], patterns[:, 1:, 0].mean(-1))  # the first sees nothing else
    assert table["head"].tolist() == [1, 2, 3, 4] * 2


def contribution(it: Taken, name: str) -> None:
    table = it.table(name)
    assert table["token_label"].tolist() == [*it.run.input.labels]
    near(table["weight"], it.seen.pattern(0)[0, 0, -1])
    near(table["norm"], table["weight"] * table["value_norm"])


def contribution_graph(it: Taken, name: str) -> None:
    table = it.table(name)
    near(table.groupby(["layer", "token"])["share"].sum(), np.ones(2 * len(it.run.input.labels)))
    assert set(table["kind"]) == {"source", "own", "elsewhere"}


def scaling(it: Taken, name: str) -> None:
    scaled, bare = (it.table(name).query(f"is_scaled == {each}") for each in (True, False))
    near(scaled["score_std"], bare["score_std"].to_numpy() / np.sqrt(bare["d_head"]))
    assert (bare["entropy_bits"].to_numpy() <= scaled["entropy_bits"].to_numpy()).all()


def leaks(it: Taken, name: str) -> None:
    table = it.table(name)
    assert table["is_forbidden"].tolist() == (table["token"] > table["output"]).tolist()
    assert (table.loc[table["is_forbidden"], ["moved", "gradient"]] == 0).all(axis=None)
    assert (table.loc[~table["is_forbidden"], ["moved", "gradient"]] > 0).all(axis=None)


def norms(axis: int) -> Callable[[Taken, str], None]:
    """Mean and mean square over the features of a token (2), or over the tokens (1)."""

    def check(it: Taken, name: str) -> None:
        table, x = it.table(name), it.seen.tensor("resid_pre", 0)
        given = table[table["norm"] == "input"]
        near(given["mean"], x.mean(axis)[0])
        near(given["rms"], x.square().mean(axis).sqrt()[0])
        assert axis == 1 or given["token_label"].tolist() == [*it.run.input.labels]

    return check


def dependence(it: Taken, name: str) -> None:
    table = it.table(name).set_index("norm")
    assert (table.loc[["layernorm", "rmsnorm"]] == 0).all(axis=None)
    assert (table.loc["batchnorm_training"] > 0).all()


def placements(it: Taken, name: str) -> None:
    table = it.table(name).set_index("placement")
    x = it.seen.tensor("resid_post", 0)
    own = table.loc[it.run.config.norm.norm_placement]
    near(own[["mean", "min", "max"]], [float(x.mean()), float(x.min()), float(x.max())])


def depth(it: Taken, name: str) -> None:
    table = it.table(name)
    assert {*table["placement"]} == {"pre", "post"}
    table = table.dropna()
    assert len(table) > 100
    assert (table["least"] <= table["median"]).all() and (table["median"] <= table["most"]).all()


def flops(it: Taken, name: str) -> None:
    table = it.table(name)
    forward = total_flops(operations(it.run.config, PassKind.FORWARD, n=1024))
    assert (table["forward"].sum(), table["backward"].sum()) == (forward, 0)


def memory(it: Taken, name: str) -> None:
    table = it.table(name)
    itemsize = np.where(table["label"] == "float32", 4, 2)
    assert table["weights"].tolist() == (itemsize * total_parameters(it.run.config)).tolist()
    parts = ["weights", "gradients", "master", "optimizer", "activations"]
    assert table[parts].sum(axis=1).tolist() == table["total"].tolist()


def fits(it: Taken, name: str) -> None:
    table = it.table(name)
    assert {"NVIDIA A100 SXM 80GB"} < {*table["device"]} and {*table["fits"]} == {"yes"}
    use = table.set_index("device")["usable memory"]
    assert use["NVIDIA A100 SXM 80GB"] == "72 GB"  # 90 % of it


def training(it: Taken, name: str) -> None:
    table = it.table(name).set_index("label")["flops"]
    n = total_parameters(it.run.config)
    assert table.iloc[0] == pytest.approx(6 * n * 20 * n, rel=0.3) and (table.iloc[0] > 0)


def bought(it: Taken, name: str) -> None:
    table = it.table(name).set_index("what the budget buys")
    n, tokens = (
        table.loc[row].str.replace(",", "").astype(float)
        for row in ("parameters", "training tokens")
    )
    assert (6 * n * tokens < 1e19).all() and (6 * n * tokens > 0.7e19).all()


def weights_bytes(it: Taken, name: str) -> None:
    table = it.table(name)
    n = total_parameters(it.run.config)
    found = [float(text.removesuffix(" kB")) for text in table["weights"]]
    assert found == pytest.approx([n * bits / 8 / 1e3 for bits in table["bits"]], rel=5e-3)


def changes(it: Taken, name: str) -> None:
    table, n = it.table(name), total_parameters(it.run.config)
    moved = table["Δ"].str.replace("−", "-").str.replace(",", "").astype(int)
    assert (n + moved).tolist() == table["new total"].str.replace(",", "").astype(int).tolist()


def published_models(it: Taken, name: str) -> None:
    every = PRESET_TABLE | ENCODER_DECODER_TABLE | PUBLISHED_TABLE
    counts = {total_parameters(preset.config) for preset in every.values()}
    assert {*it.table(name)["parameters"]} <= counts
    assert len(it.table(name)) > 20


def weight_values(it: Taken, name: str) -> None:
    table = it.table(name).set_index("kind")
    model = it.run.build()
    inside = [p for path, p in model.named_parameters() if ".attention." in path]
    values = torch.cat([p.detach().flatten() for p in inside])
    assert table.loc["attention", "count"] == len(values)
    found = table.loc["attention", ["mean", "std", "min", "max"]]
    near(found, [values.mean(), values.std(correction=0), values.min(), values.max()])


def weight_bins(it: Taken, name: str) -> None:
    shares = it.table(name).groupby("kind")["share"].sum()
    near(shares, np.ones(len(shares)))


def conversion_faults(it: Taken, name: str) -> None:
    """Of a trained model: the first fault is planted."""
    distances = it.table(name)["relative error of the logits"]
    assert distances.is_monotonic_increasing and len(distances) > 2
    assert distances[0] < 1e-3 * distances[1]


def search(it: Taken, name: str) -> None:
    table = it.table(name)
    kept = table[table["fate"] != "dropped"]
    near(kept["token_log_prob"].cumsum(), kept["log_prob"])
    ids = [1, *kept["token_id"]]
    assert kept["step"].tolist() == [*range(1, len(kept) + 1)] and len(ids) > 2


def next_of_target(it: Taken, name: str) -> None:
    table = it.table(name)
    near(table["probability"], table["probability"].sort_values(ascending=False))
    assert 0 < table["probability"].sum() <= 1 + 1e-6 and table["token_id"].is_unique


def architectures(it: Taken, name: str) -> None:
    table = it.table(name).set_index("architecture")
    both = it.run.config
    assert table.loc["encoder-decoder", "parameters"] == total_parameters(both)


def widths(it: Taken, name: str) -> None:
    table, d = it.table(name), it.run.config.d_model
    counted = table[table["series"] == "parameters"].set_index("d_ff / d_model (this run: 4)")
    assert counted["count"].to_dict() == {r: 2 * d * d * r + d * r + d for r in range(1, 9)}


def misses(found: str, law: str, miss: str) -> Callable[[Taken, str], None]:
    """Of each run C = 6·N·D, and how far its loss lies from that of the law."""

    def check(it: Taken, name: str) -> None:
        table = it.table(name)
        n, tokens = (table[each].map(counted) for each in ("parameters N", "tokens D"))
        assert (6 * n * tokens).to_numpy() == pytest.approx(table["training FLOPs"], rel=0.01)
        share = table[miss].str.replace("−", "-").str.removesuffix("%").astype(float) / 100
        assert share.to_numpy() == pytest.approx(table[found] / table[law] - 1, abs=1e-4)

    return check


def counted(text: str) -> float:
    """A number as a table of the page writes it."""
    digits, _, million = text.replace(",", "").partition(" ")
    return float(digits) * (1e6 if million else 1)


def floors(it: Taken, name: str) -> None:
    """The more is known, the less is left; e to the loss is as many equally likely tokens."""
    table = it.table(name)
    loss = table["lowest loss, nats per token"]
    assert loss.is_monotonic_decreasing
    assert table["equally likely tokens"].to_numpy() == pytest.approx(np.exp(loss), rel=5e-3)


def some(it: Taken, name: str) -> None:
    """What is on the screen anyway: an axis and its values."""
    assert len(it.table(name)) > 0 and len(it.table(name).columns) > 1


def each_is_some(names: str) -> dict[str, Callable[[Taken, str], None]]:
    return {f"{name}.csv": some for name in names.split()}


OF_FEED_FORWARD = each_is_some(
    "activity bend_curves channel_way closed exciting expert_totals factors layer_units load "
    "load_table massive_table ratio_table ratio_written reach shuffle_table strongest_table "
    "totals_table writers_table"
)
OF_ATTENTION = each_is_some(
    "all_heads_table cached_kinds contribution_sources contributions kinds_table "
    "random_scores scaled_row scaling_curves sharing_table"
)
OF_GPT = each_is_some(
    "growth left_out_bars left_out_table lens_ranks lens_table surprise_bars surprise_table"
)
OF_BLOCK = each_is_some("flow_table head_table spread token_values")
OF_ENCODER = each_is_some("candidates guess_table head_table layer_table")
OF_NORMS = each_is_some(
    "dependence_table depth_panels depth_scaling norm_features norm_tokens placement_spreads "
    "placement_table running_table"
)
OF_POSITIONS = each_is_some(
    "beyond_table entropy_far likeness moved position_curves spread_far trained_lengths wavelengths"
)
COMMON = {"parameters.csv": parameters, "parameter_bars.csv": some}
CHECKS: dict[str, dict[str, Callable[[Taken, str], None]]] = {
    "pages/attention.py": {
        **OF_ATTENTION,
        "all_heads.csv": heads,
        "first_token.csv": first_token,
        "contribution.csv": contribution,
        "contribution_graph.csv": contribution_graph,
        "scaling.csv": scaling,
    },
    BLOCK: {"flow.csv": moments, "heads.csv": heads, **OF_BLOCK, **COMMON},
    "pages/cost.py": {
        "flops.csv": flops,
        "memory.csv": memory,
        "fits.csv": fits,
        "shape.csv": bought,
        "training.csv": training,
    },
    "pages/encoder.py": {
        "layers.csv": moments,
        "heads.csv": heads,
        "guesses.csv": guesses,
        **OF_ENCODER,
        **COMMON,
    },
    "pages/gpt.py": {
        "tokens.csv": tokens,
        "next_tokens.csv": next_tokens,
        "written.csv": written,
        "lens.csv": lens,
        "surprise.csv": surprise,
        **OF_GPT,
        **COMMON,
    },
    "pages/feed_forward.py": {**OF_FEED_FORWARD, "ratio_cost.csv": widths},
    "pages/masks.py": {"heads.csv": heads, "leaks.csv": leaks, "peeking_losses.csv": some},
    "pages/normalization.py": {
        **OF_NORMS,
        "depth.csv": depth,
        "norms_per_token.csv": norms(2),
        "norms_per_feature.csv": norms(1),
        "norms_dependence.csv": dependence,
        "placements.csv": placements,
    },
    "pages/parameters.py": {
        "weights_bytes.csv": weights_bytes,
        "changes.csv": changes,
        "published_models.csv": published_models,
        "weight_values.csv": weight_values,
        "weight_bins.csv": weight_bins,
        "parameters.csv": parameters,
        **each_is_some("idea_costs idea_losses ideas_table"),
    },
    "pages/positions.py": OF_POSITIONS,
    "pages/scaling.py": {
        **each_is_some("floor_chart predict_misses valley_best valley_curves floor_approach"),
        **each_is_some("again_loss again_worth transfer_rates_standard transfer_rates_mup"),
        **each_is_some("transfer_rate_table"),
        "valley_runs.csv": misses("loss", "law", "off by"),
        "predict_rows.csv": misses("measured", "expected", "error"),
        "floor_levels.csv": floors,
    },
    "pages/seq2seq.py": {
        "search.csv": search,
        "next_tokens.csv": next_of_target,
        "flow.csv": moments,
        "architectures.csv": architectures,
        **each_is_some("architectures_table memory_table task_flops"),
        **COMMON,
    },
}


def test_every_page_is_looked_at():
    assert {*CHECKS, COMPARED, *WITHOUT_FILES} == {*PAGES}


@pytest.mark.parametrize("page", CHECKS)
def test_every_file_is_what_the_run_showed(page: str, monkeypatch: pytest.MonkeyPatch):
    it = taken(page, monkeypatch)
    assert {name for name in it.files if name.endswith(".csv")} == CHECKS[page].keys()
    for name, check in CHECKS[page].items():
        check(it, name)
    config = it.run.config
    said = {name: value for name, value in config.flat().items() if value is not None}
    for read, name in ((tomllib.loads, "config.toml"), (json.loads, "config.json")):
        found = read(it.files[name])
        assert found == said and ModelConfig.from_flat(found) == config
    pictures = it.files["pictures.html"]
    assert pictures.count("<figure role='img' aria-label='") == pictures.count("<figure") > 0
    assert "<style>" in pictures and '<html lang="en">' in pictures and "<h1>" in pictures
    assert_run_is_made_again(it)


def assert_run_is_made_again(it: Taken) -> None:
    """By the cells of the notebook; what it showed lies in the file of tensors."""
    played: dict[str, Any] = {}
    for cell in json.loads(it.files["run.ipynb"])["cells"]:
        if cell["cell_type"] == "code":
            exec(cell["source"], played)
    assert replace(played["run"], target=it.run.target) == it.run  # a page may have written one
    if "activations.safetensors" in it.files:
        found = load(it.files["activations.safetensors"])
        near(found["output"], played["seen"].output)


def test_nothing_is_made_before_its_button_is_pressed(monkeypatch: pytest.MonkeyPatch):
    """Of a long text tables and pictures take minutes."""
    asked: list[str] = []
    monkeypatch.setattr(logit_lens.lens, "lens_table", lambda *_of: asked.append("lens"))
    monkeypatch.setattr(chart, "drawn", lambda *_values, **_how: asked.append("picture"))
    assert_works(opened("pages/gpt.py", panel="all", **SIZES))
    assert asked == []


def test_the_table_of_stages_is_its_file_rounded(monkeypatch: pytest.MonkeyPatch):
    it = taken(BLOCK, monkeypatch)
    shown = next(each.value for each in it.at.dataframe if "beyond 3 std" in each.value)
    file = it.table("flow.csv")
    columns = {"mean": "mean", "std": "std", "min": "min", "max": "max", "RMS": "rms"}
    for header, name in columns.items():
        assert (shown[header] - file[name]).abs().max() < 0.000_051, header  # four digits


def test_a_comparison_is_saved_as_it_is(monkeypatch: pytest.MonkeyPatch):
    it = taken(COMPARED, monkeypatch, kept="mine=preset%3Dcourse%26n_heads%3D2")
    differences, numbers = (it.table(f"{name}.csv") for name in ("differences", "numbers"))
    assert {"n_heads", "2", "4"} <= {*differences.astype(str).to_numpy().ravel()}
    assert f"{total_parameters(it.run.config):,}" in numbers.astype(str).to_numpy()
    assert tomllib.loads(it.files["kept.toml"])["mine"]["n_heads"] == 2
    assert "mine" in it.files["kept.csv"]


def test_the_faults_of_a_conversion_are_saved_where_a_model_is_trained(
    monkeypatch: pytest.MonkeyPatch,
):
    as_trained = {**dict.fromkeys(SIZES), "preset": "sort", "panel": "conversion-faults"}
    conversion_faults(
        taken("pages/parameters.py", monkeypatch, **as_trained), "conversion_faults.csv"
    )
