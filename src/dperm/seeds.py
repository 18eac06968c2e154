"""Random generators named by what they are for: the same names give the same stream on any machine, in any order."""

import hashlib
import json

import numpy as np


def generator(root: int, *names: str | int | float) -> np.random.Generator:
    """Return the generator of the stream that `names` describe.

    The names are hashed with SHA-256 into a `SeedSequence`, so streams of different names are independent for all
    practical purposes, and adding a cell to a grid changes no other cell's stream.

    Parameters
    ----------
    root : int
        The run's seed, 0 or above.
    *names : str, int or float
        What the stream is for, coarse to fine: experiment, data set, repeat, "noise". Order and type matter.
    """
    digest = hashlib.sha256(json.dumps([root, *names]).encode()).digest()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(np.frombuffer(digest, dtype="<u4").tolist())))
