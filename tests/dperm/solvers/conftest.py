"""What tests of certificates at the rounding of doubles share."""

import numpy as np
import pytest

from dperm.solvers import composite, newton


@pytest.fixture
def longer_numbers():
    """Numbers longer than doubles, which hold the latter's rounding against the truth: not every machine has them."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("this machine has no numbers longer than doubles")


@pytest.fixture
def unrefined(monkeypatch):
    """As the sums in doubles leave it; what is refined beyond them certifies a distance alone (test_refined.py)."""
    for solver in (newton, composite):
        monkeypatch.setattr(solver, "refine_all", lambda *given: None)
