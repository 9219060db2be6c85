"""Sentences about the next token and about the text that was read."""

from blocks.observe.run import Run
from blocks.text.sampling import SamplingConfig
from pages.ui import cached, link, predicted, tokens
from pages.ui.chips import Chip
from pages.ui.language import _, literal
from pages.ui.numbers import percent


def count_sentence(run: Run) -> str:
    """Characters, bytes and tokens of what is read."""
    pieces, total, _left_out = tokens.reading()
    if not total:
        return _("The empty text has no token of its own: a placeholder token is read.")
    n = len(run.input.token_ids)
    read = link.value("text")[: pieces[-1].end]
    text = _(
        "{characters:,} characters = {bytes:,} bytes become {n:,} tokens, {ratio:.1f} "
        "characters per token. The tokenizer has {known:,} tokens, the model "
        "{vocab_size:,}."
    )
    counted = text.format(
        characters=len(read),
        bytes=len(read.encode("utf-8", "replace")),
        n=n,
        ratio=len(read) / n,
        known=tokens.tokenizer_of(run.input.vocabulary).vocab_size,
        vocab_size=run.config.vocab_size,
    )
    return f"{counted} {_beyond(run)}".strip()


def _beyond(run: Run) -> str:
    """Ids that the model may write and no text stands for."""
    known = tokens.tokenizer_of(run.input.vocabulary).vocab_size
    if run.config.vocab_size <= known:
        return ""
    text = _("Ids from {first:,} on have no text here: they are shown as ⟨{first}⟩.")
    return text.format(first=known)


def chips(run: Run, position: int) -> list[Chip]:
    """The text as tokens with their ids; the pinned one told apart."""
    first, _end = predicted.text_range(run)
    found = zip(run.input.tokens, run.input.token_ids, strict=True)
    return [
        Chip(label, str(token_id), "pinned" if first + i == position else "read")
        for i, (label, token_id) in enumerate(found)
    ]


def sees_ahead(run: Run) -> str:
    """Where a mask lets tokens see what they are to predict; empty where it does not."""
    if not cached.sees_ahead(run):
        return ""
    return _(
        "This mask lets a token see later ones, so these are not predictions: set the "
        "mask to causal."
    )


def next_sentence(run: Run, position: int, sampling: SamplingConfig) -> str:
    """What comes first, how many are left to draw from, and how open it is."""
    found = predicted.outlook(run, position, sampling)
    text = _("After {token} the top prediction is {first}.")
    said = [text.format(token=literal(run.input.labels[position]), first=literal(found.label))]
    if sampling.is_greedy:
        said.append(_("Temperature 0 is greedy: the most probable token is always taken."))
    else:
        said.append(_kept(run, found))
    if not run.weights:
        text = _(
            "The weights are random (seed {seed}): no token is much more probable than another."
        )
        said.append(text.format(seed=run.seed))
    return " ".join(said)


def _kept(run: Run, found: predicted.Outlook) -> str:
    text = _(
        "Its sampling probability is {probability}. {n:,} of {vocab_size:,} tokens can "
        "be sampled; entropy {bits:.2f} bits, as uncertain as {alike:,.1f} equally "
        "likely tokens."
    )
    said = text.format(
        probability=percent(found.probability),
        n=found.n_kept,
        vocab_size=run.config.vocab_size,
        alike=2**found.bits,
        bits=found.bits,
    )
    if found.n_kept == run.config.vocab_size:
        return said
    return said + " " + _("Those excluded had {share}.").format(share=percent(found.dropped))


def next_alt(run: Run, position: int, sampling: SamplingConfig) -> str:
    """The likeliest tokens in words."""
    rows = predicted.likeliest(run, position, sampling).itertuples()
    listed = "; ".join(
        f"{row.label} {row.model_probability:.1%} → {row.probability:.1%}" for row in rows
    )
    text = _(
        "Next-token probabilities after position {n}, before and after the sampling "
        "settings: {listed}."
    )
    return text.format(n=position + 1, listed=listed)
