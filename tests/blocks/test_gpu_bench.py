"""The measurement for accelerators runs to its end, at toy sizes where there is none."""

import pytest

from tests.bench import gpu


@pytest.mark.gpu
@pytest.mark.exhaustive
def test_what_is_measured_on_an_accelerator_can_be_measured(capsys: pytest.CaptureFixture[str]):
    gpu.measure(toy=True, served=False)
    said = capsys.readouterr().out
    for part in ("card: ", "(a)", "(b)", "(c)", "(d)"):
        assert part in said
    assert "failed" not in said and "False" not in said
