"""One front door at the command line: what it can be asked, and what answers."""

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from blocks.cost.parameters import active_parameters, count_parameters, total_parameters
from blocks.cost.setup import WeightFormat
from blocks.cost.units import bytes_text
from blocks.export import shape_command
from blocks.export.code import as_code
from blocks.export.costing import add_serving, add_shape, add_speed, cost, fit, serve, whole_number
from blocks.export.looking import compare, heads, lens
from blocks.export.opened import Opened, ids_of, opened, print_answer, rows
from blocks.export.package import activations, packed
from blocks.model import devices
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.models import GPT
from blocks.model.presets import PRESETS
from blocks.model.randomness import generator
from blocks.model.source_target import SourceTarget
from blocks.observe.recording import Recording, record
from blocks.sweep import command as sweep
from blocks.text.generation import Generation
from blocks.text.published import PublishedTokenizer
from blocks.text.sampling import SamplingConfig
from blocks.training import command as training
from blocks.weights.pocket import pocket_names

FAILED, WRONG_USAGE = 1, 2
MODEL = """\
MODEL is the name of a preset (gpt2-small) or of a model that ships here (stories-en-zh), a
configuration (.toml or .json, ours or a published config.json), a model file of ours
(.safetensors), or a published checkpoint: a folder, or a GGUF file."""
EPILOG = f"""\
{MODEL}

examples:
  python -m blocks count llama-3-8b
  python -m blocks count gpt2-small --set n_kv_heads=4 --json
  python -m blocks compare gpt2-small llama-3-8b
  python -m blocks shape --flops 1e19 --device rtx-4090
  python -m blocks fit llama-3-70b --n 8192 --batch 16 --weights int4
  python -m blocks serve llama-3-70b --n 8192 --batch 16 --tensor 8 --on h100-sxm
  python -m blocks heads stories-en-zh --text " Once there was a shy owl called Nora."
  python -m blocks record stories-en-zh --text "Once there was a shy owl" --out seen.safetensors
  python -m blocks generate stories-en-zh --text "The small robot" --tokens 40
  python -m blocks generate model.gguf --ask --text "What is a rainbow?" --tokens 200
  python -m blocks export gpt2-small --out model.py
  python -m blocks train --task sort --preset fast --out runs/sort
  python -m blocks sweep sweep.toml

exit codes:
  0 done   1 failed   2 wrong usage   130 stopped by Ctrl-C

"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do as the arguments say; returns the exit code."""
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    if words[:1] == ["train"]:
        return training.main(words[1:])
    if words[:1] == ["sweep"]:
        return sweep.main(words[1:])
    if words[:1] == ["shape"]:
        return shape_command.main(words[1:])
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
        description="Count, compare, look into, run, train and export Transformers.",
        epilog=EPILOG + _names(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = whole.add_subparsers(required=True, metavar="COMMAND")
    _add(commands, "count", count, "parameters by part, exactly; nothing is built")
    seen = _add(commands, "record", recorded, "one pass: what flows through the model")
    ranked = _add(commands, "heads", heads, "each head, and what the next token loses without it")
    layers = _add(commands, "lens", lens, "what the model would say after each layer")
    add_shape(_add(commands, "cost", cost, "FLOPs and bytes of a text; nothing is built"))
    add_serving(_add(commands, "fit", fit, "which devices hold it in use"))
    add_speed(_add(commands, "serve", serve, "what bounds it on a device, and how fast it is"))
    pair = _add(commands, "compare", compare, "two models: settings that differ, and costs")
    new = _add(commands, "generate", generate, "let a model with a tokenizer write")
    out = _add(commands, "export", export, "code (.py), or weights and configuration (.zip)")
    commands.add_parser("shape", help="the GPT that a budget buys: python -m blocks shape --help")
    commands.add_parser("sweep", help="many trainings: see python -m blocks sweep --help")
    commands.add_parser("train", help="train a model: see python -m blocks train --help")
    for each in (seen, new, ranked, layers):
        each.add_argument("--text", help="what the model reads")
    for each in (seen, ranked, layers):
        each.add_argument("--ids", help="token ids instead of a text: 1,2,3")
    pair.add_argument("other", metavar="OTHER", help="the model beside it")
    pair.add_argument("--n", type=whole_number, default=1024, help="tokens of a text (%(default)s)")
    formats = [str(each) for each in WeightFormat]
    pair.add_argument("--weights", default="float16", choices=formats, help="(%(default)s)")
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


def _names() -> str:
    """Every name that MODEL may be, in lines."""
    names = {"presets": PRESETS, "models that ship here": pocket_names()}
    return "\n".join(
        textwrap.fill(f"{kind}: {', '.join(each)}", 80, break_on_hyphens=False)
        for kind, each in names.items()
    )


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


# Commands


def count(options: argparse.Namespace, model: Opened) -> None:
    """Parameters by part."""
    table, total = count_parameters(model.config), total_parameters(model.config)
    answer = {
        "total": total,
        "active": active_parameters(model.config),
        "bytes_float32": 4 * total,
        "parts": rows(table),
    }
    said = f"{total:,} parameters, {bytes_text(4 * total)} in float32"
    print_answer(options, answer, f"{table.to_string(index=False)}\n{said}")


def recorded(options: argparse.Namespace, model: Opened) -> None:
    """The stream stage by stage, and the tensors where a file was named."""
    seen = _record(options, model)
    if options.out:
        options.out.write_bytes(activations(seen))
        print(f"{options.out}: {len(seen.tensors) + 1} tensors", file=sys.stderr)
    flow = seen.flow()
    answer = {"milliseconds": seen.milliseconds, "seed": options.seed, "flow": rows(flow)}
    print_answer(options, answer, flow.to_string(index=False))


def _record(options: argparse.Namespace, model: Opened) -> Recording:
    built = model.build(options)
    if not model.config.architecture.reads_tokens:
        x = torch.randn(1, 8, model.config.d_model, generator=generator(options.seed, "record"))
        print(f"A block reads vectors: random ones, seed {options.seed}", file=sys.stderr)
        return record(built, x.to(options.device))
    ids = torch.tensor([ids_of(options, model)], device=options.device)
    is_two = model.config.n_decoder_layers > 0
    return record(built, SourceTarget(ids, ids[:, :1]) if is_two else ids)


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
    print_answer(options, answer, written)


def _prompt(options: argparse.Namespace, model: Opened) -> list[int]:
    """The token ids of the text, or of the question that it asks. Raises `ConfigError`."""
    if not options.ask or not options.text:
        return ids_of(options, model)
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
    print_answer(
        options, {"file": str(out), "bytes": len(content)}, f"{out}: {len(content):,} bytes"
    )
