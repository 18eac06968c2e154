"""Everything that can go wrong, named. Each message says what, its value, and the remedy."""

from pathlib import Path


class DpermError(Exception):
    """Base of all errors that dperm raises on purpose; its text is meant for the user, without a traceback."""


class ConfigError(DpermError):
    """A configuration file or `--config` value is not allowed."""


class DataError(DpermError, ValueError):
    """A data set is missing a column, has a value outside its codebook, or the wrong shape."""


class DataUnavailable(DpermError):
    """A data set is not on this machine and could not be fetched."""


class CorruptFile(DpermError):
    """A file exists but is not what it should be: wrong checksum, broken Parquet, unsafe archive.

    Parameters
    ----------
    what : str
        The message.
    made : path, optional
        The file, where a job of the pipeline made it and would make it again: then the message ends with the remedy,
        and the job that meets the file deletes it. Never a file of the user's own.
    """

    def __init__(self, what: str, *, made: str | Path | None = None):
        super().__init__(what)
        self.what, self.made = what, made

    def __str__(self) -> str:
        return self.what if self.made is None else f"{self.what}; delete it and run again"


class Superseded(DpermError):
    """A job lost the right to write its output: a later job for the same file has begun."""


class RunGoingOn(DpermError):
    """Another run at the same scale goes on in this folder."""


class WorkerError(DpermError):
    """The Python of a job lacks a library, or has another dperm than the one that planned the run."""


class InvalidBudget(DpermError, ValueError):
    """A privacy budget that no mechanism can meet (epsilon <= 0, delta >= 1, curvature too small for epsilon, ...)."""


class BudgetExhausted(DpermError):
    """An interactive mechanism was asked for more than its budget answers; nothing was spent by asking."""


class ServiceError(DpermError):
    """A server of predictions did not answer, or refused; `status` is that of HTTP, 0 where there was no answer.

    Parameters
    ----------
    what : str
    status : int, default=0
    """

    def __init__(self, what: str, *, status: int = 0):
        super().__init__(what)
        self.status = status


class SessionError(DpermError, ValueError):
    """What an open PrivacySession does not let happen, because nobody could say afterwards what was spent."""


class DomainViolation(DpermError, ValueError):
    """A record or a parameter lies outside the declared public bounds."""


class ReleaseError(DpermError, ValueError):
    """A release that nobody could vouch for: noise that cannot be made safe, a seed, or a missing library."""


class SolverError(DpermError):
    """A solver did not certify the accuracy that the privacy statement needs."""


class PrivacyLeakWarning(RuntimeWarning):
    """Something that should be public was taken from the private data."""


class SpentAgainWarning(UserWarning):
    """The same object was fitted on the same records again: both fits spend, and only a PrivacySession adds that up."""


class NoGuaranteeWarning(RuntimeWarning):
    """A mechanism was run with printed constants that give no guarantee; results are for science only."""


class VacuousWarning(RuntimeWarning):
    """The constants of a run promise nothing that answering 0 would not: its predictions are noise, or silence."""
