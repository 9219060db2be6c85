"""How many tokens published models were trained on, as their reports say."""

from typing import NamedTuple

B, T = 10**9, 10**12


class Trained(NamedTuple):
    """Tokens of a training, and where they stand; of what is no preset, title and size too."""

    tokens: int
    source: str
    title: str = ""
    n_parameters: int = 0


# fmt: off
TRAINED = {
    "gpt-3":           Trained(300 * B, "Brown et al. 2020, table 2.1", "GPT-3", 175 * B),
    "gopher":          Trained(300 * B, "Rae et al. 2021, section 3", "Gopher", 280 * B),
    "chinchilla":      Trained(1400 * B, "Hoffmann et al. 2022, section 4", "Chinchilla", 70 * B),
    "pythia-1.4b":     Trained(300 * B, "Biderman et al. 2023, section 2"),
    "llama-7b":        Trained(1 * T, "Touvron et al. 2023, table 2"),
    "llama-3-8b":      Trained(15 * T, "Grattafiori et al. 2024, section 1"),
    "llama-3-70b":     Trained(15 * T, "Grattafiori et al. 2024, section 1"),
    "llama-3-405b":    Trained(15_600 * B, "Grattafiori et al. 2024, section 1"),
    "falcon-7b":       Trained(1500 * B, "Almazrouei et al. 2023, section 1"),
    "phi-3-mini":      Trained(3300 * B, "Abdin et al. 2024, section 2"),
    "gemma-2b":        Trained(3 * T, "Gemma Team 2024, section 1"),
    "tinyllama-1.1b":  Trained(3 * T, "Zhang et al. 2024, section 1"),
    "smollm2-135m":    Trained(2 * T, "Ben Allal et al. 2025, section 6"),
    "olmo-2-7b":       Trained(4 * T, "OLMo Team 2024, section 2"),
    "deepseek-v2-lite": Trained(5700 * B, "DeepSeek-AI 2024 (V2), appendix B"),
    "deepseek-v3":     Trained(14_800 * B, "DeepSeek-AI 2024 (V3), section 1"),
    "qwen3-0.6b":      Trained(36 * T, "Yang et al. 2025, section 1"),
    "qwen3-8b":        Trained(36 * T, "Yang et al. 2025, section 1"),
    "qwen3-30b-a3b":   Trained(36 * T, "Yang et al. 2025, section 1"),
}
# fmt: on

LANDMARKS = ("gpt-3", "chinchilla", "llama-3-8b", "qwen3-0.6b")
