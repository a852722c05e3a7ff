"""The report of a crawl as data: what its limits, traps and hazards cost, and what its downloads
brought.

The frontier counts each day (`gossamer.services.frontier.totals.daily`); a period is the sum of its
days. The examples and the advice belong to the whole crawl.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from itertools import zip_longest
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gossamer.errors import BadSettings
from gossamer.events import Verdict
from gossamer.events.hazards import HAZARDS, Hazard, is_limit
from gossamer.inspection.basics.figures import date_of, percent, plural
from gossamer.inspection.basics.labels import HAZARD_LABELS
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.progress.rule_failures import read_rule_failure
from gossamer.services.frontier.tables.partitions import partition_keys
from gossamer.services.frontier.tables.totals import merge
from gossamer.services.frontier.totals.daily import (
    COPY_VERDICTS,
    DAY,
    MAX_EXAMPLES,
    DailyTallyRow,
    Downloads,
    HazardCount,
    HazardExamplesRow,
    Stage,
)
from gossamer.services.frontier.totals.tally import TallyRow, scan_days
from gossamer.store import Store

STAGE_LABELS: dict[Stage, str] = {
    Stage.DNS: "DNS lookups",
    Stage.LIMITED: "waits for limits of the fetcher",
    Stage.CONNECT: "connecting, with TLS",
    Stage.FIRST_BYTE: "waiting for the server",
    Stage.BODY: "receiving bodies",
    Stage.PARSE: "parsing",
    Stage.DEDUP: "from parser to verdict, with queues",
}
"""Stage of a visit → label. The stages `visit` and `delay` are totals of hosts."""
COMPARED_VERDICTS = (
    Verdict.FIRST, Verdict.CHANGED, Verdict.UNCHANGED, Verdict.DUPLICATE, Verdict.NEAR_DUPLICATE,
)  # fmt: skip
"""The verdicts on pages whose text was compared."""


class HazardReport(Struct, frozen=True, kw_only=True):
    """How many sites and URLs met a hazard, and the settings that govern it."""

    hazard: str
    label: str
    text: str
    """When the hazard is met, as a sentence."""
    settings: tuple[str, ...]
    """The settings that define the hazard or limit its effects."""
    is_limit: bool
    """Whether the hazard means that a limit of the crawl was reached."""
    sites: int
    """Sites that met it for the first time."""
    site_share: float
    """These sites as a share of all sites that were new in the period, from 0 to 1."""
    urls: int
    """URLs that met it. A URL that is visited again may count again."""
    of_urls: int
    """Admitted and refused URLs if the frontier counts the hazard; visits otherwise."""
    url_share: float
    """`urls` and `parked_links` as a share of `of_urls` and `parked_links`, from 0 to 1."""
    refused: int
    """URLs that are not visited because of it."""
    parked_links: int
    """Links to URLs that are parked because of it. A link counts on each page, also if its URL was
    found on another way."""
    productive_urls: int
    """URLs that met it, of sites whose last pages mostly had new texts."""
    productive_links: int
    """Parked links on pages of such sites."""
    examples: tuple[str, ...] = ()
    """Up to three URLs that met it, of different sites if possible."""

    @property
    def is_met(self) -> bool:
        """Whether a site, a URL or a link met it."""
        return bool(self.urls or self.sites or self.parked_links)


class DownloadReport(Struct, frozen=True, kw_only=True):
    """Responses with one status, or of one media type."""

    name: str
    """A status code, the outcome of a visit without a response, a media type, or `other`."""
    responses: int
    share: float
    """Share of all responses, from 0 to 1."""
    received: int
    """Bytes of their bodies, as received."""


class StageReport(Struct, frozen=True, kw_only=True):
    """The time that one stage of all visits took together."""

    stage: str
    label: str
    seconds: float
    share: float
    """Share of all stages, from 0 to 1."""


class Totals(Struct, frozen=True, kw_only=True):
    """What a crawl did in a period."""

    admitted: int
    refused: int
    """URLs that a rule refused or parked."""
    sites: int
    """Sites whose first URL was admitted or met a hazard."""
    visits: int
    """Visits that sent a request."""
    pages: int
    """Visits that ended with a page."""
    shared: int
    """Those of `pages` that were taken from another crawl within `share_for`, without a request.
    The other crawl has their requests, bytes and statuses."""
    received: int
    """Bytes received."""
    requisites: int
    """Visits to requisites of pages, which no other count has."""
    requisites_received: int
    """Bytes received by these visits."""
    new_texts: int
    """Pages whose text no other page had before, and changed pages."""
    duplicates: int
    """Pages with the text of another page."""
    near_duplicates: int
    """Pages with nearly the text of another page of their site."""
    unchanged: int
    """Visited again, and without a change."""
    duplicate_share: float | None
    """Duplicates and near duplicates as a share of the pages whose text was compared; null without
    such pages."""
    pages_per_new_text: float | None
    """Downloads for each new text; null without a new text."""
    visits_per_new_text: float | None
    """Requests for each new text; null without a new text."""
    visit_seconds: float
    """Seconds in which hosts were visited."""
    delay_seconds: float
    """Seconds in which hosts with more URLs waited for their courtesy delay."""

    @property
    def copies(self) -> int:
        """Duplicates and near duplicates."""
        return self.duplicates + self.near_duplicates


class DayReport(Struct, frozen=True, kw_only=True):
    """What a crawl did on a day."""

    day: str
    """The date in UTC, as `2026-11-26`."""
    totals: Totals
    hazards: dict[str, int]
    """Hazard → URLs that met it."""


class Advice(Struct, frozen=True, kw_only=True):
    """A limit or a share that an operator should check."""

    rule: str
    """The name of the rule that gives the advice."""
    settings: tuple[str, ...]
    """The settings to change."""
    text: str
    """The advice with its figures, as a sentence."""


class Report(Struct, frozen=True, kw_only=True):
    """Limits explained: `gossamer report --json`, and `/v1/report`."""

    crawl: str
    """The name of the folder or of the fleet."""
    first_day: str
    """The first and the last counted day of the period, as `2026-11-26`; "" if none is counted."""
    last_day: str
    totals: Totals
    hazards: tuple[HazardReport, ...]
    """All hazards, the one with the most URLs and parked links first."""
    statuses: tuple[DownloadReport, ...]
    types: tuple[DownloadReport, ...]
    stages: tuple[StageReport, ...]
    """In the order of a visit."""
    days: tuple[DayReport, ...]
    """The newest day first."""
    advice: tuple[Advice, ...] = ()
    rule_failure: str = ""
    """A page on which a rule of the crawl failed, and the traceback; "" without any."""


def read_report(crawl: OpenCrawl, days: int | None = None, day: str = "") -> Report:
    """Return the report of *crawl*: of the *days* up to the last counted one, of one *day*, or of
    all retained days.

    *day* is a date such as `2026-11-26`, in UTC. Raise BadSettings for an invalid one, and for both
    *days* and *day*.
    """
    if days is not None and day:
        raise BadSettings("name a day or a number of days, not both")
    wanted = _parse_day(day) if day else None
    rows, examples = _read(crawl)
    if wanted is not None:
        rows = [row for row in rows if row.at == wanted]
    elif days is not None and rows:
        rows = [row for row in rows if row.at > rows[-1].at - days * DAY]
    failure = ""
    if Hazard.RULE_FAILED in examples:
        failure = read_rule_failure(crawl.store(), [crawl.id], crawl.log.partitions)
    return replace(make_report(crawl.name, rows, examples), rule_failure=failure)


def read_period(crawl: OpenCrawl, first_day: str, last_day: str) -> Report:
    """Return the report of *crawl* from *first_day* to *last_day*, dates such as `2026-11-26` in
    UTC."""
    first, last = _parse_day(first_day), _parse_day(last_day)
    rows, examples = _read(crawl)
    rows = [row for row in rows if first <= row.at <= last]
    return make_report(crawl.name, rows, examples)


def _read(crawl: OpenCrawl) -> tuple[list[DailyTallyRow], dict[str, tuple[str, ...]]]:
    """Return the sums of each day, the oldest first, and the examples of hazards."""
    with crawl.view(TallyRow, DailyTallyRow, HazardExamplesRow) as store:
        partitions = partition_keys(crawl.log.partitions)
        return (
            _read_days(store, crawl.id, partitions),
            _read_examples(store, crawl.id, partitions),
        )


def _parse_day(day: str) -> float:
    try:
        found = date.fromisoformat(day)
    except ValueError as error:
        raise BadSettings(f"{day!r} is not a day: write 2026-11-26") from error
    return datetime(found.year, found.month, found.day, tzinfo=UTC).timestamp()


def _read_days(store: Store, crawl_id: str, partitions: list[str]) -> list[DailyTallyRow]:
    """Return the sums of all partitions for each day, the oldest day first."""
    days = dict[float, DailyTallyRow]()
    for partition in partitions:
        for row in scan_days(store, crawl_id, partition):
            days[row.at] = merge(days[row.at], row) if row.at in days else row
    return [days[at] for at in sorted(days)]


def _read_examples(
    store: Store, crawl_id: str, partitions: list[str]
) -> dict[str, tuple[str, ...]]:
    """Return hazard → a few URLs that met it, from as many partitions as possible."""
    found = defaultdict[str, list[tuple[str, ...]]](list)
    for row in store.table(HazardExamplesRow).scan_all([(crawl_id, one) for one in partitions]):
        found[row.hazard].append(tuple(example.url for example in row.urls))
    return {
        hazard: tuple(url for urls in zip_longest(*lists) for url in urls if url)[:MAX_EXAMPLES]
        for hazard, lists in found.items()
    }


def make_report(
    name: str, rows: list[DailyTallyRow], examples: Mapping[str, tuple[str, ...]]
) -> Report:
    """Return the report of the crawl *name* from the sums of each day, *rows*, oldest first."""
    total = merge(DailyTallyRow(name, "", 0.0), *rows)
    report = Report(
        crawl=name,
        first_day=date_of(rows[0].at) if rows else "",
        last_day=date_of(rows[-1].at) if rows else "",
        totals=_totals(total),
        hazards=_hazards(total, examples),
        statuses=_downloads(total.statuses),
        types=_downloads(total.types),
        stages=_stages(total.seconds),
        days=tuple(
            DayReport(
                day=date_of(row.at),
                totals=_totals(row),
                hazards={name: count.urls for name, count in sorted(row.hazards.items())},
            )
            for row in reversed(rows)
        ),
    )
    return replace(report, advice=tuple(advise(report)))


def _totals(row: DailyTallyRow) -> Totals:
    verdicts = row.verdicts
    compared = sum(verdicts.get(verdict, 0) for verdict in COMPARED_VERDICTS)
    copies = sum(verdicts.get(verdict, 0) for verdict in COPY_VERDICTS)
    return view_of(
        Totals,
        row,
        refused=sum(row.refused.values()),
        received=sum(downloads.received for downloads in row.statuses.values()),
        requisites=row.requisites.responses,
        requisites_received=row.requisites.received,
        duplicates=verdicts.get(Verdict.DUPLICATE, 0),
        near_duplicates=verdicts.get(Verdict.NEAR_DUPLICATE, 0),
        unchanged=verdicts.get(Verdict.UNCHANGED, 0),
        duplicate_share=copies / compared if compared else None,
        pages_per_new_text=row.pages / row.new_texts if row.new_texts else None,
        visits_per_new_text=row.visits / row.new_texts if row.new_texts else None,
        visit_seconds=row.seconds.get(Stage.VISIT, 0.0),
        delay_seconds=row.seconds.get(Stage.DELAY, 0.0),
    )


def _hazards(
    row: DailyTallyRow, examples: Mapping[str, tuple[str, ...]]
) -> tuple[HazardReport, ...]:
    decided = row.admitted + sum(row.refused.values())
    found = list[HazardReport]()
    for hazard, counting in HAZARDS.items():
        met = row.hazards.get(hazard, HazardCount())
        of_urls = decided if _counts_urls(hazard) else row.visits
        found.append(
            view_of(
                HazardReport,
                counting,
                met,
                hazard=hazard,
                label=HAZARD_LABELS[hazard].label,
                is_limit=is_limit(hazard),
                site_share=_share(met.sites, row.sites),
                of_urls=of_urls,
                url_share=_share(met.urls + met.links, of_urls + met.links),
                refused=row.refused.get(hazard, 0),
                parked_links=met.links,
                examples=examples.get(hazard, ()) if met.urls or met.links else (),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.urls - one.parked_links, one.hazard)))


def _counts_urls(hazard: Hazard) -> bool:
    """Return whether *hazard* is counted as a share of admitted and refused URLs, or of visits."""
    return "frontier" in HAZARDS[hazard].services


def _share(part: float, whole: float) -> float:
    """Return a share from 0 to 1. A part may be larger than the whole, because a URL may meet a
    hazard on another day than its visit, or twice."""
    return min(1.0, part / whole) if whole else 0.0


def _downloads(counts: Mapping[str, Downloads]) -> tuple[DownloadReport, ...]:
    total = sum(downloads.responses for downloads in counts.values())
    return tuple(
        view_of(DownloadReport, downloads, name=name, share=_share(downloads.responses, total))
        for name, downloads in sorted(counts.items(), key=lambda one: (-one[1].responses, one[0]))
    )


def _stages(seconds: Mapping[str, float]) -> tuple[StageReport, ...]:
    found = {stage: seconds.get(stage, 0.0) for stage in STAGE_LABELS}
    total = sum(found.values())
    return tuple(
        StageReport(stage=stage, label=STAGE_LABELS[stage], seconds=took, share=_share(took, total))
        for stage, took in found.items()
    )


# Advice.

MIN_STOPPED_URLS = 10
"""URLs that a limit must have stopped before advice says whether they were honest."""
MIN_PRODUCTIVE_SHARE = 0.5
"""Share of the stopped URLs, at sites with new texts, from which a limit costs honest pages."""
MIN_URLS = 1000
"""URLs or visits without a hazard from which its limit counts as one that never applies."""
MIN_COMPARED_PAGES = 100
HIGH_DUPLICATE_SHARE = 0.25
"""Share of copies above which much of the crawl is wasted: Viúva Negra's first release had 23 %."""
JUDGED_BY_PART = frozenset({Hazard.LOW_WORTH})
"""Limits that apply to parts of a site. New texts of other parts do not speak against them, and
they have no value to raise or lower."""
HIGH_UNWANTED_SHARE = 0.1
"""Share of visits to documents of other types above which they waste the crawl."""


class Finding(NamedTuple):
    """Settings that a rule advises to change, and why, with the figures."""

    settings: tuple[str, ...]
    text: str


def _site_limits(report: Report) -> Iterator[HazardReport]:
    """Yield the limits of sites and of the crawl, whose settings may be raised or lowered."""
    return (one for one in report.hazards if one.is_limit and one.hazard not in JUDGED_BY_PART)


def _find_costly_limits(report: Report) -> Iterator[Finding]:
    for one in _site_limits(report):
        stopped = one.urls + one.parked_links
        honest = one.productive_urls + one.productive_links
        share, what = _share(honest, stopped), "link" if one.parked_links else "URL"
        some = "; some may lead to pages that were found on another way" * bool(one.parked_links)
        if stopped >= MIN_STOPPED_URLS and share >= MIN_PRODUCTIVE_SHARE:
            yield Finding(
                one.settings,
                f"{one.label}: {honest:,} of {plural(stopped, what)} ({percent(share)}) "
                f"are of sites whose last pages were mostly new{some}. "
                f"It met {plural(one.sites, 'site')} for the first time "
                f"({percent(one.site_share)} of the new sites). "
                f"Raise {_names(one.settings)}, unless the examples are a trap.",
            )


def _find_parked_parts(report: Report) -> Iterator[Finding]:
    for one in report.hazards:
        if one.hazard in JUDGED_BY_PART and one.urls:
            yield Finding(
                one.settings,
                f"{one.label}: {plural(one.urls, 'URL')}; {plural(one.sites, 'site')} for the "
                f"first time ({percent(one.site_share)} of the new sites). gossamer sites SITE "
                "shows what is still parked. If the examples are honest pages, gossamer release "
                "SITE visits them.",
            )


def _find_many_copies(report: Report) -> Iterator[Finding]:
    copies, share = report.totals.copies, report.totals.duplicate_share
    settings = HAZARDS[Hazard.TRAP_DUPLICATES].settings
    if share is not None and share > HIGH_DUPLICATE_SHARE:
        compared = round(copies / share)
        if compared >= MIN_COMPARED_PAGES:
            yield Finding(
                settings,
                f"copies: {copies:,} of {plural(compared, 'page')} ({percent(share)}) had the text "
                f"of another page, exactly or nearly. Lower {_names(settings)}.",
            )


def _find_unwanted_documents(report: Report) -> Iterator[Finding]:
    one = next(one for one in report.hazards if one.hazard == Hazard.UNWANTED_TYPE)
    if one.urls >= MIN_STOPPED_URLS and one.url_share > HIGH_UNWANTED_SHARE:
        yield Finding(
            (*one.settings, "crawl.scope"),
            f"{one.label}: {one.urls:,} of {plural(one.of_urls, 'visit')} "
            f"({percent(one.url_share)}) requested documents that are not read. Exclude their URLs "
            "by crawl.scope, or add their types to fetcher.types.",
        )


def _find_unused_limits(report: Report) -> Iterator[Finding]:
    for one in _site_limits(report):
        stopped = one.urls + one.refused + one.parked_links
        counted = "URLs" if _counts_urls(Hazard(one.hazard)) else "visits"
        if not stopped and one.of_urls >= MIN_URLS:
            yield Finding(
                one.settings,
                f"{one.label}: none of {one.of_urls:,} {counted}. "
                f"{_names(one.settings)} may be lower, to stop a trap sooner.",
            )


ADVICE_RULES: dict[str, Callable[[Report], Iterable[Finding]]] = {
    "costs_honest_pages": _find_costly_limits,
    "parks_honest_pages": _find_parked_parts,
    "wasted_on_copies": _find_many_copies,
    "unwanted_documents": _find_unwanted_documents,
    "never_applies": _find_unused_limits,
}
"""Name of a rule → its findings in the figures of a report, in the order of the advice."""


def advise(report: Report) -> Iterator[Advice]:
    """Yield the advice that follows from the figures of *report*."""
    for name, rule in ADVICE_RULES.items():
        for finding in rule(report):
            yield Advice(rule=name, settings=finding.settings, text=finding.text)


def _names(settings: tuple[str, ...]) -> str:
    return " or ".join(settings)
