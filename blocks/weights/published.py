"""Published checkpoints: a folder with config.json and safetensors, or a GGUF file, as it lies.

Built without memory of its own; the weights are those of the mapped file. Nothing is guessed: what
is not understood is refused by name.
"""

import functools
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from blocks.cost.units import bytes_text
from blocks.model.config import ModelConfig
from blocks.model.devices import check_dtype
from blocks.model.faults import N_, ConfigError
from blocks.model.models import GPT, Model, assemble
from blocks.model.parts import MOST_MTP_MODULES
from blocks.text import marian_tokenizer
from blocks.text.chat import Chat
from blocks.text.generation import Generation
from blocks.text.gguf_tokenizer import tokenizer_json
from blocks.text.marks import Marks
from blocks.text.published import PublishedTokenizer, published_tokenizer
from blocks.text.sampling import SamplingConfig
from blocks.text.tokenizer import Tokenizer
from blocks.weights import folder as files
from blocks.weights.chat_files import chat_of_folder, chat_of_gguf
from blocks.weights.config_json import ConfigFile, parsed, read_config_file
from blocks.weights.config_keys import Keys
from blocks.weights.config_write import config_json, family_of
from blocks.weights.families import LAYOUTS, UNEMBED, Layout, Plan, mtp_layer, plan_of, text_layout
from blocks.weights.folder import Stored, refusal
from blocks.weights.gguf_config import ARCHITECTURE, config_values
from blocks.weights.gguf_file import read_gguf
from blocks.weights.gguf_plan import gguf_plan
from blocks.weights.ledger import NUMBERS, Ledger, State, known_as, ledger
from blocks.weights.maths import check_maths
from blocks.weights.mxfp4 import joined
from blocks.weights.tensors import Weights, check_finite, check_shapes, stored_by_name

LEAST_OF_A_LAYER = 3  # tensors, of each of its experts
PARTS = "split.count"  # of a GGUF file
OVER_BUDGET = N_(
    "The weights take {need} as {dtype}, more than the {budget} allowed here: use a "
    "smaller model, or a number format with fewer bytes per weight"
)
MOST_STACKED = 2**15  # experts that a few tensors may claim to hold


@dataclass(frozen=True, eq=False, repr=False)
class Published:
    """What a folder holds. `tensors` are by our names; unconverted, they are the mapped file.

    `marks`: the token ids that stand around a target, as config.json says. `chat`: how it is asked.
    """

    family: str
    config: ModelConfig
    ledger: Ledger
    tensors: Weights
    tokenizer: PublishedTokenizer | None
    marks: Marks
    chat: Chat

    def __repr__(self) -> str:
        n_numbers = sum(each.numel() for each in self.tensors.values())
        sizes = f"{len(self.tensors)} tensors, {n_numbers:,} numbers"
        tokenizer = "a tokenizer" if self.tokenizer else "no tokenizer"
        return f"Published({self.family} {self.config.architecture}, {sizes}, {tokenizer})"

    def build(self) -> Model:
        """The model around these weights, which are not copied."""
        return assemble(self.config, self.tensors)

    def prompt(self, question: str) -> list[int]:
        """The token ids of a question in the chat template of this model. Raises `ConfigError`."""
        if self.tokenizer is None:
            raise refusal(N_("This model has no tokenizer, so it cannot be asked questions"))
        return [piece.token_id for piece in self.chat.prompt(question, self.tokenizer)]

    def answer(
        self,
        question: str,
        *,
        n_tokens: int = 256,
        sampling: SamplingConfig | None = None,
        seed: int = 0,
    ) -> str:
        """What a chat model answers, until it ends or `n_tokens` are written.

        `sampling`: as its files say, unless told otherwise. Raises `ConfigError`.
        """
        prompt, model = self.prompt(question), self.build()
        if self.tokenizer is None or not isinstance(model, GPT):
            raise refusal(N_("Only a GPT answers questions here: choose another model"))
        sampling = sampling or self.chat.sampling
        text = Generation(model, self.config, prompt, sampling, seed=seed, stop=self.chat.stop)
        text.advance(n_tokens)
        return self.tokenizer.decode(text.token_ids[len(prompt) :])


def open_published(
    folder: str | Path, *, dtype: torch.dtype | None = None, budget: int | None = None
) -> Published:
    """Open a folder in the published format, or a GGUF file. Raises `ConfigError`.

    Of the model that `make model` installs the name is enough: SmolLM2-135M-Instruct.Q4_1.gguf.
    `dtype` converts the weights; unconverted they keep the number format of the file. `budget` is
    the memory that they may take, in bytes.
    """
    if dtype is not None:
        check_dtype(dtype)
    source = _source(Path(folder))
    config = source.plan.config
    rows = ledger(source.plan, source.found)
    if rows.faults:
        raise ConfigError(rows.faults)
    kept = dtype or functools.reduce(torch.promote_types, [NUMBERS[row.dtype] for row in rows.read])
    _check_budget(rows, kept, budget)
    tensors = _read(source.plan, source.found, rows, kept)
    tokenizer, marks = _tokenizer(source.tokenizer(), config), _marks(source.values, config)
    chat = source.chat(tokenizer)
    return Published(source.plan.family, config, rows, tensors, tokenizer, marks, chat)


def read_ledger(folder: str | Path) -> Ledger:
    """Return where every tensor of the folder would go, faults included; no weight is read."""
    source = _source(Path(folder))
    return ledger(source.plan, source.found)


def read_config(folder: str | Path) -> ModelConfig:
    """Return the configuration of the folder or GGUF file; no weight is read."""
    return _source(Path(folder)).plan.config


def save_published(
    folder: str | Path,
    config: ModelConfig,
    model: nn.Module,
    *,
    family: str | None = None,
    came: Ledger | None = None,
    tokenizer: Tokenizer | None = None,
    most_bytes: int | None = None,
) -> str:
    """Save a model under the names of a family; returns which. Raises `ConfigError`.

    The first family that has such models, unless one is given; what `came` from files leaves under
    the names that they had. What `open_published` read is written again bit for bit, but not what
    stood there twice or was not needed. A `tokenizer` that came from a folder is put beside it.
    `most_bytes`: of the weights in one file; with more there are several, and an index.
    """
    family = family or family_of(config, came.family if came else "")
    text, target = config_json(family, config), Path(folder)
    named = dict(stored_by_name(model))
    plan = plan_of(family, config)
    known = came.names if came and came.family == family else {}
    names = {
        key: _own_name(known.get(place.ours, key), key, plan) for key, place in plan.places.items()
    }
    check_shapes(plan.shapes, named)
    _make_empty(target)
    _write_weights(target, plan, named, names, most_bytes)
    (target / files.CONFIG).write_text(text + "\n", encoding="utf-8")
    if isinstance(tokenizer, PublishedTokenizer):
        (target / files.TOKENIZER).write_text(tokenizer.text, encoding="utf-8")
    return family


def _own_name(name: str, key: str, plan: Plan) -> str:
    """The name that a tensor came under, unless that is of a larger model around this one."""
    return name if known_as(name, plan.layout, plan.places) == key else key


def _make_empty(folder: Path) -> None:
    """Make the folder where it is not there. Raises `ConfigError` where something lies in it."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        said = N_("{name} is not empty: provide a new folder")
        raise refusal(said, name=ascii(str(folder))[:200])


def _write_weights(
    folder: Path,
    plan: Plan,
    named: Mapping[str, Tensor],
    names: Mapping[str, str],
    most_bytes: int | None,
) -> None:
    """Write our tensors `named` under the published `names`, and an index where files are many."""
    shards = _shards(plan, named, most_bytes)
    for number, keys in enumerate(shards, 1):
        tensors = {}
        for key in keys:
            place = plan.places[key]
            parts = [named[name].detach() for name in place.ours]
            tensors[names[key]] = place.operation.give(parts, plan.config).cpu().contiguous()
        save_file(tensors, folder / _shard_name(number, len(shards)), metadata={"format": "pt"})
    if len(shards) > 1:
        n_bytes = sum(tensor.nbytes for tensor in named.values())
        _write_index(folder, [[names[key] for key in keys] for keys in shards], n_bytes)


def _shards(plan: Plan, named: Mapping[str, Tensor], most_bytes: int | None) -> list[list[str]]:
    """The keys of each file, in their order; a file has at least one tensor."""
    shards: list[list[str]] = [[]]
    n_bytes = 0
    for key, place in plan.places.items():
        size = sum(named[name].nbytes for name in place.ours)
        if most_bytes is not None and shards[-1] and n_bytes + size > most_bytes:
            shards.append([])
            n_bytes = 0
        shards[-1].append(key)
        n_bytes += size
    return shards


def _shard_name(number: int, n: int) -> str:
    return files.WHOLE if n == 1 else f"model-{number:05}-of-{n:05}.safetensors"


def _write_index(target: Path, shards: list[list[str]], n_bytes: int) -> None:
    """Which key is in which file, as `transformers` writes it."""
    found = {
        key: _shard_name(number, len(shards))
        for number, keys in enumerate(shards, 1)
        for key in keys
    }
    index = {"metadata": {"total_size": n_bytes}, "weight_map": found}
    (target / files.INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


class Source(NamedTuple):
    """What lies on disk, unread: `values` of config.json; `tokenizer` reads tokenizer.json.

    `chat` reads how the model is asked, given its tokenizer.
    """

    plan: Plan
    found: Mapping[str, Stored]
    values: Mapping[str, Any]
    tokenizer: Callable[[], str | None]
    chat: Callable[[PublishedTokenizer | None], Chat]


def _source(path: Path) -> Source:
    """What lies in a folder or a GGUF file, or in the one of a folder. Raises `ConfigError`."""
    nearby = [path, *(each / path.name for each in files.installed() if len(path.parts) == 1)]
    path = next((each for each in nearby if each.exists()), path)
    if not path.exists():
        raise refusal(
            N_("{name} does not exist: check the path"), name=ascii(str(path))[1:-1][:200]
        )
    if path.is_dir() and not files.has(path, files.CONFIG):
        found = [each.name for each in path.glob("*" + files.GGUF)]
        return _of_gguf(files.inside(path, found[0])) if len(found) == 1 else _of_folder(path)
    return _of_gguf(files.inside(path.parent, path.name)) if path.is_file() else _of_folder(path)


def _of_gguf(path: Path) -> Source:
    file = read_gguf(path)
    if file.metadata.get(PARTS, 1) != 1:
        text = N_(
            "{name} is only one part of a split file: join the parts with llama-gguf-split --merge"
        )
        raise refusal(text, name=ascii(path.name)[1:-1][:80])
    values = config_values(file.metadata, file.tensors)
    read = _checked(json.dumps(values))
    _check_counts(read.config, len(file.tensors), is_stacked=True)
    plan = gguf_plan(file.metadata[ARCHITECTURE], read.family, read.config)
    return Source(
        plan,
        file.tensors,
        values,
        functools.partial(tokenizer_json, file.metadata),
        lambda _tokenizer: chat_of_gguf(file.metadata),
    )


def _of_folder(folder: Path) -> Source:
    if not folder.is_dir():
        text = N_("{name} is not a folder: provide one with config.json and safetensors files")
        raise refusal(text, name=ascii(str(folder))[:200])
    text = files.read_text(folder, files.CONFIG)
    read = _checked(text)
    config, found, layout = read.config, joined(files.stored(folder)), LAYOUTS[read.family]
    if read.around:
        layout = text_layout(layout)
        config = config.replace(tie_embeddings=not _has_own_head(layout, found))
    config = _fitted(layout, config, found)
    _check_counts(config, len(found), is_stacked=layout.stacks_experts)
    plan = plan_of(read.family, config)
    if read.around:
        plan = replace(plan, layout=text_layout(plan.layout))
    values = {**read.values, **parsed(text)}
    return Source(
        plan,
        found,
        values,
        functools.partial(_tokenizer_text, folder),
        functools.partial(chat_of_folder, folder, values),
    )


def _tokenizer_text(folder: Path) -> str | None:
    """That of tokenizer.json, or of Marian's files; None where there are neither.

    Nor where the target has a vocabulary of its own, as one tokenizer has one.
    """
    if files.has(folder, files.TOKENIZER):
        return files.read_text(folder, files.TOKENIZER)
    if not files.has(folder, files.SOURCE) or files.has(folder, files.TARGET_VOCABULARY):
        return None
    source = files.read_bytes(folder, files.SOURCE)
    return marian_tokenizer.tokenizer_json(source, files.read_text(folder, files.VOCABULARY))


def _checked(text: str) -> ConfigFile:
    """A config.json that can be run, not only counted."""
    read = read_config_file(text)
    keys = Keys(read.values)
    check_maths(read.family, keys)
    if keys.faults:
        raise ConfigError(keys.faults.values())
    return read


def _check_counts(config: ModelConfig, n_found: int, *, is_stacked: bool) -> None:
    """Refuse sizes that so few tensors cannot have, before a plan of so many is made."""
    n_layers = config.n_layers + config.n_decoder_layers
    n_experts = config.n_expert_layers * config.n_experts
    n_parts = n_layers if is_stacked else n_layers + n_experts - config.n_expert_layers
    if is_stacked and n_experts > MOST_STACKED:
        said = N_(
            "The configuration asks for {n} experts in all, but at most {most} can be built here"
        )
        raise refusal(said, n=f"{n_experts:,}", most=f"{MOST_STACKED:,}")
    if LEAST_OF_A_LAYER * n_parts > n_found:
        said = N_(
            "The configuration asks for {n} layers, but the files hold only {tensors} tensors"
        )
        raise refusal(said, n=n_layers, tensors=n_found)


def _fitted(layout: Layout, config: ModelConfig, found: Mapping[str, Stored]) -> ModelConfig:
    """With the parts that a file has or has not, and its config.json does not tell."""
    if layout.may_be_untied and _has_own_head(layout, found):
        config = config.replace(tie_embeddings=False)
    if layout.mtp:
        config = config.replace(n_mtp_modules=_n_mtp_modules(config, found))
    if not layout.optional:
        return config
    there = {known_as(key, layout, layout.optional.values()) for key in found}
    return config.replace(**{name: key in there for name, key in layout.optional.items()})


def _n_mtp_modules(config: ModelConfig, found: Mapping[str, Stored]) -> int:
    """How many the files hold: those that `transformers` saves have none, whatever they say."""
    keys = (f"{mtp_layer(config, module)}eh_proj.weight" for module in range(MOST_MTP_MODULES))
    return len([*itertools.takewhile(found.__contains__, keys)])


def _has_own_head(layout: Layout, found: Mapping[str, Stored]) -> bool:
    """Whether the head is in the files, and not the table once more."""
    key = next(row.theirs for row in layout.rows if row.ours == (UNEMBED,))
    names = key, layout.repeats.get(key, key)
    by_name = {known_as(each, layout, names): each for each in found}
    head, table = (found.get(by_name.get(name, "")) for name in names)
    if head is None or table is None or head.shape != table.shape:
        return False
    return head is table or not head.tensor().equal(table.tensor())


def _check_budget(rows: Ledger, dtype: torch.dtype, budget: int | None) -> None:
    need = sum(torch.Size(row.shape or ()).numel() for row in rows.read) * dtype.itemsize
    if budget is not None and need > budget:
        name = str(dtype).removeprefix("torch.")
        said = {"need": bytes_text(need), "dtype": name, "budget": bytes_text(budget)}
        raise refusal(OVER_BUDGET, **said, n_bytes=need)


def _read(
    plan: Plan, found: Mapping[str, Stored], rows: Ledger, dtype: torch.dtype
) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    theirs: dict[str, str] = {}
    for row in rows.read:
        name = known_as(row.key, plan.layout, plan.places)
        theirs[name] = row.key
        whole = found[row.key].tensor()
        check_finite({row.key: whole})
        parts = plan.places[name].operation.take(whole, plan.config)
        tensors |= {our: part.to(dtype) for our, part in zip(row.ours, parts, strict=True)}
    for row in rows.rows:
        if row.state is State.REPEATED:
            _check_repeated(found[row.key], found.get(theirs.get(row.note, "")), row.note)
    return tensors


def _check_repeated(each: Stored, other: Stored | None, name: str) -> None:
    """Refuse a tensor that should be the twin of another of this name, and is not."""
    if other is None or each.shape != other.shape or not each.tensor().equal(other.tensor()):
        text = N_(
            "{key} differs from {other}, but they should be the same tensor: correct "
            "tie_word_embeddings, or remove the wrong one"
        )
        raise refusal(text, key=each.key, other=other.key if other else name)


def _marks(values: Mapping[str, Any], config: ModelConfig) -> Marks:
    """Padding also begins a target, unless another token does (T5)."""
    names = "pad_token_id", "decoder_start_token_id", "eos_token_id"
    found = (values.get(name) for name in names)
    padding, start, stop = (
        each if type(each) is int and 0 <= each < config.vocab_size else None for each in found
    )
    padding = padding or 0
    start, stop = padding if start is None else start, -1 if stop is None else stop
    return Marks(padding, start, stop, _never(values.get("bad_words_ids"), config.vocab_size))


def _never(found: object, vocab_size: int) -> tuple[int, ...]:
    """The tokens, each alone, that a file bars from its texts."""
    words = found if isinstance(found, list) else []
    alone = (each[0] for each in words if type(each) is list and len(each) == 1)
    return tuple(each for each in alone if type(each) is int and 0 <= each < vocab_size)


def _tokenizer(text: str | None, config: ModelConfig) -> PublishedTokenizer | None:
    if text is None:
        return None
    found = published_tokenizer(text)
    if found.vocab_size > config.vocab_size:
        text = N_("The tokenizer has {n} tokens, but the model knows only {vocab_size}")
        raise refusal(text, n=f"{found.vocab_size:,}", vocab_size=f"{config.vocab_size:,}")
    return found
