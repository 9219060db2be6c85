"""What is said of each move of a pass: a title, a short name in the picture, and one sentence."""

from dataclasses import dataclass

from blocks.inspection.scene_facts import MoveFacts
from blocks.inspection.scene_moves import CROSS, Move, MoveKind
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.numbers import readable
from pages.words import terms
from pages.words.language import _, enumeration, sentences
from pages.words.numbers import percent

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
        "Each head ({of} in all) computes a query of {n} numbers for every token, which says "
        "what the token looks for."
    ),
    "k": N_(
        "Each key head ({of} in all) computes a key of {n} numbers for every token, by which "
        "the token can be found."
    ),
    "v": N_(
        "Each value head ({of} in all) computes a value of {n} numbers for every token, which"
        " is what other tokens get when they attend to it."
    ),
}


@dataclass(frozen=True, eq=False)
class Telling:
    """What a sentence is of: the numbers, and how tokens and head are called.

    `token`: the one that is looked at; `key`: the one that the facts name; `is_rest`: whether
    attention only rests there; `keys`: all that the facts name.
    """

    run: Run
    facts: MoveFacts
    token: str
    key: str
    head: int
    is_rest: bool = False
    keys: tuple[str, ...] = ()


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
    facts, config = told.facts, told.run.config
    said = _(_template(told)).format(
        token=told.token,
        key=told.key,
        keys=_quoted(told.keys),
        head=from_one(told.head),
        n=f"{facts.n:,}",
        of=f"{facts.of:,}",
        d_model=f"{config.d_model:,}",
        before=readable(facts.before),
        after=readable(facts.after),
        number=readable(facts.number).replace("-", "−"),
        share=percent(facts.number),
        expert=from_one(facts.key),
        mixer=terms.option(config.token_mixer),
    )
    is_rest = told.is_rest and facts.number and facts.move.kind is MoveKind.ATTEND
    return sentences(said, _(RESTS)) if is_rest else said


def _template(told: Telling) -> str:
    facts, config = told.facts, told.run.config
    match facts.move.kind:
        case MoveKind.PROJECT:
            return PROJECTED[facts.move.stage.removeprefix(CROSS)]
        case MoveKind.MASK if not facts.n:
            return NOTHING_MASKED
        case MoveKind.ATTEND if not facts.number:
            return READS_ITSELF
        case MoveKind.ADD if not config.norm.residual:
            return NO_RESIDUAL
        case MoveKind.JOIN if not config.attends_in(facts.move.layer or 0):
            return OF_STATE
        case _ if facts.move.stage in OF_STAGES:
            return OF_STAGES[facts.move.stage]
        case MoveKind.MIX if 0 < len(told.keys) <= MOST_NAMED:
            return MIXED_OF
        case kind:
            return TEMPLATES[kind]


def _quoted(names: tuple[str, ...]) -> str:
    """“The”, “of” and “is”."""
    quoted = [_("“{kind}”").format(kind=name) for name in names]
    if len(quoted) < 2:
        return "".join(quoted)
    return _("{first} and {last}").format(first=enumeration(quoted[:-1]), last=quoted[-1])


OF_STATE = N_(
    "From the state, {d_model} numbers are computed for each token and written to the "
    "residual stream."
)
OF_STAGES = {
    "expert_hidden": N_(
        "Only the chosen experts compute: {n} of their {of} hidden features respond to “{token}”."
    ),
    "kv_latent": N_(
        "Keys and values of all heads are computed from {n} numbers per token, so only these have "
        "to be cached."
    ),
    "stays": N_("α sets how much of its memory each head ({n} in all) keeps at each token."),
    "writes": N_("β sets how much of each token's value is written into the memory."),
    "state_size": N_(
        "Each head ({n} in all) keeps one matrix as its memory of all that was read. The "
        "picture shows its size, √Σ S², after each token."
    ),
    "read": N_("The queries read from this memory what each token needs."),
}
RESTS = N_(
    "The first token is often only a resting place: heads that find nothing to read here put "
    "their weight on it (an attention sink)."
)
READS_ITSELF = N_("Tokens read from each other to learn their context; “{token}” sees only itself.")
NOTHING_MASKED = N_("The mask rules out no pair here: every token may see every other one.")
NO_RESIDUAL = N_(
    "This model has no residual connection, so what was written replaces the numbers that the "
    "tokens had."
)
SIZE = N_("The numbers of “{token}” now have an RMS (root mean square) of {after}.")
MIXED_OF = N_(
    "Each token collects the values in these proportions: in head {head}, {share} of what "
    "“{token}” collects comes from {keys}."
)
MOST_NAMED = 4  # tokens in one sentence
TEMPLATES = {
    MoveKind.EMBED: N_(
        "Each token becomes a row of {d_model} numbers, with which the model can calculate."
    ),
    MoveKind.POSITION: N_(
        "Numbers for each position are added, so that the model knows where each token is."
    ),
    MoveKind.NORM: N_(
        "The norm brings the numbers of every token to a similar size, so that none drowns "
        "out the others."
    ),
    MoveKind.SCORES: N_(
        "Each query is compared with each key: in head {head}, the score of “{token}” and “{key}” "
        "is {number}."
    ),
    MoveKind.MASK: N_(
        "The mask rules out {n} of {of} pairs: these scores become −∞, and nothing is read there."
    ),
    MoveKind.SOFTMAX: N_(
        "The scores of each row become weights that add up to 100%: in head {head}, “{token}” "
        "gives “{key}” the most, {share}."
    ),
    MoveKind.MIX: N_(
        "Each token collects the values in these proportions: in head {head}, 90% of what "
        "“{token}” collects comes from {n} of the {of} tokens that it may read."
    ),
    MoveKind.JOIN: N_(
        "The results of all heads ({of}) are combined into {d_model} numbers for each token."
    ),
    MoveKind.ATTEND: N_(
        "Tokens read from each other to learn their context: of the other tokens, “{token}” "
        "reads most from “{key}” ({share})."
    ),
    MoveKind.CARRY: N_(
        "{mixer} hands a memory on from each token to the next; no token reads from another "
        "directly."
    ),
    MoveKind.ROUTE: N_(
        "The router finds the experts that suit each token: “{token}” prefers expert {expert} "
        "({share})."
    ),
    MoveKind.SEND: N_(
        "Each token is sent to only a few experts, which saves work. “{token}” goes to {n} of"
        " {of}, above all to expert {expert} ({share})."
    ),
    MoveKind.COMPRESS: N_(
        "Latent attention squeezes the {d_model} numbers of each token into {n}, which all heads "
        "share."
    ),
    MoveKind.STATE: N_(
        "The memory has {n} numbers: at each token it keeps a part of what it was and takes in "
        "something new."
    ),
    MoveKind.WIDEN: N_(
        "Now each token is worked on alone: of {of} hidden features, {n} respond to “{token}”."
    ),
    MoveKind.NARROW: N_(
        "From the features that respond, {d_model} numbers are computed for each token; they "
        "are what the model itself contributes."
    ),
    MoveKind.FEED: N_("Now each token is worked on alone, with the same weights for all of them."),
    MoveKind.ADD: N_(
        "The result is added to the numbers that each token already has and does not replace them."
    ),
}


def says_more(told: Telling) -> str:
    """How large the numbers are now, and what else happens in this model; empty without either."""
    config, stage, after = told.run.config, told.facts.move.stage, told.facts.after
    said = [_(SIZE).format(token=told.token, after=readable(after))] if after else []
    if stage == "q" and config.turns(told.facts.move.layer or 0):
        said.append(_("RoPE has rotated q and k by their positions."))
    if stage == "head_out" and config.gate_width:
        said.append(_("A gate then decides how much of them is passed on."))
    return sentences(*said)


def says_guess(run: Run, layer: int, guess: str, share: str, token: str) -> str:
    """What the model would say after a layer."""
    text = _("After layer {layer} the best guess for the next word is “{guess}” ({share}).")
    if run.config.architecture is not Architecture.GPT:
        text = _("After layer {layer} the model would put “{guess}” at “{token}” ({share}).")
    return text.format(layer=from_one(layer), guess=guess, share=share, token=token)


def says_logits(after: str, first: str, logit: str, vocab_size: int) -> str:
    """How the last stream is compared with the vocabulary."""
    return _(
        "The last row, that of “{token}”, is compared with all {n} tokens of the vocabulary: "
        "“{first}” gets the highest score (logit), {logit}."
    ).format(token=after, first=first, logit=logit, n=f"{vocab_size:,}")


def says_probabilities(first: str, second: str, shares: tuple[str, str], is_random: bool) -> str:
    """What the softmax makes of the logits."""
    text = _("The scores become probabilities: “{first}” {one}, then “{second}” {two}.")
    said = text.format(first=first, second=second, one=shares[0], two=shares[1])
    if not is_random:
        return said
    return sentences(said, _("The weights are random, so these probabilities mean nothing yet."))


def says_next(first: str) -> str:
    text = _("“{first}” joins the sentence, and the next pass reads one more token.")
    return text.format(first=first)
