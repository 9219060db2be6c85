"""How the next token is chosen, and how far the text is written."""

import streamlit as st

from blocks.observe.run import Run
from blocks.text.sampling import SamplingConfig
from pages.ui import link
from pages.ui.controls import enter, slide, slider
from pages.ui.generated import Writer, labels
from pages.ui.language import _, current_language
from pages.ui.settings import MAX_NEW_TOKENS

AT_A_PRESS = 20
TOP_K = (0, 1, 2, 3, 5, 8, 10, 20, 50, 100, 200, 500)


def current_sampling() -> SamplingConfig:
    """What the state asks for."""
    return SamplingConfig(
        temperature=link.value("temperature"),
        top_k=link.value("top_k") or None,
        top_p=link.value("top_p"),
    )


def sampling_controls() -> None:
    """Temperature, top-k, top-p: the model does not run again for any of them."""
    slider("temperature", _("temperature · 0 is greedy"), link.value("temperature"), step=0.05)
    slide("top_k", _("top_k · 0 keeps all"), TOP_K, link.value("top_k"))
    slider("top_p", _("top_p · 1 keeps all"), link.value("top_p"), step=0.01)


def writing_controls(writer: Writer) -> None:
    """Step, play, stop, start again; how many tokens, and the seed of the draws."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="writing"):
        _to("step", _("Generate · one token"), ":material/skip_next:", 1)
        _to(
            "play",
            _("Generate · {n} tokens").format(n=AT_A_PRESS),
            ":material/play_arrow:",
            AT_A_PRESS,
        )
        st.button(_("Stop"), icon=":material/stop:", key="stop", on_click=_stop, args=(writer,))
        st.button(
            _("Start again"),
            icon=":material/restart_alt:",
            key="start_again",
            on_click=link.change,
            args=("n_new_tokens", 0),
        )
        enter("n_new_tokens", _("New tokens"), link.value("n_new_tokens"), width=130)
        enter("sampling_seed", _("Sampling seed"), link.value("sampling_seed"), width=150)


def _to(key: str, label: str, icon: str, more: int) -> None:
    n = link.value("n_new_tokens")
    st.button(
        label,
        icon=icon,
        key=key,
        type="primary" if key == "play" else "secondary",
        disabled=n >= MAX_NEW_TOKENS,
        on_click=link.change,
        args=("n_new_tokens", min(n + more, MAX_NEW_TOKENS)),
    )


def _stop(writer: Writer) -> None:
    """The text stays as long as it has become."""
    link.change("n_new_tokens", min(link.value("n_new_tokens"), len(writer.tokens)))


def new_token_choice(run: Run, writer: Writer, n_tokens: int) -> None:
    """Which new token is opened: by name here, or by a click on its bar."""
    names = labels(run, writer.tokens[:n_tokens])
    options = range(n_tokens + 1)
    with st.container(key="new_token"):
        st.selectbox(
            _("New token to inspect"),
            options,
            format_func=lambda i: f"{i} · {names[i - 1]}" if i else _("the newest"),
            **link.view(
                "new_token",
                min(link.value("new_token"), n_tokens),
                (tuple(names), current_language()),
            ),
        )


def opened_token(n_tokens: int) -> int:
    """Its index among the new tokens: the reader's, or else the newest."""
    chosen = link.value("new_token")
    return (chosen if 0 < chosen <= n_tokens else n_tokens) - 1


def open_token(customdata: list) -> None:
    """A bar was clicked."""
    link.change("new_token", int(customdata[0]) + 1)


def pin_position(customdata: list) -> None:
    """A cell or bar that stands for a position was clicked."""
    link.change("token", int(customdata[0]))
    link.redraw_everything()
