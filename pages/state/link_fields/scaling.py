"""What a link carries for the scaling lab."""

from pages.server.readers import Field, choice, flag, within

COUNTED, OPTIMIZERS = ("all", "inner"), ("adamw", "muon")
TRADES = "repeated", "batch", "depth"

# With these, the model of the sidebar is trained.
OF_SEVERAL_SECTIONS = {"check_coordinates", "search_rates"}

FIELDS: dict[str, Field] = {
    "size_counts": Field(choice(COUNTED), "all"),
    "train_valleys": Field(flag, False),
    "train_predicted": Field(flag, False),
    "transfer_optimizer": Field(choice(OPTIMIZERS), "adamw"),
    "check_coordinates": Field(flag, False),
    "search_rates": Field(flag, False),
    "trade": Field(choice(TRADES), "repeated"),
    "train_trade": Field(flag, False),
    "known_runs": Field(flag, False),
    "predicted_flops": Field(within(1e9, 1e12), 1e11),
}
