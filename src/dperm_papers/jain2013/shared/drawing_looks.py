"""How the methods of jain2013 are called and drawn."""

import functools

from dperm_pipeline.figures.looks import Look, find

# (mechanism, calibration) -> look, and (mechanism, calibration, variant) where a variant is another method. Colours of
# Okabe & Ito (2008). Those of TDDL, PINP and TDIL tell the calibration, the figure tells the algorithm.
METHODS = {
    **{
        (mechanism, calibration): Look(f"{name}{words}", colour, marker)
        for mechanism, name in (("tddl", "TDDL"), ("pinp", "PINP"), ("tdil", "TDIL"))
        for calibration, words, colour, marker in (
            ("paper", ", as printed", "#D55E00", "s"),
            ("corrected", ", corrected", "#E69F00", "D"),
            ("tight", ", tight", "#CC79A7", "v"),
        )
    },
    ("rkhs_gaussian", "tight"): Look("RKHS Gaussian, one path", "#0072B2", "o"),
    ("explicit_output", "tight"): Look("Gaussian output", "#009E73", "^"),
    ("cms11", "paper"): Look("CMS11, Algorithm 2", "#56B4E9", "P"),
    ("objective", "tight"): Look("objective, tight", "#0072B2", "o"),
    ("tddl", "paper", "bare"): Look("bare O(·), constant 1 (not private)", "#8A5F00", "+"),
    ("rkhs_gaussian", "tight", "fresh"): Look("fresh Gaussian noise, composed", "#999999", "x"),
}
look = functools.partial(find, METHODS)
