"""Figures and tables of kifer2012-bound: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "kifer2012-bound": Target(
        "drawing",
        "bound",
        ("neighbours", "row", "sign", "ridge_multiple"),
        "The noise that our bound saves",
        "Standard deviation of Gaussian noise in objective perturbation by theorem, over epsilon and over delta: as "
        "printed, by other bounds, and by the theorems of docs/privacy.md, under either relation; and the noise that "
        "the worst pair of data sets on the line needs at least.",
        "Two rows of four panels, add/remove above and replace-one below: the noise over epsilon, and the share of it "
        "that is saved against the printed noise and against other bounds, over epsilon and over delta.",
    ),
}
