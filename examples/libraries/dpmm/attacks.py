"""dpmm: synthetic tables by PrivBayes and MST, with private-pgm (mbi) inside; it names no neighbouring relation.

What is attacked is what a fitted model holds and stores: its cliques and noisy marginals, and the tables that it makes.
AIM, and MST of several columns, take seconds a fit, and are left out.
"""

import functools

import dpmm.models.base.mechanisms.mechanism
import dpmm.models.mst
import dpmm.models.priv_bayes
import numpy as np
import pandas as pd
from attack import BOTH, Attack, Given
from dpmm.models.mst import MSTGM
from dpmm.models.priv_bayes import PrivBayesGM
from dpmm.pipelines import PrivBayesPipeline
from dpmm.processing.binners import UniformBinner

PACKAGE = "dpmm"
PROMISE = (
    "“epsilon: Privacy budget” and “delta: Privacy parameter” of each class of dpmm/models; “end-to-end Differential "
    "Privacy guarantees” (README); no neighbouring relation"
)
EPSILON, DELTA = 1.0, 1e-5
# It takes half a second for the same number at each fit.
_rho = functools.cache(dpmm.models.base.mechanisms.mechanism.cdp_rho)
for module in (dpmm.models.base.mechanisms.mechanism, dpmm.models.mst, dpmm.models.priv_bayes):
    module.cdp_rho = _rho


def table(columns, n, *others):
    """Return a table of n records, all 0 but for those given."""
    records = np.zeros((n, len(columns)), dtype=int)
    records[: len(others)] = np.reshape(others, (len(others), len(columns)))
    return pd.DataFrame(records, columns=list(columns))


def fitted(make, data):
    """Return the model's cliques (are a and b one?) and the noisy counts of each column."""
    model = make(epsilon=EPSILON, delta=DELTA, compress=False, n_jobs=1)
    model.set_domain(dict.fromkeys(data.columns, 2))
    model.fit(data, marginals_only=True)
    together = any(set(clique) == {"a", "b"} for clique in model.generator.cliques)
    counts = dict.fromkeys(data.columns, 0.0)
    for _, noisy, _, clique in model.generator.measures:
        if len(clique) == 1:
            counts[clique[0]] = noisy[1]
    return [float(together), *counts.values()]


def of_model(claim, make, columns, n, special, *, draws, **more):
    """Return the attack on a model: a record that differs from all others, or none (add/remove), or one of them."""

    def mechanism(data, repeats, rng):
        return np.array([fitted(make, data) for _ in range(repeats)])

    def pair(relation):
        beside = n - 1 if relation == "add_remove" else n
        words = f"{n} records, all 0 but one {special}; or {beside}, all 0"
        return Given(mechanism, table(columns, n, special), table(columns, beside), words)

    return Attack(claim, pair, PROMISE, epsilon=EPSILON, delta=DELTA, draws=draws, **more)


def apart(n):
    """Return what the choice of cliques alone spends at the pair of `of_model` (a, b, c; one record of n is (1, 1, 0)).

    Of its score only that of (a, b) is not 0: it is 1, or 0 without the record, where every choice is a fair one.
    """
    charged = (2 / n) * np.log((n + 1) / 2) + (1 - 1 / n) * np.log(1 + 2 / (n - 1))
    # Of one choice of two: by an exponential mechanism at a third of half of epsilon.
    missed = 1 / (1 + np.exp(EPSILON / 6 / (2 * charged)))
    # The root is a or b: both choices miss (a, b); or it is c: the second does.
    with_record = (2 * missed**2 + missed) / 3
    without = (2 / 4 + 1 / 2) / 3
    return float(np.log((without - DELTA) / with_record))


def of_pipeline(claim, made, data, *, because):
    """Return the attack on the tables that a pipeline makes; data: relation -> the pair; made: of what, one number."""

    def mechanism(held, repeats, rng):
        drawn = []
        for _ in range(repeats):
            pipeline = PrivBayesPipeline(
                epsilon=EPSILON, delta=DELTA, proc_epsilon=None, n_jobs=1, gen_kwargs={"n_iters": 10}
            )
            pipeline.fit(held, domain={column: {"categories": [0, 1]} for column in held})
            drawn.append(made(pipeline.generate(n_records=100)))
        return np.array(drawn, dtype=float)

    def pair(relation):
        return Given(mechanism, *data(relation))

    return Attack(
        claim,
        pair,
        PROMISE,
        epsilon=EPSILON,
        delta=DELTA,
        draws=300,
        because=because,
        exact=dict.fromkeys(BOTH, np.inf),
    )


def categories(first, second):
    """Return relation -> 200 records whose column a is 0 but for the first; `second` or none, or 0, in its place."""

    def data(relation):
        values = np.zeros(200)
        tables = []
        for a in (first, second):
            held = pd.DataFrame({"a": values, "b": np.arange(200) % 2, "c": np.arange(200) % 2})
            held.loc[0, "a"] = a
            tables.append(held.astype("category"))
        if relation == "add_remove":
            tables[1] = tables[1].iloc[1:].reset_index(drop=True)
        beside = "or without that record" if relation == "add_remove" else f"or {second} instead"
        return *tables, f"one record of 200 has a = {first} where all others have 0, {beside}"

    return data


def bins(relation):
    """Return the pair for the number of bins: 64 records, at which 2 cbrt(n) is whole, or one more."""

    def mechanism(values, repeats, rng):
        found = []
        for _ in range(repeats):
            binner = UniformBinner(n_bins="auto", lower=0.0, upper=1.0, epsilon=0.1)
            binner.fit(values)
            found.append(len(binner.bins))
        return np.array(found, dtype=float)

    fewer, more = np.zeros(_TURN), np.zeros(_TURN + 1)
    if relation == "replace":
        fewer = more.copy()
        fewer[0] = 1.0
    return Given(mechanism, more, fewer, f"{len(more)} values or {len(fewer)}")


def _bins_of(n):
    binner = UniformBinner(n_bins="auto", lower=0.0, upper=1.0, epsilon=0.1)
    binner.fit(np.zeros(n))
    return len(binner.bins)


# The first number of records at which one more takes one more bin.
_TURN = next(n for n in range(200, 400) if _bins_of(n + 1) > _bins_of(n))
ATTACKS = [
    of_model(
        "models.PrivBayesGM(degree=2, compress=False), three columns of two levels",
        PrivBayesGM,
        "abc",
        10_000,
        (1, 1, 0),
        draws=600,
        exact=dict.fromkeys(BOTH, apart(10_000)),
        because="models/priv_bayes.py:91 divides the mutual information by sqrt(H(x) H(y)), which one record can move "
        "from 0 to 1, and line 138 charges the sensitivity of the mutual information itself, about 2 log(n)/n",
    ),
    of_model("models.MSTGM(compress=False), one column of two levels", MSTGM, "a", 20, (1,), draws=2_000),
    of_pipeline(
        "pipelines.PrivBayesPipeline, a column that holds one level, both levels declared",
        lambda table: (table["a"] == 1).sum(),
        categories(1, 0),
        because="processing/table_binner.py:234 leaves out of the model a column of which all records are equal, and "
        "gives that value to every synthetic record; whether it does is not noisy",
    ),
    of_pipeline(
        "pipelines.PrivBayesPipeline, a missing value in a column of two levels",
        lambda table: table["a"].isna().sum(),
        categories(np.nan, 0),
        because="processing/table_binner.py:222 adds a column that says which values are missing if and only if one is",
    ),
    Attack(
        'processing.UniformBinner(n_bins="auto", lower=0, upper=1, epsilon=0.1)',
        bins,
        PROMISE,
        epsilon=0.1,
        draws=2_000,
        because="processing/utils.py:109 takes the number of bins from the number of records, which is treated as "
        "public, so the claim can hold for replace-one alone",
        exact={"add_remove": np.inf, "replace": 0.0},
    ),
]
