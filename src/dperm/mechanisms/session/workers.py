"""Worker processes of joblib's, which live on for minutes, and know only the sessions of when they were started."""

import sys
import threading

_LOKY = "joblib.externals.loky"


def renew() -> None:
    """Wait for the work of joblib's processes, and end them: the next ones start with the environment of now."""
    # A thread of loky's means that there are some; those of the process that forked this one are not ours to end.
    if any(type(thread).__module__.startswith(_LOKY) for thread in threading.enumerate()):
        sys.modules[_LOKY].get_reusable_executor(reuse=True).shutdown(wait=True)
