"""What scikit-learn expects of estimators and a total `fit` contradicts (docs/privacy.md, section 1)."""

from no_copies import refused
from sklearn.base import is_classifier

# Under replace-one n is public, and these refuse n = 0: their constants are made of it.
MADE_OF_N = ("AveragedPrediction", "SoftMajority", "StableERM", "StableSGD")

# Of those that take weights, whose clip makes one record of weight 2 less than two records.
CUT = ("NoisyGradientDescent", "PreconditionedGradientDescent")
_ONE = "with a weight of 2 a record is cut as one record, not as two"


def contradicted(estimator):
    """Return the checks that ask for an error because of a record, of an estimator that raises none.

    Parameters
    ----------
    estimator : BaseEstimator

    Returns
    -------
    dict
        Name of a check to reason.
    """
    checks, name = {}, type(estimator).__name__
    if hasattr(estimator, "weight_bound"):
        checks["check_all_zero_sample_weights_error"] = "whether any record counts is private"
        kinds = ("dense", "sparse") if name in CUT else ()
        checks |= {f"check_sample_weight_equivalence_on_{kind}_data": _ONE for kind in kinds}
    if not estimator.clip or (is_classifier(estimator) and estimator.classes is None):
        return checks
    checks |= {
        "check_estimators_nan_inf": "with clip=True a row that holds NaN or infinity becomes the zero row",
        "check_dtype_object": "with clip=True an entry that is no number makes its row the zero row",
        "check_supervised_y_no_nan": "with clip=True targets are moved into their public domain",
        "check_estimators_empty_data_messages": "under add/remove whether there is a record at all is private",
    }
    if name in MADE_OF_N and estimator.neighbours == "replace":
        del checks["check_estimators_empty_data_messages"]
    return checks


def failing(estimator):
    """Return those and what asks for copies of an estimator that has none (`no_copies.refused`)."""
    return refused(estimator) | contradicted(estimator)
