"""What ships as measured before is what is measured now."""

from dataclasses import replace

import pytest

from blocks.efficiency.blame_facts import trace
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.frontier import Method, Variant, measure_variant, ready
from blocks.efficiency.names import compression_of
from blocks.efficiency.pruning_facts import Pruned, in_order
from blocks.efficiency.recorded import FILE, plain, recorded, variant_of
from blocks.efficiency.recorded_blame import USUAL, VARIANTS, recorded_blame
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
    assert all("-keep" in each for each in asked - {*found.variants})  # measured here until then
    names = [each.name for each in found.ready]
    assert names == [each for each in ready(config) if each in found.variants]
    assert all(recorded_blame(name, kept) for kept in USUAL)


def test_what_is_recorded_is_measured_again():
    model, found = Calibrated(pocket(NAME)), recorded(NAME)
    assert found is not None
    for recipe in ("", "sparse60-wanda", "heads1-random"):
        assert_alike(found.variants[recipe], measure_variant(model, recipe))


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
    row = plain(now)
    kept = {"held_out_loss": 0.12346, "seconds": 0.0123, "token_seconds": 0.000123}
    assert variant_of(row) == replace(now, **kept)
    del row["token_seconds"]
    assert variant_of(row).token_seconds is None
    assert plain(variant_of(row))["token_seconds"] is None
