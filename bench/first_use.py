"""What the first fit of a fresh machine waits for: seconds to import and to fit, with no compiled code and with it.

Each estimator in two new processes that share a new cache of compiled code, on 60 records. Processor time of the
process; the goals are of an idle machine, where it is the wall's. `import` is of the first process.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings

import numpy as np

import dperm

SECONDS, IMPORT, MEGABYTES = 5.0, 1.0, 120.0
LABELS = {"classes": ("no", "yes")}
# Of each estimator that compiles something: whether its targets are labels, and what it cannot do without.
FITS = {
    "ExpMechSupport": (False, {"size": 2, "y_bound": 1.0}),
    "ExpPW": (True, LABELS),
    "NAPP": (True, LABELS),
    "ObjectivePerturbation": (True, LABELS),
    "PINP": (True, {**LABELS, "radius": 2.0}),
    "RKHSGaussian": (True, LABELS),
    "SampAggSupport": (False, {"penalty": 0.3, "blocks": 7}),
    "SparseRegression": (False, {"y_bound": 1.0, "epsilon": 0.5}),
    "StableSGD": (True, {**LABELS, "radius": 0.1}),
    "TDDL": (True, {**LABELS, "n_public": 9}),
    "TDIL": (True, LABELS),
}


def used() -> tuple[float, float]:
    """Return this process's processor seconds and its peak in MB."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime, now.ru_maxrss / 1024


def fit(name: str) -> dict[str, float]:
    """Return what importing and fitting cost, in this process."""
    labels, given = FITS[name]
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (60, 3))
    y = np.where(X[:, 0] > 0, "yes", "no") if labels else X[:, 0]
    before, _ = used()
    estimator = getattr(dperm, name)(**given, random_state=0)
    imported, megabytes = used()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, y)
        if labels and not hasattr(estimator, "coef_"):
            estimator.predict(X[:2])
    return {"import": imported - before, "MB": megabytes, "fit": used()[0] - imported}


def measure(name: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return the same of two new processes, the second one with what the first one compiled."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.first_use", name]
        environment = {**os.environ, "DPERM_NUMBA_CACHE": folder}
        runs = [subprocess.run(command, env=environment, check=True, capture_output=True, text=True) for _ in range(2)]
    return json.loads(runs[0].stdout), json.loads(runs[1].stdout)


def report() -> None:
    """Print the table."""
    print("\nFirst use, CPU seconds of a new process: to import; to fit with no compiled code, and with it\n")
    print(f"{'estimator':<24}{'import':>8}{'MB':>7}{'first fit':>11}{'second':>9}  goal {SECONDS:g} s")
    for name in FITS:
        cold, warm = measure(name)
        said = "met" if cold["fit"] <= SECONDS else "MISSED"
        print(f"{name:<24}{cold['import']:>8.2f}{cold['MB']:>7.0f}{cold['fit']:>11.2f}{warm['fit']:>9.2f}  {said}")
    print(f"\nGoals of importing: {IMPORT:g} s, {MEGABYTES:g} MB.")


if __name__ == "__main__":
    print(json.dumps(fit(sys.argv[1])))
