"""An encoder–decoder, live: a source is read whole, and a target is written token by token."""

import pages.ui.entrance  # noqa: F401

from collections.abc import Callable
from functools import partial

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.forward_pass.watch import the_pass
from pages.panels.inputs import input_fold
from pages.panels.parameter_table import draw_parts, part_facts, what_it_is_made_of
from pages.panels.seq2seq import architectures_picture, decoding_picture, inputs, search, shared
from pages.panels.seq2seq.alignment import alignment
from pages.panels.seq2seq.architectures import task_facts, three_architectures, what_they_learn_from
from pages.panels.seq2seq.attention import who_reads_whom
from pages.panels.seq2seq.decoding import how_it_is_written
from pages.panels.seq2seq.memory import memory
from pages.panels.seq2seq.missing import when_the_source_is_missing
from pages.panels.seq2seq.search import Standing, candidate_facts, search_facts
from pages.ui import cached, panel
from pages.ui.chart import drawn
from pages.ui.choices import chooses
from pages.ui.explain import note
from pages.ui.export import Tables, from_one, take_away
from pages.ui.frame import must_fit, recorded, show_page, shown_run, subtitle
from pages.ui.panel import Panel
from pages.ui.words import take_away_caption

TITLE = N_("Encoder and decoder: a translator")


def body() -> None:
    """The source, and the questions."""
    base = shown_run(Architecture.ENCODER_DECODER, panel.fields(PANELS))
    source(base)
    must_fit(search.longest(base))
    here = search.written(search.current_search(base))
    run = search.run_of(here)
    recorded(run)
    subtitle(shared.summary(run))
    panel.show(PANELS, run, here, files=what_to_take)


def source(run: Run) -> None:
    """The source, and who may see whom, on one line that opens to change them."""
    fold = input_fold(run)
    if not fold.open:
        return
    left, right = fold.columns([6, 4])
    with left:
        inputs.source_controls(run)
    with right:
        inputs.target_mask_controls()
        inputs.link_to_training()


def of_a_run(draw: Callable[[Run], None]) -> Callable[[Run, Standing], None]:
    """A panel about source and target as they stand."""
    return lambda run, here: draw(run)


@chooses("token", "target_token")
def two_tokens(run: Run, _here: Standing) -> None:
    """The tokens of source and target that are outlined."""
    inputs.token_choices(run)


def what_it_is_made_of_here(run: Run) -> None:
    """The parameters, and the share of the three attentions."""
    what_it_is_made_of(run)
    note(shared.attention_share_note(run.config))


def what_to_take(run: Run, here: Standing) -> None:
    """Tables, pictures and configuration, to keep."""
    tables: Tables = {
        "search": lambda: search_facts(here).nodes,
        "next_tokens": lambda: candidate_facts(here).candidates,
        "flow": from_one(partial(cached.whole_flow, run), "layer"),
        "architectures": lambda: task_facts(run).table,
        "parameters": partial(cached.parameters, run.config),
    }

    def pictures() -> list[Picture]:
        return [
            *([drawn(decoding_picture.tree, here, facts=search_facts)] if here.n else []),
            drawn(decoding_picture.choices, here, facts=candidate_facts),
            drawn(architectures_picture.flops, run, facts=task_facts),
            drawn(draw_parts, run, False, facts=part_facts),
        ]

    take_away(run.config, tables, pictures, take_away_caption(run))


PANELS = (
    Panel(
        "decoding",
        N_("How is the target generated?"),
        lambda run, here: how_it_is_written(here),
        fields=("n_layers", "n_decoder_layers", "d_model", "n_heads"),
    ),
    Panel(
        "attention",
        shared.ATTENTIONS,
        of_a_run(who_reads_whom),
        two_tokens,
        fields=("n_layers", "n_decoder_layers", "n_heads", "n_kv_heads", "position_kind"),
    ),
    Panel(
        "watch",
        N_("How does the text flow through both halves?"),
        of_a_run(the_pass),
        fields=("n_layers", "n_decoder_layers", "n_heads"),
    ),
    Panel(
        "alignment",
        shared.ALIGNMENT,
        of_a_run(alignment),
        two_tokens,
        fields=("n_decoder_layers", "n_heads"),
    ),
    Panel(
        "encoder-output",
        N_("What does the encoder output?"),
        of_a_run(memory),
        two_tokens,
        fields=("n_layers", "d_model", "n_heads"),
    ),
    Panel(
        "without-source",
        N_("What happens without the source?"),
        when_the_source_is_missing,
        fields=("n_layers", "n_decoder_layers"),
    ),
    Panel(
        "parameters",
        N_("Parameters"),
        of_a_run(what_it_is_made_of_here),
        fields=(
            "n_layers",
            "n_decoder_layers",
            "d_model",
            "n_kv_heads",
            "d_ff",
            "share_embeddings",
            "tie_embeddings",
        ),
    ),
    Panel(
        "architectures",
        N_("Which architecture?"),
        of_a_run(three_architectures),
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
    ),
    Panel(
        "pretraining",
        N_("What is each architecture trained to do?"),
        lambda *_values: what_they_learn_from(),
        fields=("n_layers", "d_model"),
    ),
)

show_page(TITLE, body, Architecture.ENCODER_DECODER)
