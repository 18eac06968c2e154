"""No warning of a learner that saw private records is shown, whatever other threads do."""

import os
import pickle
import threading
import time
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.parallel import Parallel, delayed

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
        before = others()
        threads = [threading.Thread(target=fit, args=(2 + k,)) for k in range(4) for _ in range(3)]
        for thread in threads:
            thread.start()
            time.sleep(2e-3)
        for thread in threads:
            thread.join()
        assert others() == before
        warnings.warn("heard", UserWarning, stacklevel=1)
    assert shown == ["heard"]


def others():
    """The filters of anybody else: a fit leaves one that hides what its own threads say."""
    return [one for one in warnings.filters if "_Silence" not in type(one[1]).__name__]


class Sleeper(Talker):
    """Has other threads of its own, and lets the test do something meanwhile."""

    def fit(self, X, y):
        STARTED.set()
        assert GO_ON.wait(60)
        own = threading.Thread(target=warnings.warn, args=("a record was seen",))
        own.start()
        own.join()
        return super().fit(X, y)


STARTED, GO_ON = threading.Event(), threading.Event()


def test_who_enters_before_a_fit_ends_and_leaves_after_it_hears_every_later_warning():
    """Before, the filters of the fit came back with the other thread's, and hid all warnings for good."""
    shown = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: shown.append(str(message))
        model = dperm.SoftMajority(base=Sleeper(), classes=(0, 1), clip=True, shards=2, epsilon=1e3, queries=3)
        X = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 2))
        fitting = threading.Thread(target=model.fit, args=(X, (X[:, 0] > 0) * 1))
        fitting.start()
        assert STARTED.wait(60)
        other = warnings.catch_warnings()
        other.__enter__()
        warnings.warn("of another thread, meanwhile", UserWarning, stacklevel=1)
        GO_ON.set()
        fitting.join()
        other.__exit__(None, None, None)
        warnings.warn("later", UserWarning, stacklevel=1)
    assert shown == ["of another thread, meanwhile", "later"]


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_learners_that_work_in_parallel_are_silent_and_go_on_working(backend):
    """scikit-learn takes the filters along, as patterns; before and after a silent fit they hide nothing."""
    with joblib.parallel_backend(backend, n_jobs=2), warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with shards.quiet(True):
            Parallel()(delayed(warned)(k) for k in range(3))
        assert shown == []
        assert Parallel()(delayed(heard)(k) for k in range(3)) == [1, 1, 1]


def warned(k):
    warnings.warn(f"record {k}", UserWarning, stacklevel=1)


def heard(k):
    with warnings.catch_warnings(record=True) as shown:
        warned(k)
    return len(shown)


def test_many_fits_leave_one_filter():
    with warnings.catch_warnings():
        for _ in range(5):
            warnings.simplefilter("always")
            with shards.quiet(True):
                assert len(warnings.filters) - len(others()) == 1


def test_filters_go_to_other_processes():
    """scikit-learn sends them along where a learner works in several."""
    with shards.quiet(True):
        own = pickle.loads(pickle.dumps(warnings.filters))
    assert own[0][1].match("anything")
    assert pickle.loads(pickle.dumps(warnings.filters))[0][1].match("anything") is None


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
        with shards.quiet(True):
            assert not warned_in_a_fork()
        done.set()
        thread.join()
        assert warned_in_a_fork()
