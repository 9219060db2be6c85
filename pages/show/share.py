"""Share: the link to the open panel, as text and as a code for the camera of a phone."""

import io
from collections.abc import Mapping
from urllib.parse import urlencode

import segno
import streamlit as st

from blocks.model.faults import N_, ConfigError
from pages.server import address, cached, ready
from pages.session.slot import Slot
from pages.stage import hidden, lecture, link
from pages.state.link_fields.lessons import LEFT, OF_THE_LEADER
from pages.state.link_fields.share import LECTURE
from pages.words.language import _, say_fault

REACH = {
    "machine": N_(
        "The link works on this machine only. To let others in, start Blockscope with "
        "`--server.address 0.0.0.0` and open this page again."
    ),
    "network": N_("The link works within the local network, unless a firewall blocks it."),
    "anywhere": "",
}
ALL = "all"  # in the link, in the place of a panel
OPEN_PANEL, OPEN_TITLE = Slot("open_panel", ("", "")), Slot("open_title", "")  # page, panel
LONGEST = 1273  # bytes in a code of 117 × 117 squares: beyond, a camera at the back sees none
SIDE = 380  # pixels: large enough for the back row, and a popover fits a screen of 900


def note_panel(name: str, title: str) -> None:
    """The panel that is open now: a link names it, though the page would open it by itself."""
    OPEN_PANEL.keep((link.page(), name))
    OPEN_TITLE.keep(title)


def what_to_share() -> None:
    """The link, the code, and how far both reach; beside it, the reader's own lecture."""
    panel, query = _open_panel(), _query()
    if not panel or query["panel"] == ALL:
        _this_panel(query)
        return
    this, lectured = st.tabs([_("This panel"), _("My lecture")])
    with this:
        _this_panel(query)
    with lectured:
        lecture.draw(OPEN_TITLE.get(), panel, query)
        _say_reach()


def _say_reach() -> None:
    if reach := REACH[address.of_this_page().reach]:
        st.caption(_(reach))


def _this_panel(query: Mapping[str, str]) -> None:
    whole = whole_link()
    st.markdown(_("This link opens this panel as you see it, with its settings, input and seed."))
    if "run" in query:
        text = _("Anyone who opens it can watch this same training run live, without waiting.")
        st.caption(text)
    _say_reach()
    _code_for_a_camera(whole)
    st.code(whole, language=None, wrap_lines=True)
    hidden.choice()
    st.link_button(_("Preview"), whole, icon=":material/open_in_new:", type="tertiary")
    _for_a_class()


def _for_a_class() -> None:
    """What a teacher presses before the lesson; where nothing was run there is nothing to make."""
    if not cached.own_runs():
        return
    place = st.empty()
    if place.button(_("Prepare for a class"), icon=":material/school:", key="make_ready"):
        try:
            ready.make_ready()
        except ConfigError as error:
            place.warning(say_fault(error.faults[0]), icon=":material/block:")
            return
        text = _(
            "Ready: the results behind this link have been computed and are kept for {n} "
            "hours, so a class that opens it does not have to wait."
        )
        place.success(text.format(n=ready.HOURS), icon=":material/school:")


def whole_link() -> str:
    return _asked_for(address.of_this_page())


def _asked_for(found: address.Address) -> str:
    query = urlencode(_query(), errors="replace")
    return f"{found.text}?{query}" if query else found.text


def _open_panel() -> str:
    page, panel = OPEN_PANEL.get()
    return panel if page == link.page() else ""


def _query() -> dict[str, str]:
    named = {"panel": panel} if (panel := _open_panel()) else {}
    not_theirs = (*LEFT, *OF_THE_LEADER, *LECTURE)
    own = {name: text for name, text in link.here().items() if name not in not_theirs}
    found = {**named, **own} if own.get("panel") == ALL else {**own, **named}
    return {**found, **hidden.query_for_others()}


def _code_for_a_camera(text: str) -> None:
    n = len(text.encode())
    if n > LONGEST:
        text = _(
            "A link of {n:,} characters is too long for a QR code that cameras read easily: "
            "at most {most:,} are allowed."
        )
        st.caption(text.format(n=n, most=LONGEST))
        return
    st.image(qr_code(text), width=SIDE, alt=_("QR code of the link below"))


def qr_code(text: str) -> str:
    """Dark on white in both themes, with the quiet margin that cameras need, as SVG."""
    code, drawn = segno.make(text, error="l", micro=False), io.BytesIO()
    code.save(drawn, kind="svg", scale=4, border=4, dark="#000", light="#fff", xmldecl=False)
    return drawn.getvalue().decode()
