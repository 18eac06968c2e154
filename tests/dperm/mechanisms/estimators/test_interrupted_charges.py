"""An interrupt (Ctrl-C, a signal's handler) at any line of an answer leaves no more answers than charges."""

import sys
from pathlib import Path

import interactive_models
import pytest
from interactive_models import KERNEL, asked, core, fitted

from dperm import grid
from dperm.errors import BudgetExhausted, ReleaseError

# What counts, draws and keeps.
TRACED = {
    "serving.py", "journal.py", "queries.py", "ledger.py", "consensus.py", "dialogue.py", "interactive.py", "rkhs.py",
    "prediction.py", "soft_majority.py", "averaged.py", "sqlite.py", "rows.py", "base.py",
}  # fmt: skip
ROWS = interactive_models.X[:8]
FEW = 5


def interrupted(at, function):
    """Whether a call is over before the line that is `at`-th of those traced, at which it is interrupted else."""
    lines, before = iter(range(at)), sys.gettrace()

    def trace(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if path.name not in TRACED or "mechanisms" not in path.parts:
            return None
        if event == "line" and next(lines, None) is None:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        return False
    except (OSError, ReleaseError) as error:
        # What was to be kept all the same could not be written after it.
        assert isinstance(error.__context__, KeyboardInterrupt | None) and sys.gettrace() is None
        return False
    finally:
        sys.settrace(before)
    return True


class Talk:
    """A model, and what it has told so far: the answer to each row, and whether it was paid for."""

    def __init__(self, name, **given):
        self.name = name
        self.model = fitted(name, **({} if name in (*KERNEL, "consensus") else {"queries": FEW}), **given)
        self.told = {}

    def ask(self, places):
        if self.name.startswith("pinp"):
            found = self.model.predict_details(ROWS[places])
            said = list(zip(found.values.tolist(), found.updated.tolist(), strict=True))
        else:
            said = [(answer, True) for answer in asked(self.model, ROWS[places]).tolist()]
        for place, one in zip(places, said, strict=True):
            assert self.told.setdefault(place, one) == one

    def ask_all(self):
        """One by one; whether each was answered, or refused for the budget, and not for what an interrupt left."""
        alive = True
        for place in range(len(ROWS)):
            try:
                self.ask([place])
            except BudgetExhausted:
                continue
            except ReleaseError:
                alive = False
        return alive

    def paid(self):
        """How many answers cost something; of consensus the draws are counted instead."""
        return 0 if self.name == "consensus" else sum(paid for _, paid in self.told.values())

    def charged(self):
        if hasattr(self.model, "dialogue_"):
            return self.model.dialogue_.updates
        return self.model.ledger_.answered if hasattr(self.model, "ledger_") else len(ROWS)


QUICK = {
    ("exppw", None),
    ("exppw", "file"),
    ("exppw", "sqlite"),
    ("soft majority", None),
    ("pinp", None),
    ("pinp corrected", None),
}
NAMES = ["soft majority", "averaged", "exppw", "consensus", "pinp", "pinp corrected", "rkhs"]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        pytest.param(name, place, marks=() if (name, place) in QUICK else pytest.mark.slow)
        for name in NAMES
        for place in (None, "file", "sqlite")
    ],
)
def test_wherever_an_interrupt_comes_there_are_as_many_charges_as_answers(name, place, tmp_path, monkeypatch):
    draws, real = [], grid.logistic_bit
    monkeypatch.setattr(grid, "logistic_bit", lambda *given: draws.append(1) or real(*given))
    at, dead, over = 0, 0, False
    while not over:
        path = {None: None, "file": tmp_path / f"{at}", "sqlite": f"sqlite:///{tmp_path}/{at}"}[place]
        one = Talk(name, state=path)
        one.ask([0])
        draws.clear()
        over = interrupted(at, lambda one=one: one.ask([1, 2]))
        alive = one.ask_all()
        dead += not alive
        assert one.paid() <= one.charged() and (len(draws) <= one.charged() or name != "consensus"), at
        assert name in (*KERNEL, "consensus") or len(one.told) <= FEW
        if path is not None:
            core(one.model).close()
            again = Talk(name, state=path)
            # What was told is known there, and so is its charge.
            again.told = dict(one.told)
            if one.told:
                again.ask(sorted(one.told))
            assert again.paid() <= again.charged(), at
        at += 1
    # An interrupt at the end of a turn, or within a write, leaves a model that refuses.
    assert at > 20 and dead < at / 2
