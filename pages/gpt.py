"""A GPT, live: the tokens it reads, the one that comes next, and the text it writes."""

import pages.ui.entrance  # noqa: F401

from functools import partial

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.gpt import (
    drafts,
    growing,
    kv_cache,
    leave_one_out,
    logit_lens,
    logit_lens_picture,
    next_token,
    next_token_picture,
    shared,
    surprise,
    surprise_picture,
    tokens_read,
    two_answers,
    writing,
    writing_picture,
)
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.panels.parameter_table import draw_parts, part_facts, what_it_is_made_of
from pages.ui import cached, labelled, words
from pages.ui.chart import drawn
from pages.ui.declared import overflowed
from pages.ui.export import Tables, take_away
from pages.ui.panel import Panel

TITLE = N_("GPT: the next token")


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    if overflowed(run):
        return
    text = growing.text_so_far(run, shared.current_sampling())
    position = labelled.pinned_token(run)
    tables: Tables = {
        "tokens": tokens_read.read_tokens,
        "next_tokens": partial(next_token.whole_vocabulary, run, position, text.sampling),
        "written": lambda: growing.new_tokens(*text).table(),
        "lens": partial(logit_lens.whole_table, run),
        "surprise": lambda: surprise.surprise_facts(run, position).table(),
        "parameters": partial(cached.parameters, run.config),
    }
    figures = partial(pictures, text, position)
    take_away(run.config, tables, figures, words.take_away_caption(run))


def pictures(text: growing.Text, position: int) -> list[Picture]:
    """All that is drawn, those of new tokens where there are any."""
    run, after = text.run, (text.run, position, text.sampling)
    attends = run.config.has_attention
    found = [
        drawn(next_token_picture.bars, *after, facts=next_token.next_facts),
        drawn(logit_lens_picture.grid, run, position, facts=logit_lens.lens_facts),
        drawn(logit_lens_picture.ranks, run, position, facts=logit_lens.lens_facts),
    ]
    if text.n_tokens:
        opened = *text, writing.opened_token(text)
        found += [
            drawn(draw, *opened, facts=growing.new_tokens)
            for draw in (writing_picture.chances, writing_picture.reads)[: 1 + attends]
        ]
        found.append(drawn(kv_cache.growth, *text, facts=kv_cache.cache_facts))
    if not surprise.surprise_facts(run, position).tokens.empty:
        draw = surprise_picture.bars
        found.append(drawn(draw, run, position, facts=surprise.surprise_facts))
    return [*found, drawn(draw_parts, run, False, facts=part_facts)]


PANELS = (
    Panel(
        "next",
        N_("What comes next?"),
        next_token.what_comes_next,
        of_predictions=True,
        fields=("n_layers", "d_model", "n_heads"),
    ),
    Panel(
        "leave-one-out",
        N_("Which tokens make it likely?"),
        leave_one_out.what_it_hangs_on,
        of_predictions=True,
        fields=("n_layers", "d_model", "n_heads"),
        of_attention=True,
    ),
    Panel(
        "writing",
        N_("How does it write?"),
        writing.what_is_written,
        of_predictions=True,
        fields=("n_layers", "d_model", "n_heads"),
    ),
    Panel(
        "drafts",
        N_("Could it write several tokens at once?"),
        drafts.what_is_drafted,
        of_predictions=True,
        fields=("n_mtp_modules", "n_layers", "d_model"),
    ),
    Panel(
        "tokens",
        N_("What does it read?"),
        tokens_read.what_is_read,
        fields=("n_layers", "d_model"),
    ),
    Panel(
        "kv-cache",
        N_("KV cache"),
        kv_cache.what_is_remembered,
        of_predictions=True,
        fields=(
            *("token_mixer", "attention_every", "n_layers", "n_kv_heads", "d_head"),
            *("local_window", "global_every"),
            "dtype",
        ),
    ),
    Panel(
        "logit-lens",
        N_("Logit lens"),
        logit_lens.what_each_layer_says,
        of_predictions=True,
        fields=("n_layers", "norm_placement", "tie_embeddings"),
    ),
    Panel(
        "two-answers",
        N_("Why this answer and not that?"),
        two_answers.what_decides,
        of_predictions=True,
        fields=("n_layers", "n_heads", "norm_placement"),
    ),
    Panel(
        "surprise",
        N_("What surprises it?"),
        surprise.what_surprises,
        of_predictions=True,
        fields=("n_layers", "d_model", "n_heads"),
    ),
    ablation("n_layers", "n_heads", "residual"),
    Panel(
        "parameters",
        N_("Parameters"),
        what_it_is_made_of,
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings"),
        reads_input=False,
    ),
)

show_model_page(TITLE, PANELS, architecture=Architecture.GPT, files=what_to_take)
