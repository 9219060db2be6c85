"""A course of sixteen weeks: for each its lessons, panels to show, and homework."""

from typing import NamedTuple

import streamlit as st

from blocks.model.faults import N_
from pages.show.fold import fold
from pages.stage import link, progress
from pages.words.language import _


class Shown(NamedTuple):
    """A panel: its title, its page, its name, and what is set for it in its link."""

    title: str
    page: str
    panel: str
    settings: tuple[tuple[str, str], ...] = ()


class Week(NamedTuple):
    """What a week is about, lessons, panels, and an assignment where there is one."""

    topic: str
    lessons: tuple[str, ...]
    panels: tuple[Shown, ...]
    homework: str = ""


WEEKS = (
    Week(
        N_("Text and tokens"),
        ("tokens",),
        (
            Shown(N_("What does it read?"), "gpt", "tokens"),
            Shown(N_("What comes next?"), "gpt", "next"),
        ),
        "code-length",
    ),
    Week(
        N_("Attention, step by step"),
        ("attention-by-hand",),
        (
            Shown(N_("What does a head do?"), "attention", "steps"),
            Shown(N_("Who reads whom?"), "attention", "pattern"),
        ),
        "entropy",
    ),
    Week(
        N_("Scores and softmax"),
        ("scaling",),
        (
            Shown(N_("How do scores grow with d?"), "attention", "random-scores"),
            Shown(N_("How should each score change?"), "attention", "score-gradient"),
        ),
        "scaling",
    ),
    Week(
        N_("Many heads"),
        ("heads",),
        (
            Shown(N_("All heads"), "attention", "heads"),
            Shown(N_("Sharing keys and values"), "attention", "kv-heads"),
        ),
        "kv-cache",
    ),
    Week(
        N_("Masks"),
        ("leaking-mask",),
        (
            Shown(N_("What does a mask do?"), "masks", "steps"),
            Shown(N_("What if it could peek?"), "masks", "peeking"),
        ),
        "window",
    ),
    Week(
        N_("Word order"),
        ("order",),
        (
            Shown(N_("How is word order encoded?"), "positions", "kinds"),
            Shown(N_("Do common claims hold?"), "positions", "claims"),
            Shown(N_("Which encoding extrapolates?"), "positions", "trained-lengths"),
        ),
    ),
    Week(
        N_("Residual stream and norms"),
        ("residual", "pre-or-post"),
        (
            Shown(N_("What flows through it?"), "block", "flow"),
            Shown(N_("Why pre-norm?"), "normalization", "theory"),
        ),
        "warm-up",
    ),
    Week(
        N_("The feed-forward network"),
        ("feed-forward",),
        (
            Shown(N_("What is a gate?"), "feed_forward", "gate"),
            Shown(N_("Which units never fire?"), "feed_forward", "dead-units"),
        ),
        "parameters",
    ),
    Week(
        N_("A whole GPT"),
        ("next-word",),
        (
            Shown(N_("How does a sentence become the next word?"), "forward_pass", "watch"),
            Shown(N_("How does it write?"), "gpt", "writing"),
        ),
        "ablation",
    ),
    Week(
        N_("Encoders and translation"),
        ("translation",),
        (
            Shown(N_("What does it predict?"), "encoder", "prediction"),
            Shown(N_("How is the target generated?"), "seq2seq", "decoding"),
            Shown(N_("Which architecture?"), "seq2seq", "architectures"),
        ),
    ),
    Week(
        N_("Training"),
        ("grokking",),
        (
            Shown(N_("What it learns"), "training", "task"),
            Shown(N_("How it learns"), "training", "recipe"),
            Shown(N_("From a bigram to a GPT"), "training", "staircase"),
            Shown(N_("Which norm placement trains best?"), "normalization", "race"),
            Shown(N_("When did it learn it?"), "phases", "grokking"),
        ),
    ),
    Week(
        N_("What heads and layers are for"),
        ("induction", "induction-over-time", "superposition", "believe", "circuit"),
        (
            Shown(
                N_("What is each head for?"), "attention", "head-probe", (("preset", "induction"),)
            ),
            Shown(N_("Logit lens"), "gpt", "logit-lens"),
            Shown(N_("Why this answer and not that?"), "gpt", "two-answers"),
            Shown(N_("Can a dictionary recover the features?"), "phases", "dictionary"),
        ),
        "circuit",
    ),
    Week(
        N_("Parameters, FLOPs and scaling laws"),
        (),
        (
            Shown(N_("Where are the parameters?"), "parameters", "breakdown"),
            Shown(N_("How many FLOPs?"), "cost", "flops"),
            Shown(N_("Cost of training"), "cost", "training"),
            Shown(N_("Which model size is best for a given budget?"), "scaling", "valleys"),
            Shown(
                N_("What else could the compute buy?"), "scaling", "trades", (("trade", "batch"),)
            ),
            Shown(N_("Does a learning rate carry over?"), "scaling", "transfer"),
        ),
        "flops",
    ),
    Week(
        N_("Long texts and the KV cache"),
        (),
        (
            Shown(N_("KV cache"), "gpt", "kv-cache"),
            Shown(N_("When does n² dominate?"), "cost", "crossover"),
            Shown(N_("Beyond the trained length?"), "positions", "beyond"),
        ),
        "length",
    ),
    Week(
        N_("Smaller models"),
        (),
        (
            Shown(N_("What is lost in rounding?"), "efficiency", "rounding"),
            Shown(N_("Which weights can go?"), "efficiency", "pruning"),
            Shown(N_("What does a teacher add?"), "efficiency", "distillation"),
        ),
    ),
    Week(
        N_("Mixtures of experts and other architectures"),
        (),
        (
            Shown(N_("Which expert?"), "feed_forward", "experts"),
            Shown(N_("Other attention variants"), "attention", "kinds"),
            Shown(N_("How large are other models?"), "parameters", "published"),
        ),
    ),
)


def offer() -> None:
    """The whole map, once it is opened."""
    label = _("A course of sixteen weeks, with homework")
    with (own := fold(label, key="course_map", icon=":material/calendar_month:")):
        if own.open:
            for i, week in enumerate(WEEKS):
                _draw_week(i, week)


def _draw_week(i: int, week: Week) -> None:
    with st.container(border=True, gap="xxsmall", key=f"week_{i}"):
        st.markdown(f"**{i + 1} · {_(week.topic)}**")
        with st.container(horizontal=True, gap="small"):
            for name in week.lessons:
                _lesson(name, ":material/school:")
            for shown in week.panels:
                lang = link.as_query().get("lang")
                query = {"panel": shown.panel, **dict(shown.settings)}
                query |= {"lang": lang} if lang else {}
                path = progress.page_file(shown.page)
                st.page_link(path, label=_(shown.title), query_params=query)
            if week.homework:
                _lesson(f"homework-{week.homework}", ":material/assignment:")


def _lesson(name: str, icon: str) -> None:
    if found := progress.lesson(name):
        path, query = progress.way_in(found)
        st.page_link(path, label=found.title, icon=icon, query_params=query, help=found.summary)
