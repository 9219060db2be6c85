"""Independent random generators, one for each purpose, derived from one seed."""

import hashlib

import torch


def generator(seed: int, *purpose: str) -> torch.Generator:
    """A generator for one purpose under one seed, the same on every machine.

    Each weight, token and dropout has its own, so changing one part of a model leaves the
    random numbers of all others as they were. It lives on the CPU: a seed means the same
    weights whatever the device.
    """
    return torch.Generator().manual_seed(seed_of(seed, *purpose))


def seed_of(seed: int, *purpose: str) -> int:
    """The seed of the generator for one purpose."""
    digest = hashlib.sha256("\0".join((str(seed), *purpose)).encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest()[:8], "big") >> 1
