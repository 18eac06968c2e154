"""Mistakes of NAPP-ERM (li2021), each beside its proved form: noise, floor, truncation, signs, MOOR, recycling."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dperm.audit.mutants.mutant import Finite, Sampled, mutant, mutants_of
from dperm.audit.mutants.noise import ONE
from dperm.audit.napp import ball, cases
from dperm.audit.napp import problem as line
from dperm.audit.napp.cases import Pair
from dperm.audit.napp.problem import Bounds, Problem
from dperm.laws import tails
from dperm.mechanisms.napp import Plan

# A run takes a third of a millisecond; what is broken shows at one side alone, and thousands of draws tell (p < 1e-15).
_MOST_DRAWS = 4_000
# Where the line is cut, besides 0: finely between 0 and 1, on both sides.
_CUTS = np.concatenate([-np.linspace(1, 0, 1000, endpoint=False), np.linspace(0, 1, 1001)])


@dataclass(frozen=True)
class _Mistaken(Problem):
    """A corrected form with a mistake that the mechanism refuses: its noise is that of the proper form."""

    proper: Problem | None = None

    def plan(self, features: int = 1) -> Plan:
        """Return the proper form's."""
        return self.proper.plan(features)


@mutant("NAPP-ERM with the radius Gamma(1, .) in 16 dimensions", "li2021, N1", "add_remove")
def printed_radius(broken: bool) -> Sampled:
    """NAPP-ERM's spherical noise with the radius Gamma(1, 2 zeta/(r epsilon)) in 16 dimensions.

    The twin's radius is Gamma(16, zeta/(r epsilon)).
    """
    return _sampled("erm", broken)


@mutant("NAPP-VS+: noise cut off at 0", "li2021, N2", "add_remove")
def truncated_tilt(broken: bool) -> Sampled:
    """NAPP-VS+: b cut off at 0 weighs |theta|.

    The twin has two-sided noise and the half-normal mean as a public lasso.
    """
    return _sampled("vs_plus", broken)


@mutant("NAPP-ERM with a quarter of Lambda0", "li2021, 3.4", "add_remove")
def quarter_floor(broken: bool) -> Finite:
    """NAPP-ERM with the floor Lambda0 of a loss whose curvature is a quarter of this one's."""
    proper = cases.squared(ONE, "corrected")
    quarter = Bounds(1.0, proper.bounds.zeta2, 0.25)
    problem = _Mistaken(**{**vars(proper), "bounds": quarter}, proper=proper) if broken else proper
    return _pieced(cases.walled(problem, ""), np.linspace(0, cases.EDGE, 400))


@mutant("NAPP-VS outside one orthant", "li2021, N3", "add_remove")
def both_signs(broken: bool) -> Finite:
    """NAPP-VS with corrected noise: signs of the first iteration's estimate turn b around. The twin is NAPP-ERM."""
    problem = cases.mild(ONE, "paper", variant="vs" if broken else "erm")
    return _pieced(iter([cases.signed(problem)]), _CUTS)


@mutant("MOOR with a lasso", "li2021, N4", "add_remove")
def joined_floor(broken: bool) -> Finite:
    """NAPP-ERM with MOOR: the larger one of a lasso's weight and Lambda0; the twin adds the two."""
    return _pieced(cases.gap(cases.wide(ONE, "paper", moor=broken)), _CUTS)


@mutant("recycled noise beside the old floor", "li2021, 3.7", "add_remove")
def forgotten_floor(broken: bool) -> Finite:
    """A ridge's recycled noise, made for a weight of 2 Lambda0.

    The problem that is solved keeps the old floor Lambda0; the twin's weight is what was paid for.
    """
    proper = cases.recycled(ONE, "corrected")
    problem = _Mistaken(**{**vars(proper), "strength": proper.floor}, proper=proper) if broken else proper
    return _pieced(cases.walled(problem, ""), np.linspace(0, cases.EDGE, 400))


def _sampled(form: str, broken: bool) -> Sampled:
    """Return a form's release in 16 dimensions, as printed if broken, else corrected."""
    table, calibration = (ball.PRINTED, "paper") if broken else (ball.CORRECTED, "corrected")
    problem = table[form].make(ONE, calibration)

    def draw(data, repeats, rng):
        return problem.released(*data, repeats, rng)

    return Sampled(draw, *ball.neighbours(1.0), most_draws=_MOST_DRAWS)


def _pieced(pairs: Iterator[Pair], cuts: np.ndarray) -> Finite:
    """Return the release of the first pair's problem, seen in pieces of the line, 0 one of them."""
    pair = next(pairs)
    target = line.target(pair.problem)
    edges = np.unique(np.append(cuts, np.nextafter(0.0, -1.0)))

    def law(data):
        lower = np.concatenate([[0.0], target.cdf(edges, data), [1.0]])
        upper = np.concatenate([[1.0], target.sf(edges, data), [0.0]])
        # What is 0 counts as 1e-300, so that a large bound is a number.
        return np.maximum(tails.differences(lower, upper), 1e-300)

    return Finite(law, [(pair.data, pair.neighbour)])


MUTANTS = mutants_of(globals())
