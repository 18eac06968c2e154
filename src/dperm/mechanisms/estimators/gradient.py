"""Noisy gradient descent as a scikit-learn estimator."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dperm.domain import LEAST, MOST, Budget, Domain, number
from dperm.errors import ReleaseError
from dperm.losses import Loss
from dperm.mechanisms import gradient
from dperm.mechanisms.estimators.weighted import WeightedEstimator
from dperm.mechanisms.multinomial import Multinomial

# The settings of a fit that names none, chosen on simulated data (docs/assumptions.md).
STEPS, MOMENTUM = 50, 0.9
# The default clip, as a share of the longest gradient at theta = 0.
CLIP_SHARE = 1 / 3
# The share of entries that are not 0 from which on products with all of them are faster.
_DENSE = 0.3
# |y| where targets have no bound: the slope of a loss that is linear far out does not change any more.
_FAR = 1e30


@dataclass(eq=False, repr=False, kw_only=True)
class DescentEstimator(WeightedEstimator):
    """A linear model whose steps are noisy sums of clipped gradients; no solver, so that none can fail.

    The l2 norm to which gradients are cut is `gradient_clip`, by default a third of the longest that a record has at
    theta = 0: a record then counts fully until it is fitted.
    """

    source = "docs/privacy.md, section 9; Dong, Roth & Su 2022, Corollary 3.3"
    gaussian = True
    # No solver, and no target of one.
    tolerance = None
    _takes_sparse = True

    delta: float = 1e-6
    steps: int | None = None
    gradient_clip: float | None = None
    momentum: float | None = None

    def _several(self):
        return self.loss == "logistic"

    def _clip(self, loss: Loss | Multinomial, domain: Domain) -> float:
        bound = self._weight_bound()
        if self.gradient_clip is None:
            return CLIP_SHARE * bound * longest_at_0(loss, domain)
        remedy = "it is the largest norm of one record's gradient; leave it out for a third of the largest at theta = 0"
        return number("gradient_clip", self.gradient_clip, LEAST, MOST, ends="[]", remedy=remedy)

    def _fixed(self, loss: Loss | Multinomial, domain: Domain) -> dict:
        """Return what every core takes."""
        return {
            "domain": domain,
            "budget": Budget(self.epsilon, self.delta),
            "neighbours": self.neighbours,
            "calibration": self.calibration,
            "clip": self._clip(loss, domain),
        }

    def _rows(self, X: Any) -> Any:
        """Return X, or where most entries are 0 the same numbers as CSR, of which a step costs less."""
        if sparse.issparse(X) or np.count_nonzero(X) > _DENSE * X.size:
            return X
        return sparse.csr_array(X)

    def _check_release(self):
        raise ReleaseError(
            "release=True: the noise of a gradient is a floating-point number and enters the next step; it cannot be "
            "released safely; take OutputPerturbation(release=True)"
        )


@dataclass(eq=False, repr=False, kw_only=True)
class NoisyGradientDescent(DescentEstimator):
    r"""Private linear model by full-batch gradient descent with noisy clipped gradients.

    Descends on sum_i l(<x_i, theta>, y_i) from theta = 0; each step reads the sum of the records' gradients, each cut
    to the l2 norm `gradient_clip`, plus Gaussian noise. The mean of the last half of the iterates is released. The
    mathematics stands in `dperm.mechanisms.gradient`; all steps together are exactly one Gaussian mechanism
    (docs/privacy.md, section 9). More than two classes have the multinomial loss
    (`dperm.mechanisms.multinomial`), one gradient a record, and one budget.

    Parameters
    ----------
    epsilon : float, default=1.0
        Above 0.
    delta : float, default=1e-6
        In (0, 1).
    loss : {"logistic", "capped_logistic", "huber", "smoothed_hinge"}, default="logistic"
        "huber" is regression, the others are classification; with more than two classes "logistic" alone, which then is
        the cross-entropy of the softmax.
    loss_parameters : dict, optional
        Such as {"knee": 0.5} for "huber".
    steps : int, optional
        Passes over the data; default 50.
    gradient_clip : float, optional
        The l2 norm to which a record's gradient is cut, and so what the noise is proportional to; default a third of
        the longest that a record of the domain has at theta = 0: `x_norm`/6 for the logistic loss, of k > 2
        classes `x_norm` sqrt((k - 1)/k)/3.
    momentum : float, optional
        In [0, 1); default 0.9.
    step_size : float, optional
        A public eta, at most 1e30. Left out, each coordinate has steps of its own, which the noisy gradients and the
        size of their noise determine, so that no number of records and no curvature is needed
        (`dperm.mechanisms.gradient`); D is the longest gradient at theta = 0 over lambda (times sqrt(k/2) of k > 2
        classes).
    calibration : {"tight"}, default="tight"
    neighbours : {"add_remove", "replace"}, default="add_remove"
    x_norm : float, default=1.0
        Public bound R on the rows' l2 norm.
    weight_bound : float, optional
        Public bound W on the sample weights of `fit`, which takes none without it. A record's gradient times its weight
        is cut to `gradient_clip`, whose default is W times as large.
    fit_intercept : bool, default=False
        Append a constant feature 1; the radius becomes sqrt(R^2 + 1), and the intercept is learned like the rest.
    clip : bool, default=False
        Scale longer rows down to `x_norm`, and bring targets into their domain, instead of raising: with declared
        `classes` (or real targets) no record makes `fit` fail or warn (docs/privacy.md, section 1).
    classes : tuple of labels, optional
        Public labels, (negative, positive) or more than two. Left out, they are taken from y with a
        `PrivacyLeakWarning`.
    release : bool, default=False
        True is refused: the noise of this mechanism cannot be made safe against floating point (`fit` says why).
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    coef_, intercept_
        As in scikit-learn; with k > 2 classes of the shapes (k, p) and (k,).
    privacy_ : PrivacyStatement

    References
    ----------
    kifer2012, Section 1 (comparison); Bassily, Smith & Thakurta 2014; Dong, Roth & Su 2022, Corollary 3.3; Balle & Wang
    2018; Duchi, Hazan & Singer 2011; Tang, Shpilevskiy & Lecuyer 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import NoisyGradientDescent
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = NoisyGradientDescent(epsilon=2.0, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.privacy_.guarantee, model.score(X, y)
    ('proved', 1.0)
    """

    step_size: float | None = None

    def _release(self, X, y, loss, domain, rng, weights=None):
        return gradient.release(
            self._rows(X),
            y,
            loss,
            weights=weights,
            **self._fixed(loss, domain),
            steps=STEPS if self.steps is None else self.steps,
            momentum=MOMENTUM if self.momentum is None else self.momentum,
            step_size=self.step_size,
            distance=newton_step(loss, domain),
            average="tail",
            rng=rng,
        )


def longest_at_0(loss: Loss | Multinomial, domain: Domain) -> float:
    """Return the largest norm of a record's gradient at theta = 0, R sup_y |l'(0, y)|."""
    if isinstance(loss, Multinomial):
        return loss.longest_at_0(domain)
    ends = [-1.0, 1.0] if loss.targets == "binary" else [-_FAR, _FAR]
    return domain.x_norm * max(abs(float(loss.derivative(0.0, end))) for end in ends)


def newton_step(loss: Loss | Multinomial, domain: Domain) -> float:
    """Return c0/lambda, how far one Newton step of a single record goes from theta = 0, c0 being `longest_at_0`.

    k classes have sqrt(k/2) times that: then each of the k rows may go as far as each of two, whatever k is.
    """
    rows = loss.classes / 2 if isinstance(loss, Multinomial) else 1.0
    return math.sqrt(rows) * longest_at_0(loss, domain) / loss.curvature_bound(domain)
