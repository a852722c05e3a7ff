"""The freshness of copies under each revisit policy, compared with the best constant rates. Years
are simulated in minutes.

    python -m bench.freshness --policy all --web all
    python -m bench.freshness --policy optimal --web periodic --budget 300 --days 180 --warm 60
    python -m bench.freshness --histories FILE --budget 60 --days 730   recorded pages
    python -m bench.freshness --web bursty --plot bursty.png            needs the extra bench
    python -m bench.freshness --paper   the experiment of the paper on selective-incremental

Every policy runs through its real modules with the same budget. Due pages beyond the budget wait,
the most overdue first. The row `constant` has the best rates at constant intervals for the *true*
change rates of memoryless changes, within the same budget and delays. `of constant` is the
freshness as a fraction of that row. For recorded histories the true rate is the rate in hindsight.
`expected` is the freshness that the crawl itself estimates. `lost` are visits to pages that the
best rates never visit, since they change too fast. `1d` is the first day, in which pages are
discovered, and `1w` … are the first weeks.
"""

import argparse
import json
from dataclasses import asdict
from math import exp, expm1
from pathlib import Path
from random import Random

from bench.revisiting import Crawl, Result, Tally
from bench.selective import report
from bench.webs import DAY, WEBS, Page, Web, recorded_web
from gossamer.services.frontier.revisit import make_policy

POLICIES = ("fixed", "selective_incremental", "adaptive", "optimal")


def measure(web: Web, names: list[str], options: argparse.Namespace) -> dict[str, Result]:
    """Return the result of each policy, and of the best constant rates."""
    rates = best_rates(web, options.budget)
    lost = {page.url for page, rate in zip(web.pages, rates, strict=True) if page.rate and not rate}
    best = Tally(web, options.warm, lost)
    results = {"constant": constant(web, rates, best, options.seed)}
    for name in names:
        policy = make_policy(_at_equal_budget(name, len(web.pages) / options.budget))
        results[name] = Crawl(web, policy, options.budget).run(Tally(web, options.warm, lost))
    return results


def _at_equal_budget(name: str, days: float) -> str:
    """Return the policy with the interval at which all pages use the whole budget."""
    return name if ":" in name or name in ("none", "optimal") else f"{name}:{days:.4f}d"


def show(title: str, results: dict[str, Result]) -> None:
    """Print a table."""
    heads = f"{'freshness':>10}{'of constant':>12}{'expected':>9}{'age, d':>8}{'expected':>9}"
    weeks = "".join(f"{head:>6}" for head in ("1d", "1w", "2w", "3w", "4w"))
    print(f"{title:24}{heads}{'visits':>8}{'lost':>7} {weeks}")
    best = results["constant"].freshness
    for name, one in results.items():
        share = f"{one.freshness / best:12.3f}"
        believed = f"{one.expected:9.3f}{one.age:8.2f}{one.expected_age:9.2f}"
        weeks = "".join(f"{fresh:6.3f}" for fresh in (one.first_day, *one.weeks[:4]))
        print(
            f"  {name:22}{one.freshness:10.4f}{share}{believed}"
            f"{one.visits:8}{one.lost_visits:7} {weeks}",
            flush=True,
        )


def plot(file: Path, title: str, results: dict[str, Result], warm: float) -> None:
    """Plot freshness by week to *file*, without the first *warm* days."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise SystemExit("--plot needs matplotlib: the extra `bench`") from None
    figure, axes = pyplot.subplots(figsize=(10, 5), layout="constrained")
    for name, one in sorted(results.items(), key=lambda found: -found[1].freshness):
        color, line = ("black", "--") if name == "constant" else (None, "-")
        label = f"{name}  {one.freshness:.3f}"
        weeks = range(1, len(one.weeks) + 1)
        axes.plot(weeks, one.weeks, label=label, color=color, linestyle=line)
    axes.axvspan(1, max(1.0, warm / 7), color="0.93", label=f"warm-up, {warm:g} d", zorder=0)
    axes.set(title=title, xlabel="week", ylabel="freshness, by weight")
    axes.margins(x=0)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", title="after the warm-up", frameon=False)
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def webs_of(options: argparse.Namespace) -> dict[str, Web]:
    """Return the requested webs by name."""
    if options.histories:
        return {options.histories.name.split(".")[0]: recorded_web(options.histories, options.days)}
    names = list(WEBS) if options.web == "all" else options.web.split(",")
    return {name: WEBS[name](options.seed, options.pages, options.days) for name in names}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--policy", default="all", help=f"all, or of {', '.join(POLICIES)}")
    parser.add_argument("--web", default="all", help=f"all, or of {', '.join(WEBS)}")
    parser.add_argument("--histories", type=Path, help="JSON lines instead of a seeded web")
    parser.add_argument("--budget", type=float, default=300.0, help="visits a day")
    parser.add_argument("--pages", type=int, default=1500, help="of a seeded web")
    parser.add_argument("--days", type=float, default=180.0)
    parser.add_argument("--warm", type=float, default=60.0, help="days that do not count")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", type=Path, help="a picture; of several webs, one each")
    parser.add_argument("--paper", action="store_true", help=report.__doc__)
    options = parser.parse_args()
    if options.paper:
        print(*report(options.seed), sep="\n")
        return
    names = list(POLICIES) if options.policy == "all" else options.policy.split(",")
    found: dict[str, object] = {}
    webs = webs_of(options)
    for title, web in webs.items():
        results = measure(web, names, options)
        found[title] = {name: asdict(one) for name, one in results.items()}
        if not options.json:
            show(title, results)
        if options.plot:
            file = options.plot.with_stem(f"{options.plot.stem}-{title}")
            plot(file if len(webs) > 1 else options.plot, title, results, options.warm)
    if options.json:
        print(json.dumps(found))


def best_rates(web: Web, budget: float) -> list[float]:
    """Return the visits a day of each page that are best at constant intervals, for memoryless
    changes at the true rates (Cho and Garcia-Molina 2003), within the budget and the delays."""
    limits = {site: DAY / delay for site, delay in web.delays.items()}
    sites: dict[str, list[int]] = {}
    for number, page in enumerate(web.pages):
        sites.setdefault(page.site, []).append(number)
    multipliers = {
        site: _multiplier(web, numbers, limits[site]) if site in limits else 0.0
        for site, numbers in sites.items()
    }
    low, high = 1e-9, 1e6
    while high > 1.0001 * low:
        price = (low * high) ** 0.5
        visits = sum(_rate(page, max(price, multipliers[page.site])) for page in web.pages)
        low, high = (price, high) if visits > budget else (low, price)
    return [_rate(page, max(high, multipliers[page.site])) for page in web.pages]


def _multiplier(web: Web, numbers: list[int], limit: float) -> float:
    low, high = 1e-9, 1e6
    while high > 1.0001 * low:
        price = (low * high) ** 0.5
        visits = sum(_rate(web.pages[n], price) for n in numbers)
        low, high = (price, high) if visits > limit else (low, price)
    return high


def _rate(page: Page, price: float) -> float:
    """Return the visits a day at which an additional one yields *price* days of freshness."""
    if not page.rate:
        return 0.0
    worth = price * page.rate / page.weight
    if worth >= 1:
        return 0.0
    low, high = 0.0, 60.0
    for _ in range(40):
        x = (low + high) / 2
        low, high = (x, high) if -expm1(-x) - x * exp(-x) < worth else (low, x)
    return page.rate / high


def constant(web: Web, rates: list[float], tally: Tally, seed: int) -> Result:
    """Return the result of visits at constant intervals with random phases."""
    random = Random(seed)
    for page, rate in zip(web.pages, rates, strict=True):
        at, interval = page.first, DAY / rate if rate else web.end
        until = at + random.random() * interval
        while at < web.end:
            tally.add(page, at, until)
            at, until = until, until + interval
    return tally.result()


if __name__ == "__main__":
    main()
