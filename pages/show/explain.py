"""The explanation of a picture, one click away, and the code that ran."""

import inspect
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import streamlit as st

from blocks.model.faults import N_
from pages.show.seen import is_noted
from pages.stage import present, progress
from pages.stage.hidden import is_hidden
from pages.words import glossary
from pages.words.language import _, explanation

# Of a line beside a picture, in words.
AT_A_GLANCE, STOPS = 25, (".", "!", "?", "。", "！", "？", ")", "）")
SENTENCE = re.compile(r"(?<=[.!?])(?<!al\.)\s+(?=\S)|(?<=[。！？])")
CLAUSE = re.compile(r"(?<=[.!?;:])(?<!al\.)\s+(?=\S)|(?<=[。！？；：])")
WORD, CHARACTER = re.compile(r"[^\W\d_\u4e00-\u9fff]{2,}"), re.compile(r"[\u4e00-\u9fff]")
# Markup, and what a reader or a model has written.
NO_WORDS = re.compile(r"`[^`]*`|\u2068[^\u2069]*\u2069|:[a-z]+(-badge)?\[")
TITLES = {
    "block": N_("The block"),
    "flow": N_("Information flow"),
    "attention": N_("Attention"),
    "heads": N_("How heads are measured"),
    "masks": N_("Masks"),
    "local_attention": N_("Local and global layers"),
    "attention_ideas": N_("Caps, sinks, gates, norms"),
    "feed_forward": N_("Feed-forward"),
    "normalization": N_("Normalization"),
    "residual": N_("Norm placement"),
    "positions": N_("Positions"),
    "rope_scaling": N_("RoPE for longer texts, and layers without positional encoding"),
    "dropout": N_("Dropout"),
    "initialization": N_("Initialization"),
    "parameters": N_("Parameters"),
    "input": N_("Input"),
    "tokenization": N_("Tokens"),
    "sampling": N_("Sampling"),
    "leave_one_out": N_("Leave one token out"),
    "kv_cache": N_("KV cache"),
    "logit_lens": N_("Logit lens"),
    "surprise": N_("Loss and surprisal"),
    "masked_words": N_("Masked language modeling"),
    "training": N_("Training"),
    "tasks": N_("Tasks"),
    "optimizers": N_("Optimizers"),
    "schedule": N_("Learning-rate schedule"),
    "loss_curve": N_("The loss curve"),
    "sweeps": N_("Sweeps and seeds"),
    "induction": N_("Induction heads"),
    "activations": N_("Activation functions"),
    "experts": N_("Mixture of experts"),
    "attention_steps": N_("Attention, step by step"),
    "ideas": N_("From GPT-2 to today's models"),
    "latent_attention": N_("Latent attention (MLA)"),
    "token_mixers": N_("A state instead of attention"),
    "mtp": N_("Multi-token prediction"),
    "score_gradient": N_("The backward pass of a score"),
    "random_scores": N_("Scores of random vectors"),
    "scaling": N_("Why divide by √d_head"),
    "contribution": N_("Weight and contribution"),
    "massive_activations": N_("Massive activations and sinks"),
    "contribution_graph": N_("Contribution graph"),
    "head_names": N_("Head roles"),
    "head_probe": N_("The head probe"),
    "grokking": N_("Grokking"),
    "superposition": N_("Superposition"),
    "known_truth": N_("Can I trust this picture?"),
    "sparse_circuit": N_("Weight-sparse circuits"),
    "interventions": N_("Ablation and patching"),
    "two_answers": N_("Logit difference"),
    "attention_kinds": N_("Attention variants"),
    "sharing": N_("MHA, GQA, MQA: multi-head, grouped-query, multi-query attention"),
    "position_claims": N_("Claims about positional encodings"),
    "beyond_length": N_("Beyond the trained length"),
    "leak_test": N_("The leak test"),
    "mask_faults": N_("Common mistakes with masks"),
    "peeking": N_("Training without the mask"),
    "norm_axes": N_("What a norm averages over"),
    "placement_depth": N_("Norm and depth"),
    "why_pre_norm": N_("Why pre-norm trains deeper networks"),
    "race": N_("Norm placements trained side by side"),
    "cross_attention": N_("Cross-attention"),
    "word_alignment": N_("Word alignment"),
    "encoder_output": N_("The encoder's output"),
    "beam_search": N_("Greedy and beam search"),
    "without_source": N_("Without the source"),
    "architectures": N_("Three architectures"),
    "span_corruption": N_("What each architecture is trained to do"),
    "flops": N_("Counting FLOPs"),
    "backward_flops": N_("Backward pass, prefill and decode"),
    "crossover": N_("n² versus n"),
    "training_memory": N_("Training memory"),
    "devices": N_("Devices"),
    "serving": N_("Serving"),
    "training_cost": N_("The cost of training"),
    "scaling_laws": N_("Scaling laws"),
    "isoflop": N_("IsoFLOP valleys"),
    "trades": N_("Repetition, batch size and shape"),
    "predicting": N_("Predicting a larger training run"),
    "mup": N_("Maximal update parametrization (muP)"),
    "known_entropy": N_("Text of known entropy"),
    "roofline": N_("Roofline"),
    "parameter_changes": N_("What changes the parameter count"),
    "parameter_growth": N_("Where the parameters go"),
    "published_models": N_("Published models"),
    "config_json": N_("config.json"),
    "file_ledger": N_("The tensors in a file"),
    "conversion_faults": N_("Conversion faults"),
    "weight_values": N_("How weights are distributed"),
    "comparing": N_("Comparing two models"),
    "pareto_front": N_("Pareto front"),
    "quantization": N_("Quantization"),
    "pruning": N_("Pruning"),
    "distillation": N_("Knowledge distillation"),
    "paths": N_("Paths through a residual network"),
}


Code = Sequence[Callable[..., Any] | str]  # functions that ran, and lines that run them


def explained(concepts: Sequence[str], code: Code = (), *, key: str, beside: str = "") -> Any:
    """The explanations and the source of a panel; returned is the place at their left.

    `beside`: what else is read there, whose words are explained as well.
    There stands the sentence, or what is chosen first. In a lesson its card explains, in front of
    a class who presents does.
    """
    if progress.now() or present.is_on():
        return st.container()
    place, right = st.columns([5, 1])
    with right, st.container(horizontal=True, gap="xsmall", key=f"{key}_explained"):
        _ways_deeper(concepts, code, key, beside)
    return place


def note(text: str) -> None:
    """A line beside a picture: as much of it as is read at a glance, the rest at its mark.

    A file has all of it.

    In front of a class it is left out, as explanations are.
    """
    if present.is_on():
        return
    shown, rest = (text, "") if is_noted() else at_a_glance(text)
    st.caption(shown, help=rest or None)


def at_a_glance(text: str) -> tuple[str, str]:
    """The first sentences, and what comes after them where all are more than a few words."""
    ends = _ends(SENTENCE, text)
    if n_words(text[: ends[0]]) > AT_A_GLANCE:
        ends = _ends(CLAUSE, text)
    short = [end for end in ends if n_words(text[:end]) <= AT_A_GLANCE]
    end = max(short, default=ends[0])
    shown, rest = text[:end].strip(), text[end:].strip()
    return (shown if not rest or shown.endswith(STOPS) else f"{shown.rstrip(';:；：')} …"), rest


def _ends(of_part: re.Pattern[str], text: str) -> list[int]:
    return [*(found.start() for found in of_part.finditer(text)), len(text)]


def n_words(text: str) -> float:
    """Words as they are read; a word of Chinese has about 1.8 characters."""
    text = NO_WORDS.sub(" ", text)
    return len(WORD.findall(text)) + len(CHARACTER.findall(text)) / 1.8


def _ways_deeper(concepts: Sequence[str], code: Code, key: str, beside: str) -> None:
    if is_hidden("explanations"):
        return
    explained_at(concepts, _("Explained"), key=key)
    glossary.offer(*map(explanation, concepts), beside, key=f"{key}_words")
    if code:
        _source(code, key)


def explained_at(concepts: Sequence[str], label: str, *, key: str) -> Any:
    """One way to all that explains a panel, and what it opens.

    Its text is sent beforehand: a popover that reports when it closes does so after the click on a
    link to another page, and Streamlit takes the page that it speaks of for the one to be shown.
    """
    pop = st.popover(label, type="tertiary", key=f"{key}_explain")
    titles = [_(TITLES[concept]) for concept in concepts]
    places = pop.tabs(titles) if len(titles) > 1 else [pop]
    for concept, place in zip(concepts, places, strict=True):
        place.markdown(explanation(concept))
    return pop


def _source(code: Code, key: str) -> None:
    pop = st.popover(_("In code"), type="tertiary", key=f"{key}_code")
    pop.caption(_("The code behind these numbers, verbatim."))
    pop.code("\n\n".join(map(_source_of, code)), language="python")


@lru_cache(maxsize=512)
def _source_of(item: Callable[..., Any] | str) -> str:
    return item if isinstance(item, str) else inspect.getsource(item)
