"""An encoder–decoder, live: a source is read whole, and a target is written token by token."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.page import panel
from pages.page.frame import must_fit, recorded, show_page, shown_run, subtitle
from pages.page.panel import Panel
from pages.panels.forward_pass.watch import the_pass
from pages.panels.inputs import input_fold
from pages.panels.parameter_table import parameters
from pages.panels.seq2seq import (
    alignment,
    architectures,
    attention,
    decoding,
    inputs,
    memory,
    missing,
    search,
    shared,
)
from pages.server import cached
from pages.show.parts import File
from pages.state.values import State

TITLE = N_("Encoder and decoder: a translator")


def body(state: State) -> None:
    """The source, and the questions."""
    base = shown_run(Architecture.ENCODER_DECODER, panel.fields(PANELS))
    source(base, state)
    must_fit(search.longest(base, state))
    here = search.written(search.current_search(base, state), state)
    run = search.run_of(here)
    recorded(run)
    subtitle(shared.summary(run))
    panel.show(PANELS, run, here)


def source(run: Run, state: State) -> None:
    """The source, and who may see whom, on one line that opens to change them."""
    fold = input_fold(run)
    if not fold.open:
        return
    left, right = fold.columns([6, 4])
    with left:
        inputs.source_controls(run, state)
    with right:
        inputs.target_mask_controls(state)
        inputs.link_to_training()


PANELS = (
    decoding.PANEL,
    attention.PANEL,
    Panel(
        "watch",
        N_("How does the text flow through both halves?"),
        the_pass,
        fields=("n_layers", "n_decoder_layers", "n_heads"),
        shows=(File(cached.whole_flow, "flow", counted=("layer",)),),
    ),
    alignment.PANEL,
    memory.PANEL,
    missing.PANEL,
    parameters(
        *("n_layers", "n_decoder_layers", "d_model", "n_kv_heads", "d_ff"),
        *("share_embeddings", "tie_embeddings"),
        note=lambda run: shared.attention_share_note(run.config),
    ),
    architectures.PANEL,
    architectures.PRETRAINING,
)

show_page(TITLE, body, Architecture.ENCODER_DECODER)
