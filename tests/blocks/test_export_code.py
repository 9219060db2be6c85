"""A model as code: run where Blockscope is not, it says what the model says."""

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from toy import scramble

from blocks import PRESETS, ConfigError, ModelConfig, as_code, build, record
from blocks.model.config import FIELDS
from blocks.model.kinds import Architecture, TokenMixer
from blocks.model.source_target import SourceTarget
from blocks.weights import read_weights

N_RANDOM = 10
SIZES: dict[str, list[Any]] = {
    "n_layers": [1, 2, 3],
    "attention_every": [0, 2],
    "n_mtp_modules": [1, 2],
    "d_model": [16],
    "n_heads": [2, 4],
    "n_kv_heads": [None, 1, 2],
    "d_head": [None, 8],
    "d_ff": [None, 20],
    "n_experts": [1, 3],
    "n_active_experts": [1, 2],
    "expert_capacity": [0.0, 1.25],
    "norm_eps": [1e-5, 1e-3],
    "max_seq_len": [16],
    "position_offset": [0, 2],
    "rope_base": [100.0],
    "rotary_share": [1.0, 0.5],
    "vocab_size": [11],
    "n_segments": [0, 2],
    "n_decoder_layers": [None, 1],
    "dropout": [0.0, 0.1],
    "attention_multiplier": [0.0, 0.3],
    "embedding_multiplier": [1.0, 5.0],
    "residual_multiplier": [1.0, 0.7],
    "logits_scaling": [1.0, 3.0],
    "gate_limit": [0.0, 0.5],
}
SMALL = {"d_model": 16, "n_heads": 4, "d_ff": 20, "vocab_size": 11, "max_seq_len": 16}
LONG = {"rope_scaling": "longrope", "rope_trained_len": 4, "rope_long_factors": "1.5,4"}
FEW = {"n_layers": 3, "local_window": 2, "n_kv_heads": None}
FAMILIES = [
    PRESETS["modernbert-base"].replace(**SMALL, **FEW, prediction_head=True, unembed_bias=True),
    PRESETS["gpt-oss-20b"].replace(**SMALL, **FEW, d_head=4, n_experts=3, n_active_experts=2),
    PRESETS["opus-mt-en-de"].replace(**SMALL, n_layers=2),
    PRESETS["phi-3-mini"].replace(**SMALL, **LONG, n_layers=2, n_kv_heads=None),
]
RUN = """
import importlib, sys
from pathlib import Path
import torch
from safetensors.torch import load_file

def near(ours, theirs):
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()

for path in sorted(Path(sys.argv[1]).glob("*.py")):
    written = {"__name__": path.stem}
    exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), written)
    io = load_file(path.with_suffix(".io"))
    x = io["x"] if "x" in io else written["SourceTarget"](io["source"], io["target"])
    model = written[path.stem.split("-")[0]]().eval().double()
    model.load_state_dict(load_file(path.with_suffix(".weights")))
    with torch.no_grad():
        print(path.stem, near(model(x), io["output"]))
        for i, logits in enumerate(model.logits_ahead(x) if "ahead_0" in io else ()):
            print(path.stem + f"-ahead-{i}", near(logits, io[f"ahead_{i}"]))
assert not [name for name in sys.modules if name.startswith("blocks")]
"""


def random_config(seed: int) -> ModelConfig:
    """Any field of a configuration, drawn: a field that is new takes part by itself."""
    choice = random.Random(seed).choice
    values: dict[str, Any] = {}
    for name, kind in FIELDS.items():
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            values[name] = choice([*kind])
        elif kind is bool:
            values[name] = choice([True, False])
        elif name in SIZES:
            values[name] = choice(SIZES[name])
    if values["token_mixer"] is not TokenMixer.ATTENTION:  # only these two may have a state
        values["architecture"] = (Architecture.BLOCK, Architecture.GPT)[seed % 2]
    return ModelConfig(d_model=16, vocab_size=11).nearest(**values)[0]


def some_input(config: ModelConfig) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    if config.architecture == "block":
        x = torch.randn(2, 7, config.d_model, generator=generator, dtype=torch.float64)
        return {"x": x}
    source, target = (torch.randint(0, 11, (2, n), generator=generator) for n in (7, 5))
    is_two = config.architecture == "encoder-decoder"
    return {"source": source, "target": target} if is_two else {"x": source}


def put(folder: Path, config: ModelConfig, seed: int) -> None:
    """The file, its weights, and what the model says, to more digits than rounding takes away."""
    model, given = scramble(build(config)).double(), some_input(config)
    x = given["x"] if "x" in given else SourceTarget(given["source"], given["target"])
    output = record(model, x).output
    path = folder / f"{type(model).__name__}-{seed}"
    path.with_suffix(".py").write_text(as_code(config), encoding="utf-8")
    save_file(read_weights(model), path.with_suffix(".weights"))
    with torch.no_grad():
        found = model.logits_ahead(x) if config.n_mtp_modules else ()
    ahead = {f"ahead_{i}": logits for i, logits in enumerate(found)}
    save_file({**given, **ahead, "output": output}, path.with_suffix(".io"))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """How far each file is from its model, in an interpreter that knows nothing of Blockscope."""
    folder = tmp_path_factory.mktemp("code")
    for seed, config in enumerate((*map(random_config, range(N_RANDOM)), *FAMILIES)):
        put(folder, config, seed)
    ran = subprocess.run(
        [sys.executable, "-I", "-c", RUN, str(folder)],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return {name: float(far) for name, far in map(str.split, ran.stdout.splitlines())}


def test_a_file_says_what_its_model_says_in_a_bare_interpreter(answers: dict[str, float]):
    of_outputs = [name for name in answers if "ahead" not in name]
    assert len(of_outputs) == N_RANDOM + len(FAMILIES) < len(answers)
    assert {name: far for name, far in answers.items() if not far <= 1e-9} == {}
    assert len({name.split("-")[0] for name in answers}) >= 3


def test_the_random_draws_have_every_way_in_which_tokens_meet():
    drawn = [random_config(seed) for seed in range(N_RANDOM)]
    assert {config.mixer_of(0) for config in drawn} == {*TokenMixer}
    assert any(config.is_hybrid for config in drawn)
    assert any(config.n_mtp_modules for config in drawn)


def test_a_file_holds_only_what_its_model_uses():
    text = as_code(PRESETS["gpt2-small"].replace(n_layers=2))
    for absent in (
        "Probe",
        "def soft_cap",
        "ContextVar",
        "config.",
        "cache",
        "RMSNorm",
        "Rotary",
        "blocks.",
        "alibi",
    ):
        assert absent not in text, absent
    for present in ("class GPT(nn.Module)", "d_model = 768", "nn.Linear(d_model, d_ff)", "softmax"):
        assert present in text, present
    assert text.count("\n") < 280


def test_numbers_stand_once_and_go_by_their_names():
    text = as_code(PRESETS["smollm2-135m"].replace(n_layers=2))
    assert text.count("576") == 2  # in the title, and as d_model
    assert "self.speeds = 1.0, 0." in text
    assert "range(n_layers)" in text and "n_kv_heads * d_head" in text


def test_a_file_of_many_equal_parts_is_written_from_a_few_of_them():
    small = PRESETS["mixtral-8x7b"]
    few = small.replace(n_layers=2, d_model=64, n_heads=4, n_kv_heads=2, d_head=16)
    many = few.replace(n_layers=10**6, n_experts=500)
    begins = "\nfrom torch import"
    head, _, rest = as_code(many).partition(begins)
    assert "n_layers 1000000" in head
    for name in ("n_layers", "n_experts"):
        rest = rest.replace(f"{name} = {getattr(many, name)}\n", f"{name} = {getattr(few, name)}\n")
    assert rest == as_code(few).partition(begins)[2]


def test_layers_that_differ_are_written_one_by_one_up_to_a_bound():
    local = PRESETS["gpt2-small"].replace(local_window=8, global_every=300, n_layers=299)
    assert "for _ in range(n_layers)" in as_code(local)  # all are local
    mixed = local.replace(global_every=3, n_layers=4)
    assert as_code(mixed).count("EncoderLayer(Attention(8") == 3
    with pytest.raises(ConfigError, match="Set n_layers to at most 256"):
        as_code(local.replace(n_layers=300))


def test_many_threads_write_files_at_once():
    config = PRESETS["gpt2-small"].replace(n_layers=1)
    with ThreadPoolExecutor(4) as threads:
        written = {*threads.map(lambda _: as_code(config), range(8))}
    assert written == {as_code(config)}
