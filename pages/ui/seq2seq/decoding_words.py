"""Sentences about a target that is written, and what its pictures show."""

import math

import pandas as pd

from blocks.run import Run
from blocks.text.bilingual import SentenceTokenizer
from pages.ui import chips, starts, terms, tokens
from pages.ui.chips import Chip
from pages.ui.language import _, literal
from pages.ui.numbers import percent
from pages.ui.seq2seq import decoding, grammar, measured
from pages.ui.seq2seq.decoding import Search, Standing

SURE = math.log(0.99)


def target_chips(here: Standing) -> str:
    """The target as chips: what stands, and behind it what the result goes on with."""
    table, places = decoding.nodes(here), decoding.path(here)
    result = decoding.path(decoding.result(here))
    rest = result[len(places) :] if result[: len(places)] == places else ()
    found = [Chip(here.search.run.target.labels[0], "", "read")]
    found += [_chip(table, place, here.search) for place in places]
    found += [Chip(table["label"].loc[place], "", "read") for place in rest]
    return chips.as_markdown(found)


def _chip(table: pd.DataFrame, place: int, search: Search) -> Chip:
    row = table.loc[place]
    role = "pinned" if _is_overruled(table, row, search) else "written"
    return Chip(row["label"], percent(_chance(row["token_log_prob"])), role)


def _is_overruled(table: pd.DataFrame, row: pd.Series, search: Search) -> bool:
    """Whether the reader put a token where the model had a likelier one."""
    if row["step"] > len(search.forced):
        return False
    parents, parent = table["parent"], row["parent"]
    siblings = parents.isna() if pd.isna(parent) else parents.eq(parent).fillna(False)
    return bool(row["token_log_prob"] < table.loc[siblings, "token_log_prob"].max())


def _chance(log_prob: float) -> float:
    return math.exp(log_prob)


def legend() -> str:
    """What the colours of the chips mean."""
    names = (
        ("written", _("written by the model")),
        ("pinned", _("put there by you, where it would have written another")),
        ("read", _("start token, and what is not written yet")),
    )
    return " ".join(f":{chips.COLORS[role]}-badge[{name}]" for role, name in names)


def translation(here: Standing) -> str:
    """What is written, as one writes it."""
    text = " ".join(decoding.text(here).split())
    return f"### {chips.literally(text)}" if text else ""


def sentence(here: Standing) -> str:
    """How far it is, how sure, and what else the search knows."""
    if here.place is None:
        return _("Only the start token: the decoder has generated nothing yet.")
    row = decoding.nodes(here).loc[here.place]
    text = _(
        "After {step} of {n} steps the target has log-probability {log_prob} nats "
        "(probability {chance})."
    )
    said = text.format(
        step=here.step,
        n=here.n,
        log_prob=nats(row["log_prob"]),
        chance=percent(_chance(row["log_prob"])),
    )
    return " ".join(filter(None, (said, _fate(row), _weakest(here), _limit(here))))


def _fate(row: pd.Series) -> str:
    match row["fate"]:
        case "dropped":
            return _("Pruned by the search: other candidates were more probable.")
        case "finished":
            return _("It is complete: {token} was written.").format(token=literal(row["label"]))
        case _:
            return ""


def _weakest(here: Standing) -> str:
    """The token of which the model was least sure, of those that it chose itself."""
    table = decoding.nodes(here)
    rows = table.loc[list(decoding.path(here))]
    is_own = [not _is_overruled(table, row, here.search) for _place, row in rows.iterrows()]
    if not any(is_own):
        return ""
    own = rows[is_own]
    least = own.loc[own["token_log_prob"].idxmin()]
    if least["token_log_prob"] > SURE:
        return _sure(all(is_own))
    text = (
        _("It was least confident of {token} at step {step}: {chance}.")
        if all(is_own)
        else _("Of its own choices it was least confident of {token} at step {step}: {chance}.")
    )
    return text.format(
        token=literal(least["label"]),
        step=int(least["step"]),
        chance=percent(_chance(least["token_log_prob"])),
    )


def _sure(is_all_own: bool) -> str:
    if is_all_own:
        return _("It was confident of every token: none had less than 99%.")
    return _("It was confident of all its own choices: none had less than 99%.")


def _limit(here: Standing) -> str:
    """Where the target ended for want of room."""
    search, n = here.search, here.n
    if n < search.n_steps or decoding.is_ended(here) or here.step < n:
        return ""
    if search.how.stop_id < 0:
        text = _("With random weights nothing ends a target: it stops at {n} tokens.")
        return text.format(n=n)
    name = "max_seq_len" if search.n_steps < search.how.max_new_tokens else "max_new_tokens"
    text = _("It did not end: {name} limits it to {n} tokens.")
    return text.format(name=name, n=n)


def tree_sentence(here: Standing) -> str:
    """What the beam found that greedy search did not, or what it dropped."""
    table = decoding.nodes(here)
    n_fates = table["fate"].value_counts()
    text = _("{n} hypotheses explored: {dropped} pruned, {finished} finished.")
    said = text.format(
        n=len(table),
        dropped=int(n_fates.get("dropped", 0)),
        finished=int(n_fates.get("finished", 0)),
    )
    if here.search.how.beam_width == 1:
        greedy = _("Greedy search keeps only the most probable token at each step.")
        return f"{said} {greedy}"
    return f"{said} {_against_greedy(here)}"


def _against_greedy(here: Standing) -> str:
    ours, theirs = decoding.result(here), decoding.greedy_result(here)
    if ours.place is None or theirs.place is None:
        return ""
    if decoding.token_ids(ours) == decoding.token_ids(theirs):
        return _("Greedy search finds the same target.")
    text = _("Greedy search finds another target: log-probability {theirs}, {ours} here.")
    said = {"theirs": _log_prob(theirs), "ours": _log_prob(ours)}
    return text.format(**said)


def _log_prob(here: Standing) -> str:
    return nats(decoding.nodes(here)["log_prob"].loc[here.place])


def nats(log_prob: float) -> str:
    """A log-probability with a true minus sign."""
    return f"{log_prob:.3g}".replace("-", "−")


def window_note(here: Standing) -> str:
    """Which steps are drawn where there are too many."""
    first, last = decoding.shown_steps(here)
    n = here.n
    if last - first + 1 == n:
        return ""
    text = _("Shown: steps {first} to {last} of {n}, around the chosen one.")
    return text.format(first=first, last=last, n=n)


def against_grammar(here: Standing) -> str:
    """Whether the grammar says the same; nothing where the source is none of its sentences."""
    run = here.search.run
    if not run.weights or not isinstance(
        tokens.tokenizer_of(run.input.vocabulary), SentenceTokenizer
    ):
        return ""
    true = grammar.translation(run.input.token_ids, run.input.vocabulary)
    if true is None:
        return _(
            "The grammar behind the training data cannot produce this source: the "
            "translation is a guess."
        )
    reader = tokens.tokenizer_of(run.input.vocabulary)
    if decoding.is_ended(here) and list(decoding.token_ids(here)[:-1]) == reader.ids(true):
        return _("Identical to the grammar's own translation.")
    text = _("The grammar's own translation is: {text}")
    return text.format(text=literal(reader.decode(reader.ids(true))))


def choices_sentence(here: Standing) -> str:
    """What the distribution says, and that it can be overruled."""
    table = decoding.next_choices(here)
    first = table.iloc[0]
    text = _(
        "The model's top prediction is {token} ({chance}). Click another token to force "
        "it, and the search continues from there."
    )
    said = text.format(token=literal(first["label"]), chance=percent(first["probability"]))
    return " ".join(filter(None, (said, _smoothed(here))))


def _smoothed(here: Standing) -> str:
    """Why a model that was trained with label smoothing is never quite sure."""
    weights = here.search.run.weights
    smoothing = starts.model(weights).card.recipe["recipe"]["label_smoothing"] if weights else 0
    if not smoothing:
        return ""
    text = _(
        "It was trained with label smoothing {smoothing}, so even a confident prediction "
        "stays below 100%."
    )
    return text.format(smoothing=smoothing)


def tree_alt(here: Standing) -> str:
    """The tree in words."""
    labels = " ".join(decoding.nodes(here)["label"].loc[list(decoding.path(decoding.result(here)))])
    text = _("Search tree over {n} steps; path to the result: {labels}.")
    return text.format(n=here.n, labels=labels)


def choices_alt(here: Standing) -> str:
    """The next tokens in words."""
    rows = decoding.next_choices(here).itertuples()
    listed = "; ".join(f"{row.label} {row.probability:.1%}" for row in rows)
    return _("Candidates for the next token: {listed}.").format(listed=listed)


def mask_note(here: Standing) -> str:
    """A search is causal whatever the mask of the recorded run."""
    run = here.search.run
    if run.mask.mask_kind == "causal":
        return ""
    parts = _unmasked() if run.mask.mask_kind == "none" else _other_mask(run), _held_out(run)
    return " ".join(filter(None, parts))


def _unmasked() -> str:
    return _(
        "Without a mask the generated target and its probabilities stay the same: when "
        "a token is predicted, later ones do not exist yet. The mask matters only where "
        "a whole target is read at once, as in the pictures below and in training."
    )


def _other_mask(run: Run) -> str:
    text = _(
        "The target's mask is {mask}: the pictures show it, but generation is "
        "autoregressive, so the search is always causal."
    )
    return text.format(mask=terms.option(run.mask.mask_kind))


def _held_out(run: Run) -> str:
    if not measured.knows_grammar(run):
        return ""
    return _("Scores on validation sentences use the causal mask.")
