"""The path from a seed to a URL: each page, redirect or sitemap that led to the next."""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from gossamer import clock
from gossamer.events import Purpose
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.basics.labels import outcome_label
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl
from gossamer.inspection.crawls.url_forms import crawl_form
from gossamer.inspection.urls.url_rows import read_facts
from gossamer.inspection.urls.urls import page_of
from gossamer.services.frontier.tables.urls import Origin, RequisiteRow, UrlRow
from gossamer.web.url import host_key

MAX_STEPS = 200
"""Steps that are followed. Depths and redirects are limited, so real paths are much shorter."""


class StepKind(StrEnum):
    """How a URL was found."""

    SEED = "seed"
    LINK = "link"
    REDIRECT = "redirect"
    SITEMAP = "sitemap"
    REQUISITE = "requisite"
    """A page or a style needs it."""
    UNKNOWN = "unknown"
    """The row of the visit that found it does not exist any more."""


class PathStep(Struct, frozen=True, kw_only=True):
    """A URL on the path, and how it was found."""

    url: str
    kind: StepKind
    depth: int
    """Links followed from a seed."""
    party: str
    """The party of the URL; "" without one."""
    at: float | None
    """When its last visit ended, in epoch seconds; null before the first."""
    text: str
    """The outcome of that visit in words; "" before the first."""


class UrlPath(Struct, frozen=True, kw_only=True):
    """The path from a seed to a URL."""

    url: str
    answer: str
    """The path in one sentence."""
    steps: tuple[PathStep, ...]
    """The seed first, the URL last."""
    is_complete: bool
    """Whether the path begins with a seed."""


def read_path(crawl: OpenCrawl, text: str) -> UrlPath:
    """Return the path from a seed to the URL *text*, in any form.

    Raise NotFound if the URL was neither queued nor visited, and BadSettings if it is invalid.
    """
    url = crawl_form(crawl, text).url
    facts = read_facts(crawl, url, clock.now())
    entry = facts.visit or (facts.queued and facts.queued.url) or facts.requisite
    if entry is None:
        raise NotFound(f"{url} was neither queued nor visited: gossamer why {url} explains")
    steps = [*_steps_back(crawl, url, entry.origin, facts.visit or facts.requisite)]
    steps.reverse()
    is_complete = steps[0].kind is StepKind.SEED
    return UrlPath(
        url=url, answer=_answer(steps, is_complete), steps=tuple(steps), is_complete=is_complete
    )


def _read(crawl: OpenCrawl, url: str) -> UrlRow | RequisiteRow | None:
    store, key = crawl.store(), (crawl.id, host_key(url))
    return store.table(UrlRow).get(key, url) or store.table(RequisiteRow).get(key, url)


def _steps_back(
    crawl: OpenCrawl, url: str, origin: Origin, row: UrlRow | RequisiteRow | None
) -> Iterator[PathStep]:
    """Yield the steps from *url*, which has this *origin*, back to its seed. *row*: its last
    outcome."""
    seen = {url}
    while True:
        via = page_of(origin.via)
        is_followed = via and via not in seen and len(seen) < MAX_STEPS
        parent = _read(crawl, via) if is_followed else None
        kind = _kind_of(origin, parent) if via else StepKind.SEED
        text = outcome_label(row.outcome, row.status) if row else ""
        yield view_of(PathStep, origin, url=url, kind=kind, at=row.at if row else None, text=text)
        if parent is None:
            break
        seen.add(via)
        url, origin, row = via, parent.origin, parent
    if via:
        yield PathStep(url=via, kind=StepKind.UNKNOWN, depth=0, party="", at=None, text="")


def _kind_of(origin: Origin, parent: UrlRow | RequisiteRow | None) -> StepKind:
    """Return how *parent* led to a URL with this *origin*."""
    if parent is None:
        return StepKind.UNKNOWN
    if origin.purpose is Purpose.REQUISITE:
        return StepKind.REQUISITE
    if origin.hops:
        return StepKind.REDIRECT
    is_listed = parent.origin.purpose.is_sitemap or origin.purpose.is_sitemap
    return StepKind.SITEMAP if is_listed else StepKind.LINK


def _answer(steps: list[PathStep], is_complete: bool) -> str:
    if len(steps) == 1 and is_complete:
        return "It is a seed."
    kinds = [step.kind for step in steps[1:]]
    parts = [
        plural(kinds.count(kind), kind.value)
        for kind in (StepKind.LINK, StepKind.REDIRECT, StepKind.SITEMAP, StepKind.REQUISITE)
        if kind in kinds
    ]
    start = (
        f"the seed {steps[0].url}" if is_complete else f"{steps[0].url}, whose row is not stored"
    )
    return f"Found from {start} over {' and '.join(parts) or 'an unknown page'}."
