"""What the parts of kifer2012-bounds hand over: numbers of one statement at one point, by metric."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np


class Measured(NamedTuple):
    """One statement at one point.

    - where: columns of its rows, such as `row` (its place in the paper) and `dataset`; what is not named has the
      default of `dperm_papers.kifer2012.bounds.experiment`.
    - values: from metrics to arrays over repeats, of equal shape (repeats,); what could not be measured is not finite.
    """

    where: Mapping[str, str | float | int]
    values: Mapping[str, np.ndarray]
