"""How a model is trained or served: number formats, devices, what is kept and what is not."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from blocks.cost.activations import FLOAT32_BYTES
from blocks.model.faults import N_, ConfigError, Fault, Table

HALF_BYTES = 2
PREFILL_CHUNK = 8192
MX_GROUP, MX_SCALE_BITS = 32, 8  # Open Compute Project 2023, "Microscaling formats", section 5.2


class WeightFormat(StrEnum):
    """How a weight is stored; below 16 bits and as in a file for use only.

    A file of ours has 16 bits for each weight unless it is rounded (`StoredWeights`).
    """

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    FP8 = "fp8"
    INT8 = "int8"
    INT4 = "int4"
    MXFP4 = "mxfp4"
    FILE = "file"

    def bytes_of(self, n_weights: int) -> int:
        """Bytes of so many weights, without the scales that groups of them have."""
        return n_weights * BITS[self] // 8


BITS = {
    WeightFormat.FLOAT32: 32,
    WeightFormat.BFLOAT16: 16,
    WeightFormat.FLOAT16: 16,
    WeightFormat.FP8: 8,
    WeightFormat.INT8: 8,
    WeightFormat.INT4: 4,
    WeightFormat.MXFP4: 4,
    WeightFormat.FILE: 16,
}
EXACT = WeightFormat.FLOAT32, WeightFormat.BFLOAT16, WeightFormat.FLOAT16


class CacheFormat(StrEnum):
    """How keys and values are stored.

    Integers have a scale of 16 bits for each vector of a key, a value or a latent; fp8 has none.
    """

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    FP8 = "fp8"
    INT8 = "int8"
    INT4 = "int4"

    def bytes_of(self, n_vectors: int, width: int) -> int:
        """Bytes of so many vectors, scales included."""
        scales = HALF_BYTES * (self in (CacheFormat.INT8, CacheFormat.INT4))
        return n_vectors * (-(-width * BITS[WeightFormat(self)] // 8) + scales)


NO_FORMAT = N_("There is no number format named {name} here: the nearest names are {names}")
FORMATS = Table(NO_FORMAT, {str(each): each for each in WeightFormat})
CACHE_FORMATS = Table(NO_FORMAT, {str(each): each for each in CacheFormat})


class StoredWeights(NamedTuple):
    """Weights as a file of a rounded model has them: codes, scales, and what stayed exact."""

    n_bytes: int
    n_weights: int

    @property
    def bits_per_weight(self) -> float:
        """The mean over all weights, what belongs to their codes included."""
        return 8 * self.n_bytes / self.n_weights

    def bytes_of(self, n_weights: int) -> int:
        """Bytes of all weights; of some of them their share."""
        return round(self.n_bytes * n_weights / self.n_weights)


class OptimizerStates(StrEnum):
    """What an optimizer remembers beside each weight."""

    ADAM = "adam"
    SGD = "sgd"
    MOMENTUM = "momentum"
    MUON = "muon"


@dataclass(frozen=True)
class Layout:
    """How the devices that serve a model divide it.

    `tensor`: devices that share each layer (Shoeybi et al. 2019, section 3); `pipeline`: stages, of
    as many layers each as can be; `data`: replicas of all that is no expert, each with texts of its
    own; `expert`: devices among which whole experts of a layer are divided (Lepikhin et al. 2020),
    of one replica or of several: a divisor or a multiple of `tensor`. Raises `ConfigError`.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: int = 1

    def __post_init__(self) -> None:
        for name, n in vars(self).items():
            if n < 1:
                text = N_("{name} ({n}) must be at least 1")
                raise ConfigError([Fault(text, {"name": name, "n": n}, {name: 1})])
        has_even_parts = self.expert % self.tensor == 0 or self.tensor % self.expert == 0
        if self.tensor * self.data % self.expert or not has_even_parts:
            text = N_(
                "expert ({n}) must divide tensor · data ({most}) and be a divisor or a multiple of "
                "tensor ({tensor}): use {tensor}"
            )
            values = {"n": self.expert, "most": self.tensor * self.data, "tensor": self.tensor}
            raise ConfigError([Fault(text, values, {"expert": self.tensor})])

    @property
    def n_devices(self) -> int:
        """All together."""
        return self.tensor * self.pipeline * self.data

    @property
    def replicas_of_experts(self) -> int:
        """Replicas whose texts meet at one expert."""
        return max(1, self.expert // self.tensor)

    def texts(self, batch: int) -> int:
        """Texts of the fullest replica."""
        return -(-batch // self.data)

    def share(self, n: int) -> int:
        """Divide n heads or hidden values among the devices of a layer, rounded up."""
        return -(-n // self.tensor)


@dataclass(frozen=True)
class Setup:
    """How a model is trained or used.

    `n_devices` train by data parallelism, each with a batch and activations of its own; what there
    is whatever goes through (weights, gradients, a second copy, states) is shared evenly
    (Rajbhandari et al. 2020, ZeRO stage 3). In use they divide the model by `layout`; without one,
    by tensor parallelism. `prefill_chunk`: tokens of all prompts that a decoder reads in one pass,
    0 for all of them (Agrawal et al. 2023). `master_weights`: with weights of 16 bits, a copy
    in float32 takes the updates, and the optimizer's states are float32 too (Micikevicius et al.
    2017, section 3.1). `stored`: what the weights take in their file, where they are rounded.
    `cache_format`: that of what passes, unless it is given. Of int4, `group_size` weights share
    `group_bits`: 16 a scale; 20 a scale and a zero of 4 bits, as in AWQ; 32 both of 16.
    """

    weight_format: WeightFormat = WeightFormat.BFLOAT16
    optimizer: OptimizerStates = OptimizerStates.ADAM
    master_weights: bool = True
    fused: bool = True
    checkpointing: bool = False
    n_devices: int = 1
    prefill_chunk: int = PREFILL_CHUNK
    stored: StoredWeights | None = None
    cache_format: CacheFormat | None = None
    group_size: int = 128
    group_bits: int = 16
    layout: Layout | None = None

    def __post_init__(self) -> None:
        """Take formats by their names, too; raises `UnknownNameError` with the nearest ones."""
        object.__setattr__(self, "weight_format", FORMATS[self.weight_format])
        if self.cache_format:
            object.__setattr__(self, "cache_format", CACHE_FORMATS[self.cache_format])

    @property
    def serves_as(self) -> Layout:
        """How the devices divide the model in use."""
        return self.layout or Layout(tensor=self.n_devices)

    @property
    def is_packed(self) -> bool:
        """Whether weights are not what is computed with, which is of 16 bits then."""
        return self.weight_format not in EXACT

    @property
    def computes_in(self) -> WeightFormat:
        """The number format of what passes."""
        return WeightFormat.BFLOAT16 if self.is_packed else self.weight_format

    @property
    def caches_in(self) -> CacheFormat:
        """The number format of keys and values."""
        return self.cache_format or CacheFormat(self.computes_in)

    @property
    def itemsize(self) -> int:
        """Bytes of a number that passes: float32, or 16 bits."""
        return FLOAT32_BYTES if self.weight_format is WeightFormat.FLOAT32 else HALF_BYTES

    @property
    def bits_per_rounded_weight(self) -> float:
        """Bits of a weight in a matrix of a layer, its share of scales included."""
        match self.weight_format:
            case WeightFormat.INT4:
                return 4 + self.group_bits / self.group_size
            case WeightFormat.MXFP4:
                return 4 + MX_SCALE_BITS / MX_GROUP
            case kind:
                return BITS[kind]

    @property
    def has_master(self) -> bool:
        """Whether a second, exact copy of the weights is kept."""
        return self.master_weights and self.itemsize < FLOAT32_BYTES

    def share(self, n: int) -> int:
        """Divide n bytes among the devices that train, rounded up."""
        return -(-n // self.n_devices)
