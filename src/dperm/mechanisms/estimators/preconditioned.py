"""Preconditioned noisy gradient descent as a scikit-learn estimator."""

from dataclasses import dataclass

from dperm.mechanisms import preconditioned
from dperm.mechanisms.estimators.gradient import MOMENTUM, STEPS, DescentEstimator, newton_step

# Chosen on simulated data, as the floor of the eigenvalues is (docs/assumptions.md): f, and D as a share of c0/lambda.
GRAM_SHARE, DISTANCE = 0.05, 1 / 6


@dataclass(eq=False, repr=False, kw_only=True)
class PreconditionedGradientDescent(DescentEstimator):
    r"""Private linear model by noisy gradient descent that is preconditioned by one noisy Gram matrix.

    Spends the share `gram_share` of the budget (of the squared Gaussian ratio) on the sum of x x^T with noise, and
    the rest on steps as of `NoisyGradientDescent`, taken in coordinates in which that matrix is about the identity. It
    gains where features go together or are rare and epsilon is not small; with p features it keeps p^2 numbers. The
    mathematics stands in `dperm.mechanisms.preconditioned`, the proof in docs/privacy.md, section 9.

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
    gram_share : float, optional
        Of the squared Gaussian ratio, what the noisy Gram matrix spends; in (0, 1); default 0.05.
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
    2018; Ward, Wu & Bottou 2020; Ganesh, Haghifam, Steinke & Thakurta 2023 (double noise).

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import PreconditionedGradientDescent
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = PreconditionedGradientDescent(epsilon=2.0, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.privacy_.guarantee, model.score(X, y)
    ('proved', 1.0)
    """

    gram_share: float | None = None

    def _release(self, X, y, loss, domain, rng, weights=None):
        return preconditioned.release(
            self._rows(X),
            y,
            loss,
            weights=weights,
            weight_bound=self._weight_bound(),
            **self._fixed(loss, domain),
            steps=STEPS if self.steps is None else self.steps,
            momentum=MOMENTUM if self.momentum is None else self.momentum,
            gram_share=GRAM_SHARE if self.gram_share is None else self.gram_share,
            distance=DISTANCE * newton_step(loss, domain),
            rng=rng,
        )
