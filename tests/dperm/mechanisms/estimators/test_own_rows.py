"""What a model needs of its records is its own: the caller may do with theirs as they like."""

import numpy as np
import pytest
from scipy import sparse

import dperm

X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 5)
LABELS = {"classes": (0, 1), "random_state": 0}
INTERACTIVE = {
    "RKHSGaussian": dperm.RKHSGaussian(C=0.01, kernel="linear", **LABELS),
    "PINP": dperm.PINP(C=0.01, kernel="poly", **LABELS),
    "StableERM": dperm.StableERM(queries=5, **LABELS),
    "StableSGD": dperm.StableSGD(queries=5, **LABELS),
    "SoftMajority": dperm.SoftMajority(queries=5, shards=2, **LABELS),
    "AveragedPrediction": dperm.AveragedPrediction(queries=5, shards=2, epsilon=50, **LABELS),
    "ExpPW": dperm.ExpPW(queries=5, **LABELS),
}


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("name", sorted(INTERACTIVE))
def test_rows_changed_after_the_fit_change_no_answer(name, clip):
    """Before, a thousandfold row gave a thousandfold exact answer, behind the noise of the fit."""
    model = INTERACTIVE[name].set_params(clip=clip)
    kinds = [np.array, sparse.csr_array] if name in ("RKHSGaussian", "PINP") else [np.array]
    for kind in kinds:
        told = []
        for factor in (1.0, 1000.0):
            rows, y, classes = kind(X), np.tile([1, 1, 0, 0], 5), np.array([0, 1])
            model.set_params(classes=classes).fit(rows, y)
            if kind is np.array:
                rows *= factor
            else:
                rows.data *= factor
            y[:] = 0
            if factor > 1:
                classes[:] = [7, 9]
            ask = getattr(model, "decision_function", model.predict)
            told.append(np.append(ask(X[:2] / 2), model.predict(X[2:4] / 2)))
        np.testing.assert_array_equal(*told)
