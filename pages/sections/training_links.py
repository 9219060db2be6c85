"""Where a decoder looks in its source, as the model learns."""

from blocks.inspection import linked
from blocks.inspection.two_texts import AttentionKind
from blocks.training.training_run import TrainingRun
from pages.figures import births
from pages.sections.seq2seq_attention import three_attentions
from pages.sections.training_heads import open_point, step_choice
from pages.ui import head_words, link, watched
from pages.ui.chart import show
from pages.ui.explain import heading, note
from pages.ui.language import _
from pages.ui.seq2seq import measured


def how_links_come_to_be(run: TrainingRun) -> int:
    """Cross-attention on the right tokens over all kept steps, and all heads at one of them.

    Returns the step that is looked at.
    """
    concepts, code = ("cross_attention", "word_alignment"), (linked.linked_shares,)
    heading(_("How attention comes to be"), concepts, code, key="births")
    step = step_choice(run)
    seen = watched.own_pair(run, step)
    which = measured.chosen_of(seen, AttentionKind.CROSS)
    shown = run.id, run.snapshots.steps, which.layer, which.head, step
    alt, on_click = linked_sentence, _open_point
    show(draw_linked, *shown, key="linked_births", alt=alt, on_click=on_click)
    right_ones = _("The right tokens are the source tokens that determine the answer there.")
    note(f"{linked_sentence(*shown)} {right_ones}")
    three_attentions(seen)
    return step


def draw_linked(run_id: str, kept: tuple, layer: int, head: int, step: int):
    """The weight of every head of cross-attention on the right tokens, at every kept step."""
    return births.heads_over_steps(
        watched.linked_by_step(run_id, kept),
        selected=watched.cross_number(run_id, layer, head),
        now=step,
        title=head_words.measure_title("linked"),
        _=_,
    )


def linked_sentence(run_id: str, kept: tuple, *_shown: int) -> str:
    """Which head of cross-attention looks at the right tokens, and since when."""
    return head_words.births_sentence(watched.linked_by_step(run_id, kept), "linked")


def _open_point(customdata: list) -> None:
    """A point of a line was clicked: its head of cross-attention, at its step."""
    link.change("attention_of", str(AttentionKind.CROSS))
    open_point(customdata)
