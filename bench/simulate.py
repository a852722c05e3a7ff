"""Many simulated crawls, each of one seed: do the promises hold, whatever happens?

    python -m bench.simulate --seeds 20000 --cores 2
    python -m bench.simulate --seeds 100 --scenario "torn flushes"
    python -m bench.simulate --seed 4711          one seed again: what was done, what broke
    python -m bench.simulate --seed 4711 --log    with every log line of every process
    python -m bench.simulate --seed 4711 --shrink with as few harms as break the promise

`tests/simulation` says what is simulated; a seed is the same run each time.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, islice
from multiprocessing import get_context

from tests.simulation.run import Result, simulate
from tests.simulation.scenarios import ANYTHING, OTHERS, SCENARIOS, seeds_of
from tests.simulation.shrink import kind_of, shrunk, story

NAMES = [scenario.name for scenario in (ANYTHING, *OTHERS.values(), *SCENARIOS)]


def main() -> int:
    """Run the seeds asked for; return 1 if a promise was broken, 0 otherwise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200, help="how many to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--scenario", choices=NAMES, help="only seeds of this scenario")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, help="run this one, and say what happened")
    parser.add_argument("--log", action="store_true", help="print what the processes log")
    parser.add_argument("--stop", action="store_true", help="stop at the first that fails")
    parser.add_argument("--shrink", action="store_true", help="leave out harms; tell the story")
    options = parser.parse_args()
    if options.seed is not None:
        result = simulate(options.seed, log=print if options.log else None)
        print(story(shrunk(result)) if result.broken and options.shrink else result.report())
        return 1 if result.broken else 0
    seeds = seeds_of(options.scenario, options.first) if options.scenario else count(options.first)
    return run([*islice(seeds, options.seeds)], options.cores, options.stop)


def run(seeds: Sequence[int], cores: int, stop: bool) -> int:
    """Run *seeds* on *cores*; print those that break a promise, and in the end how many did."""
    began, failed, kinds = time.monotonic(), 0, Counter[str]()
    requests = seconds = done = 0.0
    for result in results(seeds, cores):
        done, requests, seconds = done + 1, requests + result.requests, seconds + result.seconds
        if result.broken:
            failed += 1
            kinds.update({kind_of(line) for line in result.broken})
            print(result.report())
            print(f"  again: python -m bench.simulate --seed {result.seed} --shrink", flush=True)
            if stop:
                break
    took = time.monotonic() - began
    print(
        f"{done:.0f} seeds in {took:.0f} s: {requests:.0f} requests in {seconds / 3600:.1f} "
        f"simulated hours; {failed} broke a promise"
    )
    for kind, times in kinds.most_common():
        print(f"  {times:5} {kind}")
    return 1 if failed else 0


def results(seeds: Sequence[int], cores: int) -> Iterator[Result]:
    """Yield how each run went, as they end."""
    if cores == 1:
        yield from map(simulate, seeds)
        return
    with get_context("spawn").Pool(cores, maxtasksperchild=200) as pool:
        yield from pool.imap_unordered(simulate, seeds)


if __name__ == "__main__":
    sys.exit(main())
