"""The variants one can choose from; their values are what links and files carry."""

from enum import StrEnum


class Architecture(StrEnum):
    """The kind of model built from the layers; see `blocks.model.models`."""

    BLOCK = "block"
    ENCODER = "encoder"
    GPT = "gpt"
    ENCODER_DECODER = "encoder-decoder"

    @property
    def reads_tokens(self) -> bool:
        """Whether token ids go in; a block takes vectors."""
        return self is not Architecture.BLOCK

    @property
    def generates(self) -> bool:
        """Whether a decoder writes token by token, each after those before it."""
        return self in (Architecture.GPT, Architecture.ENCODER_DECODER)


class TokenMixer(StrEnum):
    """How tokens of a text learn of each other: see `blocks.model.mixers`."""

    ATTENTION = "attention"
    GRU = "gru"
    GATED_DELTA = "gated_delta"


class AttentionGate(StrEnum):
    """How wide the gate on the output of attention is: see `blocks.model.attention`."""

    NONE = "none"
    HEAD = "head"
    ELEMENTWISE = "elementwise"


class NormKind(StrEnum):
    """What a norm divides by, and over which axes it looks."""

    LAYER_NORM = "layernorm"
    RMS_NORM = "rmsnorm"
    BATCH_NORM = "batchnorm"
    NONE = "none"


class NormPlacement(StrEnum):
    """Where the norm sits: see `blocks.residual`."""

    PRE = "pre"
    POST = "post"
    SANDWICH = "sandwich"
    RES_POST = "res_post"
    PARALLEL = "parallel"


class PositionKind(StrEnum):
    """How a token learns where it stands: see `blocks.model.positions`."""

    NONE = "none"
    SINUSOIDAL = "sinusoidal"
    LEARNED = "learned"
    ROPE = "rope"
    ALIBI = "alibi"

    @property
    def is_added(self) -> bool:
        """Whether the position is a vector added to the input."""
        return self in (PositionKind.SINUSOIDAL, PositionKind.LEARNED)


class RopeScaling(StrEnum):
    """How RoPE is stretched to longer texts: see `blocks.model.positions`."""

    NONE = "none"
    LINEAR = "linear"
    NTK = "ntk"
    YARN = "yarn"
    LLAMA3 = "llama3"
    LONGROPE = "longrope"


class Activation(StrEnum):
    """The non-linearity of the feed-forward layer: see `blocks.feed_forward`."""

    RELU = "relu"
    RELU_SQUARED = "relu_squared"
    GELU = "gelu"
    GELU_TANH = "gelu_tanh"
    SILU = "silu"
    GLU = "glu"
    REGLU = "reglu"
    GEGLU = "geglu"
    GEGLU_TANH = "geglu_tanh"
    SWIGLU = "swiglu"
    QUICK_GEGLU = "quick_geglu"

    @property
    def is_gated(self) -> bool:
        """Whether a second projection decides how much of the first one passes."""
        return "glu" in self.value


class RouterKind(StrEnum):
    """How a router scores the experts: see `blocks.model.experts`."""

    SOFTMAX = "softmax"
    SIGMOID = "sigmoid"


class Initialization(StrEnum):
    """How the weights are drawn before any training: see `blocks.initialize`."""

    PYTORCH = "pytorch"
    XAVIER_UNIFORM = "xavier_uniform"
    NORMAL = "normal"
    ZERO_WRITES = "zero_writes"
