"""DP-Sniper with its two classifiers, told the pair; its own parameters, with as many draws a side as all others.

Two fifths train and, of the neighbour, a tenth finds the threshold; half is left for the certificate. It attacks from
one side: which one is given, the better of both being reported.
"""

import functools
import itertools
import sys
import tempfile

# ruff: noqa: E402
# tensorboard would load TensorFlow, and beside torch that crashes the process; so this comes before the imports.
sys.modules["tensorflow"] = None

import numpy as np
import torch
from dpsniper.attack.dpsniper import DPSniper
from dpsniper.classifiers.classifier_factory import LogisticRegressionFactory, MultiLayerPerceptronFactory
from dpsniper.classifiers.torch_optimizer_factory import AdamOptimizerFactory, SGDOptimizerFactory
from dpsniper.probability.estimators import EpsEstimator, PrEstimator
from dpsniper.search.ddconfig import DDConfig
from dpsniper.utils import paths
from running import CONFIDENCE, run


class Drawn:
    """A mechanism as its code wants one."""

    def __init__(self, mechanism, seed):
        self.draw, self.rng = mechanism.draw, np.random.default_rng(seed)

    def m(self, a, n_samples=1):
        return self.draw(a, n_samples, self.rng)


def certified(mechanism, draws, seed, *, factory, optimizer, first):
    """Find the event that a classifier tells, and certify it."""
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    parts = {"n_train": 4 * draws // 10, "n": draws // 10, "n_check": draws // 2, "n_final": draws // 2}
    config = DDConfig(n_processes=1, confidence=CONFIDENCE, **parts)
    drawn = Drawn(mechanism, seed)
    classifiers = factory(in_dimensions=drawn.m(0, 1).shape[1], optimizer_factory=optimizer())
    attack = DPSniper(drawn, classifiers, config).best_attack(first, 1 - first)
    found = EpsEstimator(PrEstimator(drawn, draws // 2, config)).compute_eps_estimate(first, 1 - first, attack)
    return max(0.0, found[1])


torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as folder:
    paths.set_output_directory(folder)
    lr = ("LR", LogisticRegressionFactory, SGDOptimizerFactory)
    mlp = ("MLP", MultiLayerPerceptronFactory, AdamOptimizerFactory)
    for (words, factory, optimizer), first in itertools.product((lr, mlp), (1, 0)):
        way = {"factory": factory, "optimizer": optimizer, "first": first}
        run(f"DP-Sniper, {words}, side {first}", functools.partial(certified, **way), pure=True)
