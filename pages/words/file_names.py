"""What is inside each file that a reader takes away: its button and its name on the disk say it."""

import re

from blocks.model.faults import N_

WORDS = re.compile(r"[\w.]+")
INSIDE = {
    "activations.safetensors": N_("All recorded tensors"),
    "all_heads.csv": N_("Measures of all heads"),
    "architectures.csv": N_("Losses of the three architectures"),
    "changes.csv": N_("What changing a setting costs"),
    "config.json": N_("Configuration"),
    "config.toml": N_("Configuration"),
    "contribution.csv": N_("What each token contributes here"),
    "contribution_graph.csv": N_("Contributions through all layers"),
    "curves.csv": N_("Training curves"),
    "differences.csv": N_("Settings that differ"),
    "evaluations.csv": N_("Scores during training"),
    "first_token.csv": N_("Weight on the first token, for each head"),
    "fits.csv": N_("What fits on which device"),
    "flops.csv": N_("FLOPs of each operation"),
    "flow.csv": N_("Values after each step"),
    "guesses.csv": N_("The guess after each layer"),
    "heads.csv": N_("Measures of the heads"),
    "layers.csv": N_("Values after each step"),
    "leaks.csv": N_("Leaks through the mask"),
    "lens.csv": N_("Predictions after each layer"),
    "memory.csv": N_("Memory of each part"),
    "next_tokens.csv": N_("Probabilities of all possible next tokens"),
    "norms_dependence.csv": N_("What each norm depends on"),
    "norms_per_feature.csv": N_("Norms, for each feature"),
    "norms_per_token.csv": N_("Norms, for each token"),
    "numbers.csv": N_("Both models in numbers"),
    "parameters.csv": N_("Parameters of each part"),
    "pictures.html": N_("All pictures on one page"),
    "placements.csv": N_("Residual stream for each norm placement"),
    "published_models.csv": N_("Published models"),
    "run.ipynb": N_("This run as a notebook"),
    "scaling.csv": N_("Softmax with and without √d"),
    "search.csv": N_("All candidates of the search"),
    "surprise.csv": N_("Surprisal of each token"),
    "sweep.csv": N_("Runs of the sweep"),
    "sweep.toml": N_("Sweep"),
    "tokens.csv": N_("Tokens and their ids"),
    "training.csv": N_("Cost of training"),
    "training.json": N_("Training settings"),
    "verdict.csv": N_("Runs of the sweep"),
    "verdict.toml": N_("Sweep"),
    "weight_bins.csv": N_("Histograms of the weights"),
    "weight_values.csv": N_("Values of the weights"),
    "weights_bytes.csv": N_("Bytes of the weights in each format"),
    "written.csv": N_("Generated tokens"),
}


def file_stem(title: str) -> str:
    """What a file is called that shows this, without signs that a disk or a shell refuses."""
    return "-".join(["blockscope", *WORDS.findall(title)])
