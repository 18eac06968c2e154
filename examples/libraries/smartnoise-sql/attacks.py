"""SmartNoise SQL: one query per attack, on a table of many groups that all hold the same records.

With `row_privacy` and `censor_dims: False` the answer for a group is a function of its own records and of fresh noise,
so one query gives as many independent draws as there are groups. The claim of a column is what `get_privacy_cost` says.
"""

import numpy as np
import pandas as pd
import snsql
from attack import Attack, Given

PACKAGE = "smartnoise-sql"
PROMISE = (
    "`get_privacy_cost` of the query at Privacy(epsilon=1); “We currently assume "
    '"add/remove one" neighboring definition for the SQL layer” (opendp/smartnoise-sdk, issue #326)'
)
GROUPS = 1_000


def reader(values, groups, low, high):
    """Return a private reader of a table of so many groups, each with these values."""
    column = {"type": "float", "lower": low, "upper": high}
    table = {"row_privacy": True, "censor_dims": False, "clamp_counts": False, "x": column, "g": {"type": "int"}}
    rows = pd.DataFrame({"g": np.repeat(np.arange(groups), len(values)), "x": np.tile(values, groups)})
    privacy = snsql.Privacy(epsilon=1.0, delta=0.01)
    return snsql.from_df(rows, privacy=privacy, metadata={"": {"S": {"T": table}}})


def query(expression):
    """Return the query of one column by groups."""
    return f"SELECT g, {expression} AS s FROM S.T GROUP BY g"


def of(expression, data, neighbour, low=0.0, high=1.0):
    """Return the attack on one column."""
    epsilon, delta = reader(data, 2, low, high).get_privacy_cost(query(expression))

    def mechanism(values, repeats, rng):
        drawn = []
        while len(drawn) < repeats:
            answer = reader(values, min(GROUPS, repeats - len(drawn)), low, high).execute(query(expression))
            # No variance where noise leaves none: a number of its own.
            drawn += [-1.0 if row[1] is None or row[1] != row[1] else float(row[1]) for row in answer[1:]]
        return np.array(drawn)

    return Attack(
        f"{expression} of x in [{low:g}, {high:g}]",
        lambda relation: Given(mechanism, data, neighbour, f"{data} or {neighbour}"),
        PROMISE,
        relations=("add_remove",),
        stated=True,
        epsilon=float(epsilon),
        delta=float(delta),
        draws=1_500,
    )


ONES = [1.0, 1.0, 1.0]
ATTACKS = [
    of("COUNT(*)", ONES, ONES[1:]),
    of("COUNT(x)", ONES, ONES[1:]),
    of("COUNT(DISTINCT x)", [0.0, 0.0, 1.0], [0.0, 0.0]),
    of("SUM(x)", ONES, ONES[1:]),
    of("SUM(x)", [105.0] * 3, [105.0] * 2, low=95.0, high=105.0),
    of("AVG(x)", [0.0, 0.0, 1.0], [0.0, 0.0]),
    of("VAR(x)", [0.0, 0.0, 1.0], [0.0, 0.0]),
    of("STDDEV(x)", [0.0, 0.0, 1.0], [0.0, 0.0]),
]
