"""Crawls of honest sites with default settings, and the honest pages that they lose."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.support.waiting import HANG_TIMEOUT
from tests.system.crawl import GOSSAMER, WebCrawl, run

from .web import HonestWeb, RunningHonestWeb

DELAY = 0.02
SETTINGS = "[standalone]\npatience = 5\n"
"""The run ends soon after the last work, even if a host backs off for longer."""


class Reason(NamedTuple):
    """The explanation of a lost page by `gossamer why`."""

    word: str
    """The outcome, or the URL's state if it has none, such as low_worth."""
    sentence: str


@dataclass
class Harvest:
    """The pages of one kind: all honest ones, and those that a crawl requested and published."""

    pages: set[str]
    requested: set[str]
    published: set[str]
    requests: int
    reasons: dict[str, Reason] = field(default_factory=dict)
    """Some of the lost pages → why they were lost."""

    @property
    def lost(self) -> list[str]:
        """Return the honest pages that were not requested."""
        return sorted(self.pages - self.requested)

    @property
    def lost_share(self) -> float:
        return len(self.lost) / len(self.pages)


@dataclass(frozen=True)
class HonestCrawl:
    """A finished crawl."""

    harvests: dict[str, Harvest]
    unread: int
    """Records that no service had read when the run ended: 0, unless it ended too early."""


@contextmanager
def running(
    kinds: tuple[str, ...], size: int, folder: Path | None = None
) -> Iterator[tuple[RunningHonestWeb, Path]]:
    """Serve kinds, with a folder for a crawl: *folder*, which is new and stays, or a temporary
    one."""
    with TemporaryDirectory(prefix="honest-") as name:
        place = folder or Path(name) / "crawl"
        place.mkdir(parents=True)
        with RunningHonestWeb(HonestWeb(kinds, size), place / "record") as web:
            yield web, place


def crawl_honest(
    kinds: tuple[str, ...], size: int, linked: bool = False, folder: Path | None = None
) -> HonestCrawl:
    """Crawl *kinds* to the end. The home page of each host is a seed; if the sites are only
    *linked*, the seed is a page with links to them."""
    with running(kinds, size, folder) as (web, place):
        settings = place / "settings.toml"
        settings.write_text(SETTINGS)
        scope = "any" if linked else ""
        crawl = WebCrawl(web, place / "data", DELAY, scope, settings)
        seeds = [web.sites.portal()] if linked else web.seeds
        done = crawl.run(
            "--verbose", "--revisit", "none", seeds=seeds, patience=HANG_TIMEOUT + size
        )
        assert done.code == 0, done
        published = {page["url"] for page in crawl.pages()}
        urls = [request.url for request in web.requests()]
        harvests = {}
        for kind in kinds:
            pages = web.sites.urls(kind)
            requests = sum(web.sites.kind_of(url) == kind for url in urls)
            harvest = Harvest(pages, pages & {*urls}, pages & published, requests)
            harvest.reasons = {url: reason(crawl.data, url) for url in _spread(harvest.lost)}
            harvests[kind] = harvest
        return HonestCrawl(harvests, unread_records(crawl.data))


def _spread(urls: list[str]) -> list[str]:
    """Return the first, the middle and the last one of some URLs."""
    return [*dict.fromkeys([*urls[:1], *urls[len(urls) // 2 :][:1], *urls[-1:]])]


def unread_records(data: Path) -> int:
    status = json.loads(run([GOSSAMER, "status", "--json", "--data", str(data)]).out)
    return sum(lag for topics in status["lags"].values() for lag in topics.values())


def reason(data: Path, url: str) -> Reason:
    """Return the explanation of a lost page."""
    said = json.loads(run([GOSSAMER, "why", "--json", "--data", str(data), url]).out)
    return Reason((said["visit"] or {}).get("outcome") or said["state"], said["answer"])
