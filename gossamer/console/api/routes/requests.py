"""Requests to a crawl: seeds, urgent visits, retries, refetches, releases, dead letters, and
erasures."""

import asyncio
from functools import partial
from typing import Annotated

from litestar import post
from litestar.params import JSONBody, QueryParameter
from msgspec import Meta

from gossamer import clock
from gossamer.changes.commit import Committed
from gossamer.changes.letters import plan_discard, plan_replay
from gossamer.changes.plan import ChangeRequest, Effect, Plan
from gossamer.changes.releases import plan_release
from gossamer.changes.retries import plan_fetch, plan_refetch, plan_retry, plan_retry_of
from gossamer.changes.seeds import plan_seeds
from gossamer.console.api.changing import Change, FromRequest, Text, Texts, changing
from gossamer.console.api.parameters import CRAWL, SHARED_READER, Cursor, FromCrawl, Limit, reading
from gossamer.console.api.readers import TookTooLong
from gossamer.crawl import read_seeds
from gossamer.errors import BadSettings
from gossamer.events import PRIORITY_LIMIT
from gossamer.inspection.answers.fetched import (
    Before,
    Fetched,
    has_ended,
    is_complete,
    note_before,
    read_fetched,
)
from gossamer.inspection.basics.paging import Page
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.dead_letters import Letter, Service, read_letters
from gossamer.inspection.crawls.erasures import Erasure, read_erasures
from gossamer.inspection.crawls.url_forms import crawl_form
from gossamer.inspection.urls.visits import parse_outcome
from gossamer.procedures.erase import erase, make_request
from gossamer.web.url import Site

MAX_URGENT, MAX_WAIT = 50, 30.0
"""Urgent URLs in one request, and the seconds for which it may wait."""
POLL_INTERVAL = 0.5
"""Seconds between two looks at the rows of urgent URLs."""
OfService = Annotated[Service | None, QueryParameter(description="Only records of this service.")]


class Seeds(Change, kw_only=True):
    """New seeds."""

    urls: Texts
    priority: Annotated[int, Meta(ge=-PRIORITY_LIMIT, le=PRIORITY_LIMIT)] = 0
    """Lower is sooner."""
    party: Annotated[str, Meta(max_length=100)] = ""


class Targets(Change, kw_only=True):
    """What is retried: hosts and URLs, or all URLs with an outcome."""

    hosts: Texts = ()
    urls: Texts = ()
    outcome: Annotated[str, Meta(max_length=100)] = ""
    """As in `gossamer retry --outcome`."""


class Urls(Change, kw_only=True):
    """URLs that were visited before."""

    urls: Texts


class UrgentUrls(Change, kw_only=True):
    """URLs that are fetched before all others."""

    urls: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=MAX_URGENT)]
    wait: Annotated[float, Meta(ge=0, le=MAX_WAIT)] = 0.0
    """Seconds to wait for the documents, at most."""


class Urgent(Committed, frozen=True, kw_only=True):
    """The change that requests visits, and what they have brought so far."""

    urls: tuple[Fetched, ...]
    """Without the refused URLs; empty for a dry run."""


class Parts(Change, kw_only=True):
    """Parked URLs of a site."""

    site: Text
    parts: Texts = ()
    """All parts, if none is named."""


class Letters(Change, kw_only=True):
    """Dead letters."""

    letters: Texts = ()
    """Their names, PARTITION/OFFSET."""
    all: bool = False
    """Whether all dead letters are chosen."""


class Target(Change, kw_only=True):
    """The URL, the host or the site to erase."""

    target: Annotated[str, Meta(min_length=1, max_length=8192)]
    """A URL with its path, a host by its scheme (`https://www.example.org`), or a site with all of
    its hosts (`example.org`)."""
    forever: bool = False
    """Whether the target is blocked, too."""


@changing(post, f"{CRAWL}/seeds", "Add seeds")
async def add_seeds(changer: FromRequest, data: JSONBody[Seeds]) -> Committed:
    """Add seeds within the scope of the crawl."""
    seeds = read_seeds(_check_urls(data.urls))
    return await changer.carry_out(
        data,
        lambda crawl, now: plan_seeds(crawl, seeds, now, priority=data.priority, party=data.party),
    )


@changing(post, f"{CRAWL}/retry", "Retry")
async def retry(changer: FromRequest, data: JSONBody[Targets]) -> Committed:
    """Retry hosts that back off and URLs that failed, or all URLs with an outcome, now."""
    targets = [*data.hosts, *data.urls]
    if bool(targets) == bool(data.outcome):
        raise BadSettings("name hosts or URLs, or an outcome")
    if data.outcome:
        chosen = parse_outcome(data.outcome)
        return await changer.carry_out(data, lambda crawl, now: plan_retry_of(crawl, chosen, now))
    return await changer.carry_out(data, lambda crawl, now: plan_retry(crawl, targets, now))


@changing(post, f"{CRAWL}/refetch", "Fetch again")
async def refetch(changer: FromRequest, data: JSONBody[Urls]) -> Committed:
    """Fetch URLs again before their next planned visit."""
    urls = _check_urls(data.urls)
    return await changer.carry_out(data, lambda crawl, now: plan_refetch(crawl, urls, now))


@changing(post, f"{CRAWL}/fetch", "Fetch now")
async def fetch(changer: FromRequest, reader: FromCrawl, data: JSONBody[UrgentUrls]) -> Urgent:
    """Fetch URLs before all others, whether the crawl knows them or not, and wait for their
    documents."""
    before = dict[str, Before]()

    def plan(crawl: OpenCrawl, now: float) -> Plan:
        urls = dict.fromkeys(crawl_form(crawl, text).url for text in data.urls)
        before.update({one.url: one for one in note_before(crawl, [*urls])})
        return plan_fetch(crawl, data.urls, now)

    change = await changer.carry_out(data, plan)
    for line in change.effect.refused:
        before.pop(line.partition(": ")[0], None)
    found, until = dict[str, Fetched](), clock.steady() + data.wait
    while change.id is not None:
        is_last = clock.steady() >= until
        for url, one in before.items():
            is_awaited = url not in found or not is_complete(found[url])
            if is_awaited and (is_last or await reader.read(partial(has_ended, before=one))):
                found[url] = await reader.read(partial(read_fetched, before=one))
        if is_last or (len(found) == len(before) and all(map(is_complete, found.values()))):
            break
        await asyncio.sleep(POLL_INTERVAL)
    answers = tuple(found[url] for url in before if url in found)
    return Urgent(id=change.id, effect=change.effect, urls=answers)


@changing(post, f"{CRAWL}/release", "Release")
async def release(changer: FromRequest, data: JSONBody[Parts]) -> Committed:
    """Visit parked URLs of a site, whatever they are worth."""
    return await changer.carry_out(
        data, lambda crawl, now: plan_release(crawl, Site(data.site), data.parts, now)
    )


@reading(f"{CRAWL}/dead-letters", "Dead letters", is_shared=True)
async def get_letters(
    reader: FromCrawl, service: OfService = None, cursor: Cursor = None, limit: Limit = 100
) -> Page[Letter]:
    """Records that could not be processed, the oldest of each partition first."""
    return await reader.scan(lambda crawl: read_letters(crawl.log, service, cursor, limit))


@changing(post, f"{CRAWL}/dead-letters/replay", "Replay", is_shared=True)
async def replay(changer: FromRequest, data: JSONBody[Letters]) -> Committed:
    """Append dead letters to their topics again."""
    names = _letters(data)
    return await changer.carry_out(data, lambda crawl, _: plan_replay(crawl, names))


@changing(post, f"{CRAWL}/dead-letters/discard", "Discard", role="admin", is_shared=True)
async def discard(changer: FromRequest, data: JSONBody[Letters]) -> Committed:
    """Erase dead letters."""
    names = _letters(data)
    return await changer.carry_out(data, lambda crawl, _: plan_discard(crawl, names))


@reading("/v1/erasures", "Erasures", SHARED_READER, role="admin", is_shared=True)
async def get_erasures(reader: FromCrawl) -> tuple[Erasure, ...]:
    """What was erased on demand, and the services that have not finished; the oldest first."""
    return await reader.scan(read_erasures)


@changing(post, "/v1/erasures", "Erase", role="admin")
async def forget(changer: FromRequest, data: JSONBody[Target]) -> Committed:
    """Erase everything about a URL, a host or a site, in all crawls. This cannot be undone. A dry
    run counts dead letters and rows of some tables."""

    def run(crawl: OpenCrawl, request: ChangeRequest, now: float, is_dry_run: bool) -> Committed:
        event = make_request(crawl, data.target, request.actor, now)
        return erase(crawl, event, request, data.forever, is_dry_run)

    try:
        return await changer.run(data, run)
    except TookTooLong:
        if changer.is_dry_run:
            raise
        # The thread goes on: a large store is not read within the time of a request.
        text = f"{data.target} is being erased. The list of erasures shows when it is done."
        return Committed(id=None, effect=Effect(text=text))


def _letters(data: Letters) -> set[str] | None:
    if bool(data.letters) == data.all:
        raise BadSettings("name dead letters as PARTITION/OFFSET, or all of them")
    return None if data.all else set(data.letters)


def _check_urls(urls: tuple[str, ...]) -> tuple[str, ...]:
    if not urls:
        raise BadSettings("name a URL")
    return urls
