"""Made-up rows for the rules that decide claims."""

import math

import numpy as np
import pandas as pd

from dperm_pipeline import claims

HEAD = {
    "paper": "kifer2012", "experiment": "kifer2012-table1", "mechanism": "objective", "variant": "",
    "calibration": "tight", "neighbours": "replace", "guarantee": "proved", "dataset": "ext", "epsilon": 1.0,
    "delta": 0.0, "repeat": 0, "status": "ok",
}  # fmt: skip


def table(*records):
    return pd.DataFrame([HEAD | record for record in records])


def repeats(metric, values, head=HEAD, **columns):
    """Rows of one point, with the columns of a head that are not given; a repeat whose value is NaN failed."""
    frame = pd.DataFrame({"metric": metric, "value": np.asarray(values, dtype=float), **columns})
    frame["repeat"] = np.arange(len(frame))
    frame = frame.assign(**{name: value for name, value in head.items() if name not in frame})
    return frame.assign(status=np.where(frame["value"].isna(), "failed", "ok"))


def stack(*frames):
    return pd.concat(frames, ignore_index=True)


def claim(**keys):
    variants = keys.pop("variants", {"mended": {}})
    return {"id": "K-c99", "experiment": "kifer2012-table1", "variants": variants, **keys}


def decide(rule, entry, variant, rows, **evidence):
    """The verdict of a rule (its module) on an entry of the catalogue."""
    return claims.decide({**entry, "test": rule.__name__.rpartition(".")[2]}, variant, rows, **evidence)


def say(rule, rows, variant="mended", **keys):
    return decide(rule, claim(**keys), variant, rows)


def violated(k, n, failed=0, **columns):
    return repeats("violated", [1.0] * k + [0.0] * (n - k - failed) + [math.nan] * failed, **columns)


def power_law(exponent, *, axis=(8, 16, 32, 64), n=60, spread=0.3, seed=0, **columns):
    """Lognormal repeats whose mean is exactly x^exponent in expectation."""
    rng = np.random.default_rng(seed)
    noise = rng.lognormal(-(spread**2) / 2, spread, size=(len(axis), n))
    return stack(
        *(repeats("excess_risk", float(x) ** exponent * z, p=x, **columns) for x, z in zip(axis, noise, strict=True))
    )


SLOPE = {"metric": "excess_risk", "axis": "p", "expected": 3.0, "margin": 0.1}
VANISH = {"metric": "risk", "axis": "n"}


def falling(ratio, *, n=60, seed=0, **columns):
    rng = np.random.default_rng(seed)
    return stack(
        repeats("risk", 2.0 * rng.exponential(size=n), n=4, **columns),
        repeats("risk", 2.0 * ratio * rng.exponential(size=n), n=256, **columns),
    )
