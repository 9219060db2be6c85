"""Models made smaller, quantized or pruned, and what that costs."""

from blocks.efficiency.compression import Calibrated, Compression, compress, on_text
from blocks.efficiency.quantization import Quantization, quantize, sqnr

__all__ = ["Calibrated", "Compression", "Quantization", "compress", "on_text", "quantize", "sqnr"]
