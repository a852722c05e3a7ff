"""Table I of viuva-negra (2.3): the five heuristics for duplicate hosts, on a generated web.

    .venv/bin/python -m bench.duphosts [--hosts N] [--seed N] [--static]

The web has hosts of these kinds: unrelated ones, full mirrors, partial mirrors, aliases with and
without `www.`, parked domains of one owner, hosts with the default page of their server, sites
under construction, and sister shops with equal legal pages. A simulated crawl visits their pages in
random order, and dedup learns from them. Pages of a proven replica are not visited any more, unless
`--static` is given, as for the data set of the paper. Some time later, sites have moved, vanished
or developed: a replica is right if it still has the pages of its original. As in the paper, the
precision does not count pairs of which a host has no address any more, and the coverage is relative
to `dups100`. Two columns are ours: the pages of a replica that are visited before its verdict, and
the share of all pages that a verdict loses, because the original does not have them.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.events import CrawlDefined, Event, HostsCompared, PageParsed, Visit
from gossamer.events.pages import PageKind
from gossamer.services.dedup.rows import HostNameRow, original_of
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.services.parser.simhash import simhash_of
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.text.sketch import make_sketch
from gossamer.web.url import fingerprint, host_key, site_of

SIMHASH_WORDS = 50
PAGE_WORDS = 90
MIN_RIGHT = 0.8
"""Share of the replica's pages that the original still has, from which a verdict is right."""
KINDS = {
    "unrelated": 0.46,
    "mirror": 0.06,
    "mirror with a date": 0.03,
    "partial mirror": 0.05,
    "www alias": 0.12,
    "parked domain": 0.06,
    "default page": 0.08,
    "under construction": 0.06,
    "sister shop": 0.08,
}
"""Kind of hosts → its share of all hosts."""


@dataclass
class Host:
    """A host of the generated web."""

    key: str
    kind: str
    pages: dict[str, str]
    """Path → text, when the host is crawled."""
    later: dict[str, str] = field(default_factory=dict)
    """Path → text, some time later. Empty if the host has no address any more."""


class Result(NamedTuple):
    """A row of the table."""

    heuristic: str
    replicas: int
    """Replicas that were found, without aliases."""
    aliases: int
    invalid: float
    """Share of pairs in which one host later has no address."""
    share: float
    """Replicas that still have an address, as a share of all hosts."""
    precision: float
    """Share of these replicas that still have the pages of their originals."""
    visited: float
    """Mean number of pages of a replica that were visited before its verdict."""
    lost: float
    """Share of all pages that no host has that is still visited."""
    wrong: dict[str, int]
    """Kind of the replica → the number of wrong verdicts."""


class Web:
    """A generated web."""

    def __init__(self, hosts: int, seed: int) -> None:
        self._chance, self.hosts = random.Random(seed), list[Host]()
        self._words = [f"{n:x}w" for n in range(4000)]
        for kind, share in KINDS.items():
            for _ in range(max(1, round(hosts * share / 2))):
                self.hosts += self._pair(kind)

    def _text(self, words: int = PAGE_WORDS) -> str:
        return " ".join(self._chance.choices(self._words, k=words))

    def _site(self, pages: int) -> dict[str, str]:
        return {"/": self._text()} | {f"/{n}": self._text() for n in range(1, pages)}

    def _pair(self, kind: str) -> tuple[Host, Host]:
        """Return two hosts of *kind*."""
        number, chance = len(self.hosts), self._chance
        keys = [f"http://h{number}.test", f"http://h{number + 1}.test"]
        one, other = (self._site(chance.randint(4, 25)) for _ in range(2))
        match kind:
            case "mirror":
                other = dict(one)
            case "mirror with a date":
                one, other = ({**one, "/": f"{one['/']} on day {day}"} for day in (1, 2))
                # Some pages change between the visits to the two hosts.
                changed = chance.sample(sorted(other), k=len(other) // 10)
                other |= {path: self._text() for path in changed if path != "/"}
            case "partial mirror":
                common = chance.sample(sorted(one), k=len(one) // 2)
                other = {
                    **{f"/own{n}": self._text() for n in range(len(one) // 2)},
                    **{path: one[path] for path in common},
                    "/": self._text(),
                }
            case "www alias":
                keys[1] = keys[0].replace("://", "://www.")
                other = dict(one)
                if chance.random() < 0.5:
                    one.pop("/")
                    other.pop("/")
            case "parked domain":
                offer = self._text()
                one = {path: offer for path in one}
                other = {path: offer for path in other}
            case "default page":
                one["/"] = other["/"] = "It works!"
            case "under construction":
                one = {"/": self._text()}
                other = dict(one)
            case "sister shop":
                legal = {f"/legal{n}": self._text() for n in range(5)}
                one, other = one | legal, other | legal
        pair = tuple(Host(key, kind, pages) for key, pages in zip(keys, (one, other), strict=True))
        self._age(kind, *pair)
        return pair[0], pair[1]

    def _age(self, kind: str, one: Host, other: Host) -> None:
        """Give both hosts their pages of later."""
        one.later, other.later = dict(one.pages), dict(other.pages)
        is_transient = kind in ("parked domain", "under construction")
        if self._chance.random() < (0.5 if is_transient else 0.05):
            other.later = self._site(8)
        if self._chance.random() < (0.1 if is_transient else 0.04):
            other.later = {}


def measure(web: Web, heuristic: str, seed: int = 1, is_static: bool = False) -> Result:
    """Return the row of *heuristic*: crawl *web*, and compare the verdicts with the later web."""
    store = SqliteStore(Database(":memory:"))
    settings = DedupSettings(duphost=heuristic)  # type: ignore[arg-type]
    dedup = Dedup(SeenTable(store), store, settings)
    _handle(dedup, CrawlDefined(at=0.0, scope="any()", max_depth=9), 0.0)
    rows, hosts = store.table(HostNameRow), {host.key: host for host in web.hosts}
    visited = Counter[str]()
    found = dict[str, str]()
    for at, (key, path) in enumerate(_visits(web, seed), start=1):
        if key in found and not is_static:
            continue
        page = _parsed(key + path, hosts[key].pages[path], float(at))
        _handle(dedup, page, float(at))
        visited[key] += key not in found
        row = rows.get(site_of(key), key)
        for one in (key, row.counterpart) if row and row.counterpart else (key,):
            original = original_of(rows.get(site_of(one), one), float(at))
            if original:
                found[one] = original
            else:
                found.pop(one, None)
    return _evaluate(web, heuristic, found, visited)


def _visits(web: Web, seed: int) -> list[tuple[str, str]]:
    """Return the hosts and paths of all pages in the order of their visits.

    Hosts are visited at the same time, in pieces. The home page of a host comes first.
    """
    chance, ordered = random.Random(seed), list[tuple[float, str, str]]()
    for host in web.hosts:
        start, at = chance.random() * 40, 0.0
        for path in sorted(host.pages, key=lambda path: (path != "/", chance.random())):
            at += chance.random()
            ordered.append((start + at, host.key, path))
    return [(key, path) for _, key, path in sorted(ordered)]


def _parsed(url: str, text: str, at: float) -> PageParsed:
    return PageParsed(
        at=at,
        site=site_of(url),
        host=host_key(url),
        visit=Visit(id=f"{at}@{url}", url=url, trace=fingerprint(url)),
        fetched_at=at,
        status=200,
        kind=PageKind.DOCUMENT,
        digest=fingerprint(text),
        simhash=simhash_of(text, SIMHASH_WORDS),
        sketch=make_sketch([text]),
    )


def _handle(dedup: Dedup, event: Event, now: float) -> None:
    """Handle *event*, and the comparisons of hosts that it causes."""
    for output in [*dedup.handle(event, now)]:
        if isinstance(output, HostsCompared):
            _handle(dedup, output, now)
    dedup.settle()


def _evaluate(web: Web, heuristic: str, found: dict[str, str], visited: Counter[str]) -> Result:
    hosts = {host.key: host for host in web.hosts}
    aliases = {key for key in found if hosts[key].kind == "www alias"}
    pairs = [(hosts[key], hosts[found[key]]) for key in found if key not in aliases]
    valid = [pair for pair in pairs if all(host.later for host in pair)]
    wrong = Counter(replica.kind for replica, original in valid if not _is_right(replica, original))
    lost = sum(
        1
        for key, original in found.items()
        for path, text in hosts[key].pages.items()
        if hosts[original].pages.get(path) != text and path != "/"
    )
    return Result(
        heuristic,
        len(pairs),
        len(aliases),
        1 - len(valid) / len(pairs) if pairs else 0.0,
        len(valid) / len(hosts),
        1 - wrong.total() / len(valid) if valid else 1.0,
        sum(visited[replica.key] for replica, _ in pairs) / len(pairs) if pairs else 0.0,
        lost / sum(len(host.pages) for host in web.hosts),
        dict(wrong),
    )


def _is_right(replica: Host, original: Host) -> bool:
    pages = [(path, text) for path, text in replica.later.items() if path != "/"]
    pages = pages or [*replica.later.items()]
    same = sum(original.later.get(path) == text for path, text in pages)
    return same >= MIN_RIGHT * len(pages)


HEURISTIC_NAMES = {
    "same_home": "SameHome",
    "same_home_and_1_doc": "SameHomeAnd1Doc",
    "dups60": "Dups60",
    "dups80": "Dups80",
    "dups100": "Dups100",
}
"""Value of `dedup.duphost` → the name in the paper."""


def table(results: list[Result]) -> Iterator[str]:
    """Yield the lines of the table."""
    baseline = next(one.replicas for one in results if one.heuristic == "dups100") or 1
    yield (
        f"{'heuristic':16} {'invalid':>8} {'duphosts':>9} {'precision':>10} {'coverage':>9} "
        f"{'visited':>8} {'lost':>7} {'aliases':>8}  wrong"
    )
    for one in results:
        wrong = ", ".join(f"{kind} {count}" for kind, count in sorted(one.wrong.items()))
        yield (
            f"{HEURISTIC_NAMES[one.heuristic]:16} {one.invalid:8.1%} {one.share:9.1%} "
            f"{one.precision:10.0%} {one.replicas / baseline:9.2f} {one.visited:8.1f} "
            f"{one.lost:7.2%} {one.aliases:8}  {wrong}"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--static", action="store_true", help="visit pages of replicas, too")
    arguments = parser.parse_args()
    web = Web(arguments.hosts, arguments.seed)
    results = [measure(web, name, arguments.seed, arguments.static) for name in HEURISTIC_NAMES]
    print(f"{len(web.hosts)} hosts, {sum(len(host.pages) for host in web.hosts)} pages")
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
