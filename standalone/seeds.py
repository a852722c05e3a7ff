"""What came of the seeds of a run."""

from collections.abc import Iterable
from contextlib import suppress

from gossamer.crawl import crawl_url, last_definition
from gossamer.events.outcomes import Outcome
from gossamer.web.url import BadUrl, canonicalize, host_key, site_of
from services.frontier.rows import HostRow, UrlRow
from standalone.folder import Opened


def no_page(opened: Opened, seeds: Iterable[str]) -> dict[str, str]:
    """Return canonical *seeds* with why each gave no page; none at all if one of them gave one.

    A seed that redirects gives what it leads to.
    """
    why: dict[str, str] = {}
    for seed in seeds:
        url, row = _led_to(opened, seed)
        if row and row.outcome == Outcome.PAGE:
            return {}
        why[seed] = _why(opened, url, row)
    return why


def _led_to(opened: Opened, url: str) -> tuple[str, UrlRow | None]:
    crawl, met = last_definition(opened.log), set[str]()
    with suppress(BadUrl):
        url = crawl_url(crawl, url) if crawl and not _last_outcome(opened, url) else url
    while (row := _last_outcome(opened, url)) and row.outcome == Outcome.REDIRECT:
        met.add(url)
        try:
            url = canonicalize(row.location, url)
        except BadUrl:
            break
        if url in met:
            break
    return url, row


def _last_outcome(opened: Opened, url: str) -> UrlRow | None:
    return opened.store.table(UrlRow).get((opened.crawl_id, host_key(url)), url)


def _why(opened: Opened, url: str, row: UrlRow | None) -> str:
    if row:
        return f"{row.outcome} ({row.reason})" if row.reason else row.outcome
    host = opened.store.table(HostRow).get(site_of(url), host_key(url))
    return (host.backoff_reason if host else "") or "not visited yet"
