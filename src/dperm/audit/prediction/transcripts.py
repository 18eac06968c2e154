r"""What many answers spend when the next query depends on the answers so far: strategies by dynamic programming.

An adversary who knows the loss L of the transcript so far picks, of the answers there are, the next. It is out to make

    delta(epsilon) = E_P (1 - e^{epsilon - L})_+          as large as it can,      L = log P(transcript)/Q(transcript),

so W_t(L), the most that t more answers make of L, is W_0(L) = (1 - e^{epsilon - L})_+ and

    W_{t+1}(L) = max over answers of  sum_o P(o) W_t(L + l(o)).

The strategy is what attains the maximum. Its law of L under P is then carried forward and makes an exact bound.

`rounds`: a number of bits of one price e whose log-odds move by e, either of two margins each time. The bit that is the
likelier under P spends a_i, the other a_i - e; so L = n_1 a_1 + n_2 a_2 - e z is told by the answers n_i of either
margin and the number z of bits that spend the less: nothing is rounded.

`prices`: a ledger that grants or refuses prices of a whole number of widths, by how many of either of two prices it has
granted: the state is (granted of each, L), and L a multiple of the width.

Neighbouring relation: that of the answers' pair.
"""

from typing import NamedTuple

import numpy as np

from dperm.laws.privacy_loss import PrivacyLoss


class Answer(NamedTuple):
    """The law under P of one answer's loss, in widths, of a price that is a whole number of them."""

    steps: tuple[int, ...]
    chances: tuple[float, ...]


class Bit(NamedTuple):
    """The law of the loss of a bit whose log-odds move by its price.

    With probability `chance` under P it is the bit that is likelier there and spends `most`, else the price less.
    """

    most: float
    chance: float


def bit(law: np.ndarray, other: np.ndarray) -> Bit:
    """Return the loss of a bit with these laws under P and Q."""
    losses = np.log(law / other)
    likelier = int(losses.argmax())
    return Bit(float(losses[likelier]), float(law[likelier]))


def laplace(price: int, width: float) -> Answer:
    """Return the loss of an answer with Laplace noise that moves by `price` widths: above both centres, between, below.

    Between the centres, taken together, nothing is spent; so the law is exact, of a post-processing.
    """
    far = 0.5 * np.exp(-price * width)
    return Answer((price, 0, -price), (0.5, float(0.5 - far), float(far)))


def response(price: int, width: float) -> Answer:
    """Return the loss of randomised response, the most that an answer of this price can spend."""
    likely = 1 / (1 + np.exp(-price * width))
    return Answer((price, -price), (float(likely), float(1 - likely)))


def rounds(first: Bit, second: Bit, count: int, price: float, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the law of the loss of the best strategy, for delta at this epsilon, with `count` bits of either kind.

    Their log-odds move by `price`. Probabilities are under P, and not in order.
    """
    of_first, less = np.mgrid[: count + 1, : count + 1]
    losses = of_first * first.most + (count - of_first) * second.most - price * less
    value, chosen = -np.expm1(np.minimum(epsilon - losses, 0.0)), []
    for given in range(count, 0, -1):
        # After given - 1 answers: one of the first kind, or one of the second.
        kept = value[: given + 1, : given + 1]
        offered = [
            one.chance * kept[move : move + given, :given] + (1 - one.chance) * kept[move : move + given, 1 : given + 1]
            for move, one in ((1, first), (0, second))
        ]
        chosen.append(offered[0] >= offered[1])
        value = np.maximum(*offered)
    masses = np.zeros((count + 1, count + 1))
    masses[0, 0] = 1.0
    for given, takes_first in enumerate(reversed(chosen), 1):
        here = masses[:given, :given]
        following = np.zeros_like(masses)
        for move, one, taken in ((1, first, takes_first), (0, second, ~takes_first)):
            mass = np.where(taken, here, 0.0)
            following[move : move + given, :given] += one.chance * mass
            following[move : move + given, 1 : given + 1] += (1 - one.chance) * mass
        masses = following
    return masses.ravel(), losses.ravel()


def prices(allowed: np.ndarray, offered: tuple[Answer, Answer], epsilon: float, width: float) -> PrivacyLoss:
    """Return the law of the loss of the best strategy, for delta at this epsilon, against a ledger of two prices.

    `allowed[i, j]` says whether i answers of the first price and j of the second may have been given; it is False
    in the last row and column.
    """
    sizes = [max(map(abs, answer.steps)) for answer in offered]
    ends = np.argwhere(allowed)
    most = int((ends @ sizes).max())
    gain = _gain(most, epsilon, width)
    value, chosen = {}, {}
    for i, j in ends[::-1]:
        here = [gain]
        for answer, nxt in zip(offered, ((i + 1, j), (i, j + 1)), strict=True):
            here.append(_expected(value[nxt], answer) if allowed[nxt] else np.full_like(gain, -1.0))
        chosen[i, j] = np.argmax(here, axis=0)
        value[i, j] = np.max(here, axis=0)
    start = np.zeros(2 * most + 1)
    start[most] = 1.0
    masses, done = {(0, 0): start}, np.zeros_like(start)
    for i, j in ends:
        here = masses.pop((i, j), None)
        if here is None:
            continue
        done += np.where(chosen[i, j] == 0, here, 0.0)
        for k, (answer, nxt) in enumerate(zip(offered, ((i + 1, j), (i, j + 1)), strict=True), 1):
            taken = np.where(chosen[i, j] == k, here, 0.0)
            if not taken.any():
                continue
            into = masses.setdefault(nxt, np.zeros_like(start))
            for step, chance in zip(answer.steps, answer.chances, strict=True):
                into += chance * _shifted(taken, step)
    return PrivacyLoss(done, -most, width)


def _gain(most: int, epsilon: float, width: float) -> np.ndarray:
    """Return W_0 at the losses -most .. most."""
    return -np.expm1(np.minimum(epsilon - width * np.arange(-most, most + 1), 0.0))


def _expected(value: np.ndarray, answer: Answer) -> np.ndarray:
    """Return E W(L + l). Beyond the ends, where nothing that starts at 0 comes, the value at the end stands."""
    places = np.arange(len(value))
    return sum(
        chance * value[np.clip(places + step, 0, len(value) - 1)]
        for step, chance in zip(answer.steps, answer.chances, strict=True)
    )


def _shifted(masses: np.ndarray, step: int) -> np.ndarray:
    """Return masses moved by so many places; nothing is moved over an end."""
    return np.roll(masses, step)
