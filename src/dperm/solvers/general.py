r"""Quadratics with any convex regularizer and closed convex set, stated in cvxpy and solved by Clarabel.

    z_r = argmin_{z in F}  1/2 z'H_r z - <c_r, z> + r(z)

Slow, a conic program for each r, but it takes what no fast solver here serves: nuclear norm, simplex, fused lasso.

cvxpy turns r and F into a conic program over x = (z, what r and F need besides), once for all r; H_r and c_r are put
into its objective. `conic` shows how far the objective at a point may be above its minimum, by a dual point of our own:
nothing is taken on Clarabel's word. The gap is infinite, and the repeat does not count as solved, where F has no point
that meets its inequalities strictly (state equations as equations: theta == 0, not theta <= 0 and theta >= 0), or where
a variable of r or F is left free by all of them.
"""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from dperm.errors import ConfigError
from dperm.feasible import Region, Regularizer
from dperm.solvers import cones, conic

# What Clarabel says where no point is in F, or where the objective has no bottom.
_INFEASIBLE = ("PrimalInfeasible", "AlmostPrimalInfeasible")


@dataclass(frozen=True)
class Solution:
    """What `minimise` found.

    - gap: shape (R,); at least the objective at theta less its minimum, and at least m/2 ||theta - theta*||^2 for the
      least eigenvalue m of H_r; infinite where nothing is shown.
    """

    theta: np.ndarray
    gap: np.ndarray


def minimise(H: np.ndarray, c: np.ndarray, regularizer: Regularizer, region: Region) -> Solution:
    """Minimise 1/2 z'H_r z - <c_r, z> + l1 ||z||_1 + expression(z) over F for r = 1..R, one after the other.

    The l2 part of the regularizer is ignored: the caller has it in H.

    - H: shape (p, p) or (R, p, p); symmetric positive definite: callers add m > 0 to a sum of squares. P of cvxpy's own
      rules is semidefinite.
    - Returns: where Clarabel failed, or H or c is not finite or above 1e100, theta is NaN and the gap infinite: nothing
      is raised, because that depends on data.
    - Raises ConfigError: if the expression or a constraint is not what cvxpy accepts as convex, a variable is
      whole-numbered, or the set is empty. None of it depends on H and c.
    """
    p, shared = c.shape[1], H.ndim == 2
    program, P, q, at = conic_form(regularizer, region, p)
    theta, gap = np.full_like(c, np.nan), np.full(len(c), np.inf)
    certifier, own = None, P
    for r in range(len(c)):
        # Neither what is singular in doubles nor an overflow is more than a repeat that was not solved.
        with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
            if certifier is None or not shared:
                own = P.copy()
                own[at, at] += H if shared else H[r]
                certifier = conic.Certifier(program, own)
            linear = q.copy()
            linear[at] -= c[r]
            x, z, status = program.solve(own, linear)
            if status in _INFEASIBLE:
                _refuse_empty(program, p, region)
            elif np.isfinite(x).all() and np.isfinite(z).all():
                x, gap[r] = certifier.certify(linear, x, z)
                theta[r] = x[at]
    return Solution(theta, gap)


def conic_form(regularizer: Regularizer, region: Region, p: int) -> tuple[conic.Program, np.ndarray, np.ndarray, slice]:
    """Return the conic program of r over F, its own P and q, and where theta is among its variables."""
    cp = _cvxpy()
    # The parameter keeps theta in the program, whatever r and F say of it.
    z, linear = cp.Variable(p), cp.Parameter(p, value=np.zeros(p))
    penalty, constraints = _stated(cp, z, regularizer, region)
    data, *_ = cp.Problem(cp.Minimize(linear @ z + penalty), constraints).get_problem_data(cp.CLARABEL)
    dims, n = data["dims"], len(data["c"])
    start = data["param_prob"].var_id_to_col[z.id]
    P = data["P"].toarray() if "P" in data else np.zeros((n, n))
    program = conic.Program(data["A"].toarray(), data["b"], int(dims.zero), cones.product(dims))
    return program, P, data["c"], slice(start, start + p)


def _cvxpy():
    try:
        import cvxpy
    except ModuleNotFoundError as error:
        raise ConfigError(
            "a regularizer or constraints of your own are stated and solved by cvxpy, which is not installed: "
            "pip install 'dperm[convex]'"
        ) from error
    return cvxpy


def value(regularizer: Regularizer, theta: np.ndarray) -> np.ndarray:
    """Return l1 ||theta||_1 + expression(theta) for each point (theta (R, p); the result (R,))."""
    total = regularizer.l1 * np.abs(theta).sum(axis=1)
    if regularizer.expression is not None:
        cp = _cvxpy()
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
    # The regularizer that the user wrote: one convex number of theta.
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
    # The set that the user wrote: a list of convex constraints.
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
    # cvxpy takes integer variables for convex; no theorem does.
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


def _refuse_empty(program: conic.Program, p: int, region: Region) -> None:
    """Raise if no point is in F where r is finite: a question without data."""
    n = program.A.shape[1]
    if program.solve(np.eye(n), np.zeros(n))[2] not in _INFEASIBLE:
        return
    declared = [
        f"{name}={getattr(region, name):g}" for name in ("radius", "low", "high") if np.isfinite(getattr(region, name))
    ]
    beside = f" within the declared {', '.join(declared)}" if declared else ""
    raise ConfigError(
        f"constraints: no theta of shape ({p},) meets them{beside}: the feasible set is empty; loosen the "
        "constraints, or declare a larger ball or box"
    )
