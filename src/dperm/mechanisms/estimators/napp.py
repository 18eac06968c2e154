"""NAPP-ERM as a scikit-learn estimator."""

import math
from dataclasses import dataclass, replace

import numpy as np

from dperm.domain import MOST, Budget, Domain, number
from dperm.errors import DomainViolation, InvalidBudget, ReleaseError
from dperm.mechanisms import napp
from dperm.mechanisms.base import aimed, check_nearness, share_or_default
from dperm.mechanisms.estimators.linear import LinearEstimator
from dperm.mechanisms.estimators.records import check_flags
from dperm.mechanisms.napp import losses
from dperm.mechanisms.napp.arguments import counts_of
from dperm.mechanisms.napp.validity import named, remedies

# Where the solver is tested to meet its target whatever the records are (docs/privacy.md, section 1): the least
# epsilon, and, of penalties but the ridge, the shortest bound on rows.
_EPSILON, _SHORTEST = 1e-3, 1e-4


@dataclass(eq=False, repr=False, kw_only=True)
class NAPP(LinearEstimator):
    r"""Private regularised linear model by noise augmentation (NAPP-ERM, VS and VS+, with or without MOOR).

    Minimises sum_i l(<x_i, theta>, y_i) + Lambda R(theta) + Lambda0 ||theta||^2 + <b, theta>, or one of the paper's
    variations on it; the mathematics stands in `dperm.mechanisms.napp`, the proofs in docs/privacy.md. With
    calibration="paper" everything runs as printed, and the statement says what is proved of it; the others run
    proved forms and refuse what is not, naming one that is valid.

    Parameters
    ----------
    epsilon : float, default=1.0
        0.001 or above.
    delta : float, default=0.0
        In [0, 1); 0 draws b from a spherical Laplace law, else Gaussian.
    loss : {"logistic", "squared", "poisson", "smoothed_hinge"}, default="logistic"
        "squared" and "poisson" are regression and need `y_bound` and `eta_bound` (or bounded `low` and `high`); the
        others are binary classification.
    penalty : {"lasso", "ridge", "bridge", "elastic_net"}, default="lasso"
        R: ||theta||_1, ||theta||^2, sum |theta_j|^(2 - gamma), ||theta||_1 + kappa ||theta||^2.
    strength : float, default=1.0
        Lambda, above 0, beside the sum of losses.
    gamma : float, optional
        In [0, 2), for "bridge".
    kappa : float, optional
        In (0, 1), for "elastic_net".
    variant : {"erm", "vs", "vs_plus"}, default="erm"
        The tilt: <b, theta>; b'|theta|, valid inside one orthant; b'|theta| with b > 0, valid as two-sided b with a
        public lasso.
    truncation : float, optional
        c of the paper's truncated laws, never above 0. The variant's own if left out: -inf for "vs", 0 for "vs_plus".
    moor : bool, default=False
        Maximum of target and floor (MOOR) instead of their sum; valid for "ridge" and for "elastic_net" with strength *
        kappa >= Lambda0.
    share : float, default=0.5
        r in (0, 1): the part of epsilon that b spends. The rest sets the floor Lambda0 = zeta3/(2 (1 - r) epsilon).
    retrieval : {"none", "return", "recycle"}, default="none"
        What becomes of the budget that the penalty's modulus saves: nothing, less epsilon is claimed, or less noise is
        drawn (Algorithm 2). Valid for "ridge".
    rounds : int, default=1
        Of recycling.
    calibration : {"tight", "corrected", "paper", "separate"}, default="tight"
        "separate", for comparison, knows nothing of how the logistic loss ties force and curvature: more noise.
    neighbours : {"add_remove", "replace"}, default="add_remove"
        The paper's are add/remove.
    low, high : float or array_like, default=-inf, inf
        Theta: low <= theta <= high in every coordinate, the intercept's too; low=0 is an orthant. With `clip` a box
        without 0 has to be near enough to it for the solver: the message says how near.
    x_norm : float, default=1.0
        Public bound zeta1 on the rows' l2 norm; 1e-4 or above, but for "ridge".
    y_bound : float, optional
        Public bound on |y|, for "squared" and "poisson"; of "poisson" y is also 0 or above.
    eta_bound : float, optional
        Public bound on |<x, theta>|, beyond which the loss goes on linearly (and predicted means stay constant).
    fit_intercept : bool, default=False
        Append a constant feature 1; the rows' bound becomes sqrt(x_norm^2 + 1). The intercept is penalised like the
        rest.
    clip : bool, default=False
        Scale longer rows down to `x_norm`, and bring targets into their domain ([0, `y_bound`] for "poisson"), instead
        of raising: with declared `classes` (or real targets) no record can make `fit` fail or warn.
    classes : tuple of two labels, optional
        Public (negative, positive) labels. Left out, they are taken from y with a `PrivacyLeakWarning`.
    method : {"limit", "literal"}, default="limit"
        The fixed point for infinitely many noise rows, solved directly; or Algorithm 1 to the letter, without a proof.
    n_e : int, default=10000
        Noise rows of the literal way; even.
    steps : int, default=80
        Iterations T of the literal way, and of a bridge with gamma other than 0 and 1.
    tolerance : float, optional
        The solver's public target: a distance of at most tolerance zeta/m from the minimiser, where the penalty is
        m-strongly convex. Left out, 1e-9 with a solver share, else 1e-6.
    solver_share : float, optional
        Share of the budget spent on hiding the solver's error; above 0 the statement is `proved`, at 0 `proved_exact`.
        Left out, 0.001, and 0 with calibration="paper".
    release : bool, default=False
        True is refused: the noise of this mechanism cannot be made safe against floating point.
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    coef_, intercept_
        As in scikit-learn.
    privacy_ : PrivacyStatement
        Its source names the theorem that proves the release, or the errata that leave it without a proof.

    Warns
    -----
    VacuousWarning
        Under "replace", where the noise is as strong as n records; without a public n there is no such criterion.

    References
    ----------
    li2021, Algorithms 1 and 2, Theorem 4; errata N1 to N12, N17.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import NAPP
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = NAPP(epsilon=2.0, delta=1e-6, strength=2.0, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.privacy_.guarantee
    'proved'
    """

    _easing = "`strength` or `epsilon`"

    penalty: str = "lasso"
    strength: float = 1.0
    gamma: float | None = None
    kappa: float | None = None
    variant: str = "erm"
    truncation: float | None = None
    moor: bool = False
    share: float = 0.5
    retrieval: str = "none"
    rounds: int = 1
    low: float | np.ndarray = -math.inf
    high: float | np.ndarray = math.inf
    y_bound: float | None = None
    eta_bound: float | None = None
    method: str = "limit"
    n_e: int = 10_000
    steps: int = 80
    tolerance: float | None = None
    solver_share: float | None = None

    def predict(self, X):
        """Return labels (classification), or the predicted mean: <x, theta>, and for "poisson" its exponential.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n,)
        """
        if self.loss != "poisson":
            return super().predict(X)
        return np.exp(np.clip(self._margin(X), -self._eta_bound(), self._eta_bound()))

    @property
    def source(self):
        """Return paper and the theorem that proves a release, or the errata that leave it without a proof."""
        obstacles = getattr(self, "_obstacles", ())
        if not obstacles:
            theorem = {"tight": "Theorems 1 to 4", "separate": "Theorems 1 to 3"}.get(self.calibration, "Theorem N")
            return f"li2021; docs/privacy.md, section 10, {theorem}"
        errata = ", ".join(dict.fromkeys(obstacle.erratum for obstacle in obstacles if obstacle.erratum))
        return "li2021, Theorem 4; no proof" + (f": errata {errata}" if errata else "")

    @property
    def unproved(self):
        """Return what stands in the way of a proof, with the errata."""
        return named(self._obstacles)

    def _valid_form(self):
        return f"valid: {remedies(self._obstacles)}"

    def _loss(self):
        return losses.make(self.loss, self._eta_bound())

    def _eta_bound(self):
        return math.inf if self.eta_bound is None else self.eta_bound

    def _check_bounds(self, loss, domain):
        counts_of(self.n_e, self.steps, self.rounds, rows_name="n_e")
        tested = "below it the solver may miss its target for some records"
        number(
            "epsilon", self.epsilon, _EPSILON, math.inf, ends="[)", error=InvalidBudget, remedy=f"{tested}; raise it"
        )
        if self.penalty != "ridge":
            scale = f"{tested} of penalty={self.penalty!r}; scale rows up and declare their bound, or take 'ridge'"
            number("x_norm", self.x_norm, _SHORTEST, MOST, ends="[]", error=DomainViolation, remedy=scale)
        if self.loss == "poisson":
            self._check_counts_bounds()
        check_flags(self, "moor")
        # All that can be refused without the data is refused before they are looked at.
        widths = [np.size(wall) for wall in (self.low, self.high) if np.ndim(wall)]
        if self.fit_intercept:
            domain = Domain(x_norm=float(np.hypot(self.x_norm, 1.0)), y_bound=domain.y_bound)
        # Their number is not known yet where low and high are numbers; bounds grow with it, and `release` looks again.
        features = max(widths, default=1 + self.fit_intercept)
        napp.plan(self.loss, features, domain=domain, **self._planned())

    def _check_counts_bounds(self):
        """Refuse Poisson without the bounds that it needs."""
        try:
            boxed = bool(
                np.isfinite(np.asarray(self.low, float)).all() and np.isfinite(np.asarray(self.high, float)).all()
            )
        except (TypeError, ValueError):
            boxed = True  # no numbers at all: `plan` says so
        for name, needed in (("y_bound", True), ("eta_bound", not boxed)):
            if needed and getattr(self, name) is None:
                raise DomainViolation(
                    f"{name}=None: loss='poisson' has no bounded gradient without clipping bounds; declare y_bound "
                    "(clip=True moves targets into [0, y_bound]) and eta_bound (the loss goes on linearly beyond it; "
                    "bounded low and high serve instead)"
                )

    def _check_release(self):
        raise ReleaseError(
            "release=True: NAPP-ERM is objective perturbation and cannot be released safely; its noise enters a convex "
            "problem as a real vector, and no grid makes that exact; take OutputPerturbation(release=True)"
        )

    def _planned(self):
        """Return what both `napp.plan` and `napp.release` take."""
        names = """penalty strength neighbours calibration variant moor gamma kappa share truncation low high retrieval
        method"""
        given = {name: getattr(self, name) for name in names.split()}
        share = share_or_default(self.solver_share, printed=self.calibration == "paper")
        given |= {"solver_share": share, "eta_bound": self._eta_bound()}
        return given | {"budget": Budget(self.epsilon, self.delta)}

    def _check_nearness(self, features, domain):
        """Refuse walls that are too far from 0, where no record may make `fit` fail."""
        given = self._planned()
        made = napp.plan(self.loss, features, domain=domain, **given)
        least = float(np.linalg.norm(np.clip(0.0, *made.box)))
        if self.clip and least > 0 and made.modulus > 0:
            check_nearness(least, made.modulus, made.bounds.zeta12, aimed(self.tolerance, given["solver_share"]))

    def _release(self, X, y, loss, domain, rng):
        self._check_nearness(X.shape[1], domain)
        release = napp.release(
            X, y, self.loss, domain=domain, rng=rng, rounds=self.rounds, rows=self.n_e, steps=self.steps,
            tolerance=self.tolerance, **self._planned(),
        )  # fmt: skip
        self._obstacles = release.obstacles
        return release

    def _known(self, release):
        return replace(super()._known(release), retrieved=float(release.retrieved[0]))

    def _statement(self, budget, release, stacklevel=4):
        # What `return` returns is not claimed.
        return super()._statement(Budget(**release.event[1]), release, stacklevel)
