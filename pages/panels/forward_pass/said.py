"""What is said of each move of a pass: a title, a short name in the picture, and one sentence."""

from dataclasses import dataclass

from blocks.inspection.scene_facts import MoveFacts
from blocks.inspection.scene_moves import CROSS, Move, MoveKind
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.numbers import readable
from pages.ui import terms
from pages.ui.language import _, sentences
from pages.ui.numbers import percent

NAMES = {
    "embedding": N_("embedding"),
    "q": N_("queries"),
    "k": N_("keys"),
    "v": N_("values"),
    "scores": N_("scores"),
    "mask": N_("mask"),
    "pattern": N_("attention weights"),
    "head_out": N_("weighted values"),
    "hidden": N_("hidden features"),
    "router_probs": N_("router"),
    "experts": N_("chosen experts"),
    "expert_hidden": N_("hidden features of the experts"),
    "q_latent": N_("latent (q)"),
    "kv_latent": N_("latent (k, v)"),
    "state": N_("state"),
    "stays": "α",
    "writes": "β",
    "state_size": N_("size of the state"),
    "read": N_("read from the state"),
    "final_norm": N_("final norm"),
    "logits": N_("logits"),
    "probs": N_("probabilities"),
    "cross_attention_norm": N_("norm before cross-attention"),
    "cross_attention_out": N_("cross-attention"),
    "cross_attention_sum": N_("cross-attention + residual"),
    "resid_cross": N_("+ cross-attention"),
}
PROJECTED = {
    "q": N_(
        "For every token, each of the {of} heads computes a query of {n} numbers: what the "
        "token looks for."
    ),
    "k": N_(
        "For every token, each of the {of} key heads computes a key of {n} numbers: what the "
        "token can be found by."
    ),
    "v": N_(
        "For every token, each of the {of} value heads computes a value of {n} numbers: the "
        "content that the token passes on."
    ),
}


@dataclass(frozen=True, eq=False)
class Telling:
    """What a sentence is of: the numbers, and how tokens and head are called.

    `token`: the one that is looked at; `key`: the one that the facts name.
    """

    run: Run
    facts: MoveFacts
    token: str
    key: str
    head: int
    n_tokens: int


def title(run: Run, move: Move) -> str:
    """What a move is called, with its layer."""
    name = short_name(run, move)
    if move.layer is None:
        return name
    text = _("layer {layer} · {name}")
    if move.stack == "encoder":
        text = _("encoder layer {layer} · {name}")
    if move.stack == "decoder":
        text = _("decoder layer {layer} · {name}")
    return text.format(layer=from_one(move.layer), name=name)


def short_name(run: Run, move: Move) -> str:
    """What it is called where its layer is known."""
    stage = move.stage if move.stage in NAMES else move.stage.removeprefix(CROSS)
    if stage in NAMES:
        return _(NAMES[stage])
    return terms.stage(move.stage, run.config, move.layer or 0)


def says_move(told: Telling) -> str:
    """One sentence with the numbers of this run."""
    beside = _beside(told)
    return sentences(_filled(told), *beside) if beside else _filled(told)


def _beside(told: Telling) -> list[str]:
    """What else happens in this model, and what of it is not drawn."""
    config, stage = told.run.config, told.facts.move.stage
    said = []
    if stage == "q" and config.turns(told.facts.move.layer or 0):
        said.append(_("RoPE has rotated q and k by their positions."))
    if stage == "head_out" and config.gate_width:
        said.append(_("A gate has then decided how much of them is passed on."))
    return said


def _filled(told: Telling) -> str:
    facts, config = told.facts, told.run.config
    text = _(_template(told))
    return text.format(
        token=told.token,
        key=told.key,
        head=from_one(told.head),
        n=f"{facts.n:,}",
        of=f"{facts.of:,}",
        d_model=f"{config.d_model:,}",
        tokens=told.n_tokens,
        before=readable(facts.before),
        after=readable(facts.after),
        number=readable(facts.number).replace("-", "−"),
        share=percent(facts.number),
        expert=from_one(facts.key),
        mixer=terms.option(config.token_mixer),
    )


def _template(told: Telling) -> str:
    facts, config = told.facts, told.run.config
    match facts.move.kind:
        case MoveKind.PROJECT:
            return PROJECTED[facts.move.stage.removeprefix(CROSS)]
        case MoveKind.MASK if not facts.n:
            return NOTHING_MASKED
        case MoveKind.ADD if not config.norm.residual:
            return NO_RESIDUAL
        case MoveKind.JOIN if not config.attends_in(facts.move.layer or 0):
            return OF_STATE
        case _ if facts.move.stage in OF_STAGES:
            return OF_STAGES[facts.move.stage]
        case kind:
            return TEMPLATES[kind]


OF_STATE = N_(
    "What the state holds is projected to {d_model} numbers for each token and written to the"
    " residual stream: RMS {after} at “{token}”."
)
OF_STAGES = {
    "expert_hidden": N_(
        "Only the chosen experts compute. Their hidden features stand side by side, the first "
        "choice first; {n} of {of} are above 0 at “{token}”."
    ),
    "kv_latent": N_(
        "Keys and values of all heads are computed from {n} numbers per token; only these are"
        " cached (RMS {after} at “{token}”)."
    ),
    "stays": N_(
        "α tells how much of its matrix each of the {n} heads keeps at each token, from 0 to "
        "1 (RMS {after} at “{token}”)."
    ),
    "writes": N_(
        "β tells how much of each token's value is written under its key, from 0 to 1 (RMS "
        "{after} at “{token}”)."
    ),
    "state_size": N_(
        "Each of the {n} heads keeps one matrix for everything read so far. The drawing shows"
        " its size, √Σ S², after each token (RMS {after} after “{token}”)."
    ),
    "read": N_(
        "The queries read from the matrices. This is the result after norm and gate: RMS "
        "{after} at “{token}”."
    ),
}
NOTHING_MASKED = N_("The mask rules out no pair here: every token may see every other one.")
NO_RESIDUAL = N_(
    "This model has no residual connection, so what was written replaces the stream (RMS "
    "{after} at “{token}”)."
)
TEMPLATES = {
    MoveKind.EMBED: N_("Each of the {tokens} tokens enters as {d_model} numbers of its own."),
    MoveKind.POSITION: N_(
        "A vector for each position is added, so that word order can matter: at “{token}” the RMS "
        "goes from {before} to {after}."
    ),
    MoveKind.NORM: N_(
        "The norm brings every token to a similar size: the numbers of “{token}” had an RMS (root "
        "mean square) of {before} and now have {after}."
    ),
    MoveKind.SCORES: N_(
        "Each query is multiplied by each key, and the scaled product is the score. In head "
        "{head}, the score of “{token}” and “{key}” is {number}."
    ),
    MoveKind.MASK: N_("The mask rules out {n} of {of} pairs: these scores become −∞."),
    MoveKind.SOFTMAX: N_(
        "The softmax turns each row of scores into weights that sum to 1. In head {head}, "
        "“{token}” gives most weight to “{key}”: {share}."
    ),
    MoveKind.MIX: N_(
        "Each token mixes the values in these proportions. In head {head}, {n} of {of} tokens"
        " receive 90% of the attention that “{token}” pays."
    ),
    MoveKind.JOIN: N_(
        "The {of} heads are joined and projected to {d_model} numbers for each token. This is what "
        "attention writes: RMS {after} at “{token}”."
    ),
    MoveKind.ATTEND: N_(
        "Tokens read from each other. Averaged over the heads of this layer, “{token}” reads most "
        "from “{key}”: {share}."
    ),
    MoveKind.CARRY: N_(
        "{mixer} hands a state on from each token to the next; no token reads from another "
        "directly. What is written has an RMS of {after} at “{token}”."
    ),
    MoveKind.ROUTE: N_(
        "The router scores how well each of {of} experts suits each token: “{token}” prefers "
        "expert {expert} ({share})."
    ),
    MoveKind.SEND: N_(
        "Each token is sent to only a few experts: “{token}” to {n} of {of}, and the output "
        "of expert {expert} counts most ({share})."
    ),
    MoveKind.COMPRESS: N_(
        "Latent attention reduces the {d_model} numbers of each token to {n} (RMS {after} at "
        "“{token}”). All heads share them."
    ),
    MoveKind.STATE: N_(
        "The state has {n} numbers. At each token it keeps a part of what it was and takes in "
        "something new: its RMS after “{token}” is {after}."
    ),
    MoveKind.WIDEN: N_(
        "Now each token is processed alone: its {d_model} numbers become {of} hidden "
        "features, of which {n} are above 0 at “{token}”."
    ),
    MoveKind.NARROW: N_(
        "These are projected back to {d_model} numbers, the output of the feed-forward layer,"
        " with an RMS of {after} at “{token}”."
    ),
    MoveKind.FEED: N_(
        "Each token passes through the feed-forward layer alone, which writes an RMS of {after} at "
        "“{token}”."
    ),
    MoveKind.ADD: N_(
        "What was written is added to the residual stream: at “{token}” its RMS goes from {before} "
        "to {after}."
    ),
}


def says_logits(after: str, first: str, logit: str, vocab_size: int) -> str:
    """How the last stream is compared with the vocabulary."""
    text = _(
        "The final vector of “{token}” is compared with each of the {n} tokens of the "
        "vocabulary. “{first}” gets the largest logit: {logit}."
    )
    return text.format(token=after, first=first, logit=logit, n=f"{vocab_size:,}")


def says_probabilities(first: str, second: str, shares: tuple[str, str], is_random: bool) -> str:
    """What the softmax makes of the logits."""
    text = _("The softmax turns logits into probabilities: “{first}” {one}, then “{second}” {two}.")
    said = text.format(first=first, second=second, one=shares[0], two=shares[1])
    if not is_random:
        return said
    return sentences(said, _("The weights are random, so these probabilities mean nothing yet."))


def says_next(first: str) -> str:
    """The last move."""
    text = _("“{first}” joins the sentence, and the next pass reads one more token.")
    return text.format(first=first)
