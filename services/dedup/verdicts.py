"""What dedup says of a visit, put together from what its parts have found."""

from collections.abc import Iterator

from msgspec.structs import replace

from gossamer.events import MissingPageRead, PageJudged, PageParsed, Tombstone, Verdict
from services.dedup.content import Judgement
from services.dedup.relevance import Kept

UNPUBLISHED = "the page asks not to be indexed: it is not published"


def missing(page: PageParsed, now: float) -> Iterator[MissingPageRead]:
    """Yield what a host shows where it has no page, if that is *page*."""
    if 200 <= page.status < 300:
        yield MissingPageRead(
            crawl=page.crawl,
            at=now,
            site=page.site,
            host=page.host,
            digest=page.digest,
            simhash=page.simhash,
        )


def absent(page: PageParsed, tombstone: Tombstone, now: float) -> Iterator[PageJudged]:
    """Yield the verdict that a document is gone; what came in its place may have one already."""
    if not 200 <= page.status < 300:
        verdict = verdict_of(page, tombstone.verdict, now)
        yield replace(verdict, redirects_to=tombstone.redirects_to, reason=tombstone.reason)


def verdict_of(page: PageParsed, verdict: Verdict, now: float) -> PageJudged:
    """Return *verdict* on *page*, and nothing else."""
    return PageJudged(
        crawl=page.crawl,
        at=now,
        site=page.site,
        host=page.host,
        visit=page.visit,
        verdict=verdict,
        digest=page.digest,
        reason=page.reason,
        fetched_at=page.fetched_at,
        status=page.status,
        size=page.size,
        hazards=page.hazards,
        validators=page.validators,
        expires_at=page.expires_at,
    )


def judged(taken: Kept, judgement: Judgement, change: float | None, now: float) -> PageJudged:
    """Return what the content test says of a page; *change*: since its last visit."""
    verdict, original, page = judgement.verdict, judgement.original, taken.page
    reason = taken.reason or UNPUBLISHED * page.noindex
    return replace(
        verdict_of(page, verdict, now),
        duplicate_of=original if verdict is Verdict.DUPLICATE else "",
        change=change,
        near_duplicate_of=original if verdict is Verdict.NEAR_DUPLICATE else "",
        links=sum(len(event.urls) for event in judgement.released),
        reason="; ".join(filter(None, (judgement.reason, reason))),
        hazards=page.hazards + judgement.hazards,
    )
