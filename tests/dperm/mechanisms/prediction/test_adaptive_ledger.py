"""A ledger with prices as one goes: the better of two sums bears an answer, whatever an attacker asks next."""

import numpy as np
import pytest

from dperm.accounting import composition
from dperm.errors import BudgetExhausted, InvalidBudget
from dperm.mechanisms.prediction.ledger import AdaptiveLedger


@pytest.fixture
def path(tmp_path):
    return tmp_path / "of-its-own" / "journal"


def test_either_sum_may_bear_an_answer():
    ledger = AdaptiveLedger(1.0, 1e-6)
    # By zCDP, far beyond epsilon in sum.
    price = 0.02
    most = int(composition.zcdp_rho(1.0, 1e-6) / (price**2 / 2))
    ledger.charge(most - 1, each=price)
    ledger.charge(each=price)
    assert most * price > 2
    with pytest.raises(BudgetExhausted, match="do not fit"):
        ledger.charge(each=price)
    assert ledger.answered == most
    # By epsilon, far beyond zCDP's.
    ledger = AdaptiveLedger(1.0, 1e-6)
    ledger.charge(each=0.75)
    ledger.charge(each=0.25 - 1e-9)
    with pytest.raises(BudgetExhausted):
        ledger.charge(each=1e-6)


def test_bounded_range_costs_a_quarter():
    ledger, price = AdaptiveLedger(1.0, 1e-6), 0.02
    most = int(composition.zcdp_rho(1.0, 1e-6) / (price**2 / 8))
    ledger.charge(most, each=price, bounded_range=True)
    with pytest.raises(BudgetExhausted):
        ledger.charge(each=price, bounded_range=True)


def test_a_journal_goes_on(path):
    with pytest.raises(InvalidBudget):
        AdaptiveLedger(1.0, 1e-6, path=path).charge(each=0.0)
    ledger = AdaptiveLedger(1.0, 1e-6, path=path)
    ledger.charge(2, each=0.3)
    del ledger
    ledger = AdaptiveLedger(1.0, 1e-6, path=path)
    assert ledger.answered == 2
    ledger.charge(each=0.39)
    with pytest.raises(BudgetExhausted, match=r"of epsilon 0\.01 "):
        ledger.charge(each=0.02)
    ledger.close()


def test_what_an_adaptive_attacker_achieves_is_within_delta():
    """All strategies over two prices and randomised responses of them: the exact value by recursion."""
    epsilon, delta = 0.5, 0.05
    most = (epsilon, composition.zcdp_rho(epsilon, delta))
    prices = (0.11, 0.23)

    def value(loss, sums):
        best = max(0.0, -np.expm1(epsilon - loss)) if loss > epsilon else 0.0
        for price in prices:
            after = (sums[0] + price, sums[1] + price**2 / 2)
            if after[0] <= most[0] or after[1] <= most[1]:
                p = 1 / (1 + np.exp(-price))
                best = max(best, p * value(loss + price, after) + (1 - p) * value(loss - price, after))
        return best

    assert 0 < value(0.0, (0.0, 0.0)) <= delta
