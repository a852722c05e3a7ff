"""A change of a crawl at rest to the Public Suffix List of this release.

The list decides which hosts are one site, and the site decides where their data is. The rows of
hosts whose site changes are written again by `gossamer.services.frontier.procedures.regrouping`,
and dedup's rows of these hosts here. Fingerprints of the URL-seen set do not tell their host, so
the set of a new site is made from the rows of its URLs. A URL that was admitted and has no row left
may be admitted once more.

**After a failure.** `control` states that the change has begun, and no service starts. Each step
may be repeated: apply again.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.events import SiteOverridden, UrlsSeen
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.basics.folder import Folder
from gossamer.log import Log
from gossamer.log.codec import encode
from gossamer.log.control import newest_events
from gossamer.procedures.copying import Side, claim_partitions, write_identity, write_seen
from gossamer.procedures.preconditions import check_drained, check_engine, check_stopped
from gossamer.runtime.backends import open_fleet
from gossamer.runtime.identity import LIST, stated_identity
from gossamer.services.dedup.rows import HostNameRow
from gossamer.services.dedup.seen import hash_finder
from gossamer.services.frontier.procedures.regrouping import Regrouping
from gossamer.services.frontier.procedures.resizing import crawls_in
from gossamer.settings import Settings
from gossamer.store import Store
from gossamer.web.suffixes import packaged_list, use_list
from gossamer.web.url import fingerprint


def apply_to_folder(folder: Folder) -> Iterator[str]:
    """Change the crawl in *folder* to the list of this release; yield a line for each step.

    Raise GossamerError if it runs, or if records are not consumed yet.
    """
    opened = folder.open()
    folder.lock()
    side = Side(str(folder.path), opened.log, opened.store, True, opened.log.partitions)
    yield from apply_suffixes(side, clock.now())


def apply_to_fleet(settings: Settings) -> Iterator[str]:
    """Change the stopped fleet of *settings* as `apply_to_folder` changes a folder."""
    check_engine(settings, "regrouped")
    check_stopped(settings.kafka)
    with open_fleet(settings, "suffixes") as (log, store):
        yield from apply_suffixes(Side("the fleet", log, store, False, log.partitions), clock.now())


def apply_suffixes(side: Side, now: float) -> Iterator[str]:
    """Change the crawl of *side* to the list of this release; yield a line for each step."""
    log, store, newer = side.log, side.store, packaged_list()
    if (stated := stated_identity(log)) is None:
        raise GossamerError(f"{side.name} has no crawl: nothing to change")
    if stated.moved_to:
        raise GossamerError(f"this crawl was moved to {stated.moved_to}: apply the list there")
    if stated.moving_from and not stated.moving_from.startswith(LIST):
        raise GossamerError(f"the move from {stated.moving_from} is not finished: finish it first")
    if stated.suffix_list == newer.version and not stated.moving_from:
        yield f"the crawl has the suffix list of {newer.version}: nothing to do"
        return
    check_drained(log, side.is_folder)
    use_list(newer)
    changed = Regrouping(store, crawls_in(store), side.partitions)
    log.append([encode(replace(stated, at=now, moving_from=LIST + stated.suffix_list))])
    # The lock of a folder fences its former owners.
    epoch = 0 if side.is_folder else claim_partitions(store, side.partitions, now)
    changed.copy()
    store.flush()
    urls = sum(len(seen.urls) for seen in write_seen(side, _seen(changed, now), epoch, now))
    log.append([encode(one) for one in _overrides(log, changed, now)])
    changed.finish()
    _move_host_names(store, changed)
    store.flush()
    event = replace(
        stated, at=now, suffix_list=newer.version, suffixes=newer.packed, moving_from=""
    )
    write_identity(store, event)
    log.append([encode(event)])
    yield f"sites: changed for {plural(len(changed.sites), 'host')} with {plural(urls, 'URL')}"
    yield f"The crawl has the suffix list of {newer.version} now."


def _seen(changed: Regrouping, now: float) -> Iterator[UrlsSeen]:
    """Yield the URLs of hosts that get other sites, for the URL-seen sets of these sites."""
    for crawl, site, url, via in changed.urls():
        yield UrlsSeen(
            crawl=crawl,
            at=now,
            site=site,
            epoch=0,
            finder=hash_finder(via),
            urls=(fingerprint(url),),
        )


def _overrides(log: Log, changed: Regrouping, now: float) -> Iterator[SiteOverridden]:
    """Yield the operators' settings of former sites for the new ones, unless these have some."""
    found = {
        event.site: event
        for event in newest_events(log).values()
        if isinstance(event, SiteOverridden)
    }
    for old, new in {*changed.sites.values()}:
        if old in found and new not in found:
            yield replace(found[old], at=now, site=new)


def _move_host_names(store: Store, changed: Regrouping) -> None:
    table = store.table(HostNameRow)
    for host, (old, new) in changed.sites.items():
        if row := table.get(old, host):
            table.erase(old, host)
            table.put(replace(row, site=new))
