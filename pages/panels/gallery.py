"""Things that a real model knows: links to what was tried with it, and what was measured there.

The numbers are those of the file that `make model` brings, each held by a test in `tests/real`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from blocks.model.faults import N_
from blocks.weights.known import ALICE, BROTHER, FRANCE, GERMANY, MARY, MODELS
from pages.server import brought
from pages.words.language import _, current_language

MODEL = MODELS[0]
GPT, ATTENTION = "pages/gpt.py", "pages/attention.py"


class Claim(NamedTuple):
    """What a link shows, and the numbers that were measured there: they fill in its sentence."""

    question: str
    page: str
    query: Mapping[str, str]
    says: str
    numbers: Mapping[str, float]


CLAIMS = {
    "capital": Claim(
        N_("Which layer knows the capital of France?"),
        GPT,
        {"panel": "logit-lens", "text": FRANCE},
        N_(
            "Read off after layer 23, *Paris* ranks number {before:,.0f} of 49,152 tokens; "
            "after layer 24, number {after:,.0f}. Only after the last layer does it rank "
            "first, with a probability of {chance:.0%}."
        ),
        {"before": 2079, "after": 396, "chance": 0.77},
    ),
    "swap": Claim(
        N_("Can the fact be swapped?"),
        GPT,
        {
            "panel": "ablation",
            "text": FRANCE,
            "other_text": GERMANY,
            "interventions": "resid_post.20:patch@3",
        },
        N_(
            "If the vector of *Germany* replaces that of *France* after layer 21, the answer "
            "is *Berlin* ({early:.0%}). After layer 24, the swap comes too late, and the "
            "answer stays *Paris* ({late:.0%})."
        ),
        {"early": 0.81, "late": 0.80},
    ),
    "names": Claim(
        N_("Who gets the drink, Mary or John?"),
        GPT,
        {"panel": "two-answers", "text": MARY, "answer_a": "5099", "answer_b": "2322"},
        N_(
            "*Mary* is {whole:.1f} logits ahead of *John*. Head 4 of layer 24 contributes "
            "{own:.1f} of them directly, more than any other head. Choose ablation to see "
            "that without this head the lead is {without:.1f}."
        ),
        {"whole": 6.1, "own": 2.9, "without": 3.1},
    ),
    "copy": Claim(
        N_("How does it copy a list that it reads for the first time?"),
        ATTENTION,
        {"panel": "head-probe", "head_kind": "induction", "layer": "18", "head": "6"},
        N_(
            "A random token costs {first:.1f} bits the first time and {second:.1f} when the "
            "list is repeated. Without the {heads:.0f} induction heads, which look up what "
            "came next the first time, a token of the second copy costs {without:.1f}."
        ),
        {"first": 22.4, "second": 5.1, "heads": 7, "without": 17.4},
    ),
    "bracket": Claim(
        N_("Does it remember an open bracket?"),
        GPT,
        {"panel": "leave-one-out", "text": BROTHER},
        N_(
            "After `(who lives in London`, the closing bracket has a probability of "
            "{open:.0%}; without the opening bracket, it has less than {closed:.1%}."
        ),
        {"open": 0.80, "closed": 0.001},
    ),
    "sinks": Claim(
        N_("Where does attention rest?"),
        ATTENTION,
        {"panel": "heads", "text": MARY},
        N_(
            "{heads:.0f} of the 270 heads put more than half of their attention on two "
            "tokens, *When* and *the*, which are attention sinks."
        ),
        {"heads": 209},
    ),
    "unit": Claim(
        N_("Which unit creates the attention sink?"),
        "pages/feed_forward.py",
        {"panel": "massive-activations", "text": MARY},
        N_(
            "Unit 1230 of layer 12 has an activation of {unit:,.0f} at the first token and of"
            " nearly 0 at all others. It writes the largest value in the residual stream, "
            "{value:,.0f}. Setting that one value to 0 raises the loss from {bits:.1f} to "
            "{zero:.1f} bits per token."
        ),
        {"unit": 2755, "value": 21820, "bits": 6.09, "zero": 24.8},
    ),
    "book": Claim(
        N_("How well does it read a book?"),
        GPT,
        {"panel": "surprise", "text": ALICE},
        N_(
            "The opening of *Alice in Wonderland* ({tokens:.0f} tokens) costs {bits:.1f} bits"
            " per token; a uniform guess would cost {even:.1f}. The most surprising token is "
            "*hot*, at {most:.1f} bits."
        ),
        {"tokens": 132, "bits": 5.2, "even": 15.6, "most": 17.2},
    ),
}


def gallery() -> None:
    """A link for each, where the model is here; its sentence says what was measured."""
    if not brought.is_here(MODEL.file):
        return
    with st.container(border=True, gap="small", key="gallery"):
        st.markdown("#### " + _("Things a real model knows"))
        st.caption(
            _("Measured with {model}. Each link opens the panel that shows it.").format(
                model=MODEL.title
            )
        )
        claims = [*CLAIMS.values()]
        half = -(-len(claims) // 2)
        for column, some in zip(st.columns(2), (claims[:half], claims[half:]), strict=True):
            with column:
                for claim in some:
                    _row(claim)


def _row(claim: Claim) -> None:
    with st.container(gap=None):
        query = {"lang": current_language(), "preset": MODEL.file, **claim.query}
        st.page_link(claim.page, label=_(claim.question), query_params=query)
        st.caption(says_claim(claim))


def says_claim(claim: Claim) -> str:
    return _(claim.says).format(**claim.numbers)
