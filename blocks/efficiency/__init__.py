"""Models made smaller, quantized or pruned, and what that costs.

Any model is calibrated on one half of a text and scored on the other, one that was opened too:

    from blocks.efficiency import measure_variant, on_text
    from blocks.weights import open_published

    model = on_text(open_published("SmolLM2-135M-Instruct.Q4_1.gguf"), text)
    for recipe in ("", "int4", "int4-gptq", "layers14.int8", "units25-wanda"):
        found = measure_variant(model, recipe)
        print(recipe, found.n_bytes, found.perplexity, found.accuracy, found.accuracy_error)
"""

from blocks.efficiency.compression import Calibrated, Compression, compress, on_text
from blocks.efficiency.frontier import Variant, measure_variant
from blocks.efficiency.quantization import Quantization, quantize, sqnr

__all__ = [
    "Calibrated",
    "Compression",
    "Quantization",
    "Variant",
    "compress",
    "measure_variant",
    "on_text",
    "quantize",
    "sqnr",
]
