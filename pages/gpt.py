"""A GPT, live: the tokens it reads, the one that comes next, and the text it writes."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from pages.panels.gpt import (
    drafts,
    kv_cache,
    leave_one_out,
    logit_lens,
    next_token,
    surprise,
    tokens_read,
    two_answers,
    writing,
)
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.panels.parameter_table import parameters

TITLE = N_("GPT: the next token")

PANELS = (
    next_token.PANEL,
    leave_one_out.PANEL,
    writing.PANEL,
    drafts.PANEL,
    tokens_read.PANEL,
    kv_cache.PANEL,
    logit_lens.PANEL,
    two_answers.PANEL,
    surprise.PANEL,
    ablation("n_layers", "n_heads", "residual"),
    parameters("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings"),
)

show_model_page(TITLE, PANELS, architecture=Architecture.GPT)
