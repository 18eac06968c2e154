"""How the methods of kifer2012 are called and drawn."""

import functools

from dperm_pipeline.figures.looks import Look, find

# (mechanism, calibration) -> look. Colours of Okabe & Ito (2008), told apart with any colour vision.
METHODS = {
    ("objective", "tight"): Look("objective, tight", "#0072B2", "o"),
    ("objective", "paper"): Look("objective, Algorithm 1", "#009E73", "s"),
    ("output", "tight"): Look("output", "#D55E00", "^"),
    ("cms11", "paper"): Look("CMS11, Algorithm 2", "#56B4E9", "P"),
    ("approximate_minima", "paper"): Look("approximate minima", "#CC79A7", "v"),
    ("gradient", "tight"): Look("noisy gradient descent", "#E69F00", "D"),
}
look = functools.partial(find, METHODS)
