"""A total fit takes an odd entry for the public constant that docs/privacy.md names, and no other for another one."""

import math

import numpy as np
import pandas as pd
import pytest
import together

import dperm


def fitted_exactly(X, y, **other):
    """The coefficients of so little noise that another record, or another label, shows."""
    model = dperm.OutputPerturbation(clip=True, epsilon=1e9, curvature=1.0, random_state=0, **other)
    return model.fit(X, y).coef_


@pytest.mark.parametrize("kind", ["string", "string[pyarrow]", "category", "object"])
def test_a_missing_label_is_the_negative_one(kind):
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    labels, names = pd.Series(["a", None, "b"], dtype=kind), ("a", "b")
    np.testing.assert_array_equal(
        fitted_exactly(np.eye(3), labels, classes=names), fitted_exactly(np.eye(3), ["a", "a", "b"], classes=names)
    )


@pytest.mark.parametrize("odd", ["SECRET", None, 2.5, 10**400, 1j], ids=lambda odd: str(odd)[:6])
def test_in_a_list_one_record_leaves_the_others_as_they_are(odd):
    """NumPy would make text of all, or floats, because of one."""
    X, y, classes = [[1.0, 0.0], [True, 0.5], [0.0, 1.0]], [1, 0, 2**53 + 1], (0, 1)
    one = fitted_exactly([*X, [odd, 0.1]], [*y, 0], classes=classes)
    other = [0.0, 0.0] if odd != 2.5 else list(np.array([2.5, 0.1]) / math.hypot(2.5, 0.1))
    np.testing.assert_allclose(one, fitted_exactly([*X, other], [*y, 0], classes=classes), rtol=1e-9)
    one = fitted_exactly([*X, [0.3, 0.1]], [*y, odd], classes=classes)
    np.testing.assert_array_equal(one, fitted_exactly([*X, [0.3, 0.1]], [*y, 0], classes=classes))
    one = fitted_exactly([*X, [0.3, 0.1]], [0.1, 0.2, True, odd], loss="huber")
    target = odd if odd == 2.5 else 0.0
    np.testing.assert_array_equal(one, fitted_exactly([*X, [0.3, 0.1]], [0.1, 0.2, 1.0, target], loss="huber"))


@pytest.mark.parametrize("kind", ["U", "S", "O", "list", "frame", "column"])
def test_an_entry_that_is_no_number_is_a_zero_row_and_without_clip_an_error_that_does_not_quote_it(kind):
    text = [["0.1", "0.2"], ["SECRET", "1"], ["0.3", "0"]]
    ways = {
        "list": lambda: text,
        "frame": lambda: pd.DataFrame(text, columns=["one", "two"]),
        "column": lambda: pd.DataFrame(text, columns=["one", "two"], dtype="string"),
    }
    X = ways.get(kind, lambda: np.array(text, dtype=kind))()
    found = fitted_exactly(X, [0, 1, 1], classes=(0, 1))
    np.testing.assert_array_equal(found, fitted_exactly([[0.1, 0.2], [0, 0], [0.3, 0]], [0, 1, 1], classes=(0, 1)))
    for model in (dperm.OutputPerturbation(classes=(0, 1)), dperm.ExpPW(classes=(0, 1)), dperm.RKHSGaussian()):
        with pytest.raises(TypeError, match="X holds an entry that is no number") as caught:
            model.fit(X, [0, 1, 1])
        assert "SECRET" not in str(caught.value) and caught.value.__cause__ is None and not caught.value.__context__
    with pytest.raises(TypeError, match="y holds an entry") as caught:
        dperm.ObjectivePerturbation(loss="huber").fit(np.eye(3), np.array([row[0] for row in text], dtype="O"))
    assert "SECRET" not in str(caught.value)
    if hasattr(X, "columns"):
        named = dperm.OutputPerturbation(classes=(0, 1), clip=True).fit(X, [0, 1, 1])
        assert named.feature_names_in_.tolist() == ["one", "two"]


@pytest.mark.parametrize("shape", [(4,), (4, 1)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_of_complex_labels_each_is_what_it_is(shape):
    """One complex number makes all of an array complex; before, an error quoted every label."""
    y = np.array([0, 1, 1j, 1]).reshape(shape)
    expected = fitted_exactly(np.eye(4), [0, 1, 0, 1], classes=(0, 1))
    np.testing.assert_array_equal(fitted_exactly(np.eye(4), y, classes=(0, 1)), expected)
    np.testing.assert_array_equal(fitted_exactly(np.eye(4), pd.Series(y.ravel()), classes=(0, 1)), expected)


@together.over("label", [np.array([]), np.array([1, 1]), np.array([1]), np.array([[1]])])
def test_an_array_is_no_label(label):
    y = np.array([0, 1, None, 0], dtype=object)
    y[2] = label
    np.testing.assert_array_equal(
        fitted_exactly(np.eye(4), y, classes=(0, 1)), fitted_exactly(np.eye(4), [0, 1, 0, 0], classes=(0, 1))
    )


@pytest.mark.parametrize("dtype", [float, np.float32, object])
def test_what_a_mask_hides_is_not_looked_at(dtype):
    """scikit-learn would drop the mask, and fit what it hides."""
    X, hidden = np.eye(4, dtype=dtype), np.zeros((4, 4), bool)
    hidden[1, 2] = True
    X[1, 2] = 0.5
    masked, blank = np.ma.masked_array(X, hidden), np.where(hidden.any(axis=1)[:, None], 0.0, np.eye(4))
    labels, targets = [0, 1, 1, 0], [0.3, 0.2, 0.0, 0.1]
    expected = fitted_exactly(blank, labels, classes=(0, 1))
    np.testing.assert_array_equal(fitted_exactly(masked, labels, classes=(0, 1)), expected)
    with pytest.raises(ValueError, match="NaN"):
        dperm.OutputPerturbation(classes=(0, 1)).fit(masked, labels)

    where = [False, False, True, False]
    np.testing.assert_array_equal(
        fitted_exactly(blank, np.ma.masked_array([0, 1, 1, 0], where), classes=(0, 1)),
        fitted_exactly(blank, [0, 1, 0, 0], classes=(0, 1)),
    )
    np.testing.assert_array_equal(
        fitted_exactly(blank, np.ma.masked_array([0.3, 0.2, 0.9, 0.1], where), loss="huber"),
        fitted_exactly(blank, targets, loss="huber"),
    )
