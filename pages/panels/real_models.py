"""Models that people know: those that are here, and the way to the others."""

import streamlit as st

from blocks.cost.units import with_prefix
from blocks.model.kinds import Architecture
from blocks.weights.known import MODELS, RealModel
from pages.page import bringing, opening
from pages.server import address, brought
from pages.show.fold import fold
from pages.stage import link
from pages.stage.press import press
from pages.state.values import State
from pages.words.language import _, current_language, enumeration

PAGES = {  # of those that do not run on Home
    Architecture.ENCODER: "pages/encoder.py",
    Architecture.ENCODER_DECODER: "pages/seq2seq.py",
}


def real_models(state: State) -> None:
    """Those that are here lead on; the others come from the hub, where this serves one person."""
    may_fetch = address.serves_one_person()
    found = [(model, opening.here(model)) for model in MODELS]
    for model, preset in found:
        if preset or may_fetch:
            _row(model, preset)
    if not may_fetch and not any(preset for _model, preset in found):
        st.markdown(
            _(
                "There is no real model on this server. Whoever runs it can add one with `make "
                "model`."
            )
        )
    if may_fetch:
        st.caption(says_where(is_alone=address.is_alone()))
        bringing.hub_by_name("home_hub")
    _others()
    bringing.say_faults()
    if state.preset != link.FIRST_ON_HOME:
        press(
            _("Back to the pocket model"),
            "to_pocket",
            link.change,
            "preset",
            link.FIRST_ON_HOME,
            icon="undo",
            type="tertiary",
        )


def _others() -> None:
    """Whatever else is here: listed where it is asked for, since that looks through all caches."""
    place = fold(_("All models on this server"), key="all_real_models", type="compact")
    if not place.open:
        return
    with place:
        if names := (*brought.folders(), *brought.on_this_machine()):
            bringing.choose(names, key="real_model")
        else:
            st.caption(_("There are no other models here."))


def _row(model: RealModel, preset: str) -> None:
    key = model.title.lower().replace(" ", "_")
    with st.container(gap=None):
        st.markdown(says_what(model, is_here=bool(preset)))
        if not preset:
            bringing.from_hub(model.name, key=key)
            return
        text = opening.text_for(model.texts, current_language())
        if path := PAGES.get(model.architecture):
            query = {"lang": current_language(), "preset": preset, "text": text}
            st.page_link(path, label=_("Open it"), query_params=query)
        else:
            press(_("Open it"), f"{key}_open", bringing.open_model, preset, text)


def says_what(model: RealModel, *, is_here: bool) -> str:
    """Its size, languages and license, and whether it is here."""
    text = _("**{title}** · {n} parameters · {languages} · license {license}")
    if is_here:
        text = _("**{title}** · {n} parameters · {languages} · license {license} · already here")
    return text.format(
        title=model.title,
        n=with_prefix(model.n_parameters),
        languages=enumeration([_(each) for each in model.languages]),
        license=model.license,
    )


def says_where(*, is_alone: bool) -> str:
    """Whose disk keeps what is fetched."""
    if is_alone:
        return _(
            "Models are downloaded into the Hugging Face cache of this machine and opened "
            "there. An interrupted download is resumed."
        )
    return _(
        "Models are kept on this server until it needs the space. An interrupted download is "
        "resumed."
    )
