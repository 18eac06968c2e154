"""The service over HTTP: what comes in is checked here, and what goes out gets its shape.

No body, status or log line depends on a record but through the answers themselves. What nobody foresaw is a 503 without
words of the error, which might hold values.
"""

import json
import re
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from dperm.errors import CorruptFile, ReleaseError
from dperm.serve import accounts, bodies, page
from dperm.serve.batches import Batches, Full
from dperm.serve.service import MOST_ROWS, NO_KEY, Asked, Service, Told

MOST_BYTES = 4 << 20
_JSON = "application/json"
_PROBLEM = "application/problem+json"
_RETRY = re.compile(r"[\x21-\x7e]{1,200}")
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_BODY = {"requestBody": {"required": True, "content": {_JSON: {"schema": bodies.Rows.model_json_schema()}}}}
# Wrong ones are refused in the turn, as problems.
Key = Annotated[HTTPAuthorizationCredentials | None, Security(HTTPBearer(auto_error=False))]
_ERRORS = {status: {"model": bodies.Problem, "description": words} for status, words in bodies.TITLES.items()}


class Wrong(Exception):
    """A request that is answered by a problem."""

    def __init__(self, status: int, detail: str, **headers: str):
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


def made(service: Service, broken: Callable[[bool], None] = lambda lost: None) -> FastAPI:
    """Return the application.

    - broken: called when the ledger cannot be used: nothing more is answered by this process. It is given whether the
      ledger is lost (deleted, replaced, put back, damaged), so that no other process may go on either.
    """
    # No redirect of a path with one slash too many: it would go wherever the request says that this host is.
    app = FastAPI(title="dperm", summary="Private prediction", docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.service = service
    batches: Batches[Asked, Told] = Batches(service.answer)
    wide = bodies.width(service.classes)

    async def told(asked: Asked) -> Told:
        try:
            found = await batches.ask(asked)
        except Full:
            raise Wrong(503, "too many requests wait; come again", **{"retry-after": "1"}) from None
        except (OSError, ReleaseError, CorruptFile) as error:
            # After a failed write it is closed, and every other request is refused for that.
            lost = not isinstance(error, OSError) and not service.serving.closed
            log("the ledger cannot be used", error)
            broken(lost)
            raise Wrong(503, "the ledger cannot be written: nothing was answered", **{"retry-after": "5"}) from None
        if found.status != 200:
            raise Wrong(found.status, found.detail, **({"retry-after": str(found.wait)} if found.wait else {}))
        return found

    @app.post("/v1/predict", response_model=bodies.Answers, responses=_ERRORS, openapi_extra=_BODY)
    async def predict(request: Request, key: Key) -> Any:
        """Answer a batch of rows: all of them or none. Rows that have an answer get it again for nothing."""
        secret = _secret(key)
        if not accounts.KEY.fullmatch(secret or ""):
            raise Wrong(401, NO_KEY)
        # Before anything is read: nobody without a key keeps the server busy. One that is not known may be new.
        if not service.knows(secret):
            await told(Asked(secret, known=True))
        body = await _read(request)
        retry = request.headers.get("idempotency-key")
        if retry is not None and not _RETRY.fullmatch(retry):
            raise Wrong(422, "Idempotency-Key must be 1 to 200 printable characters without spaces")
        rows = _rows(service, body)
        found = await told(Asked(secret, rows, retry, body))
        charged, repeated, remaining = found.counts
        return _answer(bodies.answers(found.answers, charged, repeated, remaining, wide))

    @app.get("/v1/budget", response_model=bodies.Budget, responses=_ERRORS)
    async def budget(key: Key) -> Any:
        """Say what is left: of the whole, and of one's share."""
        share, used, remaining, answers, answered, left = (await told(Asked(_secret(key)))).counts
        return _json({
            **service.promise,
            "answers": answers, "answered": answered, "remaining": left,
            "yours": {"share": share, "used": used, "remaining": remaining},
        })  # fmt: skip

    @app.get("/", response_class=HTMLResponse)
    async def people() -> Response:
        """Return the page for people."""
        return HTMLResponse(page.HTML, headers=page.HEADERS)

    @app.get("/v1/statement")
    async def statement(format: str = "json") -> Response:
        """Return the privacy card: what is promised, to whom, on what proof."""
        if format not in ("json", "markdown"):
            raise Wrong(422, "format is json or markdown")
        if format == "markdown":
            return Response(str(service.card), media_type="text/markdown; charset=utf-8", headers=_HEADERS)
        return _answer(service.card.to_json().encode())

    @app.get("/v1/schema")
    async def schema() -> Response:
        """Say what a row is: its columns, their bounds, and the labels. All of it is public."""
        return _json(service.schema)

    @app.get("/v1/health")
    async def health() -> Response:
        """Say whether queries can be answered: by looking into the ledger, as a request of nobody does."""
        try:
            await told(Asked(None))
        except Wrong as wrong:
            if wrong.status != 401:
                raise
        return _json({"status": "ok"})

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Return counts for Prometheus, of all workers of this machine."""
        return PlainTextResponse(service.shared.metrics(), media_type="text/plain; version=0.0.4", headers=_HEADERS)

    app.add_exception_handler(Wrong, _wrong)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _refused)
    app.add_middleware(_Guard, service=service)
    return app


class _Guard:
    """Counts every request, and turns what nobody foresaw into a 503 without its words."""

    def __init__(self, app: Any, service: Service):
        self.app, self.service = app, service

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0

        async def noted(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except ClientDisconnect:
            pass
        except Exception as error:
            log("a request failed", error)
            if not status:
                await _problem(503, "this request could not be answered")(scope, receive, noted)
        finally:
            if status:
                self.service.shared.count(scope["path"], status)


async def _read(request: Request) -> bytes:
    """Return the body, up to what is allowed."""
    held = bytearray()
    async for part in request.stream():
        held += part
        if len(held) > MOST_BYTES:
            raise Wrong(413, f"a body has at most {MOST_BYTES >> 20} MB, and {MOST_ROWS} rows")
    return bytes(held)


def _secret(key: HTTPAuthorizationCredentials | None) -> str | None:
    return None if key is None else key.credentials


def _rows(service: Service, body: bytes) -> np.ndarray:
    """Return the rows of a body, as the estimator takes them."""
    try:
        given = bodies.Rows.model_validate_json(body)
    except ValidationError as error:
        # Not the value: only where, and what it should be.
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:100]
        words = f"{place or 'body'}: {first['msg']}" if first["type"] != "json_invalid" else "the body is no JSON"
        raise Wrong(422, words) from None
    if (given.rows is None) == (given.records is None):
        raise Wrong(422, "give either rows or records")
    count = len(given.records if given.rows is None else given.rows)
    if count == 0:
        raise Wrong(422, "give one row at least")
    if count > MOST_ROWS:
        raise Wrong(413, f"{count} rows are too many: {MOST_ROWS} at most")
    try:
        return service.encoded(given.records) if given.rows is None else service.checked(given.rows)
    except ValueError as error:
        raise Wrong(422, str(error)) from None


def _answer(body: bytes) -> Response:
    return Response(body, media_type=_JSON, headers=_HEADERS)


def _json(said: Any) -> Response:
    return _answer(json.dumps(said, allow_nan=False).encode("ascii"))


def _problem(status: int, detail: str, **headers: str) -> Response:
    body = bodies.problem(status, detail)
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(body, status, media_type=_PROBLEM, headers={**_HEADERS, **headers})


async def _wrong(_: Request, error: Any) -> Response:
    return _problem(error.status, error.detail, **error.headers)


async def _refused(_: Request, error: Any) -> Response:
    """Answer for a path or a method that is not there."""
    status = getattr(error, "status_code", 422)
    headers = getattr(error, "headers", None) or {}
    return _problem(status if status in bodies.TITLES else 422, "see /openapi.json", **headers)


def log(what: str, error: BaseException) -> None:
    """Write where an error happened, without its words: they might hold values of records."""
    places = traceback.extract_tb(error.__traceback__)[-3:]
    at = ", ".join(f"{place.name}:{place.lineno}" for place in places)
    print(f"dperm: {what}: {type(error).__name__} at {at}", file=sys.stderr, flush=True)
