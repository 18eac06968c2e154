r"""One sample path answers everything: w + a Gaussian process, the comparator of PINP, TDDL and TDIL (erratum J12).

Let xi be the centred Gaussian process with E xi(z) xi(v) = K(z, v): in feature space <N(0, I), phi(z)>. The mechanism
answers a query z with

    <w, phi(z)> + sigma xi(z),     sigma = (Delta_w + 2 slack) g(epsilon, delta),

g the analytic Gaussian factor, for any number of queries, chosen adaptively, with sd <= sigma R each. Any finite set of
queries is a Gaussian mechanism of sensitivity at most Delta_w + 2 slack in the norm that K defines, and answers beyond
the rank of K are linear in those before (proof: docs/privacy.md, section 11). Hall, Rinaldo & Wasserman 2013, of whom
jain2013, Section 2, says "only quadratically many queries", have the same noise; the restriction is not needed. Of
jain2013's bounds on PINP (Theorem 3: log T) and TDDL (Theorem 5: T^{1/2}) none is below this one.

Two things make or break it. The path must be kept: fresh noise for a repeated query averages out, and a batch of
independent draws is as many releases. And every query keeps to ||phi(z)|| <= R.

Conditional sampling, of the path plus independent noise of variance kappa sigma^2 R^2 at every new query (`nugget`:
some 1e-5 sigma R, which keeps what follows well conditioned). With z_1 .. z_m so far, L L' = K(Z, Z) + kappa R^2 I,
c = L^{-1} K(Z, z), left = K(z, z) - ||c||^2 and d^2 = left + kappa R^2, the answer to z given those before is

    c'v + d (u + sigma e),     v = L^{-1} (answers),     d u = <w, phi(z)> - c' L^{-1} (exact answers),   e ~ N(0, 1):

a row of L, and an entry of v, for each query that is new. Where left <= kappa R^2 the answer is c'v, *implied* by the
answers before it: a function of them and of public points that never looks at w, and off by no more than
sqrt(kappa) R (||w|| + sigma) or so. So a path is hardly longer than the rank of K. A repeated query gets the answer
that was kept. A journal keeps z and the entry of v of each new query, so that another process goes on with the same
path; L and the exact answers it computes anew.

`release` draws many independent paths at once, at points known beforehand. Neighbouring relation: the setting's,
replace-one by default.

Sources: jain2013, equation (3) and Section 2; erratum J12; Hall, Rinaldo & Wasserman 2013; Balle & Wang 2018.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from dperm.domain import Budget, Guarantee, Mode
from dperm.errors import DataError, DomainViolation
from dperm.kernels import MEMORY, Kernel
from dperm.mechanisms.kernel import definite
from dperm.mechanisms.kernel.constants import Setting, nugget, sigma
from dperm.mechanisms.kernel.tddl import Spectrum, within
from dperm.mechanisms.queries import Fresh, Noise, first_of, keys, read, stacked, written
from dperm.mechanisms.serving import Listener, Serving
from dperm.solvers.blas import one_thread

NAME = "rkhs_gaussian"
CALIBRATIONS = ("tight",)

# Queries at a time.
_BLOCK = 1024


@dataclass(frozen=True)
class Release:
    """Independent paths at the same points: answers (repeats, T), each row of which spends the budget; scale: sigma."""

    answers: np.ndarray
    scale: float
    guarantee: Guarantee
    event: tuple[str, dict[str, float]]


def event(setting: Setting, scale: float) -> tuple[str, dict[str, float]]:
    """Return the event of one path: a Gaussian mechanism, however many queries it answers (scale: its sigma)."""
    return "GaussianDpEvent", {"noise_multiplier": scale / setting.covered}


def release(
    spectrum: Spectrum,
    answers: np.ndarray,
    setting: Setting,
    budget: Budget,
    *,
    rng: np.random.Generator,
    repeats: int = 1,
) -> Release:
    """Release exact answers <w, phi(z_t)>, w within setting.slack of w*, on `repeats` paths, at points known before."""
    within(np.diag(spectrum.K), setting.feature_norm)
    scale = sigma(setting, budget)
    unit = rng.standard_normal((repeats, len(answers)))
    with one_thread():
        # By the symmetric root of K, which no choice of eigenvectors changes where eigenvalues coincide.
        noise = (unit @ spectrum.vectors * spectrum.roots(setting.feature_norm)) @ spectrum.vectors.T
    return Release(answers + scale * noise, scale, "proved", event(setting, scale))


class Path(Listener):
    """One path that is kept: answers adaptive queries, any number of them, for one budget.

    Threads take turns, and so do copies and processes that share a journal; without one, copies and other processes
    are refused (`dperm.mechanisms.serving`).

    - budget: spent as a whole by the first query; delta > 0.
    - rng: with a journal nothing is drawn from it.
    - memory: bytes that L may take: 8 for each pair of directions.
    - exact: rows to <w, phi(z)>, of the same w in every process: needed with a journal.
    - directions: queries so far that were not implied by others: the size of what is kept.
    - known: the answers so far.
    """

    guarantee: Guarantee = "proved"
    mode: Mode = "science"

    def __init__(
        self,
        kernel: Kernel,
        setting: Setting,
        budget: Budget,
        rng: np.random.Generator,
        *,
        memory: float = MEMORY,
        serving: Serving | None = None,
        exact: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        self.scale = sigma(setting, budget)
        self.event = event(setting, self.scale)
        self.serving = Serving() if serving is None else serving
        self._noise = Noise(rng) if self.serving.path is None else Fresh()
        self._kernel, self._setting, self.exactly, self._memory = kernel, setting, exact, memory
        self.forget()
        self.serving.listen(self)

    def forget(self) -> None:
        """Go back to the first query, before all records are read anew."""
        self.directions, self._points, self.known = 0, None, {}
        # Rows of L, L^{-1} (exact answers) and v; grown by doubling.
        self._L, self._exact, self._released = np.zeros((8, 8)), np.zeros(8), np.zeros(8)

    def answer(self, Z: np.ndarray, exact: np.ndarray) -> np.ndarray:
        """Return the released answers to some queries; of a repeated one the first answer.

        - exact: shape (q,); <w, phi(z)> of each, of the same w in every call.
        - Raises DomainViolation: if a query has K(z, z) > R^2, the path would outgrow its memory, or all queries so far
          show that the kernel is not positive semidefinite (`definite`): none of the call is answered then.
        """
        if Z.shape[0] != len(exact):
            raise DataError(f"{Z.shape[0]} queries and {len(exact)} exact answers do not fit; give one for each")
        exact, squares = np.asarray(exact, dtype=np.float64), self._kernel.diagonal(Z)
        if not (np.isfinite(squares).all() and np.isfinite(exact).all()):
            raise DataError("the kernel or an exact answer is NaN or infinite on these queries")
        within(squares, self._setting.feature_norm)
        asked = keys(Z)
        with self.serving.turn(), one_thread():
            new = np.array(first_of(asked, self.known), dtype=int)
            for low in range(0, len(new), _BLOCK):
                rows = new[low : low + _BLOCK]
                self._give(Z[rows], exact[rows], squares[rows], [asked[i] for i in rows])
            return np.array([self.known[key] for key in asked], dtype=np.float64)

    def _give(self, Z, exact, squares, asked):
        """Answer new queries, and keep their answers: on disk first, if there is a journal."""
        kept = self.directions
        try:
            answers, added = self._answer(Z, exact, squares, asked)
            if self.serving.path is not None:
                told = [[key.hex(), value] for key, value in zip(asked, answers.tolist(), strict=True)]
                for i, v in zip(added, self._released[kept : self.directions].tolist(), strict=True):
                    told[i] += [written(Z[[i]]), v]
                self.serving.write(["told", told])
        except BaseException:
            # Nobody has seen what this block added.
            self.directions = kept
            raise
        self.known.update(zip(asked, answers.tolist(), strict=True))

    def replay(self, records: list[list]) -> None:
        """Take in what others answered: the same directions, with the same values on them."""
        told = [answer for kind, *said in records if kind == "told" for answer in said[0]]
        directions = [answer[2:] for answer in told if len(answer) > 2]
        with one_thread():
            for low in range(0, len(directions), _BLOCK):
                rows, v = zip(*directions[low : low + _BLOCK], strict=True)
                Z = read(rows)
                self._answer(Z, self.exactly(Z), self._kernel.diagonal(Z), v=v)
        self.known.update((bytes.fromhex(key), value) for key, value, *_ in told)

    def _answer(self, Z, exact, squares, asked=(), v=None):
        """Return the answers to new queries, and which are directions: all of them where their values v are given."""
        m = self.directions
        q = Z.shape[0]
        need = 8 * (m + q) ** 2
        if need > self._memory:
            raise DomainViolation(
                f"{q} more queries may need {need / 1e6:.3g} MB, and memory={self._memory:.4g} allows "
                f"{self._memory / 1e6:.3g} MB; allow more, or take TDDL or the explicit map, which keep no path"
            )
        among = self._kernel(Z, Z)
        # Columns c of every query, over the directions so far and those that the block itself will add.
        C = np.zeros((m + q, q))
        if m:
            C[:m] = linalg.solve_triangular(self._L[:m, :m], self._kernel(self._points[:m], Z), lower=True)
        left = squares - np.einsum("ij,ij->j", C, C)
        answers, added, start = np.empty(q), [], 0
        while True:
            m = self.directions
            own = nugget(m + 1) * self._setting.feature_norm**2
            if v is None:
                definite.check(left[start:], own, self._kernel)
                fresh = np.flatnonzero(left[start:] > own)
            else:
                fresh = np.zeros(min(1, q - start), dtype=int)
            stop = start + fresh[0] if fresh.size else q
            answers[start:stop] = C[:m, start:stop].T @ self._released[:m]
            if stop == q:
                break
            # Of one that was a direction elsewhere rounding may leave a little less.
            column, d = C[:m, stop], np.sqrt(max(left[stop], own) + own)
            innovation = (exact[stop] - column @ self._exact[:m]) / d
            noise = 0.0 if v is not None else self.scale * self._noise.of(asked[stop]).standard_normal()
            self._add(column, d, innovation, innovation + noise if v is None else v[stop])
            answers[stop] = column @ self._released[:m] + d * self._released[m]
            later = slice(stop + 1, q)
            C[m, later] = (among[stop, later] - column @ C[:m, later]) / d
            left[later] -= C[m, later] ** 2
            added.append(stop)
            start = stop + 1
        if added:
            before = None if self._points is None else self._points[: self.directions - len(added)]
            self._points = stacked(before, Z[added])
        return answers, added

    def _add(self, column, d, innovation, released):
        """Keep one more direction: a row of L, its exact coordinate and its released one."""
        m = self.directions
        if m == len(self._exact):
            size = 2 * max(m, 4)
            grown = np.zeros((size, size))
            grown[:m, :m] = self._L[:m, :m]
            self._L = grown
            more = np.zeros(size - m)
            self._exact, self._released = (np.append(kept[:m], more) for kept in (self._exact, self._released))
        self._L[m, :m], self._L[m, m] = column, d
        self._exact[m] = innovation
        self._released[m] = released
        self.directions = m + 1
