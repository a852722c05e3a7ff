"""Webs whose changes are known: seeded ones, and recorded histories. For `bench.freshness`.

Times are epoch seconds. A page's `rate` is the true long-run mean of its changes a day.
"""

import gzip
import json
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import Path
from random import Random
from zlib import crc32

from gossamer.web.internal_links import sample_links

DAY = 86400.0
BEGIN = 1_700_006_400.0
"""A Wednesday, midnight UTC."""
FASTEST = 48.0
"""Changes a day; what is faster nobody can follow anyway."""
PAGES_OF_A_SITE = 15


@dataclass
class Page:
    """One page and all its changes."""

    url: str
    site: str
    first: float
    changes: "array[float]"
    rate: float
    weight: float = 1.0


@dataclass
class Web:
    """Pages, and what their sites allow and say."""

    pages: list[Page]
    begin: float
    end: float
    delays: dict[str, float] = field(default_factory=dict)
    """Site → seconds between two visits to it."""
    sitemaps: dict[str, bool] = field(default_factory=dict)
    """Site with a sitemap, read daily → whether its dates are true; if not, they say "now"."""
    lists: dict[str, bool] = field(default_factory=dict)
    """Site whose first page links anew to what has changed → whether that is true; if not, some
    links of it are others at each visit."""


Process = Callable[[Random, float, float], Iterator[float]]
"""The changes of a page, in days from the beginning, for ever; given its mean rate a day, and when
its site's day begins."""


def rates(random: Random) -> float:
    """Return a mean rate with a heavy tail: from years to half an hour, half of them below 1/12."""
    return min(FASTEST, max(1 / 1000, random.lognormvariate(-2.5, 2.0)))


def memoryless(random: Random, rate: float, zone: float) -> Iterator[float]:
    """Yield changes without memory."""
    at = 0.0
    while True:
        at += random.expovariate(rate)
        yield at


def bursty(random: Random, rate: float, zone: float) -> Iterator[float]:
    """Yield changes in bursts of ten, on the average, that are 30 times as dense as the mean."""
    at = random.expovariate(rate / 10)
    while True:
        while random.random() < 0.9:
            at += random.expovariate(30 * rate)
            yield at
        at += random.expovariate(rate / 10)


def periodic(random: Random, rate: float, zone: float) -> Iterator[float]:
    """Yield changes at one period, a fiftieth of it early or late."""
    period = 1 / rate
    phase = random.random() * period
    for n in count():
        yield max(0.0, phase + n * period + random.gauss(0, period / 50))


def office_hours(random: Random, rate: float, zone: float) -> Iterator[float]:
    """Yield changes without memory from 9 to 17 on five days a week of the site's own zone."""
    dense = rate * 168 / 40
    worked = 0.0
    while True:
        worked += random.expovariate(dense)  # In days of office time: three make one of the clock.
        days, rest = divmod(worked * 3, 1)
        weeks, day = divmod(days, 5)
        yield weeks * 7 + day + 9 / 24 + rest / 3 + zone + 5


def drifting(random: Random, rate: float, zone: float) -> Iterator[float]:
    """Yield changes whose rate is drawn anew every sixty days or so: a third, or double…"""
    at = 0.0
    while True:
        until = at + random.expovariate(1 / 60)
        now = rate * random.lognormvariate(-0.72, 1.2)
        while (at := at + random.expovariate(now)) < until:
            yield at
        at = until


def seeded(process: Process, seed: int, pages: int, days: float) -> Web:
    """Return a web of sites whose pages all change by *process*; sites differ in their rates."""
    random = Random(seed)
    end = BEGIN + days * DAY
    made = []
    for n in range(pages):
        site = f"s{n // PAGES_OF_A_SITE}.test"
        mean = rates(random)
        zone = Random(f"{seed} {site}").choice((-8, -5, 0, 1, 8)) / 24
        changes = array("d")
        for at in process(Random(f"{seed} {n}"), mean, zone):
            if (instant := BEGIN + at * DAY) >= end:
                break
            changes.append(instant)
        first = BEGIN + random.random() * DAY
        made.append(Page(f"https://{site}/{n}", site, first, changes, mean))
    return Web(made, BEGIN, end)


def mixed(seed: int, pages: int, days: float) -> Web:
    """Return a web that has pages of every kind, and pages of different weights."""
    webs = [
        seeded(process, seed + n, pages // 5, days)
        for n, process in enumerate((memoryless, bursty, periodic, office_hours, drifting))
    ]
    random, made = Random(seed), []
    for n, web in enumerate(webs):
        for page in web.pages:
            page.site = f"{n}{page.site}"
            page.url = f"{n}{page.url}"
            page.weight = random.choice((1.0, 1.0, 1.0, 3.0, 10.0))
            made.append(page)
    return Web(made, webs[0].begin, webs[0].end)


def polite(seed: int, pages: int, days: float) -> Web:
    """Return a memoryless web where every third site allows few visits."""
    web = seeded(memoryless, seed, pages, days)
    sites = sorted({page.site for page in web.pages})
    web.delays = dict.fromkeys(sites[::3], DAY)
    return web


def lying(seed: int, pages: int, days: float) -> Web:
    """Return a memoryless web where a third of the sites tell of changes, and a third lie."""
    web = seeded(memoryless, seed, pages, days)
    sites = sorted({page.site for page in web.pages})
    web.sitemaps = dict.fromkeys(sites[::3], True) | dict.fromkeys(sites[1::3], False)
    return web


def linking(seed: int, pages: int, days: float) -> Web:
    """Return a memoryless web of sites whose first page, which is worth four others, links anew to
    pages as they change: in a third of the sites; in another third to any three at each visit."""
    web = seeded(memoryless, seed, pages, days)
    sites = sorted({page.site for page in web.pages})
    web.lists = dict.fromkeys(sites[::3], True) | dict.fromkeys(sites[1::3], False)
    for site, others in groupby(web.pages, key=lambda page: page.site):
        first, *rest = others
        first.weight = 4.0
        if web.lists.get(site):
            first.changes = array("d", sorted(at for page in rest for at in page.changes))
            first.rate = sum(page.rate for page in rest)
    return web


def internal_links(web: Web) -> Iterator[tuple[int, ...]]:
    """Yield the sample of its internal links for each page of *web*: the first page of a site links
    to all others, and each other page to the first one and to the next three."""
    for _, group in groupby(web.pages, key=lambda page: page.site):
        urls = [page.url for page in group]
        yield sample_links(urls[1:])
        for n in range(1, len(urls)):
            yield sample_links((urls[0], *urls[n + 1 : n + 4]))


def _all_by(process: Process) -> Callable[[int, int, float], Web]:
    return lambda seed, pages, days: seeded(process, seed, pages, days)


WEBS: dict[str, Callable[[int, int, float], Web]] = {
    "memoryless": _all_by(memoryless),
    "polite": polite,
    "lying": lying,
    "linking": linking,
    "periodic": _all_by(periodic),
    "bursty": _all_by(bursty),
    "office": _all_by(office_hours),
    "drifting": _all_by(drifting),
    "mixed": mixed,
}


def recorded(file: Path, days: float) -> Web:
    """Return the web of a file of histories: the *days* at its end, pages known by then from there.

    A page counts from the second look at it; whatever came before the first day is left out.
    """
    rows = [_row(line) for line in _lines(file)]
    end = max(row["changes"][-1] if row["changes"] else row["first"] for row in rows)
    begin = end - days * DAY
    made = []
    for row in rows:
        first = max(row["first"], begin + DAY * (crc32(row["url"].encode()) / 2**32))
        changes = array("d", (at for at in row["changes"] if at > begin))
        if first < end:
            known = sum(at > first for at in changes) / (end - first) * DAY
            weight = row.get("weight", 1.0)
            made.append(Page(row["url"], row["site"], first, changes, known, weight))
    return Web(made, begin, end)


def _lines(file: Path) -> Iterator[str]:
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        yield from lines


def _row(line: str) -> dict:  # type: ignore[type-arg]
    """Return a history; one of Open Terms Archive as a page of its service."""
    row = json.loads(line)
    if "document" in row:
        site = row["document"].split("/")[0]
        row["url"], row["site"] = f"https://{row['document']}", site
    row["changes"].sort()
    return row  # type: ignore[no-any-return]
