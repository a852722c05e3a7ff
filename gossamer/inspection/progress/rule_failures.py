"""The first failure of a crawl's own rules that is still stored, with its traceback."""

from collections.abc import Iterable

from gossamer.events.hazards import Hazard
from gossamer.events.pages import RULE_FAILED
from gossamer.services.frontier.tables.partitions import partition_keys
from gossamer.services.frontier.tables.urls import VerdictRow
from gossamer.services.frontier.totals.daily import HazardExamplesRow
from gossamer.store import Store
from gossamer.web.url import host_key


def read_rule_failure(store: Store, crawls: Iterable[str], partitions: int) -> str:
    """Return a page on which a rule of one of *crawls* failed, and the traceback; "" without any.

    Of the pages that are stored as examples, it is the one with the earliest verdict.
    """
    keys = [(crawl, key) for crawl in crawls for key in partition_keys(partitions)]
    rows = store.table(HazardExamplesRow).scan_all(keys)
    urls = [
        (row.crawl, one.url) for row in rows if row.hazard == Hazard.RULE_FAILED for one in row.urls
    ]
    verdicts = store.table(VerdictRow)
    found = [verdicts.get((crawl, host_key(url)), url) for crawl, url in urls]
    failed = [row for row in found if row and RULE_FAILED in row.reason]
    if not failed:
        return ""
    first = min(failed, key=lambda row: row.at)
    return f"{first.url}: {first.reason.partition(RULE_FAILED)[2]}"
