"""What a link carries for the scaling lab."""

from pages.state.readers import Field, choice, flag, within

COUNTED = ("all", "inner")

FIELDS: dict[str, Field] = {
    "counted": Field(choice(COUNTED), "all"),
    "train_valleys": Field(flag, False),
    "train_predicted": Field(flag, False),
    "known_runs": Field(flag, False),
    "predicted_flops": Field(within(1e10, 1e12), 1e11),
}
