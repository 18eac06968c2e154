"""No warning of a learner that saw private records is shown, whatever other threads do."""

import os
import threading
import time
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

import dperm
from dperm.mechanisms.prediction import shards


class Talker(ClassifierMixin, BaseEstimator):
    """Warns of what it saw, and lets other threads run meanwhile."""

    def fit(self, X, y):
        for _ in range(5):
            time.sleep(2e-4)
            warnings.warn("a record was seen", UserWarning, stacklevel=1)
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.zeros(len(X))


def fit(shards):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 2))
    model = dperm.SoftMajority(base=Talker(), classes=(0, 1), clip=True, shards=shards, epsilon=1e3, queries=3)
    model.fit(X, (X[:, 0] > 0) * 1)


def test_threads_show_no_warning_and_leave_the_filters():
    """Before, twelve threads showed over a hundred, and left a filter that hid every later warning."""
    shown = []
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: shown.append(str(message))
        warnings.simplefilter("always")
        before = list(warnings.filters)
        threads = [threading.Thread(target=fit, args=(2 + k,)) for k in range(4) for _ in range(3)]
        for thread in threads:
            thread.start()
            time.sleep(2e-3)
        for thread in threads:
            thread.join()
        assert warnings.filters == before
    assert [said for said in shown if "seen" in said] == []


def warned_in_a_fork():
    """Return whether a forked process shows a warning."""
    child = os.fork()
    if child == 0:
        shown = []
        warnings.showwarning = lambda message, *_: shown.append(message)
        warnings.warn("of the child", UserWarning, stacklevel=1)
        os._exit(len(shown))
    return os.waitpid(child, 0)[1] == 256


def test_a_fork_in_the_middle_of_a_fit_shows_its_own_warnings():
    """Before, the child kept the filters of a fit that went on in another thread of its parent, for good."""
    begun, done = threading.Event(), threading.Event()

    def silent():
        with shards.quiet(True):
            begun.set()
            done.wait(60)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        thread = threading.Thread(target=silent)
        thread.start()
        assert begun.wait(60)
        assert warned_in_a_fork()
        # The parent's thread goes on in silence, and a learner's own fork is silent until it ends.
        assert warnings.filters[0][0] == "ignore"
        with shards.quiet(True):
            assert not warned_in_a_fork()
        done.set()
        thread.join()
        assert warned_in_a_fork()
