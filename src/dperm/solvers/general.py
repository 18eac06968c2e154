r"""Quadratics with any convex regularizer and closed convex set, stated in cvxpy and solved by Clarabel.

    z_r = argmin_{z in F}  1/2 z'H_r z - <c_r, z> + r(z)

Slow, a conic program for each r, but it takes what no fast solver here serves: nuclear norm, simplex, fused lasso. The
dual value of the conic program bounds the minimum from below; so value - dual value, divided by the modulus m of
strong convexity, bounds the squared distance of what was found from the minimiser: ||z - z*||^2 <= 2 gap/m.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from dperm.errors import ConfigError
from dperm.feasible import Region, Regularizer

# Of Clarabel's gap and residuals: where interior-point steps in doubles still get to.
ACCURACY = 1e-10


@dataclass(frozen=True)
class Solution:
    """What `minimise` found.

    Parameters
    ----------
    theta : ndarray, shape (R, p)
    gap : ndarray, shape (R,)
        Value at theta minus the dual value, at least 0; infinite where the solver failed.
    """

    theta: np.ndarray
    gap: np.ndarray


def minimise(H: np.ndarray, c: np.ndarray, regularizer: Regularizer, region: Region) -> Solution:
    """Minimise 1/2 z'H_r z - <c_r, z> + l1 ||z||_1 + expression(z) over F for r = 1..R, one after the other.

    The l2 part of the regularizer is left aside: the caller has it in H.

    Parameters
    ----------
    H : ndarray, shape (p, p) or (R, p, p)
        Symmetric positive definite.
    c : ndarray, shape (R, p)
    regularizer : Regularizer
    region : Region

    Returns
    -------
    Solution
        Where Clarabel failed, theta is NaN and the gap infinite: nothing is raised, because that depends on data.

    Raises
    ------
    ConfigError
        If the expression or a constraint is not what cvxpy accepts as convex.
    """
    import cvxpy as cp

    p = c.shape[1]
    z, root, linear = cp.Variable(p), cp.Parameter((p, p)), cp.Parameter(p)
    objective = 0.5 * cp.sum_squares(root @ z) - linear @ z
    if regularizer.l1:
        objective += regularizer.l1 * cp.norm1(z)
    constraints = []
    if np.isfinite(region.radius):
        constraints.append(cp.norm2(z) <= region.radius)
    if region.low > -np.inf:
        constraints.append(z >= region.low)
    if region.high < np.inf:
        constraints.append(z <= region.high)
    try:
        if regularizer.expression is not None:
            objective += regularizer.expression(z)
        if region.constraints is not None:
            constraints += list(region.constraints(z))
        problem = cp.Problem(cp.Minimize(objective), constraints)
    except Exception as error:  # whatever foreign code does
        raise ConfigError(f"the regularizer or the set cannot be stated in cvxpy: {error}") from error
    if not problem.is_dcp():
        raise ConfigError(
            "the regularizer is not convex by cvxpy's rules, or the set is not; give a convex expression of theta "
            "(cvxpy.Variable of shape (p,)) and convex constraints"
        )
    theta, gap = np.full_like(c, np.nan), np.full(len(c), np.inf)
    shared = H.ndim == 2
    for r in range(len(c)):
        if r == 0 or not shared:
            root.value = np.linalg.cholesky(H if shared else H[r]).T
        linear.value = c[r]
        found = _solve(problem, cp)
        if found is not None:
            theta[r] = z.value
            gap[r] = max(found, 0.0)
    return Solution(theta, gap)


def value(regularizer: Regularizer, theta: np.ndarray) -> np.ndarray:
    """Return l1 ||theta||_1 + expression(theta) for each point.

    Parameters
    ----------
    regularizer : Regularizer
    theta : ndarray, shape (R, p)

    Returns
    -------
    ndarray, shape (R,)
    """
    total = regularizer.l1 * np.abs(theta).sum(axis=1)
    if regularizer.expression is not None:
        import cvxpy as cp

        z = cp.Variable(theta.shape[1])
        expression = regularizer.expression(z)
        for r in range(len(theta)):
            z.value = theta[r]
            total[r] += float(expression.value)
    return total


def _solve(problem, cp) -> float | None:
    """Solve to the last digits; return the gap, or None."""
    data, chain, inverse = problem.get_problem_data(cp.CLARABEL, ignore_dpp=False)
    options = {"tol_gap_abs": ACCURACY, "tol_gap_rel": ACCURACY, "tol_feas": ACCURACY, "max_threads": 1}
    raw = chain.solve_via_data(problem, data, solver_opts=options)
    inverse[-1].solver_options = options  # what Problem.solve would note there
    try:
        with warnings.catch_warnings():
            # "Solution may be inaccurate": the gap says how much.
            warnings.simplefilter("ignore", UserWarning)
            problem.unpack_results(raw, chain, inverse)
    except cp.error.SolverError:
        return None
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        return None
    return float(raw.obj_val - raw.obj_val_dual)
