"""Keep what is set as A, on every page; what is set from then on is B."""

import streamlit as st

from pages.stage import kept, link
from pages.stage.press import press
from pages.words.language import _, literal

PAGE = "pages/compare.py"


def keeping() -> None:
    """What is kept, and what can be done with it."""
    entry = kept.a()
    label = _("Compare") if entry is None else _("A: {name}").format(name=literal(entry.name))
    with st.popover(label, icon=":material/compare:", key="keeping"):
        if entry is None:
            st.markdown(_("Keep these settings as A, change something, and see both side by side."))
        else:
            _what_to_do()
        st.button(_("Keep as A"), icon=":material/bookmark_add:", on_click=kept.keep, key="keep_a")
        query = link.elsewhere(PAGE)
        st.page_link(PAGE, label=_("Compare A and B"), icon=":material/table:", query_params=query)


def _what_to_do() -> None:
    which_is_a()
    label = _("Show A's picture beside each of B's")
    st.toggle(label, **link.hidden_view("beside", link.value("beside")))
    with st.container(horizontal=True, gap="small"):
        press(_("Swap A and B"), "swap_a_b", kept.swap, icon="swap_vert")
        press(_("Remove A"), "drop_a", kept.drop, kept.index(), icon="delete")


def which_is_a() -> None:
    """One of those that are kept."""
    names = [each.name for each in kept.all_kept()]
    if len(names) > 1:
        st.selectbox(
            _("A"),
            range(len(names)),
            format_func=names.__getitem__,
            **link.hidden_view("compared_with", kept.index(), tuple(names)),
        )
