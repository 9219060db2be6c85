"""Sentences about a source and its target."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

import streamlit as st

from blocks import ModelConfig
from blocks.corpora.stories import Language
from blocks.corpora.translation import Pair, held_out_pairs, translations
from blocks.inspection import aligned_heads, two_texts
from blocks.inspection.three_attentions import Head, Pins
from blocks.inspection.two_texts import AttentionKind
from blocks.model.faults import N_
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.text.bilingual import SentenceTokenizer
from pages.server import cached
from pages.show import beside
from pages.show.ways import take
from pages.show.words import parameter_count, seed_of
from pages.stage import link, tokens
from pages.state import labelled
from pages.state.values import State
from pages.words import changes
from pages.words.language import _, current_language, literal, ngettext


def choose_one(
    name: str, label: str, options: Iterable[str], labels: Mapping[str, str], shown: str = ""
) -> None:
    """A few choices side by side, with their labels."""
    st.segmented_control(
        label,
        [str(option) for option in options],
        format_func=lambda option: _(labels.get(option, option)),
        required=True,
        wrap=True,
        **link.view(name, shown or link.value(name), (tuple(options), current_language())),
    )


def chosen(run: Run, kind: AttentionKind, state: State) -> Head:
    """The layer and head that are looked at, in one of the three attentions."""
    layer = min(state.layer or 0, two_texts.n_layers(run.config, kind) - 1)
    return Head(kind, layer, labelled.selected_head(run, state))


def open_head(kind: AttentionKind, layer: int, head: int) -> None:
    take({"attention_of": str(kind), "layer": layer, "head": head})


def pins(run: Run, state: State) -> Pins:
    return Pins(labelled.pinned_token(run, state), labelled.pinned_target(run, state))


def pin_cell(kind: AttentionKind, customdata: list[Any]) -> None:
    """A cell was clicked: its query is pinned, and of two texts its key too."""
    query, key = int(customdata[0]), int(customdata[1])
    if kind is AttentionKind.CROSS:
        link.change("token", key)
    pin("source" if kind.is_of_source else "target", query)


def pin(text: str, token: int) -> None:
    take({"pinned_in": text, "token" if text == "source" else "target_token": token})


ATTENTIONS, ALIGNMENT = N_("Three kinds of attention"), N_("Which word comes from which?")
N_DRAWN, N_SHOWN = 60, 12


@lru_cache(maxsize=64)
def pair(token_ids: tuple[int, ...], vocabulary: str) -> Pair | None:
    """The source of these tokens with its translation, or None where the grammar has none."""
    words, language = _read(token_ids, vocabulary)
    found = translations(words, language)
    return found[0] if found else None


def translation(token_ids: tuple[int, ...], vocabulary: str) -> tuple[str, ...] | None:
    """The words of the other language."""
    found = pair(token_ids, vocabulary)
    if found is None:
        return None
    _words, language = _read(token_ids, vocabulary)
    is_english = language is Language.ENGLISH
    return found.words(Language.CHINESE if is_english else Language.ENGLISH)


@lru_cache(maxsize=8)
def sentences(vocabulary: str, language: str) -> tuple[str, ...]:
    """Some that were held out from all training, each of its own kind; in this language."""
    reader = sentence_tokenizer(vocabulary)
    found: dict[tuple[int, str], tuple[str, ...]] = {}
    for each in held_out_pairs(N_DRAWN):
        words = each.words(Language(language))
        found.setdefault((len(words), words[-1]), words)
    return tuple(reader.decode(reader.ids(words)) for words in found.values())[:N_SHOWN]


def sentence_tokenizer(vocabulary: str) -> SentenceTokenizer:
    """The tokenizer of the grammar's words, where the vocabulary is theirs."""
    return cast(SentenceTokenizer, tokens.tokenizer_of(vocabulary))


def _read(token_ids: tuple[int, ...], vocabulary: str) -> tuple[tuple[str, ...], Language]:
    """The words of a source, and the language of its first."""
    reader = sentence_tokenizer(vocabulary)
    words = tuple(reader.vocabulary[token_id] for token_id in token_ids)
    is_english = bool(words) and words[0] in reader.english
    return words, Language.ENGLISH if is_english else Language.CHINESE


N_PAIRS, N_PARTS, N_ACROSS = 64, 4, 32


def knows_grammar(run: Run) -> bool:
    """Whether the tokens are the words of the grammar, all of them, so that it can be asked."""
    return aligned_heads.knows_grammar(tokens.tokenizer_of(run.input.vocabulary), run.config)


def model_alone(run: Run) -> Run:
    """The model of a run without its texts, and with nothing changed inside."""
    nothing: dict[str, Any] = {
        "target": None,
        "interventions": (),
        "other": None,
        "training": False,
    }
    nowhere = Input(vocabulary=run.input.vocabulary)
    return replace(run, input=nowhere, mask=MaskConfig(), **nothing)


@lru_cache(maxsize=1)
def validation_pairs() -> tuple[Pair, ...]:
    return held_out_pairs(N_PAIRS)


def summary(run: Run) -> str:
    """What runs, in one line; in three where A is beside it."""
    return beside.said_of_both(_in_one_line, run, changes.between)


def _in_one_line(run: Run) -> str:
    n_source, n_target = run.input.shape[1], run.target_or_start.shape[1] - 1
    source = ngettext("{n} source token", "{n} source tokens", n_source).format(n=n_source)
    text = ngettext(
        "{source} · {start} + {n} target token × {d_model} features · {parameters} · {how}",
        "{source} · {start} + {n} target tokens × {d_model} features · {parameters} · {how}",
        n_target,
    )
    said = text.format(
        source=source,
        start=literal(run.target_or_start.labels[0]),  # it is given
        n=n_target,
        d_model=run.config.d_model,
        parameters=parameter_count(run.config),
        how=_("trained") if run.weights else _("random weights"),
    )
    return said + seed_of(run)


def attention_share_note(config: ModelConfig) -> str:
    """How much of a layer is attention, where one of the stacks has two of them."""
    if config.attention_only:
        return ""
    text = _(
        "Of the attention and feed-forward weights, attention accounts for {encoder:.0%} in "
        "an encoder layer and {decoder:.0%} in a decoder layer, which also has "
        "cross-attention. With MHA, no gate and d_ff = 4 × d_model, the shares are one third "
        "and one half."
    )
    shares = {stack: _attention_share(config, stack) for stack in ("encoder", "decoder")}
    return text.format(**shares)


def _attention_share(config: ModelConfig, stack: str) -> float:
    table = cached.parameters(config)
    counts = table[table["part"].str.startswith(f"{stack}.")].groupby("group")["count"].sum()
    attention = counts["attention"] + counts.get("cross_attention", 0)
    return float(attention / (attention + counts["feed_forward"]))
