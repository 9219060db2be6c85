"""Independent random generators, one for each purpose, derived from one seed."""

import hashlib

import torch


def generator(seed: int, *purpose: str) -> torch.Generator:
    """A generator for one purpose under one seed, the same on every machine.

    Each weight, token and dropout has its own, so changing one part of a model leaves the
    random numbers of all others as they were. It lives on the CPU: a seed means the same
    weights whatever the device.
    """
    digest = hashlib.sha256("\0".join((str(seed), *purpose)).encode("utf-8", "surrogatepass"))
    return torch.Generator().manual_seed(int.from_bytes(digest.digest()[:8], "big") >> 1)
