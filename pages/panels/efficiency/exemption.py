"""What stays at full precision where a model is rounded, as the reader chooses."""

from dataclasses import replace

import streamlit as st

from blocks import ModelConfig
from blocks.efficiency.blame_facts import without_layer
from blocks.efficiency.compression import Compression
from blocks.efficiency.exemption import TABLES, absent_from, first_and_last, modules, rounded_names
from blocks.efficiency.matrix_places import layer_path, path_of
from blocks.efficiency.names import name_of
from blocks.efficiency.recorded_blame import recorded_blame
from blocks.observe.run import Run
from pages.page import panel
from pages.panels.efficiency import score_text
from pages.panels.efficiency.recipe_words import exempt_in_words, module_in_words
from pages.server import starts
from pages.show.controls import several
from pages.show.fold import fold
from pages.show.ways import way
from pages.state.link_fields.efficiency import as_modules, modules_of
from pages.state.values import State
from pages.words.language import _, enumeration

RECORDED_SHARE = 0.03  # of the weights at 8 bits, beside which blame was recorded


def chosen(run: Run, state: State) -> frozenset[str]:
    named = modules_of(state.exempt)
    return frozenset(named) - {*absent_from(_config(run), named)}


def _config(run: Run) -> ModelConfig:
    return starts.model(starts.original(run.weights)).config


def says_nothing_left(run: Run, exempt: frozenset[str], *, in_layers: bool) -> str:
    """That nothing is rounded, of all or in the layers; empty where something is."""
    left = rounded_names(_config(run), exempt)
    if any(layer_path(name) != path_of(name) for name in left) or (left and not in_layers):
        return ""
    return _("Everything here stays at full precision: leave at least one layer to be rounded.")


def exempt_controls(run: Run, how: Compression, place: str = "", *, state: State) -> None:
    """Layers and matrices that stay as they are; `place`: which of several such lists it is."""
    with (own := fold(_label(how), key=f"exempt_fold{place}")):
        if own.open:
            _standard_ways(run, how, place, state)
            options = tuple(dict.fromkeys((*modules(_config(run)), *sorted(how.exempt))))
            several(
                "exempt",
                _("Layers and matrices at full precision"),
                options,
                [each for each in options if each in how.exempt],
                write=as_modules,
                label_of=module_in_words,
                place=place,
                is_list=True,
            )
    if absent := absent_from(_config(run), modules_of(state.exempt)):
        text = _("Ignored here (nothing to round in this model): {names}.")
        st.warning(text.format(names=enumeration(absent)), icon=":material/info:")


def _label(how: Compression) -> str:
    if not how.exempt:
        return _("Keep layers or matrices at full precision")
    return _("At full precision: {modules}").format(modules=exempt_in_words(how.exempt))


def _standard_ways(run: Run, how: Compression, place: str, state: State) -> None:
    """What is often left out of it, each one press away."""
    config = _config(run)
    tables = tuple(each for each in modules(config) if each in TABLES)
    with st.container(horizontal=True):
        _way(_("Embedding and unembedding"), tables, f"exempt_tables{place}")
        _way(_("First and last layer"), first_and_last(config), f"exempt_ends{place}")
        _most_blamed(run, how, place, state)
        if how.exempt:
            _way(_("Round everything"), (), f"exempt_none{place}")


def _way(label: str, names: tuple[str, ...], key: str) -> None:
    way(label, key, icon=":material/lock:", exempt=as_modules(names))


def _most_blamed(run: Run, how: Compression, place: str, state: State) -> None:
    """The layer of most blame where it was recorded for this grid; else the way to find it."""
    plain = replace(how, exempt=frozenset())
    kept = name_of(replace(plain, kept_share=RECORDED_SHARE))
    key = f"exempt_blamed{place}"
    if traced := recorded_blame(score_text.measured(run, state), kept):
        _way(_("Most sensitive layer"), (*without_layer(traced.rows, plain).exempt,), key)
    elif not place:
        label, go = _("Find the most sensitive layer"), panel.open_panel
        st.button(label, icon=":material/search:", key=key, on_click=go, args=("blame",))
