"""The front door at the command line: what it answers is what the package says."""

import json
import math
import zipfile
from pathlib import Path

import pytest
import torch
from gguf_files import wide_llama, write_gguf
from published_folders import saved
from safetensors.torch import load, load_file, save_file
from toy import toy

from blocks import PRESETS, ModelConfig, as_code, build, record
from blocks.cost.budget_shape import Budget, BudgetKind, Wish, shape_for
from blocks.cost.parameters import total_parameters
from blocks.export import command, packed
from blocks.export.command import main
from blocks.model import devices
from blocks.text import Generation, SamplingConfig
from blocks.weights import trained
from blocks.weights.pocket import pocket


@pytest.fixture(autouse=True)
def threads_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "prepare_process", lambda: None)


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_preset_is_counted_with_its_changes(capsys: pytest.CaptureFixture[str]):
    found = answer(capsys, "count", "gpt2-small", "--set", "n_kv_heads=4")
    config = PRESETS["gpt2-small"].replace(n_kv_heads=4)
    assert found["total"] == total_parameters(config)
    assert sum(part["count"] for part in found["parts"]) == found["total"]


@pytest.mark.parametrize(
    ("name", "text", "total"),
    [
        ("mine.toml", 'architecture = "gpt"\nd_model = 32', None),
        ("mine.json", '{"architecture": "gpt", "d_model": 32}', None),
        (
            "config.json",
            '{"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, '
            '"vocab_size": 50257, "n_positions": 1024, "activation_function": "gelu_new", '
            '"layer_norm_epsilon": 1e-5}',
            124_439_808,
        ),
    ],
)
def test_a_configuration_is_read_from_a_file(
    name: str, text: str, total: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / name).write_text(text)
    found = answer(capsys, "count", str(tmp_path / name))
    mine = build(command.opened(str(tmp_path / name), {}).config) if total is None else None
    assert found["total"] == (total or sum(p.numel() for p in mine.parameters()))


def test_what_passes_is_said_and_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "seen.safetensors"
    found = answer(capsys, "record", "sort", "--ids", "1,2,3", "--out", str(file))
    kept = load_file(file)
    assert "layers.0.pattern" in kept and kept["layers.0.pattern"].shape[-1] == 3
    row = next(each for each in found["flow"] if each["stage"] == "embedding")
    assert row["mean"] == pytest.approx(kept["embedding"].mean().item(), rel=1e-4)


def test_it_writes_what_the_model_writes(capsys: pytest.CaptureFixture[str]):
    words = ("--text", "The small robot", "--tokens", "3", "--temperature", "0")
    found = answer(capsys, "generate", "stories-en-zh", *words)
    file = pocket("stories-en-zh")
    prompt = file.tokenizer.encode("The small robot")
    model = trained(file.config, file.tensors)
    wanted = Generation(model, file.config, prompt, SamplingConfig(temperature=0.0))
    wanted.advance(3)
    assert found["token_ids"] == wanted.token_ids
    assert found["text"].startswith("The small robot")


def test_a_folder_that_was_exported_is_a_model_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    code = tmp_path / "model.py"
    assert answer(capsys, "export", "course", "--out", str(code))["file"] == str(code)
    assert code.read_text(encoding="utf-8") == as_code(PRESETS["course"])
    config = tmp_path / "own.json"
    config.write_text(json.dumps(toy(vocab_size=10).flat()))
    whole = tmp_path / "model.zip"
    answer(capsys, "export", str(config), "--seed", "3", "--out", str(whole))
    assert whole.read_bytes() == packed(toy(vocab_size=10), build(toy(vocab_size=10), seed=3))
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("name", ["phi3", "mt5", "bert-base"])
def test_a_published_model_leaves_as_it_came(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Family, names and number format, though others could have such a model."""
    folder, zipped = saved(name, tmp_path / "came").path, tmp_path / "left.zip"
    whole = folder / "model.safetensors"
    came = {key: each.bfloat16() for key, each in load_file(whole).items()}
    save_file(came, whole)
    answer(capsys, "export", str(folder), "--out", str(zipped))
    with zipfile.ZipFile(zipped) as archive:
        left = load(archive.read("model.safetensors"))
        values = json.loads(archive.read("config.json"))
    assert values["model_type"] == json.loads((folder / "config.json").read_text())["model_type"]
    assert left.keys() == came.keys()
    assert all(left[key].dtype is torch.bfloat16 for key in came)
    assert all(left[key].equal(each) for key, each in came.items())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("count", "mixtral"), "nearest names are mixtral-8x7b"),
        (("fit", "llama-3-8b", "--tensor", "3"), "use 2"),
        (("count", "course", "--set", "n_head=3"), "n_head is not a field"),
        (("count", "course", "--set", "n_heads=3"), "n_heads"),
        (("record", "gpt2-small", "--text", "x", "--set", "n_layers=1"), "has no tokenizer"),
        (("record", "sort", "--ids", "1;2"), "separated by commas"),
        (("generate", "sort"), "nothing to read"),
        (("export", "course", "--out", "model.txt"), "Use --out model.py"),
    ],
)
def test_what_cannot_be_gets_a_sentence(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(words) == command.WRONG_USAGE
    assert said in capsys.readouterr().err


def test_training_goes_in_by_the_same_door(tmp_path: Path):
    small = ["--set", "d_model=16", "--set", "n_layers=1", "--set", "n_eval_batches=1"]
    words = ["train", "--task", "sort", "--seq-len", "8", *small, "--steps", "1"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    assert (tmp_path / "checkpoint").is_dir()


def test_a_gguf_file_is_counted_as_it_lies(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    theirs = wide_llama()
    path = write_gguf(tmp_path / "toy.gguf", theirs)
    assert answer(capsys, "count", str(path))["total"] == theirs.num_parameters()
    assert main(["count", str(tmp_path / "gone.gguf")]) != 0
    assert "gone.gguf" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "chooses"), [("sort", slice(None)), ("induction", slice(1, None))]
)
def test_heads_are_ranked_by_what_the_next_token_loses(
    name: str, chooses: slice, capsys: pytest.CaptureFixture[str]
):
    found = answer(capsys, "heads", name, "--ids", "1,2,3,4")["heads"]
    file = pocket(name)
    config = file.config
    assert len(found) == config.n_layers * config.n_heads
    assert [row["kl_bits"] for row in found] == sorted((r["kl_bits"] for r in found), reverse=True)
    (one,) = [row for row in found if (row["layer"], row["head"]) == (1, 0)]
    seen = record(file.build(), torch.tensor([[1, 2, 3, 4]]))
    bits = torch.special.entr(seen.pattern(1)[0, 0, chooses]).sum(-1) / math.log(2)
    assert one["entropy_bits"] == pytest.approx(float(bits.mean()), rel=1e-5)


def test_the_last_row_of_the_lens_is_the_answer_of_the_model(capsys: pytest.CaptureFixture[str]):
    text = " Once there was a shy owl called Nora."
    file = pocket("stories-en-zh")
    rows = answer(capsys, "lens", "stories-en-zh", "--text", text)["lens"]
    with torch.no_grad():
        logits = file.build()(torch.tensor([file.tokenizer.encode(text)]))[0, -1]
    assert len(rows) == file.config.n_layers + 1 and rows[-1]["rank_of_answer"] == 1
    assert rows[-1]["token"] == file.tokenizer.label(int(logits.argmax()))


def test_two_models_are_compared_in_settings_and_costs(capsys: pytest.CaptureFixture[str]):
    found = answer(capsys, "compare", "gpt2-small", "llama-3-8b", "--n", "64")
    costs = {row["cost"]: row for row in found["costs"]}
    assert costs["parameters"]["b"] == 8_030_261_248  # Llama 3 model card
    settings = {row["setting"]: (row["a"], row["b"]) for row in found["settings"]}
    assert settings["n_layers"] == ("12", "32")


@pytest.mark.parametrize(
    ("change", "said"),
    [("n_head=3", "n_heads"), ("n_heads=4.0", "use 4"), ("n_layers=abc", "use 1")],
)
def test_a_wrong_setting_is_answered_with_the_mend(
    capsys: pytest.CaptureFixture[str], change: str, said: str
):
    assert main(["count", "gpt2-small", "--set", change]) == 2
    assert said in capsys.readouterr().err


def test_what_is_served_is_counted(capsys: pytest.CaptureFixture[str]):
    found = answer(capsys, "fit", "llama-3-70b", "--n", "131072", "--batch", "8", "--tensor", "8")
    assert found["weights"] == 17_640_734_720 and found["n_devices"] == 8
    fits = {each["device"]: each["fits"] for each in found["devices"]}
    assert fits["h100-sxm"] and not fits["l40s"]
    own = ("--own", "24,1008,165.2", "--answer", "1", "--weights", "fp8", "--cache", "fp8")
    found = answer(capsys, "serve", "llama-3-8b", *own)
    assert found["step"]["bound"] == "weights"
    assert found["fits"] and found["decode_tokens_per_second_at_batch_1"] > 100
    assert answer(capsys, "cost", "llama-3-8b")["parameters"] == 8_030_261_248


def test_what_does_not_fit_is_said_beside_its_speed(capsys: pytest.CaptureFixture[str]):
    words = ["serve", "mixtral-8x7b", "--batch", "64", "--n", "32k", "--json"]
    assert main(words) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert "DOES NOT FIT" in printed.err and "exceed max_seq_len" not in printed.err
    assert not found["fits"] and found["largest_batch"] == 0
    assert found["decode_tokens_per_second_all"] == pytest.approx(64 / found["step_seconds"])
    assert 7.99 < found["experts_touched"] <= 8 and found["arithmetic_from_batch"] is None


@pytest.mark.parametrize("name", ["cost", "fit", "serve", "shape", "count"])
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0 and "%%" not in capsys.readouterr().out


def test_a_budget_buys_what_the_package_says(capsys: pytest.CaptureFixture[str]):
    words = ("--hours", "24", "--devices", "8", "--utilization", "40%", "--law", "hoffmann")
    found = answer(capsys, "shape", *words)
    expected = shape_for(Budget(BudgetKind.TIME, 24, n_devices=8), Wish("hoffmann"))
    assert found["tokens"] == expected.n_tokens and found["hours"] == pytest.approx(24)
    assert ModelConfig.from_flat(found["config"]) == expected.config
    dear = answer(capsys, "shape", "--money", "5000", "--price", "2")
    assert dear["devices"] == 2 and dear["texts_at_once"] > 0
    for wrong in (("--flops", "lots"), ("--money", "5"), ("--flops", "0")):
        assert main(["shape", *wrong]) == 2 and capsys.readouterr().err.strip()
