"""The synthetic designs of kifer2012's experiments."""

import numpy as np
import together

from dperm_papers.kifer2012.shared import designs


@together.over("n, p", [(1, 1), (3, 5), (7, 9), (126, 100)])
@together.over("half_a_word", [False, True])
def test_signs_are_those_of_integers_and_leave_the_same_stream(n, p, half_a_word):
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    if half_a_word:  # of 64 bits that are drawn, 32 may be kept for the next one
        assert ours.integers(5, dtype=np.int32) == theirs.integers(5, dtype=np.int32)
    found = designs.signs(n, p, ours)
    np.testing.assert_array_equal(found, 2 * theirs.integers(0, 2, size=(n, p), dtype=np.int8) - 1)
    assert ours.bit_generator.state == theirs.bit_generator.state
