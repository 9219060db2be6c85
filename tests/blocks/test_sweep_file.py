"""`sweep.toml`, what it says where it is wrong, and the command that runs it."""

import json
from pathlib import Path

import pytest
from test_sweep import Here
from training_toy import toy_spec

from blocks.export.command import main
from blocks.model.faults import ConfigError
from blocks.model.presets import PRESETS
from blocks.sweep import Search, Sweep, command
from blocks.sweep.estimate import estimate_seconds, update_flops
from blocks.sweep.file import read_sweep, write_sweep
from blocks.training.pace import Pace

TOY = """\
seeds = [0, 1]
[base]
task = "copy"
seq_len = 12
n_steps = 10
batch_size = 4
warmup_steps = 2
n_layers = 1
d_model = 16
[fields]
learning_rate = [1e-3, 1e-2]
"""


def test_a_sweep_is_written_and_read_back_to_the_same():
    given = Sweep(
        base=toy_spec(activation="swiglu", d_ff=None, optimizer="muon", label_smoothing=0.1),
        fields=(("norm_kind", ("rmsnorm", "layernorm")), ("n_kv_heads", (None, 1))),
        settings=((("d_model", 16), ("n_layers", 1)), (("d_model", 32), ("n_layers", 2))),
        seeds=(4, 5),
        search=Search.HALVING,
        eta=2,
    )
    text = write_sweep(given)
    assert read_sweep(text) == given and write_sweep(read_sweep(text)) == text
    keys = [point.key for point in given.points({})]
    assert [point.key for point in read_sweep(text).points({})] == keys


def test_a_file_may_name_a_preset_and_a_text(tmp_path: Path):
    (tmp_path / "novel.txt").write_text("It was a dark and stormy night. " * 40)
    base = '[base]\nmodel = "gpt2-small"\ntext_file = "novel.txt"\nn_layers = 2\nd_model = 48\n'
    found = read_sweep(base + "n_heads = 4\n", folder=tmp_path).base
    assert found.config.plain("activation") == PRESETS["gpt2-small"].plain("activation")
    assert found.config.vocab_size < 40 and found.task.text is not None
    assert read_sweep(write_sweep(Sweep(base=found))).base == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seeds = [", "use valid TOML"),
        ("seds = [1]", "seds means nothing here: use seeds"),
        ("seeds = 3", r"seeds \(3\) has the wrong type: write it as seeds = \["),
        ('search = "bayes"', "bayes is not a search method: use grid, random or halving"),
        ("[fields]\nn_layers = 2", r"The values of n_layers are a list: write n_layers = \[2\]"),
        ("[fields]\nn_layer = [2]", "n_layer is not a field of a training run: use n_layers"),
        ('[base]\ntask = "sorting"', "sorting is not a task: use sort"),
        ("[base]\nn_heads = 3", "n_heads"),
        ("[fields]\nbatch_size = [0]", "batch_size"),
    ],
)
def test_a_wrong_file_says_the_mend(text: str, said: str):
    with pytest.raises(ConfigError, match=said):
        read_sweep(text).points({})


def test_the_command_trains_once_and_answers_in_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    engines: list[Here] = []

    def engine(_options: object, _sweep: object, store: object) -> Here:
        engines.append(Here(store))
        return engines[-1]

    monkeypatch.setattr(command, "_engine", engine)
    file, out = tmp_path / "toy.toml", str(tmp_path / "sweeps")
    file.write_text(TOY)
    assert main(["sweep", str(file), "--out", out, "--plan"]) == 0
    assert "4 runs of 2 settings, 4 to be trained, 1 at a time: about" in capsys.readouterr().out
    assert main(["sweep", str(file), "--out", out, "--json"]) == 0
    monkeypatch.setenv("BLOCKSCOPE_DATA", str(tmp_path))  # where the app keeps what it trained
    assert main(["sweep", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(answer["points"]) == 4 and len(answer["settings"]) == 2
    best = answer["settings"][0]
    of_best = [
        each["held_out_loss"]
        for each in answer["points"]
        if each["learning_rate"] == best["learning_rate"]
    ]
    assert best["held_out_loss"] == pytest.approx(sum(of_best) / 2, rel=1e-12)
    assert [sum(each.begun.values()) for each in engines] == [0, 4, 0]
    file.write_text("seeds = 1")
    assert main(["sweep", str(file), "--out", out]) == 2
    assert "write it as seeds" in capsys.readouterr().err


def test_a_sweep_of_days_says_so_before_it_begins():
    sweep = read_sweep(TOY + "d_model = [16, 32, 64]\n")
    points = sweep.planned()

    def pace_of(spec: object) -> Pace:
        return Pace(1e-6 * update_flops(spec))

    seconds = estimate_seconds(points, 2, pace_of)
    alone = [Pace(1e-6 * update_flops(each.spec)).seconds(each.spec.recipe) for each in points]
    assert seconds == pytest.approx(sum(alone) / 2, rel=1e-9)
    assert command.duration(3.2 * 86400) == "3 days" and command.duration(40) == "40 s"
