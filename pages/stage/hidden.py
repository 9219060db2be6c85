"""What a teacher leaves out of the page for a class, and how it is chosen."""

from collections.abc import Mapping, Sequence

import streamlit as st

from blocks.model.faults import N_
from pages.session.slot import Slot
from pages.stage import link
from pages.state.link_fields.share import HIDEABLE, hidden_text
from pages.words.language import _

NAMES: Mapping[str, str] = {
    "menu": N_("page menu"),
    "settings": N_("model settings"),
    "explanations": N_("explanations and code"),
}
CHOSEN = Slot[Sequence[str]]("hidden_for_others", ())


def is_hidden(part: str) -> bool:
    return part in link.value("hide").split(".")


def choice() -> None:
    """What those will not see who open the link that is shared here."""
    st.pills(
        _("Hide from people who open the link"),
        HIDEABLE,
        format_func=lambda part: _(NAMES[part]),
        selection_mode="multi",
        wrap=True,
        key=CHOSEN.name,
    )


def query_for_others() -> dict[str, str]:
    """What a link says of it: what is chosen here, or what this reader's own link leaves out."""
    found = hidden_text({*CHOSEN.get()}) or link.value("hide")
    return {"hide": found} if found else {}
