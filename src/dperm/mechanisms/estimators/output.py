"""Output perturbation as a scikit-learn estimator."""

from dataclasses import dataclass

from dperm.domain import Budget, Calibration, Domain, Neighbours, changed_gradients
from dperm.errors import ReleaseError
from dperm.losses import Loss
from dperm.mechanisms import output
from dperm.mechanisms.base import bounds_everywhere, check_steepness, curvature_or_default
from dperm.mechanisms.estimators.weighted import WeightedEstimator
from dperm.mechanisms.vacuous import deviation

# The largest lambda/Delta of a total fit; at 1e4 records were found, 20,000 of them, that missed their target.
_STEEPEST = 1e3
# The default's noise in a score at the bound, as a share of the largest margin that the loss tells apart.
MARGIN = 1 / 20


def default_curvature(
    loss: Loss, domain: Domain, budget: Budget, *, neighbours: Neighbours, calibration: Calibration, p: int
) -> float:
    """Return the Delta at which the noise in a score at the bound is `MARGIN` of the margin zeta R/lambda.

    With Delta = 1 the noise has the standard deviation s in one direction, with Delta it has s/Delta, and R s/Delta in
    the score: so Delta = s lambda/(zeta MARGIN), but lambda, one record's curvature, at least. Neither n nor any other
    thing of the data is in it; docs/assumptions.md has the reason, and what was simulated.
    """
    # Refuses an epsilon so small that constants leave the doubles.
    curvature_or_default(None, loss, domain, budget.epsilon)
    zeta, lam = bounds_everywhere(loss, domain)
    noise, _ = output.calibrate(changed_gradients(neighbours) * zeta, budget, calibration=calibration)
    return max(deviation(noise, p) * lam / (zeta * MARGIN), lam)


@dataclass(eq=False, repr=False, kw_only=True)
class OutputPerturbation(WeightedEstimator):
    r"""Private linear model by output perturbation.

    Minimises sum_i w_i l(<x_i, theta>, y_i) + Delta/2 ||theta||^2 and adds noise to the minimiser, with w_i = 1 unless
    `fit` is given weights; the mathematics stands in `dperm.mechanisms.output`.

    Parameters
    ----------
    epsilon : float, default=1.0
        Above 0.
    delta : float, default=0.0
        In [0, 1); 0 adds spherical Laplace noise, else Gaussian.
    loss : {"logistic", "capped_logistic", "huber", "smoothed_hinge"}, default="logistic"
        "huber" is regression, the others are binary classification.
    loss_parameters : dict, optional
        Such as {"knee": 0.5} for "huber".
    curvature : float, optional
        Delta, for the sum of losses. The noise is proportional to 1/Delta, the bias to Delta. Default: where the
        noise's standard deviation in the score of a row at the bound is 1/20 of the margin zeta R/lambda (of 4 for the
        logistic loss), and at least lambda; it depends on budget, relation and number of features, not on n. With
        `clip=True` at least lambda/1000.
    calibration : {"tight", "paper"}, default="tight"
    neighbours : {"add_remove", "replace"}, default="add_remove"
        A `curvature` that depends on n is allowed under "replace" only.
    x_norm : float, default=1.0
        Public bound R on the rows' l2 norm.
    weight_bound : float, optional
        Public bound W on the sample weights of `fit`, which takes none without it. A record may then pull W times as
        hard, and the noise is W times as strong beside one that counts once; zeta and lambda are W times as large.
    fit_intercept : bool, default=False
        Append a constant feature 1; the radius becomes sqrt(R^2 + 1), and the intercept is regularised like the rest.
    clip : bool, default=False
        Scale longer rows down to `x_norm`, and bring targets into their domain, instead of raising: with declared
        `classes` (or real targets) no record makes `fit` fail or warn (docs/privacy.md, section 1).
    classes : tuple of two labels, optional
        Public (negative, positive) labels. Left out, they are taken from y with a `PrivacyLeakWarning`.
    tolerance : float, default=1e-6
        The solver's public target: a distance of at most tolerance zeta/Delta from the minimiser, which is added to the
        sensitivity.
    release : bool, default=False
        Draw from the operating system and add integer noise on a public grid (`dperm.grid`), so that the model may
        leave the house; needs OpenDP (extra `release`), `calibration="tight"` and `random_state=None`. All else is for
        science.
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    coef_, intercept_
        As in scikit-learn.
    privacy_ : PrivacyStatement

    Warns
    -----
    VacuousWarning
        Where the noise in a score at the bound is as large as the margin that the loss tells apart, or under "replace"
        as strong as n records (`dperm.mechanisms.vacuous`).

    References
    ----------
    kifer2012, Section 1 (comparison); Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 1; Balle & Wang 2018; erratum K8.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import OutputPerturbation
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = OutputPerturbation(epsilon=2.0, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.privacy_.guarantee
    'proved'
    """

    unproved = "the printed sigma is proved for epsilon < 1, and the exact formula does not confirm it for this epsilon"
    source = "kifer2012, Section 1; Chaudhuri, Monteleoni & Sarwate 2011, Corollary 8"

    curvature: float | None = None
    tolerance: float = 1e-6

    def _release(self, X, y, loss, domain, rng, weights=None):
        budget, loss = Budget(self.epsilon, self.delta), self._weighing(loss)
        curvature = self.curvature
        if curvature is None:
            words = {"neighbours": self.neighbours, "calibration": self.calibration}
            curvature = default_curvature(loss, domain, budget, **words, p=X.shape[1])
        if self.clip:
            check_steepness(loss, domain, curvature, self.epsilon, _STEEPEST)
        fixed = {
            "domain": domain,
            "budget": budget,
            "neighbours": self.neighbours,
            "curvature": curvature,
            "tolerance": self.tolerance,
            "weights": weights,
        }
        if self.release:
            return output.publish(X, y, loss, **fixed)
        return output.release(X, y, loss, **fixed, calibration=self.calibration, rng=rng)

    def _check_release(self):
        if self.calibration != "tight":
            raise ReleaseError(
                f"release=True with calibration={self.calibration!r}: printed constants are for science; take 'tight'"
            )
