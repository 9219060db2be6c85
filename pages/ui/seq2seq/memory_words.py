"""Sentences about what the encoder hands over, and its exact numbers."""

import pandas as pd
import streamlit as st

from blocks.observe.run import Run
from pages.ui.language import _, literal
from pages.ui.seq2seq import measured

ALIKE, NO_CHANGE, NO_GAIN = 1.02, 0.02, 0.05


def sentence(run: Run) -> str:
    """How alike tokens are before and after, and which layer changes them most."""
    before, after = measured.mean_cosine(run, 0), measured.mean_cosine(run, -1)
    if measured.is_source(run).sum() > 1:
        text = _(
            "Two source tokens have a mean cosine of {before:.2f} before the first "
            "layer and of {after:.2f} at the encoder's output: {how}."
        )
        said = text.format(before=before, after=after, how=_how(after - before))
    else:
        said = _("There is one source token, so there is no other to compare it with.")
    return f"{said} {_steps(run)} {_random(run)}".strip()


def _how(change: float) -> str:
    if abs(change) < NO_CHANGE:
        return _("about as similar as before")
    return _("they have become more similar") if change > 0 else _("they have moved apart")


def _random(run: Run) -> str:
    if run.weights:
        return ""
    text = _("The weights are random (seed {seed}): this is what the layers do before training.")
    return text.format(seed=run.seed)


def _steps(run: Run) -> str:
    changes = measured.mean_changes(run)
    most = int(changes.argmax())
    text = _("{step} changes them most, on average by {change:.2f} of their length.")
    return text.format(step=_capital(step_names(run)[most]), change=float(changes[most]))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def step_names(run: Run) -> list[str]:
    """The steps of the encoder that change the stream."""
    names = [_("layer {layer}").format(layer=i + 1) for i in range(run.config.n_layers)]
    n_steps = len(measured.source_changes(run))
    return [*names, *([_("final norm")] if n_steps > len(names) else [])]


def similarity_alt(run: Run, step: int, *_pinned: int) -> str:
    """A matrix of cosines in words."""
    text = _("Cosine similarity of each source token with each other: mean {mean:.2f}.")
    return text.format(mean=measured.mean_cosine(run, step))


def changes_alt(run: Run, *_pinned: int) -> str:
    """How much each step changes, in words."""
    rows = zip(step_names(run), measured.mean_changes(run), strict=True)
    said = "; ".join(f"{name} {mean:.2f}" for name, mean in rows)
    return _("Mean relative change of the source tokens at each step: {rows}.").format(rows=said)


def across_sentence(run: Run) -> str:
    """Whether the two languages meet; nothing where the tokens are no words of the grammar."""
    if not measured.knows_grammar(run):
        return ""
    found = measured.across_languages(measured.model_alone(run))
    text = _(
        "Do the two languages share meaning here? For {n} words of validation sentences "
        "in English, the nearest vector in the Chinese translation belongs to a word of "
        "the same meaning in {before:.0%} of cases before the first layer, {after:.0%} "
        "at the encoder's output, {chance:.0%} by chance. {verdict}"
    )
    return text.format(
        n=found.n_words,
        before=found.before,
        after=found.after,
        chance=found.chance,
        verdict=_verdict(found.after - found.before),
    )


def _verdict(gain: float) -> str:
    """What reading the sentence did for it."""
    if abs(gain) < NO_GAIN:
        return _("Its layers bring them no closer: equal meaning does not imply equal position.")
    return _("Its layers bring them closer.") if gain > 0 else _("Its layers move them apart.")


def lengths_sentence(run: Run) -> str:
    """The longest and the shortest vector, and the one that has kept most of itself."""
    table = measured.source_tokens(run)[measured.is_source(run)]
    longest, shortest = (
        table.loc[pick] for pick in (table["norm"].idxmax(), table["norm"].idxmin())
    )
    if longest["norm"] <= ALIKE * shortest["norm"]:
        lengths = _("All vectors are about {length:.2f} long.").format(length=longest["norm"])
    else:
        text = _("Longest is {longest} ({long:.2f}), shortest {shortest} ({short:.2f}).")
        lengths = text.format(
            longest=literal(longest["token"]),
            long=longest["norm"],
            shortest=literal(shortest["token"]),
            short=shortest["norm"],
        )
    return f"{lengths} {_kept(table)}"


def _kept(table: pd.DataFrame) -> str:
    """Which token is most what it was."""
    kept = table.loc[table["cosine"].idxmax()]
    text = _(
        "{kept} has kept its direction best: cosine {cosine:.2f} with its vector before "
        "the first layer."
    )
    return text.format(kept=literal(kept["token"]), cosine=kept["cosine"])


def table(run: Run) -> None:
    """Every source token with its numbers."""
    found = measured.source_tokens(run)
    shown = pd.DataFrame(
        {
            _("source token"): found["token"],
            _("mean"): found["mean"],
            _("std"): found["std"],
            _("length"): found["norm"],
            _("length before"): found["norm_before"],
            _("cosine with before"): found["cosine"],
        }
    )
    st.dataframe(shown.round(3), hide_index=True, key="memory_table", height=250)
