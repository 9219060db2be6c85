"""What is said of a pass with a KV cache: the last token alone is computed."""

from blocks.inspection.scene_layers import CacheFacts
from blocks.inspection.scene_moves import MoveKind
from blocks.model.faults import N_
from pages.panels.forward_pass.said import Telling
from pages.words.language import _, sentences

TEMPLATES = {
    "embedding": N_(
        "Only “{token}” enters the model. Nothing is computed again for the tokens before it "
        "({n}), since their keys and values are in the KV cache."
    ),
    "k": N_(
        "“{token}” adds one key to each key head ({of} in all). The keys of the tokens before"
        " it ({n}) are kept."
    ),
    "v": N_(
        "“{token}” adds one value to each value head ({of} in all). The values of the tokens "
        "before it ({n}) are kept."
    ),
    "kv_latent": N_(
        "“{token}” adds one latent vector. Those of the tokens before it ({n}) are kept, but "
        "keys and values are not."
    ),
    "scores": N_(
        "Only “{token}” computes a query. Each head compares it with {n} kept keys and with "
        "its own key, which makes {scores} scores instead of {pairs}."
    ),
}
READS = N_(
    "“{token}” adds its key and value to the KV cache and reads those of the tokens before it "
    "({n})."
)
AT_END = N_(
    "With a KV cache, only “{token}” is computed: the keys (K) and values (V) of the tokens "
    "before it ({n}) have been kept."
)


def says_kept(told: Telling, cache: CacheFacts, else_says: str) -> str:
    """What is said of the last token of a pass whose cache holds all others.

    `else_says`: what is said of the move without a cache; empty where that is all.
    """
    move = told.facts.move
    reads = READS if told.run.config.attends_in(move.layer or 0) else None
    by_kind = {MoveKind.ATTEND: reads, MoveKind.JOIN: reads, MoveKind.CHOOSE: AT_END}
    text = by_kind.get(move.kind) or TEMPLATES.get(move.stage)
    if text is None:
        return ""
    said = _(text).format(
        token=told.token,
        n=f"{cache.n_kept:,}",
        of=f"{told.facts.of:,}",
        scores=f"{cache.n:,}",
        pairs=f"{cache.n_pairs:,}",
    )
    return sentences(said, else_says) if move.kind is MoveKind.CHOOSE else said


def says_how_large(cache: CacheFacts) -> str:
    """What the cache holds after this pass."""
    text = _("The KV cache then holds {n} tokens of {each:,} bytes each, {total:,} bytes in all.")
    return text.format(n=cache.n, each=cache.bytes_each, total=cache.bytes_all)
