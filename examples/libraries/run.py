"""Run a library's attacks in its own environment, and print a line of JSON for each promise and relation.

    PYTHONPATH=src .venv-libraries/NAME/bin/python examples/libraries/run.py NAME [WORDS OF A CLAIM]

Of dperm it needs `dperm.audit` alone: NumPy, SciPy and scikit-learn.
"""

import importlib.util
import json
import math
import sys
import time
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

from attack import Attack, Searched  # noqa: E402

from dperm import audit, seeds  # noqa: E402

SEED = 22
CONFIDENCE = 0.95


def page(name: str):
    """Return the module that holds a library's attacks."""
    # A page may be of several files.
    sys.path.insert(0, str(FOLDER / name))
    spec = importlib.util.spec_from_file_location(f"attacks_on_{name}", FOLDER / name / "attacks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(name: str, package: str, attacks: list[Attack]) -> Iterator[dict]:
    """Yield a row for each attack and relation; the pair, if it is searched for, has draws of its own."""
    version = metadata.version(package)
    for attack in attacks:
        for relation in attack.relations:
            began = time.process_time()
            rng = seeds.generator(SEED, "libraries", name, attack.claim, relation)
            searching, certifying = rng.spawn(2)
            pair, events = attack.make(relation), ()
            if isinstance(pair, Searched):
                mechanism = pair.mechanism
                pair = audit.search.pair(
                    mechanism,
                    pair.within,
                    relation,
                    delta=attack.delta,
                    draws=pair.draws,
                    aborts="avoid",
                    rng=searching,
                )
                words = f"searched for: {pair.words}"
            else:
                mechanism, words, events = pair.mechanism, pair.words, pair.events
            found = audit.lower_bound(
                mechanism,
                pair.data,
                pair.neighbour,
                draws=attack.draws,
                delta=attack.delta,
                confidence=CONFIDENCE,
                rng=certifying,
                events=events,
            )
            exact = (attack.exact or {}).get(relation)
            counts = found.counts
            yield {
                "library": name,
                "version": version,
                "claim": attack.claim,
                "relation": relation,
                "stated": attack.stated,
                "promise": attack.promise,
                "epsilon": attack.epsilon,
                "delta": attack.delta,
                "certified": found.epsilon,
                "p_value": found.p_value(attack.epsilon),
                # JSON knows no infinity.
                "exact": "inf" if exact == math.inf else exact,
                "pair": words,
                "event": found.event,
                "likelier": found.likelier,
                "counts": [counts.hits, counts.tries, counts.other_hits, counts.other_tries],
                "draws": attack.draws,
                "because": attack.because,
                "known": attack.known,
                "seconds": round(time.process_time() - began, 1),
            }


def main(name: str, wanted: str = "") -> None:
    """Print the rows of one library, or of those claims that hold these words."""
    warnings.simplefilter("ignore")
    module = page(name)
    chosen = [attack for attack in module.ATTACKS if wanted in attack.claim]
    for row in rows(name, module.PACKAGE, chosen):
        print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
