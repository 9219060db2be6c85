"""The trained model: opened elsewhere, taken away, trained again in a terminal."""

import json

import streamlit as st

from blocks.model.kinds import Architecture
from blocks.training.command_line import command_line
from blocks.training.examples import openings
from blocks.training.training_run import TrainingRun
from pages.panels.training.heads import kept_step, step_choice
from pages.server import runs, starts
from pages.show import everything
from pages.show.explain import note
from pages.show.export import download
from pages.stage import link
from pages.state.values import State
from pages.words.language import _, current_language

PAGES = {
    Architecture.GPT: (("pages/gpt.py", ":material/edit_note:"),),
    Architecture.ENCODER: (("pages/encoder.py", ":material/layers:"),),
    Architecture.ENCODER_DECODER: (("pages/seq2seq.py", ":material/translate:"),),
}
BLOCK = ("pages/block.py", ":material/view_agenda:")


def what_it_became(run: TrainingRun, state: State) -> None:
    """The model at the kept step that is looked at."""
    step = kept_step(run, state) if everything.is_all() else step_choice(run, state)
    _openings(run, step)
    _files(run, step)
    is_alone = run.spec.teaching is None and run.spec.origin is None
    if is_alone:  # another model lies where a terminal may not find it
        _in_a_terminal(run)


def _in_a_terminal(run: TrainingRun) -> None:
    with st.expander(_("Do the same in a terminal"), key="terminal"):
        note(
            _(
                "The same settings give the same losses on the same kind of machine. Save "
                "your text as text.txt."
            )
            if run.spec.task.text is not None
            else _("The same settings give the same losses on the same kind of machine.")
        )
        st.code(command_line(run.spec), language="bash", wrap_lines=True)


def _openings(run: TrainingRun, step: int) -> None:
    text = _("Open the model as of step {step:,} on a page that shows it in full:")
    st.markdown(text.format(step=step))
    text = openings(starts.build_task_once(run.spec.task))[current_language()]
    wanted = {"preset": runs.preset_of(run.id), "at_step": str(step), "text": text}
    if language := link.as_query().get("lang"):
        wanted["lang"] = language
    labels = {
        "pages/gpt.py": _("As a GPT"),
        "pages/encoder.py": _("As an encoder"),
        "pages/seq2seq.py": _("As an encoder–decoder"),
    }
    with st.container(horizontal=True, key="openings"):
        architecture = run.spec.config.architecture
        alone = () if architecture is Architecture.ENCODER_DECODER else (BLOCK,)
        for page, icon in (*PAGES[architecture], *alone):
            label = labels.get(page, _("Layer by layer"))
            st.page_link(page, label=label, icon=icon, query_params=wanted)


def _files(run: TrainingRun, step: int) -> None:
    """Weights, curves and settings, to keep."""
    with st.container(horizontal=True, key="files"):
        download(
            f"step-{step}.safetensors",
            lambda: starts.model_of_run(run, step).to_bytes(),
            "application/octet-stream",
        )
        download("curves.csv", lambda: run.log.curves().to_csv(index=False), "text/csv")
        download("evaluations.csv", lambda: run.log.scores().to_csv(index=False), "text/csv")
        download("training.json", lambda: json.dumps(run.spec.plain(), indent=2), "text/json")
