"""The list of what is kept: names, which is A, files in and out."""

import streamlit as st

from pages.ui.compare import beside, files, kept, measured
from pages.ui.compare.fields import LONGEST_NAME, MOST_KEPT
from pages.ui.compare.pairs import PAIRS, set_pair
from pages.ui.compare.trade_offs import DIRECTIONS, MEASURES, direction, weight_format
from pages.ui.controls import choose, pick
from pages.ui.cost.amounts import in_bytes
from pages.ui.export import download
from pages.ui.language import _, say_fault

UPLOAD = "kept_file"


def ready_pairs() -> None:
    """A and B at once, by one button each."""
    for column, (name, pair) in zip(st.columns(len(PAIRS)), PAIRS.items(), strict=True):
        with column:
            st.button(
                _(pair.title),
                icon=":material/compare_arrows:",
                key=f"pair_{name}",
                on_click=set_pair,
                args=(name,),
                width="stretch",
            )
            st.caption(_(pair.why))


def rows(n: int) -> None:
    """One line a configuration."""
    chosen = kept.index()
    for i, entry in enumerate(kept.all_kept()):
        with st.container(horizontal=True, vertical_alignment="center", key=f"kept_row_{i}"):
            _name(i, entry)
            st.markdown(_counts(entry, n), width="stretch")
            _buttons(i, is_a=i == chosen)


def _name(i: int, entry: kept.Kept) -> None:
    key = f"kept_name_{i}"
    st.session_state[key] = entry.name
    label = _("Name of configuration {n}").format(n=i + 1)
    st.text_input(
        label,
        max_chars=LONGEST_NAME,
        key=key,
        on_change=_renamed,
        args=(i, key),
        label_visibility="collapsed",
        width=230,
    )


def _renamed(i: int, key: str) -> None:
    kept.rename(i, st.session_state[key])


def _counts(entry: kept.Kept, n: int) -> str:
    run = beside.run_as_it_is(entry)
    found = measured.summary(run.config, n, weight_format())
    text = _("{total:,} parameters · {memory} of weights in {weight_format}")
    return text.format(
        total=found.parameters,
        memory=in_bytes(found.weight_bytes),
        weight_format=weight_format(),
    )


def _buttons(i: int, *, is_a: bool) -> None:
    st.button(
        _("is A") if is_a else _("set as A"),
        key=f"kept_a_{i}",
        on_click=kept.choose,
        args=(i,),
        disabled=is_a,
    )
    st.button(_("set as B"), key=f"kept_b_{i}", on_click=kept.take, args=(i,))
    st.button(
        _("Remove"), icon=":material/delete:", key=f"kept_drop_{i}", on_click=kept.drop, args=(i,)
    )


def keep_and_swap() -> None:
    """What can be done with A and B from this page."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            _("Keep B in the list"),
            icon=":material/bookmark_add:",
            on_click=kept.keep_in_list,
            key="keep_b",
            disabled=len(kept.all_kept()) >= MOST_KEPT,
        )
        st.button(
            _("Swap A and B"), icon=":material/swap_horiz:", on_click=kept.swap, key="swap_here"
        )


def files_out(n: int) -> None:
    """The whole list, to take along."""
    entries = kept.all_kept()
    with st.container(horizontal=True):
        download("kept.csv", lambda: files.as_csv(entries, n, weight_format()), "text/csv")
        download("kept.toml", lambda: files.as_toml(entries), "application/toml")


def file_in() -> None:
    """A list that was taken along, back again; what is wrong with a file is said."""
    st.file_uploader(
        _("A list saved as TOML"),
        type="toml",
        key=UPLOAD,
        on_change=_uploaded,
        max_upload_size=1,
    )
    fault = st.session_state.pop("kept_file_fault", None)
    if fault is not None:
        st.error(say_fault(fault), icon=":material/block:")


def _uploaded() -> None:
    found = st.session_state[UPLOAD]
    if found is None:
        return
    try:
        kept.add(files.from_toml(found.getvalue()))
    except files.UnreadableFileError as error:
        st.session_state["kept_file_fault"] = error.fault


def axis_choice(axis: str, label: str) -> None:
    """What stands on an axis, and where on it is better."""
    pick(f"tradeoff_{axis}", label, MEASURES, label_of=lambda name: _(MEASURES[name]))
    choose(f"tradeoff_{axis}_better", _("This axis"), DIRECTIONS, label_of=direction)
