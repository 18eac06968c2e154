"""How the library calls the methods that the papers' experiments compare, to copy.

Budget, relation and calibration are set. What else an experiment fixed beforehand its comparison says in words, and the
explorer shows these below the call.
"""

ESTIMATORS = {
    "approximate_minima": "ApproximateMinima", "averaged": "AveragedPrediction", "exppw": "ExpPW", "gradient":
    "NoisyGradientDescent", "napp": "NAPP", "objective": "ObjectivePerturbation", "output": "OutputPerturbation",
    "pinp": "PINP", "rkhs_gaussian": "RKHSGaussian", "soft_majority": "SoftMajority", "stable_erm": "StableERM",
    "stable_sgd": "StableSGD", "tddl": "TDDL", "tdil": "TDIL",
}  # fmt: skip
# No estimators: where the function is.
CORES = {"cms11": "dperm.mechanisms.cms11.release", "explicit_output": "dperm.mechanisms.kernel.explicit.release"}
# Readings of a paper that are not private, or noise that nobody should take.
READINGS = {("tddl", "bare"), ("rkhs_gaussian", "fresh")}


def of(mechanism: str, calibration: str, variant: str) -> str:
    """Return a call with `{epsilon}`, `{delta}` and `{neighbours}` to fill in; empty for what nobody should call."""
    if mechanism not in ESTIMATORS or (mechanism, variant) in READINGS:
        return CORES.get(mechanism, "")
    more = ""
    if mechanism == "napp":
        kind, _, moor = variant.partition("-")
        more = f"variant='{kind}', " + ("moor=True, " if moor else "")
    name = ESTIMATORS[mechanism]
    return (
        f"dperm.{name}({more}epsilon={{epsilon}}, delta={{delta}}, neighbours='{{neighbours}}', "
        f"calibration='{calibration}').fit(X, y)"
    )
