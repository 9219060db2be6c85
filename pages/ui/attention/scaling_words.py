"""Sentences about the division by √d_head."""

from blocks.observe.run import Run
from pages.ui.attention import measured
from pages.ui.attention.words import head_called
from pages.ui.language import _


def scaling_sentence(run: Run, layer: int, head: int) -> str:
    """What the division does: to random vectors of this width, and to this head."""
    if len(run.input.labels) == 1:
        return _("A single token has nothing to choose from: its weight on itself is 1 either way.")
    with_it, without = (measured.sharpness(run, layer, head, on) for on in (True, False))
    text = _(
        "Without ÷ √{d_head}, {head} would put {without:.0%} on its largest weight on "
        "average, with it {with_it:.0%}; entropy falls from {bits:.2f} to "
        "{bits_without:.2f} bits, and the softmax gradient from {slope:.2f} to "
        "{slope_without:.2f}."
    )
    return text.format(
        d_head=run.config.d_head,
        head=head_called(layer, head),
        with_it=with_it.largest_weight,
        without=without.largest_weight,
        bits=with_it.entropy_bits,
        bits_without=without.entropy_bits,
        slope=with_it.slope,
        slope_without=without.slope,
    )


def random_scaling_note(run: Run) -> str:
    """How the curves were drawn, and what they say at their ends."""
    table = measured.random_sharpness(run).set_index(["is_scaled", "d_head"])
    text = _(
        "Curves: random q and k, every number from N(0, 1) (seed {seed}), under this "
        "run's mask. A dot product over d_head such numbers has standard deviation "
        "√d_head: {least:.1f} at d_head = 1, {most:.1f} at 512; divided by √d_head it "
        "stays at {scaled:.1f}."
    )
    std = table["score_std"]
    return text.format(
        seed=run.seed, least=std[False, 1], most=std[False, 512], scaled=std[True, 512]
    )


def scaling_alt(run: Run, layer: int, head: int, _is_scaled: bool) -> str:
    """The curves in words."""
    return f"{scaling_sentence(run, layer, head)} {random_scaling_note(run)}"


def row_alt(run: Run, layer: int, head: int, query: int, _is_scaled: bool) -> str:
    """The bars in words."""
    text = _("Weights of {token} with and without the division by √d_head, one bar per key.")
    return text.format(token=run.input.labels[query])
