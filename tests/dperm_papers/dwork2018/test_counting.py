"""The least number of which a condition holds, from any first guess."""

import pytest

from dperm_papers.dwork2018.shared.counting import least


@pytest.mark.parametrize("expected", [1, 2, 3, 7, 64, 1000])
@pytest.mark.parametrize("first", [1, 5, 1024])
def test_it_is_the_least(expected, first):
    assert least(lambda n: n >= expected, first) == expected
