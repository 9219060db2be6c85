"""How weights are drawn before any training, each from its own generator."""

import math

import torch
from torch import Tensor, nn

from blocks.model.config import ModelConfig
from blocks.model.draws import ByPlace, Draws, InTurn
from blocks.model.kinds import Initialization

GPT2_STD = 0.02
MOST_IN_TURN = 200_000_000  # parameters of a model that is drawn one number after the other
DECAYS = ("decay_rate", "decay_bias")
LARGEST_RATE, STEP_SIZES = 16.0, (1e-3, 1e-1)
RESIDUAL_WRITES = ("out_proj", "down_proj")


def initialize(
    model: nn.Module,
    config: ModelConfig,
    seed: int,
    *,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> None:
    """Give every parameter and buffer of a model, which need no memory yet, its first values.

    Of more than `MOST_IN_TURN` parameters each number is drawn by its place, on the device.
    """
    is_large = sum(each.numel() for each in model.parameters()) > MOST_IN_TURN
    for module_name, module in model.named_modules():
        for name, buffer in [*module.named_buffers(recurse=False)]:
            kind = dtype if buffer.is_floating_point() else buffer.dtype
            first = 1.0 if name == "running_var" else 0.0
            setattr(module, name, torch.full(buffer.shape, first, dtype=kind, device=device))
        for name, parameter in [*module.named_parameters(recurse=False)]:
            path = f"{module_name}.{name}"
            draws = ByPlace(seed, path, device) if is_large else InTurn(seed, path)
            drawn = drawn_values(parameter, module, path, config, draws)
            setattr(module, name, nn.Parameter(drawn.to(device, dtype)))
            del drawn  # before the next one is drawn


def drawn_values(
    parameter: Tensor, module: nn.Module, path: str, config: ModelConfig, draws: Draws
) -> Tensor:
    """Draw the first values of one parameter, by its path: of its shape, in float32."""
    values = draws.empty(parameter.shape)
    if isinstance(module, nn.Linear):
        return _draw_linear(values, module.in_features, path, config, draws)
    if isinstance(module, nn.Conv1d):
        return _draw_linear(values, module.kernel_size[0], path, config, draws)
    if isinstance(module, nn.Embedding):
        return draws.normal_(values, _embedding_std(config))
    if parameter.dim() == 2:  # a table of positions or of distances
        return draws.normal_(values, GPT2_STD)
    if path.endswith(DECAYS):
        return _draw_decay(values, path, draws)
    is_scale = path.endswith("weight") and not getattr(module, "offset", False)
    return values.fill_(1.0 if is_scale else 0.0)  # norms


def _draw_decay(values: Tensor, path: str, draws: Draws) -> Tensor:
    """Draw decay rates of a gated delta rule: from forgetting at once to after hundreds of tokens.

    log U(0, 16), and the softplus of the bias between 0.001 and 0.1, as in Mamba-2 (Dao and Gu
    2024), whose code Yang et al. 2024 follow.
    """
    if path.endswith(DECAYS[0]):
        return draws.uniform_(values, 1e-2, LARGEST_RATE).log_()
    step = draws.uniform_(values, *map(math.log, STEP_SIZES)).exp_()
    return step + (-(-step).expm1()).log()


def _embedding_std(config: ModelConfig) -> float:
    """So that the stream begins at about 1 where the scheme asks for no size of its own.

    A row that is scaled by √d_model, or that also serves as unembedding, stays small.
    """
    if config.initialization is Initialization.NORMAL:
        return GPT2_STD
    is_shared = config.vocabulary.tie_embeddings
    return config.d_model**-0.5 if config.scale_embeddings or is_shared else 1.0


def _draw_linear(
    values: Tensor, fan_in: int, path: str, config: ModelConfig, draws: Draws
) -> Tensor:
    """PyTorch: U(±1/√fan_in). Xavier: U(±√(6/(fan_in+fan_out))). Normal: N(0, 0.02²), as GPT-2.

    GPT-2 divides what writes to the residual stream by √(2·n_layers), the number of writes; a
    decoder writes three times a layer.
    Zero writes: as PyTorch, but what writes to the stream (and the head) starts at zero, so that
    every layer begins as the identity (Goyal et al. 2017, section 5.1; Yang et al. 2022).
    """
    is_bias = path.endswith("bias")
    is_write = path.rpartition(".")[0].endswith(RESIDUAL_WRITES)
    match config.initialization:
        case Initialization.ZERO_WRITES if is_write or path == "unembed.weight":
            return values.zero_()
        case Initialization.PYTORCH | Initialization.ZERO_WRITES:
            bound = 1 / math.sqrt(fan_in)
            return draws.uniform_(values, -bound, bound)
        case _ if is_bias:
            return values.zero_()
        case Initialization.XAVIER_UNIFORM:
            fans = values.size(0) + values[0].numel()
            bound = math.sqrt(3.0) * math.sqrt(2.0 / fans)
            return draws.uniform_(values, -bound, bound)
        case Initialization.NORMAL:
            n_writes = _n_writes(path, config) if is_write else 1
            return draws.normal_(values, GPT2_STD / math.sqrt(n_writes))


def _n_writes(path: str, config: ModelConfig) -> int:
    """Count the writes of all layers to the stream that this weight writes to."""
    is_decoder = path.startswith("decoder.")
    return 3 * config.n_decoder_layers if is_decoder else 2 * config.n_layers
