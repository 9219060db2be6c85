"""One front door at the command line: count, record, generate, train, export."""

import argparse
import json
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from blocks.cost.parameters import active_parameters, count_parameters, total_parameters
from blocks.cost.units import bytes_text
from blocks.export.code import as_code
from blocks.export.package import activations, packed
from blocks.model import devices
from blocks.model.config import FIELDS, ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.models import GPT, Model, assemble, build
from blocks.model.presets import PRESETS
from blocks.model.randomness import generator
from blocks.model.source_target import SourceTarget
from blocks.observe.recording import Recording, record
from blocks.text.chat import Chat
from blocks.text.generation import Generation
from blocks.text.published import PublishedTokenizer
from blocks.text.sampling import SamplingConfig
from blocks.text.tokenizer import Tokenizer
from blocks.training import command as training
from blocks.weights.config_json import read_config_file
from blocks.weights.folder import GGUF
from blocks.weights.ledger import Ledger
from blocks.weights.model_file import read_model_file, trained
from blocks.weights.pocket import pocket, pocket_names
from blocks.weights.published import open_published
from blocks.weights.rounded_inputs import RoundedInput, round_inputs
from blocks.weights.tensors import Weights

FAILED, WRONG_USAGE = 1, 2
MODEL = """\
MODEL is the name of a preset (gpt2-small) or of a model that ships here (stories-en-zh), a
configuration (.toml or .json, ours or a published config.json), a model file of ours
(.safetensors), or a folder with a published checkpoint."""
EPILOG = f"""\
{MODEL}

examples:
  python -m blocks count llama-3-8b
  python -m blocks count gpt2-small --set n_kv_heads=4 --json
  python -m blocks record stories-en-zh --text "Once there was a shy owl" --out seen.safetensors
  python -m blocks generate stories-en-zh --text "The small robot" --tokens 40
  python -m blocks generate model.gguf --ask --text "What is a rainbow?" --tokens 200
  python -m blocks export gpt2-small --out model.py
  python -m blocks train --task sort --preset fast --out runs/sort

exit codes:
  0 done   1 failed   2 wrong usage   130 stopped by Ctrl-C
"""


@dataclass(frozen=True, eq=False)
class Opened:
    """What MODEL names; without `tensors` weights are drawn from a seed.

    `came`: where the tensors of the files went that it was opened from; `chat`: how it is asked.
    """

    config: ModelConfig
    tensors: Weights | None = None
    tokenizer: Tokenizer | None = None
    inputs: Mapping[str, RoundedInput] = field(default_factory=dict)
    came: Ledger | None = None
    chat: Chat | None = None

    def build(self, options: argparse.Namespace) -> Model:
        """The model on the device that was asked for."""
        if self.tensors is None:
            return build(self.config, seed=options.seed, device=options.device)
        return round_inputs(self._exact(self.tensors, options.device), self.inputs)

    def as_it_came(self, options: argparse.Namespace) -> Model:
        """The model in the number format of its files, where it came from some."""
        if self.tensors is None or self.came is None:
            return self.build(options)
        return assemble(self.config, self.tensors)

    def _exact(self, tensors: Weights, device: str) -> Model:
        if device == "cpu":
            return assemble(self.config, {n: t.float() for n, t in tensors.items()})
        return trained(self.config, tensors, device=device)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do as the arguments say; returns the exit code."""
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    if words[:1] == ["train"]:
        return training.main(words[1:])
    options = parser().parse_args(words)
    devices.prepare_process()
    try:
        options.does(options, opened(options.model, dict(map(training.assignment, options.set))))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return WRONG_USAGE
    except (OSError, MemoryError) as error:
        print(error, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    """The commands, their options and help."""
    whole = argparse.ArgumentParser(
        prog="python -m blocks",
        description="Count, record, generate, train and export Transformers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = whole.add_subparsers(required=True, metavar="COMMAND")
    _add(commands, "count", count, "parameters by part, exactly; nothing is built")
    seen = _add(commands, "record", recorded, "one pass: what flows through the model")
    new = _add(commands, "generate", generate, "let a model with a tokenizer write")
    out = _add(commands, "export", export, "code (.py), or weights and configuration (.zip)")
    commands.add_parser("train", help="train a model: see python -m blocks train --help")
    for each in (seen, new):
        each.add_argument("--text", help="what the model reads")
    seen.add_argument("--ids", help="token ids instead of a text: 1,2,3")
    seen.add_argument("--out", type=Path, metavar="FILE", help="save what passed, as safetensors")
    new.add_argument("--tokens", type=int, default=40, metavar="N", help="how many (%(default)s)")
    new.add_argument(
        "--ask",
        action="store_true",
        help="the text is a question, put by the model's chat template",
    )
    new.add_argument("--temperature", type=float, help="0: the likeliest (1)")
    new.add_argument("--top-k", type=int, metavar="K")
    new.add_argument("--top-p", type=float, metavar="P")
    out.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="model.py or model.zip"
    )
    return whole


def _add(commands: Any, name: str, does: Callable[..., None], said: str) -> argparse.ArgumentParser:
    """A command, and the options that all of them have."""
    options: argparse.ArgumentParser = commands.add_parser(
        name, help=said, description=f"{said}.", epilog=MODEL
    )
    options.set_defaults(does=does)
    add = options.add_argument
    add("model", metavar="MODEL")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="change a field")
    add("--seed", type=int, default=0, metavar="N", help="of all random numbers (%(default)s)")
    add("--device", default="cpu", choices=devices.available_devices(), help="(%(default)s)")
    add("--json", action="store_true", help="answer as one JSON object")
    return options


def opened(name: str, changes: dict[str, Any]) -> Opened:
    """What a name stands for, with fields changed. Raises `ConfigError`."""
    if unknown := changes.keys() - FIELDS.keys():
        text = N_("{name} is not a field of a model: remove it")
        raise ConfigError([Fault(text, {"name": each}) for each in sorted(unknown)])
    found = _found(name)
    config = found.config.replace(**changes)
    if changes and config != found.config:
        return Opened(config, None, found.tokenizer)
    return found


def _found(name: str) -> Opened:
    if name in PRESETS:
        return Opened(PRESETS[name])
    if name in pocket_names():
        file = pocket(name)
        return Opened(file.config, file.tensors, file.tokenizer)
    path = Path(name)
    if path.is_dir() or path.suffix == GGUF:
        found = open_published(path)
        return Opened(
            found.config, found.tensors, found.tokenizer, came=found.ledger, chat=found.chat
        )
    try:
        raw = path.read_bytes()
    except OSError:
        text = N_("{name} is not a preset, a shipped model or a file: use one of {names}")
        names = ", ".join((*PRESETS, *pocket_names()))
        raise ConfigError([Fault(text, {"name": name, "names": names})]) from None
    if path.suffix == ".safetensors":
        mine = read_model_file(raw)
        return Opened(mine.config, mine.tensors, mine.tokenizer, mine.inputs)
    return Opened(_config_of(path.suffix, raw))


def _config_of(suffix: str, raw: bytes) -> ModelConfig:
    """A configuration in TOML or JSON, ours by field or a published one by its model_type."""
    try:
        text = raw.decode()
        values = tomllib.loads(text) if suffix == ".toml" else json.loads(text)
    except ValueError as error:
        said = N_("The configuration cannot be read ({error}): use valid TOML or JSON")
        raise ConfigError([Fault(said, {"error": error})]) from None
    if isinstance(values, dict) and "model_type" not in values:
        return ModelConfig.from_flat(values)
    return read_config_file(text).config


# Commands


def count(options: argparse.Namespace, model: Opened) -> None:
    """Parameters by part."""
    table, total = count_parameters(model.config), total_parameters(model.config)
    answer = {
        "total": total,
        "active": active_parameters(model.config),
        "bytes_float32": 4 * total,
        "parts": _rows(table),
    }
    said = f"{total:,} parameters, {bytes_text(4 * total)} in float32"
    _answer(options, answer, f"{table.to_string(index=False)}\n{said}")


def recorded(options: argparse.Namespace, model: Opened) -> None:
    """The stream stage by stage, and the tensors where a file was named."""
    seen = _record(options, model)
    if options.out:
        options.out.write_bytes(activations(seen))
        print(f"{options.out}: {len(seen.tensors) + 1} tensors", file=sys.stderr)
    flow = seen.flow()
    answer = {"milliseconds": seen.milliseconds, "seed": options.seed, "flow": _rows(flow)}
    _answer(options, answer, flow.to_string(index=False))


def _record(options: argparse.Namespace, model: Opened) -> Recording:
    built = model.build(options)
    if not model.config.architecture.reads_tokens:
        x = torch.randn(1, 8, model.config.d_model, generator=generator(options.seed, "record"))
        print(f"A block reads vectors: random ones, seed {options.seed}", file=sys.stderr)
        return record(built, x.to(options.device))
    ids = torch.tensor([_ids(options, model)], device=options.device)
    is_two = model.config.n_decoder_layers > 0
    return record(built, SourceTarget(ids, ids[:, :1]) if is_two else ids)


def _ids(options: argparse.Namespace, model: Opened) -> list[int]:
    """The token ids that were named, or those of the text. Raises `ConfigError`."""
    if getattr(options, "ids", None):
        parts = options.ids.split(",")
        if all(part.strip().isdecimal() for part in parts):
            return [int(part) for part in parts]
        raise ConfigError([Fault(N_("--ids takes numbers separated by commas, such as 1,2,3"))])
    if model.tokenizer is None:
        text = N_("This model has no tokenizer: provide token ids with --ids 1,2,3")
        raise ConfigError([Fault(text)])
    if not (ids := model.tokenizer.encode(options.text or "")):
        raise ConfigError([Fault(N_("There is nothing to read: provide --text"))])
    return list(ids)


def generate(options: argparse.Namespace, model: Opened) -> None:
    """A text that grows until its end; of a question the answer, drawn as the model's files say."""
    built, prompt = model.build(options), _prompt(options, model)
    if not isinstance(built, GPT) or model.tokenizer is None:
        raise ConfigError(
            [Fault(N_("Only a GPT with a tokenizer can generate text here: choose another model"))]
        )
    sampling, stop = _sampling(options, model), model.chat.stop if model.chat else ()
    text = Generation(built, model.config, prompt, sampling, seed=options.seed, stop=stop)
    for n in range(1, options.tokens + 1):
        text.advance(n)
        if text.is_ended:
            break
        if sys.stderr.isatty():
            print(f"\r{n} of {options.tokens} tokens", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    written = model.tokenizer.decode(text.token_ids[len(prompt) if options.ask else 0 :])
    answer = {
        "text": written,
        "token_ids": text.token_ids,
        "n_prompt": len(prompt),
        "seed": options.seed,
    }
    _answer(options, answer, written)


def _prompt(options: argparse.Namespace, model: Opened) -> list[int]:
    """The token ids of the text, or of the question that it asks. Raises `ConfigError`."""
    if not options.ask or not options.text:
        return _ids(options, model)
    if model.chat is None or not isinstance(model.tokenizer, PublishedTokenizer):
        raise ConfigError([Fault(N_("This model cannot be asked questions: leave out --ask"))])
    return [piece.token_id for piece in model.chat.prompt(options.text, model.tokenizer)]


def _sampling(options: argparse.Namespace, model: Opened) -> SamplingConfig:
    """What was told; of the rest, where a question is asked, what the model's files say."""
    told = {name: getattr(options, name) for name in ("temperature", "top_k", "top_p")}
    known = {name: value for name, value in told.items() if value is not None}
    usual = model.chat.sampling if options.ask and model.chat else SamplingConfig()
    return replace(usual, **known)


def export(options: argparse.Namespace, model: Opened) -> None:
    """The file that its ending asks for."""
    out: Path = options.out
    if out.suffix == ".py":
        content = as_code(model.config).encode()
    elif out.suffix == ".zip":
        content = packed(model.config, model.as_it_came(options), model.tokenizer, model.came)
    else:
        raise ConfigError(
            [Fault(N_("Use --out model.py for code, or --out model.zip for weights"))]
        )
    out.write_bytes(content)
    _answer(options, {"file": str(out), "bytes": len(content)}, f"{out}: {len(content):,} bytes")


def _answer(options: argparse.Namespace, answer: dict[str, Any], said: str) -> None:
    print(json.dumps(answer, ensure_ascii=False) if options.json else said)


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records"))
    return rows
