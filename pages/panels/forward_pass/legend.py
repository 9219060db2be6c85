"""What the colours and the lines of the moving picture mean."""

from collections.abc import Iterator

from blocks.inspection.scene import Scene
from blocks.inspection.scene_layers import keeps_a_cache
from blocks.inspection.scene_moves import MoveKind
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from pages.panels.forward_pass.shown import Asked
from pages.words import terms
from pages.words.language import _

MEANS = {
    "residual": N_("residual stream: a row of numbers for each token"),
    "norm": N_("norm"),
    "attention": N_(
        "attention: each token reads from the tokens where its lines begin (mean of all heads)"
    ),
    "cross_attention": N_("cross-attention: reads from the source"),
    "feed_forward": N_("feed-forward: each token alone"),
    "masked": N_("masked: no token may attend there"),
    "logits": N_("vocabulary: only the last row predicts the next word"),
}
BACK = {
    "residual": N_("residual stream: a gradient goes straight back along it"),
    "attention": N_("attention: gradients go back to the tokens that were read"),
    "logits": N_("loss: the predicted probabilities, compared with the word that actually follows"),
}
DRAFTED = {"logits": N_("vocabulary: the last word and every draft predict a next word each")}
KEPT = N_(
    "KV cache: the key (k) and value (v) of every token are kept; only the last token is computed"
)
BAND = N_("gray: layers drawn as one; tap to open them")
STATE = N_("{mixer}: a state is handed on from token to token")


def legend(asked: Asked, seen: Scene) -> Iterator[tuple[str, str]]:
    """Each part that is in the picture, and what it means."""
    config = asked.run.config
    parts = {str(move.part) for move in seen.moves} | {"residual"}
    is_masked = any(move.kind is MoveKind.MASK for move in seen.moves)
    there = {"masked": is_masked, "logits": config.architecture is Architecture.GPT}
    state = {} if config.attends else {"attention": STATE}
    more = BACK if asked.is_back else DRAFTED if asked.n_drafted else {}
    for part, text in {**MEANS, **more, **state}.items():
        if there.get(part, part in parts):
            yield part, _(text).format(mixer=terms.option(config.token_mixer))
    if keeps_a_cache(asked.run) and not (asked.is_back or asked.n_drafted):
        yield "kept", _(KEPT)
    yield "band", _(BAND)


def zone_names() -> dict[str, str]:
    """Those of the parts of a layer that is folded."""
    return {
        "attention": _("attention"),
        "cross_attention": _("cross-attention"),
        "feed_forward": _("feed-forward"),
    }
