"""Many simulated crawls, one a seed, and whether the promises hold in each.

    python -m bench.simulate --seeds 20000 --cores 2
    python -m bench.simulate --seeds 100 --scenario "torn flushes"
    python -m bench.simulate --seed 4711          repeat one seed: its harms and broken promises
    python -m bench.simulate --seed 4711 --log    with every log line of every process
    python -m bench.simulate --seed 4711 --shrink with the fewest harms that break the promise
    python -m bench.simulate --planted            search for the planted faults: seeds, seconds

`tests/simulation` describes the simulation. A seed is always the same run. Promises that are known
to be broken (`tests/simulation/known.py`) are printed with their causes, and are not failures.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, islice
from multiprocessing import get_context

from tests.simulation.known import causes_of, failures_of
from tests.simulation.planted import FAULTS, detect
from tests.simulation.run import Result, simulate
from tests.simulation.scenarios import FIRST_SEED, NAMES, seeds_of
from tests.simulation.shrink import kind_of, shrink_run, story


def main() -> int:
    """Run the requested seeds; return 1 if a promise was broken without a known cause, 0
    otherwise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200, help="number of seeds")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed")
    parser.add_argument("--scenario", choices=NAMES, help="only seeds of this scenario")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, help="run this seed, and print its report")
    parser.add_argument("--log", action="store_true", help="print what the processes log")
    parser.add_argument("--stop", action="store_true", help="stop at the first broken promise")
    parser.add_argument("--shrink", action="store_true", help="omit harms, and print the story")
    parser.add_argument(
        "--planted",
        action="store_true",
        help="search for the planted faults, and print the seeds and seconds of each",
    )
    options = parser.parse_args()
    if options.planted:
        return find_planted()
    if options.seed is not None:
        result = simulate(options.seed, log=print if options.log else None)
        print(story(shrink_run(result)) if result.broken and options.shrink else result.report())
        print_verdict(result)
        return 1 if failures_of(result) else 0
    seeds = seeds_of(options.scenario, options.first) if options.scenario else count(options.first)
    return run([*islice(seeds, options.seeds)], options.cores, options.stop)


def run(seeds: Sequence[int], cores: int, stop: bool) -> int:
    """Run *seeds* on *cores*; print runs that break a promise, and their number."""
    began, failed, kinds, causes = time.monotonic(), 0, Counter[str](), Counter[str]()
    requests = seconds = done = 0.0
    for result in results(seeds, cores):
        done, requests, seconds = done + 1, requests + result.requests, seconds + result.seconds
        causes.update(causes_of(result))
        if failures_of(result):
            failed += 1
            kinds.update({kind_of(line) for line in failures_of(result)})
            print(result.report())
            print_verdict(result)
            print(
                f"  repeat with: python -m bench.simulate --seed {result.seed} --shrink", flush=True
            )
            if stop:
                break
    took = time.monotonic() - began
    print(
        f"{done:.0f} seeds in {took:.0f} s: {requests:.0f} requests in {seconds / 3600:.1f} "
        f"simulated hours; {failed} broke a promise"
    )
    for kind, times in kinds.most_common():
        print(f"  {times:5} {kind}")
    for cause, times in causes.most_common():
        print(f"  {times:5} known: {cause}")
    return 1 if failed else 0


def print_verdict(result: Result) -> None:
    """Print the known causes of what *result* reports, and its failures beyond the report."""
    for cause in causes_of(result):
        print(f"  known: {cause}")
    for line in failures_of(result):
        if line not in result.broken:
            print(f"  ! {line}")


def find_planted() -> int:
    """Search for each planted fault and print the cost; return 1 if one was not found."""
    missed = 0
    for fault in FAULTS:
        began = time.process_time()
        number = detect(fault)
        missed += number is None
        print(
            f"{fault.name}: {number or 'none'} of {fault.seeds} seeds of {fault.scenario!r}, "
            f"{time.process_time() - began:.1f} s",
            flush=True,
        )
    return 1 if missed else 0


def results(seeds: Sequence[int], cores: int) -> Iterator[Result]:
    """Yield the results of runs in the order in which they end."""
    if cores == 1:
        yield from map(simulate, seeds)
        return
    with get_context("spawn").Pool(cores, maxtasksperchild=200) as pool:
        yield from pool.imap_unordered(simulate, seeds)


if __name__ == "__main__":
    sys.exit(main())
