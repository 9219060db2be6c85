"""Who reads whom: one head as lines and as a map."""

from blocks.inspection import source
from blocks.inspection.head_facts import HeadFacts
from blocks.observe.run import Run
from pages.figures import bipartite
from pages.figures.counting import told_apart
from pages.figures.theme import Picture
from pages.panels.attention import shared
from pages.panels.heads import one_head
from pages.ui import labelled, link, present
from pages.ui.chart import columns, show
from pages.ui.controls import slider
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, sentences
from pages.ui.said import say
from pages.ui.views import pin_token

MOST_LINES, MOST_TOKENS = 16, 64


def says_most_read(facts: HeadFacts) -> str:
    """Which token is read most, over all queries."""
    text = _(
        "In {head}, {token} receives the most attention: {total:.1f} out of a total weight of"
        " {all:.0f}. Orange lines start at the pinned token {pinned}."
    )
    most = facts.most_received
    return text.format(
        head=shared.head_called(facts.layer, facts.head),
        token=shared.token(facts.run, most),
        total=facts.received[most],
        all=facts.total,
        pinned=shared.token(facts.run, facts.query),
    )


def says_lines(facts: HeadFacts, n_lines: int) -> str:
    """Which lines are drawn."""
    text = _(
        "For each token, at most the {n} largest weights are shown; those below {least:.0%} "
        "are shown only for the pinned token."
    )
    drawn = shared.says_window(facts, facts.drawn(MOST_TOKENS))
    return sentences(text.format(n=n_lines, least=bipartite.LEAST), drawn)


@section
def lines_and_map(run: Run) -> None:
    """One head, twice."""
    at = labelled.selection(run)
    with explained(("attention", "masks"), source.heads_source(), key="who_reads_whom"):
        say(says_most_read, run, *at, facts=shared.head_facts)
    left, right = columns(2)
    with left:
        n_lines = line_choice(run)
        show(draw_lines, run, *at, n_lines, key="bipartite", on_click=pin_token)
        note(says_lines(shared.head_facts(run, *at), n_lines))
    with right:
        one_head(run, *at)


def chosen_lines(run: Run) -> int:
    """How many lines leave each token."""
    return min(link.value("edges"), MOST_LINES, len(run.input.labels))


def line_choice(run: Run) -> int:
    """Choose how many."""
    most, n_lines = min(MOST_LINES, len(run.input.labels)), chosen_lines(run)
    if most > 1:
        with present.aside():
            slider("edges", _("Lines per token"), n_lines, most=most)
    return n_lines


def draw_lines(run: Run, layer: int, head: int, token: int, n_lines: int) -> Picture:
    """Tokens left and right; of a long text the part around the pinned token."""
    facts = shared.head_facts(run, layer, head, token)
    drawn = facts.drawn(MOST_TOKENS)
    return bipartite.lines(
        facts.steps.pattern[drawn.rows, drawn.rows],
        told_apart(facts.labels)[drawn.rows],
        most=n_lines,
        pinned=drawn.inside(token),
        first=drawn.first,
        title=_("Attention lines: {head}").format(head=shared.head_called(layer, head)),
        _=_,
    )
