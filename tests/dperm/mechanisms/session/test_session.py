"""Sessions as users meet them: what is charged, refused, given back, shared, and survives a kill."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from designs import on_sphere
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import dperm
from dperm import IndependentFolds, OutputPerturbation, PrivacySession, privacy_card
from dperm.accounting import adaptive
from dperm.accounting.gaussian import gaussian_ratio
from dperm.errors import BudgetExhausted, PrivacyLeakWarning, SessionError, SpentAgainWarning

X = on_sphere(np.random.default_rng(0), 60, 3)
y = (X[:, 0] > 0).astype(int)


def model(epsilon=0.5, **given):
    return OutputPerturbation(**{"epsilon": epsilon, "delta": 1e-6, "classes": (0, 1), **given})


def spent(session):
    return round(session.spent.epsilon, 9)


@pytest.mark.parametrize("fitted", ["alone", "clone", "pipeline", "folds", "search", "rest"])
def test_every_way_to_fit_is_charged(fitted):
    search = dperm.PrivateSearchCV(model(), {"curvature": [10.0, 100.0]}, epsilon=0.5, delta=1e-6)
    rest = dperm.PrivateOneVsRest(OutputPerturbation(), epsilon=0.5, delta=1e-6, classes=(0, 1, 2))
    ways = {
        "alone": lambda: model().fit(X, y),
        "clone": lambda: clone(model()).fit(X, y),
        "pipeline": lambda: make_pipeline(Normalizer(), model()).fit(X, y),
        "folds": lambda: cross_val_score(model(0.1), X, y, cv=IndependentFolds(5), error_score="raise"),
        "search": lambda: search.fit(X, y),
        "rest": lambda: rest.fit(X, y),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with PrivacySession(epsilon=2.0, delta=1e-4) as session:
            ways[fitted]()
    assert spent(session) == 0.5


def test_threads_are_charged_one_by_one():
    with PrivacySession(epsilon=1.0, delta=1e-3) as session:
        outcomes = []

        def fit():
            try:
                outcomes.append(model(0.1).fit(X, y))
            except BudgetExhausted as error:
                outcomes.append(error)

        threads = [threading.Thread(target=fit) for _ in range(16)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert spent(session) == 1.0
    assert sum(isinstance(one, BudgetExhausted) for one in outcomes) == 6 and len(outcomes) == 16


def test_what_does_not_fit_is_not_run():
    with PrivacySession(epsilon=1.0, delta=1e-5) as session:
        model(0.75).fit(X, y)
        late = model(0.5)
        with pytest.raises(
            BudgetExhausted, match=r"epsilon=0\.5, delta=1e-06 does not fit.*\(0\.75, 1e-06\) is spent by 1"
        ):
            late.fit(X, y)
        assert not hasattr(late, "coef_") and session.left.epsilon == 0.25
        with pytest.raises(BudgetExhausted, match="mine"):
            session.charge(0.3, words="mine")
        session.charge(0.25, words="mine")
    assert session.left.epsilon == 0 and "mine: epsilon 0.25" in str(session.statement())


class Broken:
    """Records that fail in a way that nobody foresaw."""

    def __array__(self, *_, **__):
        raise ZeroDivisionError


def test_what_released_nothing_is_given_back():
    with PrivacySession(epsilon=1.0, delta=1e-5) as session:
        with pytest.raises(ValueError, match="curvature"):
            model(curvature=-1.0).fit(X, y)
        with (
            pytest.warns(PrivacyLeakWarning),
            pytest.raises(SessionError, match="promises nothing, because the labels"),
        ):
            model(classes=None).fit(X, y)
        assert spent(session) == 0
        with pytest.raises(ZeroDivisionError):
            model().fit(Broken(), y)
        assert spent(session) == 0.5


def test_relations_do_not_mix():
    with PrivacySession(epsilon=1.0, delta=1e-5), pytest.raises(SessionError, match="'replace' and the session 'add_"):
        model(neighbours="replace").fit(X, y)


def test_a_model_whose_steps_are_a_number_is_charged_in_a_pipeline():
    descent = dperm.NoisyGradientDescent(epsilon=0.5, delta=1e-6, steps=3, classes=(0, 1))
    with PrivacySession(epsilon=1.0, delta=1e-5) as session:
        make_pipeline(Normalizer(), descent).fit(X, y)
    assert spent(session) == 0.5


def test_gaussian_noise_is_added_up_as_such(tmp_path):
    """Eight descents where their epsilons add up to more than the budget; the ledger remembers of what they were."""
    descent = dperm.NoisyGradientDescent(epsilon=0.5, delta=1e-6, steps=3, classes=(0, 1))
    given = {"epsilon": 3.0, "delta": 1e-5, "accountant": "renyi", "ledger": tmp_path / "budget"}
    with PrivacySession(**given) as session:
        for _ in range(8):
            clone(descent).fit(X, y)
        stated = session.statement()
        assert stated.epsilon < 3 and stated.releases[0].endswith("delta 1e-06, 0.124-GDP; proved")
    again = PrivacySession(**given)
    assert again.spent == session.spent
    cost = adaptive.Cost(0.5, 1e-6, mu=gaussian_ratio(0.5, 1e-6))
    assert again.spent.epsilon == pytest.approx(adaptive.spent(again.total, [cost] * 8, "renyi").epsilon, rel=1e-9)


@pytest.mark.parametrize(("accountant", "many"), [("basic", 6), ("renyi", 27), ("gaussian", 31)])
def test_a_session_gives_as_many_descents_as_its_accountant_allows(accountant, many):
    """Each is charged by its noise before it runs, not by an epsilon that the last ones would not have left."""
    descent = dperm.NoisyGradientDescent(epsilon=0.5, delta=1e-6, steps=1, classes=(0, 1))
    made = 0
    with PrivacySession(epsilon=3.0, delta=1e-5, accountant=accountant) as session, pytest.raises(BudgetExhausted):
        while True:
            clone(descent).fit(X, y)
            made += 1
    assert made == many and session.spent.fits


def test_a_statement_says_the_weakest_guarantee_and_whether_noise_came_from_a_seed():
    with PrivacySession(epsilon=3.0, delta=1e-5) as session:
        assert session.statement().guarantee == "proved"
        model().fit(X, y)
        assert (session.statement().guarantee, session.statement().seeded) == ("proved", False)
        dperm.ObjectivePerturbation(epsilon=0.5, calibration="paper", classes=(0, 1), random_state=0).fit(X, y)
        assert (session.statement().guarantee, session.statement().seeded) == ("proved_exact", True)
        session.charge(0.5, words="a histogram")
    assert "guarantee: claimed, from seeds: for science only" in str(session.statement())


def test_a_card_names_the_steps_that_learn():
    chain = make_pipeline(Normalizer(), model(clip=True)).fit(X, y)
    assert privacy_card(chain).beside == "none of the Pipeline learns from the records"
    assert privacy_card(chain[-1]).beside.startswith("none given")
    with pytest.warns(PrivacyLeakWarning):
        chain = make_pipeline(StandardScaler(), model(clip=True)).fit(X, y)
    for one in (chain, make_pipeline(Normalizer(), chain)):
        assert privacy_card(one).beside.startswith("not private: standardscaler (StandardScaler);")


def test_a_card_shows_numbers_of_numpy_and_neither_seed_nor_ledger(tmp_path):
    given = {"shards": np.int64(3), "classes": (np.int64(0), np.int64(1)), "epsilon": np.float64(2.0)}
    fitted = dperm.SoftMajority(**given, queries=2, state=tmp_path / "budget.journal").fit(X, y)
    card = privacy_card(fitted)
    shown = {"shards": 3, "classes": [0, 1], "epsilon": 2.0}
    assert {name: card.parameters[name] for name in shown} == shown and "epsilon=2.0" in str(card)
    assert "budget" not in str(card) + card.to_json() and not {"state", "random_state"} & set(card.parameters)


def test_a_card_is_refused_for_a_model_of_another_session():
    elsewhere = model(1.0).fit(X, y)
    with PrivacySession(epsilon=1.0, delta=1e-5) as session:
        own = model().fit(X, y)
    assert privacy_card(own, session).epsilon == 0.5
    with pytest.raises(SessionError, match="charged no OutputPerturbation at epsilon=1"):
        privacy_card(elsewhere, session)


@pytest.mark.parametrize("kind", [dperm.NoisyGradientDescent, dperm.PreconditionedGradientDescent])
def test_a_model_with_a_number_of_steps_has_a_card(kind):
    fitted = kind(epsilon=0.5, delta=1e-6, steps=3, classes=(0, 1)).fit(X, y)
    assert privacy_card(fitted).model == kind.__name__


def test_a_subclass_of_a_private_model_is_one():
    class Mine(OutputPerturbation):
        pass

    with PrivacySession(epsilon=1.0, delta=1e-5) as session:
        fitted = make_pipeline(Normalizer(), Mine(epsilon=0.5, classes=(0, 1))).fit(X, y)
    assert spent(session) == 0.5
    assert privacy_card(fitted, session).audit.startswith("not attacked: Mine is a class of its own over OutputPert")


@pytest.mark.slow
def test_a_choice_in_other_processes_is_refused_too(tmp_path):
    search = GridSearchCV(model(), {"epsilon": [0.1, 0.2]}, cv=2, error_score="raise", n_jobs=2)
    with PrivacySession(epsilon=1.0, delta=1e-5, ledger=tmp_path / "budget.journal") as session:
        with pytest.raises(SessionError, match="a search over parameters would choose"):
            search.fit(X, y)
        with pytest.raises(SessionError, match=r"_fit_and_score runs this fit .* in another thread or process"):
            cross_val_score(model(0.1), X, y, cv=IndependentFolds(2), n_jobs=2, error_score="raise")
        assert spent(session) == 0
        Parallel(n_jobs=2)(delayed(model(0.1).fit)(X, y) for _ in range(2))
        assert spent(session) == 0.2


@pytest.mark.slow
def test_processes_that_were_started_before_are_charged_and_those_of_a_closed_session_are_free(tmp_path):
    def fits():
        Parallel(n_jobs=2)(delayed(model(0.1).fit)(X, y) for _ in range(5))

    fits()
    with PrivacySession(epsilon=1.0, delta=1e-5, ledger=tmp_path / "budget.journal") as session:
        fits()
    assert spent(session) == 0.5
    fits()
    assert spent(session) == 0.5


def test_a_second_fit_of_the_same_object_outside_warns():
    one = model()
    one.fit(X, y)
    with pytest.warns(SpentAgainWarning, match="again"):
        one.fit(X, y)
    with pytest.warns(SpentAgainWarning, match="again"):
        one.fit(y=y, X=X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one.fit(X.copy(), y)
        model().fit(X, y)


def test_one_session_at_a_time():
    with PrivacySession(), pytest.raises(SessionError, match="a session is open"), PrivacySession():
        pass
    with PrivacySession():
        pass


def test_only_the_open_session_ends():
    over, stranger = PrivacySession(epsilon=1.0), PrivacySession(epsilon=1.0)
    with over:
        pass
    with PrivacySession(epsilon=1.0, delta=1e-5) as session:
        for other in (over, stranger):
            with pytest.raises(SessionError, match="not the open one"):
                other.__exit__(None, None, None)
        model().fit(X, y)
        assert session.spent.epsilon == 0.5


def interrupted(at):
    """Return a trace function that interrupts, as Ctrl-C does, the line that is `at`-th of those around a fit."""
    lines = iter(range(at))

    def trace(frame, event, _):
        if Path(frame.f_code.co_filename).name not in ("whole.py", "open.py", "books.py"):
            return None
        if event == "line" and next(lines, None) is None:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    return trace


def test_an_interrupt_wherever_it_comes_lets_no_later_fit_go_uncharged():
    before, kept = sys.gettrace(), []
    for at in range(1000):
        with PrivacySession(epsilon=2.0, delta=1e-5) as session:
            made, done = model(), False
            sys.settrace(interrupted(at))
            try:
                made.fit(X, y)
                done = True
            except KeyboardInterrupt as stop:
                kept.append(stop)  # As a prompt keeps it, with all frames.
            finally:
                sys.settrace(before)
            assert not hasattr(made, "coef_") or session.spent.epsilon == 0.5
            spent = session.spent.epsilon
            model().fit(X.copy(), y)
            assert session.spent.epsilon == spent + 0.5
        if done:
            break
    assert done and len(kept) > 30


def test_a_person_with_several_rows():
    with PrivacySession(epsilon=1.0, delta=1e-3, rows_per_person=3) as session:
        fitted = model(0.5).fit(X, y)
        told = json.loads(session.statement().to_json())
        card = privacy_card(make_pipeline(Normalizer(), fitted), session)
    assert told["person_epsilon"] == 1.5 and told["unit"] == "a person with at most 3 rows"
    assert card.unit_epsilon == 1.5 and "for the unit" in card.session
    assert "random_state" not in card.parameters and json.loads(card.to_json())["epsilon"] == 0.5
    assert "| Proof |" in str(card)
    with pytest.raises(SessionError, match="no privacy statement"):
        privacy_card(model())
    with pytest.raises(ValueError, match="rows_per_person=0"):
        PrivacySession(rows_per_person=0)
    with pytest.raises(ValueError, match="rows_per_person=3: with neighbours='replace' the number of rows is public"):
        PrivacySession(neighbours="replace", rows_per_person=3)


def run(code, *arguments, **given):
    """Start another Python."""
    script = "import numpy as np, os, sys, dperm\nfrom dperm import *\n" + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, **given,
    )  # fmt: skip


FIT = """
X = np.eye(3).repeat(20, axis=0); y = np.arange(60) % 2
def fit(epsilon=.1): return OutputPerturbation(epsilon=epsilon, delta=1e-6, classes=(0, 1)).fit(X, y)
"""


@pytest.mark.slow
def test_other_processes_share_the_ledger_or_are_refused(tmp_path):
    ledger = tmp_path / "budget.journal"
    children = FIT + "\nfit(); print('fitted')"
    with PrivacySession(epsilon=1.0, delta=1e-3, ledger=ledger) as session:
        model(0.5).fit(X, y)
        assert run(children).communicate(timeout=120)[0] == "fitted\n"
        if (child := os.fork()) == 0:
            try:
                model(0.1).fit(X, y)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert spent(session) == 0.7
    with PrivacySession(epsilon=1.0, delta=1e-3, ledger=ledger) as again, pytest.raises(BudgetExhausted):
        assert spent(again) == 0.7
        model(0.5).fit(X, y)
    with pytest.raises(dperm.errors.InvalidBudget, match=r"epsilon=1\.0 there and 2\.0 here"):
        PrivacySession(epsilon=2.0, delta=1e-3, ledger=ledger)
    with PrivacySession(epsilon=1.0, delta=1e-3):
        refused = run(children)
        assert "cannot see its budget" in refused.communicate(timeout=120)[1]


def test_no_kill_forgets_a_charge(tmp_path):
    """Thirty kills at random moments: what a process says that it released is in the ledger."""
    ledger, rng = tmp_path / "budget.journal", np.random.default_rng(1)
    released = 0
    for _ in range(30):
        ours, theirs = os.pipe()
        if (child := os.fork()) == 0:
            try:
                with PrivacySession(epsilon=1e6, delta=0.5, ledger=ledger):
                    while True:
                        model().fit(X, y)
                        os.write(theirs, b".")
            finally:
                os._exit(1)
        os.close(theirs)
        os.read(ours, 1)
        time.sleep(float(rng.uniform(0, 0.05)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        released += 1 + len(os.read(ours, 65_536))
        os.close(ours)
    with PrivacySession(epsilon=1e6, delta=0.5, ledger=ledger) as session:
        assert released <= len(session.statement().releases) <= released + 30
