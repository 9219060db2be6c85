"""The control of a circuit: the weights that it takes to learn answers without a rule."""

from collections.abc import Sequence

from blocks.known.recorded_circuits import N_TEXTS, Recorded
from blocks.model.faults import N_
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, dots
from pages.words.language import _, fill

NAMES = {False: N_("true answers"), True: N_("shuffled answers")}
COLORS = {False: palette.LEARNED, True: palette.PINNED}
SYMBOLS = {False: "circle", True: "diamond"}


def says_control(found: Recorded) -> str:
    """How many times as many weights shuffled answers need as true ones, and what follows."""
    few, many = (found.learned(is_shuffled=each) for each in (False, True))
    if len(found.ratios) < found.n_seeds:
        text = _(
            "Control: {n_texts} texts with true and with shuffled answers. True ones need {few} "
            "weights. Shuffled ones are all learned with only {n_learned} of {n_seeds} seeds "
            "(weights: {many}, times as many: {ratio}). This is inconclusive: a small circuit "
            "proves nothing by itself."
        )
    elif found.is_proof:
        text = _(
            "Control: {n_texts} texts with true and with shuffled answers. True ones need {few} "
            "weights, shuffled ones {many}, {ratio} times as many over {n_seeds} seeds. So a "
            "circuit is small here because there is a rule to find."
        )
    else:
        text = _(
            "Control: {n_texts} texts with true and with shuffled answers. True ones need {few} "
            "weights, shuffled ones {many}, {ratio} times as many over {n_seeds} seeds. That is "
            "too few to pass: a small circuit proves little by itself."
        )
    return fill(
        text,
        found,
        n_texts=N_TEXTS,
        n_learned=len(many),
        few=_between([each.n_kept for each in few]),
        many=_between([each.n_kept for each in many]),
        ratio=_between(found.ratios, ".1f"),
    )


def _between(values: Sequence[float], digits: str = ",") -> str:
    if not values:
        return "–"
    least, most = (format(each, digits) for each in (min(values), max(values)))
    return least if least == most else _("{least} to {most}").format(least=least, most=most)


def control_chart(found: Recorded) -> Chart:
    """Weights that are left of models that learned all, of true and of shuffled answers."""
    return Chart(
        _("How many weights does it take to learn the answers?"),
        found.control,
        Axis(_("Seed"), (-0.5, found.n_seeds - 0.5), of="seed", ticks=range(found.n_seeds)),
        Axis(_("weights left after pruning"), (20, 2000), is_log=True),
        [
            dots(
                "n_kept",
                Look(_(name), COLORS[is_shuffled], SYMBOLS[is_shuffled], size=11),
                rows=found.learned(is_shuffled=is_shuffled),
            )
            for is_shuffled, name in NAMES.items()
        ],
        hover=_("seed {seed}: {n_kept:,} of {n_trained:,} weights left, {accuracy:.1%} right"),
        legend=Legend.FOOT,
    )


def says_counted() -> str:
    """What is counted, and that it is counted alike."""
    return _(
        "Of each seed and each kind the model is shown that was trained with the fewest weights "
        "and got all its answers right; then single weights were taken out as above. Shuffled "
        "answers belong to beginnings of texts, and equal beginnings have equal answers. Both "
        "kinds are trained with the settings of the circuit above, but all texts stand in each "
        "batch, so that shuffled answers can be learned too."
    )
