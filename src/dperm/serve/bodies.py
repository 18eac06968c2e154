"""Bodies of requests and answers: read strictly, and written in a shape that depends on the number of rows alone.

An answer's length would tell, through any encryption, which label it is, and how many rows were new. So every answer is
filled up with spaces, which JSON allows at its end: its length is a function of the number of rows and of public words.
"""

import json
import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

# What an answer may hold beside its answers: three counts of at most 20 digits and their names.
_BESIDE = 160
# Of a double: sign, 17 digits, point, exponent.
_NUMBER = 25
_PROBLEM = 768
TITLES = {
    401: "no key, or a wrong one",
    403: "share or budget exhausted",
    404: "no such page",
    405: "not allowed here",
    409: "idempotency key used before",
    413: "too much at once",
    422: "malformed request",
    429: "too many requests",
    503: "cannot answer now",
}
Cell = str | int | float | bool | None


def _checked(record: dict[str, Any]) -> dict[str, Any]:
    for cell in record.values():
        if not isinstance(cell, Cell) or (isinstance(cell, float) and not math.isfinite(cell)):
            raise PydanticCustomError("cell", "a cell is a text, a finite number, true, false or null")
    return record


# Each list and record is refused for the first that is wrong in it: to list a million others takes seconds, and memory.
_Row = Annotated[list[float], Field(fail_fast=True)]
_Record = Annotated[
    dict[str, Any], AfterValidator(_checked), WithJsonSchema(TypeAdapter(dict[str, Cell]).json_schema())
]


class Rows(BaseModel):
    """What `/v1/predict` takes: `rows`, or with an encoder raw `records`."""

    model_config = ConfigDict(
        extra="allow", strict=True, allow_inf_nan=False, json_schema_extra={"additionalProperties": False}
    )
    rows: list[_Row] | None = Field(
        None, fail_fast=True, description="one list of numbers a row, in the order of the columns"
    )
    records: list[_Record] | None = Field(None, fail_fast=True, description="raw records, where the model has a schema")

    @model_validator(mode="after")
    def _known(self) -> "Rows":
        # For the same reason: by itself pydantic would list each name.
        if self.model_extra:
            raise PydanticCustomError("names", "rows or records, and nothing else")
        return self


class Answers(BaseModel):
    """What `/v1/predict` gives."""

    answers: list[str | int | float | bool] = Field(description="one for each row, in their order")
    charged: int = Field(description="rows that were new, and are charged to your share and to the budget")
    repeated: int = Field(description="rows that had an answer, which is given again for nothing")
    remaining: int | None = Field(description="new rows that are left of your share; null: no share of your own")


class Share(BaseModel):
    """What one key may ask."""

    share: int | None = Field(description="new rows in all; null: no share of your own")
    used: int
    remaining: int | None


class Budget(BaseModel):
    """What `/v1/budget` gives: of the counts only those that depend on queries alone."""

    epsilon: float
    delta: float
    neighbours: Literal["add_remove", "replace"]
    each: float | None = Field(description="epsilon of one new row; null: the whole is spent by the first")
    answers: int | None = Field(description="new rows in all; null: no number of them is fixed")
    answered: int | None
    remaining: int | None
    yours: Share


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


def width(classes: list | None) -> int:
    """Return how many characters one answer has at most, as JSON (classes: labels; None: answers are numbers)."""
    return _NUMBER if classes is None else max(len(json.dumps(label)) for label in classes)


def answers(found: list, charged: int, repeated: int, remaining: int | None, wide: int) -> bytes:
    """Return the body of an answer, of a length that depends on the number of rows alone."""
    said: dict[str, Any] = {"answers": found, "charged": charged, "repeated": repeated, "remaining": remaining}
    body = json.dumps(said, separators=(",", ":"), allow_nan=False).encode("ascii")
    return body.ljust(_BESIDE + (wide + 1) * len(found))


def problem(status: int, detail: str) -> bytes:
    """Return the body of an error; all are of one length, for which a long detail is cut."""
    said: dict[str, Any] = {"type": "about:blank", "title": TITLES[status], "status": status, "detail": detail}
    while (over := len(body := json.dumps(said, separators=(",", ":")).encode("ascii")) - _PROBLEM) > 0:
        # A character takes twelve at most.
        said["detail"] = said["detail"][: -(over // 12 + 1)]
    return body.ljust(_PROBLEM)
