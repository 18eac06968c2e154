"""Figures and tables of kifer2012-output: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

# What kifer2012-output tells its settings apart by.
_SETTINGS = ("candidate", "ridge_multiple", "steps", "clip", "chosen")

FIGURES: Catalogue[str, Target] = {
    "kifer2012-output": Target(
        "drawing",
        "output",
        _SETTINGS,
        "Objective against output perturbation",
        "Excess risk on the private training rows and loss on held-out rows over epsilon, for objective and output "
        "perturbation, CMS11's objective perturbation, approximate minima perturbation and noisy gradient descent, at "
        "equal (epsilon, delta) under add/remove. Each method uses the setting that was chosen for it on a public "
        "split. Bands: 95 % confidence intervals of the mean.",
        "Line plots, one column for each data set, one row for each delta: above excess risk, below test loss, both "
        "falling as epsilon grows; one line for each method, and the non-private test loss as a level. The numbers are "
        "in the table kifer2012-output.",
    ),
    "kifer2012-output-sweep": Target(
        "drawing",
        "output_sweep",
        _SETTINGS,
        "Objective against output perturbation: excess risk of every setting",
        "What the choice of a setting does: excess risk over epsilon for every ridge multiple, and for every number of "
        "steps and clipping norm of gradient descent, that was tried; one row of panels for each method. Rings mark "
        "the setting chosen on the public split. Bands: 95 % confidence intervals of the mean.",
        "Line plots, one column for each data set and one row for each method; one line for each setting and noise; "
        "rings on the settings that were chosen.",
    ),
    "kifer2012-output-sweep-test": Target(
        "drawing",
        "output_sweep_test",
        _SETTINGS,
        "Objective against output perturbation: test loss of every setting",
        "What the choice of a setting does to the loss on test rows, which have no part in it: every ridge multiple, "
        "and every number of steps and clipping norm of gradient descent, that was tried; one row of panels for each "
        "method. Rings mark the setting chosen on the public split. Bands: 95 % confidence intervals of the mean.",
        "Line plots, one column for each data set and one row for each method; one line for each setting and noise; "
        "rings on the settings that were chosen, and the non-private test loss as a level.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-output": Target(
        "drawing",
        "output_table",
        _SETTINGS,
        "Objective against output perturbation",
        "Mean over repeats with its 95 % confidence interval in brackets, each method at the setting chosen on the "
        "public split.",
    ),
}
