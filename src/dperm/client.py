"""What asks a model that `dperm serve` serves: predictions over HTTP, each charged by the server once.

Nothing but the standard library speaks to the network here, and a machine that asks needs no model.
"""

import functools
import http.client
import json
import math
import re
import secrets
import ssl
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from dperm.errors import BudgetExhausted, DataError, ServiceError

_ERRORS = {403: BudgetExhausted, 409: DataError, 413: DataError, 422: DataError}
# What passes by itself. 500 is none of them: a server that gives it has a fault, and says nothing of the charge.
_PASSES = {429, 502, 503, 504}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Client:
    """Predictions of a model that `dperm serve` serves elsewhere.

    The server charges each row that nobody asked before, to this key's share and to the whole budget, and answers a row
    that was asked before with its first answer for free. A call that fails on the way is sent again with the same
    idempotency key, so it is answered once and charged once, whenever the network, the server or a proxy fails.
    Threads may share one object. It follows no redirect, so the key reaches the server that was named alone.
    A pickled object holds the key in plain text.

    Parameters
    ----------
    url : str
        Of the server, such as "https://predictions.example.org". Without TLS (http) only this machine is asked, unless
        `insecure` is True.
    key : str
        An API key, as `dperm keys add` shows it once.
    timeout : float, default=30.0
        Seconds that one attempt may take.
    retries : int, default=5
        How often a call is sent again that met a lost connection, a rate limit, or a ledger that could not be written
        (429, 502, 503, 504); it waits as long as the server says, or 0.1 s and each time twice as long.
    insecure : bool, default=False
        Send key, queries and answers to another machine unencrypted.
    certificates : str, optional
        A PEM file of the authorities to trust, such as a hospital's own. By default those of the system.

    References
    ----------
    dwork2018, Definition 1.1 (users send queries and get answers, and never the model).

    Examples
    --------
    >>> from dperm import Client
    >>> Client("https://predictions.example.org", key="dperm_...")
    Client('https://predictions.example.org')
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 30.0,
        retries: int = 5,
        insecure: bool = False,
        certificates: str | None = None,
    ):
        url = str(url)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ValueError(f"url={url!r}: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or "@" in url:
            raise ValueError(f"url={url!r} must be http(s)://host[:port][/path], without a user, query or fragment")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not insecure:
            raise ValueError(
                f"url={url!r} would send the key unencrypted; take https (docs/service.md), or insecure=True in a "
                "network that nobody else reads"
            )
        if not isinstance(key, str) or not re.fullmatch("[!-~]+", key):
            raise ValueError("key must be an API key, as `dperm keys add` shows it")
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise ValueError(f"retries={retries!r} must be an integer, 0 or above; it counts attempts after the first")
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
            raise ValueError(f"timeout={timeout!r} must be a number above 0; it is seconds for one attempt")
        if certificates is not None and not Path(certificates).is_file():
            raise ValueError(f"certificates={certificates!r} is no file; it holds the certificates to trust, as PEM")
        self.url, self.timeout, self.retries = url.rstrip("/"), timeout, retries
        self._key, self._path = key, parts.path.rstrip("/")
        self._given = {"timeout": timeout, "retries": retries, "insecure": insecure, "certificates": certificates}
        self._host, self._port, self._tls = parts.hostname, port, None
        if parts.scheme == "https":
            self._tls = ssl.create_default_context(cafile=certificates)
        # A connection of each thread, which is kept for the next call.
        self._open = threading.local()

    def __repr__(self):
        return f"Client({self.url!r})"

    def __reduce__(self):
        # Another process, as of joblib, makes one anew, with connections of its own; the key goes along.
        return functools.partial(Client, self.url, self._key, **self._given), ()

    def predict(self, X) -> np.ndarray:
        """Return the answer to each row: labels of a classifier, else real numbers.

        All or nothing: if the budget does not cover all new rows, none is answered or charged.

        Parameters
        ----------
        X : array_like, shape (m, d), DataFrame, or list of dict
            Numbers, or where the model has a `PublicEncoder` a record each, by the names of its columns.

        Returns
        -------
        ndarray, shape (m,)

        Raises
        ------
        BudgetExhausted
            If there are more new rows than this key's share, or the whole budget, has left.
        DataError
            If the server refuses the rows: too many at once, of a wrong width, or unknown columns.
        ServiceError
            If there is no such key, or no answer after all retries.
        """
        return np.asarray(self.predict_details(X)["answers"])

    def predict_details(self, X) -> dict[str, Any]:
        """Return the answers and what they cost.

        Parameters
        ----------
        X : array_like, DataFrame, or list of dict
            As of `predict`.

        Returns
        -------
        dict
            `answers`; `charged`, the number of new rows; `repeated`, of rows that were free; `remaining`, of this key.
        """
        return self._called("POST", "/v1/predict", _body(X), {"Idempotency-Key": secrets.token_hex(16)})

    def budget(self) -> dict[str, Any]:
        """Return what was promised, and what of it is spent.

        Returns
        -------
        dict
            `epsilon`, `delta`, `neighbours`, `each`, `answers`, `answered`, `remaining`, and `yours`: `share`, `used`
            and `remaining` of this key.
        """
        return self._called("GET", "/v1/budget")

    def statement(self) -> dict[str, Any]:
        """Return the privacy card of the model that is served.

        Returns
        -------
        dict
            As `privacy_card(model).to_json()`.
        """
        return self._called("GET", "/v1/statement")

    def schema(self) -> dict[str, Any]:
        """Return what a row has to look like: columns, bounds and classes, all public."""
        return self._called("GET", "/v1/schema")

    def _called(self, verb: str, path: str, body: bytes | None = None, more: Mapping[str, str] | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json", **(more or {})}
        if body is not None:
            headers["Content-Type"] = "application/json"
        for left in range(self.retries, -1, -1):
            wait = 0.1 * 2 ** (self.retries - left)
            try:
                status, answered, content = self._sent(verb, self._path + path, body, headers)
            except ssl.SSLCertVerificationError as error:
                raise ServiceError(
                    f"{self.url} does not prove who it is ({error.reason}); see `certificates`"
                ) from None
            except (OSError, http.client.HTTPException) as error:
                if not left:
                    raise ServiceError(
                        f"{self.url} does not answer ({type(error).__name__}: {error}); what was sent may have been "
                        "charged, and then the same rows are free"
                    ) from error
            else:
                if status == 200:
                    return _parsed(content, self.url)
                if status not in _PASSES or not left:
                    raise _error(status, content, self.url)
                asked = answered.get("Retry-After", "")
                wait = min(float(asked), self.timeout) if asked.isdigit() else wait
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _sent(self, verb, path, body, headers) -> tuple[int, Any, bytes]:
        """Return status, headers and body of one attempt; a connection that failed is not used again."""
        connection = getattr(self._open, "connection", None)
        if connection is None:
            if self._tls is None:
                connection = http.client.HTTPConnection(self._host, self._port, timeout=self.timeout)
            else:
                connection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=self.timeout, context=self._tls
                )
            self._open.connection = connection
        try:
            connection.request(verb, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        except BaseException:
            connection.close()
            self._open.connection = None
            raise


def _body(X) -> bytes:
    """Return the rows of a request."""
    columns = getattr(X, "columns", None)
    if columns is not None:
        records = [dict(zip(map(str, columns), row, strict=True)) for row in X.to_numpy(dtype=object).tolist()]
        return _written({"records": records})
    if isinstance(X, (list, tuple)) and len(X) and all(isinstance(row, Mapping) for row in X):
        return _written({"records": [dict(row) for row in X]})
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("X must be numbers, a DataFrame, or a list of records (dict)") from None
    if rows.ndim != 2:
        raise DataError(f"X has {rows.ndim} dimensions; it must have 2: a row for each query")
    if not np.isfinite(rows).all():
        raise DataError(f"row {int(np.argmin(np.isfinite(rows).all(axis=1)))} of X holds NaN or infinity")
    return _written({"rows": rows.tolist()})


def _written(body: dict[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, default=_number).encode()
    except TypeError as error:
        raise DataError(f"X holds what is no number, word or truth value: {error}") from None
    except ValueError:
        raise DataError("X holds NaN or infinity, which JSON cannot say; leave the record out, or mend it") from None


def _number(value: Any) -> Any:
    """Return NumPy's numbers as JSON has them."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__}")


def _parsed(content: bytes, url: str) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        raise ServiceError(f"{url} answers what is no JSON; is it a server of dperm?") from None


def _error(status: int, content: bytes, url: str) -> Exception:
    """Return dperm's own error for a server's problem (RFC 9457)."""
    try:
        problem = json.loads(content)
        words = str(problem.get("detail") or problem.get("title"))
    except (ValueError, AttributeError):
        words = f"{url} answers with status {status}"
    kind = _ERRORS.get(status)
    return ServiceError(f"{words} (status {status})", status=status) if kind is None else kind(words)
