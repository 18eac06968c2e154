"""Two-stage private sparse regression as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dperm.domain import Budget, Domain, Mended, one_of
from dperm.errors import SolverError
from dperm.mechanisms import sparse, vacuous
from dperm.mechanisms.base import share_or_default
from dperm.mechanisms.diagnostics import Diagnostics, keep
from dperm.mechanisms.estimators.objective import ObjectivePerturbation
from dperm.mechanisms.estimators.records import check_flags, queried
from dperm.mechanisms.estimators.support import SampAggSupport, SparseEstimator
from dperm.mechanisms.support import limits


@dataclass(eq=False, repr=False, kw_only=True)
class SparseRegression(RegressorMixin, SparseEstimator):
    r"""Private linear regression with `size` coefficients that are not 0: select a support, then fit on it.

    Stage one selects the support (`ExpMechSupport` or `SampAggSupport`) for `support_share` of epsilon, stage two
    minimises the perturbed sum of squares over |theta_j| <= `bound` on it, for the rest of epsilon and all of delta.
    The mathematics stands in `dperm.mechanisms.sparse`, the proofs in docs/privacy.md; that stage two may keep to a box
    is the limit theorem (kifer2012, Theorem 1). The loss is the squared one; for others `ObjectivePerturbation` may be
    fitted on a selected support (the two budgets add up).

    Parameters
    ----------
    size : int, default=1
        s in [1, p].
    support : {"exp_mech", "samp_agg"}, default="exp_mech"
        The exponential mechanism over all C(p, size) supports, at most 10^7; or the vote of blocks of the data, which
        needs `penalty` and, under add/remove, `blocks`.
    epsilon : float, default=1.0
        Above 0, of both stages together.
    delta : float, default=0.0
        In [0, 1), spent by stage two alone; 0 draws its noise from the spherical Laplace ("gamma") law, else Gaussian.
    support_share : float, default=0.5
        In (0, 1): stage one's share of epsilon.
    bound : float, default=1.0
        Public box of theta.
    curvature : float, optional
        Delta of stage two, for the sum of losses; default 2 lambda/((1 - solver_share) epsilon_2), with epsilon_2 what
        stage two has of epsilon and lambda = x_norm^2 (with an intercept x_norm^2 + 1). A value that depends on n is
        allowed under "replace" only.
    penalty : float, optional
        Lambda of Samp-Agg's lassos (of the sum of squares over a block), public.
    blocks : int, optional
        k of Samp-Agg, public. By default floor(sqrt(n)), but under add/remove n is private, and k has to be given.
    calibration : {"tight", "corrected", "paper"}, default="tight"
        "paper" promises nothing with Samp-Agg under add/remove (erratum K6), nor under replace-one (K3).
    neighbours : {"add_remove", "replace"}, default="add_remove"
        The paper's Definition 1 is add/remove.
    x_norm : float, default=1.0
        Public bound on the l2 norm of the `size` largest entries of a row: sqrt(size) for entries in [-1, 1].
    y_bound : float
        Public bound on |y|; has to be given.
    fit_intercept : bool, default=False
        Add a constant feature 1 in stage two: within `bound` and regularised like the rest. It is not among the `size`
        features, and the support is selected without it: centre y by a public constant first where it is far from 0.
    clip : bool, default=False
        Scale longer rows down, and bring targets into their domain, instead of raising: no record makes `fit` fail or
        warn (docs/privacy.md, section 1). Under add/remove it also lets empty blocks vote where there are more blocks
        than records (`SampAggSupport` says why).
    tolerance : float, optional
        Stage two's public target: a distance of at most tolerance zeta/Delta from its minimiser. Left out, 1e-9 with a
        solver share, else 1e-6.
    solver_share : float, optional
        Share of stage two's budget spent on hiding the solver's error; above 0 the statement is `proved`. Left out,
        0.001, and 0 with calibration="paper".
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    coef_ : ndarray, shape (p,)
        0 outside the support.
    intercept_ : float
    support_ : ndarray of bool, shape (p,)
        The support that stage one selected.
    privacy_ : PrivacyStatement
        Of the support and the coefficients together.

    Warns
    -----
    VacuousWarning
        Under "replace", where stage two's noise is as strong as n records; without a public n there is no such
        criterion.

    References
    ----------
    kifer2012, Algorithms 2, 3, 4 and 6, Theorem 38; errata K3, K5, K6, K14.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import SparseRegression
    >>> X = np.random.default_rng(0).choice([-1.0, 1.0], size=(2000, 8))
    >>> model = SparseRegression(epsilon=2.0, delta=1e-6, y_bound=1.0, random_state=0).fit(X, 0.5 * X[:, 3])
    >>> np.flatnonzero(model.coef_)
    array([3])
    >>> model.privacy_.guarantee
    'proved'
    """

    source = "kifer2012, Algorithms 2 and 6, Theorem 38"
    _offered = Mended
    _covered = ("coef_", "intercept_", "support_")

    size: int = 1
    support: str = "exp_mech"
    epsilon: float = 1.0
    delta: float = 0.0
    support_share: float = 0.5
    bound: float = 1.0
    curvature: float | None = None
    penalty: float | None = None
    blocks: int | None = None
    calibration: str = "tight"
    neighbours: str = "add_remove"
    x_norm: float = 1.0
    y_bound: float | None = None
    fit_intercept: bool = False
    clip: bool = False
    tolerance: float | None = None
    solver_share: float | None = None
    random_state: Any = None

    @property
    def unproved(self):
        """Return which stage has no proof as printed: the votes under add/remove, the fit under replace-one."""
        return (SampAggSupport if self.neighbours == "add_remove" else ObjectivePerturbation).unproved

    def _budget(self):
        return Budget(self.epsilon, self.delta)

    def _stages(self):
        """Return what both `sparse.stage_two` and `sparse.release` take."""
        names = "size neighbours calibration support_share bound curvature tolerance fit_intercept"
        given = {name: getattr(self, name) for name in names.split()}
        given["solver_share"] = share_or_default(self.solver_share, printed=self.calibration == "paper")
        return given | {"domain": Domain(self.x_norm, self.y_bound), "budget": self._budget()}

    def _check_declared(self):
        one_of("support", self.support, sparse.Support)
        check_flags(self, "fit_intercept")
        self._check_bounds()
        if self.support == "samp_agg":
            self._check_votes()
        sparse.stage_two(**self._stages())

    def _check_data(self, n, p):
        if self.support == "exp_mech":
            limits.checked_supports(self.size, p)
        else:
            self._check_blocks(n)

    def _fit(self, X, y, rng):
        # Samp-Agg's votes see the data as they are: the core brings them within the bounds for stage two.
        within = self._within_bounds(X, y)
        given = self._stages() | {"penalty": self.penalty, "blocks": self.blocks, "support": self.support, "rng": rng}
        released = sparse.release(*(self._as_they_are(X, y) if self.support == "samp_agg" else within), **given)
        keep(self, Diagnostics(float(released.certificate[0]), bool(released.converged.all())))
        if not released.converged.all():
            raise SolverError(
                "a stage did not reach its public target, which the statement needs; raise `tolerance`, `curvature` "
                "or `epsilon`"
            )
        vacuous.warn(self, released.noise, len(X), stacklevel=4)
        theta = released.theta[0]
        self.coef_ = theta[: self.n_features_in_]
        self.intercept_ = float(theta[-1]) if self.fit_intercept else 0.0
        self.support_ = np.zeros(self.n_features_in_, bool)
        self.support_[released.supports[0]] = True
        return released.guarantee

    def predict(self, X):
        """Return <x, theta> plus the intercept for each row.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n,)
        """
        check_is_fitted(self)
        return queried(self, X) @ self.coef_ + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Noise at a small budget may drown any signal: accuracy is not a property of correct code here.
        tags.regressor_tags.poor_score = True
        return tags
