"""An entry of FIGURES or TABLES: which function draws it, what it reads, and its caption."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """Who draws a figure or table, the scenario's columns it reads, and what stands beside it.

    `caption` is to read, `alt` for those who cannot see the figure. `source`: an experiment's `rows`, or a whole
    ledger, `privacy` or `mutants`. `metrics`: what is read of rows; empty means all, which may be millions.
    `datasets`: what is drawn where it is among the rows, for the words beside the figure; empty means all. `module`: of
    the same folder, or a full name. `words`: the module of these words; `places` fills it in.
    """

    function: str
    columns: tuple[str, ...]
    title: str
    caption: str
    alt: str = ""
    source: str = "rows"
    metrics: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    module: str = "figures"
    words: str = ""
