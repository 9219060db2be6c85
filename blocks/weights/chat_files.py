"""What the files of a model say of how it is asked: template, special tokens, end, sampling."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from blocks.model.faults import ConfigError
from blocks.text.chat import CALM, Chat
from blocks.text.published import PublishedTokenizer
from blocks.text.sampling import SamplingConfig
from blocks.weights import folder as files

TEMPLATE, OF_GGUF = "chat_template", "tokenizer."
NAMES = tuple(f"{kind}_token" for kind in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))
GGUF_NAMES = {"unk": "unknown", "pad": "padding", "sep": "seperator"}  # as llama.cpp calls them
ENDS = ("eos", "eot", "eom")  # of a text, of a turn, of a message


def chat_of_folder(
    folder: Path, values: Mapping[str, Any], tokenizer: PublishedTokenizer | None
) -> Chat:
    """From tokenizer_config.json, chat_template.jinja and generation_config.json, where there.

    `values`: of config.json. Raises `ConfigError` where one of them is damaged.
    """
    told, drawn = (_object(folder, name) for name in (files.TOKENIZER_CONFIG, files.GENERATION))
    names = {name: _content(told.get(name)) for name in NAMES}
    known = tokenizer.special if tokenizer else {}
    ends = {known[name] for name in (names["eos_token"],) if name in known}
    for source in (drawn, values):
        ends |= {*_ids(source.get("eos_token_id"))}
    has_own = files.has(folder, files.TEMPLATE)
    template = files.read_text(folder, files.TEMPLATE) if has_own else _template(told.get(TEMPLATE))
    sampling = {name: drawn.get(name) for name in ("temperature", "top_k", "top_p")}
    return _chat(template, names, ends, sampling)


def chat_of_gguf(metadata: Mapping[str, Any]) -> Chat:
    """From the metadata of a GGUF file."""
    tokens = metadata.get(f"{OF_GGUF}ggml.tokens", [])
    ids = {
        name: metadata.get(f"{OF_GGUF}ggml.{GGUF_NAMES.get(kind, kind)}_token_id")
        for name in NAMES
        for kind in (name.removesuffix("_token"),)
    }
    names = {
        name: tokens[id] if type(id) is int and 0 <= id < len(tokens) else ""
        for name, id in ids.items()
    }
    ends = {id for kind in ENDS for id in _ids(metadata.get(f"{OF_GGUF}ggml.{kind}_token_id"))}
    short = {"temperature": "temp", "top_k": "top_k", "top_p": "top_p"}
    sampling = {name: metadata.get(f"general.sampling.{key}") for name, key in short.items()}
    return _chat(_template(metadata.get(OF_GGUF + TEMPLATE)), names, ends, sampling)


def _chat(template: str, names: Mapping[str, str], ends: set[int], told: Mapping[str, Any]) -> Chat:
    sampling = _sampling({name: value for name, value in told.items() if value is not None})
    return Chat(
        template,
        tuple((name, token) for name, token in names.items() if token),
        frozenset(ends),
        sampling or CALM,
        sampling is not None,
    )


def _sampling(told: Mapping[str, Any]) -> SamplingConfig | None:
    """As the files say; None where they say nothing, or nothing that can be."""
    known = {"temperature": (int, float), "top_k": (int,), "top_p": (int, float)}
    found = {name: value for name, value in told.items() if type(value) in known[name]}
    if not found.get("top_k", 1):
        del found["top_k"]  # 0 keeps all
    try:
        return SamplingConfig(**found) if found else None
    except ConfigError:
        return None


def _template(found: object) -> str:
    """One template, or of several, each with its name, the default."""
    if isinstance(found, list):
        named = {each.get("name"): each.get("template") for each in found if isinstance(each, dict)}
        found = named.get("default")
    return found if isinstance(found, str) else ""


def _content(token: object) -> str:
    """A special token, as a text or with how it is looked for."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else ""


def _ids(found: object) -> Iterator[int]:
    """One token id, or several."""
    for each in found if isinstance(found, list) else [found]:
        if type(each) is int and each >= 0:
            yield each


def _object(folder: Path, name: str) -> Mapping[str, Any]:
    """The JSON object of a file, empty where there is no such file."""
    if not files.has(folder, name):
        return {}
    return files.object_in(files.read_text(folder, name), name)
