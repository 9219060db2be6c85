"""What a model can read: token ids, two texts, or vectors; all else gets a sentence."""

import reprlib

import torch
from torch import Tensor, nn

from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.source_target import SourceTarget

PADDING = "[PAD]"  # the label of a token that fills a row


def check_input(model: object, x: object) -> None:
    """Raise `ConfigError` where a whole model of ours, or a block, cannot read `x`.

    What any other callable reads is not known here.
    """
    if isinstance(model, nn.Module) and (fault := _fault(model, x)):
        raise ConfigError([fault])


def vocabulary_fault(token_id: int, vocab_size: int) -> Fault:
    """Return the fault of a text with tokens that the model does not know."""
    text = N_(
        "The text contains token id {token_id}, but vocab_size is {vocab_size}: use "
        "vocab_size {mend}"
    )
    values = {"token_id": token_id, "vocab_size": vocab_size, "mend": token_id + 1}
    return Fault(text, values, {"vocab_size": token_id + 1})


def _fault(model: nn.Module, x: object) -> Fault | None:
    embed, is_stack = getattr(model, "embed", None), hasattr(model, "layers")
    if isinstance(embed, nn.Embedding):
        return _texts_fault(embed.num_embeddings, x, reads_two=hasattr(model, "source_embed"))
    if is_stack and isinstance(d_model := getattr(model, "d_model", None), int):
        return _vectors_fault(d_model, next(model.parameters()).dtype, x)
    return None


def _texts_fault(vocab_size: int, x: object, *, reads_two: bool) -> Fault | None:
    """Return the fault of an input that is not one text, or for an encoder–decoder not two."""
    is_two = isinstance(x, SourceTarget)
    if isinstance(x, Tensor | SourceTarget) and is_two is not reads_two:
        two = N_("This model reads two texts: use SourceTarget(source, target)")
        return Fault(two if reads_two else N_("This model reads one text: use token ids alone"))
    found = (_ids_fault(ids, vocab_size) for ids in (x if isinstance(x, SourceTarget) else (x,)))
    return next(filter(None, found), None)


def _ids_fault(ids: object, vocab_size: int) -> Fault | None:
    if not isinstance(ids, Tensor):
        text = N_(
            "{value} is not a tensor: use token ids of shape (batch, seq), such as "
            "torch.tensor([[1, 2, 3]])"
        )
        return Fault(text, {"value": reprlib.repr(ids)})
    if ids.dtype not in (torch.int64, torch.int32):
        text = N_("Token ids must be int64 or int32, but these are {dtype}: use x.long()")
        return Fault(text, {"dtype": _name(ids.dtype)})
    if ids.dim() != 2:
        text = N_(
            "Token ids must have shape (batch, seq), but these have {shape}: use "
            "x.reshape({rows}, -1)"
        )
        rows = ids.shape[0] if ids.dim() > 2 else 1
        return Fault(text, {"shape": _shape(ids), "rows": rows})
    if ids.numel() == 0:
        return _nothing_fault(ids)
    least, most = (int(each) for each in ids.aminmax())
    if least < 0:
        text = N_("Token ids range from 0 to {last}, but {least} was given")
        return Fault(text, {"last": vocab_size - 1, "least": least})
    return vocabulary_fault(most, vocab_size) if most >= vocab_size else None


def _vectors_fault(d_model: int, dtype: torch.dtype, x: object) -> Fault | None:
    if not isinstance(x, Tensor):
        text = N_(
            "{value} is not a tensor: a block takes vectors, such as torch.randn(1, 8, {d_model})"
        )
        return Fault(text, {"value": reprlib.repr(x), "d_model": d_model})
    if x.dim() != 3 or x.shape[-1] != d_model:
        text = N_(
            "A block takes vectors of shape (batch, seq, {d_model}), but these have shape {shape}"
        )
        return Fault(text, {"d_model": d_model, "shape": _shape(x)})
    if x.dtype is not dtype:
        text = N_("The weights are {dtype}, but these vectors are {found}: use x.to(torch.{dtype})")
        return Fault(text, {"dtype": _name(dtype), "found": _name(x.dtype)})
    return _nothing_fault(x) if x.numel() == 0 else None


def _nothing_fault(x: Tensor) -> Fault:
    text = N_(
        "Nothing can be read from an input of shape {shape}: provide at least one row "
        "with one token"
    )
    return Fault(text, {"shape": _shape(x)})


def _shape(x: Tensor) -> str:
    return f"({', '.join(map(str, x.shape))})"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
