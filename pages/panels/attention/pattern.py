"""Who reads whom: one head as lines and as a map."""

from collections.abc import Hashable

from blocks.inspection import source
from blocks.inspection.head_facts import HeadFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import bipartite
from pages.figures.counting import told_apart
from pages.figures.theme import Picture
from pages.panels.attention import shared
from pages.panels.heads import ONE_HEAD
from pages.show.controls import slider
from pages.show.parts import Beside, Controls, Matrix, Note, Say, the_values
from pages.show.views import pin_token
from pages.state.values import State
from pages.words.language import _, fill, ngettext, sentences

MOST_LINES, MOST_TOKENS = 16, 64


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    n_lines = min(state.edges, MOST_LINES, len(run.input.labels))
    return (*shared.at(run, state), n_lines)


def says_most_read(facts: HeadFacts) -> str:
    """Which token is read most, over all queries."""
    text = _(
        "In {called}, {most} receives the most attention: {received:.1f} out of a total weight of"
        " {total:.0f}. Orange lines start at the pinned token {pinned}."
    )
    most, pinned = (shared.token(facts.run, i) for i in (facts.most_received, facts.query))
    called, received = shared.called(facts), facts.received[facts.most_received]
    return fill(text, facts, called=called, most=most, received=received, pinned=pinned)


def says_lines(run: Run, layer: int, head: int, token: int, n_lines: int) -> str:
    """Which lines are drawn."""
    text = ngettext(
        "For each token, only the largest weight is shown ({n}); those below {least:.0%} are shown "
        "only for the pinned token.",
        "For each token, at most the {n} largest weights are shown; those below {least:.0%} "
        "are shown only for the pinned token.",
        n_lines,
    )
    facts = shared.head_facts(run, layer, head, token)
    drawn = shared.says_window(facts, facts.drawn(MOST_TOKENS))
    return sentences(text.format(n=n_lines, least=bipartite.LEAST), drawn)


def line_choice(run: Run, _layer: int, _head: int, _token: int, n_lines: int) -> None:
    """How many lines leave each token."""
    most = min(MOST_LINES, len(run.input.labels))
    if most > 1:
        slider("edges", _("Lines per token"), n_lines, most=most)


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
        title=_("Attention lines: {head}").format(head=shared.called(facts)),
        _=_,
    )


PANEL = shared.of_a_head(
    "pattern",
    N_("Who reads whom?"),
    fields=("n_heads", "n_kv_heads", "position_kind"),
    instruments=("attention", "contributions"),
    concepts=("attention", "masks"),
    code=source.heads_source(),
    at=at,
    facts=shared.head_facts,
    shows=(
        Say(says_most_read),
        Beside(
            (
                Controls(line_choice),
                Matrix(draw_lines, "bipartite", click=pin_token, facts=the_values),
                Note(says_lines, the_values),
            ),
            ONE_HEAD,
        ),
    ),
)
