"""`gossamer forget`: erases everything about a URL, a host or a site, as its owner may demand.

The request goes to the log, and the services erase their rows: see `services.frontier.erasing`.
Archives also erase the records in their WARC files: see `services.archive.retention`.
This command erases what no service has in memory and no key leads to: dead letters, and rows of
tables that are read at random, or appended to and dropped as a whole.
"""

import argparse
import re
from collections import Counter
from collections.abc import Callable
from operator import attrgetter

from msgspec.structs import replace

from changes.blocking import plan_block
from changes.commit import commit, record_change
from changes.plan import Effect, Plan
from console.cli.changing import add_change, request_of, user_name
from console.cli.options import add_place, open_from
from console.output import BOLD, MAX_LINE_LENGTH, YELLOW, say
from gossamer import clock
from gossamer.blocklist import parse_rule
from gossamer.crawl import canonical_of_typed
from gossamer.erasures import ErasureRow, is_about
from gossamer.errors import BadSettings, Poison
from gossamer.events import DEFAULT_CRAWL, DeadLetter, ErasureRequested
from gossamer.events.topics import DEAD_LETTERS
from gossamer.log import Message
from gossamer.log.codec import decode, encode, value_of_letter
from gossamer.store import Row, partition_fields
from gossamer.terminal import printable
from gossamer.web.url import BadUrl, canonicalize, host_key, site_of
from inspection.crawl import OpenCrawl
from inspection.figures import instant, plural
from services.archive.rows import SegmentRow
from services.dedup.content import DigestRow, NearRow
from services.frontier.parked import ParkedRow, without
from services.frontier.rows import DueRow, HostRow, ListedHost

_url = re.compile(rb"https?://[^\s\"'<>\\]+")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "target",
        nargs="?",
        metavar="URL|HOST|SITE",
        help="a URL with its path, a host by its scheme (https://www.example.org), or a site with "
        "all of its hosts (example.org)",
    )
    command.add_argument("--forever", action="store_true", help="also add it to the blocklist")
    command.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    command.add_argument("--list", action="store_true", help="list earlier erasures")
    add_change(command)
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """Erase the target, or list earlier erasures."""
    if options.list == bool(options.target):
        raise BadSettings("name a URL, a host or a site, or use --list")
    with open_from(options) as crawl:
        if options.list:
            return _list(crawl)
        event = _request(crawl, options.target)
        if not (options.yes or options.dry_run or _is_confirmed(event)):
            say("Nothing was erased.", YELLOW)
            return 1
        if options.dry_run:
            say("Dry run: nothing is changed. Without --dry-run:", BOLD)
        else:
            _record(crawl, event, options)
        letters = _erase_letters(crawl, event.target, options.dry_run)
        rows = _sweep(crawl, event.target, options.dry_run)
        if not options.dry_run:
            crawl.log.append([encode(event)])
    _print_result(crawl, event, rows, letters)
    return 0


def _record(crawl: OpenCrawl, event: ErasureRequested, options: argparse.Namespace) -> None:
    """Record the erasure on `audit`, which names its target for ever, and block the target."""
    request = request_of(options)
    if options.forever:
        rule = parse_rule(event.url or event.host or f"*.{event.site}")
        commit(crawl.log, plan_block(crawl, [rule], event.at), request, event.at)
        say(f"{rule} is blocked.")
    effect = Effect(text=f"{event.target} is erased.")
    plan = Plan(action="forget", subject=event.target, effect=effect)
    record_change(crawl.log, plan, request, event.at)


def _any_crawl(crawl: OpenCrawl) -> str:
    """Return the id of one of the crawls. The frontier erases the target in all of them."""
    crawls = crawl.crawls()
    return next((name for name, one in crawls.items() if not one.removed), DEFAULT_CRAWL)


def _request(crawl: OpenCrawl, text: str) -> ErasureRequested:
    """Return the request for the URL, host or site that *text* names."""
    try:
        url = canonical_of_typed(text)
    except BadUrl as error:
        raise BadSettings(str(error)) from error
    site, key, by = site_of(url), host_key(url), user_name()
    fields = {"crawl": _any_crawl(crawl), "at": clock.now(), "site": site, "requested_by": by}
    if "/" in text.partition("://")[2 if "://" in text else 0]:
        return ErasureRequested(**fields, url=canonicalize(url))  # type: ignore[arg-type]
    if "://" not in text and text.lower() == site:
        return ErasureRequested(**fields)  # type: ignore[arg-type]
    if "://" not in text:
        hosts = crawl.store().table(HostRow)
        keys = [key, host_key(canonical_of_typed(f"http://{text}"))]
        key = next((one for one in keys if hosts.get(site, one)), key)
    return ErasureRequested(**fields, host=key)  # type: ignore[arg-type]


def _is_confirmed(event: ErasureRequested) -> bool:
    kind = "the URL" if event.url else "the host" if event.host else "the site"
    question = f"Erase everything about {kind} {event.target}? This cannot be undone. [y/N] "
    try:
        return input(printable(question, MAX_LINE_LENGTH)).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _erase_letters(crawl: OpenCrawl, target: str, is_dry: bool) -> int:
    """Replace each dead letter that names *target* by a tombstone; return their number.

    A dry run only counts them.
    """
    found = dict[str, None]()
    tail = crawl.log.tail([DEAD_LETTERS.name])
    while records := tail.poll(0):
        for record in records:
            try:
                letter = decode(record) if record.value else None
                if not isinstance(letter, DeadLetter):
                    continue
                value = value_of_letter(letter)
            except Poison:
                continue
            if _contains(b" ".join((letter.key.encode(), letter.reason.encode(), value)), target):
                found[record.key] = None
    if not is_dry:
        crawl.log.append([Message(DEAD_LETTERS.name, key, b"", key) for key in found])
    return len(found)


def _contains(text: bytes, target: str) -> bool:
    """Return whether *text* contains a URL that *target* covers."""
    for found in _url.findall(text):
        try:
            if is_about(canonicalize(found.decode()), target):
                return True
        except (BadUrl, UnicodeError):
            continue
    return False


def _sweep(crawl: OpenCrawl, target: str, is_dry: bool) -> Counter[str]:
    """Erase the rows about *target* that no key leads to; whole tables are read.

    A dry run only counts them.
    """
    store, rows = crawl.store(), Counter[str]()
    for kind, sweep in SWEPT.items():
        table = store.table(kind)
        for row in table.everything():
            left = sweep(row, target)
            if left is row:
                continue
            rows[kind.table] += 1
            if is_dry:
                continue
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


def _without_pages(row: NearRow, target: str) -> NearRow | None:
    pages = tuple(page for page in row.pages if not is_about(page.url, target))
    if len(pages) == len(row.pages):
        return row
    return replace(row, pages=pages) if pages else None


SERVICES = ("frontier", "dedup", "archive")
"""The services that erase rows."""
SWEPT: dict[type[Row], Callable[..., Row | None]] = {
    DigestRow: _without_url,
    NearRow: _without_pages,
    ParkedRow: without,
    DueRow: _without_host,
    ListedHost: _without_host,
}
"""Table → returns a row without a target: None if nothing is left, the same row if unchanged."""


def _print_result(
    crawl: OpenCrawl, event: ErasureRequested, rows: Counter[str], letters: int
) -> None:
    by = "the services" if crawl.fleet else "the running crawl, or the next one"
    say(f"{event.target} will be erased by {by}: gossamer forget --list shows when it is done.")
    for name, count in sorted(rows.items()):
        say(f"{plural(count, 'row')} of {name} erased.")
    if letters:
        say(f"{plural(letters, 'dead letter')} erased.")


def _list(crawl: OpenCrawl) -> int:
    found: dict[tuple[float, str, str], list[ErasureRow]] = {}
    store = crawl.store()
    writers = [row.writer for row in store.table(SegmentRow).everything()]
    for row in store.table(ErasureRow).everything():
        found.setdefault((row.at, row.target, row.requested_by), []).append(row)
    if not found:
        say("No erasures so far. A request is listed when the first service handles it.")
    for (at, target, by), rows in sorted(found.items()):
        counts = Counter[str]()
        for row in rows:
            counts.update(row.rows)
        waiting = _waiting_for(rows, writers)
        erased = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        state = f"being erased by {', '.join(waiting)}" if waiting else "erased"
        say(f"{instant(at)}  {target}  {state}, requested by {by}: {erased or 'no rows yet'}")
    return 0


def _waiting_for(rows: list[ErasureRow], writers: list[str]) -> list[str]:
    """Return the services that have not finished the erasure with these *rows*.

    Each of the archive's *writers* erases its own files, once for each part that the archive has
    recorded.
    """
    parts: dict[str, set[str]] = {}
    for row in rows:
        parts.setdefault(row.service, set()).add(row.key.split(" ")[2])
    unfinished = {row.service for row in rows if not row.ended}
    waiting = [name for name in SERVICES if name not in parts or name in unfinished]
    files = [f"archive/{writer}" for writer in sorted(writers)]
    of_archive = parts.get("archive", set())
    return waiting + [name for name in files if not of_archive <= parts.get(name, set())]
