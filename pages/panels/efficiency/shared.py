"""What the panels of Efficiency share: the trained model, its variants, and the way to one."""

from functools import lru_cache

import streamlit as st

from blocks.efficiency.compression import Calibrated, Compression
from blocks.efficiency.frontier import Variant, measure_variant
from blocks.efficiency.names import name_of
from blocks.observe.run import Run
from blocks.weights.pocket import pocket_names
from pages.ui import link, starts
from pages.ui.compare import kept
from pages.ui.export import download
from pages.ui.language import _, say_fault
from pages.ui.link_fields.compare import Kept
from pages.ui.numbers import percent


def ways_to_trained(weights: str) -> None:
    """Why nothing can be measured here, and the models that know a task."""
    fault = starts.task_fault(starts.original(weights)) if weights else None
    text = _("What a smaller model still can do is measured on the task that it was trained on.")
    st.info(say_fault(fault) if fault else text, icon=":material/lightbulb:")
    trained_models("shrink")


def trained_models(key: str) -> None:
    """A button for each model that ships with us."""
    with st.container(horizontal=True):
        for name in pocket_names():
            st.button(
                _(starts.start(name).title),
                key=f"{key}_{name}",
                on_click=open_preset,
                args=(name,),
            )


def open_preset(preset: str) -> None:
    """Make this trained model the one of all pages."""
    link.change("preset", preset)
    link.change("weights", "trained")
    link.redraw_everything()


def whole(run: Run) -> Calibrated:
    """The model as it was trained, with its task, of which a run shows it or a variant."""
    return starts.calibrated(starts.original(run.weights))


def said_quality(value: float, is_share: bool) -> str:
    """A score as a share, or a held-out loss."""
    return percent(value) if is_share else f"{value:.3f}"


def measured_on(processor: str) -> str:
    """Where what is shown at once comes from, its times among it."""
    return _("Measured beforehand on {processor}.").format(processor=processor)


def says_recorded() -> str:
    """Where what is shown at once comes from, where nothing of it is a time."""
    return _("A recorded run of the same code; on other processors the last digits differ.")


@lru_cache(maxsize=256)
def variant(weights: str, name: str) -> Variant:
    """One smaller model, measured; `weights` names the model as it was trained."""
    return measure_variant(starts.calibrated(weights), name)


def shown_variant(run: Run) -> None:
    """Where a variant is shown on all pages: which, as a file to keep, and the way back."""
    whole = starts.original(run.weights)
    if whole == run.weights:
        return
    recipe = starts.start(link.value("preset")).recipe
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            _("All pages show {recipe}; here the original is measured.").format(recipe=recipe)
        )
        st.button(
            _("Back to the original"),
            icon=":material/undo:",
            key="use_original",
            on_click=_use,
            args=("",),
        )
        download(
            f"{recipe}.safetensors",
            lambda: starts.variant_file(run.weights).to_bytes(),
            "application/octet-stream",
        )


def way_to(how: Compression, label: str, key: str) -> None:
    """A button that makes this variant the model of all pages."""
    st.button(
        label,
        icon=":material/arrow_forward:",
        key=key,
        on_click=_use,
        args=(name_of(how),),
    )


def _use(name: str) -> None:
    """The original becomes A, and the variant B, which all pages show."""
    whole = starts.original(link.value("preset"))
    entry = kept.a()
    if name and (entry is None or dict(entry.query) != {"preset": whole}):
        kept.add([Kept("", (("preset", whole),))], becomes_a=True)
    open_preset(starts.variant_of(whole, name))


def use_clicked(customdata: list[str]) -> None:
    """A dot was clicked: its variant is what all pages show."""
    _use(str(customdata[0]))
