"""Random generators named by what they are for: the same names give the same stream on any machine, in any order."""

import hashlib
import json
import math
from numbers import Integral

import numpy as np


def generator(root: int, *names: str | int | float) -> np.random.Generator:
    """Return the generator of the stream that `names` describe, from the run's seed.

    The names are hashed with SHA-256 into a `SeedSequence`, so streams of different names are independent for all
    practical purposes, and adding a cell to a grid changes no other cell's stream. They say what the stream is for,
    coarse to fine: experiment, data set, repeat, "noise". Order and type matter: "1", 1, 1.0 and True name four
    streams. NumPy's integers and its float64 count as Python's; its other floats are refused, because float32(0.1)
    is not 0.1. TypeError if the root is no integer, or a name none of these; ValueError if the root is negative, or
    a name not finite.
    """
    if isinstance(root, bool) or not isinstance(root, Integral):
        raise TypeError(f"seed root={root!r} is a {type(root).__name__}; give an integer, 0 or above")
    if root < 0:
        raise ValueError(f"seed root={root} must be 0 or above")
    digest = hashlib.sha256(json.dumps([int(root), *map(_plain, names)]).encode()).digest()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(np.frombuffer(digest, dtype="<u4").tolist())))


def _plain(name: str | int | float) -> str | int | float:
    if isinstance(name, float) and not math.isfinite(name):
        raise ValueError(f"stream name {name!r} is not finite; leave it out, or name what it stands for")
    if isinstance(name, (str, bool, float)):
        return name
    if isinstance(name, Integral):
        return int(name)
    raise TypeError(f"stream name {name!r} is a {type(name).__name__}; give a str, an int or a float")
