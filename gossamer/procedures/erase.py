"""Erasure of everything about a URL, a host or a site, as its owner may demand.

The request goes to the log, and the services erase their rows: see
`gossamer.services.frontier.procedures.erasing`. Archives also erase the records in their WARC
files: see `gossamer.services.archive.retention`. What no service has in memory and no key leads to
is erased here: dead letters, and rows of tables that are read at random, or appended to and dropped
as a whole. That is a copy of the crawl onto itself, which leaves the target out.

**After a failure.** The topic `audit` has the erasure, but the services may lack the request: erase
again.
"""

import re
from functools import partial

from msgspec.structs import replace

from gossamer.blocklist import parse_rule
from gossamer.changes.blocking import plan_block
from gossamer.changes.commit import Committed, commit, record_change
from gossamer.changes.plan import ChangeRequest, Effect, Plan
from gossamer.crawl import canonical_of_typed, without_scheme
from gossamer.erasures import is_about
from gossamer.errors import BadSettings, Poison
from gossamer.events import DEFAULT_CRAWL, DeadLetter, ErasureRequested
from gossamer.events.topics import DEAD_LETTERS
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log import Message, Record
from gossamer.log.codec import encode, try_decode, value_of_letter
from gossamer.procedures.copying import Copy, RecordChange, Side
from gossamer.services.dedup.content import DigestRow, NearRow
from gossamer.services.frontier.partition.parked import ParkedRow
from gossamer.services.frontier.tables.hosts import HostRow, ListedHost
from gossamer.services.frontier.tables.plans import DueRow
from gossamer.store import Row
from gossamer.web.url import BadUrl, canonicalize, host_key, site_of

SWEPT: tuple[type[Row], ...] = (DigestRow, NearRow, ParkedRow, DueRow, ListedHost)
"""The tables that are read whole. No name leads to a row of them."""
_url = re.compile(rb"https?://[^\s\"'<>\\]+")


def erase(
    crawl: OpenCrawl,
    event: ErasureRequested,
    request: ChangeRequest,
    forever: bool = False,
    is_dry_run: bool = False,
) -> Committed:
    """Request the erasure of the target of *event*, and erase what no service erases.

    Whole tables are read, which may take long. *forever*: block the target, too. A dry run counts
    dead letters and rows, and changes nothing. The erasure may be repeated after an error.
    """
    rule = parse_rule(event.url or event.host or f"*.{event.site}") if forever else ""
    by = "the services" if crawl.fleet else "the running crawl, or the next one"
    effect = Effect(text=f"{event.target} will be erased by {by}.")
    change = None
    if not is_dry_run:
        if forever:
            commit(crawl.log, plan_block(crawl, [rule], event.at), request, event.at)
        plan = Plan(action="forget", subject=event.target, effect=effect)
        # First, so that every erasure has a record, which names its target for ever.
        change = record_change(crawl.log, plan, request, event.at)
    copy = _copy_without(crawl, event.target)
    letters = sum(count for _, count in copy.copy_records(is_dry_run))
    rows = sorted(copy.copy_rows(is_dry_run))
    if not is_dry_run:
        crawl.log.append([encode(event)])
    will = "will be " if is_dry_run else ""
    lines = [f"{rule} {will or 'is '}blocked."] if forever else []
    found = [f"{plural(count, 'row')} of {name}" for name, count in rows]
    found += [plural(letters, "dead letter")] if letters else []
    lines += [f"{one} {will}erased." for one in found]
    return Committed(id=change, effect=replace(effect, lines=tuple(lines), count=1))


def _copy_without(crawl: OpenCrawl, target: str) -> Copy:
    """Return the copy of *crawl* onto itself that leaves *target* out."""
    log = crawl.log

    def remove(row: Row) -> Row | None:
        return row.without(partial(is_about, target=target))

    here = Side(crawl.name, log, crawl.store(), not crawl.fleet, log.partitions)
    return Copy(
        here,
        here,
        rows=dict.fromkeys(SWEPT, remove),
        records={DEAD_LETTERS.name: _letter_eraser(target)},
    )


def make_request(crawl: OpenCrawl, text: str, by: str, now: float) -> ErasureRequested:
    """Return the request of the actor *by* for the URL, host or site that *text* names.

    Raise BadSettings if it is invalid.
    """
    rest = without_scheme(text)
    if "*" in rest.partition("/")[0]:
        raise BadSettings(f"{text} is not a host or a site: name the site for all of its hosts")
    url = canonical_of_typed(text)
    site, host = site_of(url), host_key(url)
    request = ErasureRequested(crawl=_any_crawl(crawl), at=now, site=site, requested_by=by)
    if "/" in rest:
        return replace(request, url=canonicalize(url))
    if "://" not in text:
        if text.lower() == site:
            return request
        hosts = crawl.store().table(HostRow)
        keys = [host, host_key(canonical_of_typed(f"http://{text}"))]
        host = next((one for one in keys if hosts.get(site, one)), host)
    return replace(request, host=host)


def _any_crawl(crawl: OpenCrawl) -> str:
    """Return the id of one of the crawls. The frontier erases the target in all of them."""
    crawls = crawl.crawls()
    return next((name for name, one in crawls.items() if not one.removed), DEFAULT_CRAWL)


def _letter_eraser(target: str) -> RecordChange:
    """Return the change of dead letters that writes one tombstone for each that names *target*."""
    erased = set[str]()

    def change(record: Record) -> Message | None:
        letter = try_decode(record)
        if not isinstance(letter, DeadLetter) or record.key in erased:
            return None
        if not _names(letter, target):
            return None
        erased.add(record.key)
        return Message(DEAD_LETTERS.name, record.key, b"", record.key)

    return change


def _names(letter: DeadLetter, target: str) -> bool:
    try:
        value = value_of_letter(letter)
    except Poison:
        return False
    return _contains(b" ".join((letter.key.encode(), letter.reason.encode(), value)), target)


def _contains(text: bytes, target: str) -> bool:
    """Return whether *text* contains a URL that *target* covers."""
    for found in _url.findall(text):
        try:
            if is_about(canonicalize(found.decode()), target):
                return True
        except (BadUrl, UnicodeError):
            continue
    return False
