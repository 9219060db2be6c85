"""What bounds it? One step of all texts and one prompt, against the data sheet of a device."""

from functools import lru_cache

import pandas as pd

from blocks.cost import served_facts, serving, speed
from blocks.cost.held import held_parts
from blocks.cost.served_facts import BoundFacts, Serving
from blocks.cost.serving import Bound, Pace
from blocks.cost.units import bytes_text
from blocks.export.recipe import speed_recipe
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, line
from pages.figures.units import duration
from pages.page.declared import Panel
from pages.panels.cost import serving_choices
from pages.show.explain import Code
from pages.show.parts import Note, Say, Shown, Table
from pages.state.values import State
from pages.words.language import _, sentences
from pages.words.numbers import percent

bound_facts = lru_cache(maxsize=64)(served_facts.bound_facts)
BOUNDS = {
    Bound.WEIGHTS: N_("memory: weights"),
    Bound.CACHE: N_("memory: KV cache"),
    Bound.ARITHMETIC: N_("arithmetic"),
    Bound.LINKS: N_("links"),
}
STEPS = {
    Bound.WEIGHTS: N_(
        "generation is bound by memory, above all by reading the weights: in each step, a "
        "device reads {weights} of weights and {cache} of KV cache in {reading}, while its "
        "arithmetic takes {arithmetic}."
    ),
    Bound.CACHE: N_(
        "generation is bound by memory, above all by reading the KV cache: in each step, a "
        "device reads {weights} of weights and {cache} of KV cache in {reading}, while its "
        "arithmetic takes {arithmetic}."
    ),
    Bound.ARITHMETIC: N_(
        "generation is bound by arithmetic, which takes {arithmetic} in each step; reading "
        "{weights} of weights and {cache} of KV cache takes {reading}."
    ),
    Bound.LINKS: N_(
        "generation is bound by the links between the devices, which take {links} in each "
        "step; reading takes {reading} and arithmetic {arithmetic}."
    ),
}
PROMPTS = {
    Bound.WEIGHTS: N_(
        "Processing a prompt of {n:,} tokens is bound by memory: reading takes {reading} and "
        "arithmetic {arithmetic}."
    ),
    Bound.ARITHMETIC: N_(
        "Processing a prompt of {n:,} tokens is bound by arithmetic, which takes "
        "{arithmetic}; reading takes {reading}."
    ),
    Bound.LINKS: N_(
        "Processing a prompt of {n:,} tokens is bound by the links, which take {links}; "
        "arithmetic takes {arithmetic} and reading {reading}."
    ),
}


def at(run: Run, state: State) -> tuple[Serving]:
    return (serving_choices.serving(run, state),)


def says_absent(asked: Serving) -> str | None:
    """Why there is nothing to count."""
    if bound_facts(asked) is not None:
        return None
    if serving_choices.writes(asked):
        text = _("{device} cannot compute in {dtype}: choose another number format.")
        title = serving_choices.device_title(asked.device, 1)
        return text.format(device=title, dtype=asked.setup.computes_in)
    return _("This panel is about generating text with a decoder-only model: choose a GPT.")


def says_bound(facts: BoundFacts) -> str:
    """Which bound holds for a step and for a prompt, in numbers."""
    step, prompt = facts.step.pace, facts.prompt
    head = _("On {devices} at batch size {batch:,}:").format(
        devices=serving_choices.device_title(facts.serving.device, facts.n_devices),
        batch=facts.serving.batch,
    )
    said = _(STEPS[step.bound]).format(
        weights=bytes_text(facts.weight_bytes), cache=bytes_text(facts.cache_bytes), **_times(step)
    )
    kind = Bound.WEIGHTS if prompt.bound is Bound.CACHE else prompt.bound
    of_prompt = _(PROMPTS[kind]).format(n=facts.serving.n, **_times(prompt))
    return sentences(head, said, of_prompt, _turns(facts))


def _times(pace: Pace) -> dict[str, str]:
    return {
        "reading": duration(pace.reading),
        "arithmetic": duration(pace.arithmetic),
        "links": duration(pace.links),
    }


def _turns(facts: BoundFacts) -> str:
    """From which batch on arithmetic is the limit."""
    if facts.step.pace.bound is Bound.ARITHMETIC:
        return ""
    if not facts.turns_at:
        return _(
            "Generation is not bound by arithmetic at any batch size here: each additional "
            "text adds a KV cache of its own to read."
        )
    text = _("From batch size {batch:,} on, generation is bound by arithmetic.")
    return text.format(batch=facts.turns_at)


def says_how(facts: BoundFacts) -> str:
    """What is counted, and what is not."""
    said = _(
        "This is a bound computed from data sheets: reading and arithmetic overlap, and "
        "communication between devices is added (Pope et al. 2022); real servers reach only "
        "part of it. For attention, only pairs that the causal mask and the window allow are "
        "counted."
    )
    return sentences(said, _says_experts(facts), _says_links(facts))


def _says_experts(facts: BoundFacts) -> str:
    config = facts.serving.config
    if config.n_experts == 1:
        return ""
    text = _(
        "If tokens choose evenly and independently, a step is expected to need {touched} of a"
        " layer's {n:,} experts, 1 − (1 − k/E)ᴮ with k = {k}; real routers are less even, so "
        "fewer are needed."
    )
    touched = percent(facts.touched)
    return text.format(touched=touched, n=config.n_experts, k=config.n_active_experts)


def _says_links(facts: BoundFacts) -> str:
    if facts.n_devices == 1 or not facts.step.pace.links:
        return ""
    text = _(
        "Each step has {n:,} all-reduces; they add {links} at {link}/s each way. The time to "
        "launch them is not counted: at 10 µs each, it would add {starts}."
    )
    return text.format(
        n=facts.n_sums,
        links=duration(facts.step.pace.links),
        link=bytes_text(facts.serving.sheet.link),
        starts=duration(facts.start_seconds),
    )


def times(facts: BoundFacts) -> Chart:
    """What each cause alone would take in a step, at each batch."""
    table = facts.curve
    looks = {
        "weights": Look(_("reading weights"), palette.FEED_FORWARD),
        "cache": Look(_("reading the KV cache"), palette.ATTENTION, dash="dot"),
        "arithmetic": Look(_("arithmetic"), palette.NORM, dash="dash"),
        "links": Look(_("links"), palette.EMBEDDING, dash="dashdot"),
        "step": Look(_("a step takes"), palette.PINNED, width=4),
    }
    shown = {name: look for name, look in looks.items() if (table[name] > 0).all()}
    values = [value for name in shown for value in table[name]]
    floor = max(min(values), max(values) / 1e6)
    return Chart(
        _("Time of one step by cause"),
        table,
        Axis(
            _("batch (logarithmic; yours: {batch:,})").format(batch=facts.serving.batch),
            (1, float(table["batch"].max())),
            of="batch",
            is_log=True,
            ticks=table["batch"].tolist()[::3],
        ),
        Axis(_("milliseconds (logarithmic)"), (floor, max(values)), is_log=True),
        [line(name, look) for name, look in shown.items()],
        hover=_("batch {x:,}: {y:.3g} ms"),
        tall=300,
        legend=Legend.ABOVE,
        levels=[Level(x=facts.serving.batch)],
    )


def bound_rows(facts: BoundFacts) -> pd.DataFrame:
    """Each device: what a step and a prompt take there, and wait for."""
    found = [(each, each.step, each.prompt) for each in facts.devices]
    waits = [_(BOUNDS[read.bound]) if read else "–" for *_each, read in found]
    return pd.DataFrame(
        {
            _("device"): [serving_choices.device_title(each.device, 1) for each, *_ in found],
            _("one step"): [duration(step.seconds) if step else "–" for _each, step, _p in found],
            _("a step is bound by"): [
                _(BOUNDS[step.pace.bound]) if step else "–" for _each, step, _p in found
            ],
            _("one prompt"): [duration(read.seconds) if read else "–" for *_e, read in found],
            _("a prompt is bound by"): waits,
        }
    )


def code(run: Run, state: State) -> Code:
    """The lines that give these seconds again, and what counts them."""
    return (speed_recipe(at(run, state)[0]), speed.writing, serving.pace, serving.load, held_parts)


PANEL = Panel(
    "bound",
    N_("What bounds it?"),
    choices=serving_choices.how_it_is_served,
    fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
    concepts=("serving",),
    code=code,
    at=at,
    absent=says_absent,
    facts=bound_facts,
    shows=(
        Say(says_bound),
        Shown(times, "step_times"),
        Table(bound_rows, "bounds"),
        Note(says_how),
    ),
)
