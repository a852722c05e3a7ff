"""The form of a typed URL that a crawl uses, and the steps that lead to it."""

from collections.abc import Iterator
from typing import NamedTuple

from gossamer import clock
from gossamer.crawl import complete_url
from gossamer.errors import BadSettings
from gossamer.inspection.basics.figures import instant, plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.services.dedup.rows import ASSUMED_RULE, HostNameRow, HostStepsRow, original_of
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.frontier.partition.queue import HostQueues
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import QueuedUrl, UrlRow
from gossamer.store import Store
from gossamer.web.url import (
    BadUrl,
    canonicalize,
    fingerprint,
    host_key,
    host_name,
    site_of,
    trace_steps,
)
from gossamer.web.url_steps import STEPS, merge_url, rewrite_by_rules


class CrawlForm(NamedTuple):
    """The form of a URL that a crawl uses."""

    url: str
    steps: tuple[str, ...]
    """The steps from the typed URL to that form, a sentence each."""
    exclusion: str = ""
    """The URL step that excludes the URL from the crawl, with its meaning; "" without one."""


def crawl_form(crawl: OpenCrawl, text: str) -> CrawlForm:
    """Return the form under which *crawl* knows the URL *text*; raise BadSettings if it is invalid.

    A URL that was visited as typed keeps its form. Without a scheme, http is used if the crawl has
    seen the http URL, or only the http host, and not the https URL.
    """
    try:
        full = complete_url(text)
        canonicalize(full)
    except BadUrl as error:
        raise BadSettings(str(error)) from error
    form = _form(crawl, full)
    if full == text or is_seen(crawl, form.url):
        return form
    other = _form(crawl, full.replace("https://", "http://", 1))
    if is_seen(crawl, other.url):
        return other
    hosts, site = crawl.store().table(HostRow), site_of(form.url)
    has_https = hosts.get(site, host_key(form.url)) is not None
    has_http = hosts.get(site, host_key(other.url)) is not None
    return other if has_http and not has_https else form


def other_seen_form(crawl: OpenCrawl, url: str) -> str:
    """Return another form of *url* that the crawl has seen: the other scheme, or with or without
    www. Return "" if the crawl has seen *url* itself, or no other form."""
    if is_seen(crawl, url):
        return ""
    scheme, _, rest = url.partition("://")
    name = host_name(url)
    without = name.removeprefix("www.")
    names = [name, without if without != name else f"www.{name}"]
    for other_name in names:
        for other_scheme in (scheme, "http" if scheme == "https" else "https"):
            other = f"{other_scheme}://{other_name}{rest[len(name) :]}"
            try:
                other = canonicalize(other)
            except BadUrl:
                continue
            if other != url and is_seen(crawl, other):
                return other
    return ""


def is_seen(crawl: OpenCrawl, url: str) -> bool:
    """Return whether *crawl* has seen a canonical *url*; in a fleet: visited, refused or queued."""
    store, host, site = crawl.store(), host_key(url), site_of(url)
    if store.table(UrlRow).get((crawl.id, host), url):
        return True
    if not crawl.fleet:
        return SeenTable(store).contains(crawl.id, site, fingerprint(url))
    row = store.table(HostRow).get(site, host)
    return bool(row and HostQueues(store.table(QueuedUrl), crawl.id).find(row, url))


def _form(crawl: OpenCrawl, full: str) -> CrawlForm:
    url = canonicalize(full)
    steps = [_step(*one) for one in trace_steps(full) if one[1] != f"{full}/"]
    definition, store = crawl.definition(), crawl.store()
    enabled = definition.url_steps if definition else ()
    if store.table(UrlRow).get((crawl.id, host_key(url)), url):
        return CrawlForm(url, tuple(steps))
    found = merge_url(url, enabled)
    if not found.url:
        excluding = found.steps[-1]
        return CrawlForm(url, tuple(steps), f"{excluding}: {STEPS[excluding].text}")
    steps += _crawl_steps(url, enabled)
    host_steps = [*_host_steps(store, found.url, enabled)]
    host_steps += _original_host(store, host_steps[-1][1] if host_steps else found.url)
    steps += [_step(rule, after) for rule, after in host_steps]
    return CrawlForm(host_steps[-1][1] if host_steps else found.url, tuple(steps))


def _step(name: str, after: str) -> str:
    return f"rewritten: by {name} to {after}"


def _crawl_steps(url: str, enabled: tuple[str, ...]) -> Iterator[str]:
    for name in (*enabled, *enabled):  # A step may make an earlier one applicable.
        if name in STEPS and (after := merge_url(url, (name,)).url) != url:
            url = after
            yield _step(name, url)


def _host_steps(store: Store, url: str, enabled: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    row = store.table(HostStepsRow).get(host_key(url)) or HostStepsRow(host_key(url))
    before = ""
    while url != before:
        before = url
        for rule, _ in rewrite_by_rules(url, enabled):
            if row.holds(rule) and (after := row.rewrite(url, rule)) != url:
                url = after
                proven = f"proven by {plural(len(row.proofs.get(rule, ())), 'text')}"
                yield f"{rule} ({'assumed' if rule == ASSUMED_RULE else proven})", url


def _original_host(store: Store, url: str) -> Iterator[tuple[str, str]]:
    host = host_key(url)
    row = store.table(HostNameRow).get(site_of(url), host)
    if row and (original := original_of(row, clock.now())):
        yield f"{row.rule} (until {instant(row.until)})", original + url.removeprefix(host)
