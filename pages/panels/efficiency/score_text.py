"""The text that smaller models are calibrated and scored on, as the reader chooses it."""

import streamlit as st

from blocks import ConfigError
from blocks.corpora.texts import decoded_text
from blocks.cost.units import bytes_text
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.expected import variant_bytes
from blocks.efficiency.own_text import OwnText
from blocks.model.faults import N_, Fault
from blocks.observe.run import Run
from pages.server import score_texts, starts
from pages.server.settings import GIB, memory_budget
from pages.session.slot import Slot, shown_by
from pages.show.controls import choose
from pages.show.explain import note
from pages.state.link_fields.efficiency import ScoreText
from pages.state.values import State
from pages.words.language import _, say_fault, sentences

NAMES = {
    ScoreText.TASK: N_("its own task"),
    ScoreText.EN: N_("an English text"),
    ScoreText.ZH: N_("a Chinese text"),
    ScoreText.SIDEBAR: N_("the text of the sidebar"),
    ScoreText.OWN: N_("a text of your own"),
}
OWN = Slot("own_score_text", "")
FAULTS = Slot[tuple[Fault, ...]]("own_score_text_faults", ())
NO_TEXT_YET = N_("Paste a text of your own, or upload one")


def measured(run: Run, state: State) -> str:
    """The whole model of a run with what it is measured on, as `starts.calibrated` takes it."""
    return measured_weights(starts.original(run.weights), state)


def measured_weights(weights: str, state: State) -> str:
    """The same by the whole weights themselves."""
    match _chosen(weights, state):
        case ScoreText.TASK:
            return starts.measured_on(weights)
        case ScoreText.SIDEBAR:
            return starts.measured_on(weights, score_texts.keep(state.text))
        case ScoreText.OWN:
            return starts.measured_on(weights, score_texts.keep(OWN.get()))
        case language:
            return starts.measured_on(weights, language)


def _chosen(weights: str, state: State) -> ScoreText:
    """What the link says; where it says nothing, the task, or what a model has for want of one."""
    said = ScoreText(state.score_text)
    if said is not ScoreText.TASK or starts.has_task(weights):
        return said
    return ScoreText(starts.text_on(starts.measured_on(weights)))


def fault(run: Run, state: State) -> Fault | None:
    """Why nothing can be measured on this text, or with this memory; None where it can."""
    weights = starts.original(run.weights)
    if found := starts.measuring_fault(weights):
        return found
    if _chosen(weights, state) is ScoreText.OWN and not OWN.get():
        return Fault(NO_TEXT_YET)
    model = starts.calibrated(measured(run, state))
    try:
        _asked = model.examiner
    except ConfigError as error:
        return error.faults[0]
    return _memory_fault(model)


def _memory_fault(model: Calibrated) -> Fault | None:
    """Whether a variant fits beside the model itself, counted before any is made."""
    need, budget = variant_bytes(model.file.config), memory_budget("cpu")
    if need <= budget:
        return None
    text = N_(
        "Making smaller versions of this model takes {need}, more than the {budget} allowed here: "
        "set BLOCKSCOPE_MEMORY_GIB to {enough} or more on the server, or choose a smaller model"
    )
    said = {"need": bytes_text(need), "budget": bytes_text(budget), "enough": -(-need // GIB)}
    return Fault(text, said)


def choice(run: Run, state: State) -> None:
    """The texts there are, the reader's own where it is chosen, and how it is used."""
    weights = starts.original(run.weights)
    if starts.measuring_fault(weights):
        return
    has_task, chosen = starts.has_task(weights), _chosen(weights, state)
    options = [str(each) for each in ScoreText if has_task or each is not ScoreText.TASK]
    choose(
        "score_text",
        _("Calibrated and scored on"),
        options,
        shown=str(chosen),
        label_of=lambda each: _(NAMES[ScoreText(each)]),
    )
    if chosen is ScoreText.OWN:
        _own_text()
    if fault(run, state) is None:
        asked = starts.calibrated(measured(run, state)).examiner
        if isinstance(asked, OwnText):
            note(says_halves(asked))


def says_halves(asked: OwnText) -> str:
    """That calibration and score share no token, and what error is told."""
    text = _(
        "The first {first:,} of its {n:,} tokens are used for calibration and the other "
        "{second:,} for scoring ({asked:,} predictions), so the two parts share no token. ± "
        "is the standard error over these predictions, treated as independent."
    )
    first, second = asked.halves
    said = text.format(n=asked.n_tokens, first=first, second=second, asked=asked.n_asked)
    return sentences(said, _("The rest of the text is not read.") if asked.n_left else "")


def _own_text() -> None:
    """Paste or upload; it stays on this server."""
    left, right = st.columns([3, 2])
    with left:
        st.text_area(
            _("Your text"),
            key="pasted_score_text",
            height=110,
            max_chars=score_texts.MOST_CHARACTERS,
            on_change=_read_pasted,
        )
    with right:
        label = _("… or a text file, preferably UTF-8")
        st.file_uploader(label, ("txt", "md"), key="uploaded_score_text", on_change=_read_uploaded)
    for each in FAULTS.get():
        st.warning(say_fault(each))
    st.caption(_("Your text stays in this session; links do not include it."))


def _read_pasted() -> None:
    FAULTS.keep(())
    OWN.keep(shown_by("pasted_score_text"))


def _read_uploaded() -> None:
    file = shown_by("uploaded_score_text")
    if file is None:
        return
    try:
        OWN.keep(decoded_text(file.getvalue()))
        FAULTS.keep(())
    except ConfigError as error:
        FAULTS.keep(error.faults)
