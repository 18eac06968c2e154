"""The privacy card: one page that goes with a model and says what it promises, to whom, on what proof."""

import json
import math
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import numpy as np

from dperm.accounting.adaptive import of_group
from dperm.domain import PrivacyStatement
from dperm.errors import SessionError
from dperm.mechanisms.session import callers
from dperm.mechanisms.session.open import PrivacySession

_PACKAGES = ("dperm", "numpy", "scipy", "scikit-learn", "dp-accounting")
_GUARANTEES = {
    "proved": "a proof covers exactly the released value",
    "proved_exact": "a proof covers the exact minimiser, and the released value is within a certified error of it",
    "claimed": "the word of the paper or of the user, without a proof of ours",
    "none": "no guarantee",
}
_AUDIT = (
    "attacked as a user calls it, in the privacy ledger: docs/audit.md, Attacks on the estimators as users call them"
)
# Of those that the ledger does not attack.
_AUDITS = {"PerPerson": "not in the ledger; its exact law for persons is held by a test"}
_PLAIN = (bool, int, float, str, type(None))
# Whoever knows a seed knows the noise; where a ledger stands is nobody's business.
_NOT_SHOWN = ("random_state", "state")


@dataclass(frozen=True)
class PrivacyCard:
    """What a model's card says; `str` of it is a page in Markdown.

    Parameters
    ----------
    model : str
    parameters : dict
        Those that are numbers, words or tuples of them; of others their type. Never a seed, nor where a ledger stands.
    promise, guarantee, source, covers, errors, noise, audit : str
    beside : str
        Which steps of its Pipeline learn from the records without privacy: no promise covers what they learn.
    reason : str
        Why there is no guarantee; empty otherwise.
    relation, unit : str
    epsilon, delta : float
        For one record; of `PerPerson` for one person.
    unit_epsilon, unit_delta : float
        For the unit, by group privacy.
    session : str
        What was released beside it and promises together with it; empty without a session.
    versions : dict
    """

    model: str
    parameters: dict[str, Any]
    promise: str
    epsilon: float
    delta: float
    relation: str
    unit: str
    unit_epsilon: float
    unit_delta: float
    guarantee: str
    reason: str
    source: str
    covers: str
    errors: str
    beside: str
    noise: str
    audit: str
    session: str
    versions: dict[str, str]

    def to_json(self) -> str:
        """Return the card for machines."""
        return json.dumps(asdict(self), sort_keys=True, indent=1)

    def __str__(self):
        lines = [
            ("Promise", self.promise),
            ("Unit", f"{self.unit}: epsilon {self.unit_epsilon:g}, delta {self.unit_delta:g}"),
            ("Guarantee", self.guarantee + (f", because {self.reason}" if self.reason else "")),
            ("Proof", self.source),
            ("Covers", self.covers),
            ("Errors", self.errors),
            ("Steps beside it", self.beside),
            ("Noise", self.noise),
            ("Audit", self.audit),
            ("Parameters", ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())),
            ("Versions", ", ".join(f"{name} {version}" for name, version in self.versions.items())),
        ]
        table = [f"| {name} | {words.replace('|', '/')} |" for name, words in lines]
        page = [f"# Privacy card: {self.model}", "", "| | |", "|---|---|", *table]
        if self.session:
            page += ["", "## Together with what else was released", "", self.session]
        return "\n".join([*page, ""])


def privacy_card(model: Any, session: PrivacySession | None = None) -> PrivacyCard:
    """Return the privacy card of a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted; a Pipeline's last step stands for it.
    session : PrivacySession, optional
        In which it was fitted: then the card says what all releases promise together, and for whom.

    Raises
    ------
    SessionError
        If the model has no statement, or the session charged no such fit.

    References
    ----------
    Those of the model: dwork2018, jain2013, kifer2012 or li2021, and docs/privacy.md.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import OutputPerturbation, privacy_card
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 500)
    >>> y = np.array([1, 1, 0, 0] * 500)
    >>> card = privacy_card(OutputPerturbation(epsilon=2.0, classes=(0, 1)).fit(X, y))
    >>> card.epsilon, card.unit, card.relation
    (2.0, 'a record', 'add_remove')
    """
    own = model
    # A descent has a number of steps; a Pipeline's last step may be one again.
    while isinstance(getattr(own, "steps", None), list):
        own = own.steps[-1][1]
    told = getattr(own, "privacy_", None)
    if not isinstance(told, PrivacyStatement):
        raise SessionError(f"{type(model).__name__} has no privacy statement: it is not fitted, or not private")
    if session is not None and not session.has(own):
        raise SessionError(
            f"this session charged no {type(own).__name__} at epsilon={told.epsilon:g}, delta={told.delta:g}: the "
            "model was fitted elsewhere; ask for its card without the session, or with the one in which it was fitted"
        )
    rows = 1 if session is None else session.rows_per_person
    unit = "a record" if rows == 1 else f"a person with at most {rows} rows"
    unit_epsilon, unit_delta = of_group(told.epsilon, told.delta, rows)
    if told.unit != "record":
        # The statement itself speaks of persons, with any number of rows.
        unit, unit_epsilon, unit_delta = f"a {told.unit}", told.epsilon, told.delta
    science = "for science only: floating-point noise, or a generator that is not cryptographic"
    noise = {"release": "integers from the operating system's randomness"}.get(told.mode, science)
    return PrivacyCard(
        model=type(own).__name__,
        parameters={
            name: _shown(value) for name, value in sorted(own.get_params(deep=False).items()) if name not in _NOT_SHOWN
        },
        promise=str(told),
        epsilon=told.epsilon,
        delta=told.delta,
        relation=told.neighbours,
        unit=unit,
        unit_epsilon=unit_epsilon,
        unit_delta=unit_delta,
        guarantee=f"{told.guarantee}: {_GUARANTEES[told.guarantee]}",
        reason=told.reason,
        source=told.source,
        covers=", ".join(told.covers),
        errors="no record makes fit raise or warn" if told.total else "errors of fit are for the curator's eyes",
        beside=_beside(model, own),
        noise=f"{noise}; from a seed, which tells it" if told.seeded else noise,
        audit=_audit(own),
        session="" if session is None else str(session.statement()),
        versions={"Python": platform.python_version(), **{name: metadata.version(name) for name in _PACKAGES}},
    )


def _beside(model: Any, own: Any) -> str:
    if model is own:
        return "none given: what was done to the records before is not known"
    found = list(callers.learning("", model))
    if not found:
        return "none of the Pipeline learns from the records"
    return (
        f"not private: {', '.join(found)}; what they learned from the records is in the model, and no promise covers it"
    )


def _audit(model: Any) -> str:
    """Say whether the model's class was attacked: a user's subclass may do to records whatever it likes before."""
    kind = type(model)
    if kind.__module__.startswith("dperm."):
        return _AUDITS.get(kind.__name__, _AUDIT)
    ours = next(base.__name__ for base in kind.__mro__ if base.__module__.startswith("dperm."))
    return f"not attacked: {kind.__name__} is a class of its own over {ours}, and the proof is of {ours} alone"


def _shown(value: Any) -> Any:
    """Return a parameter that is public by its kind; of an array or an object, which may hold rows, its type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list) and all(isinstance(one, (*_PLAIN, np.generic)) for one in value):
        return [_shown(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, _PLAIN) else f"<{type(value).__name__}>"
