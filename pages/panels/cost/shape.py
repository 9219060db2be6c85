"""Which GPT a budget buys: size, tokens, shape, time, memory and the loss to expect."""

from functools import lru_cache

import streamlit as st

from blocks.cost import budget_shape, chosen_shape, loss_front
from blocks.cost.budget_shape import Budget, BudgetKind, ShapeFacts, Wish
from blocks.cost.chosen_shape import BASE, AttentionShape
from blocks.cost.hardware import HARDWARE
from blocks.cost.loss_front import FrontFacts, PeopleFacts
from blocks.cost.scaling_laws import LAWS
from blocks.model.faults import N_
from blocks.model.presets import PRESETS
from blocks.observe.run import Run
from pages.page.declared import Panel
from pages.panels.cost.shape_charts import front, people
from pages.panels.cost.shape_said import (
    KINDS,
    kinds_table,
    laws_table,
    says_asked,
    says_batch,
    says_exact,
    says_front,
    says_kinds,
    says_law,
    says_people,
    says_shape,
)
from pages.server.readers import as_text
from pages.show import phone
from pages.show.controls import choose, pick
from pages.show.parts import Beside, Controls, Details, Note, Say, Shown, Table
from pages.show.typed import slider_or_type, typed
from pages.stage import link
from pages.state.fields import CONFIG
from pages.state.values import State
from pages.words.language import _

BUDGETS = {
    BudgetKind.FLOPS: N_("FLOPs"),
    BudgetKind.TIME: N_("hours"),
    BudgetKind.MONEY: N_("money"),
}
PAGES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("pages/cost.py", N_("Cost of training"), {"panel": "training"}),
    ("pages/parameters.py", N_("Parameters"), {}),
    ("pages/compare.py", N_("Compare"), {}),
)

shape_facts = budget_shape.shape_for
kinds_facts = lru_cache(maxsize=64)(budget_shape.by_attention)
laws_facts = lru_cache(maxsize=64)(budget_shape.by_law)


@lru_cache(maxsize=64)
def front_facts(budget: Budget, wish: Wish) -> FrontFacts:
    return loss_front.loss_front(shape_facts(budget, wish))


@lru_cache(maxsize=64)
def people_facts(budget: Budget, wish: Wish) -> PeopleFacts:
    return loss_front.people_beside(shape_facts(budget, wish))


def amount_field(kind: BudgetKind) -> str:
    """The field that says how much of it there is."""
    return {
        BudgetKind.FLOPS: "budget_flops",
        BudgetKind.TIME: "budget_hours",
        BudgetKind.MONEY: "budget_money",
    }[kind]


def asked(_run: Run, state: State) -> tuple[Budget, Wish]:
    """What the reader has, and wants."""
    kind = BudgetKind(state.budget)
    budget = Budget(
        kind,
        state[amount_field(kind)],
        state.training_device,
        state.n_training_devices,
        state.utilisation,
        state.usable_memory,
        state.device_price,
    )
    wish = Wish(
        state.scaling_law,
        AttentionShape(state.shape_attention),
        state.shape_vocab,
        state.context_len,
        state.served_tokens,
    )
    return budget, wish


# Controls


def controls(budget: Budget, wish: Wish) -> None:
    """What there is, on which devices, and what is wanted; each number may be typed."""
    phone.folded(says_asked(budget, wish), lambda: _budget_controls(budget), key="budget_fold")


def _budget_controls(budget: Budget) -> None:
    left, right = st.columns(2)
    with left:
        kind, amount = st.columns(2, vertical_alignment="bottom")
        with kind:
            choose(
                "budget",
                _("Budget"),
                BudgetKind,
                label_of=lambda name: _(BUDGETS[BudgetKind(name)]),
            )
        with amount:
            typed(amount_field(budget.kind), _amount_label(budget.kind), budget.amount)
        if budget.kind is BudgetKind.MONEY:
            typed("device_price", _("Price of one device-hour, in the same currency"), budget.price)
        pick("scaling_law", _("Scaling law"), LAWS, label_of=lambda name: LAWS[name].title)
        choose(
            "shape_attention",
            _("Attention"),
            AttentionShape,
            label_of=lambda name: _(KINDS[AttentionShape(name)]).split(" ")[0],
        )
    with right:
        pick(
            "training_device",
            _("Device"),
            HARDWARE,
            label_of=lambda name: HARDWARE[name].title,
            place="_shape",
        )
        label = _("Utilization · share of peak achieved")
        slider_or_type("utilisation", label, budget.utilisation, step=0.01, place="_shape")
        count, vocab, served = st.columns(3, vertical_alignment="bottom")
        with count:
            typed("n_training_devices", _("Number of devices"), budget.n_devices, place="_shape")
        with vocab:
            typed("shape_vocab", _("Vocabulary"))
        with served:
            typed("served_tokens", _("Tokens processed after training (0: 10 · D)"))


def _amount_label(kind: BudgetKind) -> str:
    match kind:
        case BudgetKind.FLOPS:
            return _("Total FLOPs")
        case BudgetKind.TIME:
            return _("Hours on all devices")
        case BudgetKind.MONEY:
            return _("Total cost")


# The way on


def query_of(facts: ShapeFacts) -> dict[str, str]:
    """The link that sets this model, and its training."""
    usual, config = PRESETS[BASE].flat(), facts.config.flat()
    changed = {name: config[name] for name in CONFIG if config[name] != usual[name]}
    training = {"n_training_tokens": facts.n_tokens, "context_len": facts.wish.n}
    query = {name: as_text(found) for name, found in (changed | training).items()}
    return {"preset": BASE, **query}


def ways_on(budget: Budget, wish: Wish) -> None:
    """This very model on the pages that count, with its plan."""
    query = query_of(shape_facts(budget, wish))
    kept = ("lang", "training_device", "n_training_devices", "utilisation")
    query |= {name: text for name, text in link.as_query().items() if name in kept}
    with st.container(horizontal=True, gap="small", key="shape_opened"):
        st.markdown(_("Open this GPT on:"))
        for path, title, more in PAGES:
            st.page_link(path, label=_(title), query_params=query | more)


PANEL = Panel(
    "shape",
    N_("Which GPT for this budget?"),
    of_this_run=False,
    reads_input=False,
    concepts=("scaling_laws", "training_cost"),
    code=(budget_shape.shape_for, chosen_shape.chosen_shape, budget_shape.affordable_tokens),
    at=asked,
    facts=shape_facts,
    shows=(
        Controls(controls),
        Say(says_shape),
        Note(says_exact),
        Controls(ways_on),
        Beside(
            (Shown(front, "shape_front", facts=front_facts), Note(says_front, facts=front_facts)),
            (
                Shown(people, "shape_people", facts=people_facts),
                Note(says_people, facts=people_facts),
            ),
        ),
        Note(says_kinds, facts=kinds_facts),
        Table(kinds_table, "shape_kinds", facts=kinds_facts),
        Details(
            N_("How batch size and memory are set, and what other laws recommend"),
            Note(says_batch),
            Note(says_law),
            Table(laws_table, "shape_laws", facts=laws_facts),
        ),
    ),
)
