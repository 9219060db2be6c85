"""The control of a circuit: the weights that it takes to learn answers without a rule."""

from collections.abc import Sequence

from blocks.known.recorded_circuits import N_CONTROL_UPDATES, N_TEXTS, SHARES, Recorded
from blocks.model.faults import N_
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, dots
from pages.words.language import _, enumeration, fill, sentences

NAMES = {False: N_("true answers"), True: N_("shuffled answers")}
COLORS = {False: palette.LEARNED, True: palette.PINNED}
SYMBOLS = {False: "circle", True: "diamond"}


def says_control(found: Recorded) -> str:
    """How many times as many weights shuffled answers need as true ones, and what follows."""
    said = _(
        "Control with {n_seeds} seeds: learning {texts} texts takes {few} weights with true "
        "answers and {many} with shuffled ones; with {most} texts, shuffled answers take "
        "{ratio} times as many."
    )
    if len(found.ratios) < found.n_seeds:
        so = _(
            "Shuffled answers are all learned with only {n_learned} of {n_seeds} seeds. This is "
            "inconclusive: a small circuit proves nothing by itself."
        )
    elif found.is_proof:
        so = _(
            "With a rule, a few dozen weights suffice; without one, it takes hundreds. So a "
            "circuit is small here because there is a rule to find."
        )
    else:
        so = _(
            "This ratio is too small to pass the control: a small circuit proves little by itself."
        )
    return fill(
        sentences(said, so),
        found,
        texts=enumeration(map(str, N_TEXTS)),
        most=N_TEXTS[-1],
        n_learned=len(found.ratios),
        few=_weights(found, is_shuffled=False),
        many=_weights(found, is_shuffled=True),
        ratio=_between(found.ratios, ".1f"),
    )


def _weights(found: Recorded, *, is_shuffled: bool) -> str:
    """For each number of texts, from the seed that needs fewest to the one that needs most."""
    learned = (found.learned(n, is_shuffled=is_shuffled) for n in N_TEXTS)
    return enumeration(_between([each.n_kept for each in some]) for some in learned)


def _between(values: Sequence[float], digits: str = ",") -> str:
    if not values:
        return "–"
    least, most = (format(each, digits) for each in (min(values), max(values)))
    return least if least == most else _("{least} to {most}").format(least=least, most=most)


def control_chart(found: Recorded) -> Chart:
    """Weights that are left of models that learned all, over the texts that they learned."""
    return Chart(
        _("How many weights does it take to learn the answers?"),
        found.control,
        Axis(_("texts learned"), (6, 43), of="n_texts", is_log=True, ticks=N_TEXTS),
        Axis(_("weights left after pruning"), (10, 2000), is_log=True),
        [
            dots(
                "n_kept",
                Look(_(name), COLORS[is_shuffled], SYMBOLS[is_shuffled], size=11),
                rows=[each for n in N_TEXTS for each in found.learned(n, is_shuffled=is_shuffled)],
            )
            for is_shuffled, name in NAMES.items()
        ],
        hover=_("seed {seed}: {n_kept:,} of {n_trained:,} weights left, {accuracy:.1%} right"),
        legend=Legend.FOOT,
    )


def says_counted() -> str:
    """What is counted, and that it is counted alike."""
    text = _(
        "Both kinds of answers are treated alike: each model is trained for {n_updates:,} "
        "updates with all texts in every batch, and {shares} of the weights are tried in "
        "turn; the first model that gets all its answers right is pruned as above. Each dot "
        "is one seed. Shuffled answers are assigned to the beginnings of texts, and identical"
        " beginnings have identical answers."
    )
    shares = enumeration(f"{share:.0%}" for share in SHARES)
    return text.format(n_updates=N_CONTROL_UPDATES, shares=shares)
