"""The frame of every page: menu, language, controls, share, and the device at work."""

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import streamlit as st

from blocks import ConfigError, Fault, Recording
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.model.shipped import shipped
from blocks.observe.run import Run
from pages.lessons import following, joining, lecturing
from pages.page import bringing, device_line, opening, sidebar
from pages.page.compare import keeping
from pages.server import brought, cached, metrics, pasted, ready, room, settings, starts, uploads
from pages.server.address import page_here
from pages.server.turns import one_at_a_time
from pages.session.slot import Slot
from pages.show import beside, mixers
from pages.show.inputs import current_run, shorten
from pages.show.interventions import controls as changes
from pages.show.phone import fingers_point
from pages.show.share import what_to_share
from pages.show.ways import refused, way
from pages.stage import lecture, link, moves, present, progress, weights
from pages.stage.hidden import is_hidden
from pages.stage.press import press
from pages.stage.stated import stated
from pages.state import fields
from pages.words.language import LANGUAGES, _, current_language, enumeration, literal, say_fault

HOME = "app.py"
# Whole models at the left, their parts at the right.
MENU = (
    (
        (HOME, N_("Home"), ":material/home:"),
        ("pages/forward_pass.py", N_("One pass"), ":material/animation:"),
        ("pages/block.py", N_("One block"), ":material/view_agenda:"),
        ("pages/gpt.py", N_("GPT"), ":material/edit_note:"),
        ("pages/encoder.py", N_("Encoder"), ":material/layers:"),
        ("pages/seq2seq.py", N_("Translator"), ":material/translate:"),
        ("pages/training.py", N_("Training"), ":material/model_training:"),
        ("pages/phases.py", N_("Phase changes"), ":material/timeline:"),
    ),
    (
        ("pages/attention.py", N_("Attention"), ":material/visibility:"),
        ("pages/feed_forward.py", N_("Feed-forward"), ":material/hub:"),
        ("pages/normalization.py", N_("Norms"), ":material/balance:"),
        ("pages/masks.py", N_("Masks"), ":material/grid_on:"),
        ("pages/positions.py", N_("Positions"), ":material/waves:"),
        ("pages/parameters.py", N_("Parameters"), ":material/functions:"),
        ("pages/cost.py", N_("Cost"), ":material/speed:"),
        ("pages/scaling.py", N_("Scaling lab"), ":material/stacked_line_chart:"),
        ("pages/efficiency.py", N_("Efficiency"), ":material/compress:"),
        ("pages/compare.py", N_("Compare"), ":material/compare:"),
        ("pages/instruments.py", N_("Test chart"), ":material/fact_check:"),
    ),
)
PAGE_OF_PART = {
    "attention": "pages/attention.py",
    "feed_forward": "pages/feed_forward.py",
    "norm": "pages/normalization.py",
    "position": "pages/positions.py",
}
# With one of these all is drawn anew: the head shows it, or another panel has widgets of its own.
SEEN_AROUND = ("panel", "run", "hide", "present", "lesson", "kept", "compared_with", "beside")
ICON = str(shipped("icon.svg"))
FIRST_SHOWN = {
    Architecture.BLOCK: link.FIRST_ON_HOME,
    Architecture.GPT: link.FIRST_ON_HOME,
    Architecture.ENCODER: "masked-words",
    Architecture.ENCODER_DECODER: "translator",
    None: link.FIRST_ON_HOME,
}
SURROUNDINGS = Slot[tuple[Any, ...]]("surroundings", ())
FIRST_COUNTED = "gpt2-small"
DEFAULT_MASK: dict[Architecture | None, str] = {
    Architecture.GPT: "causal",
    Architecture.ENCODER_DECODER: "causal",
}


@partial(one_at_a_time, can_wait=True)
def show_page(
    title: str,
    body: Callable[..., None],
    architecture: Architecture | None = None,
    *,
    first_shown: str = "",
    is_calm: bool = False,
) -> None:
    """Draw a page: what surrounds it, and its body, which reruns alone.

    `architecture` is what the page shows, whatever the model was published as; None: each model
    as what it is. `first_shown`: the preset where the link names none. `is_calm`: with the
    sidebar folded away.
    """
    fields.DEFAULT_MASK.keep(DEFAULT_MASK.get(architecture))
    fields.DEFAULT_PRESET.keep(first_shown or FIRST_SHOWN[architecture])
    _surround(title, is_calm=is_calm)
    _body(body)
    cached.settle_process(title)


def _surround(title: str, *, is_calm: bool) -> None:
    """Menu, language, link and title: what stays where a control of the page is moved."""
    cached.prepare_process()
    uploads.bound_those_of_readers()
    metrics.keep()
    if settings.data_folder():
        ready.listen()
    link.TITLE.keep(title)
    joining.begin_page()
    following.begin_page()
    lecture.begin_page()
    link.sync(page_here(), _completed)
    lecture.carry()
    if not _is_home():  # which ends every lesson
        progress.end_elsewhere(page_here())
    progress.begin_page()
    st.set_page_config(
        page_title="Blockscope",
        page_icon=ICON,
        layout="wide",
        initial_sidebar_state="collapsed" if is_calm or _needs_no_sidebar() else 320,
    )
    with st.sidebar:
        _head()
    if lecturing.reads_notes():
        return
    if present.is_on():
        present.head(_(title))
    else:
        _page_head(_(title))
        present.wait_until_small()


def _completed(query: dict[str, str]) -> dict[str, str]:
    """What a link stands for: the step of a lesson, or the model that Home opens with."""
    return progress.completed(opening.completed(query) if _is_home() else query)


def _is_home() -> bool:
    return page_here() == link.HOME_PAGE


def _body(draw: Callable[..., None]) -> None:
    """All that answers to what is set: it reruns alone, but in a lesson or where it is presented.

    There what surrounds it changes with it.
    """

    @one_at_a_time
    @functools.wraps(draw)
    def body() -> None:
        faults = link.keep_in_step()
        if _surroundings() != SURROUNDINGS.get():
            st.rerun(scope="app")
        beside.forget()
        present.forget_panels()
        refused = link.refused() and brought.lacking(link.refused())
        for fault in faults:
            if fault != refused:
                st.warning(_adjusted(fault))
                _ways_to_the_nearest(fault)
        if lecturing.reads_notes():
            lecturing.show_notes()
        elif refused:
            _in_place_of_the_page(refused)
        else:
            draw(**stated(draw))
        moves.forget_gone()

    SURROUNDINGS.keep(_surroundings())
    (body if progress.now() or present.is_on() else st.fragment(body))()


def _surroundings() -> tuple[Any, ...]:
    return (current_language(), *map(link.value, SEEN_AROUND))


def shown_run(architecture: Architecture | None, first: Sequence[str] = ()) -> Run:
    """Draw the settings, and return the run of this architecture that the reader has set.

    `first`: the fields of those that stand first.
    """
    with_settings(lambda: sidebar.architecture(architecture, first))
    run = current_run(architecture)
    if said := mixers.says_shown(run.config, link.config().token_mixer):
        st.info(said, icon=":material/info:")
    if not progress.now() and not present.is_on() and weights.is_another_model(architecture):
        _way_to_the_trained_model()
    beside.note(architecture, run)
    return run


def counted_run(first: Sequence[str], *, is_read: bool = True) -> Run:
    """As `shown_run`, of whole models in their own architecture and of any size.

    Where nothing `is_read` of the model, only the seed is to be set.
    """
    names, kind = starts.names_to_count(), _of_two()
    with_settings(lambda: sidebar.architecture(kind, first, names) if is_read else sidebar.seed())
    run = current_run(kind)
    beside.note_counted(run)
    return run


def with_settings(draw: Callable[[], None]) -> None:
    """What is set in the sidebar, unless a teacher hides it."""
    if not (is_hidden("settings") or progress.is_blank()):
        with st.sidebar:
            draw()


def _way_to_the_trained_model() -> None:
    """Say that the chosen model has learned nothing for this page, and lead to the one that has."""
    text = _(
        "**Random weights**: {model} has no weights trained for this page, so its output is "
        "meaningless."
    )
    with st.container(horizontal=True, vertical_alignment="center", key="without_weights"):
        st.markdown(text.format(model=literal(_(weights.started_from().title))), width="content")
        way(_("Open the trained model"), "to_trained", preset=fields.default_preset())


def _of_two() -> Architecture | None:
    kind = link.config().architecture
    return kind if kind is Architecture.ENCODER_DECODER else None


def _needs_no_sidebar() -> bool:
    """Whether a panel is presented, or a lesson asks for no setting."""
    lesson = progress.now()
    return present.is_on() or bool(lesson and not lesson.asks_for_settings)


def _page_head(title: str) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="page_head"):
        st.title(title, width="stretch")
        keeping()
        present.way_in()
        with st.container(width="content"):
            _share()


def subtitle(text: str) -> None:
    """What the page runs, in one line; a projector has room for it only where A stands beside B.

    It is no place to look up what a lesson asks, and a lesson begins as high up as it can.
    """
    lesson = progress.now()
    if lesson and (lesson.is_withheld or not beside.found()):
        return
    if beside.found() or not present.is_on():
        st.caption(text)


def _adjusted(fault: Fault) -> str:
    """What could not be, and what is used instead."""
    said = _("Adjusted: {what}").format(what=say_fault(fault))
    config = link.config().flat() if fault.mend else {}
    now = enumeration(f"{name} = {config[name]}" for name in fault.mend)
    return f"{said} → {now}" if now else said


def _in_place_of_the_page(fault: Fault) -> None:
    """Why the model of the link cannot run here, and the ways to one that can."""
    name = literal(brought.title(link.refused()))
    st.error(f"{name} · {say_fault(fault)}", icon=":material/block:")
    _ways_to_count(brought.find(link.refused()))
    model = _(starts.start(fields.default_preset()).title)
    way(_("Open {model}").format(model=model), "to_shipped", preset=fields.default_preset())
    bringing.fold_of_ways()


def _ways_to_count(found: brought.Brought | None) -> None:
    """Of a model too large to run, what needs no weights: its parameters and its cost."""
    if found is None or found.counted is None:
        return
    preset = pasted.preset_of(brought.title(link.refused()), found.counted)
    text = _(
        "Its parameters and its cost can be counted from its configuration alone, without weights."
    )
    st.caption(text)
    with st.container(horizontal=True, key="ways_to_count"):
        for path, label in (
            ("pages/parameters.py", _("Count its parameters")),
            ("pages/cost.py", _("Calculate its cost")),
        ):
            query = {**link.elsewhere(path), "preset": preset}
            st.page_link(path, label=label, icon=":material/functions:", query_params=query)


def _ways_to_the_nearest(fault: Fault) -> None:
    """Where a link names a model that is not here, those that it may have meant."""
    if fault.text != link.NO_SUCH_MODEL:
        return
    with st.container(horizontal=True, key="nearest_models"):
        for name in str(fault.values["near"]).split(", "):
            way(_("Open {model}").format(model=name), f"nearest_{name}", preset=name)


def _head() -> None:
    with st.container(gap=None, key=present.MARK if present.is_on() else None):
        _name_and_language()
        fingers_point()
    if is_hidden("menu"):
        return
    queries = link.menu(path for links in MENU for path, _label, _icon in links)
    if progress.now():
        queries.update([progress.way_home()])
    with st.container(horizontal=True, gap="xxsmall"):
        columns = [st.container(gap="xxsmall") for _links in MENU]
    for column, links in zip(columns, MENU, strict=True):
        for path, label, icon in links:
            column.page_link(_page(path, icon), label=_(label), query_params=queries[path])


def _name_and_language() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("### Blockscope", width="stretch")
        st.segmented_control(
            _("Language"),
            list(LANGUAGES),
            format_func=LANGUAGES.__getitem__,
            required=True,
            label_visibility="collapsed",
            **link.view("lang", current_language()),
        )


@functools.lru_cache(maxsize=sum(map(len, MENU)))
def _page(path: str, icon: str) -> st.Page:
    """What a link of the menu leads to: a path would be looked up on the disk at every rerun."""
    return st.Page(path, icon=icon, default=path == HOME)


def link_to_part(part: str, **more: str) -> None:
    """The way to the page on which a part is taken apart, where it has one; `more` is set there."""
    if page := PAGE_OF_PART.get(part):
        label = next(label for links in MENU for path, label, _icon in links if path == page)
        text = _("Look inside: {page}").format(page=_(label))
        query = {**link.elsewhere(page), **more}
        st.page_link(page, label=text, icon=":material/zoom_in:", query_params=query)


def section(draw: Callable[..., None]) -> Callable[..., None]:
    """Make a fragment that writes the link before it draws."""
    return st.fragment(_in_step_with_the_link(draw))


def live_section(draw: Callable[..., None], *values: Any, every: float | None) -> None:
    """Draw a fragment that also reruns every so many seconds (None: never)."""
    st.fragment(_in_step_with_the_link(draw), run_every=every)(*values)


def _in_step_with_the_link(draw: Callable[..., None]) -> Callable[..., None]:
    @one_at_a_time
    @functools.wraps(draw)
    def section_draw(*args: Any, **kwargs: Any) -> None:
        if link.must_redraw():
            st.rerun(scope="app")
        link.write()
        with metrics.timed(draw):
            draw(*args, **{**kwargs, **stated(draw)})

    return section_draw


@section
def _share() -> None:
    """The link, as it is when it is asked for: other sections change it, and rerun alone."""
    if st.button(_("Share"), icon=":material/share:", key="share"):
        st.dialog(_("Share"))(_in_step_with_the_link(_shared))()


def _shared() -> None:
    what_to_share()
    lecturing.offer_notes()
    press(_("Reset to defaults"), "reset", _back_to_the_start, icon="restart_alt")


def _back_to_the_start() -> None:
    link.reset()
    for name, text in opening.first(link.value("lang") or "").items() if _is_home() else ():
        link.change(name, text)
    link.redraw_everything()


def recorded(run: Run) -> Recording:
    """Record the run and note its device; refuse a run that cannot be, and end the page."""
    seen = ran(run)
    st.sidebar.caption(device_line.says_run(run, seen))
    changes.note(run)
    _about_weights(run)
    return seen


def _about_weights(run: Run) -> None:
    """Say beside the result where a change made the weights random or left layers out; undo it."""
    changed = weights.lost_to(run.config.architecture)
    n_layers = weights.started_from().config.n_layers if run.weights else 0
    lesson = progress.now()
    if run.weights and run.config.n_layers < n_layers:
        text = _("Only the first {n} of the {all} trained layers run.")
        text = text.format(n=run.config.n_layers, all=n_layers)
    elif changed and not run.weights and not (lesson and {*changed} <= {*dict(lesson.step.set)}):
        text = _(
            "The weights are random and the answers meaningless, because the trained weights "
            "do not fit the changed {names}."
        )
        text = text.format(names=enumeration(changed))
    else:
        return  # a lesson that wants random weights says so itself
    with st.container(horizontal=True, vertical_alignment="center", key="lost_weights"):
        st.markdown(f":orange[:material/warning:] {text}", width="content")
        press(
            _("Back to the trained model"),
            "retrieve_weights",
            weights.back_to_trained,
            icon="undo",
            type="tertiary",
        )


def ran(run: Run) -> Recording:
    """Record the run without the sidebar's device line, as fragments do."""
    must_fit(run)
    if cached.is_recorded(run):
        return cached.recording(run)
    try:
        with st.spinner(_("The model is running …"), show_time=True):
            return cached.recording(run)
    except ConfigError as error:
        faults = error.faults
    refuse(faults)


def must_fit(run: Run) -> None:
    """Wait until there is memory for the run; where it cannot be, say why, and end the page."""
    _must(partial(room.hold_run, run))


def must_have(n_bytes: int, device: str) -> None:
    """As `must_fit`, for what takes so many bytes of its device beside the run of the page."""
    _must(partial(room.hold_bytes, n_bytes, device))


def _must(take: Callable[[], None]) -> None:
    try:
        take()
        return
    except ConfigError as error:
        faults = error.faults
    refuse(faults)


def refuse(faults: Sequence[Fault]) -> NoReturn:
    """Say what cannot be, offer each mend as a button, and end the page."""
    for i, fault in enumerate(faults):
        refused(fault, f"mend_{i}", change=_change)
    if any("budget" in fault.values for fault in faults):
        st.caption(device_line.says_budget(link.value("device")))
    moves.forget_gone()
    st.stop()


def _change(name: str, value: Any) -> None:
    """Set a field; the length of what goes in is that of a text, or of a random tensor."""
    if name == "seq_len":
        shorten(value)
    else:
        link.change(name, value)
