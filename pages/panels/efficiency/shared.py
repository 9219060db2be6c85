"""What the panels of Efficiency share: the trained model, its variants, and the way to one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from blocks.cost.units import bytes_text
from blocks.efficiency.compression import Calibrated, Compression
from blocks.efficiency.expected import variant_flops
from blocks.efficiency.frontier import Variant
from blocks.efficiency.names import compression_of, name_of
from blocks.observe.run import Run
from blocks.training.spec import TrainingSpec
from blocks.weights.pocket import pocket_names
from pages.figures.chart import Axis
from pages.figures.numbers import readable
from pages.figures.units import long_duration, quality_text
from pages.panels.efficiency import made
from pages.panels.efficiency.recipe_words import in_words
from pages.panels.efficiency.score_text import measured, measured_weights
from pages.panels.training.shared import expected_pace
from pages.server import brought, machine, starts
from pages.server.passes import WORTH_SAYING
from pages.show.explain import note
from pages.show.ways import take, way
from pages.stage import kept, link
from pages.stage.press import press
from pages.state.link_fields.compare import Kept
from pages.state.link_fields.efficiency import FIELDS
from pages.state.values import State
from pages.words.language import _, bracketed, enumeration, say_fault, sentences
from pages.words.numbers import percent


def ways_to_trained() -> None:
    """That random weights have nothing to lose, and the models that were trained."""
    text = _(
        "Random weights have learned nothing that rounding could damage. Choose a trained model."
    )
    st.info(text, icon=":material/lightbulb:")
    trained_models("shrink")


def trained_models(key: str, is_offered: Callable[[str], object] = bool) -> None:
    """A button for each model that ships with us, of those that are offered."""
    with st.container(horizontal=True):
        for name in filter(is_offered, pocket_names()):
            press(_(starts.start(name).title), f"{key}_{name}", open_preset, name)


def open_preset(preset: str) -> None:
    take({"preset": preset, "weights": "trained"})


def whole(run: Run, state: State) -> Calibrated:
    """The model as it was trained, of which a run shows it or a variant, and what asks it."""
    return starts.calibrated(measured(run, state))


def needs_training(run: Run, why: str, key: str) -> bool:
    """Whether a model came without the task that an experiment trains on; then it says so."""
    fault = starts.task_fault(starts.original(run.weights))
    if fault is None:
        return False
    st.info(sentences(why, say_fault(fault)), icon=":material/lightbulb:")
    trained_models(key)
    return True


def said_kept(share: float, score_name: str, is_share: bool) -> str:
    """That so much of a score is left; of a loss, that it rose by no more than a score may fall."""
    if not is_share:
        text = _("its held-out loss within {share} of the original's")
        return text.format(share=percent(1 - share))
    return _("{share} of its score ({score})").format(share=percent(share), score=_(score_name))


def quality_axis(
    score_name: str, is_share: bool, ends: tuple[float, float] | None = (-0.03, 1.1)
) -> Axis:
    """Of the share of what was asked that was right, or of the loss on what was not trained on."""
    if not is_share:
        return Axis(_("held-out loss, nats"), from_0=True)
    return Axis(_(score_name), ends, is_share=True, from_0=ends is None)


def measured_on(processor: str) -> str:
    """Where what is shown at once comes from, its times among it."""
    return _("Measured beforehand on {processor}.").format(processor=processor)


def way_to_recorded(key: str, *fields: str) -> None:
    """A button that sets these fields as they were where it was measured beforehand."""
    usual = {name: FIELDS[name].default for name in fields}
    way(_("Back to the settings measured beforehand"), key, icon=":material/undo:", **usual)


def recorded_models(key: str, is_recorded: Callable[[str], object]) -> None:
    """The models of which it was recorded, where it was not of the one that is shown."""
    st.caption(_("Measured beforehand for these models:"))
    trained_models(key, is_recorded)


def expected_time(spec: TrainingSpec, n_updates: int) -> str:
    """How long so many updates take here, by a few of them; empty where none can be made."""
    pace = expected_pace(spec)
    if pace is None:
        return ""
    text = _("Training takes about {time} here.")
    return text.format(time=long_duration(pace.update * n_updates, _=_))


def said_score(variant: Variant, *, is_share: bool) -> str:
    """The mean over the draws and its standard error, with the digits that the sentences have."""
    score, spread = (quality_text(v, is_share=is_share) for v in (variant.score, variant.spread))
    return f"{score} ± {spread}"


def in_numbers(variants: Mapping[str, Variant], *, is_share: bool) -> pd.DataFrame:
    """Bytes and quality of variants, by what each is called."""
    each = [*variants.values()]
    return pd.DataFrame(
        {
            _("variant"): [*variants],
            _("file size"): [bytes_text(variant.n_bytes) for variant in each],
            **qualities(each, is_share=is_share),
        }
    )


def qualities(variants: Sequence[Variant], *, is_share: bool) -> dict[str, list[str]]:
    """The columns that say how good variants are: of a text, what the field reads it by."""
    columns = {
        _("score"): [said_score(each, is_share=is_share) for each in variants],
        _("held-out loss"): [f"{each.held_out_loss:.3f}" for each in variants],
    }
    if any(each.accuracy is None for each in variants):
        return columns
    return {
        _("bits per token"): columns[_("score")],
        _("perplexity"): [readable(each.perplexity) for each in variants],
        _("next-token accuracy"): [said_accuracy(each) for each in variants],
    }


def said_accuracy(variant: Variant) -> str:
    """The share of the tokens of a text that ranked first, and its standard error."""
    shares = variant.accuracy or 0.0, variant.accuracy_error
    return " ± ".join(f"{each:.1%}" for each in shares)


def stored_rounded(run: Run) -> None:
    """Where the opened file is rounded already: to what, and that this page starts from float32."""
    ledger = brought.ledger_of(starts.original(run.weights))
    if ledger is None or not ledger.rounded:
        return
    kinds = enumeration(bracketed(kind, bytes_text(n)) for kind, n in ledger.rounded.items())
    text = _(
        "The matrices in the opened file are already quantized ({kinds}). They are unpacked "
        "to float32; this page starts from these values and rounds them again."
    )
    note(text.format(kinds=kinds))


def shown_variant(run: Run, state: State) -> None:
    """Where a variant is shown on all other pages: which, and the way back."""
    whole = starts.original(run.weights)
    if whole == run.weights:
        return
    recipe = starts.start(state.preset).recipe
    words = in_words(compression_of(recipe))
    with st.container(horizontal=True, vertical_alignment="center"):
        text = _(
            "All other pages now run {recipe} ({words}); this page still starts from the original."
        )
        note(text.format(recipe=recipe, words=words))
        press(_("Back to the original"), "use_original", _use, "", icon="undo")
    _said_of_a(whole, state)


def _said_of_a(whole: str, state: State) -> None:
    """That a click on a variant has kept the original as A, and the way to let go of it."""
    entry = kept.a()
    if entry is None or dict(entry.query) != {"preset": whole} or not state.beside:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(_("The original is kept as A: other pages show it beside the smaller model."))
        press(
            _("Remove A"), "drop_original", kept.drop, kept.index(), icon="delete", type="tertiary"
        )


def way_to(how: Compression, label: str, key: str) -> None:
    press(label, key, _use, name_of(how), icon="arrow_forward")


def _use(name: str) -> None:
    """The original becomes A, and the variant B, which all pages show."""
    whole = starts.original(link.value("preset"))
    entry = kept.a()
    if name and (entry is None or dict(entry.query) != {"preset": whole}):
        kept.add([Kept("", (("preset", whole),))], becomes_a=True)
    if name:
        weights = starts.start(whole).weights
        made.note(measured_weights(weights, link.now()), name)
        text = starts.text_on(measured_weights(weights, link.now()))
        usual = starts.text_on(starts.measured_on(weights))
        name = name_of(replace(compression_of(name), text="" if text == usual else text))
    open_preset(starts.variant_of(whole, name))


def look_at_matrix(customdata: list[str]) -> None:
    """A cell of a map was clicked: its matrix is the one that is looked at."""
    link.change("rounded_matrix", str(customdata[0]))


def expected(run: Run, recipes: Iterable[str], state: State) -> None:
    """About how long it takes to make and measure these, where that is no matter of seconds."""
    model = whole(run, state)
    said_time(run, variant_flops(model, map(compression_of, recipes)), state)


def said_time(run: Run, n_flops: int, state: State) -> None:
    """About how long so much work on a text takes here, where that is no matter of seconds."""
    seconds = 0.0 if whole(run, state).text is None else n_flops / machine.speed()
    if seconds > WORTH_SAYING:
        text = _(
            "This takes about {time} here, estimated from the current speed of matrix products."
        )
        note(text.format(time=long_duration(seconds, _=_)))


def use_clicked(customdata: list[str]) -> None:
    """A dot was clicked: its variant is what all pages show."""
    _use(str(customdata[0]))
