"""Under which URL a crawl knows what a person types, and which steps made that of it."""

from collections.abc import Iterator
from typing import NamedTuple

from console.figures import instant
from console.open_crawl import OpenCrawl
from gossamer import clock
from gossamer.crawl import complete_url, last_definition
from gossamer.errors import BadSettings
from gossamer.store import Store
from gossamer.web.url import BadUrl, canonicalize, host_key, site_of, trace_steps
from gossamer.web.url_steps import STEPS, merge_url, rewrite_by_rule, rewrite_by_rules
from services.dedup.rows import ASSUMED_RULE, HostNameRow, HostStepsRow, original_of
from services.frontier.rows import UrlRow


class Known(NamedTuple):
    """The URL of what was typed, and how it came to be that."""

    url: str
    steps: tuple[str, ...]
    """A sentence each, in their order."""


def known(crawl: OpenCrawl, text: str) -> Known:
    """Return the URL under which *crawl* knows *text*; raise BadSettings if it is no URL.

    Where the crawl has visited it as it stands, that is its URL.
    """
    try:
        full = complete_url(text)
        url = canonicalize(full)
        steps = [_said(*one) for one in trace_steps(full) if one[1] != f"{full}/"]
    except BadUrl as error:
        raise BadSettings(str(error)) from error
    definition, store = last_definition(crawl.log), crawl.store()
    wanted = definition.url_steps if definition else ()
    if store.table(UrlRow).get((crawl.id, host_key(url)), url):
        return Known(url, tuple(steps))
    found = merge_url(url, wanted)
    if not found.url:
        return Known(url, (*steps, f"left out by {found.steps[-1]}: {STEPS[found.steps[-1]].text}"))
    steps += _of_crawl(url, wanted)
    at_host = [*_at_host(store, found.url, wanted)]
    at_host += _elsewhere(store, at_host[-1][1] if at_host else found.url)
    steps += [_said(rule, after) for rule, after in at_host]
    return Known(at_host[-1][1] if at_host else found.url, tuple(steps))


def _said(name: str, after: str) -> str:
    return f"spelt: by {name} it is {after}"


def _of_crawl(url: str, wanted: tuple[str, ...]) -> Iterator[str]:
    for name in (*wanted, *wanted):  # A step may uncover what one before it looks for.
        if name in STEPS and (after := merge_url(url, (name,)).url) != url:
            url = after
            yield _said(name, url)


def _at_host(store: Store, url: str, wanted: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    row = store.table(HostStepsRow).get(host_key(url)) or HostStepsRow(host_key(url))
    before = ""
    while url != before:
        before = url
        for rule, _ in rewrite_by_rules(url, wanted):
            if row.holds(rule) and (after := rewrite_by_rule(url, rule)) != url:
                url = after
                why = (
                    "assumed" if rule == ASSUMED_RULE else f"{len(row.proofs[rule])} texts prove it"
                )
                yield f"{rule} ({why})", url


def _elsewhere(store: Store, url: str) -> Iterator[tuple[str, str]]:
    host = host_key(url)
    row = store.table(HostNameRow).get(site_of(url), host)
    if row and (original := original_of(row, clock.now())):
        yield f"{row.rule} (until {instant(row.until)})", original + url.removeprefix(host)
