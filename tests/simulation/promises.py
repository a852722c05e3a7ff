"""The promises that must hold after every run, checked from outside.

Politeness is checked on the servers' records, the other promises on the log, the store and the
disks.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from math import inf
from pathlib import Path
from typing import Any

from gossamer.bounds import REPLICA_PREFIX
from gossamer.captures import parse_time
from gossamer.events import Outcome
from gossamer.events.hazards import Hazard
from gossamer.events.topics import PAGES, TOPICS
from gossamer.log import partition_of
from gossamer.log.codec import public_key, split_key
from gossamer.log.control import ControlRow
from gossamer.procedures.tables import TABLES
from gossamer.services.archive.reading import RecordReader
from gossamer.services.dedup.content import DigestRow
from gossamer.services.frontier.partition.parked import PARKING_RULES, SITE_RULES
from gossamer.services.frontier.partition.workbench import Schedule, Workbench
from gossamer.services.frontier.tables.hosts import HostRow, ListedHost, RobotsRow
from gossamer.services.frontier.tables.plans import DueRow
from gossamer.web.url import host_key, host_name, site_of
from tests.simulation.broker import Broker
from tests.simulation.crawls import Crawl, Key
from tests.simulation.kernel import START
from tests.simulation.nodes import Nodes
from tests.simulation.web import CRAWL_DELAY, CROWD, SLOWER, Request, Sites

JITTER = 0.001
"""Seconds of tolerance."""
MAX_UNUSED_ORDERS = 20
"""Consecutive orders without a request that are too many. Each refused order doubles the host's
wait."""
ORDER_INTERVAL = 10.0
"""Mean seconds between such orders that are too few; after a lease there are more."""
MAX_UNFAIRNESS = 0.1
"""The largest difference of two crawls' visits by weight, as a share of them."""
AT_SITE = "at its site"
"""Stands for the rules whose URLs are parked at their site."""
LIMITS = {
    str(Hazard.OUT_OF_SCOPE): "scope",
    str(Hazard.TRAP_DEPTH): "depth",
    str(Hazard.BLACKLISTED): "block",
}
"""A rule that excludes URLs only for a time → its name in reports."""
MAX_BEFORE = 30
"""Orders for the site with many hosts that a host of another site may wait for."""
MAX_SILENCE = 80.0
"""Seconds after the restart of a killed fetcher within which its hosts are ordered again: 20 s, and
the courtesy delay of a strained server, which may be a minute."""
GRACE = 5.0
"""Seconds in which a frontier reads records of the log."""
Fenced = dict[tuple[str, str], float]
"""Host and order → time of an order that fetchers refuse."""


@dataclass
class Story:
    """The events of the topics that the promises are about, with their true times."""

    orders: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    outcomes: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    fetched: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    result: set[str] = field(default_factory=set)
    archived: list[dict[str, Any]] = field(default_factory=list)
    admitted: dict[Key, dict[str, Any]] = field(default_factory=dict)
    admitted_at: dict[Key, float] = field(default_factory=dict)
    """Crawl and URL → time of its last admission."""
    priorities: dict[str, int] = field(default_factory=dict)
    """URL → its priority at its last admission."""
    admissions: Counter[str] = field(default_factory=Counter)
    """Host → its URLs in all records of `urls.admitted`, and in all requests of operators, which
    may name URLs that nothing links to."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """Crawl → records of verdicts."""
    letters: list[dict[str, Any]] = field(default_factory=list)
    published: dict[Key, float] = field(default_factory=dict)
    """Crawl and URL → time of the fetch of its newest document."""
    went_back: list[str] = field(default_factory=list)

    def admitted_since(self, time: float) -> set[str]:
        """Return the URLs that were admitted after *time*."""
        return {url for (_, url), at in self.admitted_at.items() if at > time}

    def copy(self) -> "Story":
        """Return a copy of the story."""
        return Story(**{name: copy(value) for name, value in vars(self).items()})

    def restore(self, earlier: "Story") -> None:
        """Remove the events since *earlier*, except published documents."""
        published = self.published
        vars(self).update(vars(earlier.copy()))
        self.published = published

    def listen(self, broker: Broker) -> None:
        """Record events that are appended from now on."""

        def handle(topic: str, partition: int, value: bytes | None) -> None:
            name = HANDLERS.get("pages" if is_of_documents(topic) else topic)
            if name and value:
                getattr(self, name)(broker.sim.now, json.loads(value))

        broker.on_append.append(handle)

    def order(self, now: float, event: dict[str, Any]) -> None:
        self.orders.append((now, event))

    def outcome(self, now: float, event: dict[str, Any]) -> None:
        self.outcomes.append((now, event))
        if event["event"] == "fetch_requested":
            self.admissions[event["host"]] += len(event["urls"])

    def page(self, now: float, event: dict[str, Any]) -> None:
        if event["event"] != "page_fetched":
            return
        event.pop("body", None)
        self.fetched.append((now, event))

    def verdict(self, now: float, event: dict[str, Any]) -> None:
        if event["event"] == "page_deduplicated":
            self.result.add(event["visit"]["id"])
            self.verdicts[event["crawl"]] += 1

    def capture(self, now: float, event: dict[str, Any]) -> None:
        self.archived.append(event)

    def admission(self, now: float, event: dict[str, Any]) -> None:
        if event["event"] == "urls_admitted":
            keys = [(event["crawl"], found["url"]) for found in event["urls"]]
            self.admitted.update((key, event) for key in keys)
            self.admitted_at.update((key, now) for key in keys)
            self.priorities.update((found["url"], found["priority"]) for found in event["urls"])
            self.admissions.update(host_key(url) for _, url in keys)

    def document(self, now: float, event: dict[str, Any]) -> None:
        key, at = (event["crawl"], event["url"]), event["fetched_at"]
        if at < (newest := self.published.get(key, 0.0)):
            self.went_back.append(f"{event['url']} on `pages` goes back by {newest - at:.1f} s")
        self.published[key] = max(at, newest)

    def letter(self, now: float, event: dict[str, Any]) -> None:
        self.letters.append(event)


HANDLERS = {
    "visits.ordered": "order",
    "visits.ended": "outcome",
    "pages.fetched": "page",
    "pages.deduplicated": "verdict",
    "pages.archived": "capture",
    "urls.admitted": "admission",
    "pages": "document",
    "dead.letters": "letter",
}


ABOUT = {row.table: row.about for row in TABLES if row not in (DueRow, ListedHost)}
"""Table → the columns that name what a row is about. The buckets of the other two are dropped
later."""


def _is_later_robots(row: dict[str, Any], erased_at: float) -> bool:
    """Return whether *row* is a capture of a robots.txt that was requested after the erasure of its
    host, for URLs that were admitted later or on behalf of another host."""
    is_robots = str(row.get("url", "")).endswith("/robots.txt")
    return is_robots and float(row.get("fetched_at") or 0.0) > erased_at


def check_erased(
    story: Story, nodes: Nodes, broker: Broker, hosts: dict[str, float]
) -> Iterator[str]:
    """Yield each row and document of an erased host, except of URLs that were admitted later.

    A host whose robots.txt was requested later, because the robots.txt of another host redirects to
    it, may be in `hosts` and `robots` again.
    """
    for host in hosts:
        since = story.admitted_since(hosts[host])
        is_requested = any(
            at > hosts[host] - GRACE
            for at, event in story.outcomes
            if event["event"] == "robots_requested" and host_key(event["url"]) == host
        )
        excused = {HostRow.table, RobotsRow.table} if is_requested else set()
        for table, columns in ABOUT.items():
            if table in excused:
                continue
            rows = [row for rows in nodes.all_named(table).values() for row in rows]
            # Visits on behalf of another host belong to that host.
            rows = [row for row in rows if not row.get("on_behalf_of")]
            rows = [row for row in rows if not _is_later_robots(row, hosts[host])]
            for name in (str(row[column]) for row in rows for column in columns):
                again = name in since or any(name == host_key(url) for url in since)
                if (name == host or name.startswith(f"{host}/")) and not again:
                    yield f"{name} was erased and is in {table}"
        for (_, url), value in find_newest_documents(broker).items():
            if value and url.startswith(f"{host}/") and url not in since:
                yield f"{url} was erased and is on `pages`"


def check_erased_bytes(story: Story, folder: Path, hosts: Mapping[str, float]) -> Iterator[str]:
    """Yield each record about an erased host in the WARC files, except of visits after the erasure
    to URLs that were admitted later, and to robots.txt."""
    for path in sorted(folder.rglob("*.warc.gz*")) if hosts else ():
        for record in RecordReader([path.read_bytes()]):
            host = host_key(record.url) if "://" in record.url else ""
            if host not in hosts:
                continue
            is_wanted = record.url in story.admitted_since(hosts[host])
            is_later = (parse_time(record.date) or 0.0) > hosts[host] - GRACE
            if not (is_later and (is_wanted or record.url.endswith("/robots.txt"))):
                yield f"{record.url} was erased and its {record.kind} is in {path.name}"


def check_removed(nodes: Nodes, broker: Broker, removed: Mapping[str, float]) -> Iterator[str]:
    """Yield each row of a *removed* crawl, each of its documents whose last value on `pages` is not
    a tombstone, and each that was published on any topic after the removal. The operator deletes a
    topic of its own."""
    if not removed:
        return
    for table in nodes.columns:
        if table == ControlRow.table:
            continue
        for row in (row for rows in nodes.all_named(table).values() for row in rows):
            # A text that was stored a moment before its erasure by a process whose clock is behind
            # survives: nodes stamp conditional writes.
            at_once = (
                table == DigestRow.table and row["at"] > removed.get(row["crawl"], inf) - GRACE
            )
            if row.get("crawl") in removed and not at_once:
                yield f"{row['crawl']} was removed and has a row in {table}: {row}"
    for (crawl, url), value in find_newest_documents(broker, {PAGES.name}).items():
        if value and crawl in removed:
            yield f"{crawl} was removed and {url} is published"
    for at in (at for at in broker.logs if is_of_documents(at[0])):
        times = broker.appended_at[at]
        for (name, value), when in zip(broker.logs[at], times, strict=True):
            crawl, url = split_key((name or b"").decode())
            if value and when > removed.get(crawl, inf) + 2 * GRACE:
                yield f"{crawl} was removed and {url} was published later on {at[0]}"


def check_delays(sites: Sites) -> Iterator[str]:
    """Yield each breach of politeness at a host name, by any fetcher."""
    by_name: dict[str, list[Request]] = defaultdict(list)
    for request in sites.requests:
        by_name[host_name(request.host)].append(request)
    for host, requests in by_name.items():
        requests.sort(key=lambda request: request.start)
        for one, other in pairwise(requests):
            gap = other.start - one.end
            if gap < -JITTER:
                yield f"two requests at once to {host}: {_both(one, other)}"
            elif gap < sites.delay - JITTER:
                yield f"only {gap:.3f} s between two requests to {host}: {_both(one, other)}"


def check_robots(sites: Sites, story: Story, robots_age: float, skew: float) -> Iterator[str]:
    """Yield each request for a page that the robots.txt of its host has disallowed for so long that
    the rules before it may no longer be used.

    While the file cannot be read, the last rules stay in force.
    """
    usable = _usable_for(story, robots_age, skew)
    for request in sites.requests:
        if not sites.forbids(request.url):
            continue
        site = sites.sites[request.host]
        since = site.forbidden_since
        until = since + usable if since else 0.0
        if request.start > until and (site.always_answers or not since):
            yield f"{request.url} is forbidden by robots.txt, since {max(0.0, since - START):.0f}"


def check_consent(sites: Sites, story: Story, robots_age: float, skew: float) -> Iterator[str]:
    """Yield each page with statements about its use that the robots.txt of its host did not make
    when the page was fetched."""
    usable = _usable_for(story, robots_age, skew)
    for _, page in story.fetched:
        url, at = page["visit"]["url"], page["started_at"]
        site, is_reserved = sites.sites[page["host"]], bool(page.get("usage_statements"))
        since = site.reserved_since or inf
        if is_reserved and at < since - skew:
            yield f"{url} was fetched at {at - START:.0f}, and reserved by a later robots.txt"
        is_page = page["status"] == 200 and page["visit"].get("purpose", "page") == "page"
        if is_page and site.always_answers and not is_reserved and at > since + usable:
            yield f"{url} was fetched at {at - START:.0f} without the reservation in robots.txt"


def _usable_for(story: Story, robots_age: float, skew: float) -> float:
    """Return the seconds for which the rules of a robots.txt may be used after it has changed: the
    age of rules, and a lease, because an order has the rules that were valid when it was made."""
    lease = max((order["expires_at"] - order["at"] for _, order in story.orders), default=0.0)
    return robots_age + lease + skew + GRACE


def check_crawl_delays(sites: Sites) -> Iterator[str]:
    """Yield each two requests for pages of a host with less than its Crawl-delay in between, after
    its robots.txt was read."""
    for host, site in sites.sites.items():
        if site.robots is not SLOWER:
            continue
        of_host = sorted((one for one in sites.requests if one.host == host), key=_start)
        read = (one.end for one in of_host if _is_robots(one) and one.status == 200)
        since = next(read, inf)
        pages = [one for one in of_host if one.start > since and not _is_robots(one)]
        for one, other in pairwise(pages):
            if other.start - one.end < CRAWL_DELAY - JITTER:
                yield f"less than the Crawl-delay between two requests: {_both(one, other)}"


def _is_robots(request: Request) -> bool:
    return request.url.endswith("/robots.txt")


def _start(request: Request) -> float:
    return request.start


def check_crowd(story: Story) -> Iterator[str]:
    """Yield each host that waited for the hosts of the site with many of them.

    Hosts of seeds with a higher priority precede it, and it waits for visits to its own site, for
    example those of a fetcher that was killed.
    """
    first = dict[str, float]()
    for at, order in story.orders:
        first.setdefault(order["host"], at)
    admitted, rank = dict[str, float](), dict[str, int]()
    for (_, url), at in story.admitted_at.items():
        host, priority = host_key(url), story.priorities[url]
        admitted[host] = min(at, admitted.get(host, inf))
        rank[host] = min(priority, rank.get(host, priority))
    crowd = [(at, order["host"]) for at, order in story.orders if order["site"] == CROWD]
    ended = [(at, site_of(f"{one['host']}/")) for at, one in story.outcomes if "host" in one]
    for key, admitted_at in admitted.items():
        site, until = site_of(f"{key}/"), first.get(key, inf)
        since = max([admitted_at, *(at for at, of in ended if of == site and at < until)])
        before = sum(since < at < until and rank[of] >= rank[key] for at, of in crowd)
        if site != CROWD and before > MAX_BEFORE:
            yield f"{key} waited for {before} orders of {CROWD}"


def check_site_gap(sites: Sites, gap: float) -> Iterator[str]:
    """Yield each request of one fetcher to a site within the gap after its previous one."""
    last: dict[tuple[str, int], Request] = {}
    for request in sorted(sites.requests, key=lambda request: request.sent_at):
        key = site_of(request.url), id(request.by)
        if (before := last.get(key)) and request.sent_at - before.sent_at < gap - JITTER:
            after = request.sent_at - before.sent_at
            yield f"only {after:.3f} s between two requests to a site: {_both(before, request)}"
        last[key] = request


def check_site_concurrency(sites: Sites, at_once: int) -> Iterator[str]:
    """Yield each request that exceeds *at_once* concurrent requests to its site."""
    under_way: dict[str, list[Request]] = defaultdict(list)
    for request in sorted(sites.requests, key=lambda request: request.start):
        site = site_of(request.url)
        under_way[site] = [one for one in under_way[site] if one.end > request.start + JITTER]
        under_way[site].append(request)
        if len(under_way[site]) > at_once:
            yield f"{len(under_way[site])} requests at once to {site}: {request.url}"


def check_address_concurrency(sites: Sites, at_once: int, visit_limit: float) -> Iterator[str]:
    """Yield each request that exceeds *at_once* concurrent requests to its address, or the slots
    that its fetcher has leased.

    A request lasts at most *visit_limit* seconds: the connection of a frozen fetcher may stay open
    for longer.
    """
    under_way: dict[str, list[Request]] = defaultdict(list)
    for request in sorted(sites.requests, key=lambda request: request.start):
        address, now = sites.address_of(request.host), request.start + JITTER
        under_way[address] = [
            one for one in under_way[address] if min(one.end, one.start + visit_limit) > now
        ]
        under_way[address].append(request)
        # Requests may arrive in another order than they were sent.
        leased = [one.leased_slots for one in under_way[address] if one.by is request.by]
        if len(under_way[address]) > at_once or len(leased) > max(leased):
            yield f"{len(under_way[address])} requests at once to {address}: {request.url}"


def _both(one: Request, other: Request) -> str:
    return f"{one.url} by {one.process}, {other.url} by {other.process}"


def check_retry_after(story: Story, skew: float, fenced: Fenced) -> Iterator[str]:
    """Yield each order within a Retry-After, unless the frontier could not know of it yet."""
    orders = _valid_orders(story, fenced)
    for ended_at, ended in story.outcomes:
        is_answer = ended["event"] == "visit_ended" and ended["outcome"] != Outcome.UNVISITED
        if is_answer and (wait := ended.get("retry_after", 0.0)):
            until = ended_at + wait - GRACE - skew
            for ordered_at, order in orders:
                if order["host"] == ended["host"] and ended_at + GRACE < ordered_at < until:
                    early = until - ordered_at
                    yield f"Retry-After of {ended['host']} broken: ordered {early:.0f} s early"


def check_complete(
    story: Story,
    nodes: Nodes,
    sites: Sites,
    crawls: Mapping[str, Crawl],
    hosts: Container[str] = (),
    removed: Container[str] = (),
) -> Iterator[str]:
    """Yield the lost URLs and pages of each crawl, except those of erased *hosts* and of *removed*
    crawls.

    Only some of the URLs that robots.txt or the scope exclude have a row of their own.
    """
    rows = [row for found in nodes.all_named("urls").values() for row in found]
    outcomes = {(row["crawl"], row["url"]) for row in rows}
    for crawl, url in story.admitted:
        if (
            crawl in removed
            or host_key(url) in hosts
            or sites.forbids(url)
            or not crawls[crawl].includes(url)
        ):
            continue
        if (crawl, url) not in outcomes:
            yield f"{url} was admitted and has no outcome in {crawl}"
    # A page may be fetched twice; each copy has a verdict of its own.
    poison = " ".join(str(letter) for letter in story.letters)
    result = story.result
    captured = {(one["crawl"], one["url"]) for one in story.archived}
    with_page = {page["visit"]["id"] for _, page in story.fetched}
    for _, ended in story.outcomes:
        is_page = ended["event"] == "visit_ended" and ended["outcome"] == "page"
        if is_page and ended["visit"]["id"] not in with_page:
            yield f"the visit of {ended['visit']['url']} ended, and its page is lost"
    for _, page in story.fetched:
        visit = page["visit"]
        if visit.get("purpose", "page") != "page" or host_key(visit["url"]) in hosts:
            continue
        if page["crawl"] in removed:
            continue
        if (
            visit["id"] not in result
            and page["status"] in (200, 304)
            and visit["url"] not in poison
        ):
            yield f"{visit['url']} was fetched and has no verdict"
        if (page["crawl"], visit["url"]) not in captured:
            yield f"{visit['url']} was fetched and was not archived"


def check_parked(nodes: Nodes) -> Iterator[str]:
    """Yield each admitted URL that is nowhere: its row says that a rule has parked it, and it is
    not parked by that rule.

    With `check_complete`, each admitted URL is visited, refused with a row, parked under the rule
    in its row, or erased.
    """
    kept = {
        (row["crawl"], found["url"], _rule_of_bucket(row["bucket"]))
        for rows in nodes.all_named("parked").values()
        for row in rows
        for found in json.loads(row["urls"])
    }
    rows = [row for found in nodes.all_named("urls").values() for row in found]
    for row in rows:
        outcome = row["outcome"]
        rule = AT_SITE if outcome in SITE_RULES else outcome
        rule = Hazard.DUPHOST if outcome == Hazard.SESSION_ID else rule
        # The rows of a known page are of its visits: it is not parked.
        is_parked = outcome in PARKING_RULES and not row["earlier"]
        if is_parked and (row["crawl"], row["url"], rule) not in kept:
            yield f"{row['url']} was parked by {outcome} and is lost"


def _rule_of_bucket(bucket: str) -> str:
    """Return the rule that parks the URLs in a bucket: `AT_SITE`, or the hazard of a limit."""
    name = bucket.partition("/")[0]
    if bucket.startswith(REPLICA_PREFIX):
        return Hazard.DUPHOST
    if name in (Hazard.TRAP_DEPTH, Hazard.OUT_OF_SCOPE):
        return name
    # The bucket of a part has the name of its site before the part. Rules have no spaces.
    return AT_SITE if " " in bucket else Hazard.BLACKLISTED


def check_archived(story: Story, folder: Path, hosts: Mapping[str, float]) -> Iterator[str]:
    """Yield each published capture that is not at its place in the archive, except those of *hosts*
    before their erasure, which fillers replace."""
    sizes: dict[str, bytes] = {}
    for one in story.archived:
        file = one["file"]
        if file not in sizes:
            path = folder / file
            path = path if path.exists() else path.with_name(path.name + ".open")
            sizes[file] = path.read_bytes() if path.exists() else b""
        if one["fetched_at"] < hosts.get(host_key(one["url"]), -inf) + GRACE:
            continue
        if sizes[file][one["offset"] : one["offset"] + 2] != b"\x1f\x8b":
            yield f"the capture of {one['url']} is not in {file}"


def check_versions(
    story: Story, broker: Broker, hosts: Container[str] = (), removed: Container[str] = ()
) -> Iterator[str]:
    """Yield each page whose last fetched version is neither published nor superseded by a
    tombstone, except those of erased *hosts* and of *removed* crawls.

    A version is an entity tag of the server. An earlier version is superseded by the last one.
    """
    fetched: dict[Key, dict[float, str]] = defaultdict(dict)
    poison = " ".join(str(letter) for letter in story.letters)
    for _, page in story.fetched:
        visit = page["visit"]
        if page["status"] == 200 and visit.get("purpose", "page") == "page":
            tag = dict(page["headers"]).get("ETag", "")
            fetched[page["crawl"], visit["url"]][page["started_at"]] = tag
    documents = find_newest_documents(broker)
    for (crawl, url), versions in fetched.items():
        if crawl in removed or host_key(url) in hosts or url in poison:
            continue
        document = documents.get((crawl, url), b"")
        at = json.loads(document)["fetched_at"] if document else -inf
        if document is not None and at < story.published.get((crawl, url), -inf):
            # The log lost what was published. Dedup publishes the next change.
            continue
        if document == b"":
            yield f"{url} was fetched and never published in {crawl}"
        elif document:
            last = max(versions)
            # A document whose date was corrected has an unknown version.
            if at < last and versions.get(at, versions[last]) != versions[last]:
                yield f"{url} was fetched at {last - START:.0f} and its version is not on `pages`"


def is_of_documents(topic: str) -> bool:
    """Return whether *topic* has the documents of all crawls, or of one."""
    return topic == "pages" or topic not in TOPICS


def find_newest_documents(
    broker: Broker, topics: Container[str] | None = None
) -> dict[Key, bytes | None]:
    """Return the last value of each document on *topics*, by default on all topics of documents.
    None is a tombstone."""
    return {
        split_key((key or b"").decode()): value
        for (topic, _), records in broker.logs.items()
        if (topic in topics if topics is not None else is_of_documents(topic))
        for key, value in records
    }


def check_crawl_of_page(broker: Broker, crawls: Mapping[str, Crawl]) -> Iterator[str]:
    """Yield each public record whose key, header and value disagree about its crawl or URL, on the
    topic of another crawl, or of a URL that is out of the scope of its crawl."""
    for at, logged in broker.logs.items():
        topic, is_document = at[0], is_of_documents(at[0])
        if not is_document and topic != "pages.archived":
            continue
        for (key, value), headers in zip(logged, broker.headers[at], strict=True):
            event = json.loads(value) if value else {}
            found = (key or b"").decode()
            crawl, url = split_key(found)
            if event and found != public_key(event["crawl"], event["url"]):
                yield f"the key {found} on {topic} is of {event['crawl']}, {event['url']}"
            if (header := dict(headers).get("crawl", b"").decode()) != crawl:
                yield f"{found} on {topic} has the header crawl: {header}"
            if is_document and topic != crawls[crawl].topic:
                yield f"{found} is on {topic}"
            # A removal also erases the robots.txt of hosts that another crawl has visited.
            if is_document and value and not crawls[crawl].includes(url):
                yield f"{found} is published, and out of the scope of {crawl}"


def check_shares(
    story: Story,
    crawls: Mapping[str, Crawl],
    batch: int,
    pauses: Iterable[tuple[float, float]] = (),
) -> Iterator[str]:
    """Yield each host whose visits do not follow the weights of two crawls while both waited: those
    of one, divided by its weight, differ from those of the other by more than a tenth and by more
    than one order of each, of *batch* URLs. Before, between and after *pauses* they are compared
    separately."""
    hosts: dict[str, list[tuple[float, dict[str, Any]]]] = defaultdict(list)
    for at, order in story.orders:
        hosts[order["host"]].append((at, order))
    for host, orders in hosts.items():
        waits = {crawl: _times_with_queue(story, crawl, orders) for crawl in crawls}
        for pair in combinations(crawls.values(), 2):
            one, other = (waits[crawl.id] for crawl in pair)
            both = max(one[0], other[0]), min(one[1], other[1])
            for times in _without(pauses, *both):
                if unfair := _unfairness(orders, times, pair, batch):
                    yield f"the visits of {host} did not follow the weights of crawls: {unfair}"


def _without(
    pauses: Iterable[tuple[float, float]], begin: float, end: float
) -> Iterator[tuple[float, float]]:
    """Yield the times between *begin* and *end* without *pauses*."""
    for start, stop in sorted(pauses):
        if start < end and stop > begin:
            yield begin, start
            begin = stop
    yield begin, end


def _unfairness(
    orders: list[tuple[float, dict[str, Any]]],
    times: tuple[float, float],
    crawls: tuple[Crawl, Crawl],
    batch: int,
) -> str:
    """Return the visits by weight that were ordered in *times*, "" if they are as promised."""
    used = dict.fromkeys((crawl.id for crawl in crawls), 0.0)
    weights = {crawl.id: crawl.weight for crawl in crawls}
    for at, order in orders:
        if times[0] < at <= times[1] and (crawl := order["crawl"]) in used:
            requests = sum(not visit.get("shared") for visit in order["visits"])
            used[crawl] += requests / weights[crawl]
    most = sum(batch / weight for weight in weights.values())
    if max(used.values()) - min(used.values()) <= max(most, MAX_UNFAIRNESS * max(used.values())):
        return ""
    return " and ".join(f"{visits:.1f} of {crawl}" for crawl, visits in used.items())


def _times_with_queue(
    story: Story, crawl: str, orders: list[tuple[float, dict[str, Any]]]
) -> tuple[float, float]:
    """Return the times between which *crawl* certainly had queued URLs at the host of *orders*:
    from its first order, when the frontier had read its first URLs, until the last of these was
    ordered."""
    ordered_at: dict[str, float] = {}
    for at, order in orders:
        if order["crawl"] == crawl:
            ordered_at = {visit["url"]: at for visit in order["visits"]} | ordered_at
    admitted_at = {
        url: story.admitted_at[crawl, url]
        for url in ordered_at
        if (crawl, url) in story.admitted_at
    }
    if not admitted_at:
        return inf, 0.0
    begin = max(min(ordered_at.values()), min(admitted_at.values()) + 2 * GRACE)
    waited = [ordered_at[url] for url, at in admitted_at.items() if at <= begin - GRACE]
    return begin, max(waited)


def check_shared(story: Story, share_for: float, removed: Container[str] = ()) -> Iterator[str]:
    """Yield each order that requests a page although another crawl had captured it within
    *share_for* seconds, and each that shares a capture which is too old or was not made.

    A capture counts from its outcome on, if that came before the end of the lease. Retries and
    revisits may need a newer one. The captures of *removed* crawls are dropped.
    """
    ends = {(one["host"], one["order"]): one["expires_at"] for _, one in story.orders}
    kept: dict[str, list[tuple[float, dict[str, Any]]]] = defaultdict(list)
    for at, outcome in story.outcomes:
        if outcome.get("kept") and at < ends.get((outcome["host"], outcome["order"]), 0.0):
            kept[outcome["visit"]["url"]].append((at, outcome))
    for at, order in story.orders:
        for visit in order["visits"]:
            oldest, url = order["at"] - share_for, visit["url"]
            others = [
                (known_at, one["started_at"])
                for known_at, one in kept[url]
                if one["crawl"] != order["crawl"] and one["started_at"] >= oldest
            ]
            shared = visit.get("shared")
            if shared and shared["at"] not in [started_at for _, started_at in others]:
                yield f"{order['crawl']} shares a capture of {url} that was not made in time"
            is_first = not (visit.get("earlier") or visit.get("attempt"))
            lasting = any(
                known_at < at
                for known_at, one in kept[url]
                if one["crawl"] != order["crawl"]
                and one["crawl"] not in removed
                and one["started_at"] >= oldest
            )
            if not shared and is_first and lasting:
                yield f"{order['crawl']} requests {url}, which another crawl has just captured"


def check_scopes(
    outcomes: Mapping[Key, dict[str, Any]], crawls: Mapping[str, Crawl]
) -> Iterator[str]:
    """Yield each URL that an earlier scope, depth or block excluded, and the last definition of its
    crawl includes. All blocks are lifted at the end."""
    for (crawl, url), row in outcomes.items():
        if row["outcome"] in LIMITS and not row["earlier"] and crawls[crawl].includes(url):
            yield f"{url} is still excluded by an earlier {LIMITS[row['outcome']]} of {crawl}"


def check_fetched(story: Story, fetched: Iterable[tuple[float, Key]]) -> Iterator[str]:
    """Yield each URL that an operator requested and that was not visited since."""
    last: dict[Key, float] = {}
    for at, ended in story.outcomes:
        if ended["event"] == "visit_ended" and ended["outcome"] != Outcome.UNVISITED:
            last[ended["crawl"], ended["visit"]["url"]] = at
    for at, (crawl, url) in fetched:
        if last.get((crawl, url), 0.0) < at:
            yield f"{url} was requested at {at - START:.0f} and was not visited since"


def count_requested_again(story: Story, fetched: Iterable[tuple[float, Key]]) -> Counter[str]:
    """Return how often each URL was requested by an operator, if it was visited before: only then
    the request is a visit of its own."""
    again = {
        visit["url"]
        for _, order in story.orders
        for visit in order["visits"]
        if visit.get("earlier")
    }
    return Counter(url for _, (_, url) in fetched if url in again)


def check_fruitless_orders(story: Story, sites: Sites) -> Iterator[str]:
    """Yield each host that was ordered again and again without a request."""
    said = [(at, order["host"], 1) for at, order in story.orders]
    said += [(request.start, request.host, 0) for request in sites.requests]
    unanswered: dict[str, list[float]] = defaultdict(list)
    for at, host, ordered in sorted(said):
        if not ordered:
            unanswered[host].clear()
            continue
        times = unanswered[host]
        times.append(at)
        if (
            len(times) == MAX_UNUSED_ORDERS
            and at - times.pop(0) < ORDER_INTERVAL * MAX_UNUSED_ORDERS
        ):
            yield f"{host} was ordered {MAX_UNUSED_ORDERS} times in a row until {at:.0f}, unused"


def check_one_partition(story: Story, skew: float, fenced: Fenced) -> Iterator[str]:
    """Yield each site with running orders in two partitions at once."""
    first_ends: dict[str, tuple[float, tuple[str, str]]] = {}
    """Visit → time of its first outcome, since a producer may repeat an outcome, and its order."""
    for at, ended in story.outcomes:
        if ended.get("started_at"):
            key = ended["order"], ended["host"]
            first_ends.setdefault(ended["visit"]["id"], (at, key))
    ends = {key: at for at, key in sorted(first_ends.values())}
    by_site: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for at, order in _valid_orders(story, fenced):
        # A host may have another order after its lease.
        end = min(ends.get((order["order"], order["host"]), at), order["expires_at"] - skew)
        by_site[order["site"]].append((at, end, order.get("sent_to", -1)))
    for site, orders in by_site.items():
        for at, end, sent_to in orders:
            if any(at < begin < end and other != sent_to for begin, _, other in orders):
                yield f"{site} had orders at two partitions at once"


def check_answered(story: Story) -> Iterator[str]:
    """Yield each order without a last outcome. Order ids are unique in a partition only."""
    ended = {(one["host"], one["order"]) for _, one in story.outcomes if one.get("last")}
    for _, order in story.orders:
        if (order["host"], order["order"]) not in ended:
            yield f"an order of {order['host']} was never answered: its lease expired"


def check_counters(story: Story, nodes: Nodes) -> Iterator[str]:
    """Yield each counter that exceeds the number of records on the log, each of which counts once,
    however often it is read. After a crash, a record may be missing in a counter."""
    for row in (row for rows in nodes.all_named("hosts").values() for row in rows):
        counted, logged = row["totals_admitted"], story.admissions[row["host"]]
        if counted > logged:
            yield f"{row['host']} has counted {counted} admitted URLs, and {logged} are on the log"
    verdicts = Counter[str]()
    for row in (row for rows in nodes.all_named("tallies").values() for row in rows):
        verdicts[row["crawl"]] += sum(row["verdicts"].values())
    for crawl, counted in verdicts.items():
        if counted > (logged := story.verdicts[crawl]):
            yield f"{crawl} has counted {counted} verdicts, and {logged} are on the log"


def check_rebalances(broker: Broker, limit: float) -> Iterator[str]:
    """Yield each rebalance of a group that lasted longer than *limit* seconds. No member can be
    assigned a partition during it."""
    for group in broker.groups.values():
        for began, end in group.rebalances:
            if (seconds := min(end, broker.sim.now) - began) > limit:
                at = f"{began - START:.0f}"
                yield f"the members of {group.name} waited {seconds:.0f} s for each other at {at}"


def check_epochs(story: Story, fenced: Fenced) -> Iterator[str]:
    """Yield each visit for an order of a frontier that had lost the partition."""
    for _, ended in story.outcomes:
        is_visit = ended["event"] == "visit_ended" and ended["outcome"] != Outcome.UNVISITED
        ordered_at = fenced.get((ended.get("host", ""), ended.get("order", "")))
        if ordered_at is not None and is_visit and not ended["visit"].get("shared"):
            url = ended["visit"]["url"]
            yield f"{url} was visited for an order of an older epoch, of {ordered_at - START:.0f}"


def fenced_orders(story: Story, partitions: int) -> Fenced:
    """Return the orders of frontiers that had lost the partition: an order with a newer epoch was
    on the log before. Fetchers refuse them. The number of partitions must not have changed."""
    newest: dict[int, int] = defaultdict(int)
    fenced = Fenced()
    for at, order in story.orders:
        number = partition_of(order["site"], partitions)
        if order["epoch"] < newest[number]:
            fenced[order["host"], order["order"]] = at
        newest[number] = max(newest[number], order["epoch"])
    return fenced


def _valid_orders(story: Story, fenced: Fenced) -> list[tuple[float, dict[str, Any]]]:
    """Return the orders that fetchers do not refuse, with their times."""
    return [
        (at, order) for at, order in story.orders if (order["host"], order["order"]) not in fenced
    ]


def check_released(story: Story) -> Iterator[str]:
    """Yield each host that was silent for more than `MAX_SILENCE` after the fetcher that had begun
    its order was killed and started again.

    A host whose order before had no last outcome either backs off: it may stop the fetchers.
    """
    ended = {(one["host"], one["order"]): at for at, one in story.outcomes if one.get("last")}
    starts: dict[str, list[float]] = defaultdict(list)
    for at, event in story.outcomes:
        if event["event"] == "fetcher_started":
            starts[event["fetcher"]].append(at)
    orders: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for at, order in story.orders:
        orders[order["host"]].append((at, order["order"]))
    for at, begun in story.outcomes:
        if begun["event"] != "order_begun":
            continue
        started = min((one for one in starts[begun["fetcher"]] if one > at), default=inf)
        host, of_host = begun["host"], orders[begun["host"]]
        place = [order for _, order in of_host].index(begun["order"])
        before, after = of_host[:place], of_host[place + 1 :]
        is_suspect = before and (host, before[-1][1]) not in ended
        if ended.get((host, begun["order"]), inf) < started or is_suspect:
            continue
        silence = (after[0][0] if after else inf) - started
        if silence > MAX_SILENCE:
            yield f"{host} was silent for {silence:.0f} s after its fetcher had restarted"


def check_repeats(
    sites: Sites, allowed: int, interval: float, crawls: Mapping[str, int]
) -> Iterator[str]:
    """Yield a report if more answered URLs were requested again than the harms excuse.

    *crawls* has the number of crawls by URL: each of them may request it once. With an *interval*
    between visits, only requests within half of it count.
    """
    answered: dict[str, list[float]] = defaultdict(list)
    again = []
    for request in sorted(sites.requests, key=lambda request: request.start):
        url, allowed_once = request.url, max(1, crawls.get(request.url, 1))
        if len(answers := answered[url]) >= allowed_once:
            lately = request.start < answers[-allowed_once] + interval / 2
            again += [url] if lately or not interval else []
        if request.is_received and request.status in (200, 301, 304, 404):
            robots = url == f"{host_key(url)}/robots.txt"
            answers += [] if robots else [request.end]
    if len(again) > allowed:
        count = f"{len(again)} requests, {allowed} of them excused,"
        yield f"{count} for URLs that were answered before: {again}"


def check_fresh(rows: Iterable[dict[str, Any]], sites: Sites, latest: float) -> Iterator[str]:
    """Yield each page that was not visited since *latest*."""
    asked = {request.url: request.start for request in sites.requests}
    for row in rows:
        page = row["outcome"] in ("page", "not_modified")
        if page and (at := asked[row["url"]]) < latest:
            yield f"{row['url']} was not revisited: its last visit was at {at - START:.0f}"


def check_dead_letters(story: Story, invalid_seeds: int) -> Iterator[str]:
    """Yield each dead letter of a valid record, and a report if an invalid record has none."""
    reasons = [letter["reason"] for letter in story.letters]
    expected = [reason for reason in reasons if "priority" in reason]
    yield from (f"dead letter: {reason}" for reason in reasons if reason not in expected)
    if len(expected) < invalid_seeds:
        yield "an invalid seed has no dead letter"


def check_step_times(steps: Iterable[tuple[str, float]], limit: float) -> Iterator[str]:
    """Yield each step of a process that took more than *limit* seconds."""
    for name, seconds in steps:
        if seconds > limit:
            yield f"a step of {name} took {seconds:.1f} s, more than {limit:.0f} s"


def check_memory(benches: Iterable[Workbench]) -> Iterator[str]:
    """Yield each workbench with more than a few entries a host."""
    for bench in benches:
        entries = sum(_entries(part) for part in vars(bench).values())
        if entries > 8 * len(bench) + 250:
            yield f"{entries} entries for {len(bench)} hosts in memory"


def _entries(part: object) -> int:
    if isinstance(part, list):
        return len(part)
    if isinstance(part, dict):
        return sum(map(_entries, part.values()))
    return sum(map(_entries, vars(part).values())) if isinstance(part, Schedule) else 0
