"""What the panels of the scaling lab share: which runs are shown, and how they are called."""

from functools import lru_cache

from blocks.cost.loss_fit import FEWEST, Trained
from blocks.cost.scaling_laws import Band, Counted
from blocks.cost.units import rounded
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.scaling import plan
from blocks.scaling.lab import ValleyFacts, valley_facts
from blocks.scaling.plan import Measured, Trainings, valley_points
from blocks.scaling.recorded import SEEDS, known
from pages.show import words
from pages.show.controls import pick, switch
from pages.show.steps import in_series
from pages.state.values import State
from pages.words.language import _, sentences

COUNTED = {"all": N_("all parameters"), "inner": N_("parameters without embeddings")}
Runs = tuple[Measured, ...]


@lru_cache(maxsize=16)
def facts_of(runs: Runs, counted: Counted) -> ValleyFacts:
    """Both fits of these runs. Raises `ConfigError` where they are too few."""
    return valley_facts([run.trained(counted) for run in runs])


def recorded_runs() -> Runs:
    """The valleys that ship, from all seeds whose runs are complete."""
    found = (known(valley_points(seed)) for seed in SEEDS)
    return tuple(run for runs in found if runs for run in runs)


def by_budget(runs: Runs, counted: Counted) -> list[list[Trained]]:
    """As a law reads them, those of one budget together, the cheapest first."""
    found: dict[float, list[Trained]] = {}
    for run in sorted(runs, key=lambda run: run.point.flops):
        found.setdefault(run.point.flops, []).append(run.trained(counted))
    return [*found.values()]


def counted(state: State) -> Counted:
    return Counted(state.size_counts)


def counted_choice(place: str) -> None:
    label = _("Model size N counts")
    pick("size_counts", label, COUNTED, label_of=lambda name: _(COUNTED[name]), place=f"_{place}")


def live_choice(name: str, label: str) -> None:
    switch(name, label)


def runs_here(run: Run, state: State) -> Runs:
    """The runs of the valleys: those that ship, or as many as have been trained here."""
    if not state.train_valleys:
        return recorded_runs()
    series = Trainings(valley_points(run.seed))
    costs = [point.n_steps for point in series.points]  # so small a model takes as long for each
    return tuple(
        in_series(
            series, key="valley_steps", asked_by="train_valleys", costs=costs, fewest=FEWEST
        ).found
    )


def says_trained(*, is_recorded: bool) -> str:
    """What was trained, and how; that runs were recorded, where they were."""
    text = _(
        "The models are GPTs with one layer and widths from {least} to {most}; each update "
        "reads {batch} texts of {seq_len} tokens. AdamW has a peak rate of {rate} (the rate "
        "of the matrices scales with the width, as in muP), a warm-up over the first fifth of"
        " the updates, and for each run its own cosine decay to zero. New text is drawn for "
        "every batch, so no text occurs twice; the loss is the expected loss on new text."
    )
    least, most = plan.widths()
    said = text.format(
        least=least, most=most, seq_len=plan.SEQ_LEN, batch=plan.BATCH, rate=plan.RATE
    )
    return sentences(words.trained(is_recorded=is_recorded), said)


def says_band(band: Band, digits: int = 2) -> str:
    value, least, most = (f"{each:.{digits}f}" for each in band)
    return _("{value} (90% band: {least} to {most})").format(value=value, least=least, most=most)


def size(count: float) -> str:
    """A number of parameters or tokens as people read it."""
    if count >= 999.5e6:
        return f"{rounded(count / 1e9)} B"
    return f"{count / 1e6:.3g} M" if count >= 999_500 else f"{int(float(f'{count:.3g}')):,}"


def in_flops(count: float) -> str:
    mantissa, _e, power = f"{count:.1e}".partition("e")
    return f"{rounded(float(mantissa))}e{int(power)}"


def seconds_of(runs: Runs) -> float:
    """What the trainings of one seed take, each as fast as the fastest seed on a free core."""
    fastest: dict[tuple[float, int], float] = {}
    for run in sorted(runs, key=lambda run: -run.seconds):
        fastest[run.point.flops, run.point.d_model] = run.seconds
    return sum(fastest.values())
