"""A brief crawl: visits to a few URLs, in a folder that is deleted at the end.

It is a crawl like any other, so that a command that shows one page shows what a crawl does. It
follows no links: the redirects of the URLs are the only URLs that they lead to.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from gossamer.changes.plan import ChangeRequest
from gossamer.crawl import CrawlRequest
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.progress.progress import End, Progress
from gossamer.inspection.progress.workload import Workload
from gossamer.policies import NEVER
from gossamer.settings import Nested, Settings
from gossamer.standalone.run import run_crawl

BRIEF_SETTINGS: Nested = {
    "frontier": {"probe_after": 0, "retries": 0},
    "fetcher": {"usual_sitemaps": "never"},
    "archive": {"requisites": "off", "media": False, "srcset": "one", "volumes": ()},
    "standalone": {"patience": 0.0},
}
"""Settings that override those of the user: nothing but the URLs is requested, and a host that
backs off is not awaited."""
ACTOR = "gossamer"


class BriefCrawl(NamedTuple):
    """A brief crawl that has ended."""

    folder: Folder
    end: End


@contextmanager
def crawl_briefly(
    settings: Settings,
    urls: tuple[str, ...],
    max_time: float,
    show: Callable[[Progress], None] = lambda progress: None,
    keeps_events: bool = False,
    max_pages: int = 0,
) -> Iterator[BriefCrawl]:
    """Visit the canonical *urls* with *settings*, and yield the folder for the block.

    *settings* include BRIEF_SETTINGS. *max_time*: seconds after which no visit starts, or 0.
    *keeps_events*: whether all events stay on the log of the folder. *max_pages*: number of pages
    after which no visit starts, or 0: the entries of a sitemap or a feed count like seeds. Raise
    GossamerError if the crawl fails.
    """

    def show_progress(progress: Progress, workload: Callable[[], Workload], notice: str) -> None:
        show(progress)

    defined = {"max_depth": 0, "revisit": NEVER, "purposes": settings.crawl.purposes}
    for name in ("usage_disallowed", "usage_unknown", "relevant", "url_steps", "rules"):
        defined[name] = getattr(settings.crawl, name)
    request = CrawlRequest(urls, "any", defined, max_pages)
    with TemporaryDirectory(prefix="gossamer-") as path:
        folder = Folder(Path(path), keeps_events)
        change = ChangeRequest(actor=ACTOR)
        end, _ = run_crawl(settings, folder, request, change, max_time, show_progress)
        yield BriefCrawl(folder, end)
