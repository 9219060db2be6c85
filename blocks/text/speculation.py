"""A GPT drafts tokens by its own modules, and checks them while it writes the next one.

Self-speculative decoding (Leviathan et al. 2022, section 2, with the draft of Gloeckle et al. 2024,
section 3.2, and DeepSeek-V3, section 5.4.3), greedy: the text is the one that it writes token by
token.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from blocks.model.masks import causal, sliding_window
from blocks.model.models import GPT
from blocks.model.probe import Replacement
from blocks.observe.recording import record


@dataclass(frozen=True)
class Pass:
    """One pass of the model over text and draft.

    `drafted`: tokens that its modules guessed before; `own`: what it writes itself at each of their
    places and after them, given those before.
    """

    drafted: tuple[int, ...]
    own: tuple[int, ...]

    @property
    def n_accepted(self) -> int:
        """How many drafted tokens, from the first on, it would have written itself."""
        pairs = zip(self.drafted, self.own, strict=False)
        return next((i for i, (a, b) in enumerate(pairs) if a != b), len(self.drafted))

    @property
    def written(self) -> tuple[int, ...]:
        """What the text gains: the accepted ones, and one more."""
        return self.own[: self.n_accepted + 1]


def speculate(
    model: GPT,
    prompt: Sequence[int],
    n_tokens: int,
    *,
    window_size: int | None = None,
    replace: Mapping[str, Replacement] | None = None,
) -> tuple[Pass, ...]:
    """Write at least `n_tokens` after a prompt; the last pass may write a few more.

    Nothing is cached: each pass reads the whole text. `window_size` is that of a sliding window,
    `replace` changes what passes at some probes, as `record` does.
    """
    device = next(model.parameters()).device
    text, found = list(prompt), list[Pass]()
    draft: tuple[int, ...] = ()
    while len(text) < len(prompt) + n_tokens:
        ids = torch.tensor([[*text, *draft]], device=device)
        hidden = _encoded(model, ids, window_size, replace or {})
        with torch.inference_mode():
            own = model.unembed_logits(hidden[:, len(text) - 1 :])[0].argmax(-1).tolist()
            found.append(Pass(draft, tuple(own)))
            text += found[-1].written
            known = torch.tensor([text], device=device)
            draft = tuple(drafted(model, hidden[:, : len(text) - 1], known, window_size))
    return tuple(found)


def draft_after(
    model: GPT, token_ids: Sequence[int], window_size: int | None = None
) -> tuple[int, ...]:
    """What the modules guess after a text of two tokens or more, as the pass before it would."""
    ids = torch.tensor([token_ids], device=next(model.parameters()).device)
    hidden = _encoded(model, ids, window_size, {})
    with torch.inference_mode():
        return tuple(drafted(model, hidden[:, :-1], ids, window_size))


def _encoded(
    model: GPT, ids: Tensor, window_size: int | None, replace: Mapping[str, Replacement]
) -> Tensor:
    mask = _mask(ids.shape[1], window_size, ids.device)
    if not replace:
        with torch.inference_mode():
            return model.encode(ids, mask)
    return record(model.encode, ids, mask=mask, keep=set(), replace=replace).output


def drafted(
    model: GPT, hidden: Tensor, token_ids: Tensor, window_size: int | None = None
) -> list[int]:
    """One token of each module, likeliest first choice, after those of (1, seq).

    `hidden`, (1, seq − 1, d_model), is what the head read of all of them but the newest.
    """
    n, found = hidden.shape[1], list[int]()
    mask = _mask(n, window_size, hidden.device)
    for module in model.mtp or ():
        hidden = module(hidden, model.embed_scale * model.embed(token_ids[:, -n:]), mask)
        chosen = model.unembed_logits(hidden[:, -1:]).argmax(-1)
        token_ids = torch.cat((token_ids, chosen), dim=1)
        found.append(int(chosen))
    return found


def _mask(n: int, window_size: int | None, device: torch.device) -> Tensor:
    return causal(n, device) if window_size is None else sliding_window(n, window_size, device)
