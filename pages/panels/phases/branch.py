"""What if it went on otherwise? A run and its branch on one clock."""

from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.phases import clock
from blocks.phases.clock import Change, Clock
from blocks.phases.setups import MODULAR
from blocks.training.tasks import TaskKind
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, line
from pages.figures.counting import from_one
from pages.page.declared import Panel
from pages.panels.phases import shared
from pages.show.choices import chooses
from pages.show.controls import choose, slide
from pages.show.parts import Note, Say, Shown
from pages.state.link_fields.phases import DECAYS, PERCENTS, BranchKind
from pages.state.values import State
from pages.words.language import _, sentences
from pages.words.numbers import fine_percent, percent

OFTEN = 0.9

KIND_NAMES = {
    BranchKind.NOTHING: N_("nothing (control)"),
    BranchKind.WEIGHT_DECAY: N_("weight decay"),
    BranchKind.LEARNED_PERCENT: N_("share of data"),
    BranchKind.HEAD: N_("a head removed"),
}


@dataclass(frozen=True, eq=False)
class BranchFacts:
    """A run and its branch; of a branch the looks after it leaves."""

    series: Clock
    change: Change
    trunk: pd.DataFrame
    branch: pd.DataFrame

    @property
    def ends(self) -> tuple[pd.Series, pd.Series]:
        """The last look at either."""
        return self.trunk.iloc[-1], self.branch.iloc[-1]


def at(_run: Run | None, state: State) -> tuple[Clock]:
    """The branch; its trunk is the same without the change."""
    trunk = shared.clock(state.branch_task, state)
    return (Clock(kind=trunk.kind, seed=trunk.seed, change=_change(trunk, state)),)


def _change(trunk: Clock, state: State) -> Change:
    step = min(trunk.setup.steps[:-1], key=lambda each: abs(each - state.branch_step))
    match _kind(trunk, state):
        case BranchKind.WEIGHT_DECAY:
            return Change(step=step, weight_decay=float(state.branch_decay))
        case BranchKind.LEARNED_PERCENT:
            return Change(step=step, learned_percent=int(state.branch_percent))
        case BranchKind.HEAD:
            return Change(step=step, head=_head(trunk, state))
        case _:
            return Change(step=step)


def _kind(trunk: Clock, state: State) -> BranchKind:
    """As chosen, where the task has it."""
    chosen = BranchKind(state.branch_kind)
    is_there = chosen is not BranchKind.LEARNED_PERCENT or trunk.kind in MODULAR
    return chosen if is_there else BranchKind.NOTHING


def _n_heads(trunk: Clock) -> int:
    config = trunk.setup.config
    return config.n_layers * config.n_heads


def _head(trunk: Clock, state: State) -> int:
    return min(int(state.branch_head), _n_heads(trunk) - 1)


def says_head(number: int, trunk: Clock) -> str:
    """Layer and head of a number."""
    layer, head = divmod(number, trunk.setup.config.n_heads)
    return f"{from_one(layer)}.{from_one(head)}"


@chooses(
    "branch_task", "branch_kind", "branch_step", "branch_decay", "branch_percent", "branch_head"
)
def choices(_run: Run | None, state: State) -> None:
    """The task, the step, and what is otherwise from there on."""
    choose("branch_task", _("Task"), (TaskKind.MODULAR_ADDITION, TaskKind.INDUCTION))
    trunk = shared.clock(state.branch_task, state)
    kinds = [each for each in BranchKind if _offers(each, trunk)]
    names = {str(each): _(name) for each, name in KIND_NAMES.items()}
    label = _("What changes on the branch")
    choose("branch_kind", label, kinds, label_of=names.__getitem__, shown=str(_kind(trunk, state)))
    slide("branch_step", _("From step"), trunk.setup.steps[:-1], _change(trunk, state).step)
    match _kind(trunk, state):
        case BranchKind.WEIGHT_DECAY:
            choose("branch_decay", _("Weight decay from that step on"), DECAYS)
        case BranchKind.LEARNED_PERCENT:
            label = _("Share of all pairs used for training")
            choose("branch_percent", label, PERCENTS, label_of=lambda each: f"{each}%")
        case BranchKind.HEAD:
            heads = range(_n_heads(trunk))
            label = _("Head that writes nothing from that step on (layer.head)")
            slide(
                "branch_head",
                label,
                heads,
                _head(trunk, state),
                label_of=lambda i: says_head(i, trunk),
            )


def _offers(kind: BranchKind, trunk: Clock) -> bool:
    return kind is not BranchKind.LEARNED_PERCENT or trunk.kind in MODULAR


@lru_cache(maxsize=32)
def branch_facts(series: Clock) -> BranchFacts:
    """Trunk and branch; the trunk up to the branch is that of the branch itself."""
    assert series.change is not None
    trunk, branch = shared.facts_of(_trunk(series), 0).table, pd.DataFrame(shared.found(series))
    later = branch[branch["step"] >= series.change.step]
    return BranchFacts(series, series.change, trunk, later)


def _trunk(series: Clock) -> Clock:
    return Clock(kind=series.kind, seed=series.seed)


def says_absent(series: Clock) -> str | None:
    """Where trunk or branch is not there yet."""
    if not shared.found(_trunk(series)):
        return shared.says_untrained(_trunk(series))
    if shared.found(series):
        return None
    return _(
        "This branch does not come with Blockscope. If you train it here, it repeats the run "
        "up to the branching step and then continues with the change, which takes about a "
        "minute on one core."
    )


def train(series: Clock) -> None:
    """The trunk first, where it is not there."""
    trunk = _trunk(series)
    shared.train(series if shared.found(trunk) else trunk, "branch")


def says_branch(facts: BranchFacts) -> str:
    """Where both came to."""
    finished = ""
    if facts.change.head is not None and facts.series.kind is TaskKind.INDUCTION:
        finished = _(
            "For what the heads do in the finished model, see *When does the induction head "
            "appear?*"
        )
    return sentences(_says_ends(facts), _says_seen(facts), _says_when(facts), finished)


def _says_seen(facts: BranchFacts) -> str:
    """How many of the questions the branch learns from, where it learns from more than the run."""
    task, n = facts.series.setup.task, facts.change.learned_percent
    if n is None or n <= task.learned_percent:
        return ""
    text = _(
        "The branch now learns from {share} of these questions, so a correct answer of the branch "
        "need not mean that it has found the rule."
    )
    return text.format(share=percent(clock.newly_learned(task, n)))


def _says_when(facts: BranchFacts) -> str:
    """When each answers 90 % of the questions correctly, where both do after the branch leaves."""
    tables = facts.trunk, facts.branch
    steps = [each.loc[each["accuracy"] >= OFTEN, "step"].min() for each in tables]
    is_changed = facts.change != Change(step=facts.change.step)
    if not (is_changed and all(each > facts.change.step for each in steps)):
        return ""
    text = _("The run first answers 90% of them correctly at step {a:,}, the branch at step {b:,}.")
    return text.format(a=int(steps[0]), b=int(steps[1]))


def _says_ends(facts: BranchFacts) -> str:
    run, branch = facts.ends
    text = _(
        "From step {step:,} on, {what}. In the end, the original run answers {run} of the "
        "questions held out at the start correctly (loss {run_loss:.3f} nats), and the branch "
        "{branch} (loss {branch_loss:.3f})."
    )
    return text.format(
        step=facts.change.step,
        what=_what(facts),
        run=fine_percent(run["accuracy"]),
        run_loss=run["held_out_loss"],
        branch=fine_percent(branch["accuracy"]),
        branch_loss=branch["held_out_loss"],
    )


def _what(facts: BranchFacts) -> str:
    change = facts.change
    if change.weight_decay is not None:
        return _("the branch has a weight decay of {n:g}").format(n=change.weight_decay)
    if change.learned_percent is not None:
        return _("the branch learns from {n}% of all pairs").format(n=change.learned_percent)
    if change.head is not None:
        text = _("head {head} of the branch writes nothing")
        return text.format(head=says_head(change.head, facts.series))
    return _("nothing is changed, so both must be the same")


def curves(facts: BranchFacts) -> Chart:
    """Accuracy and loss on what was held out at the start, and weight norm, on one axis."""
    names = ("accuracy", "held_out_loss", "weight_norm")
    trunk, branch = (
        table.assign(held_out_loss=table["held_out_loss"].clip(lower=shared.LOWEST))
        for table in (facts.trunk, facts.branch)
    )
    losses = pd.concat([trunk, branch])["held_out_loss"]
    run, other = Look(_("the run"), palette.BEFORE), Look(_("the branch"), palette.PINNED)
    return Chart(
        _("The run and its branch on one time axis"),
        trunk,
        Axis(_("step"), (0, int(trunk["step"].max())), of="step"),
        (
            Axis(_("correct, held out at the start"), (0, 1.02), is_share=True, is_heading=True),
            Axis(
                _("held-out loss, nats"),
                (float(losses.min()), float(losses.max())),
                is_log=True,
                is_heading=True,
            ),
            Axis(_("weight norm"), from_0=True, is_heading=True, n_ticks=3),
        ),
        [
            line(name, look, rows=rows, plot=plot, in_legend=plot == 0)
            for plot, name in enumerate(names)
            for look, rows in ((run, trunk), (other, branch))
        ],
        hover=_("step {n}: {value}").format(n="{x}", value="{y:.3g}"),
        tall=460,
        legend=Legend.FOOT,
        levels=[Level(x=facts.change.step, plot=i) for i in range(3)],
    )


PANEL = Panel(
    "branch",
    N_("What if it continued differently?"),
    choices=choices,
    reads_input=False,
    of_this_run=False,
    at=at,
    facts=branch_facts,
    absent=says_absent,
    mend=train,
    concepts=("grokking",),
    code=(clock.trained, clock.head_mask),
    shows=(
        Say(says_branch),
        Shown(curves, "branch_curves"),
        Note(
            N_(
                "A branch repeats the run up to its step, with the same batches and the same "
                "optimizer state; only the change distinguishes the two. Both are measured on "
                "the questions that were held out from the run at the start."
            )
        ),
    ),
)
