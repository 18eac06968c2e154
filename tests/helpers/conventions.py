"""All of scikit-learn's own checks of an estimator in one test: a test of each takes longer to collect than to run."""

import warnings

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from dperm.errors import SpentAgainWarning


def of(*estimators):
    """Run the test once for each of them, named after its class."""
    return pytest.mark.parametrize("estimator", estimators, ids=lambda estimator: type(estimator).__name__)


def keep(estimator, contradicted=None):
    """Raise what fails, and what passes though `contradicted` (name of a check to reason) says that it fails."""
    if hasattr(estimator, "weight_bound"):
        # Without a bound no weights are taken, and the checks give some.
        estimator = clone(estimator).set_params(weight_bound=4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpentAgainWarning)  # the checks fit one object again and again
        found = check_estimator(estimator, expected_failed_checks=contradicted, on_skip=None, on_fail=None)
    wrong = []
    for check in found:
        if check["status"] == "failed":
            check["exception"].add_note(check["check_name"])
            wrong.append(check["exception"])
        elif check["status"] == "passed" and check["expected_to_fail"]:
            wrong.append(AssertionError(f"{check['check_name']} passes: {check['expected_to_fail_reason']}"))
    if wrong:
        raise ExceptionGroup(f"checks of scikit-learn, of {estimator!r}", wrong)
    assert len(found) > 40
