"""Bounds, budgets and statements: what is allowed passes, everything else is refused with a message that helps."""

import dataclasses
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dperm.domain import NORM_SLACK, Budget, Domain, PrivacyStatement, bounded_rows, integer, number, tame_rows
from dperm.errors import DomainViolation, DpermError, InvalidBudget, ReleaseError

not_numbers = st.sampled_from(["1", "1e-6", None, True, False, 1j, [1.0], np.array([1.0, 2.0])])
bad_epsilons = st.one_of(
    st.floats(max_value=0.0),
    st.floats(min_value=1e12, exclude_min=True),
    st.sampled_from([math.inf, math.nan, 0, -1]),
    not_numbers,
)
bad_deltas = st.one_of(
    st.floats(min_value=1.0),
    st.floats(max_value=0.0, exclude_max=True),
    st.sampled_from([math.nan, 1, -1]),
    not_numbers,
)
good_epsilons = st.floats(min_value=0.0, exclude_min=True, max_value=1e12)
good_deltas = st.floats(min_value=0.0, max_value=1.0, exclude_max=True)


@given(good_epsilons, good_deltas)
def test_every_possible_budget_is_accepted_unchanged(epsilon, delta):
    budget = Budget(epsilon, delta)
    assert (budget.epsilon, budget.delta) == (epsilon, delta)


@given(bad_epsilons, good_deltas)
def test_every_bad_epsilon_is_refused_and_named(epsilon, delta):
    with pytest.raises(InvalidBudget, match="epsilon="):
        Budget(epsilon, delta)


@given(good_epsilons, bad_deltas)
def test_every_bad_delta_is_refused_and_named(epsilon, delta):
    with pytest.raises(InvalidBudget, match="delta="):
        Budget(epsilon, delta)


def test_numpy_numbers_are_numbers():
    assert Budget(np.float64(1.0), np.float32(0.5)) == Budget(1.0, 0.5)
    assert Budget(np.int64(2)) == Budget(2.0)


def test_a_string_from_yaml_shows_its_quotes():
    with pytest.raises(InvalidBudget, match=r"delta='1e-6'.*1\.0e-6"):
        Budget(1.0, "1e-6")


@given(st.floats(1e-3, 100), st.floats(0, 0.5), st.integers(1, 20))
def test_equal_shares_spend_the_whole(epsilon, delta, parts):
    shares = [Budget(epsilon, delta).share(1 / parts) for _ in range(parts)]
    assert sum(share.epsilon for share in shares) == pytest.approx(epsilon, rel=1e-12)
    assert sum(share.delta for share in shares) == pytest.approx(delta, rel=1e-12)


@together.over("fraction", [0, -0.5, 1.0000001, 2, math.nan, math.inf, "0.5", None, True])
def test_a_share_is_never_more_than_the_whole_nor_nothing(fraction):
    with pytest.raises(InvalidBudget, match="fraction="):
        Budget(1.0).share(fraction)


@together.over(
    ("bounds", "name"),
    [
        ({"x_norm": 0.0}, "x_norm"),
        ({"x_norm": -1.0}, "x_norm"),
        ({"x_norm": math.nan}, "x_norm"),
        ({"x_norm": math.inf}, "x_norm"),
        ({"x_norm": None}, "x_norm"),
        ({"x_norm": 1e200}, "x_norm"),  # its square is no double
        ({"x_norm": 10**400}, "x_norm"),
        ({"x_norm": 1e-200}, "x_norm"),
        ({"x_norm": "1"}, "x_norm"),
        ({"x_norm": 1.0, "y_bound": 0.0}, "y_bound"),
        ({"x_norm": 1.0, "y_bound": math.nan}, "y_bound"),
        ({"x_norm": 1.0, "theta_norm": -2.0}, "theta_norm"),
        ({"x_norm": 1.0, "theta_norm": None}, "theta_norm"),
    ],
)
def test_a_bound_that_bounds_nothing_is_refused_and_named(bounds, name):
    with pytest.raises(DomainViolation, match=name):
        Domain(**bounds)


@given(st.floats(-10, 10), st.sampled_from(["()", "[)", "(]", "[]"]))
def test_a_number_is_taken_if_and_only_if_it_is_in_the_range(value, ends):
    inside = (-1 < value < 2) or (value == -1 and ends[0] == "[") or (value == 2 and ends[1] == "]")
    if inside:
        assert number("key", value, -1, 2, ends=ends) == value
    else:
        with pytest.raises(ValueError, match=r"^key=.* must be a number in [\[(]-1, 2[\])]$"):
            number("key", value, -1, 2, ends=ends)


@together.over("ends", ["()", "[)", "(]", "[]"])
@together.over("value", [-1, 2])
def test_the_ends_of_a_range_are_as_written(value, ends):
    allowed = ends[0] == "[" if value == -1 else ends[1] == "]"
    if allowed:
        assert number("key", value, -1, 2, ends=ends) == value
    else:
        with pytest.raises(ValueError, match="key="):
            number("key", value, -1, 2, ends=ends)


@given(not_numbers)
def test_what_is_no_number_is_refused_as_it_was_written_with_the_remedy(value):
    with pytest.raises(InvalidBudget) as caught:
        number("key", value, 0, 10, error=InvalidBudget, remedy="take 3")
    assert str(caught.value) == f"key={value!r} must be a number in (0, 10); take 3"


@together.over("value", [10**400, -(10**400), math.nan, Fraction(10**400)])
def test_numbers_that_no_double_holds_are_outside_every_range(value):
    with pytest.raises(ValueError, match=r"key=(-?inf|nan) must be a number in"):
        number("key", value, -math.inf, math.inf)


def test_margin_bound_is_cauchy_schwarz_and_attained():
    domain = Domain(x_norm=3.0, theta_norm=2.0)
    direction = np.array([0.6, -0.8])
    assert (3.0 * direction) @ (2.0 * direction) == pytest.approx(domain.margin_bound)
    assert Domain(3.0).margin_bound == math.inf


STATEMENT = {
    "epsilon": 1.0,
    "delta": 1e-6,
    "neighbours": "replace",
    "calibration": "tight",
    "guarantee": "proved_exact",
    "seeded": True,
    "event": None,
    "source": "kifer2012, Theorem 2",
    "covers": ("coef_", "intercept_"),
}


def test_a_statement_cannot_be_edited():
    statement = PrivacyStatement(**STATEMENT)
    with pytest.raises(dataclasses.FrozenInstanceError):
        statement.epsilon = 0.1


@together.over(
    "key, value",
    [
        ("neighbours", "add-remove"),
        ("neighbours", None),
        ("calibration", "Tight"),
        ("guarantee", "sure"),
        ("epsilon", 0.0),
        ("epsilon", math.nan),
        ("delta", 1.0),
        ("delta", -1e-9),
    ],
)
def test_a_statement_in_other_words_is_refused(key, value):
    with pytest.raises(ValueError, match=f"{key}="):
        PrivacyStatement(**(STATEMENT | {key: value}))


@together.over(
    "changed, words",
    [
        ({"covers": ()}, r"covers=\(\) must name what is promised"),
        ({"covers": "coef_"}, "covers='coef_' must name"),
        ({"guarantee": "none"}, "guarantee='none' with reason=''"),
        ({"reason": "erratum K3"}, "guarantee='proved_exact' with reason='erratum K3'"),
    ],
)
def test_a_statement_says_what_it_covers_and_why_it_promises_nothing(changed, words):
    with pytest.raises(ValueError, match=words):
        PrivacyStatement(**(STATEMENT | changed))
    assert "covers coef_, intercept_ and what is computed from these alone" in str(PrivacyStatement(**STATEMENT))
    nothing = PrivacyStatement(**(STATEMENT | {"guarantee": "none", "reason": "erratum K3"}))
    assert "guarantee: none, because erratum K3" in str(nothing)


def exact_square(row):
    return sum(Fraction(float(x)) ** 2 for x in row)


matrices = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(-1e6, 1e6, allow_subnormal=False),
)


@given(matrices, st.floats(1e-3, 1e3))
def test_after_clipping_no_row_is_longer_than_the_bound_in_exact_arithmetic(X, x_norm):
    clipped = bounded_rows(X, x_norm, clip=True)
    for before, after in zip(X, clipped, strict=True):
        if np.array_equal(before, after):
            # Untouched: the computed norm was within the bound, so the true one is to rounding.
            assert exact_square(after) <= Fraction(x_norm) ** 2 * (1 + Fraction(1, 10**14))
        else:
            assert exact_square(after) <= Fraction(x_norm) ** 2
            assert exact_square(after) >= Fraction(x_norm) ** 2 * (1 - Fraction(1, 10**13))
            scale = np.linalg.norm(after) / np.linalg.norm(before)
            np.testing.assert_allclose(after, before * scale, rtol=1e-12)  # the direction stays


@given(matrices, st.floats(1e-3, 1e3))
def test_clipping_twice_changes_nothing_more(X, x_norm):
    once = bounded_rows(X, x_norm, clip=True)
    assert bounded_rows(once, x_norm) is once


@given(matrices, st.floats(1e-3, 1e3), st.data())
def test_a_row_depends_on_its_own_record_alone(X, x_norm, data):
    keep = data.draw(st.integers(0, len(X) - 1))
    np.testing.assert_array_equal(
        bounded_rows(X, x_norm, clip=True)[keep], bounded_rows(X[[keep]], x_norm, clip=True)[0]
    )


def test_input_is_never_changed_and_is_returned_where_it_fits():
    X = np.array([[3.0, 4.0], [0.3, 0.4]])
    before = X.copy()
    assert bounded_rows(X, 5.0) is X
    bounded_rows(X, 1.0, clip=True)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint8])
def test_any_numeric_type_is_clipped_in_float64(dtype):
    clipped = bounded_rows(np.array([[3, 4]], dtype=dtype), 1.0, clip=True)
    assert clipped.dtype == np.float64
    np.testing.assert_allclose(clipped, [[0.6, 0.8]], rtol=1e-14)


@pytest.mark.parametrize("excess", [0.5 * NORM_SLACK, 1e-15])
def test_rounding_above_the_bound_is_scaled_down(excess):
    X = np.array([[1.0 + excess, 0.0]])
    assert np.linalg.norm(bounded_rows(X, 1.0)) <= 1.0


def test_more_than_rounding_is_an_error_that_tells_the_remedy_and_no_data():
    X = np.array([[0.123456789, 0.0], [987.654321, 0.0], [1.0 + 3 * NORM_SLACK, 0.0]])
    with pytest.raises(DomainViolation) as caught:
        bounded_rows(X, 1.0)
    message = str(caught.value)
    assert not any(count in message for count in ("2", "3"))
    assert "x_norm=1" in message
    assert "clip=True" in message
    assert not any(digits in message for digits in ("0.12", "987", "654", "1.00"))


@together.over("bad", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_refused_or_make_the_zero_row(bad):
    X = np.array([[0.0, bad], [0.1, 0.2]])
    with pytest.raises(DomainViolation, match=r"X has rows with NaN or infinity.*clip=True, which puts zero rows"):
        bounded_rows(X, 1.0)
    np.testing.assert_array_equal(bounded_rows(X, 1.0, clip=True), [[0.0, 0.0], [0.1, 0.2]])


ANY_ROW = st.lists(st.floats(width=64) | st.sampled_from([1e308, -1e308, 5e-324, -0.0]), min_size=3, max_size=3)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    rows=st.lists(ANY_ROW, max_size=4),
    x_norm=st.sampled_from([1e-30, 0.7, 1e30]),
    form=st.sampled_from(["dense", "csr"]),
)
def test_any_row_ends_within_the_bound_by_itself_and_keeps_its_direction(rows, x_norm, form):
    X = np.array(rows).reshape(-1, 3)
    given = X if form == "dense" else sparse.csr_array(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tame = tame_rows(given)
        tame = tame if form == "dense" else tame.toarray()
        within = bounded_rows(tame, x_norm, clip=True)
        alone = [bounded_rows(tame_rows(row[None]), x_norm, clip=True)[0] for row in X]
    assert np.abs(tame).max(initial=0.0) <= 1e100
    assert (np.array([math.hypot(*row) for row in within]) <= x_norm).all()
    np.testing.assert_array_equal(within, np.array(alone).reshape(-1, 3))
    for row, kept in zip(X, within, strict=True):
        if not np.isfinite(row).all():
            assert not kept.any()
            continue
        one, other = (part / (abs(part).max() or 1.0) for part in (row, kept))
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)


def test_finite_rows_whose_squares_overflow_are_clipped_to_the_bound():
    clipped = bounded_rows(np.array([[3e200, -4e200], [0.1, 0.0]]), 1.0, clip=True)
    np.testing.assert_allclose(clipped, [[0.6, -0.8], [0.1, 0.0]], rtol=1e-13)


def test_no_rows_are_no_problem():
    assert bounded_rows(np.empty((0, 3)), 1.0).shape == (0, 3)


def test_every_refusal_is_an_error_for_users():
    assert issubclass(InvalidBudget, DpermError) and issubclass(DomainViolation, DpermError)


def test_a_statement_says_what_its_value_may_be_used_for():
    science = PrivacyStatement(**(STATEMENT | {"seeded": False}))
    assert science.mode == "science" and "for science only: its noise is a floating-point number" in str(science)
    seeded = PrivacyStatement(**(STATEMENT | {"seeded": True}))
    assert "for science only: whoever knows the seed knows the noise" in str(seeded)
    release = PrivacyStatement(**(STATEMENT | {"seeded": False, "mode": "release"}))
    assert "release: integer noise from the operating system" in str(release) and "science" not in str(release)


def test_a_seeded_release_is_refused():
    with pytest.raises(ReleaseError, match="whoever knows the seed knows the noise"):
        PrivacyStatement(**(STATEMENT | {"seeded": True, "mode": "release"}))
    with pytest.raises(ValueError, match="mode='public' is not one of"):
        PrivacyStatement(**(STATEMENT | {"mode": "public"}))


@together.over("value", [0, -1, 1.0, True, np.True_, "2", None])
def test_what_is_no_integer_from_the_least_on_is_refused(value):
    with pytest.raises(InvalidBudget, match=r"k=.* must be an integer, 1 or above; it counts"):
        integer("k", value, 1, "it counts", error=InvalidBudget)


def test_an_integer_is_given_as_python_s():
    assert type(integer("k", np.int8(3), 3, "it counts")) is int
