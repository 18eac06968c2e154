"""How many records a selection of the support needs: n90, from the probabilities of the right support over n."""

import math

import numpy as np
import pandas as pd

ENOUGH = 0.9
_RESAMPLES = 2000
# Probabilities are kept this far from 0 and 1 where their logit is taken.
_LEAST = 1e-12


def least_size(sizes: np.ndarray, right: np.ndarray) -> float:
    """Return the n at which a probability reaches ENOUGH, its logit linear in log n; -inf at the first, inf at none."""
    enough = np.flatnonzero(right >= ENOUGH)
    if not len(enough):
        return math.inf
    k = int(enough[0])
    if k == 0:
        return -math.inf
    ends = np.clip(right[k - 1 : k + 1], _LEAST, 1 - _LEAST)
    logit = np.log(ends / (1 - ends))
    share = (math.log(ENOUGH / (1 - ENOUGH)) - logit[0]) / (logit[1] - logit[0])
    return float(sizes[k - 1] * (sizes[k] / sizes[k - 1]) ** share)


def needed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each selection, p and s: n90 with its 95 % bootstrap interval over data sets, and the work.

    `place` is "inside" the sizes that were run, "beyond" them or "at most" the first; `end` is that size, `work`
    that of the first size that is enough.
    """
    found = []
    for (support, p, s), group in rows[rows["metric"] == "right"].groupby(["support", "p", "s"], sort=True):
        table = group.pivot(index="repeat", columns="n", values="value")
        sizes, values = table.columns.to_numpy(dtype=float), table.to_numpy()
        n90 = least_size(sizes, np.nanmean(values, axis=0))
        draws = np.random.default_rng(0).integers(len(values), size=(_RESAMPLES, len(values)))
        sample = np.sort([least_size(sizes, means) for means in np.nanmean(values[draws], axis=1)])
        low, high = (sample[round(share * (_RESAMPLES - 1))] for share in (0.025, 0.975))
        inside = math.isfinite(n90)
        at = sizes[-1] if n90 == math.inf else sizes[sizes >= n90][0]
        work = rows[(rows["metric"] == "work") & (rows["support"] == support) & (rows["p"] == p) & (rows["s"] == s)]
        found.append(
            {
                "support": support, "p": p, "s": s, "mean": n90 if inside else math.nan,
                "low": low if inside and math.isfinite(low) else math.nan,
                "high": high if inside and math.isfinite(high) else math.nan,
                "place": "inside" if inside else "beyond" if n90 > 0 else "at most",
                "end": sizes[-1] if n90 > 0 else sizes[0],
                "work": work.loc[work["n"] == at, "value"].mean(),
            }
        )  # fmt: skip
    return pd.DataFrame(found).assign(metric="needed")
