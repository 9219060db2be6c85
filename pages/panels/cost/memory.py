"""Memory to train or to use a model: what it is for, and what each choice changes."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import activations, fit, need
from blocks.cost.activations import Activations
from blocks.cost.need import MemoryFacts, Variant
from blocks.cost.setup import OptimizerStates, Setup
from blocks.cost.step import Shape
from blocks.cost.units import bytes_text
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture, Translate
from pages.page.frame import section
from pages.panels.cost import memory_picture, serving_choices, shared
from pages.show.chart import show
from pages.show.choices import chooses
from pages.show.controls import choose, pick, switch
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.said import say
from pages.show.tables import show_table
from pages.state.link_fields.cost import TRAINED_FORMATS, USES
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, sentences
from pages.words.numbers import percent

memory_facts = lru_cache(maxsize=64)(need.memory_facts)
USE_NAMES = {"training": N_("training"), "inference": N_("inference")}
OPTIMIZERS = {"adam": "Adam", "sgd": "SGD", "momentum": N_("SGD with momentum"), "muon": "Muon"}
VARIANTS = OPTIMIZERS | {
    "chosen": N_("your settings"),
    "all_heads": "MHA",
    "grouped": "GQA",
    "one_kv_head": "MQA",
    "fp8_cache": N_("KV cache in fp8"),
}
NEEDS = {
    "weights": N_("weights"),
    "gradients": N_("gradients"),
    "master": N_("master weights"),
    "optimizer": N_("optimizer states"),
    "activations": N_("activations"),
    "cache": N_("KV cache or states"),
}
KEPT = {
    "layer_input": N_("inputs to the layers"),
    "norms": N_("norms: saved inputs"),
    "attention_norms": N_("inputs saved for the norms before attention"),
    "attention_in": N_("input to the q, k and v projections"),
    "mixer_in": N_("input to the token mixer"),
    "state": N_("gates, chunks and states of the token mixer"),
    "latents": N_("latents of queries, keys and values"),
    "q_k_v": N_("queries, keys, values"),
    "qk_norm": N_("QK norms: saved inputs"),
    "pattern": N_("attention weights"),
    "distances": N_("distances for the learned bias"),
    "mask": N_("additive mask"),
    "soft_cap": N_("soft-capped scores"),
    "out_gate": N_("head gates"),
    "logit_soft_cap": N_("soft-capped logits"),
    "head_out": N_("outputs of the heads"),
    "dropout": N_("dropout masks"),
    "feed_forward_in": N_("input to the feed-forward layer"),
    "routed": N_("inputs and outputs of the experts"),
    "hidden": N_("hidden activations"),
    "token_ids": N_("token ids"),
    "embedding_norm": N_("embedding norm"),
    "final_norm": N_("final norm"),
    "prediction_head": N_("prediction head"),
    "prediction_norm": N_("normalization of the prediction head"),
    "unembed_in": N_("input to the output matrix"),
    "log_probs": N_("log-probabilities"),
    "ends": N_("inputs, norms and logits"),
    "working": N_("temporary values in the backward pass"),
}


def variant_name(variant: Variant) -> str:
    """What is different in a bar."""
    setup = variant.setup
    match variant.name:
        case "checkpointing" if setup.checkpointing:
            return _("with activation checkpointing")
        case "checkpointing":
            return _("without activation checkpointing")
        case "fused":
            return _("fused attention") if setup.fused else _("eager attention")
        case "format":
            return str(setup.weight_format)
        case "all_heads" | "grouped" | "one_kv_head" as name:
            return f"{VARIANTS[name]} · n_kv_heads {variant.n_kv_heads}"
        case name:
            return _(VARIANTS.get(name, name))


def says_memory(facts: MemoryFacts) -> str:
    """What takes most, and how many bytes a parameter or a cached token comes to."""
    text = _("{total} in total; the largest part is {part} ({bytes}, {share}).")
    if facts.setup.n_devices > 1:
        text = _("{total} on each device; the largest part is {part} ({bytes}, {share}).")
    said = text.format(
        total=bytes_text(facts.need.total),
        part=_(NEEDS[facts.largest]),
        bytes=bytes_text(facts.largest_bytes),
        share=percent(facts.largest_share),
    )
    if facts.is_training:
        return sentences(said, _state(facts))
    return sentences(said, _cache(facts), _fewer_heads(facts))


def _state(facts: MemoryFacts) -> str:
    """Bytes of a weight, on one device or shared among several."""
    text = _(
        "Weights, gradients and optimizer states take {n:.3g} bytes per parameter, before "
        "any activations."
    )
    if facts.setup.has_master:
        text = _(
            "Weights, their float32 copy, gradients and optimizer states take {n:.3g} bytes "
            "per parameter, before any activations."
        )
    said = text.format(n=facts.state_per_parameter)
    if facts.setup.n_devices == 1:
        return said
    text = _("This {total} is split among {n:,} devices.")
    return sentences(said, text.format(total=bytes_text(facts.state), n=facts.setup.n_devices))


def _cache(facts: MemoryFacts) -> str:
    if facts.state_per_text and not facts.is_training:
        text = _(
            "The states take {each} per text, however long it is: {cache} at batch size {batch}."
        )
        if facts.setup.n_devices > 1:
            text = _(
                "The states take {each} per text, however long it is: {cache} on each device "
                "at batch size {batch}."
            )
        each, cache = bytes_text(facts.state_per_text), bytes_text(facts.need.cache)
        return text.format(each=each, cache=cache, batch=facts.shape.batch)
    if not facts.cache_per_token:
        return ""
    text = _("The cache takes {each} per token ({format}): {cache} for {batch} × {n:,} tokens.")
    if facts.setup.n_devices > 1:
        text = _(
            "The cache takes {each} per token ({format}): {cache} on each device for {batch} × "
            "{n:,} tokens."
        )
    return text.format(
        each=bytes_text(facts.cache_per_token),
        format=facts.setup.caches_in,
        cache=bytes_text(facts.need.cache),
        batch=facts.shape.batch,
        n=facts.shape.n,
    )


def _fewer_heads(facts: MemoryFacts) -> str:
    """What sharing heads of keys and values saves: cache, and the weights that make them."""
    other = next((each for each in facts.variants if each.n_kv_heads), None)
    if other is None:
        return ""
    text = _(
        "{kind} (n_kv_heads = {n}) would save {cache} of KV cache and {weights} of weights "
        "in k_proj and v_proj."
    )
    if other.name == "all_heads":
        text = _(
            "Heads already share keys and values here: {kind} (n_kv_heads = {n}) would take "
            "{cache} more for the KV cache and {weights} more for k_proj and v_proj."
        )
    return text.format(
        kind=VARIANTS[other.name],
        n=other.n_kv_heads,
        cache=bytes_text(abs(facts.need.cache - other.need.cache)),
        weights=bytes_text(abs(facts.need.weights - other.need.weights)),
    )


def says_estimate(facts: MemoryFacts) -> str:
    """What the estimate covers, and what it leaves out."""
    sharing = ""
    if facts.setup.n_devices > 1:
        sharing = shared.says_sharing(is_training=facts.is_training)
    if not facts.is_training:
        stored, chunk = _says_stored(facts), shared.says_chunk(facts.chunk)
        return sentences(sharing, stored, chunk, _says_use())
    said = _(
        "Memory is estimated term by term for the modules that run here; in tests, the "
        "estimate is within 15% of a real step measured tensor by tensor. Memory used by the "
        "framework, allocator and kernels, and for communication, is not counted."
    )
    more = ""
    if facts.setup.fused and facts.has_head_bias:
        more = _(
            "No fused kernel here supports a per-head bias, so the full attention weights "
            "are kept in memory."
        )
    elif facts.setup.fused and facts.has_dropout:
        more = _("Fused attention is assumed to apply dropout itself.")
    return sentences(sharing, said, more)


def _says_stored(facts: MemoryFacts) -> str:
    """What rounded weights take where they count as in their file."""
    stored = facts.setup.stored
    if stored is None:
        return ""
    return _(
        "Weights as stored in the file take {size}, on average {bits:.2f} bits each, "
        "including scales and unrounded parts."
    ).format(size=bytes_text(stored.n_bytes), bits=stored.bits_per_weight)


def _says_use() -> str:
    return _(
        "Logits are computed only for the last token of each prompt. Below 16 bits, only the "
        "matrices of the layers are rounded, as in published files: tables, norms, routers "
        "and activations keep 16 bits. The scales of int4 and of integer caches are counted; "
        "memory used by the framework and the allocator is not."
    )


def draw_memory(facts: MemoryFacts, *, _: Translate) -> Picture:
    """What was chosen, and one thing at a time done otherwise."""
    title = _("Training memory") if facts.is_training else _("Memory for inference")
    if facts.setup.n_devices > 1:
        text = _("Memory for inference on each of {n:,} devices")
        if facts.is_training:
            text = _("Training memory on each of {n:,} devices")
        title = text.format(n=facts.setup.n_devices)
    return memory_picture.memory_bars(
        facts,
        {part: _(NEEDS[part]) for part in facts.parts},
        [variant_name(each) for each in facts.variants],
        [(shared.device(name, facts.here), size) for name, size in facts.devices],
        title=title,
        _=_,
    )


def memory_rows(facts: MemoryFacts) -> pd.DataFrame:
    """One row a way to do it: bytes by what they are for."""
    needs = [each.need for each in facts.variants]
    parts = {part: [float(getattr(each, part)) for each in needs] for part in facts.parts}
    labels = [variant_name(each) for each in facts.variants]
    return pd.DataFrame({"label": labels, **parts, "total": [float(each.total) for each in needs]})


def kept_name(name: str) -> str:
    """What waits for the way back."""
    stack, _dot, rest = name.rpartition(".")
    said = _(KEPT[rest.removeprefix("cross_")])
    said = _(shared.CROSS).format(part=said) if rest.startswith("cross_") else said
    return _(terms.STACKS[stack]).format(part=said) if stack else said


def says_formulas(found: Activations) -> str:
    """What a number takes: by the format chosen, and where it is always float32."""
    text = _("In the formulas, bytes = {bytes} is the size of one number.")
    if any("exact_bytes" in each.formula for each in found.terms):
        text = _(
            "In the formulas, bytes = {bytes} is the size of one number, and exact_bytes = "
            "{exact_bytes} is the size of a number that is kept in float32 whatever the "
            "format."
        )
    return text.format_map(found.sizes)


def kept_table(found: Activations) -> None:
    """Activations, term by term."""
    rows = {
        _("activations"): [kept_name(each.name) for each in found.terms],
        _("bytes"): [bytes_text(each.n_bytes) for each in found.terms],
        _("share"): [percent(max(0, each.n_bytes) / found.peak) for each in found.terms],
        _("formula"): [each.formula for each in found.terms],
    }
    show_table(pd.DataFrame(rows), key="kept_table")
    note(says_formulas(found))


@chooses(
    "memory_use",
    "weight_format",
    *serving_choices.FIELDS,
    "optimizer_states",
    "fused_attention",
    "checkpointing",
    "master_weights",
)
@section
def how_it_is_used(run: Run, state: State) -> None:
    """To train or to use; in which numbers; with what is kept, and what is computed again."""
    is_training = shared.is_training(state)
    setup = shared.setup(is_training=is_training, weights=run.weights, state=state)
    use, numbers, more = st.columns([5, 6, 10], vertical_alignment="bottom")
    with use:
        choose("memory_use", _("Purpose"), USES, label_of=lambda name: _(USE_NAMES[name]))
    with numbers:
        formats = TRAINED_FORMATS if is_training else shared.formats([run.weights])
        shown = str(setup.weight_format)
        label = _("Number format of the weights")
        pick("weight_format", label, formats, label_of=shared.format_name, shown=shown)
    with more:
        if is_training:
            name = "optimizer_states"
            choose(name, _("Optimizer"), OptimizerStates, label_of=lambda name: _(OPTIMIZERS[name]))
        else:
            serving_choices.formats(setup)
            switch("fused_attention", _("Fused attention"))
    if not is_training:
        serving_choices.devices(run.config, setup)
    if is_training:
        with st.container(horizontal=True):
            switch("fused_attention", _("Fused attention"))
            _training_switches(setup)


def _training_switches(setup: Setup) -> None:
    text = _("Keep only the input to each layer and recompute the rest in the backward pass.")
    switch("checkpointing", _("Activation checkpointing"), help=text)
    if setup.itemsize < 4:
        switch("master_weights", _("float32 master weights"))


Use = tuple[ModelConfig, Setup, Shape, bool, str, float]


def shown_use(run: Run, state: State) -> Use:
    """The model, how it is used, and the device here with what of it may be used."""
    is_training = shared.is_training(state)
    setup = shared.setup(is_training=is_training, weights=run.weights, state=state)
    device, usable = state.device, state.usable_memory
    return run.config, setup, shared.shape(state), is_training, device, usable


@section
def where_memory_goes(run: Run, state: State) -> None:
    """Weights, gradients, states, activations, cache; what each choice changes."""
    code = (activations.training_activations, fit.training_need, fit.inference_need)
    shown = shown_use(run, state)
    facts = memory_facts(*shown)
    with explained(("training_memory", "kv_cache"), code, key="memory"):
        say(says_memory, *shown, facts=memory_facts)
    show(draw_memory, *shown, facts=memory_facts, key="memory_bars")
    note(_("The first bar shows your choice; each of the others changes one setting."))
    if facts.activations:
        with details(_("Activation memory, term by term"), icon=":material/functions:"):
            kept_table(facts.activations)
    note(says_estimate(facts))
