"""What ships as measured before is what is measured now."""

from dataclasses import replace

import pytest
from daily import some_daily

from blocks.cost.timing import Times
from blocks.efficiency import recorded as recorded_variants
from blocks.efficiency.blame_facts import trace
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.frontier import Method, Variant, measure_variant, ready
from blocks.efficiency.names import compression_of
from blocks.efficiency.pruning_facts import Pruned, in_order
from blocks.efficiency.recorded import FILE, plain, recorded, variant_of, with_missing
from blocks.efficiency.recorded_blame import USUAL, VARIANTS, recorded_blame
from blocks.model.devices import device_name
from blocks.model.shipped import rows_in
from blocks.weights.pocket import pocket

OTHER_PROCESSOR = {"rel": 0.02}
NAME = "induction"


def assert_alike(before: Variant, now: Variant) -> None:
    assert (before.name, before.n_parameters) == (now.name, now.n_parameters)
    assert before.n_bytes == pytest.approx(now.n_bytes, rel=0.01)  # cards grow with what is set
    assert before.held_out_loss == pytest.approx(now.held_out_loss, **OTHER_PROCESSOR)
    assert before.scores == pytest.approx(now.scores, **OTHER_PROCESSOR)


@pytest.mark.parametrize("name", rows_in(FILE))
def test_all_that_the_panels_ask_for_is_recorded(name: str):
    config, found = pocket(name).config, recorded(name)
    assert found is not None
    taken_out = [recipe for pruned in Pruned for _by, recipe in in_order(config, pruned)]
    asked = {*ready(config), *taken_out}
    assert {*found.variants} <= asked
    later = {each for each in asked if "-keep" in each}
    assert asked - {*found.variants} <= later  # measured here until then
    names = [each.name for each in found.ready]
    assert names == [each for each in ready(config) if each in found.variants]
    assert all(recorded_blame(name, kept) for kept in USUAL)


MEASURED = some_daily(["", "sparse60-wanda", "heads1-random"], daily=["sparse60-wanda"])


@pytest.mark.parametrize("recipe", MEASURED)
def test_what_is_recorded_is_measured_again(recipe: str):
    model, found = Calibrated(pocket(NAME)), recorded(NAME)
    assert found is not None
    assert_alike(found.variants[recipe], measure_variant(model, recipe))


@pytest.mark.exhaustive
def test_the_blame_that_is_recorded_is_measured_again():
    (_first, kept, _last) = USUAL
    before = recorded_blame(NAME, kept)
    now = trace(Calibrated(pocket(NAME)), compression_of(kept))
    assert before is not None and before.rows["matrix"].equals(now.rows["matrix"])
    assert before.rows["blame"].tolist() == pytest.approx(
        now.rows["blame"].tolist(), abs=0.05 * now.rows["blame"].max()
    )
    for name in VARIANTS:
        assert_alike(getattr(before, name), getattr(now, name))


def test_a_variant_is_read_back_and_an_older_file_has_no_time_of_a_token():
    now = Variant(
        "int4", Method.QUANTIZED, 9, 9, 0.12345678, (0.5, 0.75), 0.0123456, 64, 0.00012345
    )
    now = replace(now, beside=(0.0123456, 0.00012345), n_packed=3)
    row = plain(now)
    kept = {"held_out_loss": 0.12346, "seconds": 0.0123, "token_seconds": 0.000123}
    assert variant_of(row) == replace(now, **kept, beside=(0.0123, 0.000123))
    for name in ("token_seconds", "beside", "n_packed"):
        del row[name]
    older = variant_of(row)
    assert (older.token_seconds, older.beside, older.n_packed) == (None, None, 0)
    assert plain(older)["token_seconds"] is None and variant_of(plain(older)) == older


def row_of(*names: str, **changes: object) -> dict:
    times = {"seconds": 1.0, "token_seconds": 1.0, **changes}
    plainly = Variant("", Method.ORIGINAL, 1, 1, 1.0, (1.0,), 1.0, 1)
    return {"variants": [{**plain(plainly), "name": name, **times} for name in names]}


@pytest.fixture
def rows(monkeypatch) -> dict:
    """A file of our own, in which only three variants are asked for."""
    kept: dict = {}
    monkeypatch.setattr(recorded_variants, "rows_in", lambda _file: kept)
    monkeypatch.setattr(recorded_variants, "_shown", lambda _config: ["", "int6", "int4"])
    monkeypatch.setattr(
        recorded_variants, "measure_in_rounds", lambda works, _on: TIMES * len(works)
    )
    return kept


TIMES = (Times((0.5,)),)


def test_only_what_is_missing_is_measured_beside_the_original(rows):
    here = {"processor": device_name("cpu")}
    rows["sort"] = before = {**here, **row_of("", "int6")}
    now = with_missing("sort")
    assert now["variants"][:2] == before["variants"]
    (new,) = map(variant_of, now["variants"][2:])
    assert (new.name, new.seconds, new.beside) == ("int4", 0.5, (0.5, 0.5))
    rows["sort"] = now
    assert with_missing("sort") is now


@pytest.mark.parametrize("changes", [{"token_seconds": None}, {}])
def test_what_was_timed_elsewhere_or_not_by_token_is_measured_anew(rows, changes):
    processor = device_name("cpu") if changes else "another"
    rows["sort"] = {"processor": processor, **row_of("", "int6", "int4", **changes)}
    found = with_missing("sort")
    assert found["processor"] == device_name("cpu")
    assert [(v["token_seconds"], v["beside"]) for v in found["variants"]] == 3 * [(0.5, None)]
