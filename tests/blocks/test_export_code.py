"""A model as code: run where Blockscope is not, it says what the model says."""

import ast
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from drawn_configs import drawn
from safetensors.torch import save_file
from toy import scramble

from blocks import PRESETS, ConfigError, ModelConfig, as_code, build, record
from blocks.export.written import WIDEST, text_of
from blocks.model.source_target import SourceTarget
from blocks.weights import read_weights

N_RANDOM = 1
SMALL = {"d_model": 16, "n_heads": 4, "d_ff": 20, "vocab_size": 11, "max_seq_len": 16}
LONG = {"rope_scaling": "longrope", "rope_trained_len": 4, "rope_long_factors": "1.5,4"}
FEW = {"n_layers": 3, "local_window": 2, "n_kv_heads": None}
LATENT = {"d_kv_latent": 4, "d_q_latent": 4, "d_head": 4, "d_value": 4, "d_rotary": 2}
MIXTURE = {
    **{"n_experts": 4, "n_active_experts": 2, "d_expert": 7, "n_dense_layers": 1},
    **{"n_expert_groups": 1, "n_active_groups": 1},
}
SHARED = {"token_mixer": "gated_delta", "n_state_heads": 6, "n_key_heads": 2}
FAMILIES = [
    PRESETS["modernbert-base"].replace(**SMALL, **FEW, prediction_head=True, unembed_bias=True),
    PRESETS["gpt-oss-20b"].replace(**SMALL, **FEW, d_head=4, n_experts=3, n_active_experts=2),
    PRESETS["opus-mt-en-de"].replace(**SMALL, n_layers=2),
    PRESETS["phi-3-mini"].replace(**SMALL, **LONG, n_layers=2, n_kv_heads=None),
    PRESETS["smollm2-135m"].replace(**SMALL, **FEW, nope_every=2),
    PRESETS["smollm2-135m"].replace(**SMALL, **FEW, **SHARED),
    PRESETS["deepseek-v3"].replace(**SMALL, **LATENT, **MIXTURE, n_layers=2, n_mtp_modules=1),
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
    for seed, config in enumerate((*map(drawn, range(N_RANDOM)), *FAMILIES)):
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


LONGEST = "a_long_name_of_forty_letters_for_a_value"
FOLDED = [
    f"x = [{LONGEST}({LONGEST}, {LONGEST}) for _ in range(n) if n]",
    f"x = {{a: {LONGEST}({LONGEST}) for a, b in pairs({LONGEST})}}",
    f"x = ({LONGEST}({LONGEST}, 1) + {LONGEST}) * 2",
    f"x = f(' for ', {LONGEST}, g({LONGEST}, {LONGEST}))",
]


@pytest.mark.parametrize("line", FOLDED)
def test_a_line_that_is_opened_says_the_same(line: str):
    (node,) = ast.parse(line).body
    text = text_of(node)
    assert max(map(len, text.split("\n"))) <= WIDEST
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(line))


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.thinned
def test_the_code_of_every_preset_is_python(name: str):
    config = PRESETS[name]
    compile(as_code(config.replace(n_layers=min(config.n_layers, 12))), name, "exec")


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


def test_what_no_layer_needs_is_not_written():
    assert "within(" not in as_code(PRESETS["smollm2-135m"])
    assert "within(" in as_code(PRESETS["mistral-7b"].replace(local_window=8, n_layers=1))


def test_many_threads_write_files_at_once():
    config = PRESETS["gpt2-small"].replace(n_layers=1)
    with ThreadPoolExecutor(4) as threads:
        written = {*threads.map(lambda _: as_code(config), range(8))}
    assert written == {as_code(config)}
