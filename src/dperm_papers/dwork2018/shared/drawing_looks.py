"""How the methods of dwork2018 are called and drawn."""

import functools

from dperm_pipeline.figures.looks import Look, find

# (mechanism, calibration) -> look. Colours of Okabe & Ito (2008). Colour and marker tell the mechanism; where a figure
# shows two calibrations, its lines tell them.
METHODS = {
    **{
        (mechanism, calibration): Look(f"{name}{words}", colour, marker)
        for mechanism, name, colour, marker in (
            ("soft_majority", "soft majority", "#56B4E9", "P"),
            ("averaged", "averaging", "#E69F00", "D"),
            ("stable_erm", "stable ERM", "#009E73", "^"),
            ("stable_sgd", "stable SGD", "#CC79A7", "v"),
            ("exppw", "ExpPW", "#D55E00", "s"),
        )
        for calibration, words in (("paper", ", as printed"), ("corrected", ", mended"), ("tight", ""))
    },
    ("objective", "tight"): Look("objective, tight", "#0072B2", "o"),
    ("objective", "separate"): Look("objective, without Theorem 4", "#56606B", "x"),
}
look = functools.partial(find, METHODS)
