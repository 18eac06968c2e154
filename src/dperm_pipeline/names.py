"""Names of the code in words: mechanisms, laws of their noise and constants, as figures and the report show them."""

MECHANISMS = {
    "approximate_minima": "approximate minima",
    "averaged": "averaged predictions",
    "cms11": "CMS11",
    "exp_mech": "support by exponential mechanism",
    "explicit_output": "Gaussian output",
    "exppw": "ExpPW",
    "gradient": "noisy gradient descent",
    "napp": "NAPP",
    "objective": "objective perturbation",
    "output": "output perturbation",
    "pinp": "PINP",
    "preconditioned": "preconditioned gradient descent",
    "rkhs_gaussian": "Gaussian path in the kernel's space",
    "samp_agg": "support by sample and aggregate",
    "sparse": "sparse regression",
    "stable_erm": "stable ERM",
    "stable_gaussian": "stable prediction",
    "stable_sgd": "stable SGD",
    "tddl": "TDDL",
    "tdil": "TDIL",
    "truncated": "NAPP-VS, truncated noise",
    "tuned": "Λ chosen on portions",
}
CONSTANTS = {
    "paper": "as printed",
    "tight": "tight constants",
    "corrected": "corrected constants",
    "separate": "constants without Theorem 4",
}
RELATIONS = {"add_remove": "add/remove", "replace": "replace-one"}
# Of laws (`variant` in the ledger): whole names first, then parts between hyphens and underscores.
LAWS = {
    "bare": "O(·) with constant 1",
    "bias": "a model with bias",
    "bit": "an answer of one bit",
    "cut-far": "cut where it is proved",
    "fresh": "fresh noise for each query",
    "gaussian_hidden": "Gaussian noise hides the solver's error",
    "half-noise": "half of the noise (our control)",
    "halved": "half of the step",
    "laplace_at_k": "Laplace noise, given k blocks",
    "ledger": "all answers of a ledger",
    "ledger-consensus": "a ledger of consensus answers",
    "ledger-prices": "a ledger that prices as it goes",
    "loose-solver": "a solver's minimiser",
    "part-of-an-update": "less than one update",
    "sorted": "equal points sorted",
    "strict": "points below x alone",
    "theorem9": "ε₀ of Theorem 9",
    "upside-down": "the printed scale, upside down",
    "erm-moor-t1": "ERM, with MOOR, 1 iteration",
}
_PARTS = {
    "ball": "in a ball",
    "box": "in a box",
    "called": "as called",
    "clipped": "counts clipped",
    "elastic": "elastic net",
    "erm": "ERM",
    "exponential": "exponential weights",
    "gamma": "Gamma noise",
    "gaussian": "Gaussian noise",
    "hinge": "smoothed hinge",
    "laplace": "Laplace noise",
    "model": "a model released",
    "moor": "with MOOR",
    "objective": "in the objective",
    "orthant": "in an orthant",
    "output": "in the output",
    "recycled": "budget recycled",
    "returned": "budget returned",
    "s2": "two features",
    "scaled": "rows scaled",
    "t400": "400 iterations",
    "t80": "80 iterations",
    "unclipped": "counts not clipped",
    "unscaled": "rows not scaled",
    "vs": "VS",
}
_KEPT = {"exp_mech": "exponential mechanism", "samp_agg": "sample and aggregate", "vs_plus": "VS+"}


def mechanism(name: str) -> str:
    """Return a mechanism's name in words; one that nobody named, without underscores."""
    return MECHANISMS.get(name, name.replace("_", " "))


def law(name: str) -> str:
    """Return the law of a mechanism's noise, or what else sets a guarantee apart, in words."""
    if name in LAWS:
        return LAWS[name]
    if name.startswith("cut-"):
        return f"cut at −{name[4:]} standard deviations"
    if name.startswith("called-"):
        return f"as called: {name[7:].replace('_', ' ')}"
    for start, words in _KEPT.items():
        if name == start or name.startswith((f"{start}_", f"{start}-")):
            rest = name[len(start) + 1 :]
            return f"{words}, {law(rest)}" if rest else words
    return ", ".join(_PARTS.get(part, part) for part in name.replace("-", "_").split("_"))


def constants(name: str) -> str:
    """Return a calibration in words: whose constants."""
    return CONSTANTS.get(name, name)
