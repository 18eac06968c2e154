"""Streams are named: the same names anywhere give the same stream, other names another one."""

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import together
from hypothesis import given
from hypothesis import strategies as st

from dperm import seeds

NAMES = ("kifer2012-output", "adult", 3, 0.1, "noise ε")


def first(root, *names):
    return seeds.generator(root, *names).bytes(16)


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_another_process_with_another_hash_seed_draws_the_same(hash_seed):
    code = f"from dperm import seeds; print(seeds.generator(2012, *{NAMES!r}).bytes(16).hex())"
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == first(2012, *NAMES).hex()


def test_streams_do_not_depend_on_what_was_drawn_before_or_on_the_global_state():
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    expected = first(1, "a")
    seeds.generator(1, "b").standard_normal(1000)
    assert first(1, "a") == expected
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_all_different_names_give_different_streams():
    """Order, type, grouping, and names that try to look like two."""
    different = [
        (),
        ("",),
        ("a",),
        ("a", "b"),
        ("b", "a"),
        ("ab",),
        ("a", "", "b"),
        ('a", "b',),
        ("a, b",),
        ("[1]",),
        ("1",),
        (1,),
        (1.0,),
        (True,),
        ("true",),
        (False,),
        (0,),
        (0.0,),
        (0.1,),
        (math.nextafter(0.1, 1.0),),
        (2**80,),
        ("ε",),
        ("\\u03b5",),
    ]
    streams = [first(7, *names) for names in different] + [first(8), first(8, "a")]
    assert len(set(streams)) == len(streams)


names_strategy = st.lists(
    st.one_of(st.text(max_size=5), st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False)), max_size=4
)


@given(names_strategy, names_strategy)
def test_streams_are_equal_exactly_when_names_are_equal_in_value_and_type(one, two):
    same = [(type(name), repr(name)) for name in one] == [(type(name), repr(name)) for name in two]
    assert (first(1, *one) == first(1, *two)) is same


def test_streams_of_neighbouring_names_are_uncorrelated():
    """Correlations of independent normal streams of length n are about N(0, 1/n); 6 sd is one in 10^9 a pair."""
    n = 20_000
    draws = [seeds.generator(0, "repeat", repeat).standard_normal(n) for repeat in range(8)]
    for one, two in itertools.combinations(draws, 2):
        assert abs(np.corrcoef(one, two)[0, 1]) < 6 / np.sqrt(n)


@pytest.mark.parametrize(
    ("numpy_name", "name"),
    [
        (np.int64(3), 3),
        (np.int8(-1), -1),
        (np.uint64(2**63), 2**63),
        (np.float64(0.1), 0.1),
        (np.str_("adult"), "adult"),
    ],
)
def test_numpy_scalars_count_as_pythons(numpy_name, name):
    assert first(1, numpy_name) == first(1, name)
    assert first(1, "x", numpy_name, "y") == first(1, "x", name, "y")


def test_a_numpy_root_counts_as_pythons():
    assert first(np.int64(5), "a") == first(5, "a")


@together.over("name", [np.float32(0.1), np.bool_(True), None, b"a", ("a",), ["a"], {"a": 1}, 1j, np.array([1])])
def test_names_of_other_types_are_refused_with_the_remedy(name):
    with pytest.raises(TypeError, match=r"stream name .* give a str, an int or a float"):
        seeds.generator(1, "a", name)


@together.over("name", [float("nan"), float("inf"), np.float64("nan")])
def test_names_that_are_not_finite_are_refused(name):
    with pytest.raises(ValueError, match="not finite"):
        seeds.generator(1, name)


@together.over("root", [1.0, "1", None, True])
def test_a_root_that_is_not_an_integer_is_refused(root):
    with pytest.raises(TypeError, match="seed root="):
        seeds.generator(root, "a")


def test_a_negative_root_is_refused():
    with pytest.raises(ValueError, match="seed root=-1"):
        seeds.generator(-1, "a")
