"""`gossamer forget`: erases what is known of a URL, a host or a site, as its owner may demand.

It asks on the log; the services erase their rows, see `services.frontier.erasing`. What nobody
holds in memory, and nobody finds by a key, is erased here: dead letters, and rows of tables that
are only looked into by chance, or that a service appends to and drops whole.
"""

import argparse
import getpass
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from operator import attrgetter

from msgspec.structs import replace

from console.cli.block import change
from console.cli.options import add_crawl, open_from
from console.figures import instant, plural
from console.open_crawl import OpenCrawl
from gossamer import clock
from gossamer.blocklist import parse_rule
from gossamer.crawl import canonical_of_typed
from gossamer.erasures import ErasureRow, is_about
from gossamer.errors import BadSettings, Poison
from gossamer.events import DeadLetter, ErasureRequested, PageArchived
from gossamer.events.topics import DEAD_LETTERS, PAGES_ARCHIVED
from gossamer.log import Message
from gossamer.log.codec import decode, encode
from gossamer.store import Row, partition_fields
from gossamer.terminal import printable
from gossamer.web.url import BadUrl, canonicalize, host_key, site_of
from services.dedup.content import DigestRow
from services.dedup.near import NearRow
from services.frontier.parked import ParkedRow
from services.frontier.rows import DueRow, HostRow, ListedHost

LONGEST = 5000
"""Characters of a line."""
_url = re.compile(rb"https?://[^\s\"'<>\\]+")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument(
        "what",
        nargs="?",
        metavar="URL|HOST|SITE",
        help="a URL with its path, a host by its scheme (https://www.example.org), or a site with "
        "all of its hosts (example.org)",
    )
    command.add_argument("--forever", action="store_true", help="block it first")
    command.add_argument("--yes", action="store_true", help="do not ask before")
    command.add_argument("--list", action="store_true", help="list what was erased")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Erase, or list what was erased."""
    if options.list == bool(options.what):
        raise BadSettings("name a URL, a host or a site, or say --list")
    with open_from(options) as crawl:
        if options.list:
            return _list(crawl)
        event = _asked(crawl, options.what)
        if not options.yes and not _is_confirmed(event):
            print("Nothing was erased.")
            return 1
        if options.forever:
            rule = parse_rule(event.url or event.host or f"*.{event.site}")
            change(crawl, [rule], lifted=False)
            print(printable(f"{rule} is blocked.", LONGEST))
        captures = [*_captures(crawl, event.target)]
        letters = _erase_letters(crawl, event.target)
        rows = _sweep(crawl, event.target)
        crawl.log.append([encode(event)])
    _say(crawl, event, rows, letters, captures)
    return 0


def _asked(crawl: OpenCrawl, text: str) -> ErasureRequested:
    """Return what a person means by *text*."""
    try:
        url = canonical_of_typed(text)
    except BadUrl as error:
        raise BadSettings(str(error)) from error
    site, key, by = site_of(url), host_key(url), f"{getpass.getuser()}@{socket.gethostname()}"
    about = {"crawl": crawl.id, "at": clock.now(), "site": site, "requested_by": by}
    if "/" in text.partition("://")[2 if "://" in text else 0]:
        return ErasureRequested(**about, url=canonicalize(url))  # type: ignore[arg-type]
    if "://" not in text and text.lower() == site:
        return ErasureRequested(**about)  # type: ignore[arg-type]
    if "://" not in text:
        hosts = crawl.store().table(HostRow)
        keys = [key, host_key(canonical_of_typed(f"http://{text}"))]
        key = next((one for one in keys if hosts.get(site, one)), key)
    return ErasureRequested(**about, host=key)  # type: ignore[arg-type]


def _is_confirmed(event: ErasureRequested) -> bool:
    kind = "the URL" if event.url else "the host" if event.host else "the site"
    question = f"Erase all that is known of {kind} {event.target}? It cannot be undone. [y/N] "
    try:
        return input(printable(question, LONGEST)).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _captures(crawl: OpenCrawl, target: str) -> Iterator[str]:
    """Yield where captures lie in WARC files, by the topic that has them all."""
    tail = crawl.log.tail([PAGES_ARCHIVED.name])
    while records := tail.poll(0):
        for record in records:
            if _names(record.key.encode(), target):
                event = decode(record)
                assert isinstance(event, PageArchived)
                yield f"{event.file}  offset {event.offset}  length {event.length}  {event.url}"


def _erase_letters(crawl: OpenCrawl, target: str) -> int:
    """Put a tombstone in the place of each dead letter that names *target*."""
    found = dict[str, None]()
    tail = crawl.log.tail([DEAD_LETTERS.name])
    while records := tail.poll(0):
        for record in records:
            try:
                letter = decode(record) if record.value else None
            except Poison:
                continue
            if isinstance(letter, DeadLetter) and _names(
                b" ".join((letter.key.encode(), letter.reason.encode(), letter.value)), target
            ):
                found[record.key] = None
    crawl.log.append([Message(DEAD_LETTERS.name, key, b"", key) for key in found])
    return len(found)


def _names(text: bytes, target: str) -> bool:
    """Return whether *text* has a URL that *target* is or has."""
    for found in _url.findall(text):
        try:
            if is_about(canonicalize(found.decode()), target):
                return True
        except (BadUrl, UnicodeError):
            continue
    return False


def _sweep(crawl: OpenCrawl, target: str) -> Counter[str]:
    """Erase the rows about *target* that no key leads to; these tables are read whole."""
    store, rows = crawl.store(), Counter[str]()
    for kind, without in SWEPT.items():
        table = store.table(kind)
        for row in table.everything():
            left = without(row, target)
            if left is row:
                continue
            rows[kind.table] += 1
            if left is not None:
                table.put(left)
            else:
                partition = attrgetter(*partition_fields(kind))(row)
                table.erase(partition, getattr(row, kind.sort_key) if kind.sort_key else "")
        store.flush()
    return rows


def _without_url(row: DigestRow, target: str) -> DigestRow | None:
    return None if is_about(row.url, target) else row


def _without_host(row: ListedHost | DueRow, target: str) -> Row | None:
    if isinstance(row, DueRow) and row.url:
        return None if is_about(row.url, target) else row
    return None if target in (row.host, row.site) else row


def _without_kept(row: NearRow, target: str) -> NearRow | None:
    pages = tuple(kept for kept in row.pages if not is_about(kept.url, target))
    if len(pages) == len(row.pages):
        return row
    return replace(row, pages=pages) if pages else None


def _without_links(row: ParkedRow, target: str) -> ParkedRow | None:
    urls = tuple(found for found in row.urls if not is_about(found.url, target))
    return row if len(urls) == len(row.urls) else replace(row, urls=urls)


SWEPT: dict[type[Row], Callable[..., Row | None]] = {
    DigestRow: _without_url,
    NearRow: _without_kept,
    ParkedRow: _without_links,
    DueRow: _without_host,
    ListedHost: _without_host,
}
"""Table → what is left of a row without a target; None: nothing; the row itself: all of it."""


def _say(
    crawl: OpenCrawl, event: ErasureRequested, rows: Counter[str], letters: int, captures: list[str]
) -> None:
    when = "by the services" if crawl.fleet else "by the crawl that runs on it, or the next one"
    print(printable(f"{event.target} is erased {when}: gossamer forget --list says when.", LONGEST))
    for name, count in sorted(rows.items()):
        print(f"{name}: {plural(count, 'row')} erased.")
    if letters:
        print(f"{plural(letters, 'dead letter')} erased.")
    if captures:
        print("These captures remain in the WARC files:")
        for line in captures:
            print(printable(f"  {line}", LONGEST))


def _list(crawl: OpenCrawl) -> int:
    found: dict[tuple[float, str, str], list[ErasureRow]] = {}
    for row in crawl.store().table(ErasureRow).everything():
        found.setdefault((row.at, row.target, row.requested_by), []).append(row)
    if not found:
        print("Nothing was erased; what was asked for is listed once a service has begun.")
    for (at, target, by), rows in sorted(found.items()):
        counts = Counter[str]()
        for row in rows:
            counts.update(row.rows)
        services = {row.service for row in rows}
        done = all(row.ended for row in rows) and services >= {"frontier", "dedup", "archive"}
        erased = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        state = "erased" if done else "is being erased"
        line = f"{instant(at)}  {target}  {state}, for {by}: {erased or 'no rows'}"
        print(printable(line, LONGEST))
    return 0
