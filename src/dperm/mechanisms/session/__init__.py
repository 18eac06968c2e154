"""One budget over all that is done with a data set: what every fit of the library passes, and what stops it.

`PrivacySession` is the user's. `charged` is called around each fit (`estimators.whole`): it looks at who calls
(`callers`), charges the open session before the fit runs (`books`), and holds the statement against the charge.
"""

from dperm.mechanisms.session.open import PrivacySession, charged
from dperm.mechanisms.session.statement import SessionStatement

__all__ = ["PrivacySession", "SessionStatement", "charged"]
