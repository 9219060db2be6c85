"""From GPT-2 to a model of today: what each idea costs, saves, and does to the loss."""

from collections.abc import Sequence
from typing import cast

import pandas as pd

from blocks.inspection import ideas
from blocks.inspection.ideas import BITS, N_KEYS, Idea, IdeasFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.training.ideas import ideas as steps
from pages.figures import palette
from pages.figures.chart import ROW, Axis, Chart, Look, band, dots, line
from pages.page.declared import Panel
from pages.panels.parameters import shared
from pages.show import words
from pages.show.parts import Beside, Item, Note, Say, Shown, Table
from pages.stage import present
from pages.words.language import _, enumeration, fill, sentences

NAMES = {
    "gpt2": "GPT-2",
    "rope": "RoPE",
    "rmsnorm": "RMSNorm",
    "no_bias": N_("no biases"),
    "swiglu": "SwiGLU",
    "gqa": "GQA",
    "qk_norm": "QK norm",
    "experts": N_("experts"),
    "mla": "MLA",
    "hybrid": N_("hybrid"),
    "mtp": "MTP",
}
MEASURES = {
    "parameters": (N_("parameters"), palette.FEED_FORWARD, "circle"),
    "active": (N_("active parameters"), palette.EMBEDDING, "square"),
    "kv_bytes": (N_("KV cache per token"), palette.ATTENTION, "diamond"),
    "flops": (N_("FLOPs per token"), palette.NORM, "triangle-up"),
}


def ideas_facts() -> IdeasFacts:
    """Every step, as counted and as trained; only where all runs ship."""
    return cast(IdeasFacts, ideas.ideas_facts())


def says_ideas(facts: IdeasFacts) -> str:
    """What changed most, and which gains are more than seeds differ."""
    said = _(
        "From GPT-2 small to the last step, parameters change by a factor of "
        "{parameters:.1f}, but active parameters per token by a factor of {active:.2f}; the "
        "KV cache changes by a factor of {kv_bytes:.2f}, FLOPs per token by {flops:.2f}."
    ).format(**facts.growth)
    text = _("In training runs this small, losses differ by up to {spread:.3f} nats between seeds.")
    parts = (said, text.format(spread=facts.spread), _gains(facts), _losses(facts))
    return sentences(*parts)


def _gains(facts: IdeasFacts) -> str:
    if not facts.clear:
        return _("No single idea lowers the loss by more than that.")
    listed = enumeration(f"{_(NAMES[name])} (−{facts.gains[name]:.3f})" for name in facts.clear)
    return _("Single ideas that lower the loss by more than that: {ideas}.").format(ideas=listed)


def _losses(facts: IdeasFacts) -> str:
    if not facts.worse:
        return ""
    listed = enumeration(
        f"{_(NAMES[name])} (+{abs(facts.gains[name]):.3f})" for name in facts.worse
    )
    return _(
        "Ideas that raise the loss by more than that, at this model size and training "
        "length: {ideas}."
    ).format(ideas=listed)


def says_how(facts: IdeasFacts) -> str:
    """What was counted, and what was trained."""
    text = _(
        "At each step, the counts are exact and refer to GPT-2 small with every idea up to "
        "and including that step; the cache holds {bits}-bit numbers, and FLOPs are those of "
        "one token after {n_keys:,} others. Losses come from models with {small.n_layers} "
        "layers and d_model {small.d_model}, trained on English stories in sequences of "
        "{seq_len} characters for {recipe.n_steps} updates of {recipe.batch_size} sequences "
        "each (seeds {seeds}); runs this small and short say little about large models."
    )
    return fill(text, facts, bits=BITS, n_keys=N_KEYS, seeds=enumeration(map(str, facts.seeds)))


def table(facts: IdeasFacts) -> pd.DataFrame:
    """What each step has, with the change from the step before."""
    pairs = list(zip((None, *facts.ideas), facts.ideas, strict=False))
    return pd.DataFrame(
        {
            _("idea"): [_(NAMES[idea.name]) for _before, idea in pairs],
            _("parameters"): [_changed(before, idea, "parameters") for before, idea in pairs],
            _("active per token"): [_changed(before, idea, "active") for before, idea in pairs],
            _("cache per token (bytes)"): [_changed(b, idea, "kv_bytes") for b, idea in pairs],
            _("FLOPs per token"): [_changed(before, idea, "flops") for before, idea in pairs],
            _("held-out loss"): [f"{idea.loss:.3f}" for _before, idea in pairs],
        }
    )


def _changed(before: Idea | None, idea: Idea, name: str) -> str:
    count = getattr(idea, name)
    delta = 0 if before is None else count - getattr(before, name)
    return f"{count:,} ({shared.signed(delta)})" if delta else f"{count:,}"


def says_no_runs(_run: Run) -> str | None:
    return words.without_runs() if ideas.ideas_facts() is None else None


def costs(facts: IdeasFacts) -> Chart:
    """Each count as a multiple of GPT-2's, on a logarithmic axis."""
    names, first = [_(NAMES[idea.name]) for idea in facts.ideas], facts.ideas[0]
    rows = {
        measure: [
            {"idea": name, "n": (n := getattr(idea, measure)), "ratio": n / getattr(first, measure)}
            for name, idea in zip(names, facts.ideas, strict=True)
        ]
        for measure in MEASURES
    }
    ratios = [row["ratio"] for each in rows.values() for row in each]
    title = _("ratio to GPT-2 small (logarithmic)")
    return Chart(
        _("Size and cost at each step, relative to GPT-2 small"),
        (),
        Axis(tokens=names),
        Axis(title, (min(ratios), max(ratios)), is_log=True),
        [
            line("ratio", Look(_(name), color, symbol, size=8, width=2), rows=rows[measure])
            for measure, (name, color, symbol) in MEASURES.items()
        ],
        hover="{idea} · {n:,} · × {ratio:.3g}",
        tall=240,
    )


def losses(facts: IdeasFacts) -> Chart:
    """The mean over the seeds, a band from the least to the most, and each seed."""
    names = [_(NAMES[idea.name]) for idea in facts.ideas]
    low, high = ([end(idea.losses) for idea in facts.ideas] for end in (min, max))
    room = 0.1 * (max(high) - min(low))
    seeds = [
        {ROW: i, "idea": names[i], "loss": loss}
        for i, idea in enumerate(facts.ideas)
        for loss in idea.losses
    ]
    look = Look(color=palette.HELD_OUT, size=6, width=2)
    return Chart(
        _("Held-out loss: mean and range over the seeds"),
        {"idea": names, "loss": [idea.loss for idea in facts.ideas], "low": low, "high": high},
        Axis(tokens=names),
        Axis(_("nats per token"), (min(low) - room, max(high) + room)),
        [
            band("low", "high", palette.HELD_OUT),
            line("loss", look, hover="{idea} · {loss:.3f}"),
            dots("loss", look, rows=seeds, hover="{idea} · {loss:.4f}"),
        ],
        tall=240,
    )


def shows() -> Sequence[Item]:
    """A class has one screen: there the two stand beside each other."""
    pictures = Shown(costs, "idea_costs"), Shown(losses, "idea_losses")
    beside = (Beside(*pictures),) if present.is_on() else pictures
    return Say(says_ideas), *beside, Note(says_how), Table(table, "ideas_table")


PANEL = Panel(
    "ideas",
    N_("What did each idea change?"),
    fields=("n_kv_heads", "norm_kind", "activation", "position_kind", "n_experts"),
    concepts=("ideas",),
    code=(steps, ideas.ideas_facts),
    absent=says_no_runs,
    facts=ideas_facts,
    shows=shows,
)
