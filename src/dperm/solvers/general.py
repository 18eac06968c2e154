r"""Quadratics with any convex regularizer and closed convex set, stated in cvxpy and solved by Clarabel.

    z_r = argmin_{z in F}  1/2 z'H_r z - <c_r, z> + r(z)

Slow, a conic program for each r, but it takes what no fast solver here serves: nuclear norm, simplex, fused lasso.

Certificate. Clarabel minimises 1/2 x'Px + <q, x> over Ax + s = b, s in a cone K, and returns s in K and multipliers z
in the dual cone, but x, s and z meet the equations only up to the residuals e = Ax + s - b and d = Px + q + A'z. So
value - dual value may be too small, even negative. With (x*, s*, z*) optimal and <s*, z*> = 0

    (x - x*)'P(x - x*) = <d, x - x*> - <z - z*, e - s + s*> <= <s, z> + <d, x - x*> - <z - z*, e>,
    f(x) - f(x*) <= <s, z> + <d, x - x*> - <z, e>,

as <s*, z> and <s, z*> are not negative. The gap is <s, z> + |<z, e>| + NEAR (|d|_1 |x|_max + |e|_1 |z|_max), d and e
raised by the rounding of the sums that they are: an upper bound of both if x and z lie within NEAR = 1 % of x* and z*,
which Clarabel meets by orders of magnitude where it says that it succeeded. Strong convexity of modulus m makes it one
of the distance: ||theta - theta*||^2 <= 2 gap/m.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from dperm.errors import ConfigError
from dperm.feasible import Region, Regularizer

# Of Clarabel's gap and residuals: where interior-point steps in doubles still get to.
ACCURACY = 1e-10
# Relative distance of Clarabel's point and multipliers from optimal ones, in the largest entry.
NEAR = 0.01
# Of a sum of products in doubles, relative to the sum of their sizes.
_ROUNDING = 16 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Solution:
    """What `minimise` found.

    Parameters
    ----------
    theta : ndarray, shape (R, p)
    gap : ndarray, shape (R,)
        Above 0, as in the module's text; infinite where the solver failed.
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
        If the expression or a constraint is not what cvxpy accepts as convex, a variable is whole-numbered, or the set
        is empty. None of it depends on H and c.
    """
    import cvxpy as cp

    p = c.shape[1]
    z, root, linear = cp.Variable(p), cp.Parameter((p, p)), cp.Parameter(p)
    penalty, constraints = _stated(cp, z, regularizer, region)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(root @ z) - linear @ z + penalty), constraints)
    theta, gap = np.full_like(c, np.nan), np.full(len(c), np.inf)
    shared = H.ndim == 2
    for r in range(len(c)):
        if r == 0 or not shared:
            root.value = np.linalg.cholesky(H if shared else H[r]).T
        linear.value = c[r]
        found = _solve(problem, cp)
        if found is not None:
            theta[r], gap[r] = z.value, found
        elif problem.status in cp.settings.INF_OR_UNB:
            _refuse_empty(cp, z, penalty, constraints, region)
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


def _stated(cp, z, regularizer: Regularizer, region: Region):
    """Return l1 ||z||_1 + expression(z) and the constraints of F, or refuse what users gave for them."""
    penalty = cp.Constant(0.0)
    if regularizer.l1:
        penalty += regularizer.l1 * cp.norm1(z)
    constraints = []
    if np.isfinite(region.radius):
        constraints.append(cp.norm2(z) <= region.radius)
    if region.low > -np.inf:
        constraints.append(z >= region.low)
    if region.high < np.inf:
        constraints.append(z <= region.high)
    if regularizer.expression is not None:
        given = _called("regularizer", regularizer.expression, z)
        if not (isinstance(given, cp.Expression) and given.is_scalar()):
            what = f"shape {given.shape}" if isinstance(given, cp.Expression) else f"a {type(given).__name__}"
            raise ConfigError(
                f"regularizer: it must return a scalar cvxpy expression of theta, such as cvxpy.norm1(theta), and "
                f"returned {what}"
            )
        if not given.is_convex():
            raise ConfigError(
                "regularizer: its expression is not convex by cvxpy's rules; give a convex one of theta (cvxpy "
                "Variable)"
            )
        penalty += given
    if region.constraints is not None:
        given = _called("constraints", region.constraints, z)
        known = isinstance(given, list | tuple) and all(isinstance(one, cp.Constraint) for one in given)
        if not known:
            raise ConfigError(
                "constraints: it must return a list of cvxpy constraints on theta, such as [theta >= 0], and returned "
                f"{_kinds(given)}"
            )
        if not all(one.is_dcp() for one in given):
            raise ConfigError(
                "constraints: the set is not convex by cvxpy's rules; give constraints such as convex <= concave"
            )
        constraints += given
    problem = cp.Problem(cp.Minimize(penalty), constraints)
    if problem.is_mixed_integer():
        raise ConfigError(
            "regularizer or constraints: a variable is boolean or integer, so that the problem is not convex; take "
            "continuous ones, such as cvxpy.Variable()"
        )
    return penalty, constraints


def _called(name: str, function, z):
    """Return function(z), or blame the function."""
    try:
        return function(z)
    except Exception as error:  # whatever foreign code does
        raise ConfigError(
            f"{name}: it cannot be stated in cvxpy for a variable of shape {z.shape}; mend the function: {error}"
        ) from error


def _kinds(given) -> str:
    if not isinstance(given, list | tuple):
        return f"a {type(given).__name__}"
    return f"a {type(given).__name__} of " + (", ".join(sorted({type(one).__name__ for one in given})) or "nothing")


def _refuse_empty(cp, z, penalty, constraints, region: Region) -> None:
    """Raise if no point is in F where r is finite: a question without data."""
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(z) + penalty), constraints)
    if _solve(problem, cp) is not None or problem.status not in cp.settings.INF_OR_UNB:
        return
    declared = [
        f"{name}={getattr(region, name):g}" for name in ("radius", "low", "high") if np.isfinite(getattr(region, name))
    ]
    beside = f" within the declared {', '.join(declared)}" if declared else ""
    raise ConfigError(
        f"constraints: no theta of shape {z.shape} meets them{beside}: the feasible set is empty; loosen the "
        "constraints, or declare a larger ball or box"
    )


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
    return _gap(data, raw)


def _gap(data, raw) -> float:
    """Return the upper bound of the module's text."""
    A, b, q = data["A"], data["b"], data["c"]
    x, s, z = (np.asarray(part, dtype=float) for part in (raw.x, raw.s, raw.z))
    primal, dual = A @ x + s - b, q + A.T @ z
    primal_size, dual_size = abs(A) @ abs(x) + abs(s) + abs(b), abs(q) + abs(A).T @ abs(z)
    if "P" in data:
        dual, dual_size = dual + data["P"] @ x, dual_size + abs(data["P"]) @ abs(x)
    products = abs(s @ z) + abs(z @ primal) + _ROUNDING * (abs(z) @ (abs(s) + primal_size))
    primal, dual = abs(primal) + _ROUNDING * primal_size, abs(dual) + _ROUNDING * dual_size
    largest = [abs(part).max(initial=0.0) for part in (x, z)]
    return float(products + NEAR * (dual.sum() * largest[0] + primal.sum() * largest[1]))
