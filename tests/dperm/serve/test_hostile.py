"""Requests that no client sends: none fails the server, none is charged, and none learns a word of a record.

Each is sent to two services whose models differ in their records. A request that is not well-formed, as read here by
Python's own json, must get the very same bytes from both.
"""

import json
import math
import warnings

import numpy as np
import pytest
import served
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dperm import PublicEncoder
from dperm.serve import pack, shared

SCHEMA = {
    "age": {"range": [0, 100]},
    "job": {"levels": ["a", "b", None]},
    "since": {"from": "2000-01-01", "to": "2026-12-31"},
}
# A path or a method that is not there, no key, a body that makes no sense, too much.
PROBLEMS = {401, 404, 405, 413, 422}
WIDE = 5
PATHS = [path for path in shared.PATHS if path]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Web, service and key of two models of other records; whoever quoted one would say other words of each."""
    folder, found = tmp_path_factory.mktemp("hostile"), []
    for k, job in enumerate("ab"):
        raw = np.array([[(i * (k + 1)) % 100, job, f"20{10 + k}-01-01"] for i in range(300)], dtype=object)
        encoder = PublicEncoder(SCHEMA, clip=True).fit(raw)
        X, y = encoder.transform(raw), [int(i % 100 > 50) for i in range(300)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pack(served.estimator(classes=(0, 1), queries=100_000), X, y, folder / f"{k}.dperm", encoder=encoder)
            one = served.service(folder / f"{k}.dperm", folder / f"{k}.ledger")
        assert X.shape[1] == WIDE
        found.append((served.Web(one), one, served.key(one, rate=10**9)))
    return found


def finite(value):
    """Whether a value that json read is a number that a double holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def well_formed(body):
    """Whether a body is what docs/service.md says; of two values of one name the last counts.

    A cell of a record may be a whole number of any size: the encoder brings it into its range.
    """
    try:
        given = json.loads(body.decode())
    except (ValueError, RecursionError):
        return False
    if not isinstance(given, dict) or set(given) - {"rows", "records"} or len(body) > 4 << 20:
        return False
    rows, records = given.get("rows"), given.get("records")
    if (rows is None) == (records is None):
        return False
    table = records if rows is None else rows
    if not isinstance(table, list) or not 0 < len(table) <= 1000:
        return False
    if rows is None:
        return all(
            isinstance(record, dict)
            and set(record) <= set(SCHEMA)
            and all(cell is None or isinstance(cell, str | int) or finite(cell) for cell in record.values())
            for record in records
        )
    return all(isinstance(row, list) and len(row) == WIDE and all(map(finite, row)) for row in rows)


TEXT = st.text(max_size=8)
NUMBERS = st.one_of(st.integers(), st.floats(), st.just(10**400))
CELLS = st.one_of(NUMBERS, TEXT, st.booleans(), st.none(), st.sampled_from(["a", "2010-01-01", "2010-13-45", "1e999"]))
ANYTHING = st.recursive(
    CELLS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)), max_leaves=8
)
ROWS = st.lists(st.lists(CELLS, min_size=WIDE - 1, max_size=WIDE + 1), max_size=3)
RECORDS = st.lists(
    st.dictionaries(st.one_of(st.sampled_from([*SCHEMA]), TEXT), st.one_of(CELLS, ANYTHING), max_size=4), max_size=3
)
NAMED = st.one_of(
    st.fixed_dictionaries({"rows": st.one_of(ROWS, ANYTHING)}, optional={"records": ANYTHING}),
    st.fixed_dictionaries({"records": st.one_of(RECORDS, ANYTHING)}, optional={"rows": ANYTHING, "more": ANYTHING}),
)


@st.composite
def bodies(draw):
    """Of bytes, of JSON of any shape, or of what looks like a request: all; twice two parts, and some bytes changed."""
    if draw(st.booleans()):
        body = draw(st.one_of(st.binary(max_size=60), ANYTHING.map(lambda said: json.dumps(said).encode())))
    else:
        body = json.dumps(draw(NAMED), ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    found = [body]
    for _ in range(2):
        at, rest = draw(st.integers(0, len(body))), draw(st.integers(0, 3))
        found += [body[:at], body[at:], body[:at] + draw(st.binary(max_size=3)) + body[at + rest :]]
    return found


HEADERS = [b"idempotency-key", b"content-type", b"content-length", b"host", b"accept", b"cookie", b"x-forwarded-for"]
VALUES = st.one_of(st.binary(max_size=30), st.sampled_from([b"application/json", b"-1", b"text/xml", b"gzip", b"*"]))
KEYS = st.one_of(st.just(None), st.binary(max_size=60), st.just(b"dperm_00000000_" + b"x" * 43), st.just(b"Bearer"))
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "get", "M-SEARCH"]
ENDS = st.sampled_from(["", "", "/", "//", "/..", "%2e", "\0", "?", "é", ";x"])


@st.composite
def requests(draw):
    """Method, path, query, key (None: one that is right; else the header's value), other headers, parts of the body.

    They come by the handful: most of the time is Hypothesis's, for what it draws.
    """
    lines = draw(st.lists(st.tuples(st.sampled_from(HEADERS), VALUES), max_size=3))
    if draw(st.integers(0, 3)):
        found, halved = [body for body in draw(bodies()) if not well_formed(body)], draw(st.booleans())
        parts = [[body[: len(body) // 2], body[len(body) // 2 :]] if halved else [body] for body in found]
        return [("POST", "/v1/predict", b"", None, lines, body) for body in parts]
    path = draw(st.one_of(st.sampled_from(PATHS), st.text(max_size=12).map("/".__add__))) + draw(ENDS)
    query = draw(st.one_of(st.just(b""), st.binary(max_size=20), st.binary(max_size=9).map(b"format=".__add__)))
    key = draw(st.one_of(KEYS, st.binary(max_size=60).map(b"Bearer ".__add__)))
    body = b"" if key is None else b'{"rows": [[0.5, 0, 0, 0, 0]]}'
    methods = draw(st.lists(st.sampled_from(METHODS), min_size=6, max_size=6, unique=True))
    return [(method, path, query, key, lines, [body]) for method in methods]


def refused_alike(two, handful):
    """How many are malformed requests after all, which both services refuse with the same bytes."""
    found = []
    for web, _, right in two:
        keys = [f"Bearer {right}".encode() if key is None else key for _, _, _, key, _, _ in handful]
        found.append(
            web.raw(
                (method, path, query, [(b"authorization", key), *lines], parts)
                for key, (method, path, query, _, lines, parts) in zip(keys, handful, strict=True)
            )
        )
    assert found[0] == found[1]
    refused = 0
    for (method, *_), (status, headers, body) in zip(handful, found[0], strict=True):
        if status == 200:
            assert method in ("GET", "HEAD")
            continue
        assert status in PROBLEMS
        assert headers["content-type"] == "application/problem+json" and len(body) == 768
        refused += 1
    return refused


def spent(two):
    """What is charged to both budgets and to all keys."""
    found = []
    for _, one, _ in two:
        with one.serving.turn():
            found.append((one.ledger.answered, [account.used for account in one.accounts.all.values()]))
    return found


def many(most):
    return settings(max_examples=most, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@pytest.mark.parametrize("least", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_malformed_request_is_refused_and_costs_nothing(two, least, capfd):
    before, refused = spent(two), 0

    @many(least // 5)
    @given(requests())
    def refuse(handful):
        nonlocal refused
        refused += refused_alike(two, handful)

    refuse()
    assert spent(two) == before and refused >= least
    # What nobody foresaw would be said there: the place of an error.
    assert capfd.readouterr() == ("", "")


@many(60)
@given(st.lists(st.dictionaries(st.sampled_from([*SCHEMA]), CELLS, max_size=3), min_size=1, max_size=3))
def answer(two, records):
    body = json.dumps({"records": records}).encode()
    assume(well_formed(body))
    for web, _, key in two:
        status, _, found = web("/v1/predict", body, key=key)
        assert status == 200 and set(json.loads(found)["answers"]) <= {0, 1}


def test_whatever_a_well_formed_record_holds_it_is_answered(two, capfd):
    answer(two)
    assert capfd.readouterr() == ("", "")
