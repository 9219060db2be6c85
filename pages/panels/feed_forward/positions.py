"""Is each token processed alone? Tokens shuffled, and one token changed, beside attention."""

from collections.abc import Iterator

import pandas as pd

from blocks.inspection import permuted
from blocks.inspection.permuted import ReachFacts, ShuffleFacts
from blocks.model.faults import N_
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, Words, bars, chosen
from pages.figures.theme import token_label
from pages.page.declared import Panel
from pages.panels.feed_forward import shared
from pages.show.parts import Beside, Note, Say, Shown, Table, Text
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, fill, literal, sentences

shuffle_facts = shared.kept(permuted.shuffle_facts)
reach_facts = shared.kept(permuted.reach_facts)


def layer_and_token(run: Run, state: State) -> tuple[Run, int, int] | None:
    """What is looked at; None where there is no feed-forward layer."""
    if run.config.attention_only:
        return None
    at = shared.selection(run, state)
    return run, at.layer, at.token


def says_too_short(run: Run) -> str | None:
    is_alone = run.input.shape[1] == 1
    return _("A single token cannot be reordered. Type a longer text.") if is_alone else None


def says_shuffled(facts: ShuffleFacts) -> str:
    """What shuffling the tokens changes, and why."""
    text = _(
        "With the {n_tokens} tokens shuffled ({n_orders} orders tried), the feed-forward "
        "outputs differ from the original outputs, shuffled in the same way, by at most "
        "{difference} ({verdict})."
    )
    own = facts.feed_forward
    verdict = _("rounding error only") if own.difference else _("exactly 0")
    if not own.is_rounding:
        verdict = _("more than rounding error: with a capacity limit, order matters")
    difference = f"{own.difference:.1e}" if own.difference else "0"
    said = fill(text, facts, difference=difference, verdict=verdict)
    return sentences(said, *_of_attention(facts))


def _of_attention(facts: ShuffleFacts) -> Iterator[str]:
    text = _("Without a mask, the same shuffling changes attention by up to {difference:.2g}.")
    if facts.unmasked.is_rounding:
        text = _(
            "Attention without a mask changes by rounding error only ({difference:.1e}): it "
            "treats tokens as a set."
        )
    elif facts.position_kind in (PositionKind.ROPE, PositionKind.ALIBI):
        text = _(
            "Even without a mask, attention changes by up to {difference:.2g}, since {kind} "
            "gives it position information."
        )
    yield fill(text, facts.unmasked, kind=terms.option(facts.position_kind))
    if facts.masked:
        text = _("With this run's mask, attention changes by up to {difference:.2g}.")
        yield fill(text, facts.masked)


def says_reach(facts: ReachFacts) -> str:
    """Whose output one changed token moves."""
    text = _(
        "The input of {token:token} (position {changed:from_one}) was replaced by a random vector "
        "with the same RMS. Feed-forward outputs that changed: {wide} of {n}; attention outputs: "
        "{read} of {n}."
    )
    moved = {"wide": facts.n_moved("feed_forward"), "read": facts.n_moved("attention")}
    n, token = len(facts.labels), facts.labels[facts.changed]
    return sentences(fill(text, facts, token=token, n=n, **moved), *_why_elsewhere(facts))


def _why_elsewhere(facts: ReachFacts) -> Iterator[str]:
    if facts.changed != facts.pinned:
        text = _(
            "Only {token} itself may attend to the pinned {token}, so another token was changed."
        )
        yield text.format(token=literal(facts.labels[facts.pinned]))
    if facts.has_experts and facts.n_moved("feed_forward") > 1:
        text = _("With a capacity limit, changing one token can displace others.")
        rounding = _(
            "If the other tokens in an expert's batch change, its outputs may be rounded "
            "differently."
        )
        yield text if facts.has_capacity else rounding


def shuffled_table(facts: ShuffleFacts) -> pd.DataFrame:
    """What shuffling the tokens changes in each part."""
    names = {
        "feed_forward": _("feed-forward"),
        "unmasked": _("attention, no mask"),
        "masked": _("attention, this run's mask"),
    }
    same, changes = _("same outputs"), _("different outputs")
    return pd.DataFrame(
        {
            _("part"): [names[row.part] for row in facts.parts],
            _("after shuffling"): [same if row.is_rounding else changes for row in facts.parts],
            _("largest |difference|"): [f"{row.difference:.2g}" for row in facts.parts],
            _("RMS of the output"): [f"{row.size:.3g}" for row in facts.parts],
        }
    )


def reach(facts: ReachFacts) -> Chart:
    """Change of each token's output where the input of one token was changed."""
    tokens = [*map(token_label, facts.labels)]
    looks = {
        "feed_forward": Look(_("feed-forward"), palette.FEED_FORWARD),
        "attention": Look(_("attention"), palette.ATTENTION),
    }
    most = {part: max(1e-3, 1.08 * float(facts.moved[part].max())) for part in looks}
    return Chart(
        _("Outputs that change when {token} changes").format(token=tokens[facts.changed]),
        facts.moved.assign(n=range(1, len(tokens) + 1), token=tokens),
        Axis(tokens=facts.labels),
        tuple(Axis(looks[p].name, (0, most[p]), is_share=True, n_ticks=4) for p in looks),
        [bars(p, looks[p], plot=i, column=most[p]) for i, p in enumerate(looks)],
        hover="{n} · {token} · {name}: {y:.1%}",
        tall=290,
        legend=Legend.NONE,
        gap=0.1,
        grounds=[chosen(facts.pinned)],
        words=[Words("▼ " + _("changed"), facts.changed)],
    )


PANEL = Panel(
    "positions",
    N_("Is each token processed alone?"),
    choices=shared.layer_and_expert,
    fields=("n_layers", "d_ff", "position_kind"),
    of_attention=True,
    concepts=("feed_forward", "attention"),
    code=(permuted.shuffle_difference, permuted.reach_of),
    at=layer_and_token,
    absent=says_too_short,
    facts=reach_facts,
    shows=(
        Say(says_shuffled, shuffle_facts),
        Beside(
            Shown(reach, "reach"),
            (Table(shuffled_table, "shuffle_table", facts=shuffle_facts), Text(says_reach)),
        ),
        Note(
            N_(
                "Each part was rerun on its own inputs from this run, in evaluation mode; where "
                "a mask is used, it is not shuffled."
            )
        ),
    ),
)
