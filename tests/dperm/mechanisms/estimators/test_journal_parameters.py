"""A journal knows its fit again in every process, whatever the parameters are."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dperm
from dperm import kernels
from dperm.mechanisms.queries import parameters

# What two processes run alike, one after the other.
SETUP = textwrap.dedent(
    """
    import sys, warnings
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    import dperm
    from dperm import kernels

    warnings.simplefilter("ignore")
    X = np.array([[0.6, 0], [0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 5)
    y = np.array([1, 1, 0, 0] * 5)
    halved = make_pipeline(FunctionTransformer(np.tanh), LogisticRegression())

    def answers(folder):
        made = {"classes": (0, 1)}
        told = []
        for k, kernel in enumerate((kernels.linear(), kernels.gaussian(0.7), kernels.polynomial())):
            model = dperm.RKHSGaussian(kernel=kernel, C=0.01, state=f"{folder}/rkhs{k}", **made)
            told += model.fit(X, y).decision_function(X[:2]).tolist()
        model = dperm.SoftMajority(base=halved, shards=2, epsilon=0.1, queries=40, state=f"{folder}/votes", **made)
        return told + model.fit(X, y).predict(np.linspace(-1, 1, 60).reshape(30, 2)).tolist()
    """
)


@pytest.mark.slow
def test_a_later_process_goes_on_whatever_shows_its_place_in_memory(tmp_path):
    """Before, a kernel of the library was shown with an address: the journal was of another fit."""
    first, second = (
        subprocess.run(
            [sys.executable, "-c", SETUP + "print(answers(sys.argv[1]))", str(tmp_path)],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True, check=True, timeout=300,
        ).stdout
        for _ in range(2)
    )  # fmt: skip
    assert first == second


class Own:
    """A kernel that shows its address."""

    def __call__(self, X, V):
        return X @ V.T


@pytest.mark.parametrize("given", [lambda X, V: X @ V.T, Own()], ids=["lambda", "object"])
def test_what_no_later_process_could_know_is_refused_with_a_journal_alone(given, tmp_path):
    base = make_pipeline(FunctionTransformer(given), LogisticRegression())
    two = {"classes": (0, 1)}
    for model in (
        dperm.RKHSGaussian(kernel=given, feature_norm=1.0, C=0.01, **two),
        dperm.SoftMajority(base=base, shards=2, **two),
    ):
        parameters(model)
        with pytest.raises(ValueError, match=r"state= with (kernel|base): .* leave state out") as caught:
            # Before a record is looked at.
            model.set_params(state=tmp_path / "journal").fit(None, None)
        assert "0x" not in str(caught.value) and not (tmp_path / "journal").exists()


def test_other_parameters_have_other_words():
    def words(**given):
        return tuple(parameters(dperm.RKHSGaussian(**given)))

    points = np.linspace(0, 1, 4000)
    changed = points.copy()
    changed[2000] += 1e-12
    others = [
        {}, {"C": 2.0}, {"kernel": kernels.linear()}, {"kernel": kernels.linear(2.0)}, {"kernel": kernels.gaussian()},
        {"kernel": kernels.gaussian(2.0)}, {"kernel": kernels.polynomial()}, {"kernel": kernels.custom(np.dot, 1.0)},
        {"kernel": kernels.custom(np.inner, 1.0)}, {"loss_parameters": {"knee": 1.0}},
        {"loss_parameters": {"knee": 2.0}}, {"gamma": points}, {"gamma": changed},
    ]  # fmt: skip
    assert len({words(**given) for given in others}) == len(others)
    assert words(kernel=kernels.gaussian(2.0)) == words(kernel=kernels.gaussian(2.0))
