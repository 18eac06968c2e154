"""An entry of FIGURES or TABLES: its caption, which function draws it, and what it reads."""

from dataclasses import dataclass

from dperm.catalogue import Catalogue  # noqa: F401  (what declares a table of targets)


@dataclass(frozen=True)
class Target:
    """What stands beside a figure or table, who draws it, and what it reads.

    `caption` is to read, `alt` for those who cannot see the figure; where a table has the figure's name, `places` adds
    that the numbers are there. `function`: of the folder's `figures.py`, or of the module `module` (of the same folder,
    or a full name); without it the name under which it is drawn, without paper and with underscores, of a table with
    `_table` behind it. `metrics` and `columns`: what is read of rows; empty means all, which may be millions.
    `datasets`: what is drawn where it is among the rows, for the words beside the figure; empty means all. `source`: an
    experiment's `rows`, or a ledger, `privacy` or `mutants`: all of it, or what it says of one `paper`. `words`: the
    module of these words; `places` fills it in.
    """

    title: str
    caption: str
    alt: str = ""
    function: str = ""
    module: str = "figures"
    metrics: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    source: str = "rows"
    paper: str = ""
    words: str = ""
