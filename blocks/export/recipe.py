"""The lines that count again what a panel shows."""

from blocks.cost.hardware import HARDWARE
from blocks.cost.served_facts import Serving
from blocks.cost.setup import Setup
from blocks.cost.step import Shape
from blocks.export.notebook import written
from blocks.model.config import ModelConfig

NEED = """\
from blocks import ModelConfig
from blocks.cost import CacheFormat, Layout, Setup, WeightFormat, {function}

config = {config}
setup = {setup}
{function}(config, setup, batch={batch}, n={n}).total  # bytes
"""
SPEED = """\
from blocks import ModelConfig
from blocks.cost import CacheFormat, Layout, Setup, Shape, Speculation, WeightFormat
from blocks.cost import reading, writing
{more}
config = {config}
setup = {setup}
device = {device}
reading(config, setup, {n}, device)  # seconds until the first token, by cause
writing(config, setup, Shape({middle}, {batch}), device, {draft})  # a step of all texts
"""
RATED = "from blocks.cost.hardware import Rated\n"


def need_recipe(config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool) -> str:
    """Bytes on each device."""
    return NEED.format(
        function="training_need" if is_training else "inference_need",
        config=written(config),
        setup=written(setup),
        batch=shape.batch,
        n=shape.n,
    )


def speed_recipe(asked: Serving) -> str:
    """Seconds of a prompt and of a step."""
    is_known, rated = asked.device in HARDWARE, asked.own or asked.here
    return SPEED.format(
        more="" if is_known else RATED,
        config=written(asked.config),
        setup=written(asked.setup),
        device=repr(asked.device) if is_known else f"{rated!r}.hardware({asked.device!r})",
        n=asked.n,
        middle=asked.n + asked.n_output // 2,
        batch=asked.batch,
        draft=repr(asked.draft),
    )
