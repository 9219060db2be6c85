"""Sentences that read the steps of one head, and their pictures in words."""

import numpy as np

from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.ui.attention import frames, measured
from pages.ui.attention.arithmetic import number
from pages.ui.attention.words import head_called, token
from pages.ui.language import _, enumeration
from pages.ui.numbers import percent


def reads_sentence(run: Run, layer: int, head: int, query: int) -> str:
    """Where the pinned token reads from in this head, and whose weights these are."""
    row = measured.head(run, layer, head).pattern[query]
    if np.isnan(row).all():
        text = _("In {head}, {token} cannot attend to any key: its row is all zeros.")
        return text.format(head=head_called(layer, head), token=token(run, query))
    text = _("In {head}, {token} (position {position}) attends mostly to {read}. {source}")
    return text.format(
        head=head_called(layer, head),
        token=token(run, query),
        position=query + 1,
        read=_most_read(run, row),
        source=_whose_weights(run),
    )


def _most_read(run: Run, row: np.ndarray, most: int = 3) -> str:
    order = np.argsort(-np.nan_to_num(row), kind="stable")[:most]
    text = _("{token} ({share})")
    shown = [key for key in order if row[key] > 0.05] or order[:1]
    return enumeration(
        text.format(token=token(run, int(key)), share=percent(float(row[key]))) for key in shown
    )


def _whose_weights(run: Run) -> str:
    if run.weights:
        return _("The weights are trained.")
    return _("The weights are random (seed {seed}): no role has been learned.").format(
        seed=run.seed
    )


STEP_SENTENCES = {
    "qkv": N_(
        "Every token makes three vectors of {d_head} numbers: a query (what it looks "
        "for), a key (what it can be found by) and a value (what it passes on)."
    ),
    "scores": N_("The dot product of the pinned query with every key: scores range {raw}."),
    "scaled": N_("Divided by √{d_head}, the scores range {scaled}."),
    "bias": N_("The further a key, the lower its score: the range is now {biased}."),
    "mask": N_(
        "The mask hides {n_masked} of {n} keys from the pinned token; the remaining scores "
        "range {masked}."
    ),
    "softmax": N_("Softmax turns the row's scores into weights ({pattern}) that sum to {sum}."),
    "mix": N_("The values, each times its weight, are summed: a vector of length {mixed}."),
    "write": N_(
        "The output projection maps {d_head} numbers to d_model = {d_model}: this head "
        "adds a vector of length {written}, and those of all heads are summed."
    ),
}


def step_sentence(run: Run, layer: int, head: int, query: int, step: str) -> str:
    """What this step did to the pinned row, in numbers."""
    one = measured.head(run, layer, head)
    rows = {name: getattr(one, name)[query] for name in ("raw", "scaled", "masked", "pattern")}
    rows["biased"] = rows["scaled"] if one.biased is None else one.biased[query]
    return _(STEP_SENTENCES[step]).format(
        **{name: _spread(row) for name, row in rows.items()},
        n=len(one.raw),
        n_masked=int(np.isnan(one.masked[query]).sum()),
        sum=f"{np.nansum(one.pattern[query]):.3f}",
        mixed=f"{np.linalg.norm(one.mixed[query]):.3f}",
        written=f"{np.linalg.norm(one.written[query]):.3f}",
        d_head=one.d_head,
        d_model=run.config.d_model,
    )


def _spread(row: np.ndarray) -> str:
    there = row[~np.isnan(row)]
    least, most = (there.min(), there.max()) if len(there) else (0, 0)
    return _("{least} to {most}").format(least=number(least), most=number(most))


def drawn_note(run: Run, layer: int, head: int, query: int, shown: frames.Window) -> str:
    """Which tokens are drawn and how much of the pinned row they hold; nothing where all are."""
    n = len(run.input.labels)
    if shown.end - shown.first == n:
        return ""
    row = np.nan_to_num(measured.head(run, layer, head).pattern[query])
    text = _(
        "Shown: tokens {first} to {last} of {n}, around the pinned one; they hold "
        "{share} of its weight. All numbers use all tokens."
    )
    share = percent(float(row[slice(*shown)].sum()))
    return text.format(first=shown.first + 1, last=shown.end, n=n, share=share)


def window_note(run: Run, layer: int, head: int, query: int) -> str:
    """What is not drawn: tokens beyond the window, features beyond the first, dropout."""
    notes = [drawn_note(run, layer, head, query, frames.window(run, query))]
    if max(run.config.d_head, run.config.d_model) > frames.MOST_FEATURES:
        text = _("Only the first {n} features of long vectors are drawn.")
        notes.append(text.format(n=frames.MOST_FEATURES))
    if run.training and run.config.dropout > 0:
        notes.append(_("Training mode: values before dropout are shown."))
    if run.input.shape[0] > 1:
        notes.append(_("The first sequence of the batch is shown."))
    return " ".join(filter(None, notes))


def strip_alt(run: Run, layer: int, head: int, query: int, _step: str) -> str:
    """The strip in words."""
    order = " → ".join(_(frames.STEP_TITLES[step]) for step in frames.steps(run))
    text = _("All steps of {head} as thumbnails, in order: {order}. Pinned: {token}.")
    return text.format(head=head_called(layer, head), order=order, token=run.input.labels[query])


def step_alt(
    run: Run, layer: int, head: int, query: int, key: int, step: str, _feature: int
) -> str:
    """The large picture in words."""
    text = _("{step}: {sentence} Outlined: query {query}, key {key}.")
    return text.format(
        step=_(frames.STEP_TITLES[step]),
        sentence=step_sentence(run, layer, head, query, step),
        query=run.input.labels[query],
        key=run.input.labels[key],
    )
