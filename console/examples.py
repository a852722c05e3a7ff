"""An example URL for each kind of failure that a report lists."""

from itertools import islice

from console.labels import LABELS, failures
from gossamer.store import Store
from services.frontier.rows import UrlRow
from standalone.progress import Progress
from standalone.waiting import Waiting

MAX_READ_URLS = 50_000
"""Rows of the table of URLs that are searched for examples; some 0.3 s."""


def read_examples(
    store: Store | None, crawl_id: str, progress: Progress, waiting: Waiting
) -> dict[str, str]:
    """Return label of a failure → an example URL or host, for the failures of *progress*.

    The latest visits and the hosts of *waiting* come first. Then the rows of *store* are searched.
    In a fleet *store* is None, because the search would read all nodes.
    """
    missing = set(failures(progress.outcomes, progress.hazards))
    examples = dict[str, str]()
    hosts = [(host.host, host.backoff_cause or "") for host in waiting.hosts]
    for url, outcome in (*hosts, *progress.latest):
        label = LABELS.get(outcome, "")
        if label in missing:
            examples[label] = url
    missing -= examples.keys()
    if not missing or store is None:
        return examples
    for row in islice(store.table(UrlRow).everything(), MAX_READ_URLS):
        label = LABELS.get(row.outcome, "")
        if row.crawl == crawl_id and label in missing:
            examples[label] = row.url
            missing.discard(label)
            if not missing:
                break
    return examples
