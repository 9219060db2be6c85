"""Sentences about a decoder whose source goes missing."""

import re

import numpy as np

from blocks.observe.run import Run
from blocks.text.bilingual import is_chinese
from pages.ui.language import _, enumeration, literal
from pages.ui.seq2seq import missing

LITTLE, MUCH = 0.1, 1.0
LATIN = re.compile(r"[A-Za-z]")


def ways_sentence(run: Run, bits: np.ndarray) -> str:
    """How much the source is worth, and where the target alone tells what comes."""
    labels, off = missing.next_labels(run), bits[0]
    most, least = int(off.argmax()), int(off.argmin())
    text = _(
        "Without cross-attention the next-token prediction changes by {mean:.2f} bits "
        "(KL) on average; most at {most} ({bits:.1f} bits), least at {least} ({few:.2f} "
        "bits)."
    )
    said = text.format(
        mean=float(off.mean()),
        most=literal(labels[most]),
        bits=float(off[most]),
        least=literal(labels[least]),
        few=float(off[least]),
    )
    return f"{said} {_meaning(run, off)}"


def _meaning(run: Run, off: np.ndarray) -> str:
    if not run.weights:
        text = _(
            "The weights are random (seed {seed}): what the source is good for has to be learned."
        )
        return text.format(seed=run.seed)
    n_little, n = int((off < LITTLE).sum()), len(off)
    if not n_little:
        return _("No token can be predicted from the target alone.")
    text = _(
        "{n_little} of {n} tokens follow from the target alone: without the source "
        "their prediction changes by less than {bits} bits."
    )
    return text.format(n_little=n_little, n=n, bits=LITTLE)


def hidden_sentence(run: Run, bits: np.ndarray) -> str:
    """Which source token each target token hangs on."""
    labels, most = missing.next_labels(run), bits.argmax(axis=0)
    strong = [column for column in range(bits.shape[1]) if bits[most[column], column] > MUCH]
    if not strong:
        return _(
            "Hiding any one source token changes no next-token prediction by more than 1 bit (KL)."
        )
    pairs = (
        f"{literal(labels[column])} ← {literal(run.input.labels[most[column]])} "
        f"({bits[most[column], column]:.1f})"
        for column in strong
    )
    text = _("Largest effects on the prediction (bits): {pairs}.")
    return text.format(pairs=enumeration(pairs))


def blind_sentence(texts: list[str]) -> str:
    """What kind of text comes of it."""
    said = _("The same search again, without the source: the decoder becomes a language model.")
    if not any(is_chinese(text) and LATIN.search(text) for text in texts):
        return said
    return said + " " + _("It does not even know which language to write, and mixes the two.")


def hidden_note(run: Run) -> str:
    """Where the source is too long to hide each token of it."""
    n, shown = run.input.shape[1], len(missing.places(run))
    if n == shown:
        return ""
    text = _("The first {shown} of {n} source tokens are hidden in turn.")
    return text.format(shown=shown, n=n)


def ways_alt(run: Run, *_measured: object) -> str:
    """The picture of the ways in words."""
    rows = missing.changed_runs(run)
    mean = "; ".join(
        f"{name} {np.mean(missing.moved(run, changed)):.2f}" for name, changed in rows.items()
    )
    text = _("Change of the next-token prediction in bits (KL), mean over the target: {mean}.")
    return text.format(mean=mean)


def hidden_alt(run: Run, *_measured: object) -> str:
    """The picture of hidden tokens in words."""
    text = _(
        "Change of each next-token prediction in bits (KL) when one of {n} source tokens is hidden."
    )
    return text.format(n=len(missing.places(run)))
