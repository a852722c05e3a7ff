"""The seeds of a run that gave no page, with the reasons."""

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from gossamer.crawl import crawl_url, last_definition
from gossamer.events.outcomes import Outcome
from gossamer.web.url import BadUrl, canonicalize, host_key, site_of
from services.frontier.rows import HostRow, UrlRow
from standalone.folder import Opened


class SeedFailure(NamedTuple):
    """Why a seed gave no page."""

    outcome: str
    """The last outcome; empty if the seed was not visited."""
    status: int
    reason: str


def failed_seeds(opened: Opened, seeds: Iterable[str]) -> dict[str, SeedFailure]:
    """Return canonical seed → its failure; empty if any seed gave a page.

    Redirects of a seed are followed.
    """
    reasons: dict[str, SeedFailure] = {}
    for seed in seeds:
        url, row = _follow_redirects(opened, seed)
        if row and row.outcome == Outcome.PAGE:
            return {}
        reasons[seed] = _reason(opened, url, row)
    return reasons


def _follow_redirects(opened: Opened, url: str) -> tuple[str, UrlRow | None]:
    crawl, followed = last_definition(opened.log), set[str]()
    with suppress(BadUrl):
        url = crawl_url(crawl, url) if crawl and not _last_outcome(opened, url) else url
    while (row := _last_outcome(opened, url)) and row.outcome == Outcome.REDIRECT:
        followed.add(url)
        try:
            url = canonicalize(row.location, url)
        except BadUrl:
            break
        if url in followed:
            break
    return url, row


def _last_outcome(opened: Opened, url: str) -> UrlRow | None:
    return opened.store.table(UrlRow).get((opened.crawl_id, host_key(url)), url)


def _reason(opened: Opened, url: str, row: UrlRow | None) -> SeedFailure:
    if row:
        return SeedFailure(row.outcome, row.status, row.reason)
    host = opened.store.table(HostRow).get(site_of(url), host_key(url))
    return SeedFailure("", 0, (host.backoff_reason if host else "") or "not visited yet")
